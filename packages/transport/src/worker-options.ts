import type { IdleStrategy } from './idle.js';
import type { ThreadMode } from './thread-mode.js';

/** Of a worker that another thread made. */
export interface OpenOptions {
  /** For people. Default `'worker'`. */
  readonly name?: string | undefined;
  /** What to do while there is nothing to receive. Default: `Idle.adaptive()`, one of its own. */
  readonly idle?: IdleStrategy | undefined;
}

export interface WorkerOptions extends OpenOptions {
  /** Default `'single'`. */
  readonly threadMode?: ThreadMode | undefined;
}

/** How to wait. */
export interface IdleOptions {
  /** What to do while there is nothing. Default: the worker's own strategy. */
  readonly idle?: IdleStrategy | undefined;
}

export interface WaitForMessagesOptions extends IdleOptions {
  /** Milliseconds. 0 and negative look once, absent and `Infinity` wait for ever, NaN is a RangeError. */
  readonly timeout?: number | undefined;
}

export interface RunOptions extends IdleOptions {
  /** Ends the run: its promise resolves. */
  readonly signal?: AbortSignal | undefined;
}
