import { elementTypes } from './element-types.js';
import { HappensBefore } from './happens-before.js';
import {
  type Answer,
  COMPARE_EXCHANGE,
  isPlain,
  LOAD,
  type Operation,
  READ,
  READ_RANGE,
  STORE,
} from './operation.js';
import type { SharedMemory } from './shared-memory.js';
import type { Simulation } from './simulation.js';
import type { StateVector } from './state-vector.js';

/** Told of a data race: who did what, where, and with whom (threads as bits). */
export type RaceObserver = (thread: number, operation: Operation, address: number, racing: number) => void;

/** Accesses to shared memory, with the happens-before relation kept and every access checked for a race. */
export class CheckedAccess {
  readonly #memory: SharedMemory;
  readonly #relation: HappensBefore;
  readonly #onRace: RaceObserver;
  /** Turns an address into a place of the relation. */
  readonly #placeShift: number;

  constructor(state: StateVector, memory: SharedMemory, simulation: Simulation, onRace: RaceObserver) {
    this.#memory = memory;
    this.#onRace = onRace;
    this.#placeShift = simulation.byteGranular ? 0 : 2;
    const places = new Set([...simulation.plainBytes].map((byte) => byte >>> this.#placeShift));
    this.#relation = new HappensBefore(state, simulation.program.slots, places);
  }

  /** Does an access, atomic or plain, and answers as it does. */
  perform(thread: number, operation: Operation): Answer {
    const answer = this.#memory.answer(operation);
    if (this.#relation.active) {
      if (isPlain(operation)) this.#checkPlain(thread, operation);
      else this.synchronize(thread, operation, writes(operation, answer));
    }
    this.#memory.apply(operation, answer);
    return answer;
  }

  /** The happens-before edges and the race check of an atomic access. */
  synchronize(thread: number, operation: Operation, writing: boolean): void {
    const relation = this.#relation;
    if (!relation.active) return;
    const { address } = operation;
    const reading = operation.kind !== STORE;
    if (reading) relation.acquire(thread, address);
    for (let place = this.#first(operation); place <= this.#last(operation); place++) {
      if (!relation.tracks(place)) continue;
      let racing = reading ? relation.atomicRead(thread, place) : 0;
      if (writing) racing |= relation.atomicWrite(thread, place);
      if (racing !== 0) this.#onRace(thread, operation, place << this.#placeShift, racing);
    }
    if (writing) relation.release(thread, address);
  }

  #checkPlain(thread: number, operation: Operation): void {
    const relation = this.#relation;
    const reading = operation.kind === READ || operation.kind === READ_RANGE;
    for (let place = this.#first(operation); place <= this.#last(operation); place++) {
      const racing = reading ? relation.plainRead(thread, place) : relation.plainWrite(thread, place);
      if (racing !== 0) this.#onRace(thread, operation, place << this.#placeShift, racing);
    }
  }

  #first(operation: Operation): number {
    return operation.address >>> this.#placeShift;
  }

  #last(operation: Operation): number {
    const bytes = operation.count * elementTypes[operation.type]!.bytes;
    return (operation.address + bytes - 1) >>> this.#placeShift;
  }

  /** What `from` has done and knows happens before what `thread` does next. */
  learn(thread: number, from: number): void {
    if (this.#relation.active) this.#relation.learn(thread, from);
  }

  /** The thread has ended. */
  retire(thread: number): void {
    this.#relation.retire(thread);
  }
}

function writes({ kind, a }: Operation, answer: Answer): boolean {
  return kind !== LOAD && !(kind === COMPARE_EXCHANGE && answer !== a);
}
