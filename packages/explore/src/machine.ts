import { CallLog } from './call-log.js';
import { CheckedAccess } from './checked-access.js';
import {
  ABORT,
  type Choice,
  choiceAlternative,
  choiceKind,
  choiceThread,
  KILL,
  STEP,
  STRAY_WAKE,
  TIME_OUT,
} from './choice.js';
import { Counters, clampTime } from './counters.js';
import { type ElementValue, elementTypes } from './element-types.js';
import type { Failure } from './failure.js';
import type { HistoryNode } from './history.js';
import { Offers, touchesHint } from './offers.js';
import {
  ABORTED,
  type Answer,
  LEAVES_ENTRY,
  NOT_EQUAL,
  NOTIFY,
  NOW,
  OK,
  type Operation,
  PAUSE,
  RANDOM,
  READ,
  READ_RANGE,
  TIMED_OUT,
  WAIT,
  WAIT_EVENT,
} from './operation.js';
import type { Program } from './program.js';
import { describeRace } from './race-report.js';
import { recoveriesAfter } from './recoveries.js';
import { SharedMemory } from './shared-memory.js';
import { activateGlobals } from './simulated-globals.js';
import type { Simulation } from './simulation.js';
import { SpinWatch } from './spin-watch.js';
import { StateVector } from './state-vector.js';
import { DEAD, DONE, RUNNING, SLEEPING, ThreadTable, UNBORN } from './thread-table.js';
import { WaitQueues } from './wait-queues.js';

/**
 * The simulated machine: the state of a model, what may happen next in it, and what that does.
 *
 * A search asks for the {@link choices}, takes one with {@link step}, and goes back through
 * {@link StateVector.rollback}. The machine itself knows no order of exploration.
 */
export class Machine {
  readonly program: Program;
  readonly state: StateVector;
  readonly memory: SharedMemory;
  readonly threads: ThreadTable;
  readonly queues: WaitQueues;
  readonly counters: Counters;
  readonly calls: CallLog;
  /** What the last step found wrong, or the last look at the choices. */
  failure: Failure | null = null;
  /** What the last step answered; meaningless where it put the thread to sleep. */
  lastAnswer: Answer = 0;
  /** Whether the last step put its thread to sleep. */
  lastSlept = false;
  readonly #simulation: Simulation;
  readonly #recordsCalls: boolean;
  readonly #access: CheckedAccess;
  readonly #offers: Offers;

  /**
   * @param reduces whether operations that no other thread can see are taken out of turn. A search needs that; a
   * schedule that is given is followed without. A model that looks at every state is never reduced, since operations
   * taken out of turn leave some states out.
   */
  constructor(simulation: Simulation, reduces = true) {
    const { program } = simulation;
    this.program = program;
    this.#simulation = simulation;
    this.#recordsCalls = program.model.sequential !== undefined;
    this.state = new StateVector(program.wordCount, () => this.memory.refresh());
    this.memory = new SharedMemory(this.state, program.wordCount);
    this.state.values.set(simulation.initialWords);
    this.memory.observed.set(program.hints);
    this.memory.onWrite = (word, value) => simulation.learnHintValue(word, value);
    this.threads = new ThreadTable(this.state, program.slots);
    this.queues = new WaitQueues(this.state, program.slots);
    this.counters = new Counters(this.state);
    this.calls = new CallLog(this.state, program.slots);
    this.#access = new CheckedAccess(this.state, this.memory, simulation, (...race) => {
      this.#fail({ kind: 'race', reason: describeRace(this, ...race) });
    });
    const spins = new SpinWatch(simulation, this.memory, this.queues, this.counters, (failure) =>
      this.#fail(failure),
    );
    this.#offers = new Offers(this, simulation, spins, reduces);
    simulation.access.restart();
    activateGlobals(simulation.runner);
  }

  #fail(failure: Failure): void {
    this.failure ??= failure;
  }

  /** Puts the threads at their beginnings. What fails there, before any step, is left in {@link failure}. */
  begin(): void {
    const { histories } = this.#simulation;
    for (let thread = 0; thread < this.program.threadCount; thread++) {
      this.#enter(thread, histories.root(thread));
    }
  }

  /** Whether the bound on preemptions has kept anything from being offered. */
  get bounded(): boolean {
    return this.#offers.bounded;
  }

  /** The point of its history at which a thread is; undefined before it is born. */
  nodeOf(thread: number): HistoryNode | undefined {
    if (this.threads.status(thread) === UNBORN) return undefined;
    return this.#simulation.histories.nodes[this.threads.node(thread)];
  }

  /** The name of a thread in reports. */
  nameOf(thread: number): string {
    return this.program.roles[this.#roleOf(thread)]?.name ?? `recovery ${thread}`;
  }

  #roleOf(thread: number): number {
    return thread < this.program.threadCount ? thread : this.threads.recoveryRole(thread);
  }

  /**
   * Fills `into` with what may happen next. Returns whether anything goes on by itself: deaths, stray wakes and
   * aborts may happen, but nobody can count on them.
   */
  choices(into: Choice[]): boolean {
    return this.#offers.list(into);
  }

  /** Whether a thread can take this step, be it one that only goes round in a loop, which is not among the choices. */
  allows(step: Choice): boolean {
    return this.#offers.allows(step);
  }

  /** Does what was chosen. What it finds wrong is left in {@link failure}. */
  step(chosen: Choice): void {
    const thread = choiceThread(chosen);
    this.lastSlept = false;
    switch (choiceKind(chosen)) {
      case STEP:
        this.#countPreemption(thread);
        this.#operate(thread, choiceAlternative(chosen));
        return;
      case KILL:
        this.#kill(thread);
        return;
      case TIME_OUT:
        this.queues.leave(thread);
        if (this.#simulation.readsClock) {
          this.counters.setTime(Math.max(this.counters.time, this.threads.deadline(thread)));
        }
        this.#wake(thread, TIMED_OUT);
        return;
      case STRAY_WAKE:
        this.queues.leave(thread);
        this.threads.addStray(thread);
        this.#wake(thread, OK);
        return;
      case ABORT:
        this.#abort(thread);
        return;
    }
  }

  #countPreemption(thread: number): void {
    if (this.#offers.preemptionBound === Number.POSITIVE_INFINITY) return;
    if (this.#offers.isLocal(this.nodeOf(thread)!)) return;
    const last = this.counters.lastThread;
    if (last === thread) return;
    if (last >= 0 && this.#offers.canGoOn(last)) this.counters.addPreemption();
    this.counters.setLastThread(thread);
  }

  #operate(thread: number, alternative: number): void {
    const node = this.nodeOf(thread)!;
    if (this.#recordsCalls && node.calls.length > 0)
      this.calls.begin(thread, node, (other) => this.nodeOf(other));
    const answer = this.#answer(thread, node, alternative);
    if (answer === undefined) return;
    this.lastAnswer = answer;
    if (this.failure === null) this.#enter(thread, this.#simulation.histories.next(node, answer));
  }

  /** Does the pending operation and gives its answer, undefined where the thread went to sleep in it. */
  #answer(thread: number, node: HistoryNode, alternative: number): Answer | undefined {
    const operation = node.operation!;
    switch (operation.kind) {
      case WAIT:
      case WAIT_EVENT:
        this.#access.synchronize(thread, operation, false);
        if (this.memory.read(operation.type, operation.address) !== operation.a) return NOT_EQUAL;
        if (operation.b === 0) return TIMED_OUT;
        this.#sleep(thread, operation);
        return undefined;
      case NOTIFY:
        return this.#notify(thread, operation);
      case PAUSE:
        return 0;
      case NOW:
        return this.#readClock(node, alternative);
      case RANDOM:
        return this.program.randoms[alternative]!;
      case READ: {
        const hints = this.hintValues(operation);
        if (hints !== undefined) return hints[alternative]!;
        this.#refuseHints(thread, operation);
        return this.#access.perform(thread, operation);
      }
      case READ_RANGE:
        this.#refuseHints(thread, operation);
        return this.#access.perform(thread, operation);
      default:
        return this.#access.perform(thread, operation);
    }
  }

  /** A range is read at once: there is no saying which of its hints comes late. */
  #refuseHints(thread: number, operation: Operation): void {
    if (!touchesHint(this.program, operation)) return;
    const as = operation.kind === READ ? `a ${elementTypes[operation.type]!.name}` : 'part of a range';
    this.#fail({ kind: 'unsupported', reason: `${this.nameOf(thread)} reads a hint as ${as}` });
  }

  /** The values that a plain read may give, where it is of a hint. */
  hintValues(operation: Operation): readonly ElementValue[] | undefined {
    return this.#simulation.hintValuesOf(operation);
  }

  /** Which of them a value is; a value that the word has not taken so far is taken for one. */
  hintAlternative(operation: Operation, value: number): number {
    if (this.hintValues(operation) === undefined) return -1;
    this.#simulation.learnHintElement(operation, value);
    return this.hintValues(operation)!.findIndex((known) => Number(known) === value);
  }

  #sleep(thread: number, operation: Operation): void {
    this.lastSlept = true;
    this.queues.join(thread, operation.address);
    this.threads.setStatus(thread, SLEEPING);
    if (this.#simulation.readsClock && operation.b !== Number.POSITIVE_INFINITY) {
      this.threads.setDeadline(thread, clampTime(this.counters.time + Number(operation.b)));
    }
  }

  #notify(thread: number, operation: Operation): number {
    let woken = 0;
    while (woken < Number(operation.a)) {
      const entry = this.queues.first(operation.address);
      if (entry < 0) break;
      this.queues.leave(entry);
      woken++;
      if (entry >= this.threads.count) continue;
      this.#access.learn(entry, thread);
      this.#wake(entry, OK);
    }
    return woken;
  }

  /** An aborted wait may leave its entry in the queue. */
  #abort(thread: number): void {
    const left = thread + this.threads.count;
    const leaves = (this.nodeOf(thread)!.operation!.flags & LEAVES_ENTRY) !== 0;
    if (leaves && this.queues.addressOf(left) < 0) this.queues.replace(thread, left);
    else this.queues.leave(thread);
    this.#wake(thread, ABORTED);
  }

  #wake(thread: number, answer: number): void {
    this.lastAnswer = answer;
    this.threads.setDeadline(thread, 0);
    this.#enter(thread, this.#simulation.histories.next(this.nodeOf(thread)!, answer));
  }

  /** A clock that is read over and over, with nothing else happening, moves on. */
  #readClock(node: HistoryNode, alternative: number): number {
    let { time } = this.counters;
    if (alternative > 0) {
      time += this.program.clockJumps[alternative - 1]!;
      this.counters.addJump();
    } else if (node.maySpin && node.clockReads > 0) {
      time += 2 ** Math.min(node.clockReads - 1, 30);
    }
    if (this.#simulation.readsClock) this.counters.setTime(time);
    return clampTime(time);
  }

  #kill(thread: number): void {
    const { threads } = this;
    this.queues.leave(thread);
    this.queues.leave(thread + threads.count);
    threads.setStatus(thread, DEAD);
    for (const { slot, role } of recoveriesAfter(
      this.program,
      thread,
      this.counters.kills,
      threads.recoveryRole(thread),
    )) {
      threads.setRecoveryRole(slot, role);
      this.#access.learn(slot, thread);
      this.#enter(slot, this.#simulation.histories.root(role));
    }
    this.counters.addKill();
    threads.retire(thread);
    this.#access.retire(thread);
    // How far it had come matters no more, but to the calls in which it died.
    if (!this.#recordsCalls) {
      threads.setNode(thread, this.#simulation.histories.root(this.#roleOf(thread)).id);
    }
  }

  /** Puts a thread at a point of its history, and looks at what the thread found there. */
  #enter(thread: number, node: HistoryNode): void {
    const { threads } = this;
    threads.setNode(thread, node.id);
    threads.setStatus(thread, RUNNING);
    if (this.#recordsCalls && node.calls.length > 0)
      this.calls.settle(thread, node, (other) => this.nodeOf(other));
    const { outcome } = node;
    if (outcome === null) {
      if (node.depth < this.program.maxThreadSteps) return;
      this.#fail({
        kind: 'livelock',
        reason: `${this.nameOf(thread)} has done ${node.depth} steps without an end`,
      });
    } else if (outcome.kind === 'returned') {
      threads.setStatus(thread, DONE);
      threads.retire(thread);
      this.#access.retire(thread);
    } else if (outcome.kind === 'broken') {
      this.#fail(outcome.failure);
    } else {
      this.#fail({
        kind: 'exception',
        reason: `${this.nameOf(thread)} threw ${describeError(outcome.error)}`,
      });
    }
  }
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // What engines say of a simulated view that is given to the real Atomics.
  const real = error instanceof TypeError && /integer (?:shared )?typed ?array/i.test(error.message);
  const advice = real ? ' (pass the code thread.atomics, not the global one)' : '';
  return `${error.name}: ${error.message}${advice}`;
}
