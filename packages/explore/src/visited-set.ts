/**
 * The states that a search has seen, as 64-bit hashes in an open-addressed table: 8 bytes a slot, at most three
 * quarters full.
 *
 * Two different states with one hash would count as one. Among N states that happens with a chance of about
 * N² / 2^65: one in four million for three million states.
 */
export class VisitedSet {
  #table = new Int32Array(2 << 12);
  #mask = (1 << 12) - 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds a state; false where it was there already. */
  add(hashA: number, hashB: number): boolean {
    // The pair (0, 0) marks an empty slot.
    const b = hashA === 0 && hashB === 0 ? 1 : hashB;
    if (this.#size * 4 > this.#mask * 3) this.#grow();
    const added = insert(this.#table, this.#mask, hashA, b);
    if (added) this.#size++;
    return added;
  }

  #grow(): void {
    const old = this.#table;
    const mask = this.#mask * 2 + 1;
    const table = new Int32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 2) {
      if (old[at] !== 0 || old[at + 1] !== 0) insert(table, mask, old[at]!, old[at + 1]!);
    }
    this.#table = table;
    this.#mask = mask;
  }
}

function insert(table: Int32Array, mask: number, a: number, b: number): boolean {
  let slot = (a ^ Math.imul(b, 0x9e3779b1)) & mask;
  for (;;) {
    const at = slot * 2;
    const first = table[at]!;
    const second = table[at + 1]!;
    if (first === 0 && second === 0) {
      table[at] = a;
      table[at + 1] = b;
      return true;
    }
    if (first === a && second === b) return false;
    slot = (slot + 1) & mask;
  }
}
