import { parentPort, workerData } from 'node:worker_threads';
import { type AtomicsLike, realPlatform, Segment, type SegmentHandle } from '@heddle/memory';
import { Context } from './context.js';
import type { ContextOptions } from './context-options.js';

export interface MakerData {
  readonly handle: SegmentHandle;
  readonly options: ContextOptions;
  /** After so many Atomics calls this thread ends. */
  readonly calls: number;
}

/** A platform whose Atomics end this thread at the call after so many. @param end what they do instead of that call. */
export function endingAfter(calls: number, end: () => void) {
  let left = Infinity;
  const atomics = new Proxy(realPlatform.atomics, {
    get(target, name) {
      const real = target[name as keyof AtomicsLike] as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (left-- <= 0) end();
        return real.apply(target, args);
      };
    },
  });
  return {
    platform: { ...realPlatform, atomics },
    /** From now on they count. */
    begin: () => {
      left = calls;
    },
    get left() {
      return left;
    },
  };
}

/** Makes a context, and dies half way. */
if (parentPort && workerData?.options) {
  const { handle, options, calls } = workerData as MakerData;
  const { platform, begin } = endingAfter(calls, () => process.exit(0));
  const segment = Segment.attach(handle, { platform });
  begin();
  Context.create({ ...options, segment });
}
