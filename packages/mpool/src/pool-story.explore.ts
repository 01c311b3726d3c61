import type { Model } from '@heddle/explore';
import type { PolicyName } from './policy.js';
import { getAndPut, getAndSend, receiveAndPut } from './pool.explore.js';
import { planOf } from './pool-options.js';
import { list, model, Subject, sharded } from './pool-player.explore.js';

/**
 * The failure that this pool exists to exclude: one thread gets, another one puts, and meanwhile the first gets and
 * puts as well. Without a guard the list loses a slot, or gives one to both.
 */
function story(subject: Subject, more: Partial<Model> = {}): Model {
  return model(
    subject,
    'got here, put there, while the first one goes on (PL-05)',
    [
      (player) => {
        const descriptor = player.take();
        player.unmark(descriptor);
        player.send(0, descriptor);
        player.put(player.take());
        player.flush();
      },
      receiveAndPut,
    ],
    more,
  );
}

function single(policy: PolicyName, slots: number): Subject {
  return new Subject(policy, planOf({ name: 'm', elemSize: 8, maxElems: slots, policy }), slots);
}

/** What a thread may meet in a pool of policy `serialized`. */
function overlapping(action: () => void): void {
  try {
    action();
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_HEDDLE_WRONG_THREAD') throw error;
  }
}

const models = [
  story(single('unsafe', 2), { races: false, expect: { fail: ['check', 'exception'] } }),
  model(single('unsafe', 2), 'the same, as a race', [getAndSend, receiveAndPut, getAndPut], {
    expect: { fail: 'race' },
  }),
  story(list(2)),
  story(sharded(2, 1)),
  story(sharded(2, 0)),
  model(single('owner', 1), 'a death at every step of the owner', [getAndPut], { kills: 1, races: false }),
  model(single('serialized', 2), 'two threads that take turns', [getAndSend, receiveAndPut]),
  model(
    single('serialized', 2),
    'two threads at a time are found out, and nothing is lost',
    [
      (player) => overlapping(() => player.put(player.take())),
      (player) => overlapping(() => player.put(player.take())),
    ],
    { check: () => undefined, conserve: (end) => single('serialized', 2).lists(end) },
  ),
];

export default models;
