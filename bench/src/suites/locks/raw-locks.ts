import type { Gate } from './gate.js';

/**
 * What people write who have read a page about `Atomics`: no owner, no fairness, no help when a thread dies.
 */

/** A line of memory to itself. */
const create = () => new SharedArrayBuffer(128);

const FREE = 0;
const HELD = 1;
const HELD_AND_AWAITED = 2;

/** One CAS and one exchange, and nothing else. It spins without bound where the lock is taken. */
function openSpinning(buffer: SharedArrayBuffer): Gate {
  const words = new Int32Array(buffer);
  return {
    enter() {
      while (Atomics.compareExchange(words, 0, FREE, HELD) !== FREE) {
        // Only looks until it seems free: a CAS that fails still takes the line away from the holder.
        while (Atomics.load(words, 0) !== FREE) {}
      }
    },
    leave() {
      Atomics.exchange(words, 0, FREE);
    },
  };
}

/** The third mutex of Drepper, "Futexes are tricky" (2004): parks at once, and wakes only where somebody waits. */
function openParking(buffer: SharedArrayBuffer): Gate {
  const words = new Int32Array(buffer);
  return {
    enter() {
      if (Atomics.compareExchange(words, 0, FREE, HELD) !== FREE) park(words);
    },
    leave() {
      if (Atomics.exchange(words, 0, FREE) === HELD_AND_AWAITED) Atomics.notify(words, 0, 1);
    },
  };
}

function park(words: Int32Array): void {
  while (Atomics.exchange(words, 0, HELD_AND_AWAITED) !== FREE) Atomics.wait(words, 0, HELD_AND_AWAITED);
}

export const rawLocks = {
  'cas-exchange': { create, open: openSpinning },
  futex: { create, open: openParking },
};
