import type { Failure, FailureKind } from './failure.js';
import { describeCalls, type HistoryCall, isLinearizable } from './linearizability.js';
import type { Machine } from './machine.js';
import type { End, Model } from './model.js';
import { operationName, WAIT, WAIT_EVENT } from './operation.js';
import type { Simulation } from './simulation.js';
import { DEAD, DONE, RUNNING, SLEEPING, UNBORN } from './thread-table.js';

/** Looks at states in which nothing goes on: whether the model may end so. */
export class EndChecks {
  readonly #simulation: Simulation;
  readonly #model: Model;
  /** The copy of the memory that checks are given, filled anew for each. */
  readonly #words: Int32Array<SharedArrayBuffer>;
  /** Verdicts on histories of calls, which many ends share. */
  readonly #explained = new Map<string, boolean>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    this.#model = simulation.program.model;
    this.#words = new Int32Array(new SharedArrayBuffer(simulation.program.wordCount * 4));
  }

  /** What is wrong with this end, null where nothing is. */
  check(machine: Machine): Failure | null {
    return this.#stuck(machine) ?? this.#checkEnd(machine) ?? this.#checkCalls(machine);
  }

  #stuck(machine: Machine): Failure | null {
    const asleep: string[] = [];
    const overslept: string[] = [];
    const spinning: string[] = [];
    let deaths = 0;
    for (let thread = 0; thread < machine.threads.count; thread++) {
      const status = machine.threads.status(thread);
      if (status === DEAD) deaths++;
      if (status === RUNNING) spinning.push(this.#describeSpinning(machine, thread));
      if (status !== SLEEPING) continue;
      const { changed, text } = this.#describeSleeping(machine, thread);
      (changed ? overslept : asleep).push(text);
    }
    if (overslept.length + asleep.length + spinning.length === 0) return null;
    const after = deaths === 0 ? '' : ` after ${deaths === 1 ? 'a death' : `${deaths} deaths`}`;
    const all = [...overslept, ...asleep, ...spinning].join('; ');
    if (overslept.length > 0) {
      return { kind: 'lost-wake', reason: `Lost wake${after}: ${all}; nobody is left to notify` };
    }
    return { kind: 'deadlock', reason: `Deadlock${after}: ${all}; nobody is left to change that` };
  }

  #describeSleeping(machine: Machine, thread: number): { changed: boolean; text: string } {
    const operation = machine.nodeOf(thread)!.operation!;
    const name = machine.program.names.nameOfAddress(operation.address);
    const value = machine.memory.read(operation.type, operation.address);
    const changed = value !== operation.a;
    const now = changed ? `, which is ${value} now` : '';
    return { changed, text: `${machine.nameOf(thread)} sleeps on ${name} while it is ${operation.a}${now}` };
  }

  /** A thread that runs and cannot go on goes round in a loop; what it last looked at is why. */
  #describeSpinning(machine: Machine, thread: number): string {
    for (let node = machine.nodeOf(thread); node != null; node = node.parent ?? undefined) {
      const operation = node.parent?.operation;
      if (operation == null || operation.address < 0) continue;
      if (operation.kind === WAIT || operation.kind === WAIT_EVENT) continue;
      const place = machine.program.names.nameOfAddress(operation.address);
      return `${machine.nameOf(thread)} spins: ${operationName(operation.kind)} ${place} keeps answering ${node.answer}`;
    }
    return `${machine.nameOf(thread)} spins`;
  }

  #checkEnd(machine: Machine): Failure | null {
    const { check, conserve } = this.#model;
    if (check === undefined && conserve === undefined) return null;
    const failed =
      attempt('check', () => check?.(this.#end(machine))) ??
      attempt('leak', () => conserve?.(this.#end(machine)));
    return failed ?? null;
  }

  #end(machine: Machine): End {
    const { program, threads } = machine;
    const words = this.#words;
    words.set(machine.state.values.subarray(0, program.wordCount));
    const results: unknown[] = [];
    const dead: boolean[] = [];
    const recoveries: unknown[] = [];
    for (let thread = 0; thread < threads.count; thread++) {
      const status = threads.status(thread);
      const outcome = status === DONE ? machine.nodeOf(thread)!.outcome : null;
      const value = outcome?.kind === 'returned' ? outcome.value : undefined;
      if (thread < program.threadCount) {
        results.push(value);
        dead.push(status === DEAD);
      } else if (status === DONE) {
        recoveries.push(value);
      }
    }
    return { words, results, dead, recoveries, shared: this.#simulation.runner.shared };
  }

  #checkCalls(machine: Machine): Failure | null {
    const { sequential } = this.#model;
    if (sequential === undefined) return null;
    const calls: HistoryCall[] = [];
    for (let thread = 0; thread < machine.threads.count; thread++) {
      if (machine.threads.status(thread) === UNBORN) continue;
      calls.push(...machine.calls.calls(thread, machine.nodeOf(thread)!));
    }
    const key = calls
      .map((call) => `${call.thread}:${call.order}@${call.before}#${this.#resultKey(machine, call)}`)
      .join();
    let explained = this.#explained.get(key);
    if (explained === undefined) {
      explained = isLinearizable(calls, sequential);
      this.#explained.set(key, explained);
    }
    if (explained) return null;
    const described = describeCalls(calls, (thread) => machine.nameOf(thread));
    return { kind: 'not-linearizable', reason: `No order of the calls explains their results: ${described}` };
  }

  /** The point of history at which a thread stands tells all names, arguments and results of its calls. */
  #resultKey(machine: Machine, call: HistoryCall): number {
    return machine.threads.node(call.thread);
  }
}

function attempt(kind: FailureKind, check: () => unknown): Failure | undefined {
  let verdict: unknown;
  try {
    verdict = check();
  } catch (error) {
    verdict = error instanceof Error ? error.message : String(error);
  }
  if (verdict === undefined || verdict === null || verdict === true) return undefined;
  return { kind, reason: verdict === false ? `The ${kind} says false` : String(verdict) };
}
