import type { StateVector } from './state-vector.js';

/** Not started: the place of a recovering thread. */
export const UNBORN = 0;
export const RUNNING = 1;
/** In a wait. Its node is the one before the wait is answered. */
export const SLEEPING = 2;
/** Returned. */
export const DONE = 3;
/** Killed. */
export const DEAD = 4;

/** What the state vector holds of each thread. All fields of one kind lie together. */
export class ThreadTable {
  /** Threads of the model, and places for those that recover. */
  readonly count: number;
  readonly #state: StateVector;
  readonly #node: number;
  readonly #status: number;
  readonly #deadline: number;
  readonly #strays: number;
  readonly #target: number;

  constructor(state: StateVector, count: number) {
    this.count = count;
    this.#state = state;
    this.#node = state.allocate(count);
    this.#status = state.allocate(count);
    this.#deadline = state.allocate(count);
    this.#strays = state.allocate(count);
    this.#target = state.allocate(count);
  }

  /** Id of the point of its history at which the thread is. */
  node(thread: number): number {
    return this.#state.values[this.#node + thread]!;
  }

  setNode(thread: number, node: number): void {
    this.#state.put(this.#node + thread, node);
  }

  status(thread: number): number {
    return this.#state.values[this.#status + thread]!;
  }

  setStatus(thread: number, status: number): void {
    this.#state.put(this.#status + thread, status);
  }

  /** When its timed wait ends, in milliseconds of the simulated clock. */
  deadline(thread: number): number {
    return this.#state.values[this.#deadline + thread]!;
  }

  setDeadline(thread: number, time: number): void {
    this.#state.put(this.#deadline + thread, time);
  }

  /** How often its waits have returned without a notify. */
  strays(thread: number): number {
    return this.#state.values[this.#strays + thread]!;
  }

  addStray(thread: number): void {
    this.#state.put(this.#strays + thread, this.strays(thread) + 1);
  }

  /** For a recovering thread: the role that it plays, which names the dead thread; else -1. */
  recoveryRole(thread: number): number {
    return this.#state.values[this.#target + thread]! - 1;
  }

  setRecoveryRole(thread: number, role: number): void {
    this.#state.put(this.#target + thread, role + 1);
  }

  /** The thread has ended: what counts only while it runs is forgotten, so that it tells no states apart. */
  retire(thread: number): void {
    this.setDeadline(thread, 0);
    this.#state.put(this.#strays + thread, 0);
  }

  /** Whether the thread can still do anything. */
  isLive(thread: number): boolean {
    const status = this.status(thread);
    return status === RUNNING || status === SLEEPING;
  }
}
