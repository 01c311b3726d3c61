import { type Choice, choiceKind, KILL } from './choice.js';
import { searchDepthFirst } from './depth-first.js';
import { EndChecks } from './end-checks.js';
import type { Failure } from './failure.js';
import { Machine } from './machine.js';
import { defineModel, type Model, type Search, type UnnamedModel } from './model.js';
import { compileModel } from './program.js';
import { searchRandomly } from './random-search.js';
import { decodeSchedule, encodeSchedule, type ScheduleStep } from './replay-string.js';
import { type FailureReport, formatTrace, type Report } from './report.js';
import type { Limits, SearchResult } from './search-result.js';
import { findShortest } from './shortest.js';
import { Simulation } from './simulation.js';
import { type Trace, traceSchedule } from './trace.js';

/** What of a model's search is overridden for one run. */
export interface ExploreOptions extends Search {
  /** Runs this schedule only, as a failure report gives it. */
  readonly replay?: string;
}

/** Random schedules run first, to learn what a state has to hold. */
const SCOUTS = 64;

/** What a search starts over for is learnt at most this often. */
const MAX_RESTARTS = 10_000;

/**
 * Explores every schedule of a model, and says what it found.
 *
 * @throws TypeError or RangeError where the model cannot be meant; nothing has run then.
 */
export function explore(unnamed: UnnamedModel, options: ExploreOptions = {}): Report {
  const model: Model = { name: 'model', ...unnamed };
  const { replay, ...overrides } = options;
  const search: Search = { ...model.search, ...overrides };
  const simulation = new Simulation(compileModel(defineModel({ ...model, search })));
  const startTime = performance.now();
  const result =
    replay === undefined ? runSearch(simulation, search, startTime) : runReplay(simulation, replay);
  const failure =
    result.failure === null ? null : reportFailure(simulation, search, result, replay !== undefined);
  const timeMs = performance.now() - startTime;
  const { states, steps, kills, ends, depth, bounds } = result;
  return {
    name: model.name,
    failure,
    complete: failure === null && bounds.length === 0,
    bounds,
    states,
    steps,
    kills,
    ends,
    depth,
    histories: simulation.histories.nodes.length,
    timeMs,
    stepsPerSecond: result.timeMs > 0 ? Math.round(steps / (result.timeMs / 1000)) : 0,
    ...(search.strategy === 'random' || search.strategy === 'pct' ? { seed: search.seed ?? 1 } : {}),
  };
}

type TimedResult = SearchResult & { readonly timeMs: number };

function runSearch(simulation: Simulation, search: Search, startTime: number): TimedResult {
  const strategy = search.strategy ?? 'exhaustive';
  const limits: Limits = {
    maxStates: search.maxStates ?? 20_000_000,
    maxSteps: search.maxSteps ?? Number.POSITIVE_INFINITY,
    maxDepth: search.maxDepth ?? 100_000,
    historyCount: () => simulation.histories.nodes.length,
    endTime: startTime + (search.maxMs ?? Number.POSITIVE_INFINITY),
  };
  const checks = new EndChecks(simulation);
  const random = {
    seed: search.seed ?? 1,
    schedules: search.schedules ?? 1000,
    ...(strategy === 'pct' ? { changePoints: search.changePoints ?? 3 } : {}),
  };
  if (strategy === 'exhaustive') {
    const scouting = { seed: 1, schedules: SCOUTS };
    const found = untilSettled(simulation, (machine, outdated) =>
      searchRandomly(machine, checks, limits, scouting, outdated),
    );
    if (found.failure !== null) return found;
  }
  return untilSettled(simulation, (machine, outdated) =>
    strategy === 'exhaustive'
      ? searchDepthFirst(machine, checks, limits, outdated)
      : searchRandomly(machine, checks, limits, random, outdated),
  );
}

/** Starts a search over until it has met no new fact about the model on its way. */
function untilSettled(
  simulation: Simulation,
  run: (machine: Machine, outdated: () => boolean) => SearchResult | null,
): TimedResult {
  for (let attempt = 0; attempt < MAX_RESTARTS; attempt++) {
    const facts = simulation.factCount;
    const hintValues = simulation.hintValueCount;
    const startTime = performance.now();
    const result = run(new Machine(simulation), () => simulation.factCount !== facts);
    if (result === null) continue;
    // A hint read has to offer values that were met only later, too.
    if (result.failure === null && simulation.hintValueCount !== hintValues) continue;
    return { ...result, timeMs: performance.now() - startTime };
  }
  throw new Error(
    `Model "${simulation.program.model.name}": its hints keep taking new values, so no search of it ends`,
  );
}

function runReplay(simulation: Simulation, replay: string): TimedResult {
  const trace = settledTrace(simulation, decodeSchedule(replay));
  const kills = trace.steps.filter((step) => choiceKind(step.choice) === KILL).length;
  const counts = { states: trace.steps.length + 1, steps: trace.steps.length, kills, ends: 1 };
  return {
    ...counts,
    depth: trace.steps.length,
    failure: trace.failure,
    schedule: trace.steps.map((step) => step.choice),
    bounds: ['one schedule was replayed'],
    timeMs: 0,
  };
}

/**
 * Traces a schedule that was given from outside.
 *
 * @throws RangeError where a step of it is not possible.
 */
export function settledTrace(simulation: Simulation, schedule: readonly ScheduleStep[]): Trace {
  const trace = traceUntilSettled(simulation, schedule);
  if (trace.refused === null) return trace;
  throw new RangeError(
    `Step ${trace.refused} of the schedule is not possible: it belongs to another model or version`,
  );
}

/** Traces a schedule, over again where that has shown something that a state has to hold. */
function traceUntilSettled(simulation: Simulation, schedule: readonly ScheduleStep[]): Trace {
  const checks = new EndChecks(simulation);
  for (;;) {
    const facts = simulation.factCount;
    const trace = traceSchedule(new Machine(simulation, false), checks, schedule);
    if (simulation.factCount === facts) return trace;
  }
}

/**
 * Shows a failure by the shortest schedule that was found for it and fails when it is followed: where the shortened one
 * does not, by the one that the search found.
 */
function reportFailure(
  simulation: Simulation,
  search: Search,
  result: SearchResult,
  replayed: boolean,
): FailureReport {
  const known = { failure: result.failure!, schedule: result.schedule, shortest: false };
  const checks = new EndChecks(simulation);
  // A bound on preemptions is none of the shortest schedule, and a livelock is as long as the bound on steps.
  const staysAsFound = replayed || search.preemptions !== undefined || known.failure.kind === 'livelock';
  const budget = staysAsFound ? 0 : (search.shortestStates ?? 300_000);
  const shortest = findShortest(new Machine(simulation, false), checks, known, budget);
  const trace = traceChoices(simulation, shortest.schedule);
  if (trace.failure !== null) return describeFailure(trace, trace.failure, shortest.shortest);
  const first = traceChoices(simulation, known.schedule);
  if (first.failure !== null) return describeFailure(first, first.failure, false);
  const reason = `${known.failure.reason}; its schedule, followed step by step, does not show that again`;
  return describeFailure(first, { ...known.failure, reason }, false);
}

function traceChoices(simulation: Simulation, schedule: readonly Choice[]): Trace {
  return traceUntilSettled(
    simulation,
    schedule.map((choice) => ({ choice })),
  );
}

function describeFailure(trace: Trace, { kind, reason }: Failure, shortest: boolean): FailureReport {
  return {
    kind,
    reason,
    columns: formatTrace(trace),
    length: trace.steps.length,
    shortest,
    replay: encodeSchedule(trace.steps),
  };
}
