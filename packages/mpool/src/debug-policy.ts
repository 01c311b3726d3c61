import { HeddleError } from '@heddle/memory';
import { placeOfCall, readPlace, writePlace } from './call-place.js';
import { type Damage, type DamageKind, noteDamage } from './damage-log.js';
import { NONE } from './descriptor.js';
import { ExactPolicy } from './exact-policy.js';
import type { WatchedElements } from './guarded-elements.js';
import { takeOver } from './hand-over.js';
import { idOfLease, isHeldIn } from './lease.js';
import { NOTE_PLACE } from './mpool.layout.js';
import type { Policy } from './policy.js';
import type { PoolWords } from './pool-words.js';
import { isPutIn, markOf, putMark } from './put-mark.js';
import { noteGotAt } from './slot-times.js';

/** What debug mode needs besides the pool's words. */
export interface DebugParts {
  readonly poolName: string;
  readonly elements: WatchedElements;
  /** Prepares an element again that was put, and so overwritten. */
  readonly prepare?: (slot: number) => void;
}

/**
 * Finds out misuse of memory: writing beside an element is seen when it is put, writing to one that was put when it is
 * got again. Both are thrown where they are found, with who did it and where, and logged for all threads.
 *
 * **Ownership**: where another thread got the element, its putter takes the lease over before it overwrites anything,
 * so that no recovery gives the element to somebody else meanwhile.
 *
 * **Death** in a put before the policy within has it leaves an element that its putter holds, with its mark: recovery
 * takes the mark back, so that nobody takes half a poisoning for damage.
 *
 * **Cost**, in Atomics calls, more than the policy within: `take` 1 load; `give` 1 load and 1 CAS, and 1 load and 1 CAS
 * where another thread got it. And time in proportion to the size of an element.
 *
 * **When not to use it**: where speed matters.
 */
export class DebugPolicy extends ExactPolicy {
  readonly #parts: DebugParts;
  /** Of each slot that this thread got: in which generation, and from where. */
  readonly #stacks = new Map<number, { readonly descriptor: number; readonly stack: string }>();

  constructor(inner: Policy, pool: PoolWords, parts: DebugParts) {
    super(inner, pool);
    this.#parts = parts;
  }

  override take(): number {
    const descriptor = this.inner.take();
    if (descriptor === NONE) return NONE;
    const { format, platform, words } = this.pool;
    const slot = format.slotOf(descriptor);
    const mark = platform.atomics.load(words, markOf(this.pool, slot));
    if (isPutIn(mark, format.before(format.generationOf(descriptor)))) {
      if (!this.#parts.elements.isPoisoned(slot)) this.#giveBackDamaged(descriptor, idOfLease(mark));
      this.#prepare(descriptor, slot);
    }
    noteGotAt(this.pool, slot);
    this.#stacks.set(slot, { descriptor, stack: this.#notePlace(slot) });
    return descriptor;
  }

  /** Where this thread got a descriptor, undefined where it did not. */
  stackOf(descriptor: number): string | undefined {
    const known = this.#stacks.get(this.pool.format.slotOf(descriptor));
    return known?.descriptor === descriptor ? known.stack : undefined;
  }

  protected override giveMarked(descriptor: number): boolean {
    const slot = this.pool.format.slotOf(descriptor);
    const holder = this.#takeOver(slot, this.pool.format.generationOf(descriptor));
    if (holder === 0) return false;
    const kind = this.#parts.elements.damage(slot);
    const gotAt = this.#placeNote(slot);
    this.#wipe(slot);
    this.#stacks.delete(slot);
    if (!this.inner.give(descriptor)) return false;
    if (kind) this.#throwDamage({ descriptor, kind, threadId: holder }, `which got it at ${gotAt}`);
    return true;
  }

  /** Makes this thread the holder of what is held. Returns who was; 0 where the slot came back meanwhile. */
  #takeOver(slot: number, generation: number): number {
    const { me } = this.pool;
    const lease = this.pool.lease(slot);
    const holder = idOfLease(lease);
    if (!isHeldIn(lease, generation)) return 0;
    return holder === me.id || takeOver(this.pool, slot, lease) ? holder : 0;
  }

  /** Where that throws, nobody knows the descriptor: it goes back. */
  #prepare(descriptor: number, slot: number): void {
    try {
      this.#parts.prepare?.(slot);
    } catch (error) {
      this.#giveBack(descriptor, slot);
      throw error;
    }
  }

  #giveBack(descriptor: number, slot: number): void {
    const { format, me, platform, words } = this.pool;
    this.#wipe(slot);
    platform.atomics.store(words, markOf(this.pool, slot), putMark(format.generationOf(descriptor), me.id));
    this.inner.give(descriptor);
  }

  /** What is got here was written after it was put: it goes back, clean, and who got it is told. */
  #giveBackDamaged(descriptor: number, threadId: number): never {
    const slot = this.pool.format.slotOf(descriptor);
    const putAt = this.#placeNote(slot);
    this.#giveBack(descriptor, slot);
    return this.#throwDamage({ descriptor, kind: 'used after put', threadId }, `which put it at ${putAt}`);
  }

  /** Overwrites an element, and notes that it was put from here. */
  #wipe(slot: number): void {
    this.#parts.elements.poison(slot);
    this.#notePlace(slot);
  }

  /** Returns the stack. */
  #notePlace(slot: number): string {
    const { place, stack } = placeOfCall();
    if (this.pool.shape.noteWords > NOTE_PLACE) {
      writePlace(this.pool.words, this.pool.noteOf(slot) + NOTE_PLACE, place);
    }
    return stack;
  }

  #placeNote(slot: number): string {
    return readPlace(this.pool.words, this.pool.noteOf(slot) + NOTE_PLACE) || 'an unknown place';
  }

  #throwDamage(found: Omit<Damage, 'foundBy'>, where: string): never {
    const { poolName } = this.#parts;
    const damage = { ...found, foundBy: this.pool.me.id };
    noteDamage(this.pool, damage);
    throw new HeddleError(
      'ERR_HEDDLE_DAMAGED',
      `${WHAT_HAPPENED[found.kind]} descriptor ${found.descriptor} of pool "${poolName}": thread ${found.threadId}, ${where}. The element is free again; find who writes to it`,
      { pool: poolName, ...damage, where },
    );
  }
}

const WHAT_HAPPENED: Record<DamageKind, string> = {
  overrun: 'Bytes behind the element were written, of',
  underrun: 'Bytes before the element were written, of',
  'used after put': 'The element was written after it was put, before it was got as',
};
