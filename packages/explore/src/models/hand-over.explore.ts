import { defineModel, type End, type RecoveryBody, type SimulatedThread } from '../index.js';

/*
 * A slot goes from a sender to a receiver through a lane of one cell. The lease says who holds it. The publication
 * of the tail is the commit; what recovery needs to know has to be written before it.
 */
const TAIL = 0;
const CELL = 1;
const LEASE = 2;
const names = { tail: TAIL, cell: CELL, lease: LEASE };

const FREE = 0;
const SENDER = 1;
const RECEIVER = 2;
const IN_FLIGHT = 3;

const recordThenPublish = ({ words, atomics }: SimulatedThread): void => {
  words[CELL] = 7;
  atomics.store(words, LEASE, IN_FLIGHT);
  atomics.store(words, TAIL, 1);
};

const publishThenRecord = ({ words, atomics }: SimulatedThread): void => {
  words[CELL] = 7;
  atomics.store(words, TAIL, 1);
  atomics.compareExchange(words, LEASE, SENDER, IN_FLIGHT);
};

const receive = ({ words, atomics }: SimulatedThread): number | undefined => {
  if (atomics.load(words, TAIL) === 0) return undefined;
  const slot = words[CELL];
  atomics.store(words, LEASE, RECEIVER);
  return slot;
};

/** Takes back what the dead sender held, and what it had not yet published. */
const recover: RecoveryBody = ({ words, atomics }, dead) => {
  if (dead === 0) {
    atomics.compareExchange(words, LEASE, SENDER, FREE);
    if (atomics.load(words, TAIL) === 0) atomics.compareExchange(words, LEASE, IN_FLIGHT, FREE);
  } else {
    atomics.compareExchange(words, LEASE, RECEIVER, FREE);
  }
};

function conserve({ words, results, dead }: End): string | undefined {
  const value = words[LEASE];
  if (results[1] === undefined && value === FREE && words[TAIL] === 1 && !dead[1]) {
    return 'the slot is free, and published to a living receiver';
  }
  if (results[1] !== undefined && value !== RECEIVER)
    return `the receiver has the slot, the lease says ${value}`;
  if (value === SENDER && dead[0]) return 'the slot is left to the dead sender';
  return value === RECEIVER && dead[1] ? 'the slot is left to the dead receiver' : undefined;
}

const shared = {
  words: 3,
  names,
  init: (words: Int32Array) => {
    words[LEASE] = SENDER;
  },
  kills: 1,
  recover,
  conserve,
};

export default [
  defineModel({
    ...shared,
    name: 'hand-over recorded before its publication',
    threads: { sender: recordThenPublish, receiver: receive },
  }),
  defineModel({
    ...shared,
    name: 'hand-over recorded after its publication',
    threads: { sender: publishThenRecord, receiver: receive },
    expect: { fail: 'leak' },
  }),
];
