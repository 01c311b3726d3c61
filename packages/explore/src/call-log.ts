import type { HistoryNode } from './history.js';
import type { HistoryCall } from './linearizability.js';
import type { StateVector } from './state-vector.js';

/**
 * When recorded calls began, relative to the returns of others: as far as linearizability goes, that is all that
 * a state has to hold of the order of past steps.
 *
 * For call `order` of thread `t` the vector holds one word a thread: how many calls of that thread had returned
 * when the call began, plus 1. A call begins with its first shared operation, and returns with its last.
 */
export class CallLog {
  readonly #state: StateVector;
  readonly #threads: number;
  /** Index of the words of a call, by thread and order; made when first needed. */
  readonly #places: number[][];

  constructor(state: StateVector, threads: number) {
    this.#state = state;
    this.#threads = threads;
    this.#places = Array.from({ length: threads }, () => []);
  }

  /** Notes the calls that begin with the operation which the thread is about to do. */
  begin(thread: number, node: HistoryNode, nodeOf: (thread: number) => HistoryNode | undefined): void {
    node.calls.forEach((call, order) => {
      if (call.calledAt === node.depth) this.#note(thread, order, nodeOf);
    });
  }

  /** Notes calls that began and returned without any shared operation, once the thread stands at `node`. */
  settle(thread: number, node: HistoryNode, nodeOf: (thread: number) => HistoryNode | undefined): void {
    node.calls.forEach((call, order) => {
      if (call.returned && call.calledAt === node.depth) this.#note(thread, order, nodeOf);
    });
  }

  #note(thread: number, order: number, nodeOf: (thread: number) => HistoryNode | undefined): void {
    const place = this.#place(thread, order);
    if (this.#state.values[place + thread] !== 0) return;
    for (let other = 0; other < this.#threads; other++) {
      const returned =
        other === thread ? order : (nodeOf(other)?.calls.filter((call) => call.returned).length ?? 0);
      this.#state.put(place + other, returned + 1);
    }
  }

  #place(thread: number, order: number): number {
    const known = this.#places[thread]![order];
    if (known !== undefined) return known;
    const place = this.#state.allocate(this.#threads);
    this.#places[thread]![order] = place;
    return place;
  }

  /** The calls of a thread that have begun. */
  calls(thread: number, node: HistoryNode): HistoryCall[] {
    const begun: HistoryCall[] = [];
    node.calls.forEach((call, order) => {
      const place = this.#place(thread, order);
      const { values } = this.#state;
      if (values[place + thread] === 0) return;
      const before = Array.from({ length: this.#threads }, (_, other) => values[place + other]! - 1);
      const { name, args, result, returned } = call;
      begun.push({ thread, name, args, result, returned, before, order });
    });
    return begun;
  }
}
