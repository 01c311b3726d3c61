import { copyBytes } from '@heddle/memory';
import type { DrivingWorkload, ThreadContext } from '../../core/workload.js';

/**
 * Copies between private and shared memory, with `Uint8Array.prototype.set` and with `copyBytes`.
 *
 * Both buffers start at a multiple of 8, so the offsets alone decide whether source and target are congruent
 * modulo 8: where they are, `set` copies whole words of 8 bytes.
 */

interface CopyParameters {
  readonly byteLength: number;
  readonly sourceOffset: number;
  readonly targetOffset: number;
}

/** The largest offset that a copy is tried at. */
const SLACK_BYTES = 8;

type Copy = (target: Uint8Array, source: Uint8Array) => void;

function copying(
  context: ThreadContext,
  Source: ByteBuffer,
  Target: ByteBuffer,
  copy: Copy = (target, source) => target.set(source),
): DrivingWorkload {
  const { byteLength, sourceOffset, targetOffset } = context.parameters as unknown as CopyParameters;
  const source = new Uint8Array(new Source(byteLength + SLACK_BYTES), sourceOffset, byteLength);
  const target = new Uint8Array(new Target(byteLength + SLACK_BYTES), targetOffset, byteLength);
  // Touched, so that every page is there: untouched ones share a page of zeros.
  for (let i = 0; i < byteLength; i++) {
    source[i] = i;
    target[i] = 0;
  }
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) copy(target, source);
      return target[byteLength - 1]!;
    },
  };
}

type ByteBuffer = ArrayBufferConstructor | SharedArrayBufferConstructor;

export const privateToPrivate = (context: ThreadContext) => copying(context, ArrayBuffer, ArrayBuffer);
export const privateToShared = (context: ThreadContext) => copying(context, ArrayBuffer, SharedArrayBuffer);
export const sharedToPrivate = (context: ThreadContext) => copying(context, SharedArrayBuffer, ArrayBuffer);
export const copyBytesIn = (context: ThreadContext) =>
  copying(context, ArrayBuffer, SharedArrayBuffer, copyBytes);
export const copyBytesOut = (context: ThreadContext) =>
  copying(context, SharedArrayBuffer, ArrayBuffer, copyBytes);
