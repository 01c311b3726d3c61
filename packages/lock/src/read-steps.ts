import type { Step, Steps } from '@heddle/memory';
import type { LockOutcome } from './lock.js';
import { poisonedError, relockError } from './lock-errors.js';
import { ended, GAVE_UP } from './outcome-steps.js';
import type { ReaderLines } from './reader-lines.js';
import { LOOKING, READING, WAITING } from './rw-lock.layout.js';
import type { SpinBudget } from './spin-budget.js';
import { PATIENCE_MS } from './state-word.js';
import { OWNER_DIED, OWNER_MASK, POISONED } from './word-flags.js';

type Next = Step<LockOutcome | null>;

/**
 * A thread, or one of its tasks, that wants to read: it says so in its word, and is in where no writer is to be
 * seen; else it waits on its word, until the writer lets it in when it leaves. A task is not let in but told to look,
 * since it would keep the writers out for as long as its event loop is busy with something else.
 *
 * One object for all blocking calls of a thread, one at a time.
 */
export class ReadSteps implements Steps<LockOutcome | null> {
  readonly #lines: ReaderLines;
  readonly #token: number;
  readonly #asTask: boolean;
  /** Its own word, and that of the other side: the thread's for a task, the tasks' for the thread. */
  readonly #own: number;
  readonly #other: number;
  readonly #spins: SpinBudget;
  #since: number | undefined;

  constructor(lines: ReaderLines, token: number, asTask: boolean, spins: SpinBudget) {
    this.#lines = lines;
    this.#token = token;
    this.#asTask = asTask;
    this.#own = lines.wordOf(token, asTask);
    this.#other = lines.wordOf(token, !asTask);
    this.#spins = spins;
  }

  /** @throws HeddleError `ERR_HEDDLE_RELOCK` where this thread reads or writes already. Nothing has changed then. */
  begin(): Next {
    this.#since = undefined;
    const inside = this.tryEnter();
    if (inside) return inside;
    const waiting = this.#wait();
    return waiting.done ? waiting : (this.#spin() ?? waiting);
  }

  /** In, or out again with nothing left behind but {@link WAITING}. Undefined where a writer is to be seen. */
  tryEnter(): Next | undefined {
    if (!this.#lines.change(this.#own, 0, this.#token | READING)) throw relockError('rwlock', this.#asTask);
    return this.#lookForWriter();
  }

  /** Takes the word back, whatever a writer makes of it meanwhile. */
  retreat(): void {
    let found = this.#lines.load(this.#own);
    while (found !== 0 && !this.#lines.change(this.#own, found, 0)) found = this.#lines.load(this.#own);
    if (found & READING) this.#lines.notify(this.#own);
  }

  onWake(): Next {
    const found = this.#lines.load(this.#own);
    if (found & READING) return this.#admitted();
    if (found & LOOKING) {
      this.#lines.change(this.#own, found, this.#token | READING);
      return this.#lookForWriter() ?? this.#wait();
    }
    return this.#wait();
  }

  onTimeout(): Next {
    if (!this.#asTask && !this.#lines.change(this.#own, this.#token | WAITING, 0)) return this.#admitted();
    if (this.#asTask) this.retreat();
    return GAVE_UP;
  }

  onAbort(): void {
    this.retreat();
  }

  /** As one who reads: in, where there is no writer; where there is one, it waits for this word or will not come. */
  #lookForWriter(): Next | undefined {
    const writing = this.#lines.writing.load();
    if (writing & POISONED) this.#refuse(poisonedError('rwlock'));
    const writer = writing & OWNER_MASK;
    if (writer === 0) {
      if (!this.#asTask && this.#lines.load(this.#other) & READING) this.#refuse(relockError('rwlock', true));
      return ended(writing & OWNER_DIED ? 'owner-died' : 'acquired');
    }
    if (writer === this.#token && !this.#asTask) this.#refuse(relockError('rwlock', false));
    return undefined;
  }

  /** Goes from reading to waiting, or back where the writer has left meanwhile. */
  #wait(): Next {
    const reading = this.#token | READING;
    const waiting = this.#token | WAITING;
    for (;;) {
      if (this.#lines.change(this.#own, reading, waiting)) this.#lines.notify(this.#own);
      if ((this.#lines.writing.load() & OWNER_MASK) !== 0) {
        // That writer may be waiting for a task of this thread, which could not go on while the thread sleeps.
        const byTask = !this.#asTask && (this.#lines.load(this.#other) & READING) !== 0;
        if (byTask) this.#refuse(relockError('rwlock', true));
        if (this.#asTask && this.#hasWaitedLong()) this.#lines.askForCourtesy();
        return this.#lines.writing.sleep(this.#own, waiting);
      }
      if (!this.#lines.change(this.#own, waiting, reading)) {
        if (!this.#asTask) return this.#admitted();
        this.#lines.change(this.#own, this.#token | LOOKING, reading);
      }
      const inside = this.#lookForWriter();
      if (inside) return inside;
    }
  }

  #hasWaitedLong(): boolean {
    const now = this.#lines.platform.now();
    this.#since ??= now;
    return now - this.#since >= PATIENCE_MS;
  }

  /** Looks for a moment whether the writer lets it in. A hint: what follows looks again. */
  #spin(): Next | undefined {
    if (this.#asTask) return undefined;
    const budget = this.#spins.next;
    let looks = 0;
    while (looks < budget && this.#lines.load(this.#own) & WAITING) {
      this.#lines.platform.pause();
      looks++;
    }
    this.#spins.note(looks);
    return looks < budget ? this.onWake() : undefined;
  }

  #admitted(): Next {
    const writing = this.#lines.writing.load();
    if (writing & POISONED) this.#refuse(poisonedError('rwlock'));
    return ended(writing & OWNER_DIED ? 'owner-died' : 'acquired');
  }

  #refuse(error: Error): never {
    this.retreat();
    throw error;
  }
}
