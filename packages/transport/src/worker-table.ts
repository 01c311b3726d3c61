import { HeddleError } from '@heddle/memory';
import type { WorkerAddress } from './address.js';
import type { ContextMemory } from './context-memory.js';
import { doAll } from './do-all.js';
import { assertIdle } from './idle.js';
import type { WorkerPlace } from './lane-life.js';
import { THREAD_MODES } from './thread-mode.js';
import { closedError, WORKER_GONE } from './transport-errors.js';
import { TransportWorker } from './transport-worker.js';
import type { OpenOptions, WorkerOptions } from './worker-options.js';

/** The workers that a thread has made or opened in a context. */
export class WorkerTable {
  readonly #memory: ContextMemory;
  readonly #workers = new Set<TransportWorker>();

  constructor(memory: ContextMemory) {
    this.#memory = memory;
  }

  /** As `context.createWorker` has it. */
  create(options: WorkerOptions): TransportWorker {
    assertOptions(options);
    const threadMode = options.threadMode ?? 'single';
    const mode = THREAD_MODES.indexOf(threadMode);
    if (mode < 0) {
      throw notGranted(threadMode, `there are ${THREAD_MODES.join(', ')}`);
    }
    return this.#memory.lock.run(() => this.#claim(mode, options));
  }

  #claim(mode: number, options: WorkerOptions): TransportWorker {
    const { lock, shape, token } = this.#memory;
    const threadMode = THREAD_MODES[mode]!;
    if (threadMode !== 'single' && lock.type === 'none') {
      throw notGranted(threadMode, 'in a context of mtType "none" nothing is shared', { mtType: lock.type });
    }
    const lends = threadMode === 'multi' && lock.type === 'worker-async';
    if (lends && lock.lender >= 0) {
      throw notGranted(threadMode, 'the context borrows the lock of its only such worker', {
        row: lock.lender,
      });
    }
    const { maxWorkers } = shape;
    for (let row = 0; row < maxWorkers; row++) {
      const generation = this.#memory.row(row).claim(token, mode);
      if (generation < 0) continue;
      if (lends) lock.lend(row, generation);
      return this.#worker({ row, generation }, options);
    }
    throw new HeddleError(
      'ERR_HEDDLE_EXHAUSTED',
      `The context has ${maxWorkers} workers already: close some, or create it with a larger maxWorkers`,
      { maxWorkers },
    );
  }

  /** As `context.openWorker` has it. */
  open(address: WorkerAddress, options: OpenOptions): TransportWorker {
    assertOptions(options);
    this.#memory.assertHere(address);
    const { token } = this.#memory;
    const { row: index, generation } = address;
    const row = this.#memory.row(index);
    if (!row.isOpen(generation)) {
      throw closedError(`The worker in row ${index} of generation ${generation}`, {}, WORKER_GONE);
    }
    for (const worker of this.#workers) if (worker.isAt(address)) return worker;
    const { owner } = row;
    if (THREAD_MODES[row.threadMode] === 'single') {
      throw new HeddleError(
        'ERR_HEDDLE_WRONG_THREAD',
        `This worker is for the thread with token ${owner} only: its thread mode is "single". Create it with threadMode "serialized" or "multi", or make a worker of your own`,
        { owner, thread: token },
      );
    }
    return this.#worker({ row: index, generation }, options);
  }

  /** Waits until what they sent to other threads was handled, or cannot be, or the time is up. */
  async flush(timeout: number): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.flushAll({ timeout })));
  }

  /** @throws HeddleError `ERR_HEDDLE_OUTSTANDING` from inside a handler of one of them. */
  assertOutside(): void {
    for (const worker of this.#workers) worker.assertOutside();
  }

  /** @throws what one of them threw, after all are closed. */
  close(): void {
    doAll(this.#workers, (worker) => worker.leave());
  }

  #worker(place: WorkerPlace, options: OpenOptions): TransportWorker {
    const worker = new TransportWorker(this.#memory, place, options, (closed) =>
      this.#workers.delete(closed),
    );
    this.#workers.add(worker);
    return worker;
  }
}

/** @throws TypeError. */
function assertOptions({ name, idle }: OpenOptions): void {
  if (name !== undefined && typeof name !== 'string') {
    throw new TypeError(`The name of a worker is a string, not ${typeof name}`);
  }
  if (idle !== undefined) assertIdle(idle);
}

function notGranted(
  threadMode: string,
  why: string,
  facts: Readonly<Record<string, unknown>> = {},
): HeddleError {
  return new HeddleError('ERR_HEDDLE_UNSUPPORTED', `Thread mode "${threadMode}" cannot be had: ${why}`, {
    threadMode,
    ...facts,
  });
}
