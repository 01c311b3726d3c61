import type { SegmentHandle } from '@heddle/memory';
import type { Job } from './job.js';

/** What the two sides of the demonstration agree on. */
export interface HeddleWorkerData {
  readonly segment: SegmentHandle;
  readonly index: number;
  readonly job: Job;
  /** Token of the thread that reads and writes files. */
  readonly main: number;
}

export const BLOCK_POOL = 'blocks';
export const OUTPUT_POOL = 'outputs';
export const tasksRing = (index: number) => `tasks ${index}`;
export const answersRing = (index: number) => `answers ${index}`;
