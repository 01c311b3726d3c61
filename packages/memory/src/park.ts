import { HeddleError } from './errors.js';
import type { Platform } from './platform.js';
import type { Steps } from './steps.js';
import { type Deadline, deadlineAfter } from './timeout.js';

/** @throws HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block. */
export function assertMayBlock(platform: Platform): void {
  if (platform.canBlock()) return;
  throw new HeddleError(
    'ERR_HEDDLE_MUST_NOT_BLOCK',
    'This thread must not block (the main thread of a page): use the form that ends in Async, or the one that begins with try',
  );
}

/**
 * Parks while the word is `expected`, until `deadline`. Does not spin.
 *
 * @returns whether the word differs now. Cost: 1 load, then 1 wait and 1 load for each park.
 */
export function parkWhile(
  words: Int32Array,
  index: number,
  expected: number,
  deadline: Deadline,
  platform: Platform,
): boolean {
  const { atomics } = platform;
  while (atomics.load(words, index) === expected) {
    const leftMs = deadline === Infinity ? Infinity : deadline - platform.now();
    if (leftMs <= 0) return false;
    atomics.wait(words, index, expected, leftMs);
  }
  return true;
}

/**
 * Runs a step machine by blocking.
 *
 * @throws HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, before the first step.
 */
export function runBlocking<Result>(
  steps: Steps<Result>,
  words: Int32Array,
  platform: Platform,
  timeoutMs?: number,
): Result {
  const deadline = deadlineAfter(timeoutMs, platform.now);
  assertMayBlock(platform);
  let step = steps.begin();
  while (!step.done) {
    const leftMs = deadline === Infinity ? Infinity : deadline - platform.now();
    if (leftMs <= 0) {
      step = steps.onTimeout();
    } else {
      // A wait that timed out looks once more; the deadline above decides, so that stray wakes cannot move it.
      platform.atomics.wait(words, step.index, step.expected, leftMs);
      step = steps.onWake();
    }
  }
  return step.value;
}
