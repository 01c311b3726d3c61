import type { Policy } from './policy.js';

/** A policy around another one: what it does not change goes through. */
export class PolicyLayer implements Policy {
  protected readonly inner: Policy;

  constructor(inner: Policy) {
    this.inner = inner;
  }

  take(): number {
    return this.inner.take();
  }

  give(descriptor: number): boolean {
    return this.inner.give(descriptor);
  }

  hasPut(descriptor: number): boolean {
    return this.inner.hasPut(descriptor);
  }

  assertMayUse(token?: number): void {
    this.inner.assertMayUse(token);
  }

  flush(): void {
    this.inner.flush();
  }

  empty(): void {
    this.inner.empty();
  }

  countWait(): void {
    this.inner.countWait?.();
  }
}
