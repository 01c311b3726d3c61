import type { Choice } from './choice.js';
import type { EndChecks } from './end-checks.js';
import type { Failure } from './failure.js';
import { attemptAlways } from './invariant.js';
import type { Machine } from './machine.js';
import { VisitedSet } from './visited-set.js';

/** A failing schedule. */
export interface FailingSchedule {
  readonly failure: Failure;
  readonly schedule: readonly Choice[];
  /** Whether no schedule with fewer steps fails in this way. */
  readonly shortest: boolean;
}

/**
 * Looks for the shortest schedule that fails in the way of the given one, breadth first, so that the first found is
 * the shortest there is. Gives the one that it was given where that takes more than `maxStates` states.
 *
 * A state of the frontier is kept as the step that led to it, and reached again by doing all steps from the
 * beginning: that costs time by the length of the schedule, and 8 bytes of memory a state. The machine must not
 * reduce, since taking operations out of turn makes schedules longer. It is not to be used afterwards.
 */
export function findShortest(
  machine: Machine,
  checks: EndChecks,
  known: FailingSchedule,
  maxStates: number,
): FailingSchedule {
  if (maxStates === 0) return known;
  const { state } = machine;
  const visited = new VisitedSet();
  const parents: number[] = [-1];
  const steps: Choice[] = [-1];
  const choices: Choice[] = [];
  machine.begin();
  if (machine.failure !== null) return { ...known, shortest: true };
  const start = state.mark();
  visited.add(state.hashA, state.hashB);

  const scheduleTo = (node: number): Choice[] => {
    const schedule: Choice[] = [];
    for (let at = node; parents[at]! >= 0; at = parents[at]!) schedule.push(steps[at]!);
    return schedule.reverse();
  };
  const found = (failure: Failure | null): failure is Failure => {
    machine.failure = null;
    return failure !== null && failure.kind === known.failure.kind;
  };

  const search = (): FailingSchedule => {
    for (let node = 0; node < parents.length; node++) {
      if (visited.size >= maxStates) return known;
      const schedule = scheduleTo(node);
      if (schedule.length >= known.schedule.length) break;
      for (const step of schedule) machine.step(step);
      const goesOn = machine.choices(choices);
      let failure = machine.failure ?? attemptAlways(machine);
      if (failure === null && !goesOn) failure = checks.check(machine);
      if (found(failure)) return { failure, schedule, shortest: true };
      const here = state.mark();
      if (failure === null) {
        for (const chosen of choices) {
          machine.step(chosen);
          const failed = machine.failure;
          if (found(failed)) return { failure: failed, schedule: [...schedule, chosen], shortest: true };
          if (failed === null && visited.add(state.hashA, state.hashB)) {
            parents.push(node);
            steps.push(chosen);
          }
          state.rollback(here);
        }
      }
      state.rollback(start);
    }
    return { ...known, shortest: true };
  };
  return search();
}
