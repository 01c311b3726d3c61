import type { Directory, StructureInfo } from './directory.js';
import { isStall } from './errors.js';
import { idOf, type ThreadTable } from './thread-table.js';

/** A thread that is gone, as owner words name it. */
export interface DeadThread {
  readonly id: number;
  readonly token: number;
}

/** What recovery runs for one structure and one dead thread. */
export type RecoveryStep = (info: StructureInfo, dead: DeadThread) => void;

export interface RecoveryReport {
  /** Unique numbers of the threads whose rows this call freed. */
  readonly recovered: readonly number[];
  /** Kinds that this thread has no code for, so that a row had to be left to others. Import their packages. */
  readonly unknownKinds: readonly string[];
  /**
   * Whether others may get further now: a row was left to them with some of its structures done, or a row was in
   * the hands of a thread that may not know every kind.
   */
  readonly othersMayContinue: boolean;
  /**
   * Whether a row was left because some thread has a structure and does not move: it may be dead, and nobody has noticed
   * yet. Try again soon.
   */
  readonly stalled: boolean;
}

/**
 * Takes back what dead threads held, structure by structure, and frees their rows.
 *
 * Any thread may run it, and several at once: a row is recovered by the one that claims it. A recoverer that
 * dies is recovered like anyone else, and the row that it had claimed with it. Where a structure's code is not
 * loaded in this thread all others are still done, and the row stays dead, with a count of the structures that
 * need no second look, for the next who comes.
 *
 * **Cost**: a slow path; for each dead row one pass over the directory.
 */
export class Recovery {
  readonly #table: ThreadTable;
  readonly #directory: Directory;
  readonly #stepFor: (kind: string) => RecoveryStep | undefined;

  constructor(table: ThreadTable, directory: Directory, stepFor: (kind: string) => RecoveryStep | undefined) {
    this.#table = table;
    this.#directory = directory;
    this.#stepFor = stepFor;
  }

  /**
   * Recovers every dead row that nobody else is recovering.
   *
   * @throws what the step of a structure threw, after everything else is done; the row stays dead. Not where it was
   *   `ERR_HEDDLE_STALLED` or `ERR_HEDDLE_MUST_NOT_BLOCK`: that is left for later.
   */
  run(byToken: number): RecoveryReport {
    const recovered: number[] = [];
    const unknownKinds = new Set<string>();
    const failures: unknown[] = [];
    let othersMayContinue = false;
    let stalled = false;
    let again = true;
    while (again) {
      again = false;
      for (const id of this.#table.dead()) {
        const claim = this.#table.claimRecovery(id, byToken);
        if (claim === 'moved') again = true;
        if (claim === 'busy') othersMayContinue = true;
        if (typeof claim === 'string') continue;
        const before = this.#table.scannedSlots(id);
        const scan = this.#scan(id);
        for (const failure of scan.failures) {
          if (isStall(failure)) stalled = true;
          else failures.push(failure);
        }
        if (scan.complete) {
          this.#directory.settle(id);
          this.#table.finishRecovery(id, claim, byToken);
          recovered.push(claim);
          again = true;
        } else {
          for (const kind of scan.unknownKinds) unknownKinds.add(kind);
          if (this.#table.scannedSlots(id) > before) othersMayContinue = true;
          this.#table.releaseRecovery(id, byToken);
        }
      }
    }
    if (failures.length > 0) throw failures[0];
    return { recovered, unknownKinds: [...unknownKinds], othersMayContinue, stalled };
  }

  /**
   * Takes the calling thread itself out: what it still holds is treated like that of a dead one. A kind that it
   * has no code for cannot have anything of it.
   */
  leave(token: number, uniqueNumber: number): void {
    const id = idOf(token);
    this.#table.beginLeaving(id);
    const { failures } = this.#scan(id);
    if (failures.length > 0) throw failures[0];
    this.#directory.settle(id);
    this.#table.finishLeaving(id, uniqueNumber);
  }

  #scan(id: number): { complete: boolean; unknownKinds: string[]; failures: unknown[] } {
    const dead = { id, token: this.#table.tokenOf(id) };
    const unknownKinds: string[] = [];
    const failures: unknown[] = [];
    let complete = true;
    this.#directory.withdraw(id);
    for (let slot = this.#table.scannedSlots(id); slot < this.#directory.capacity; slot++) {
      const info = this.#directory.at(slot);
      if (!info) continue;
      const step = this.#stepFor(info.kind);
      if (!step) unknownKinds.push(info.kind);
      try {
        step?.(info, dead);
      } catch (error) {
        failures.push(error);
      }
      complete = unknownKinds.length === 0 && failures.length === 0;
      if (complete) this.#table.noteScanned(id, slot + 1);
    }
    return { complete, unknownKinds, failures };
  }
}
