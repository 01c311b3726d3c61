import { type Choice, choiceKind, KILL } from './choice.js';
import type { EndChecks } from './end-checks.js';
import type { Failure } from './failure.js';
import { attemptAlways } from './invariant.js';
import type { Machine } from './machine.js';
import { type Limits, type SearchResult, stopReason } from './search-result.js';
import { VisitedSet } from './visited-set.js';

/**
 * Explores all schedules, depth first, with states seen before pruned.
 *
 * Returns null where the machine has met a fact that changes what a state has to hold: the search has to start
 * over with a new machine.
 */
export function searchDepthFirst(
  machine: Machine,
  checks: EndChecks,
  limits: Limits,
  outdated: () => boolean,
): SearchResult | null {
  const { state } = machine;
  const visited = new VisitedSet();
  const bounds = new Set<string>();
  const counts = { states: 0, steps: 0, kills: 0, ends: 0, depth: 0 };
  let failure: Failure | null = null;

  // One frame per step of the present schedule: what may be chosen there, how much of it has been, and how to undo it.
  // Frames are used again, so `depth` says how many of them count.
  const offered: Choice[][] = [];
  const taken: number[] = [];
  const marks: number[] = [];
  let depth = 0;

  /** Looks at a state just reached: makes a frame where there is something to explore from it. */
  const arrive = (): void => {
    if (!visited.add(state.hashA, state.hashB)) return;
    counts.states++;
    failure = attemptAlways(machine);
    if (failure !== null) return;
    const choices = offered[depth] ?? [];
    offered[depth] = choices;
    const goesOn = machine.choices(choices);
    failure = machine.failure;
    if (failure !== null) return;
    if (!goesOn) {
      counts.ends++;
      failure = checks.check(machine);
      if (failure !== null) return;
    }
    if (choices.length === 0) return;
    if (depth >= limits.maxDepth) {
      bounds.add(`schedules of more than ${limits.maxDepth} steps were cut`);
      return;
    }
    taken[depth] = 0;
    marks[depth] = state.mark();
    depth++;
    if (depth > counts.depth) counts.depth = depth;
  };

  machine.begin();
  failure = machine.failure;
  if (failure === null) arrive();
  if (outdated()) return null;
  while (failure === null && depth > 0) {
    const top = depth - 1;
    const choices = offered[top]!;
    const next = taken[top]!;
    state.rollback(marks[top]!);
    if (next === choices.length) {
      depth = top;
      continue;
    }
    taken[top] = next + 1;
    const chosen = choices[next]!;
    counts.steps++;
    if (choiceKind(chosen) === KILL) counts.kills++;
    machine.step(chosen);
    failure = machine.failure;
    if (failure === null) arrive();
    if (outdated()) return null;
    if (failure !== null) break;
    const stop = stopReason(counts, limits);
    if (stop !== null) {
      bounds.add(stop);
      break;
    }
  }
  // What each frame took last is the present schedule.
  const schedule = offered.slice(0, depth).map((choices, at) => choices[taken[at]! - 1]!);
  if (machine.bounded) bounds.add(`at most ${machine.program.preemptions} preemptions`);
  return { ...counts, failure, schedule: failure === null ? [] : schedule, bounds: [...bounds] };
}
