import type { Steps } from '@heddle/memory';
import type { Lock, LockOutcome } from './lock.js';
import type { LockOrder } from './lock-order.js';

/** Frames of the stack that belong to the locks themselves. */
const OWN_FRAMES = /\/(ordered-lock|exclusive-lock|lock-counters|condition)\.[jt]s/;

/** A lock whose blocking calls are checked against the order in which others took it; see {@link LockOrder}. */
export class OrderedLock implements Lock {
  readonly kind: string;
  readonly #inner: Lock;
  readonly #order: LockOrder;
  readonly #id: number;

  /** @param id slot of the lock in the directory, plus 1. */
  constructor(inner: Lock, order: LockOrder, id: number) {
    this.kind = inner.kind;
    this.#inner = inner;
    this.#order = order;
    this.#id = id;
  }

  lock(timeoutMs?: number): LockOutcome {
    const place = callerPlace();
    this.#order.check(this.#id, place);
    const outcome = this.#inner.lock(timeoutMs);
    this.#order.got(this.#id, place);
    return outcome;
  }

  /** Not checked: what does not wait does not wait for ever. */
  tryLock(): LockOutcome | null {
    const outcome = this.#inner.tryLock();
    if (outcome !== null) this.#order.got(this.#id, callerPlace());
    return outcome;
  }

  unlock(): void {
    this.#inner.unlock();
    this.#order.released(this.#id);
  }

  markConsistent(): void {
    this.#inner.markConsistent();
  }

  taskSteps(): Steps<LockOutcome | null> {
    return this.#inner.taskSteps();
  }

  unlockTask(): void {
    this.#inner.unlockTask();
  }

  owner(): number {
    return this.#inner.owner();
  }

  recover(deadToken: number): void {
    this.#inner.recover(deadToken);
  }
}

/** Where the lock was asked for, as the stack tells it. */
function callerPlace(): string {
  const frames = new Error().stack?.split('\n').slice(1) ?? [];
  const frame = frames.find((line) => !OWN_FRAMES.test(line)) ?? '';
  return frame.replace(/^\s*at\s*/, '').trim() || 'an unknown place';
}
