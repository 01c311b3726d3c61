export { whenAborted } from './abort-listeners.js';
export { ALONE_NAME, type Alone, aloneSegment } from './alone-segment.js';
export type { WaitAsyncOptions } from './async-wait.js';
export { runAsync } from './async-wait.js';
export { copyBytes } from './copy-bytes.js';
export type { StructureInfo, StructureOptions } from './directory.js';
export { ERROR_CODES, type ErrorCode, HeddleError, isStall } from './errors.js';
export type { Lifeline } from './janitor-link.js';
export { type Kind, type RecoveryContext, registerKind } from './kind.js';
export {
  defineLayout,
  type FieldDeclaration,
  field,
  type Layout,
  LINE_BYTES,
  type PlacedField,
  roundUp,
  WORD_BYTES,
} from './layout.js';
export { assertMayBlock, parkWhile, runBlocking } from './park.js';
export {
  type AtomicsLike,
  type Platform,
  realPlatform,
  type WaitAsyncResult,
  type WaitResult,
} from './platform.js';
export type { RecoveryReport } from './recovery.js';
export {
  type AttachOptions,
  DEFAULT_SEGMENT_BYTES,
  Segment,
  type SegmentHandle,
  type SegmentOptions,
  type ThreadIdentity,
  type WatchableWorker,
} from './segment.js';
export type { Geometry } from './segment.layout.js';
export type { Range, SpaceUsage } from './space.js';
export type { Step, Steps } from './steps.js';
export { isSharedArrayBuffer, type Support, support } from './support.js';
export { idOf, type ThreadInfo } from './thread-table.js';
export { MAX_THREADS } from './thread-table.layout.js';
export { type Deadline, deadlineAfter, timeoutOf } from './timeout.js';
export { assertSpins, DEFAULT_SPINS, Waiter, type WaitOptions } from './waiter.js';
