import { defineModel, type End, type Model, type SimulatedThread } from '@heddle/explore';
import { type Platform, realPlatform, runBlocking } from '@heddle/memory';
import { type Audit, auditPool } from './audit.js';
import { closePool, noteCloser, releaseIfUnused } from './close-pool.js';
import { CloseSteps } from './close-steps.js';
import { NONE, NOT_OPEN } from './descriptor.js';
import { GetSteps } from './get-steps.js';
import { type ChunkSource, Growth } from './growth.js';
import { adopt, detach } from './hand-over.js';
import { holdingAll } from './holding-all.js';
import { FOR_EVER } from './latch.explore.js';
import { laneLayout, mpoolLayout, NOTE_WORDS, regionsOf, seatLayout, shardLayout } from './mpool.layout.js';
import type { Policy } from './policy.js';
import { withLayers } from './policy-layers.js';
import { writeHeader } from './pool-header.js';
import { type MpoolOptions, type PoolPlan, planOf } from './pool-options.js';
import { recoverPool } from './pool-recovery.js';
import { guardOf, policyOf } from './pool-thread.js';
import { PoolWords } from './pool-words.js';
import { isPutIn, markOf } from './put-mark.js';
import { Shard } from './shard.js';

/**
 * What the models of the pool are made of. Each thread marks the slots that it has in plain words of its own, so that a
 * slot that two threads have is seen, and a missing happens-before edge between putting and getting is a race.
 */
export const models: readonly Model[] = [];

/** Threads of a model have ids 1 to 3; recovering thread i of dead thread d has 4 + 4 d + i. */
export const IDS = 20;
const MOST_RECOVERIES = 4;
/** Ids of the first and the second thread. */
const FIRST = 1;
export const SECOND = 2;
const MOST_SLOTS = 8;
const POISON = -1;

/** A pool as a model wants it, and where its words and those of the model lie. */
export class Subject {
  readonly name: string;
  readonly plan: PoolPlan;
  readonly words: number;
  /** A word for each id: whether that thread is dead. */
  readonly dead: number;
  /** A word for each slot: id of the thread that has it. */
  readonly marks: number;
  /** A word for each range of memory: generation * 32 + owner, 31 for kept, 0 for free. */
  readonly ranges: number;
  /** Words for what threads tell each other. */
  readonly mail: number;
  /** Slots that exist at first. */
  readonly slots: number;
  readonly rangeCount: number;
  /** How many of these are in use. */
  readonly boxes: number;
  /** A word for each id: how many recoveries of it were begun. */
  readonly recoveries: number;
  /** A word for each slot in place of its memory: poisoned, or what its holder wrote. */
  readonly contents: number;

  constructor(name: string, plan: PoolPlan, slots: number, boxes = 1) {
    this.name = name;
    this.plan = plan;
    this.slots = slots;
    this.boxes = boxes;
    // One more than can count, so that threads can grow at the same time.
    this.rangeCount = plan.shape.maxChunks + (slots < plan.shape.slotCapacity ? 1 : 0);
    this.dead = regionsOf(plan.shape).end;
    this.marks = this.dead + IDS;
    this.ranges = this.marks + MOST_SLOTS;
    this.mail = this.ranges + this.rangeCount;
    this.recoveries = this.mail + 4;
    this.contents = this.recoveries + 4;
    this.words = this.contents + MOST_SLOTS;
  }

  /** What every model says. */
  get base() {
    const { shape } = this.plan;
    const { shards, seats, seatWords, lanes, laneWords, leases, links, chunks, notes } = regionsOf(shape);
    const place = (
      count: number,
      at: number,
      step: number,
      label: string,
      layout: typeof shardLayout | typeof seatLayout | typeof laneLayout,
    ) => Array.from({ length: count }, (_, i) => ({ layout, at: at + i * step, label: `${label} ${i}` }));
    return {
      words: this.words,
      layout: [
        { layout: mpoolLayout, at: 0, label: 'pool' },
        ...place(shape.shards, shards, shardLayout.wordCount, 'shard', shardLayout),
        ...place(shape.seats, seats, seatWords, 'seat', seatLayout),
        ...place(shape.seats * shape.shards, lanes, laneWords, 'lane', laneLayout),
      ],
      names: {
        lease: [leases, shape.slotCapacity] as const,
        link: [links, shape.slotCapacity] as const,
        chunk: [chunks, 8 * shape.maxChunks] as const,
        dead: [this.dead, IDS] as const,
        mark: [this.marks, MOST_SLOTS] as const,
        range: [this.ranges, this.rangeCount] as const,
        mail: [this.mail, 4] as const,
        recoveries: [this.recoveries, 4] as const,
        contents: [this.contents, MOST_SLOTS] as const,
        ...(shape.noteWords > 0 && { note: [notes, shape.slotCapacity * shape.noteWords] as const }),
      },
      hints: shape.magazine > 0 ? [mpoolLayout.offsets.wakeup, mpoolLayout.offsets.closedHint] : [],
      init: (words: Int32Array<SharedArrayBuffer>) => {
        writeHeader(words, this.plan, { by: FIRST });
        const { growth, pool } = this.over(words, IDS - 1, realPlatform);
        while (pool.slotCount() < this.slots) growth.grow();
      },
      check: (end: End) => this.check(end),
      recover: (thread: SimulatedThread, dead: number) => this.recover(thread, dead + 1),
    };
  }

  /** The pool as the thread of this id uses it. */
  over(words: Int32Array, id: number, platform: Platform) {
    const { atomics } = platform;
    const isAlive = (token: number) => atomics.load(words, this.dead + token) === 0;
    // What is sent off at the end of a turn is what flush sends off.
    const synchronous = { ...platform, schedule: () => () => {} };
    const pool = new PoolWords(words, this.plan.shape, { id, token: id }, isAlive, synchronous, FOR_EVER);
    const growth = new Growth(pool, this.plan, this.#source(words, id, platform), {
      guard: guardOf(this.plan, pool),
    });
    const shards = [growth.shard];
    for (let i = 1; i < this.plan.shape.shards; i++) shards.push(new Shard(pool, i));
    return { pool, growth, shards };
  }

  of(thread: SimulatedThread): Player {
    return new Player(this, thread);
  }

  policy(parts: ReturnType<Subject['over']>): Policy {
    const { pool, growth, shards } = parts;
    const { contents, plan } = this;
    const { words } = pool;
    const elements = {
      damage: () => undefined,
      poison: (slot: number) => {
        words[contents + slot] = POISON;
      },
      isPoisoned: (slot: number) => words[contents + slot] === POISON,
    };
    const debug = plan.guardBytes > 0 ? { poolName: 'm', elements } : undefined;
    return withLayers(policyOf(plan, pool, growth, shards), plan, pool, debug);
  }

  recover(thread: SimulatedThread, deadId: number): void {
    const { words, platform } = thread;
    const { atomics } = platform;
    const first = MOST_RECOVERIES * deadId;
    const run = atomics.add(words, this.recoveries + deadId, 1);
    // A recovery that was cut short is one more death, which is found out in the same way.
    const gone = [deadId, ...Array.from({ length: run }, (_, i) => first + i)];
    const { pool, shards, growth } = this.over(words, first + run, platform);
    for (const id of gone) atomics.store(words, this.dead + id, 1);
    for (const id of gone) recoverPool(pool, shards, { id, token: id });
    releaseIfUnused({ pool, shards, growth });
    for (let box = 0; box < this.boxes; box++) {
      atomics.compareExchange(words, this.mail + box, 0, -1);
      atomics.notify(words, this.mail + box);
    }
    // What the segment does: memory that belongs to the dead thread and to no structure.
    for (let range = 0; range < this.rangeCount; range++) {
      const word = atomics.load(words, this.ranges + range);
      const owner = word % 32;
      if (gone.includes(owner)) atomics.compareExchange(words, this.ranges + range, word, word - owner + 32);
    }
  }

  /** Every slot is in one place, and what is out is what the living say they hold. */
  check({ words, results, dead }: End): string | undefined {
    const { pool, shards } = this.over(words, IDS - 1, realPlatform);
    const audit = auditPool(pool, shards);
    if (!audit.consistent) return `Not consistent: ${JSON.stringify(audit)}`;
    const held = results.flatMap((result) => (Array.isArray(result) ? (result as number[]) : []));
    const out = audit.holders.map(({ descriptor }) => descriptor);
    const missing = held.filter((descriptor) => !out.includes(descriptor));
    if (missing.length > 0) return `A thread holds ${missing}, but out are ${out}`;
    const leaked = audit.holders.filter(
      ({ descriptor, threadId }) =>
        !held.includes(descriptor) && (dead.some(Boolean) ? dead[threadId - 1] : true),
    );
    if (leaked.length > 0) return `Nobody holds ${JSON.stringify(leaked)}`;
    const { format } = pool;
    const stuck = out.filter(
      (descriptor) =>
        this.plan.exactPut &&
        isPutIn(words[markOf(pool, format.slotOf(descriptor))]!, format.generationOf(descriptor)),
    );
    if (stuck.length > 0) return `Out, and marked as put: ${stuck}`;
    for (let range = 0; range < this.rangeCount; range++) {
      const owner = words[this.ranges + range]! % 32;
      if (owner > 0 && owner < 31) return `Memory ${range} was left to thread ${owner}`;
    }
    return undefined;
  }

  /** Every slot is in one place; who holds what does not matter. */
  lists({ words }: End): string | undefined {
    const { pool, shards } = this.over(words, IDS - 1, realPlatform);
    const audit = auditPool(pool, shards);
    return audit.consistent ? undefined : `Not consistent: ${JSON.stringify(audit)}`;
  }

  #source(words: Int32Array, id: number, { atomics }: Platform): ChunkSource {
    const at = (index: number) => this.ranges + index;
    return {
      allocate: (byteLength) => {
        for (let index = 0; index < this.rangeCount; index++) {
          const word = atomics.load(words, at(index));
          if (word % 32 !== 0) continue;
          if (atomics.compareExchange(words, at(index), word, word + id) === word) {
            return { index, generation: Math.floor(word / 32), byteOffset: index * 1024, byteLength };
          }
        }
        return undefined;
      },
      keep: ({ index, generation }) => {
        atomics.store(words, at(index), generation * 32 + 31);
      },
      isLive: ({ index, generation }) => {
        const word = atomics.load(words, at(index));
        return word % 32 !== 0 && Math.floor(word / 32) === generation;
      },
      discard: ({ index, generation }) => {
        atomics.store(words, at(index), (generation + 1) * 32);
      },
    };
  }
}

/** A thread of a model, with what it does to the pool. */
export class Player {
  readonly #subject: Subject;
  readonly #thread: SimulatedThread;
  readonly #parts: ReturnType<Subject['over']>;
  readonly #policy: Policy;
  readonly id: number;

  constructor(subject: Subject, thread: SimulatedThread) {
    this.#subject = subject;
    this.#thread = thread;
    this.id = thread.index + 1;
    this.#parts = subject.over(thread.words, this.id, thread.platform);
    this.#policy = subject.policy(this.#parts);
  }

  /** Gets a slot, without waiting, and makes sure that no other thread has it. */
  take(): number {
    const descriptor = this.#policy.take();
    if (descriptor !== NONE) this.mark(descriptor);
    return descriptor;
  }

  /** Gets a slot, blocking. */
  wait(timeoutMs?: number): number {
    const { pool } = this.#parts;
    const descriptor = runBlocking(new GetSteps(pool, this.#policy), pool.words, pool.platform, timeoutMs);
    return this.#got(descriptor);
  }

  /** Gets a slot as a task of the event loop does. */
  drive(options: { timeoutMs?: number; abortable?: boolean } = {}): number {
    const steps = new GetSteps(this.#parts.pool, this.#policy);
    const descriptor = this.#thread.drive(
      {
        begin: () => steps.begin(),
        onWake: () => steps.onWake(),
        onTimeout: () => steps.onTimeout(),
        onAbort: () => {
          steps.onAbort();
          return { done: true, value: NONE } as const;
        },
      },
      { ...options, leavesEntry: false },
    );
    return this.#got(descriptor);
  }

  #got(descriptor: number): number {
    if (descriptor === NONE || descriptor === NOT_OPEN) return NONE;
    this.mark(descriptor);
    return descriptor;
  }

  mark(descriptor: number): void {
    const { words } = this.#thread;
    const at = this.#subject.marks + this.#parts.pool.format.slotOf(descriptor);
    const before = words[at]!;
    if (before !== 0 && this.#parts.pool.isAlive(before))
      throw new Error(`Threads ${before} and ${this.id} both have ${descriptor}`);
    words[at] = this.id;
    if (this.#subject.plan.guardBytes > 0) words[this.#contentOf(descriptor)] = this.id;
  }

  #contentOf(descriptor: number): number {
    return this.#subject.contents + this.#parts.pool.format.slotOf(descriptor);
  }

  unmark(descriptor: number): void {
    this.#thread.words[this.#subject.marks + this.#parts.pool.format.slotOf(descriptor)] = 0;
  }

  put(descriptor: number): void {
    if (descriptor === NONE) return;
    const content =
      this.#subject.plan.guardBytes > 0 ? this.#thread.words[this.#contentOf(descriptor)] : this.id;
    if (content !== this.id) throw new Error(`What thread ${this.id} wrote is gone: ${content}`);
    this.unmark(descriptor);
    if (!this.tryPut(descriptor))
      throw new Error(`The put of ${descriptor} by thread ${this.id} was refused`);
  }

  tryPut(descriptor: number): boolean {
    return (
      this.#policy.give(descriptor) || (adopt(this.#parts.pool, descriptor) && this.#policy.give(descriptor))
    );
  }

  flush(): void {
    this.#policy.flush();
  }

  /** Returns whether it was given away: not where the receiver is dead. */
  detach(descriptor: number, to: number): boolean {
    const came = detach(this.#parts.pool, descriptor, to);
    if (came === 'not held') throw new Error(`${descriptor} was not held`);
    return came === 'given';
  }

  adopt(descriptor: number): boolean {
    return adopt(this.#parts.pool, descriptor);
  }

  /** Looks at everything; what lies on no list, or on two, is a fault at any moment. */
  audit(): Audit {
    const { pool, shards } = this.#parts;
    const audit = auditPool(pool, shards);
    const { outstanding, free, cached, unsent, capacity, unreachable, listedWrongly } = audit;
    if (unreachable.length > 0 || listedWrongly.length > 0) throw new Error('A slot is in the wrong place');
    if (outstanding + free + cached + unsent !== capacity) throw new Error('The numbers do not add up');
    return audit;
  }

  shrink(): void {
    this.#policy.empty();
    const { growth, shards } = this.#parts;
    holdingAll(shards, () => growth.dropFreeChunks(shards));
  }

  /** Whether the pool gives slots out, closing, or closed. */
  state(): number {
    return this.#thread.atomics.load(this.#thread.words, mpoolLayout.offsets.closed);
  }

  close(force = false): boolean {
    return closePool(this.#parts, () => this.#end(), force);
  }

  /** Ends all elements, whose memory must be there. */
  #end(): void {
    const { atomics, words } = this.#thread;
    for (let range = 0; range < this.#subject.rangeCount; range++) {
      const owner = atomics.load(words, this.#subject.ranges + range) % 32;
      if (this.#subject.slots > 0 && owner === 0) throw new Error('What is ended has gone back already');
    }
  }

  /** What a thread does that finds the pool closed. */
  notice(): void {
    if (this.#parts.pool.isClosed()) releaseIfUnused(this.#parts);
  }

  /** Waits until all is put, and closes it then. False where it gave that up. */
  closeWaiting(timeoutMs?: number): boolean {
    const { pool, shards } = this.#parts;
    const steps = new CloseSteps(pool, {
      close: (force) => {
        this.#policy.empty();
        return this.close(force);
      },
      beginClosing: () => noteCloser(pool, shards, this.id, true),
      endClosing: () => noteCloser(pool, shards, this.id, false),
    });
    const closed = runBlocking(steps, pool.words, pool.platform, timeoutMs);
    steps.end();
    return closed;
  }

  /** Leaves a descriptor for another thread, as a message does. */
  send(box: number, descriptor: number): void {
    const { atomics } = this.#thread.platform;
    atomics.store(this.#thread.words, this.#subject.mail + box, descriptor + 1);
    atomics.notify(this.#thread.words, this.#subject.mail + box);
  }

  /** Waits for one; NONE where its sender died. */
  receive(box: number): number {
    const descriptor = this.told(box);
    if (descriptor !== NONE) this.mark(descriptor);
    return descriptor;
  }

  /** Waits for any number; NONE where its sender died. */
  told(box: number): number {
    const { atomics } = this.#thread.platform;
    const at = this.#subject.mail + box;
    for (;;) {
      const word = atomics.exchange(this.#thread.words, at, 0);
      if (word > 0) return word - 1;
      // Who was to send it is dead.
      if (word < 0) return NONE;
      atomics.wait(this.#thread.words, at, 0);
    }
  }
}

export type Body = (player: Player) => unknown;

/** A pool of one list, with so many of its slots there at first. */
export function list(slots: number, options: Partial<MpoolOptions> = {}, first = slots): Subject {
  return new Subject(
    'locked',
    planOf({ name: 'm', elemSize: 8, maxElems: slots, policy: 'locked', ...options }),
    first,
  );
}

/** Two shards: of threads with odd and with even ids. A magazine and a seat, of one slot each, for two threads. */
export function sharded(slots: number, magazine: number, options: Partial<MpoolOptions> = {}): Subject {
  const plan = planOf({ name: 'm', elemSize: 8, maxElems: slots, threads: 2, magazine, ...options });
  const slotCapacity = slots + 4 * magazine;
  // Places are many words, and nothing depends on them.
  const noteWords = Math.min(plan.shape.noteWords, NOTE_WORDS);
  const shape = { ...plan.shape, shards: 2, slotCapacity, maxChunks: 1, noteWords };
  const more = Object.keys(options).map((option) => `, ${option}`);
  return new Subject(
    `sharded by ${magazine}${more.join('')}`,
    { ...plan, elemsPerChunk: slotCapacity, shape },
    slotCapacity,
  );
}

/**
 * The same with lanes of `laneSlots` puts, and no slots beyond `slots`: so what magazines hold back is missed, and lanes
 * become full.
 */
export function laned(slots: number, magazine = 1, laneSlots = magazine, boxes = 2): Subject {
  const { name, plan } = sharded(slots, magazine);
  const shape = { ...plan.shape, laneSlots, slotCapacity: slots };
  return new Subject(
    `${name}, lanes of ${laneSlots}`,
    { ...plan, elemsPerChunk: slots, shape },
    slots,
    boxes,
  );
}

export function model(
  subject: Subject,
  name: string,
  bodies: readonly Body[],
  more: Partial<Model> = {},
): Model {
  return defineModel({
    ...subject.base,
    ...more,
    name: `${subject.name}: ${name}`,
    threads: bodies.map((body) => (thread: SimulatedThread) => body(subject.of(thread))),
  });
}
