import type { Directory, StructureInfo } from './directory.js';
import { idOf, type ThreadTable } from './thread-table.js';

/** What recovery runs for one structure and one dead thread. */
export type RecoveryStep = (
  info: StructureInfo,
  dead: { readonly id: number; readonly token: number },
) => void;

export interface RecoveryReport {
  /** Unique numbers of the threads whose rows are free again. */
  readonly recovered: readonly number[];
  /** Kinds that this thread has no code for, so that a row had to be left to others. Import their packages. */
  readonly unknownKinds: readonly string[];
}

/**
 * Takes back what dead threads held, structure by structure, and frees their rows.
 *
 * Any thread may run it, and several at once: a row is recovered by the one that claims it. A recoverer that
 * dies is recovered like anyone else, and its unfinished row with it. Where a structure's code is not loaded in
 * this thread the row stays dead, with a count of what is done, for the next who comes.
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

  /** Recovers every dead row that nobody else is recovering. */
  run(byToken: number): RecoveryReport {
    const recovered: number[] = [];
    const unknownKinds = new Set<string>();
    let again = true;
    while (again) {
      again = false;
      for (const id of this.#table.dead()) {
        const number = this.#table.claimRecovery(id, byToken);
        if (number === -1) again = true;
        if (number <= 0) continue;
        // A row that this thread was about to free when it died.
        const unfinished = this.#table.recoveringOf(id);
        if (unfinished !== 0 && this.#table.markDead(unfinished) !== 0) again = true;
        const unknown = this.#scan(id);
        if (unknown === undefined) {
          this.#directory.settle(id);
          this.#table.finishRecovery(id, number, byToken);
          recovered.push(number);
        } else {
          unknownKinds.add(unknown);
          this.#table.releaseRecovery(id, byToken);
        }
      }
    }
    return { recovered, unknownKinds: [...unknownKinds] };
  }

  /**
   * Takes the calling thread itself out: what it still holds is treated like that of a dead one. A kind that it
   * has no code for cannot have anything of it.
   */
  leave(token: number): void {
    const id = idOf(token);
    if (!this.#table.markLeaving(id)) return;
    const number = this.#table.claimRecovery(id, token);
    if (number <= 0) return;
    this.#scan(id, { skipUnknown: true });
    this.#directory.settle(id);
    this.#table.finishRecovery(id, number, token);
  }

  /** @returns the first kind without code here, undefined when every structure is done. */
  #scan(id: number, { skipUnknown = false } = {}): string | undefined {
    const dead = { id, token: this.#table.tokenOf(id) };
    for (let slot = this.#table.scannedSlots(id); slot < this.#directory.capacity; slot++) {
      const info = this.#directory.at(slot);
      if (!info) continue;
      const step = this.#stepFor(info.kind);
      if (!step && !skipUnknown) return info.kind;
      step?.(info, dead);
      this.#table.noteScanned(id, slot + 1);
    }
    return undefined;
  }
}
