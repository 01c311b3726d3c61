import { defineModel, type SimulatedThread } from '@heddle/explore';
import { Condition, type ConditionOutcome, Notified } from './condition.js';
import { conditionLayout } from './condition.layout.js';
import { ExclusiveLock } from './exclusive-lock.js';
import type { LockOutcome } from './lock.js';
import { RawSpinLock } from './raw-spin-lock.js';
import { spinLockLayout } from './spin-lock.layout.js';
import { StateWord } from './state-word.js';
import { TaskAttempt } from './task-attempt.js';

/** Units that are made and consumed under a lock, by threads that wait for them on a condition. */

const AT = { lock: 0, condition: spinLockLayout.wordCount, units: 0 };
AT.units = AT.condition + conditionLayout.wordCount;

/** A spin lock that does not spin: it has the fewest states of all, and the condition is what is looked at. */
class PlainLock extends ExclusiveLock<RawSpinLock> {
  constructor(thread: SimulatedThread) {
    const { words, platform, index } = thread;
    super({ words, token: index + 1, platform }, new RawSpinLock(words, index + 1, platform, 0));
  }
}

const conditionWords = (thread: SimulatedThread) => thread.words.subarray(AT.condition);

function make(thread: SimulatedThread) {
  const { index, platform } = thread;
  const condition = new Condition({ words: conditionWords(thread), token: index + 1, platform });
  return { lock: new PlainLock(thread), condition };
}

const units = ({ words }: SimulatedThread) => words[AT.units]!;
const setUnits = ({ words }: SimulatedThread, count: number) => {
  words[AT.units] = count;
};

/** It has the lock, and nothing that came before matters: that makes fewer states. */
function hold(thread: SimulatedThread, lock: PlainLock, outcome: LockOutcome | ConditionOutcome): void {
  if (outcome === 'owner-died') lock.markConsistent();
  thread.checkpoint();
}

function consume(thread: SimulatedThread): void {
  const { lock, condition } = make(thread);
  hold(thread, lock, lock.lock());
  while (units(thread) === 0) hold(thread, lock, condition.wait(lock));
  setUnits(thread, units(thread) - 1);
  lock.unlock();
}

const produce = (count: number, notify: 'notifyOne' | 'notifyAll') => (thread: SimulatedThread) => {
  const { lock, condition } = make(thread);
  for (let i = 0; i < (notify === 'notifyAll' ? 1 : count); i++) {
    hold(thread, lock, lock.lock());
    setUnits(thread, units(thread) + (notify === 'notifyAll' ? count : 1));
    lock.unlock();
    condition[notify]();
  }
};

/** Waits for a moment; whatever unit there is stays. */
function peek(thread: SimulatedThread): void {
  const { lock, condition } = make(thread);
  hold(thread, lock, lock.lock());
  if (units(thread) === 0) hold(thread, lock, condition.wait(lock, { timeout: 5 }));
  lock.unlock();
}

const base = {
  layout: [
    { layout: spinLockLayout, at: AT.lock, label: 'lock' },
    { layout: conditionLayout, at: AT.condition, label: 'condition' },
  ],
  words: AT.units + 1,
  names: { units: AT.units },
} as const;

const none = ({ words }: { readonly words: Int32Array }) =>
  words[AT.units] === 0 ? undefined : `${words[AT.units]} units are left`;

const recover = (thread: SimulatedThread, dead: number) => {
  const { lock, condition } = make(thread);
  lock.core.recover(dead + 1);
  condition.recover();
};

/**
 * Bounds on preemptions stand where two threads wait and a third one notifies twice: each of the four sections takes
 * the lock and may sleep for it, which makes more than 8 million states.
 */
export const models = [
  defineModel({
    ...base,
    name: 'condition: a notify between release and sleep counts (LK-01)',
    threads: [consume, produce(1, 'notifyOne')],
    strayWakes: 1,
    check: none,
  }),
  defineModel({
    ...base,
    name: 'condition: two consumers, one notify for each unit (LK-01)',
    threads: [consume, consume, produce(2, 'notifyOne')],
    check: none,
    search: { preemptions: 3 },
    deep: { search: { preemptions: 100, maxStates: 200_000_000 } },
  }),
  defineModel({
    ...base,
    name: 'condition: two consumers, one notify for all',
    threads: [consume, consume, produce(2, 'notifyAll')],
    check: none,
  }),
  defineModel({
    ...base,
    name: 'condition: a wait that runs out of time eats no notify',
    threads: [consume, peek, produce(1, 'notifyAll')],
    check: none,
  }),
  defineModel({
    ...base,
    name: 'condition: a task and a thread, one notify for each',
    threads: [
      consume,
      (thread) => {
        // The steps of a task that waits until it is notified, then takes a unit under the lock.
        const { lock, condition } = make(thread);
        for (;;) {
          hold(thread, lock, lock.lock());
          if (units(thread) > 0) break;
          const seen = condition.announceTask();
          lock.unlock();
          const { state, taskGate } = conditionLayout.offsets;
          const word = new StateWord(conditionWords(thread), state, taskGate, thread.platform);
          const steps = new TaskAttempt(word, new Notified(seen));
          let step = steps.begin();
          while (!step.done) {
            thread.waitEvent(AT.condition + step.index, step.expected, { leavesEntry: false });
            step = steps.onWake();
          }
        }
        setUnits(thread, units(thread) - 1);
        lock.unlock();
      },
      produce(2, 'notifyOne'),
    ],
    check: none,
    search: { preemptions: 3 },
    deep: { search: { preemptions: 5 } },
  }),
  defineModel({
    ...base,
    name: 'condition: the death of a consumer at every step takes no notify',
    threads: [consume, consume, produce(2, 'notifyOne')],
    kills: 1,
    killable: [1],
    recover,
    search: { preemptions: 2 },
    deep: { search: { preemptions: 4 } },
  }),
  defineModel({
    ...base,
    name: 'condition: the death of a consumer, with one other',
    threads: [consume, produce(2, 'notifyOne')],
    kills: 1,
    killable: [0],
    recover,
  }),
];
