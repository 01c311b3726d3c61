/** What happens now and then, counted in private memory. */
export interface SlowCounts {
  /** Batches of puts that were sent off. */
  batches: number;
  /** Times that slots were had from another thread's list. */
  steals: number;
  /** Times that a getter slept. */
  waits: number;
}

/** Who may put a descriptor, and how slots travel between threads. */
export interface Policy {
  /**
   * Leases a slot to this thread.
   *
   * @returns its descriptor, or `NONE` where there is none.
   */
  take(): number;
  /**
   * Takes a descriptor back.
   *
   * @param descriptor any number: whether it is one is found out here.
   * @returns false where it is refused. Nothing has changed then.
   */
  give(descriptor: number): boolean;
  /** Whether this thread has put it already, where nobody else can know yet. */
  hasPut(descriptor: number): boolean;
  /** @throws HeddleError `ERR_HEDDLE_WRONG_THREAD` where this thread, or that of a token, may not use the pool. */
  assertMayUse(token?: number): void;
  /** Sends off what this thread holds back, so that every thread can get it. */
  flush(): void;
  /** {@link flush}, and what only this thread could get: before the pool shrinks or closes. */
  empty(): void;
  /** Counts from now on what it does on its slow path. Absent where it has nothing to count. */
  countSlow?(counts: SlowCounts): void;
  /** Is told that a getter is about to sleep. Absent where nobody counts. */
  countWait?(): void;
  /** Where this thread got a descriptor, as far as it noted that. Absent but in debug mode. */
  stackOf?(descriptor: number): string | undefined;
}

/**
 * Policies, by their numbers in the pool's header:
 *
 * | policy       | who may get and put         | how                                                          |
 * |--------------|-----------------------------|--------------------------------------------------------------|
 * | `sharded`    | any thread, at any time     | a list for each thread, and a magazine before it             |
 * | `locked`     | any thread, at any time     | one list, under a lock of choice                             |
 * | `serialized` | any thread, one at a time   | one list; two at a time are an error                         |
 * | `owner`      | the thread that made it     | a private stack, no Atomics; a put elsewhere is an error     |
 * | `unsafe`     | the thread that made it     | one list, and nothing finds out who else does                |
 */
export const POLICIES = ['sharded', 'locked', 'serialized', 'owner', 'unsafe'] as const;

export type PolicyName = (typeof POLICIES)[number];

/** Whether something guards its list, so that several threads may use it. */
export function isGuarded(policy: PolicyName | undefined): boolean {
  return policy !== 'owner' && policy !== 'unsafe';
}
