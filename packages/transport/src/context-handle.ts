import type { SegmentHandle } from '@heddle/memory';

/** What another thread attaches with: plain and cloneable, for `workerData` or a message. Never transfer it. */
export interface ContextHandle {
  readonly heddle: 'context';
  readonly segment: SegmentHandle;
  readonly name: string;
}

/** @throws TypeError where it is none. */
export function assertContextHandle(handle: unknown): asserts handle is ContextHandle {
  if (typeof handle === 'object' && (handle as ContextHandle | null)?.heddle === 'context') return;
  throw new TypeError(
    'Context.attach takes what context.handle gave; context.spawn passes it as workerData.heddle',
  );
}
