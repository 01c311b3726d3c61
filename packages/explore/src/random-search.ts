import { type Choice, choiceKind, choiceThread, KILL, STEP, TIME_OUT } from './choice.js';
import type { EndChecks } from './end-checks.js';
import type { Failure } from './failure.js';
import { attemptAlways } from './invariant.js';
import type { Machine } from './machine.js';
import { RandomNumbers } from './random-numbers.js';
import { type Limits, type SearchResult, stopReason } from './search-result.js';

/** How a random search chooses. */
export interface RandomOptions {
  readonly seed: number;
  /** Schedules to run. */
  readonly schedules: number;
  /** Points at which priorities change; undefined for a uniform choice at each step. */
  readonly changePoints?: number;
}

/** One in how many steps looks at what nobody can count on (deaths, stray wakes, aborts) under PCT. */
const RARE = 8;

/**
 * Runs random schedules from their beginning to their end.
 *
 * With change points it is probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): each thread has a
 * random priority, the highest that can go on runs, and at `changePoints` random steps the running thread falls to
 * the lowest. A fault of depth d in n threads of k steps shows with a chance of at least 1 / (n · k^(d-1)) a
 * schedule.
 *
 * Returns null where the search has to start over with a new machine.
 */
export function searchRandomly(
  machine: Machine,
  checks: EndChecks,
  limits: Limits,
  options: RandomOptions,
  outdated: () => boolean,
): SearchResult | null {
  const { state } = machine;
  const random = new RandomNumbers(options.seed);
  const counts = { states: 0, steps: 0, kills: 0, ends: 0, depth: 0 };
  const bounds = new Set([`${options.schedules} random schedules from seed ${options.seed}`]);
  const choices: Choice[] = [];
  let failure: Failure | null = null;
  let path: Choice[] = [];
  let length = 64;

  for (let run = 0; run < options.schedules && failure === null; run++) {
    const mark = state.mark();
    const pick =
      options.changePoints === undefined
        ? uniform(random)
        : prioritized(random, options.changePoints, length);
    path = [];
    machine.begin();
    failure = machine.failure;
    while (failure === null) {
      const goesOn = machine.choices(choices);
      if (outdated()) return null;
      failure = machine.failure ?? attemptAlways(machine);
      if (failure !== null) break;
      if (!goesOn) {
        counts.ends++;
        failure = checks.check(machine);
        if (failure !== null || choices.length === 0) break;
      }
      if (path.length >= limits.maxDepth) {
        bounds.add(`schedules of more than ${limits.maxDepth} steps were cut`);
        break;
      }
      const chosen = pick(choices, path.length);
      path.push(chosen);
      counts.steps++;
      if (choiceKind(chosen) === KILL) counts.kills++;
      machine.step(chosen);
      if (outdated()) return null;
      failure = machine.failure;
    }
    counts.states++;
    counts.depth = Math.max(counts.depth, path.length);
    length = counts.depth;
    if (failure !== null) break;
    state.rollback(mark);
    const stop =
      stopReason(counts, limits) ?? (performance.now() > limits.endTime ? 'stopped at the time limit' : null);
    if (stop !== null) {
      bounds.add(stop);
      break;
    }
  }
  return { ...counts, failure, schedule: failure === null ? [] : path, bounds: [...bounds] };
}

type Pick = (choices: readonly Choice[], step: number) => Choice;

const uniform =
  (random: RandomNumbers): Pick =>
  (choices) =>
    choices[random.below(choices.length)]!;

function prioritized(random: RandomNumbers, changePoints: number, length: number): Pick {
  const priorities = new Map<number, number>();
  const changes = new Set(Array.from({ length: changePoints }, () => random.below(length)));
  let lowest = 0;
  const priority = (of: Choice): number => {
    const thread = choiceThread(of);
    let known = priorities.get(thread);
    if (known === undefined) {
      known = 1 + random.below(2 ** 30);
      priorities.set(thread, known);
    }
    return known;
  };
  return (choices, step) => {
    const events = choices.filter((one) => choiceKind(one) !== STEP && choiceKind(one) !== TIME_OUT);
    const steps = choices.filter((one) => choiceKind(one) === STEP || choiceKind(one) === TIME_OUT);
    if (steps.length === 0 || (events.length > 0 && random.below(RARE) === 0)) {
      return events[random.below(events.length)]!;
    }
    const highest = Math.max(...steps.map(priority));
    const best = steps.filter((one) => priority(one) === highest);
    const chosen = best[random.below(best.length)]!;
    if (changes.has(step)) priorities.set(choiceThread(chosen), lowest--);
    return chosen;
  };
}
