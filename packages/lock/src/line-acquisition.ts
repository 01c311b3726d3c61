import type { Step, Steps } from '@heddle/memory';
import type { Line, LinePolicy } from './line.js';
import type { LockOutcome } from './lock.js';
import type { OwnerAttempt } from './owner-attempt.js';
import type { SpinBudget } from './spin-budget.js';
import type { StateWord } from './state-word.js';
import { COURTESY, RESERVED, SLEEPER } from './word-flags.js';

type Next = Step<LockOutcome | null>;

/**
 * A thread that takes a lock by blocking: it may look for a while, stands in line, and contends as the first in line,
 * for whom alone the lock may be RESERVED, and who alone sleeps on the state word.
 */
export class LineAcquisition implements Steps<LockOutcome | null> {
  readonly #state: StateWord;
  readonly #line: Line;
  readonly #policy: LinePolicy;
  readonly #attempt: OwnerAttempt;
  readonly #spins: SpinBudget;
  #isFirst = false;
  #firstSince = 0;
  #steppedAside = false;

  constructor(state: StateWord, line: Line, policy: LinePolicy, attempt: OwnerAttempt, spins: SpinBudget) {
    this.#state = state;
    this.#line = line;
    this.#policy = policy;
    this.#attempt = attempt;
    this.#spins = spins;
  }

  begin(): Next {
    if (this.#policy.looksFirst) {
      const taken = this.#look();
      if (taken) return taken;
    } else {
      // Throws where the lock will never be had, before anything has changed.
      this.#attempt.take(this.#state.load());
    }
    this.#line.join();
    return this.#queue(true);
  }

  onWake(): Next {
    return this.#queue(false);
  }

  /** Gives the place up, unless the lock is to be had. */
  onTimeout(): Next {
    if (!this.#isFirst) {
      this.#leave();
      return { done: true, value: null };
    }
    let found = this.#state.load();
    for (;;) {
      const taken = this.#takeAsFirst(found);
      const keeps = this.#policy.staysInLine || !(found & RESERVED);
      if (taken === undefined && keeps) break;
      const before = this.#state.change(found, taken ?? found & ~RESERVED);
      if (before === found && taken !== undefined) return this.#taken(found);
      if (before === found) break;
      found = before;
    }
    this.#leave();
    return { done: true, value: null };
  }

  /** Never called: a blocking call cannot be aborted. */
  onAbort(): void {}

  /** Looks for a moment when the lock is free, unless somebody waits already: then it would take long. */
  #look(): Next | undefined {
    const budget = this.#spins.next;
    for (let looks = 0; ; looks++) {
      const found = this.#state.load();
      const taken = this.#attempt.take(found);
      if (taken !== undefined && !(found & COURTESY) && this.#state.change(found, taken) === found) {
        this.#spins.note(looks);
        return { done: true, value: this.#attempt.result(found) };
      }
      if (looks >= budget || found & (SLEEPER | RESERVED | COURTESY)) {
        this.#spins.note(looks);
        return undefined;
      }
      this.#state.platform.pause();
    }
  }

  #queue(joined: boolean): Next {
    if (!this.#isFirst) {
      const wait = this.#awaitTurn(joined);
      if (wait) return this.#state.sleep(wait.index, wait.expected);
      this.#isFirst = true;
      if (this.#policy.patienceMs > 0) this.#firstSince = this.#state.platform.now();
      // Who looked already has looked for long enough; the place of the first is worth another look.
      if (joined && !this.#policy.looksFirst) this.#spin();
    }
    return this.#contend();
  }

  /** Who has just joined a line in which threads stay looks for a moment before it sleeps. */
  #awaitTurn(joined: boolean): { readonly index: number; readonly expected: number } | undefined {
    const wait = this.#line.waitFor();
    if (!wait || !joined || !this.#policy.staysInLine) return wait;
    const { atomics, words, platform } = this.#state;
    const budget = this.#spins.next;
    let looks = 0;
    while (looks < budget && atomics.load(words, wait.index) === wait.expected) {
      platform.pause();
      looks++;
    }
    this.#spins.note(looks);
    return looks < budget ? this.#line.waitFor() : wait;
  }

  /** As the first in line: takes the lock, or sleeps until its release. */
  #contend(): Next {
    let found = this.#state.load();
    for (;;) {
      const taken = this.#takeAsFirst(found);
      if (taken !== undefined && found & COURTESY && !this.#steppedAside) {
        this.#steppedAside = true;
        found = this.#state.stepAside();
        continue;
      }
      const wanted = taken ?? found | SLEEPER | (this.#outOfPatience() ? RESERVED : 0);
      const before = this.#state.change(found, wanted);
      if (before === found) {
        if (taken !== undefined) return this.#taken(found);
        return this.#state.sleep(this.#state.index, wanted);
      }
      found = before;
    }
  }

  /** Looks for a moment whether the lock becomes free, having reserved it. A hint: what follows looks again. */
  #spin(): void {
    const budget = this.#spins.next;
    let looks = 0;
    for (; looks < budget; looks++) {
      const found = this.#state.load();
      if (this.#takeAsFirst(found) !== undefined || found & COURTESY) break;
      if (!(found & RESERVED)) this.#state.change(found, found | RESERVED);
      this.#state.platform.pause();
    }
    this.#spins.note(looks);
  }

  /** What is reserved is for the first in line; where it stays in line, so does what is reserved. */
  #takeAsFirst(found: number): number | undefined {
    try {
      const taken = this.#attempt.take(found & ~RESERVED);
      if (taken === undefined) return undefined;
      return (taken & ~(COURTESY | SLEEPER)) | (this.#policy.staysInLine ? RESERVED : 0);
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  #outOfPatience(): boolean {
    const { patienceMs } = this.#policy;
    return patienceMs === 0 || this.#state.platform.now() - this.#firstSince >= patienceMs;
  }

  #taken(found: number): Next {
    const { slowCounters } = this.#state;
    if (slowCounters && found & RESERVED) slowCounters.handedOver++;
    if (!this.#policy.staysInLine) this.#leave();
    return { done: true, value: this.#attempt.result(found) };
  }

  #leave(): void {
    this.#isFirst = false;
    this.#line.leave();
    if (this.#line.isEmpty()) this.#state.unreserve();
  }
}
