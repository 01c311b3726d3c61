import { runAsync, type WaitAsyncOptions } from '@heddle/memory';
import type { Attempt, StateWord } from './state-word.js';
import { TaskAttempt } from './task-attempt.js';
import { TaskQueue } from './task-queue.js';

/** Waits on the event loop until an attempt succeeds; null when the time is up. */
export function waitAsTask<Result>(
  word: StateWord,
  attempt: Attempt<Result>,
  options?: WaitAsyncOptions,
): Promise<Result | null> {
  return runAsync(new TaskAttempt(word, attempt), word.words, word.platform, options);
}

/**
 * Like {@link waitAsTask}, where each success takes something that the next one then lacks: tasks of one thread
 * come one after the other.
 */
export function waitInTurn<Result>(
  word: StateWord,
  attempt: Attempt<Result>,
  options: WaitAsyncOptions = {},
): Promise<Result | null> {
  return TaskQueue.over(word.words).inTurn(options, word.platform, (rest) => waitAsTask(word, attempt, rest));
}
