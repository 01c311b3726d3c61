import {
  type Deadline,
  deadlineAfter,
  type Platform,
  timeoutOf,
  type WaitAsyncOptions,
  whenAborted,
} from '@heddle/memory';

interface Waiting {
  readonly admit: () => void;
}

/**
 * The tasks of one thread that want one lock, first come first served: only the first of them deals with shared
 * memory, so a thread has at most one pending `Atomics.waitAsync` for a lock, and a release costs it one try
 * instead of one for each task.
 *
 * All queues over the same word in one thread are one. A copy of this package that does not know of the queue
 * is held off by the lock itself.
 */
export class TaskQueue {
  static readonly #queues = new WeakMap<ArrayBufferLike, Map<number, TaskQueue>>();

  readonly #waiting = new Set<Waiting>();
  readonly #forget: () => void;
  #busy = false;

  private constructor(forget: () => void) {
    this.#forget = forget;
  }

  /** The queue of this thread for the lock that the word at `index` stands for. */
  static over(words: Int32Array, index = 0): TaskQueue {
    const byOffset = TaskQueue.#queues.get(words.buffer) ?? new Map<number, TaskQueue>();
    TaskQueue.#queues.set(words.buffer, byOffset);
    const offset = words.byteOffset + index * words.BYTES_PER_ELEMENT;
    const queue = byOffset.get(offset) ?? new TaskQueue(() => byOffset.delete(offset));
    byOffset.set(offset, queue);
    return queue;
  }

  /** Waits for this task's turn: false when the time is up, rejects when aborted. It has no turn then. */
  #enter(deadline: Deadline, options: WaitAsyncOptions, platform: Platform): Promise<boolean> {
    if (!this.#busy) {
      this.#busy = true;
      return Promise.resolve(true);
    }
    if (deadline <= platform.now()) return Promise.resolve(false);
    return new Promise((resolve, reject) => {
      const release = options.ref === false ? undefined : platform.keepAlive();
      const finish = (settle: () => void) => {
        if (!this.#waiting.delete(waiting)) return;
        release?.();
        cancelTimer?.();
        forgetSignal?.();
        settle();
      };
      const waiting: Waiting = { admit: () => finish(() => resolve(true)) };
      const onAbort = () => finish(() => reject(options.signal!.reason));
      const onTimer = () => {
        const leftMs = deadline - platform.now();
        if (leftMs <= 0) finish(() => resolve(false));
        else cancelTimer = platform.schedule(onTimer, leftMs);
      };
      let cancelTimer: (() => void) | undefined;
      this.#waiting.add(waiting);
      const forgetSignal = options.signal && whenAborted(options.signal, onAbort);
      if (deadline !== Infinity) onTimer();
    });
  }

  /**
   * Runs `body` in this task's turn, with what is left of the time; answers null where that is up before. The turn
   * ends with `body`, unless `keepsTurn` says of its result that {@link leave} will end it.
   *
   * @throws (rejects) as `body` does, with `signal.reason` when aborted, RangeError or TypeError for a bad timeout.
   */
  async inTurn<Result>(
    options: WaitAsyncOptions,
    platform: Platform,
    body: (rest: WaitAsyncOptions) => Promise<Result>,
    keepsTurn: (result: Result) => boolean = () => false,
  ): Promise<Result | null> {
    const deadline = deadlineAfter(timeoutOf(options), platform.now);
    options.signal?.throwIfAborted();
    if (!(await this.#enter(deadline, options, platform))) return null;
    let kept = false;
    try {
      const timeout = deadline === Infinity ? undefined : deadline - platform.now();
      const result = await body({ ...options, timeout });
      kept = keepsTurn(result);
      return result;
    } finally {
      if (!kept) this.leave();
    }
  }

  /** Ends a turn that was kept: the next task has it at once. */
  leave(): void {
    const [next] = this.#waiting;
    if (next) {
      next.admit();
    } else {
      this.#busy = false;
      this.#forget();
    }
  }
}
