import { assertMayBlock, type Segment, timeoutOf, type WaitAsyncOptions } from '@heddle/memory';
import { BlockedAttempt } from './blocked-attempt.js';
import type { LockOptions } from './exclusive-lock.js';
import { timedOutError } from './lock-errors.js';
import { DONE, onceLayout } from './once.layout.js';
import { disown, OwnerAttempt } from './owner-attempt.js';
import {
  alonePlacement,
  createPlacement,
  handlePlacement,
  type LockHandle,
  type NameOptions,
  openPlacement,
  type Placement,
  registerRecovery,
} from './placement.js';
import { SharedObject } from './shared-object.js';
import { type Attempt, EVERYONE, StateWord } from './state-word.js';
import { waitAsTask } from './waiting.js';
import { OWNER_DIED, TASK_OWNS } from './word-flags.js';

const { state, taskGate } = onceLayout.offsets;

/** What the one who runs it is told. */
export interface OnceRun {
  /** Whether a thread died while it ran this before, so that its work may be half done. */
  readonly interrupted: boolean;
}

/** Becoming the one who runs it, or seeing it done. */
class RunOrSeeDone implements Attempt<'done' | OnceRun> {
  readonly #owner: OwnerAttempt;

  constructor(token: number, asTask: number) {
    this.#owner = new OwnerAttempt('once', token, asTask);
  }

  take(found: number): number | undefined {
    return found & DONE ? found : this.#owner.take(found);
  }

  result(found: number): 'done' | OnceRun {
    return found & DONE ? 'done' : { interrupted: (found & OWNER_DIED) !== 0 };
  }
}

/**
 * Something that is done by one thread, once, while the others that need it wait.
 *
 * **Layout**: `once.layout.ts`. **States** of `state`: 0 not begun; a token, that thread runs it; DONE; OWNER_DIED
 * with owner 0, a thread died over it, and the next who comes runs it again.
 *
 * **Ordering**: N1: what the run wrote before DONE ↔ the look that sees DONE.
 *
 * **Death** of the one who runs it: the next who comes, or a waiter, runs it and is told. A run that throws is as if
 * it had not begun: the error goes to its caller, and the next one runs it.
 *
 * **Cost**, in Atomics calls: 1 load once it is done, none after this object has seen that.
 */
export class Once extends SharedObject {
  readonly #state: StateWord;
  readonly #token: number;
  #seenDone = false;

  /** Makes a small segment of its own, for up to 64 threads. */
  constructor(placement: Placement = alonePlacement(onceLayout)) {
    super(onceLayout.kind, placement);
    this.#token = placement.token;
    this.#state = new StateWord(placement.words, state, taskGate, this.platform);
  }

  /** @throws as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions): Once {
    return new Once(createPlacement(segment, onceLayout, options));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): Once {
    return new Once(openPlacement(segment, onceLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a once. */
  static from(handle: LockHandle): Once {
    return new Once(handlePlacement(handle, onceLayout));
  }

  /** Whether it has been run to the end. */
  get done(): boolean {
    this.#seenDone ||= (this.#state.load() & DONE) !== 0;
    return this.#seenDone;
  }

  /**
   * Runs `body` if nobody has yet; waits, blocking, while another thread does.
   *
   * @returns whether this call ran it.
   * @throws HeddleError `ERR_HEDDLE_TIMED_OUT`; `ERR_HEDDLE_RELOCK` where `body` itself, or while a task of this
   *   thread runs it; `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, also when it is done. What
   *   `body` throws.
   */
  run(body: (run: OnceRun) => void, options: LockOptions = {}): boolean {
    assertMayBlock(this.platform);
    if (this.done) return false;
    const attempt = new RunOrSeeDone(this.#token, 0);
    const outcome = new BlockedAttempt(this.#state, attempt).run(timeoutOf(options));
    const run = this.#toRun(outcome, options);
    if (!run) return false;
    let completed = false;
    try {
      body(run);
      completed = true;
    } finally {
      this.#leave(completed);
    }
    return true;
  }

  /** Runs `body` if nobody has yet; waits on the event loop while another thread or task does. As {@link run}. */
  async runAsync(
    body: (run: OnceRun) => void | PromiseLike<void>,
    options: WaitAsyncOptions = {},
  ): Promise<boolean> {
    if (this.done) return false;
    const outcome = await waitAsTask(this.#state, new RunOrSeeDone(this.#token, TASK_OWNS), options);
    const run = this.#toRun(outcome, options);
    if (!run) return false;
    let completed = false;
    try {
      await body(run);
      completed = true;
    } finally {
      this.#leave(completed);
    }
    return true;
  }

  /** Lets another thread run it where the dead one did, and wakes everyone who sleeps. */
  recover(deadToken: number): void {
    disown(this.#state, deadToken);
    this.#state.wakeAll();
  }

  #toRun(
    outcome: 'done' | OnceRun | null,
    options: { readonly timeout?: number | undefined },
  ): OnceRun | undefined {
    if (outcome === null) throw timedOutError('Waiting for the one who runs it', options.timeout);
    if (outcome !== 'done') return outcome;
    this.#seenDone = true;
    return undefined;
  }

  #leave(completed: boolean): void {
    const found = this.#state.update((word) => (completed ? DONE : word & OWNER_DIED));
    this.#seenDone = completed;
    this.#state.wake(found, completed ? EVERYONE : 1);
  }
}

registerRecovery(onceLayout, import.meta.url, (placement) => new Once(placement));
