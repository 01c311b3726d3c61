import { elementTypes } from './element-types.js';
import { isPlain, LOAD, NOTIFY, type Operation, READ, READ_RANGE, WAIT, WAIT_EVENT } from './operation.js';

/** Most roles for which it is noted who accesses what: one bit each. */
const MAX_ROLES = 31;

/**
 * Which roles access which words, as far as it has been seen.
 *
 * An operation on a word that no other role accesses (or, for a load, that no other writes) cannot be told apart by
 * the other threads, so it need not be interleaved with what they do. That rests on what has been seen so far: a
 * search that relied on it and then sees another role at the word starts over. One that ends without has relied on
 * what is true of every schedule: the first access that broke it would have been reached, since everything before it
 * was explored up to the order of operations that commute.
 *
 * A thread and the recovery after its death never run at once, and count as one.
 */
export class AccessFacts {
  /** Bits of roles, by word. */
  readonly #readers: Int32Array;
  readonly #writers: Int32Array;
  /** Roles that never run while the role does, itself included, as bits. */
  readonly #exclusive: readonly number[];
  /** 1 for words of which a search has relied on who accesses them. */
  readonly #reliedOn: Uint8Array;

  constructor(wordCount: number, threadCount: number, roleCount: number) {
    this.#readers = new Int32Array(wordCount);
    this.#writers = new Int32Array(wordCount);
    this.#reliedOn = new Uint8Array(wordCount);
    this.#exclusive = Array.from({ length: roleCount }, (_, role) => {
      const thread = role % threadCount;
      let bits = (1 << role) | (1 << thread);
      // While a thread lives, none of its recoveries runs; while one recovery runs, another one may.
      if (role < threadCount)
        for (let other = role; other < roleCount; other += threadCount) bits |= 1 << other;
      return bits;
    });
  }

  /** A search begins: it has relied on nothing yet. */
  restart(): void {
    this.#reliedOn.fill(0);
  }

  /** Notes an operation of a role. Returns whether that breaks what the present search relied on. */
  learn(role: number, operation: Operation): boolean {
    if (operation.address < 0 || operation.kind === NOTIFY || this.#exclusive.length > MAX_ROLES)
      return false;
    const masks = reads(operation) ? this.#readers : this.#writers;
    const bit = 1 << role;
    let broken = false;
    for (let word = operation.address >>> 2; word <= lastWord(operation); word++) {
      if ((masks[word]! & bit) !== 0) continue;
      masks[word] = masks[word]! | bit;
      if (this.#reliedOn[word] === 1) broken = true;
    }
    return broken;
  }

  /** Whether no other thread can see the operation of this role; notes that the search relies on it. */
  isPrivate(role: number, operation: Operation): boolean {
    if (this.#exclusive.length > MAX_ROLES) return false;
    const others = ~this.#exclusive[role]!;
    const readsOnly = reads(operation);
    const last = lastWord(operation);
    for (let word = operation.address >>> 2; word <= last; word++) {
      const seen = readsOnly ? this.#writers[word]! : this.#writers[word]! | this.#readers[word]!;
      if ((seen & others) !== 0) return false;
    }
    for (let word = operation.address >>> 2; word <= last; word++) this.#reliedOn[word] = 1;
    return true;
  }
}

function reads({ kind }: Operation): boolean {
  return kind === LOAD || kind === READ || kind === READ_RANGE || kind === WAIT || kind === WAIT_EVENT;
}

function lastWord(operation: Operation): number {
  return (operation.address + operation.count * elementTypes[operation.type]!.bytes - 1) >>> 2;
}

/** Whether an operation is one on memory that can be private: an access, not a wait or a notify. */
export function isAccess(operation: Operation): boolean {
  return isPlain(operation) || operation.kind < WAIT;
}
