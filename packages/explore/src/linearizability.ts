import { sameResult } from './same-result.js';

/** What the tested structure does when its operations come one after the other. */
export interface SequentialModel<State = unknown> {
  readonly initial: State;
  /**
   * The call, done in this state: its result and the next state, or each of several that are allowed, or
   * undefined where it could not return now (a lock that is held). States are values: `apply` changes none.
   */
  apply(
    state: State,
    call: { readonly name: string; readonly args: readonly unknown[]; readonly thread: number },
  ): Transition<State> | readonly Transition<State>[] | undefined;
}

/** One way in which a call may go. */
export interface Transition<State> {
  readonly state: State;
  readonly result: unknown;
}

/** One call of a schedule, with the calls that returned before it began. */
export interface HistoryCall {
  readonly thread: number;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly result: unknown;
  /** False where its thread died in it: then it may have happened or not, with any result. */
  readonly returned: boolean;
  /** How many calls of each thread had returned when it began. */
  readonly before: readonly number[];
  /** Its place among the calls of its thread. */
  readonly order: number;
}

/**
 * Whether some order of the calls explains all results: one that keeps the order of calls that did not overlap.
 *
 * Depth first over the calls that may come next, with (calls done, state) pairs seen before pruned, after Wing and
 * Gong, and Lowe.
 */
export function isLinearizable(calls: readonly HistoryCall[], model: SequentialModel): boolean {
  if (calls.length > 30) throw new RangeError(`${calls.length} recorded calls in one schedule; at most 30`);
  const seen = new Set<string>();
  const must = calls.reduce((mask, call, index) => (call.returned ? mask | (1 << index) : mask), 0);

  const search = (done: number, state: unknown): boolean => {
    if ((done & must) === must) return true;
    const key = `${done} ${stateKey(state)}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return calls.some((call, index) => {
      if ((done & (1 << index)) !== 0 || !mayComeNext(calls, done, call)) return false;
      const outcome = model.apply(state, call);
      if (outcome === undefined) return false;
      const transitions = Array.isArray(outcome)
        ? (outcome as Transition<unknown>[])
        : [outcome as Transition<unknown>];
      return transitions.some(
        (next) =>
          (!call.returned || sameResult(next.result, call.result)) && search(done | (1 << index), next.state),
      );
    });
  };
  return search(0, model.initial);
}

/** Whether every call that had returned before this one began is done. */
function mayComeNext(calls: readonly HistoryCall[], done: number, call: HistoryCall): boolean {
  return calls.every(
    (other, index) =>
      (done & (1 << index)) !== 0 || other === call || other.order >= (call.before[other.thread] ?? 0),
  );
}

function stateKey(state: unknown): string {
  return JSON.stringify(state, (_key, value) => {
    if (typeof value === 'bigint') return `${value}n`;
    if (value instanceof Map || value instanceof Set) return [...value];
    return value;
  });
}

/** The calls of a schedule in a sentence, for a failure. */
export function describeCalls(calls: readonly HistoryCall[], threadName: (thread: number) => string): string {
  return calls
    .map((call) => {
      const result = call.returned ? show(call.result) : 'unfinished';
      return `${threadName(call.thread)} ${call.name}(${call.args.map(show).join(', ')}) → ${result}`;
    })
    .join('; ');
}

function show(value: unknown): string {
  return value === undefined ? 'undefined' : (JSON.stringify(value) ?? String(value));
}
