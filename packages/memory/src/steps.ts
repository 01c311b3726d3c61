/**
 * What a step of an asynchronous algorithm asks for: it is done, or it sleeps until the word at `index` is
 * notified or differs from `expected`.
 */
export type Step<Result> =
  | { readonly done: true; readonly value: Result }
  | { readonly done: false; readonly index: number; readonly expected: number };

/**
 * An asynchronous algorithm as a synchronous step machine.
 *
 * The shell calls `begin` once and then, while the answer is not done, exactly one of the others after each
 * sleep. All of an algorithm's reads and writes happen inside these calls, so the schedule explorer can drive
 * them without promises, and the blocking and the promise form cannot differ.
 *
 * `onTimeout` takes the waiter back out and answers done: with the value of a grant that came first, or with
 * what stands for giving up. `onAbort` takes it out too, and gives back a grant that came first, since the
 * caller gets `signal.reason` and nothing else.
 */
export interface Steps<Result> {
  begin(): Step<Result>;
  /** The word was notified, or changed, or the wake was a stray one: look again. */
  onWake(): Step<Result>;
  onTimeout(): Step<Result>;
  onAbort(): void;
}
