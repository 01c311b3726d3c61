/** What the starter and a thread of a variant say to each other. */

/** `workerData` of a thread. */
export interface ThreadData {
  readonly moduleUrl: string;
  readonly workload: string;
  readonly index: number;
  readonly threads: number;
  readonly startLine: SharedArrayBuffer;
  readonly shared: unknown;
  readonly own: unknown;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export type ThreadCommand =
  | { readonly type: 'round'; readonly timeMs: number }
  /** The drivers of the round are done. */
  | { readonly type: 'stop' };

/** One thread's part of a round. */
export interface ThreadRound {
  readonly operations: number;
  readonly elapsedNs: number;
  /** Elapsed time by operations. */
  readonly meanNs: number;
  /** Median over the batches, per operation. */
  readonly medianNs: number;
  readonly slowestNs: number;
  readonly batchNs: number;
  readonly cpuMs: number | null;
  readonly timerSaturated: boolean;
  readonly figures: Readonly<Record<string, number>>;
  /** What the operations computed. It leaves the thread, so the compiler must compute it. */
  readonly sink: number;
}

export type ThreadAnswer =
  | { readonly type: 'ready'; readonly driving: boolean; readonly kernelId: number | null }
  | { readonly type: 'round'; readonly result: ThreadRound }
  | { readonly type: 'failed'; readonly reason: string };
