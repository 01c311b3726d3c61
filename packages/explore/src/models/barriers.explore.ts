import { defineModel, type Model, type SimulatedThread } from '../index.js';

const ARRIVED = 0;
const ROUND = 1;
const SEEN = 2;
const PARTIES = 3;

/** The last to arrive starts the next round and wakes the others, who sleep once, or until the round has changed. */
const arrive =
  (loops: boolean) =>
  ({ words, atomics, index }: SimulatedThread): void => {
    atomics.store(words, SEEN + index, 1);
    const round = atomics.load(words, ROUND);
    if (atomics.add(words, ARRIVED, 1) === PARTIES - 1) {
      atomics.store(words, ARRIVED, 0);
      atomics.add(words, ROUND, 1);
      atomics.notify(words, ROUND);
    } else if (loops) {
      while (atomics.load(words, ROUND) === round) atomics.wait(words, ROUND, round);
    } else {
      atomics.wait(words, ROUND, round);
    }
    for (let other = 0; other < PARTIES; other++) {
      if (atomics.load(words, SEEN + other) !== 1) throw new Error(`left before thread ${other} had arrived`);
    }
  };

const barrier = (name: string, loops: boolean, rest: Partial<Model>): Model =>
  defineModel({
    name,
    words: SEEN + PARTIES,
    names: { arrived: ARRIVED, round: ROUND, seen: [SEEN, PARTIES] },
    threads: Array.from({ length: PARTIES }, () => arrive(loops)),
    ...rest,
  });

export default [
  barrier('barrier with one wait and no loop, no stray wakes', false, {}),
  barrier('barrier with one wait and no loop, stray wakes', false, {
    strayWakes: 1,
    expect: { fail: 'exception', reason: 'left before thread' },
  }),
  barrier('barrier with a loop, stray wakes', true, { strayWakes: 1 }),
];
