import {
  ABORT,
  type Choice,
  choice,
  choiceKind,
  choiceThread,
  KILL,
  STEP,
  STRAY_WAKE,
  TIME_OUT,
} from './choice.js';
import { describeDone, describeOperation } from './describe-operation.js';
import type { EndChecks } from './end-checks.js';
import type { Failure } from './failure.js';
import { attemptAlways } from './invariant.js';
import type { Machine } from './machine.js';
import { type Answer, type Operation, READ } from './operation.js';
import type { ScheduleStep } from './replay-string.js';
import { DEAD, DONE, RUNNING, SLEEPING, UNBORN } from './thread-table.js';

/** What one step of a schedule did. */
export interface TraceStep extends ScheduleStep {
  readonly thread: number;
  /** In a few words, as the report shows it. */
  readonly text: string;
  /** The operation that was done, or that the thread was at when something befell it. */
  readonly operation: Operation | null;
  /** What it answered; undefined where the thread went to sleep or died. */
  readonly answer: Answer | undefined;
  /** Threads that it woke. */
  readonly woken: readonly number[];
  /** Recovering threads that began with it. */
  readonly begun: readonly number[];
  /** The role that each of them plays. */
  readonly recoveryRoles: ReadonlyMap<number, number>;
  /** Whether it read a hint that is not what the word holds. */
  readonly late: boolean;
}

/** A schedule, step by step. */
export interface Trace {
  readonly threads: readonly string[];
  readonly steps: readonly TraceStep[];
  readonly failure: Failure | null;
  /** Which step of the schedule was not possible, from 1; the trace ends before it. Null where all were. */
  readonly refused: number | null;
  /** The words at its end. */
  readonly words: Int32Array;
  /** What each thread that has ended returned. */
  readonly results: ReadonlyMap<number, unknown>;
}

/**
 * Runs one schedule and notes what each step does, up to the first that is not possible. The machine is left at its end.
 *
 * A schedule is followed to the letter: a thread takes its step even where it only goes round in a loop, which a search
 * does not offer. Whether it does may rest on what a search has learnt before.
 */
export function traceSchedule(machine: Machine, checks: EndChecks, schedule: readonly ScheduleStep[]): Trace {
  const steps: TraceStep[] = [];
  const choices: Choice[] = [];
  machine.begin();
  let failure = machine.failure;
  let goesOn = false;
  let refused: number | null = null;
  for (let at = 0; failure === null && at <= schedule.length; at++) {
    const next = schedule[at];
    const chosen = next === undefined ? -1 : resolve(machine, next);
    goesOn = machine.choices(choices);
    failure = machine.failure ?? attemptAlways(machine);
    if (failure !== null || next === undefined) break;
    if (!choices.includes(chosen) && !machine.allows(chosen)) {
      refused = at + 1;
      break;
    }
    steps.push(takeStep(machine, chosen));
    failure = machine.failure;
  }
  if (failure === null && refused === null && !goesOn) failure = checks.check(machine);
  const { program, threads } = machine;
  const named = Array.from({ length: threads.count }, (_, thread) => machine.nameOf(thread));
  const results = new Map<number, unknown>();
  for (let thread = 0; thread < threads.count; thread++) {
    const outcome = threads.status(thread) === DONE ? machine.nodeOf(thread)!.outcome : null;
    if (outcome?.kind === 'returned') results.set(thread, outcome.value);
  }
  const words = machine.state.values.slice(0, program.wordCount);
  return { threads: named, steps, failure, refused, words, results };
}

/** The choice that a step given from outside stands for in the present state. */
function resolve(machine: Machine, { choice: given, hintValue }: ScheduleStep): Choice {
  const operation = machine.nodeOf(choiceThread(given))?.operation;
  if (hintValue === undefined || operation == null) return given;
  return choice(STEP, choiceThread(given), machine.hintAlternative(operation, hintValue));
}

function takeStep(machine: Machine, chosen: Choice): TraceStep {
  const thread = choiceThread(chosen);
  const { threads, program } = machine;
  const before = Array.from({ length: threads.count }, (_, other) => threads.status(other));
  const operation = machine.nodeOf(thread)?.operation ?? null;
  machine.step(chosen);
  const answer = machine.lastSlept || choiceKind(chosen) === KILL ? undefined : machine.lastAnswer;
  const woken: number[] = [];
  const begun: number[] = [];
  for (let other = 0; other < threads.count; other++) {
    if (other === thread) continue;
    const now = threads.status(other);
    if (before[other] === SLEEPING && (now === RUNNING || now === DONE)) woken.push(other);
    if (before[other] === UNBORN && now !== UNBORN) begun.push(other);
  }
  const recoveryRoles = new Map(begun.map((slot) => [slot, threads.recoveryRole(slot)]));
  const hints = operation === null ? undefined : machine.hintValues(operation);
  const hintValue = hints === undefined || choiceKind(chosen) !== STEP ? undefined : Number(answer);
  const late =
    operation?.kind === READ &&
    hintValue !== undefined &&
    machine.memory.read(operation.type, operation.address) !== answer;
  let text = describe(machine, chosen, operation, answer);
  if (late) text += ' (a hint, read late)';
  if (threads.status(thread) === DONE && before[thread] !== DEAD) text += ' ▪';
  return {
    choice: chosen,
    thread,
    text,
    operation,
    answer,
    woken,
    begun,
    recoveryRoles,
    late,
    ...(hintValue === undefined ? {} : { hintValue }),
  };

  function describe(of: Machine, step: Choice, done: Operation | null, answered: Answer | undefined): string {
    switch (choiceKind(step)) {
      case KILL:
        return '✝ killed';
      case TIME_OUT:
        return 'times out';
      case STRAY_WAKE:
        return 'wakes astray';
      case ABORT:
        return 'is aborted';
    }
    if (done === null) return '';
    if (of.lastSlept) return `${describeOperation(done, program.names)}: sleeps`;
    return answered === undefined ? '' : describeDone(done, answered, program.names);
  }
}
