import type { DrivingWorkload, ServingWorkload, StopSignal, ThreadContext } from '../../core/workload.js';
import { EMPTY, LaneReceiver, LaneSender } from './lane.js';
import { openPool, type SharedPool } from './pools.js';

/** What threads do with a pool. `native/pool-peer.c` does the same in C. */

/** What the threads of a variant share. */
export interface Exchange extends SharedPool {
  readonly lanes: SharedArrayBuffer;
  /** Threads that have left the round. */
  readonly departed: SharedArrayBuffer;
}

type Context = ThreadContext<Exchange>;

/** Gets `depth` descriptors, then puts them; an operation is one of each. */
export function alone({ shared, parameters }: Context): DrivingWorkload {
  const pool = openPool(shared, 0);
  const depth = parameters['depth'] as number;
  const held = new Int32Array(depth);
  return {
    batch(operations) {
      let sum = 0;
      for (let done = 0; done < operations; done += depth) {
        for (let i = 0; i < depth; i++) held[i] = pool.tryGet()!;
        for (let i = 0; i < depth; i++) {
          sum = (sum + held[i]!) | 0;
          pool.put(held[i]!);
        }
      }
      return sum;
    },
  };
}

/** Gets and sends. */
export function getHere({ shared, index, parameters }: Context): DrivingWorkload {
  const pool = openPool(shared, index);
  const sender = new LaneSender(shared.lanes, 0, parameters['batch'] as number);
  return {
    batch(operations) {
      let sum = 0;
      for (let sent = 0; sent < operations; sent++) {
        let descriptor = pool.tryGet();
        while (descriptor === null) {
          sender.awaitProgress();
          descriptor = pool.tryGet();
        }
        sum = (sum + descriptor) | 0;
        while (!sender.send(descriptor)) {
          // The partner takes them until the round is over.
        }
      }
      sender.publish();
      return sum;
    },
  };
}

/** Receives and puts. */
export function putThere({ shared, index, parameters }: Context): ServingWorkload {
  const pool = openPool(shared, index);
  const receiver = new LaneReceiver(shared.lanes, 0, parameters['batch'] as number);
  return {
    serve(stop: StopSignal) {
      let over = false;
      for (let served = 0; ; ) {
        const descriptor = receiver.receive();
        if (descriptor !== EMPTY) {
          pool.put(descriptor);
          served++;
          continue;
        }
        pool.flush?.();
        // Empty once more after the end: something may have come between the two looks.
        if (over) return served;
        over = stop.requested();
      }
    },
  };
}

/** Descriptors that are sent to one peer before it is the next one's turn. */
const BURST = 32;

/** Gets and sends to all others in turn, and puts what they send. */
export function exchange({ shared, index, threads }: Context): DrivingWorkload {
  const pool = openPool(shared, index);
  const peers = Array.from({ length: threads }, (_, peer) => peer).filter((peer) => peer !== index);
  const senders = peers.map((peer) => new LaneSender(shared.lanes, index * threads + peer, BURST));
  const receivers = peers.map((peer) => new LaneReceiver(shared.lanes, peer * threads + index, BURST));
  const departed = new Int32Array(shared.departed);
  let turn = 0;

  /** Sends up to `most`, and returns how many. */
  const sendTo = (sender: LaneSender, most: number) => {
    let sent = 0;
    for (; sent < most; sent++) {
      const descriptor = pool.tryGet();
      if (descriptor === null) break;
      if (!sender.send(descriptor)) {
        pool.put(descriptor);
        break;
      }
    }
    sender.publish();
    return sent;
  };

  const drain = (receiver: LaneReceiver) => {
    let taken = 0;
    for (let descriptor = receiver.receive(); descriptor !== EMPTY; descriptor = receiver.receive()) {
      pool.put(descriptor);
      taken++;
    }
    return taken;
  };

  return {
    begin: () => void Atomics.store(departed, 0, 0),
    batch(operations) {
      let total = 0;
      while (total < operations) {
        turn = (turn + 1) % senders.length;
        const sent = sendTo(senders[turn]!, Math.min(BURST, operations - total));
        total += sent;
        let taken = 0;
        for (const receiver of receivers) taken += drain(receiver);
        // Who has left takes nothing any more: the rest of this batch is lost.
        if (sent + taken === 0 && Atomics.load(departed, 0) > 0) break;
      }
      return total;
    },
    end: () => void Atomics.add(departed, 0, 1),
  };
}
