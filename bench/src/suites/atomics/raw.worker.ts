import type { DrivingWorkload } from '../../core/workload.js';

/**
 * Raw operations on words that no other thread touches.
 *
 * Every loop walks over 16 words and sums what it got, so that no operation can be moved out of the loop or
 * dropped; the bare `loop` shows what walking and summing cost.
 */

const WORDS = 16;
const MASK = WORDS - 1;
const words = new Int32Array(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT));
const wide = new BigInt64Array(new SharedArrayBuffer(WORDS * BigInt64Array.BYTES_PER_ELEMENT));

export const loop = (): DrivingWorkload => ({
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum = (sum + (i & MASK)) | 0;
    return sum;
  },
});

export const plainRead = (): DrivingWorkload => ({
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum = (sum + words[i & MASK]!) | 0;
    return sum;
  },
});

export const plainWrite = (): DrivingWorkload => ({
  batch(operations) {
    for (let i = 0; i < operations; i++) words[i & MASK] = i;
    return words[0]!;
  },
});

export const load = (): DrivingWorkload => ({
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum = (sum + Atomics.load(words, i & MASK)) | 0;
    return sum;
  },
});

export const store = (): DrivingWorkload => ({
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum = (sum + Atomics.store(words, i & MASK, i)) | 0;
    return sum;
  },
});

export const add = (): DrivingWorkload => ({
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum = (sum + Atomics.add(words, i & MASK, 1)) | 0;
    return sum;
  },
});

export const exchange = (): DrivingWorkload => ({
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum = (sum + Atomics.exchange(words, i & MASK, i)) | 0;
    return sum;
  },
});

/** Succeeds every time: each word goes 0, 1, 0, 1, … */
export const casHit = (): DrivingWorkload => ({
  begin: () => void words.fill(0),
  batch(operations) {
    let sum = 0;
    let phase = words[0]!;
    // Whole walks, so that a batch leaves every word in the same phase.
    for (let done = 0; done < operations; done += WORDS) {
      for (let i = 0; i < WORDS; i++) sum = (sum + Atomics.compareExchange(words, i, phase, phase ^ 1)) | 0;
      phase ^= 1;
    }
    if (words[0] !== phase) throw new Error('A compare-and-swap that had to succeed did not');
    return sum;
  },
});

/** Fails every time. */
export const casMiss = (): DrivingWorkload => ({
  begin: () => void words.fill(0),
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum = (sum + Atomics.compareExchange(words, i & MASK, 1, 2)) | 0;
    return sum;
  },
});

export const notifyNobody = (): DrivingWorkload => ({
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum = (sum + Atomics.notify(words, i & MASK, 1)) | 0;
    return sum;
  },
});

/** Beyond 32 bits, so that the values are what 64-bit words are used for. */
const WIDE_VALUE = 2n ** 40n;

export const load64 = (): DrivingWorkload => ({
  begin: () => void wide.fill(WIDE_VALUE),
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum += Number(Atomics.load(wide, i & MASK));
    return sum;
  },
});

export const store64 = (): DrivingWorkload => ({
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum += Number(Atomics.store(wide, i & MASK, WIDE_VALUE));
    return sum;
  },
});

export const add64 = (): DrivingWorkload => ({
  begin: () => void wide.fill(WIDE_VALUE),
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum += Number(Atomics.add(wide, i & MASK, 1n));
    return sum;
  },
});

export const casMiss64 = (): DrivingWorkload => ({
  begin: () => void wide.fill(WIDE_VALUE),
  batch(operations) {
    let sum = 0;
    for (let i = 0; i < operations; i++) sum += Number(Atomics.compareExchange(wide, i & MASK, 1n, 2n));
    return sum;
  },
});
