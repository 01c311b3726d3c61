import { defineModel, type SimulatedThread } from '@heddle/explore';
import { HeddleError } from '@heddle/memory';
import { ContextMemory } from './context-memory.js';
import { Entry } from './entry.js';
import { InboundLane } from './inbound-lane.js';
import { laneLayout } from './lane.layout.js';
import { endLanesTo, endOrphans } from './lane-ends.js';
import { PHASE, phaseOf } from './lane-life.js';
import type { MtType } from './mt-type.js';
import { OutboundLane } from './outbound-lane.js';
import { record } from './record.js';
import { recoverContext } from './recovery.js';
import { SENT } from './send-answer.js';
import type { SlotPool } from './slot-pools.js';
import {
  contextByteLength,
  contextLayout,
  laneAt,
  type Shape,
  workerRowAt,
  workerRowLayout,
  writeShape,
} from './transport.layout.js';

const { SLOT_RECORD } = record;

/** A whole context over a few words, for the models of this package: the shipped classes, on a slot of each of two sizes. */

const SHAPE: Shape = {
  maxWorkers: 2,
  maxLanes: 1,
  laneBytes: 32,
  inlineBytes: 8,
  mtType: 'spinlock',
  slotBytes: [8, 24],
};
export const RECEIVER = { row: 0, generation: 1 };
export const ADDRESS = { heddle: 'address', segment: '0000000000000001', context: 0, ...RECEIVER } as const;
const SENDER = { row: 1, generation: 1 };

const CONTEXT_WORDS = contextByteLength(SHAPE) / 4;
/** One of each size. */
const SLOTS = 2;
const SLOT_BYTES = 32;
/** A lease word a slot, then the slots. */
const LEASES = CONTEXT_WORDS;
const SLOT_WORDS = LEASES + SLOTS;

const WORDS = SLOT_WORDS + (SLOTS * SLOT_BYTES) / 4;
/** What a model may note in. */
export const NOTES = WORDS;

const LEASE = { free: 0, held: 1, detached: 2 } as const;

/** Lease words like those of the pool, without its lists: generation << 16 | state << 8 | token. */
class ModelPool implements SlotPool {
  readonly maxElems = 1;
  readonly elemSize = SLOT_BYTES;
  readonly #thread: SimulatedThread;
  readonly #token: number;
  readonly #slot: number;

  constructor(thread: SimulatedThread, token: number, size: number) {
    this.#thread = thread;
    this.#token = token;
    this.#slot = size;
  }

  tryGet(): number | null {
    const slot = this.#slot;
    const word = this.#load(slot);
    if (stateOf(word) !== LEASE.free) return null;
    return this.#move(slot, word, LEASE.held, this.#token) ? ((word >>> 16) << 1) | slot : null;
  }

  get(): number {
    throw new Error('not in the models');
  }

  getAsync(): Promise<number> {
    throw new Error('not in the models');
  }

  put(descriptor: number): void {
    const slot = descriptor & 1;
    const word = this.#load(slot);
    const mine = word >>> 16 === descriptor >>> 1 && (word & 0xffff) === ((LEASE.held << 8) | this.#token);
    if (!mine || !this.#move(slot, word + 0x10000, LEASE.free, 0, word)) throw stale();
  }

  offset(descriptor: number): number {
    return SLOT_WORDS * 4 + (descriptor & 1) * SLOT_BYTES;
  }

  detach(descriptor: number): void {
    const slot = descriptor & 1;
    const held = ((descriptor >>> 1) << 16) | (LEASE.held << 8) | this.#token;
    if (!this.#move(slot, held, LEASE.detached, this.#token)) throw stale();
  }

  adopt(descriptor: number): number {
    const slot = descriptor & 1;
    const word = this.#load(slot);
    const given = word >>> 16 === descriptor >>> 1 && stateOf(word) === LEASE.detached;
    if (!given || !this.#move(slot, word, LEASE.held, this.#token)) throw stale();
    return this.offset(descriptor);
  }

  isOut(descriptor: number): boolean {
    const word = this.#load(descriptor & 1);
    return word >>> 16 === descriptor >>> 1 && stateOf(word) !== LEASE.free;
  }

  flush(): void {}

  /** Brings back what a dead thread had. */
  recover(dead: number): void {
    const word = this.#load(this.#slot);
    if (stateOf(word) === LEASE.free || (word & 0xff) !== dead) return;
    this.#move(this.#slot, word + 0x10000, LEASE.free, 0, word);
  }

  #load(slot: number): number {
    return this.#thread.atomics.load(this.#thread.words, LEASES + slot);
  }

  #move(slot: number, base: number, state: number, token: number, from = base): boolean {
    const to = ((base >>> 16) << 16) | (state << 8) | token;
    return this.#thread.atomics.compareExchange(this.#thread.words, LEASES + slot, from, to) === from;
  }
}

function stateOf(word: number): number {
  return (word >>> 8) & 0xff;
}

function stale(): HeddleError {
  return new HeddleError('ERR_HEDDLE_STALE_DESCRIPTOR', 'stale');
}

/** The context as a thread of a model sees it. Tokens are the indexes of the threads plus 1. */
export function contextOf(
  thread: SimulatedThread,
  gone: Pick<readonly number[], 'includes'> = [],
  mtType: MtType = SHAPE.mtType,
): { memory: ContextMemory; recoverPools: (dead: number) => void } {
  const token = thread.index + 1;
  const pools = SHAPE.slotBytes.map((_, size) => new ModelPool(thread, token, size));
  const memory = new ContextMemory({
    segment: {
      id: '0000000000000001',
      platform: thread.platform,
      attached: true,
      thread: { token },
      isAlive: (other) => !gone.includes(other),
    },
    slot: ADDRESS.context,
    words: thread.view(Int32Array, 0, CONTEXT_WORDS) as unknown as Int32Array<SharedArrayBuffer>,
    memory: thread.view(Uint8Array, 0, WORDS * 4) as unknown as Uint8Array<SharedArrayBuffer>,
    memoryWords: thread.view(Int32Array, 0, WORDS) as unknown as Int32Array<SharedArrayBuffer>,
    byteOffset: 0,
    shape: { ...SHAPE, mtType },
    openPool: (size) => pools[size]!,
    wakePool: () => {},
  });
  const recoverPools = (dead: number) => {
    for (const pool of pools) pool.recover(dead);
  };
  return { memory, recoverPools };
}

/** Two open workers: the receiver's row of the thread with this token, the sender's of that one. */
export function prepare(receiverToken = 2, senderToken = 1, threadMode = 0) {
  return (words: Int32Array): void => {
    writeShape(words, SHAPE);
    for (const [row, owner] of [receiverToken, senderToken].entries()) {
      const at = workerRowAt(row);
      words[at + workerRowLayout.offsets.owner] = owner;
      words[at + workerRowLayout.offsets.state] = 3;
      words[at + workerRowLayout.offsets.entry] = Entry.wordOf(1);
      words[at + workerRowLayout.offsets.threadMode] = threadMode;
    }
  };
}

export const LANE = laneAt(SHAPE, 0);

/** The lane is in use already, in this state. */
export function useLane(words: Int32Array, state: number): void {
  words[contextLayout.offsets.lanesUsed] = 1;
  words[LANE + laneLayout.offsets.state] = state;
}

/** What a model of a context says of its memory. */
export const MEMORY = {
  words: WORDS + 4,
  layout: [
    { layout: contextLayout, at: 0, label: 'context' },
    { layout: workerRowLayout, at: workerRowAt(0), label: 'receiver' },
    { layout: workerRowLayout, at: workerRowAt(1), label: 'sender' },
    { layout: laneLayout, at: LANE, label: 'lane' },
  ],
  names: {
    space: [LANE + laneLayout.wordCount, SHAPE.laneBytes / 4],
    leases: [LEASES, SLOTS],
    slots: [SLOT_WORDS, (SLOTS * SLOT_BYTES) / 4],
    notes: [NOTES, 4],
  },
} as const;

/** What recovery does after the death of a thread: the pool first, or the context first, as the directory has them. */
export function recovering(poolFirst: boolean) {
  return (thread: SimulatedThread, dead: number): void => {
    // A second recovery comes after the death of the first one, and recovers that too.
    const gone = thread.index > 2 ? [3, dead + 1] : [dead + 1];
    const { memory, recoverPools } = contextOf(thread, gone);
    for (const token of gone) {
      if (poolFirst) recoverPools(token);
      recoverContext(memory, token);
      if (!poolFirst) recoverPools(token);
    }
  };
}

/** Why something has leaked, undefined where nothing has: lanes and slots that are not free. */
function leaks(words: Int32Array): string | undefined {
  for (let slot = 0; slot < SLOTS; slot++) {
    if (stateOf(words[LEASES + slot]!) !== LEASE.free) return `slot ${slot} is out`;
  }
  return (words[LANE + laneLayout.offsets.state]! & 7) === 0 ? undefined : 'the lane is not free';
}

const nothing = new Uint8Array(0);
/** For a slot of the larger size. */
export const LARGE = new Uint8Array(16);

/** Connects, sends a message in a slot of the larger size, leaves: as an endpoint does. Answers what became of it. */
const sending = (thread: SimulatedThread): string => {
  const { memory } = contextOf(thread);
  let lane: OutboundLane;
  try {
    lane = OutboundLane.open(memory, ADDRESS, SENDER);
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED') return 'refused';
    throw error;
  }
  const sent = lane.messages.write(1, LARGE, nothing, false) === SENT;
  lane.leave();
  return sent ? 'sent' : 'closed';
};

/** One look at the lane, as `progress` has it: adopts what is there, notes it, and puts it back. Then it closes. */
const receivingOnce = (thread: SimulatedThread): void => {
  const { memory } = contextOf(thread);
  const lane = memory.lane(0);
  const phase = phaseOf(lane.life.state);
  if ((phase === PHASE.open || phase === PHASE.senderGone) && lane.life.leadsTo(RECEIVER)) {
    const inbound = new InboundLane(memory, lane, false);
    if (inbound.reader.look()) {
      const at = inbound.reader.begin();
      const descriptor = inbound.space[at + SLOT_RECORD.descriptor]!;
      const size = inbound.space[at + SLOT_RECORD.size]!;
      const there = memory.slots.adopt(size, descriptor) >= 0;
      inbound.reader.noteAdopted();
      if (there) {
        thread.words[NOTES]!++;
        memory.slots.of(size).put(descriptor);
      }
      inbound.reader.release();
    }
  }
  closing(thread);
};

/** Closes the receiver, as `worker.close` does. */
export const closing = (thread: SimulatedThread): void => {
  const { memory } = contextOf(thread);
  const row = memory.row(RECEIVER.row);
  row.shut(RECEIVER.generation);
  endLanesTo(memory, RECEIVER);
  row.free(memory.token);
};

/** Nothing leaks, and what was handled was sent. */
export const conserved = ({ words }: { words: Int32Array }): string | undefined =>
  leaks(words) ?? ((words[NOTES] ?? 0) > 1 ? 'handled twice' : undefined);

/** Recovery, then the living sender looks whether its receiver has gone, as `progress` does. */
const deathModels = [true, false].flatMap((poolFirst) => {
  const order = poolFirst ? 'the pool first' : 'the context first';
  const bound = poolFirst
    ? {}
    : { search: { preemptions: 2 }, deep: { search: { preemptions: Number.POSITIVE_INFINITY } } };
  return [
    defineModel({
      name: `context: the sender dies anywhere between connecting and leaving, ${order}: nothing leaks`,
      ...MEMORY,
      init: prepare(),
      threads: { sender: sending, receiver: receivingOnce },
      killable: ['sender'],
      kills: 1,
      recover: recovering(poolFirst),
      ...bound,
      conserve: conserved,
    }),
    defineModel({
      name: `context: the receiver dies anywhere between adopting and closing, ${order}: nothing leaks`,
      ...MEMORY,
      init: prepare(),
      threads: { sender: sending, receiver: receivingOnce },
      killable: ['receiver'],
      kills: 1,
      recover: recovering(poolFirst),
      ...bound,
      conserve: conserved,
    }),
  ];
});

export default [
  defineModel({
    name: 'context: connecting and sending against closing: refused, or read, or taken back; nothing leaks',
    ...MEMORY,
    init: prepare(),
    threads: { sender: sending, receiver: receivingOnce },
    conserve: conserved,
    check: ({ results, words }) =>
      words[NOTES] === 1 && results[0] !== 'sent' ? `handled, but ${results[0]}` : undefined,
  }),
  ...deathModels,
  defineModel({
    name: 'context: one recovers a dead sender and dies anywhere, another one goes on: nothing leaks',
    ...MEMORY,
    init: prepare(),
    threads: { sender: sending, receiver: closing },
    killable: ['sender'],
    kills: 2,
    recover: recovering(true),
    conserve: conserved,
    search: { preemptions: 1 },
    deep: { search: { preemptions: 3 } },
  }),
  defineModel({
    name: 'context: who ends a lane finds it used again, to another worker: nobody is shut out of it',
    ...MEMORY,
    init: (words) => {
      prepare(3, 3)(words);
      // The sender has gone, and the receiver has shut its row.
      words[workerRowAt(RECEIVER.row) + workerRowLayout.offsets.state] = 2;
      useLane(words, (1 << 27) | (9 << 3) | PHASE.senderGone);
      words[LANE + laneLayout.offsets.receiverGeneration] = 1;
    },
    threads: {
      ender: (thread) => endOrphans(contextOf(thread).memory),
      successor: (thread) => {
        const { memory } = contextOf(thread);
        const { life } = memory.lane(0);
        if (life.leaveAsReceiver(RECEIVER, memory.token)) life.free();
        if (life.claim(memory.token)) life.open(SENDER, SENDER);
      },
    },
    killable: ['ender'],
    kills: 1,
    recover: (thread, dead) => endOrphans(contextOf(thread, [dead + 1]).memory),
    // Where the recovery died there is another one to come.
    check: ({ words, dead }) =>
      dead[2] !== true &&
      phaseOf(words[LANE + laneLayout.offsets.state]!) === PHASE.open &&
      words[LANE + laneLayout.offsets.drainer] !== 0
        ? 'the lane is open, and its entry is closed'
        : undefined,
  }),
  defineModel({
    name: 'context: who ends lanes holds one that is used again, to a worker that closes at that moment: it is ended',
    ...MEMORY,
    init: (words) => {
      prepare(1, 2)(words);
      // Its sender has not found yet that the receiver has shut its row.
      words[workerRowAt(RECEIVER.row) + workerRowLayout.offsets.state] = 2;
      useLane(words, (1 << 27) | (2 << 3) | PHASE.open);
      words[LANE + laneLayout.offsets.receiverGeneration] = 1;
    },
    threads: {
      ender: (thread) => endLanesTo(contextOf(thread).memory, RECEIVER),
      successor: (thread) => {
        const { memory } = contextOf(thread);
        const { life } = memory.lane(0);
        if (life.abandon(memory.token)) life.free();
        if (!life.claim(memory.token)) return;
        life.open(SENDER, SENDER);
        memory.row(SENDER.row).shut(SENDER.generation);
        endLanesTo(memory, SENDER);
      },
    },
    check: ({ words }) =>
      phaseOf(words[LANE + laneLayout.offsets.state]!) === PHASE.receiverGone
        ? undefined
        : 'the lane leads to a closed worker, and nobody ends it',
  }),
  defineModel({
    name: 'context: who has left a lane detaches while that is freed and used again: it ends only its own use of it',
    ...MEMORY,
    init: (words) => {
      prepare(2, 2)(words);
      useLane(words, (1 << 27) | (1 << 3) | PHASE.senderGone);
      words[LANE + laneLayout.offsets.receiverGeneration] = 1;
    },
    threads: {
      leaver: (thread) => recoverContext(contextOf(thread).memory, thread.index + 1),
      successor: (thread) => {
        const { memory } = contextOf(thread);
        const { life } = memory.lane(0);
        if (life.leaveAsReceiver(RECEIVER, memory.token)) life.free();
        if (life.claim(memory.token)) life.open(RECEIVER, SENDER);
      },
    },
    check: ({ words }) =>
      phaseOf(words[LANE + laneLayout.offsets.state]!) === PHASE.open
        ? undefined
        : 'the lane of another sender was ended',
  }),
  defineModel({
    name: 'context: keep and hand over against a taker and the death of the keeper: one has it, or it came back',
    ...MEMORY,
    init: (words) => {
      prepare()(words);
      words[LEASES] = (LEASE.detached << 8) | 2;
    },
    threads: [0, 1].map(() => (thread: SimulatedThread) => {
      const { memory } = contextOf(thread);
      const taken = memory.slots.adopt(0, 0) >= 0;
      if (taken) memory.slots.of(0).put(0);
      return taken;
    }),
    killable: [1],
    kills: 1,
    recover: (thread, dead) => contextOf(thread).recoverPools(dead + 1),
    check: ({ results }) => (results[0] === true && results[1] === true ? 'both have it' : undefined),
    conserve: ({ words }) => leaks(words),
  }),
];
