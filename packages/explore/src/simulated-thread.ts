import { type AnyTypedArray, elementTypeOf } from './element-types.js';
import type { RecordedCall } from './history.js';
import {
  type ABORTED,
  LEAVES_ENTRY,
  MAY_ABORT,
  NOW,
  PAUSE,
  RANDOM,
  WAIT_EVENT,
  waitAnswers,
} from './operation.js';
import type { Performer } from './performer.js';
import { effectiveTimeout, noMemory, simulatedAtomics } from './simulated-atomics.js';
import type { SimulatedBuffer } from './simulated-buffer.js';
import { simulatedView } from './simulated-view.js';
import type { AbandonedSteps, DriveOptions, Steps } from './step-machine.js';
import { driveSteps } from './step-machine.js';

/** Everything outside its own words that tested code may touch, simulated. */
export interface SimulatedPlatform {
  readonly atomics: Atomics;
  now(): number;
  random(): number;
  pause(): void;
  canBlock(): boolean;
  schedule(callback: () => void, delayMs: number): () => void;
  turn(callback: () => void): () => void;
  keepAlive(): () => void;
}

/** How an asynchronous wait is made. */
export interface WaitEventOptions {
  /** After how many milliseconds it times out. Default never. */
  readonly timeoutMs?: number;
  /** Whether it may be aborted while it sleeps. */
  readonly abortable?: boolean;
  /**
   * Whether an aborted wait leaves its entry in the queue, where it swallows one notify, as an abandoned
   * `Atomics.waitAsync` does. Default true.
   */
  readonly leavesEntry?: boolean;
}

/** How a wait ended. */
export type WaitEventResult = (typeof waitAnswers)[number];

/**
 * What the code of a simulated thread is given. Made anew for each run of the code, since a thread is resumed by
 * running it again from its start.
 */
export class SimulatedThread {
  /** Its place among the threads of the model; recovering threads come after them. */
  readonly index: number;
  readonly name: string;
  /** The shared memory as 32-bit words. */
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly platform: SimulatedPlatform;
  /** What the model's `shared` made. */
  readonly shared: unknown;
  readonly #performer: Performer;
  readonly #buffer: SimulatedBuffer;
  readonly #calls: RecordedCall[];
  readonly #operationCount: () => number;

  constructor(options: {
    readonly index: number;
    readonly name: string;
    readonly performer: Performer;
    readonly buffer: SimulatedBuffer;
    readonly words: Int32Array<SharedArrayBuffer>;
    readonly platform: SimulatedPlatform;
    readonly shared: unknown;
    readonly calls: RecordedCall[];
    /** Shared operations that the thread has done. */
    readonly operationCount: () => number;
  }) {
    this.index = options.index;
    this.name = options.name;
    this.words = options.words;
    this.platform = options.platform;
    this.shared = options.shared;
    this.#performer = options.performer;
    this.#buffer = options.buffer;
    this.#calls = options.calls;
    this.#operationCount = options.operationCount;
  }

  /** The simulated `Atomics`. */
  get atomics(): Atomics {
    return this.platform.atomics;
  }

  /** The shared memory as a `SharedArrayBuffer`. */
  get buffer(): SharedArrayBuffer {
    return this.#buffer as unknown as SharedArrayBuffer;
  }

  /** A view of another element type on the shared memory, such as `thread.view(Uint8Array, 64, 16)`. */
  view<View extends AnyTypedArray>(
    arrayType: { new (length: number): View; readonly BYTES_PER_ELEMENT: number },
    byteOffset = 0,
    length?: number,
  ): View {
    const type = elementTypeOf(arrayType);
    if (type === undefined) throw new TypeError('A view is made of one of the typed array constructors');
    return simulatedView(this.#buffer, type, byteOffset, length) as View;
  }

  /**
   * Does an operation of the tested structure and records it for the linearizability check: when it was called,
   * when it returned, and what.
   */
  call<Result>(name: string, args: readonly unknown[], operation: () => Result): Result {
    const record: RecordedCall = { name, args, calledAt: this.#operationCount(), returned: false };
    this.#calls.push(record);
    const result = operation();
    record.result = result;
    record.returned = true;
    return result;
  }

  /**
   * Says that all of this thread's local state, from here on, is what is passed: that it does the same from here,
   * whatever it has read before. Histories that say the same at their same checkpoint (first, second, …) are then one
   * state, which makes models of several operations a thread far smaller.
   *
   * What is passed has to hold everything that matters later, private fields of the tested objects included; numbers,
   * strings, and arrays and plain objects of them. The explorer looks whether the code goes on alike along one
   * continuation of each history, and reports where it does not; it cannot look along all.
   */
  checkpoint(...state: unknown[]): void {
    this.#performer.checkpoint(state);
  }

  /** Waits as `Atomics.waitAsync` does, as one event, and says how that ended. */
  waitEvent(index: number, expected: number, options: WaitEventOptions = {}): WaitEventResult {
    const flags =
      (options.abortable === true ? MAY_ABORT : 0) | (options.leavesEntry === false ? 0 : LEAVES_ENTRY);
    if (!Number.isInteger(index) || index < 0 || index >= this.words.length) {
      this.#performer.refuse('out-of-bounds', `waits on word ${index} of ${this.words.length}`);
    }
    const answer = this.#performer.perform({
      ...noMemory(WAIT_EVENT),
      address: this.#buffer.start + index * 4,
      count: 1,
      a: expected | 0,
      b: effectiveTimeout(options.timeoutMs),
      flags,
    });
    return waitAnswers[answer as number as typeof ABORTED];
  }

  /**
   * Runs a step machine to its end. While it waits, the explorer chooses between a wake, a stray wake, the
   * time-out and the abort. Gives undefined where it was aborted and its `onAbort` says no next step.
   */
  drive<Value>(machine: Steps<Value>, options?: DriveOptions): Value;
  drive<Value>(machine: AbandonedSteps<Value>, options?: DriveOptions): Value | undefined;
  drive<Value>(machine: Steps<Value> | AbandonedSteps<Value>, options: DriveOptions = {}): Value | undefined {
    return driveSteps(machine, options, (index, expected, wait) => this.waitEvent(index, expected, wait));
  }
}

/** The platform on top of a performer. */
export function simulatedPlatform(performer: Performer): SimulatedPlatform {
  const refuseCallback = () =>
    performer.refuse(
      'unsupported',
      'schedules a callback, which a synchronous thread cannot get; drive the step machine instead',
    );
  return {
    atomics: simulatedAtomics(performer),
    now: () => performer.perform(noMemory(NOW)) as number,
    random: () => performer.perform(noMemory(RANDOM)) as number,
    pause: () => {
      performer.perform(noMemory(PAUSE));
    },
    canBlock: () => performer.canBlock(),
    schedule: refuseCallback,
    turn: refuseCallback,
    keepAlive: () => () => {},
  };
}
