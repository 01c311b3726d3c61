import { expectTypeOf } from 'vitest';
import {
  type Audit,
  type Closed,
  Mpool,
  type MpoolHandle,
  type PoolCounters,
  type Segment,
} from './index.js';

declare const segment: Segment;
const pool = Mpool.create(segment, { name: 'p', elemSize: 64 });

// A descriptor is a number; only the form that never waits may have none.
expectTypeOf(Mpool.create({ elemSize: 64 })).toEqualTypeOf<Mpool>();
expectTypeOf(pool.tryGet()).toEqualTypeOf<number | null>();
expectTypeOf(pool.get()).toBeNumber();
expectTypeOf(pool.getAsync()).resolves.toBeNumber();
expectTypeOf(pool.bytes(1)).toEqualTypeOf<Uint8Array<SharedArrayBuffer>>();
expectTypeOf(pool.audit()).toEqualTypeOf<Audit>();
expectTypeOf(pool.handle).toEqualTypeOf<MpoolHandle>();
expectTypeOf(pool.close({ wait: 10 }).usedBy).toEqualTypeOf<readonly number[]>();
expectTypeOf(pool.closeAsync()).resolves.toEqualTypeOf<Closed>();
expectTypeOf(pool.counters()).toEqualTypeOf<PoolCounters | undefined>();
// @ts-expect-error: no such check
Mpool.create({ elemSize: 64, checked: 'never' });
// @ts-expect-error: a descriptor that may be null is looked at first
pool.put(pool.tryGet());
// @ts-expect-error: a pool is created, opened or had from a handle
new Mpool();
// @ts-expect-error: no size
Mpool.create(segment, { name: 'p' });
// @ts-expect-error: no such policy
Mpool.create(segment, { name: 'p', elemSize: 64, policy: 'fast' });
