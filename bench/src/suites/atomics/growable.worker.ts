import type { DrivingWorkload } from '../../core/workload.js';

/** The same access to a buffer of fixed length and to one that can grow. */

const WORDS = 1024;
const MASK = WORDS - 1;
const BYTES = WORDS * Int32Array.BYTES_PER_ELEMENT;

const fixed = () => new Int32Array(new SharedArrayBuffer(BYTES));
/** A view of a stated length on a buffer that can grow to twice its length. */
const growable = () => new Int32Array(new SharedArrayBuffer(BYTES, { maxByteLength: 2 * BYTES }), 0, WORDS);
/** A view that follows the length of its buffer. */
const tracking = () => new Int32Array(new SharedArrayBuffer(BYTES, { maxByteLength: 2 * BYTES }));

function reading(words: Int32Array): DrivingWorkload {
  return {
    batch(operations) {
      let sum = 0;
      for (let i = 0; i < operations; i++) sum = (sum + words[i & MASK]!) | 0;
      return sum;
    },
  };
}

function writing(words: Int32Array): DrivingWorkload {
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) words[i & MASK] = i;
      return words[0]!;
    },
  };
}

function loading(words: Int32Array): DrivingWorkload {
  return {
    batch(operations) {
      let sum = 0;
      for (let i = 0; i < operations; i++) sum = (sum + Atomics.load(words, i & MASK)) | 0;
      return sum;
    },
  };
}

export const readFixed = () => reading(fixed());
export const readGrowable = () => reading(growable());
export const readTracking = () => reading(tracking());
export const writeFixed = () => writing(fixed());
export const writeGrowable = () => writing(growable());
export const writeTracking = () => writing(tracking());
export const loadFixed = () => loading(fixed());
export const loadGrowable = () => loading(growable());
