export { type ErrorCode, HeddleError, Segment } from '@heddle/memory';
export type { Audit, Holding } from './audit.js';
export type { Closed, MpoolCloseOptions } from './close-options.js';
export type { Counters, PoolCounters } from './counters.js';
export type { Damage, DamageKind } from './damage-log.js';
export type { LateRefusal } from './late-refusals.js';
export type { LeaseState } from './lease.js';
export { Lease } from './lease-object.js';
export {
  type AloneOptions,
  type GetAsyncOptions,
  type GetOptions,
  Mpool,
  type MpoolHandle,
} from './mpool.js';
export { MpoolSet, type MpoolSetHandle, type MpoolSetOptions } from './mpool-set.js';
export type { PolicyName } from './policy.js';
export type { MpoolOptions, PoolLock } from './pool-options.js';
export type { SlotHooks } from './slot-hooks.js';
