import { defineModel, type SimulatedThread } from '@heddle/explore';
import { defineLayout, field } from './layout.js';
import { Waiter } from './waiter.js';

/** A word that permits are counted in, and one that counts those who got one. */
const court = defineLayout('court', 1, { permits: field('anyone'), taken: field('anyone') });
const { permits, taken } = court.offsets;

/** Takes a permit where there is one. */
function tryTake({ words, atomics }: SimulatedThread): boolean {
  const found = atomics.load(words, permits);
  if (found === 0 || atomics.compareExchange(words, permits, found, found - 1) !== found) return false;
  atomics.add(words, taken, 1);
  return true;
}

/** Waits for a permit by blocking. */
const take = (thread: SimulatedThread): void => {
  const waiter = new Waiter(thread.words, permits, thread.platform);
  while (!tryTake(thread)) waiter.wait(0, { spins: 1 });
};

/** Waits for a permit by blocking, for some time. */
const takeFor =
  (timeout: number) =>
  (thread: SimulatedThread): 'taken' | 'gave up' => {
    const waiter = new Waiter(thread.words, permits, thread.platform);
    while (!tryTake(thread)) if (!waiter.wait(0, { timeout, spins: 0 })) return 'gave up';
    return 'taken';
  };

/** Gives one permit, and wakes one waiter. */
const give = ({ words, platform, atomics }: SimulatedThread): void => {
  atomics.add(words, permits, 1);
  new Waiter(words, permits, platform).wake(1);
};

/**
 * Waits for a permit asynchronously and gives it back, or gives up when it is aborted or times out. `waitEvent` is a
 * pending `waitAsync`: once given up it stays on the engine's list, where it swallows a wake. So who gives up notifies
 * everyone on the word.
 */
const borrowAsync =
  (leave: (thread: SimulatedThread) => void) =>
  (thread: SimulatedThread): void => {
    while (!tryTake(thread)) {
      const answer = thread.waitEvent(permits, 0, { abortable: true, timeoutMs: 10, leavesEntry: true });
      if (answer === 'aborted' || answer === 'timed-out') {
        leave(thread);
        return;
      }
    }
    give(thread);
  };

const handOn = ({ words, platform }: SimulatedThread) => {
  new Waiter(words, permits, platform).wake();
};
const forget = () => {};

export default [
  defineModel({
    name: 'waiter: one permit for each of two who block, in a storm of stray wakes',
    layout: court,
    threads: { take1: take, take2: take, give1: give, give2: give },
    strayWakes: 1,
    check: ({ words }) => (words[taken] === 2 && words[permits] === 0 ? undefined : 'a permit was not taken'),
    search: { preemptions: 3 },
    deep: { search: { preemptions: 5 } },
  }),
  defineModel({
    name: 'waiter: who times out takes no permit along',
    layout: court,
    threads: { patient: take, hasty: takeFor(5), give1: give, give2: give },
    strayWakes: 1,
    clockJumps: [10],
    check: ({ words }) => (words[taken]! + words[permits]! === 2 ? undefined : 'a permit is lost'),
    search: { preemptions: 3 },
  }),
  defineModel({
    name: 'waiter: an abandoned asynchronous wait hands its wake on to who blocks',
    layout: court,
    threads: { blocks: take, async: borrowAsync(handOn), give },
    check: ({ words }) => (words[permits] === 0 ? undefined : 'the permit was not taken'),
  }),
  defineModel({
    name: 'waiter: two abandoned ones as well',
    layout: court,
    threads: { blocks: take, async1: borrowAsync(handOn), async2: borrowAsync(handOn), give },
    check: ({ words }) => (words[permits] === 0 ? undefined : 'the permit was not taken'),
    search: { preemptions: 3 },
  }),
  defineModel({
    name: 'waiter: one that is merely forgotten swallows it',
    layout: court,
    threads: { blocks: take, async: borrowAsync(forget), give },
    expect: { fail: 'lost-wake' },
  }),
];
