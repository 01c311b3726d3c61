import { defineModel, type Model, type SimulatedThread } from '@heddle/explore';
import { FOR_EVER } from './latch.explore.js';
import { Latch } from './latch.js';
import { mpoolLayout } from './mpool.layout.js';
import { PoolUsers } from './pool-users.js';

const { users, released } = mpoolLayout.offsets;

// Words of the model after those of the pool's header.
const GATE = mpoolLayout.wordCount;
/** 1 as soon as the tables went back. What their words hold then is somebody else's. */
const REMOVED = GATE + 1;
const DEAD = REMOVED + 1;
const RECOVERIES = DEAD + 16;
const WORDS = RECOVERIES + 4;
const OTHERS = 0x5555;

/** A user that looks, at each touch, whether the tables are there still. */
class Visitor {
  readonly #thread: SimulatedThread;
  readonly #users: PoolUsers;
  readonly #gate: Latch;
  readonly id: number;

  constructor(thread: SimulatedThread, id: number) {
    const { words, platform } = thread;
    const { atomics } = platform;
    this.#thread = thread;
    this.id = id;
    const isAlive = (token: number) => atomics.load(words, DEAD + token) === 0;
    this.#gate = new Latch(words, GATE, id, isAlive, platform, FOR_EVER);
    this.#users = new PoolUsers({ words, platform, me: { id } }, this.#gate, {
      isThere: () => atomics.load(words, REMOVED) === 0,
      remove: () => {
        // A removal that was cut short is finished by the segment's own recovery.
        atomics.store(words, REMOVED, 1);
        words[users] = OTHERS;
      },
    });
  }

  enter(): boolean {
    return this.#users.enter();
  }

  leave(): void {
    this.#users.leave();
  }

  /** What the gate's own recovery does. */
  recoverGate(id: number): void {
    this.#gate.recover(id, () => {});
  }

  clear(id: number): void {
    this.#users.clear(id);
  }

  touch(): void {
    if (this.#thread.platform.atomics.load(this.#thread.words, REMOVED) !== 0) {
      throw new Error(`Thread ${this.id} touches what was removed`);
    }
  }
}

/** Uses the pool from the start, closes it, and leaves. */
const closeAndLeave = (thread: SimulatedThread) => {
  const visitor = new Visitor(thread, thread.index + 1);
  visitor.touch();
  thread.platform.atomics.store(thread.words, released, 1);
  visitor.touch();
  visitor.leave();
};

/** Uses it from the start, and leaves. */
const leave = (thread: SimulatedThread) => {
  const visitor = new Visitor(thread, thread.index + 1);
  visitor.touch();
  visitor.leave();
};

/** Has found it in the directory. */
const enterAndLeave = (thread: SimulatedThread) => {
  const visitor = new Visitor(thread, thread.index + 1);
  if (!visitor.enter()) return;
  visitor.touch();
  visitor.leave();
};

function model(
  name: string,
  threads: Model['threads'],
  usersAtFirst: number,
  more: Partial<Model> = {},
): Model {
  return defineModel({
    words: WORDS,
    layout: [{ layout: mpoolLayout, at: 0, label: 'pool' }],
    names: { gate: GATE, removed: REMOVED, dead: [DEAD, 16], recoveries: [RECOVERIES, 4] },
    init: (words) => {
      words[users] = usersAtFirst;
    },
    check: ({ words }) => {
      if (words[REMOVED] === 0) {
        return words[released] === 0 ? undefined : `It is closed, and used by ${words[users]?.toString(2)}`;
      }
      // Zero where the remover died before somebody else came.
      return words[users] === OTHERS || words[users] === 0
        ? undefined
        : 'A word was written that is not of the pool any more';
    },
    recover: (thread, dead) => {
      const { words, platform } = thread;
      const run = platform.atomics.add(words, RECOVERIES + dead, 1);
      const gone = [dead + 1, ...Array.from({ length: run }, (_, i) => 4 * (dead + 1) + i)];
      for (const id of gone) platform.atomics.store(words, DEAD + id, 1);
      const visitor = new Visitor(thread, 4 * (dead + 1) + run);
      for (const id of gone) visitor.recoverGate(id);
      if (!visitor.enter()) return;
      visitor.touch();
      for (const id of gone) visitor.clear(id);
      visitor.leave();
    },
    threads,
    ...more,
    name: `pool users: ${name}`,
  } as Model);
}

export default [
  model('two leave what is closed, and a third enters', [closeAndLeave, leave, enterAndLeave], 0b110, {
    search: { preemptions: 2 },
    deep: { search: { preemptions: Number.POSITIVE_INFINITY } },
  }),
  model('one leaves, and another enters', [closeAndLeave, enterAndLeave], 0b10),
  model('a death at every step', [closeAndLeave, enterAndLeave], 0b10, {
    kills: 1,
    search: { preemptions: 2 },
    deep: { search: { preemptions: Number.POSITIVE_INFINITY } },
  }),
  model('a death of a user at every step', [closeAndLeave, leave], 0b110, { kills: 1 }),
  model('two deaths, the second of who recovers', [closeAndLeave], 0b10, { kills: 2 }),
];
