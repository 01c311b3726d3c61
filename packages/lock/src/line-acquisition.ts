import type { Step, Steps } from '@heddle/memory';
import type { Line } from './line.js';
import type { LockOutcome } from './lock.js';
import { ended, GAVE_UP } from './outcome-steps.js';
import type { OwnerAttempt } from './owner-attempt.js';
import { SpinBudget } from './spin-budget.js';
import { PATIENCE_MS, type StateWord } from './state-word.js';
import { TurnSpin } from './turn-spin.js';
import { COURTESY, RESERVED, SLEEPER } from './word-flags.js';

type Next = Step<LockOutcome | null>;

/**
 * A thread that takes a lock by blocking: it stands in line, and contends as the first in line, for whom alone the
 * lock may be RESERVED, and who alone sleeps on the state word.
 *
 * With a {@link SpinBudget} it looks for the lock for a moment before it joins the line, and so may pass others; as the
 * first in line it lets others pass for a millisecond.
 *
 * With a {@link TurnSpin} the order of arrival holds: the lock is RESERVED for the line from the first on, and a
 * thread keeps its place while it has the lock. So the next one is woken once, when it can have the lock, and RESERVED
 * stays set until the line is empty.
 *
 * One object for all calls of a thread, one at a time.
 */
export class LineAcquisition implements Steps<LockOutcome | null> {
  readonly #state: StateWord;
  readonly #line: Line;
  readonly #attempt: OwnerAttempt;
  readonly #budget: SpinBudget | undefined;
  readonly #turn: TurnSpin | undefined;
  #isFirst = false;
  #firstSince = 0;
  #steppedAside = false;

  constructor(state: StateWord, line: Line, attempt: OwnerAttempt, spin: SpinBudget | TurnSpin) {
    this.#state = state;
    this.#line = line;
    this.#attempt = attempt;
    this.#budget = spin instanceof SpinBudget ? spin : undefined;
    this.#turn = spin instanceof TurnSpin ? spin : undefined;
  }

  begin(): Next {
    this.#isFirst = false;
    this.#steppedAside = false;
    if (this.#budget) {
      const taken = this.#look(this.#budget);
      if (taken) return taken;
    } else {
      // Throws where the lock will never be had, before anything has changed.
      this.#attempt.take(this.#state.load());
    }
    this.#line.join();
    return this.#queue(this.#turn?.isDue() ? this.#turn : undefined);
  }

  onWake(): Next {
    return this.#queue(undefined);
  }

  /** Gives the place up, unless the lock is to be had. */
  onTimeout(): Next {
    if (!this.#isFirst) {
      this.#leave();
      return GAVE_UP;
    }
    let found = this.#state.load();
    for (;;) {
      const taken = this.#takeAsFirst(found);
      const keeps = this.#turn || !(found & RESERVED);
      if (taken === undefined && keeps) break;
      const before = this.#state.change(found, taken ?? found & ~RESERVED);
      if (before === found && taken !== undefined) return this.#taken(found);
      if (before === found) break;
      found = before;
    }
    this.#leave();
    return GAVE_UP;
  }

  /** Never called: a blocking call cannot be aborted. */
  onAbort(): void {}

  /** Looks for a moment when the lock is free, unless somebody waits already: then it would take long. */
  #look(budget: SpinBudget): Next | undefined {
    const most = budget.next;
    for (let looks = 0; ; looks++) {
      const found = this.#state.load();
      const taken = this.#attempt.take(found);
      if (taken !== undefined && !(found & COURTESY) && this.#state.change(found, taken) === found) {
        budget.note(looks);
        return ended(this.#attempt.result(found));
      }
      if (looks >= most || found & (SLEEPER | RESERVED | COURTESY)) {
        budget.note(looks);
        return undefined;
      }
      this.#state.platform.pause();
    }
  }

  /** @param turn where it is to look before it sleeps, having just joined. */
  #queue(turn: TurnSpin | undefined): Next {
    if (!this.#isFirst) {
      let index = this.#line.waitFor(turn === undefined);
      if (index !== 0 && turn) {
        turn.seesChange(this.#state, index, this.#line.expected);
        index = this.#line.waitFor(true);
      }
      if (index !== 0) return this.#state.sleep(index, this.#line.expected);
      this.#isFirst = true;
      if (!this.#turn) this.#firstSince = this.#state.platform.now();
      if (turn) this.#spin(turn);
    }
    return this.#contend();
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

  /** Reserves a lock that somebody has, and looks for a moment whether it becomes free. A hint: what follows looks again. */
  #spin(turn: TurnSpin): void {
    const found = this.#state.load();
    if (this.#takeAsFirst(found) !== undefined) return;
    const wanted = found | RESERVED;
    if (this.#state.change(found, wanted) === found) turn.seesChange(this.#state, this.#state.index, wanted);
  }

  /** What is reserved is for the first in line; where it stays in line, so does what is reserved. */
  #takeAsFirst(found: number): number | undefined {
    try {
      const taken = this.#attempt.take(found & ~RESERVED);
      if (taken === undefined) return undefined;
      return (taken & ~(COURTESY | SLEEPER)) | (this.#turn ? RESERVED : 0);
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  #outOfPatience(): boolean {
    return this.#turn !== undefined || this.#state.platform.now() - this.#firstSince >= PATIENCE_MS;
  }

  #taken(found: number): Next {
    const { slowCounters } = this.#state;
    if (slowCounters && found & RESERVED) slowCounters.handedOver++;
    if (!this.#turn) this.#leave();
    return ended(this.#attempt.result(found));
  }

  #leave(): void {
    this.#isFirst = false;
    this.#line.leave();
    if (this.#line.isEmpty()) this.#state.unreserve();
  }
}
