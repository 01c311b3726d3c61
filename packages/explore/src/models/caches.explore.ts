import { defineModel, type SimulatedThread } from '../index.js';

/*
 * A cached registration of one region. A user pins it, reads, unpins; the allocator retires the region, waits until
 * nobody has it pinned, and gives it to the next owner, who writes data of generation 2.
 */
const REGION = 0;
const PINS = 1;
const DATA = 2;
const names = { region: REGION, pins: PINS, data: DATA };

const RETIRED = 0;

const retireAndReuse = ({ words, atomics }: SimulatedThread): void => {
  atomics.store(words, REGION, RETIRED);
  if (atomics.load(words, PINS) !== 0) return;
  atomics.store(words, DATA, 2);
  atomics.store(words, REGION, 2);
};

/** Checks that the region is alive, and then pins it. */
const checkThenPin = ({ words, atomics }: SimulatedThread): void => {
  const generation = atomics.load(words, REGION);
  if (generation === RETIRED) return;
  atomics.add(words, PINS, 1);
  const data = atomics.load(words, DATA);
  atomics.sub(words, PINS, 1);
  if (data !== generation) throw new Error(`a hit on generation ${generation} read the data of ${data}`);
};

// The region's word of the other form: the generation in the high half, the retired mark, the count of pins.
const COUNT = 0xff;
const RETIRED_MARK = 0x100;

/** Pins and validates in one operation. */
const pinAndCheck = ({ words, atomics }: SimulatedThread): void => {
  const region = atomics.add(words, REGION, 1);
  if ((region & RETIRED_MARK) === 0) {
    const generation = region >> 16;
    const data = atomics.load(words, DATA);
    if (data !== generation) throw new Error(`a hit on generation ${generation} read the data of ${data}`);
  }
  atomics.sub(words, REGION, 1);
};

const retireByMark = ({ words, atomics }: SimulatedThread): void => {
  const region = atomics.or(words, REGION, RETIRED_MARK);
  if ((region & COUNT) !== 0) return;
  // Whoever pins from here on sees the mark and does not use the region.
  atomics.store(words, DATA, 2);
  atomics.add(words, REGION, (1 << 16) - RETIRED_MARK);
};

export default [
  defineModel({
    name: 'cache hit that checks and then uses',
    words: 3,
    names,
    init: (words) => {
      words[REGION] = 1;
      words[DATA] = 1;
    },
    threads: { user: checkThenPin, allocator: retireAndReuse },
    expect: { fail: 'exception', reason: 'a hit on generation 1 read the data of 2' },
  }),
  defineModel({
    name: 'cache hit that pins and checks at once',
    words: 3,
    names,
    init: (words) => {
      words[REGION] = 1 << 16;
      words[DATA] = 1;
    },
    threads: { first: pinAndCheck, second: pinAndCheck, allocator: retireByMark },
    check: ({ words }) => ((words[REGION]! & COUNT) === 0 ? undefined : 'a pin is left'),
  }),
];
