import { registerKind, type Segment, type StructureInfo } from '@heddle/memory';
import { IdBits } from './id-bits.js';
import { type IsAlive, Latch } from './latch.js';
import { mpoolLayout } from './mpool.layout.js';
import { gateLayout } from './pool-users.layout.js';
import type { PoolWords } from './pool-words.js';

const { users, released } = mpoolLayout.offsets;
const GATE_NAME = 'mpool gate';

/** The words of a pool, of which nothing was read yet, and the thread that wants to. */
type User = Pick<PoolWords, 'words' | 'platform'> & { readonly me: Pick<PoolWords['me'], 'id'> };

/** Where a pool's tables stand, and how they go. */
interface Tables {
  /** Whether they are there still. */
  isThere(): boolean;
  /** Gives them back, and the name. The gate is held. */
  remove(): void;
}

/**
 * Who uses a pool: so that the tables of a closed one go back to the segment when nobody can touch them any more, and
 * not before.
 *
 * **Layout**: a bit for each id of a thread, in the header of the pool; and a latch for all pools of a segment, in a
 * structure of its own, the gate. That one is never removed, so that it can be taken before it is known whether a pool
 * is still there.
 *
 * **Invariant**: a thread touches the tables only while its bit is set. Bits change, and tables go, only under the gate.
 *
 * **States** of a pool: open → closed: some thread has closed it → released: closed, and the memory of its elements was
 * given back → removed: released, and no bit was set.
 *
 * **Death** of a user leaves its bit, which recovery clears; of the holder of the gate, the gate, which the next one
 * takes over: each step of what it guards can be repeated.
 *
 * **Cost**, in Atomics calls: `enter` and `leave` 3 and some loads. Slow paths.
 *
 * **When not to use it**: on a path that is used more than once or twice by a thread.
 */
export class PoolUsers {
  readonly #pool: User;
  readonly #gate: Latch;
  readonly #tables: Tables;
  readonly #bits: IdBits;

  constructor(pool: User, gate: Latch, tables: Tables) {
    this.#pool = pool;
    this.#gate = gate;
    this.#tables = tables;
    this.#bits = new IdBits(pool, users);
  }

  /** Makes this thread a user. False where the pool was removed: nothing of it may be touched. Can be repeated. */
  enter(): boolean {
    return this.#underGate(() => {
      if (!this.#tables.isThere()) return false;
      this.#bits.add(this.#pool.me.id);
      return true;
    });
  }

  /** This thread will touch the pool no more. The last one out of a released pool removes it. */
  leave(): void {
    this.#underGate(() => {
      this.clear(this.#pool.me.id);
      const { atomics } = this.#pool.platform;
      if (atomics.load(this.#pool.words, released) !== 0 && this.ids().length === 0) this.#tables.remove();
    });
  }

  /** Takes a dead thread out. Only for a user. */
  clear(id: number): void {
    this.#bits.delete(id);
  }

  /** Ids of the threads that use the pool. Only for a user, or under the gate. */
  ids(): number[] {
    return this.#bits.ids();
  }

  #underGate<Result>(action: () => Result): Result {
    this.#gate.acquire(nothing);
    try {
      return action();
    } finally {
      this.#gate.release();
    }
  }
}

const nothing = () => {};

/** What a thread needs to become a user of a pool that it has found in the directory. */
export function usersOf(segment: Segment, info: StructureInfo): PoolUsers {
  const words = segment.wordsAt(info.byteOffset, info.byteLength);
  const user = { words, platform: segment.platform, me: segment.thread };
  return new PoolUsers(user, gateAt(segment, segment.directory.open(GATE_NAME, gateLayout)), {
    isThere: () => segment.space.isLive(info.range),
    remove: () => segment.directory.remove(info, segment.thread.id),
  });
}

/** Makes the gate of a segment, where it has none. @throws as `segment.openOrCreateStructure` does. */
export function makeGate(segment: Segment): void {
  const { byteLength } = gateLayout;
  segment.openOrCreateStructure({ name: GATE_NAME, layout: gateLayout, byteLength });
}

function gateAt(segment: Segment, { byteOffset, byteLength }: StructureInfo): Latch {
  const isAlive: IsAlive = (token) => segment.isAlive(token);
  const words = segment.wordsAt(byteOffset, byteLength);
  return new Latch(words, gateLayout.offsets.latch, segment.thread.token, isAlive, segment.platform);
}

registerKind({
  layout: gateLayout,
  module: import.meta.url,
  recover: ({ segment, info, dead }) => gateAt(segment, info).recover(dead.token, nothing),
});
