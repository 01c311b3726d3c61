import { isAccess } from './access-facts.js';
import { ABORT, type Choice, choice, choiceThread, KILL, STEP, STRAY_WAKE, TIME_OUT } from './choice.js';
import { elementTypes } from './element-types.js';
import type { HistoryNode } from './history.js';
import type { Machine } from './machine.js';
import { isPlain, MAY_ABORT, NOW, type Operation, PAUSE, RANDOM } from './operation.js';
import type { Program } from './program.js';
import type { Simulation } from './simulation.js';
import type { SpinWatch } from './spin-watch.js';
import { RUNNING, SLEEPING } from './thread-table.js';

/** What may happen next in the present state of a machine. */
export class Offers {
  /** Whether the bound on preemptions has kept any choice from being offered. */
  bounded = false;
  readonly #machine: Machine;
  readonly #program: Program;
  readonly #simulation: Simulation;
  readonly #spins: SpinWatch;
  readonly #reduces: boolean;
  /** Most preemptions. A schedule that is given is followed beyond it, too. */
  readonly preemptionBound: number;

  /** @param reduces whether operations that no other thread can see are taken out of turn. */
  constructor(machine: Machine, simulation: Simulation, spins: SpinWatch, reduces: boolean) {
    this.#machine = machine;
    this.#program = simulation.program;
    this.#simulation = simulation;
    this.#spins = spins;
    this.#reduces = reduces && simulation.program.model.always === undefined;
    this.preemptionBound = reduces ? simulation.program.preemptions : Number.POSITIVE_INFINITY;
  }

  /**
   * Fills `into` with what may happen next. Returns whether anything goes on by itself: deaths, stray wakes and
   * aborts may happen, but nobody can count on them.
   *
   * Where some thread is at an operation that no other thread can see, that thread alone is offered: the operation
   * commutes with everything that the others could do.
   */
  list(into: Choice[]): boolean {
    into.length = 0;
    const { threads } = this.#machine;
    if (this.#reduces) {
      for (let thread = 0; thread < threads.count; thread++) {
        if (threads.status(thread) !== RUNNING) continue;
        const node = this.#machine.nodeOf(thread)!;
        if (!this.isLocal(node) || this.#spins.goesRound(node)) continue;
        this.#offerSteps(into, thread, node);
        this.#offerKill(into, thread);
        return true;
      }
    }
    let goesOn = false;
    const held = this.#heldByBound();
    for (let thread = 0; thread < threads.count; thread++) {
      const status = threads.status(thread);
      if (status === SLEEPING && this.#offerWakes(into, thread)) goesOn = true;
      if (status !== RUNNING) continue;
      const node = this.#machine.nodeOf(thread)!;
      // A local operation that was not offered above is one of a loop that changes nothing.
      if (this.isLocal(node) || this.#spins.goesRound(node)) continue;
      if (held !== -1 && held !== thread) this.bounded = true;
      else if (this.#offerSteps(into, thread, node)) goesOn = true;
    }
    for (let thread = 0; thread < threads.count; thread++) this.#offerKill(into, thread);
    return goesOn;
  }

  /** Whether the thread can do its next step in this state. */
  canGoOn(thread: number): boolean {
    return (
      this.#machine.threads.status(thread) === RUNNING &&
      !this.#spins.goesRound(this.#machine.nodeOf(thread)!)
    );
  }

  /**
   * Whether no other thread can see the pending operation or be seen by it: it is a pause or a random number; it is
   * plain, and free of races as all plain accesses are checked to be; or no other thread ever accesses its words.
   */
  isLocal(node: HistoryNode): boolean {
    if (!this.#reduces || this.#beginsCall(node)) return false;
    const operation = node.operation!;
    if (operation.kind === PAUSE || operation.kind === RANDOM) return true;
    if (!isAccess(operation)) return false;
    const plain = isPlain(operation);
    if (plain && touchesHint(this.#program, operation)) return false;
    return (plain && this.#program.races) || this.#simulation.access.isPrivate(node.role, operation);
  }

  /**
   * Whether the operation begins a recorded call. Done out of turn, the call would begin earlier, and fewer others would
   * count as over by then. That it ends early does no harm: more calls begin after it.
   */
  #beginsCall(node: HistoryNode): boolean {
    if (this.#program.model.sequential === undefined) return false;
    return node.calls.some((call) => call.calledAt === node.depth);
  }

  /** The only thread that a spent bound on preemptions lets run, or -1. */
  #heldByBound(): number {
    const { counters } = this.#machine;
    if (counters.preemptions < this.preemptionBound) return -1;
    const last = counters.lastThread;
    return last >= 0 && this.canGoOn(last) ? last : -1;
  }

  /** Whether a thread can take this step, be it one that only goes round in a loop. */
  allows(step: Choice): boolean {
    const thread = choiceThread(step);
    const { threads } = this.#machine;
    if (thread >= threads.count || threads.status(thread) !== RUNNING) return false;
    const steps: Choice[] = [];
    this.#offerSteps(steps, thread, this.#machine.nodeOf(thread)!, true);
    return steps.includes(step);
  }

  /** @param idle whether steps are offered, too, that lead into a loop which changes nothing. */
  #offerSteps(into: Choice[], thread: number, node: HistoryNode, idle = false): boolean {
    const operation = node.operation!;
    const { randoms, clockJumps, maxClockJumps } = this.#program;
    if (operation.kind === RANDOM) {
      for (let index = 0; index < randoms.length; index++) into.push(choice(STEP, thread, index));
      return true;
    }
    if (operation.kind === NOW && this.#machine.counters.jumps < maxClockJumps) {
      for (let index = 0; index < clockJumps.length; index++) into.push(choice(STEP, thread, index + 1));
    }
    const hints = this.#simulation.hintValuesOf(operation);
    if (hints === undefined) {
      into.push(choice(STEP, thread));
      return true;
    }
    let offered = false;
    for (let index = 0; index < hints.length; index++) {
      const next = node.maySpin && !idle ? this.#simulation.histories.next(node, hints[index]!) : undefined;
      if (next !== undefined && this.#spins.staysEndless(next)) continue;
      into.push(choice(STEP, thread, index));
      offered = true;
    }
    return offered;
  }

  #offerWakes(into: Choice[], thread: number): boolean {
    const { strayWakes, timeouts } = this.#program;
    const operation = this.#machine.nodeOf(thread)!.operation!;
    if (this.#machine.threads.strays(thread) < strayWakes) into.push(choice(STRAY_WAKE, thread));
    if ((operation.flags & MAY_ABORT) !== 0) into.push(choice(ABORT, thread));
    if (operation.b === Number.POSITIVE_INFINITY || !timeouts) return false;
    into.push(choice(TIME_OUT, thread));
    return true;
  }

  #offerKill(into: Choice[], thread: number): void {
    if (this.#machine.counters.kills >= this.#program.kills || !this.#program.killable[thread]) return;
    if (this.#machine.threads.isLive(thread)) into.push(choice(KILL, thread));
  }
}

/** Whether any word of the operation is declared a hint. */
export function touchesHint({ hints }: Program, operation: Operation): boolean {
  const last = operation.address + operation.count * elementTypes[operation.type]!.bytes - 1;
  for (let word = operation.address >>> 2; word <= last >>> 2; word++) if (hints[word] === 1) return true;
  return false;
}
