import type { Choice } from './choice.js';
import type { Failure } from './failure.js';

/** Counts of one search. */
export interface SearchCounts {
  /** Different states seen; in a random search, ends of schedules. */
  states: number;
  /** Steps taken, deaths and wakes included. */
  steps: number;
  /** Deaths taken. */
  kills: number;
  /** Ends of schedules looked at. */
  ends: number;
  /** Steps of the longest schedule. */
  depth: number;
}

/** What a search has come to. */
export interface SearchResult extends SearchCounts {
  readonly failure: Failure | null;
  /** The choices of the failing schedule, empty where none failed. */
  readonly schedule: readonly Choice[];
  /** Why the search is not complete, in words; empty where it is. */
  readonly bounds: readonly string[];
}

/** Limits that any search obeys. */
export interface Limits {
  readonly maxStates: number;
  readonly maxSteps: number;
  readonly maxDepth: number;
  /** How many points of history there are, of which each takes memory. */
  readonly historyCount: () => number;
  /** Moment of `performance.now()` at which to stop. */
  readonly endTime: number;
}

/** Most points of history. */
const MAX_HISTORIES = 4_000_000;

/** Steps between two looks at the time. */
const STEPS_PER_CLOCK_LOOK = 4096;

/** Why a search has to stop here, null where it may go on. */
export function stopReason(counts: SearchCounts, limits: Limits): string | null {
  if (counts.states >= limits.maxStates) return `stopped at ${limits.maxStates} states`;
  if (counts.steps >= limits.maxSteps) return `stopped at ${limits.maxSteps} steps`;
  if (limits.historyCount() >= MAX_HISTORIES) return `stopped at ${MAX_HISTORIES} points of history`;
  if (counts.steps % STEPS_PER_CLOCK_LOOK === 0 && performance.now() > limits.endTime) {
    return 'stopped at the time limit';
  }
  return null;
}
