import { type Platform, realPlatform } from '@heddle/memory';
import type { Line } from './line.js';
import { LineAcquisition } from './line-acquisition.js';
import { McsLine } from './mcs-line.js';
import { mcsLockLayout } from './mcs-lock.layout.js';
import type { OwnerAttempt } from './owner-attempt.js';
import { OwnerWord } from './owner-word.js';
import { EVERYONE, StateWord } from './state-word.js';
import { TicketLine } from './ticket-line.js';
import { ticketLockLayout } from './ticket-lock.layout.js';
import { TurnSpin } from './turn-spin.js';

/**
 * A lock that threads get in the order in which they came: a state word in front of a line of those who block, in
 * which the owner stays until it releases.
 *
 * **States** of the state word: {@link OwnerWord}. It is RESERVED while somebody stands in line, so that whoever
 * comes has to join; while nobody does, it is taken and released by one CAS each.
 *
 * **Fairness**: first come, first served among those who block, save that one who comes in the moment between a join
 * and the mark RESERVED that follows may pass. Tasks hold no place, since their event loop may be busy for long: one
 * that has waited a millisecond sets COURTESY, and each first in line steps aside for it for at most a millisecond.
 *
 * **Death**: of the owner as in {@link OwnerWord}; of one in line as its `Line` says; where nobody is
 * left in line, nothing stays reserved.
 */
class LineLock extends OwnerWord {
  readonly #line: Line;
  readonly #turn: TurnSpin;

  protected constructor(kind: string, state: StateWord, token: number, line: Line, turn: TurnSpin) {
    super(kind, state, token, EVERYONE);
    this.#line = line;
    this.#turn = turn;
  }

  protected override blockedSteps(attempt: OwnerAttempt): LineAcquisition {
    return new LineAcquisition(this.state, this.#line, attempt, this.#turn);
  }

  override unlock(): void {
    super.unlock();
    // After deaths that left two threads first, RESERVED may have gone while this one was in line.
    if (this.#line.inLine) this.passOn();
  }

  protected override passOn(): void {
    this.#line.leaveAsOwner();
    if (this.#line.isEmpty()) this.state.unreserve();
  }

  protected override recoverWaiting(deadToken: number): void {
    this.#line.recover(deadToken);
    if (this.#line.isEmpty()) this.state.unreserve();
  }
}

/** The algorithm of the ticket lock: {@link LineLock} over a {@link TicketLine}. */
export class RawTicketLock extends LineLock {
  /**
   * @param words the words of {@link ticketLockLayout}, zero at first.
   * @param token of this thread: 1 to 2^24 - 1.
   * @param turn how one that has joined the line looks before it parks.
   */
  constructor(words: Int32Array, token: number, platform: Platform = realPlatform, turn = new TurnSpin()) {
    const { state, taskGate } = ticketLockLayout.offsets;
    const word = new StateWord(words, state, taskGate, platform);
    super('ticket', word, token, new TicketLine(word, token), turn);
  }
}

/** The algorithm of the queue lock: {@link LineLock} over an {@link McsLine}. */
export class RawMcsLock extends LineLock {
  /**
   * @param words the words of {@link mcsLockLayout} and of the nodes, zero at first.
   * @param token of this thread: 1 to 2^24 - 1.
   * @param turn how one that has joined the line looks before it parks.
   */
  constructor(words: Int32Array, token: number, platform: Platform = realPlatform, turn = new TurnSpin()) {
    const { state, taskGate } = mcsLockLayout.offsets;
    const word = new StateWord(words, state, taskGate, platform);
    super('mcs', word, token, new McsLine(word, token), turn);
  }
}
