import type { DrivingWorkload, ServingWorkload, ThreadContext } from '../../core/workload.js';

/**
 * A token that goes back and forth between two threads that sleep while they do not have it: what every lock has to
 * do whose next owner has parked.
 *
 * An operation of the driver is one hand-over: to the partner, then back, in turn.
 */

const WITH_DRIVER = 0;
const WITH_PARTNER = 1;
const ROUND_OVER = 2;

function pass(words: Int32Array, to: number): void {
  Atomics.store(words, 0, to);
  Atomics.notify(words, 0, 1);
}

export function handOverDriver({ shared }: ThreadContext<SharedArrayBuffer>): DrivingWorkload {
  const words = new Int32Array(shared);
  let mine = true;
  return {
    begin() {
      mine = true;
      Atomics.store(words, 0, WITH_DRIVER);
    },
    batch(operations) {
      for (let i = 0; i < operations; i++) {
        if (mine) pass(words, WITH_PARTNER);
        else while (Atomics.load(words, 0) === WITH_PARTNER) Atomics.wait(words, 0, WITH_PARTNER);
        mine = !mine;
      }
      return operations;
    },
    end: () => pass(words, ROUND_OVER),
  };
}

export function handOverPartner({ shared }: ThreadContext<SharedArrayBuffer>): ServingWorkload {
  const words = new Int32Array(shared);
  return {
    serve() {
      for (let served = 0; ; served++) {
        while (Atomics.load(words, 0) === WITH_DRIVER) Atomics.wait(words, 0, WITH_DRIVER);
        // By CAS, so that the end of the round is not written over.
        if (Atomics.compareExchange(words, 0, WITH_PARTNER, WITH_DRIVER) === ROUND_OVER) return served;
        Atomics.notify(words, 0, 1);
      }
    },
  };
}
