/** How one thread enters and leaves sections. */
export interface Gate {
  enter(): void;
  leave(): void;
}

/** A way to guard sections: made once, opened by every thread. */
export interface Strategy {
  /** What the threads are given: whatever can be cloned. */
  create(threads: number): unknown;
  open(shared: never): Gate | Promise<Gate>;
}
