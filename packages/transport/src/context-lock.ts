import { createLock, type Lock, type LockKind, type LockOutcome } from '@heddle/lock';
import { assertMayBlock, HeddleError } from '@heddle/memory';
import type { ContextMemory } from './context-memory.js';
import type { MtType } from './mt-type.js';
import { contextLayout, workerRowLayout } from './transport.layout.js';

const { lender, lenderGeneration, lock: headerLock } = contextLayout.offsets;
const { lock: rowLock } = workerRowLayout.offsets;

/** How often a thread that must not block tries before it gives up: some milliseconds. */
const TRIES_WITHOUT_BLOCKING = 100_000;

/**
 * The lock of a context: it guards the tables of workers and lanes, and what a program puts under it by
 * `context.locked`.
 *
 * | type         | the lock                                       | who may share                                               |
 * |--------------|------------------------------------------------|-------------------------------------------------------------|
 * | spinlock     | a spin lock, which parks past its cap          | all threads                                                 |
 * | mutex        | a mutex, which is fair                         | all threads                                                 |
 * | worker-async | that of the context's only `multi` worker; before there is one, none | all threads, once there is such a worker |
 * | none         | none                                           | nobody: the first thread has the context for itself, and there are no shared workers |
 *
 * Messages never take it: lanes have one writer and one reader, slots come from the pool.
 *
 * **Borrowing**: `lender` is the row of the multi worker + 1, set under the lock that was in force before. Whoever has taken
 * a lender's lock looks whether it still lends; where its worker was closed, takes it off under that lock, and starts
 * anew. So at no time two locks are in force.
 *
 * **Death** of the holder: recovery frees it, and the next one is told. The tables are right after each of their steps.
 *
 * **Cost**, in Atomics calls, where nobody else has it: 2; of a borrowed one 6; of type `none` 0.
 */
export class ContextLock {
  readonly type: MtType;
  readonly #memory: ContextMemory;
  readonly #header: Lock;
  readonly #borrowed = new Map<number, Lock>();
  #depth = 0;

  constructor(memory: ContextMemory) {
    this.#memory = memory;
    this.type = memory.shape.mtType;
    const kind = this.type === 'worker-async' ? 'none' : this.type;
    this.#header = this.#lockAt(memory.words.subarray(headerLock), kind);
  }

  /**
   * Runs `section` while no other thread is in one. Inside of a section of this thread it just runs.
   *
   * @throws HeddleError `ERR_HEDDLE_WRONG_THREAD` where the type lets no other thread share the context;
   *   `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, after some milliseconds. What `section` throws comes
   *   through.
   */
  run<Result>(section: (outcome: LockOutcome) => Result): Result {
    if (this.#depth > 0) return section('acquired');
    const { lock, outcome } = this.#take();
    this.#depth++;
    try {
      return section(outcome);
    } finally {
      this.#depth--;
      release(lock, outcome);
    }
  }

  /** The row of the worker whose lock is borrowed, -1 where there is none. In a section. */
  get lender(): number {
    return this.#memory.platform.atomics.load(this.#memory.words, lender) - 1;
  }

  /** From now on the lock of this multi worker is borrowed. In a section, where there is no lender. */
  lend(row: number, generation: number): void {
    const { atomics } = this.#memory.platform;
    atomics.store(this.#memory.words, lenderGeneration, generation);
    atomics.store(this.#memory.words, lender, row + 1);
  }

  /** What recovery does. */
  recover(deadToken: number): void {
    this.#header.recover(deadToken);
    if (this.type !== 'worker-async') return;
    const { maxWorkers } = this.#memory.shape;
    for (let row = 0; row < maxWorkers; row++) this.#lockOf(row).recover(deadToken);
  }

  #take(): { lock: Lock; outcome: LockOutcome } {
    if (this.type !== 'worker-async') return { lock: this.#header, outcome: this.#acquire(this.#header) };
    // Each round but the last saw a worker begin to lend its lock, or end.
    for (;;) {
      const row = this.lender;
      const lock = row < 0 ? this.#header : this.#lockOf(row);
      const outcome = this.#acquire(lock);
      if (this.lender === row && (row < 0 || this.#lends(row))) return { lock, outcome };
      release(lock, outcome);
    }
  }

  /** Whether the worker in this row lends still, whose lock this thread has. Where it was closed, it does no more. */
  #lends(row: number): boolean {
    const { words, platform } = this.#memory;
    const generation = platform.atomics.load(words, lenderGeneration);
    if (this.#memory.row(row).isOpen(generation)) return true;
    platform.atomics.store(words, lender, 0);
    return false;
  }

  #acquire(lock: Lock): LockOutcome {
    try {
      const { platform } = this.#memory;
      // The lock of type none never blocks.
      if (lock.kind === 'none' || platform.canBlock()) return lock.lock();
      for (let tries = 0; tries < TRIES_WITHOUT_BLOCKING; tries++) {
        const outcome = lock.tryLock();
        if (outcome !== null) return outcome;
        platform.pause();
      }
      assertMayBlock(platform);
      return lock.lock();
    } catch (error) {
      if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_WRONG_THREAD') throw this.#notShared();
      throw error;
    }
  }

  #lockOf(row: number): Lock {
    let lock = this.#borrowed.get(row);
    if (!lock) {
      lock = this.#lockAt(this.#memory.rowWords(row).subarray(rowLock), 'mutex');
      this.#borrowed.set(row, lock);
    }
    return lock;
  }

  #lockAt(words: Int32Array, kind: LockKind): Lock {
    return createLock(kind, words, this.#memory.token, this.#memory.platform);
  }

  #notShared(): HeddleError {
    const hint =
      this.type === 'none'
        ? 'create the context with mtType "spinlock" or "mutex"'
        : 'create its worker of thread mode "multi" first, whose lock the context borrows';
    return new HeddleError(
      'ERR_HEDDLE_WRONG_THREAD',
      `This context of mtType "${this.type}" is another thread’s alone: ${hint}`,
      { mtType: this.type, thread: this.#memory.token },
    );
  }
}

/** What is guarded is in order after each step, so a death in it poisons nothing. */
function release(lock: Lock, outcome: LockOutcome): void {
  if (outcome === 'owner-died') lock.markConsistent();
  lock.unlock();
}
