import {
  HeddleError,
  runAsync,
  runBlocking,
  type Segment,
  type Step,
  type Steps,
  type StructureInfo,
  type WaitAsyncOptions,
} from '@heddle/memory';
import { type Audit, auditPool } from './audit.js';
import { type Closed, type MpoolCloseOptions, NOTHING_LEFT } from './close-options.js';
import { CloseSteps } from './close-steps.js';
import { type PoolCounters, readCounters } from './counters.js';
import * as ended from './ended-policy.js';
import type { Policy } from './policy.js';
import { PoolThread, poolClosed } from './pool-thread.js';
import { reportText } from './report.js';
import type { SlotHooks } from './slot-hooks.js';

// A name of this module costs nothing in compiled code, an imported one is looked up and checked at each use.
const { ENDED } = ended;

/** One thread's object over a pool: how its use begins and ends, and what can be seen of the pool meanwhile. */
export abstract class OpenPool {
  readonly name: string;
  // Not defined before they are set: the engine would check at each use what they are.
  declare readonly segment: Segment;
  declare protected readonly thread: PoolThread;
  declare protected policy: Policy;
  /** Ends the use of the pool through this object. */
  readonly #end: () => void;
  readonly #attached: boolean;
  #disposed = false;

  /** @param attached whether this object has to detach from the segment when it ends. */
  protected constructor(segment: Segment, info: StructureInfo, hooks: SlotHooks, attached: boolean) {
    this.thread = PoolThread.join(segment, info, hooks);
    this.policy = this.thread.policy;
    this.#end = () => {
      this.policy = ENDED;
    };
    this.thread.members.add(this.#end);
    this.#attached = attached;
    this.segment = segment;
    this.name = info.name;
  }

  /** What goes into a log as JSON: not the words of the pool. */
  toJSON(): Pick<OpenPool, 'name' | 'segment'> {
    return { name: this.name, segment: this.segment };
  }

  /** The memory of an element that is out. */
  abstract bytes(descriptor: number): Uint8Array<SharedArrayBuffer>;

  /**
   * Looks where every element is, while other threads go on. Threads that get or put may wait for it.
   */
  audit(): Audit {
    const { policy, pool, shards } = this.using();
    return auditPool(pool, shards, (descriptor) => policy.stackOf?.(descriptor));
  }

  /**
   * What each thread did since the pool was made, read while they go on; undefined where it was made without
   * `counters`.
   */
  counters(): PoolCounters | undefined {
    return readCounters(this.using().pool);
  }

  /** {@link audit} as text: who holds what, and what is wrong. */
  report(): string {
    return this.#report(this.audit());
  }

  #report(audit: Audit): string {
    const { describe } = this.thread.hooks;
    return reportText(this.name, audit, describe && ((descriptor) => describe(this.bytes(descriptor))));
  }

  /**
   * Closes the pool for all threads. Whoever waits for an element gets `ERR_HEDDLE_CLOSED`; a late put does no harm.
   * Closing again does nothing.
   *
   * The memory of the elements, the name and the tables go back to the segment when no thread uses the pool any more:
   * each one that does finds out at its next call, or ends its use by `Symbol.dispose`, by detaching, or by its death.
   * Until then all of that stays as it is.
   *
   * A pool of policy `owner` is closed by the thread that made it.
   *
   * @returns what keeps the memory from going back.
   * @throws HeddleError `ERR_HEDDLE_OUTSTANDING` where elements are out, with `facts.holders`: at once, or with `wait`
   *   when the time is up. Nothing has changed then. Not with `force`. What `cleanup` throws comes through when all
   *   elements are ended and the pool is closed.
   */
  close({ wait = false, force = false }: MpoolCloseOptions = {}): Closed {
    if (this.#endedByClose()) return NOTHING_LEFT;
    const thread = this.using();
    const { policy, pool } = thread;
    policy.assertMayUse();
    if (wait === false || force) return this.#closed(thread.close(force));
    const timeout = wait === true ? undefined : wait;
    const steps = new CloseSteps(pool, thread, timeout);
    try {
      return this.#closed(runBlocking(steps, pool.words, pool.platform, timeout));
    } finally {
      steps.end();
    }
  }

  /**
   * {@link close}, waiting on the event loop until nothing is out.
   *
   * @throws (rejects) with `signal.reason` when aborted, else as {@link close} does.
   */
  async closeAsync(options: WaitAsyncOptions = {}): Promise<Closed> {
    if (this.#endedByClose()) return NOTHING_LEFT;
    this.using().policy.assertMayUse();
    const make = (thread: PoolThread) => new CloseSteps(thread.pool, thread, options.timeout);
    return this.#closed(await this.runAsync(make, options));
  }

  #closed(closed: boolean): Closed {
    if (!closed) {
      const audit = this.audit();
      throw new HeddleError(
        'ERR_HEDDLE_OUTSTANDING',
        `Pool "${this.name}" cannot be closed, ${audit.outstanding} of its elements are out: put them first, or close it with wait or force.\n${this.#report(audit)}`,
        { pool: this.name, outstanding: audit.outstanding, holders: audit.holders },
      );
    }
    // Another object of this thread may have ended it meanwhile.
    if (this.#endedByClose()) return NOTHING_LEFT;
    const outstanding = this.audit().holders;
    const usedBy = this.thread.otherUsers();
    this.thread.endIfClosed();
    return { outstanding, usedBy };
  }

  /** Whether the pool can be used no more: some thread closed it, or this object was disposed. */
  get closed(): boolean {
    return this.policy === ENDED || this.thread.pool.isClosed();
  }

  /**
   * Ends this thread's use of the pool through this object: sends off what it keeps back, and detaches where
   * {@link from} attached.
   */
  [Symbol.dispose](): void {
    if (this.#disposed || !this.segment.attached) return;
    this.#disposed = true;
    if (this.policy !== ENDED) this.thread.dispose(this.#end);
    this.#end();
    if (this.#attached) this.segment.detach();
  }

  /**
   * What this thread has of the pool.
   *
   * @throws HeddleError `ERR_HEDDLE_DETACHED` where this object was disposed, `ERR_HEDDLE_CLOSED` where the pool is
   *   closed and this thread uses it no more.
   */
  protected using(): PoolThread {
    this.segment.assertAttached();
    if (this.policy !== ENDED) return this.thread;
    if (this.#endedByClose()) throw poolClosed(this.name);
    throw new HeddleError(
      'ERR_HEDDLE_DETACHED',
      `This object of pool "${this.name}" was disposed: open the pool again`,
      { pool: this.name },
    );
  }

  #endedByClose(): boolean {
    return this.policy === ENDED && !this.#disposed;
  }

  /** While it waits, this thread stays a user of the pool. Where it detaches, that is the end: nothing is touched then. */
  protected async runAsync<Result>(
    make: (thread: PoolThread) => Steps<Result> & { end?(): void },
    options: WaitAsyncOptions,
  ): Promise<Result> {
    const thread = this.using();
    const { words, platform } = thread.pool;
    const steps = make(thread);
    const step = (next: () => Step<Result>) => {
      this.segment.assertAttached();
      return next();
    };
    const guarded: Steps<Result> = {
      begin: () => step(() => steps.begin()),
      onWake: () => step(() => steps.onWake()),
      onTimeout: () => step(() => steps.onTimeout()),
      onAbort: () => steps.onAbort(),
    };
    thread.waits++;
    try {
      return await runAsync(guarded, words, platform, options);
    } finally {
      steps.end?.();
      thread.endWait();
    }
  }

  /** @throws HeddleError `ERR_HEDDLE_CLOSED` where some thread closed the pool, or waits until it can. */
  protected assertOpen(): void {
    if (!this.using().pool.isOpen()) this.throwClosed();
  }

  protected throwClosed(): never {
    this.using().endIfClosed();
    throw poolClosed(this.name, !this.closed);
  }
}
