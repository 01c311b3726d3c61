import type { WaitEventOptions, WaitEventResult } from './simulated-thread.js';

/** What a step machine wants next: it is done, or waits until a word is no longer as expected or is notified. */
export type Step<Value> =
  | { readonly done: true; readonly value: Value }
  | { readonly done: false; readonly index: number; readonly expected: number };

/** An asynchronous algorithm as synchronous steps, as a thin shell of promises drives them. */
export interface Steps<Value> {
  begin(): Step<Value>;
  onWake(): Step<Value>;
  onTimeout?(): Step<Value>;
  onAbort?(): Step<Value>;
}

/** Steps whose shell, and not they themselves, says what an abort comes to: driving them ends with `undefined` then. */
export interface AbandonedSteps<Value> extends Omit<Steps<Value>, 'onAbort'> {
  onAbort(): void;
}

/** How a step machine is driven. */
export interface DriveOptions extends WaitEventOptions {
  /** Most waits, so that a machine that never ends is told from one that is only slow. Default 100. */
  readonly maxWaits?: number;
}

/** One wait of the machine, done by the thread that drives it. */
export type WaitForEvent = (index: number, expected: number, options: WaitEventOptions) => WaitEventResult;

/** Drives a machine from its begin to its end. Once it has timed out or was aborted, it is neither again. */
export function driveSteps<Value>(
  machine: Steps<Value> | AbandonedSteps<Value>,
  options: DriveOptions,
  wait: WaitForEvent,
): Value | undefined {
  let { timeoutMs, abortable } = options;
  if (abortable === true && machine.onAbort === undefined) {
    throw new TypeError('A step machine that may be aborted has onAbort()');
  }
  if (timeoutMs !== undefined && machine.onTimeout === undefined) {
    throw new TypeError('A step machine that may time out has onTimeout()');
  }
  let step = machine.begin();
  for (let waits = 0; !step.done; waits++) {
    if (waits === (options.maxWaits ?? 100)) {
      throw new Error(`The step machine still waits after ${waits} events`);
    }
    const { leavesEntry = true } = options;
    const answer = wait(step.index, step.expected, {
      leavesEntry,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(abortable === undefined ? {} : { abortable }),
    });
    if (answer === 'aborted') {
      abortable = false;
      const last = machine.onAbort!();
      if (!last) return undefined;
      step = last;
    } else if (answer === 'timed-out') {
      timeoutMs = undefined;
      step = machine.onTimeout!();
    } else {
      step = machine.onWake();
    }
  }
  return step.value;
}
