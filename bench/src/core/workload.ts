/**
 * What a worker file exports: named workloads.
 *
 * A worker file is a plain module. Each export is a {@link WorkloadFactory}, run on its own thread with its own
 * isolate, so that one workload's type feedback never reaches another: a call site is as monomorphic as the
 * workload makes it.
 */

/** Tells a {@link ServingWorkload} that the round is over. */
export interface StopSignal {
  /** True from the moment the last driving thread has finished. One `Atomics.load`. */
  requested(): boolean;
  /** Resolves at that moment, for a workload that lives on its event loop. */
  readonly promise: Promise<void>;
}

interface RoundHooks {
  /** Before every round, ahead of the agreed start. Bring shared words into the state the round begins with. */
  begin?(): void;
  /** After this thread's part of a round. A driver uses it to poke partners out of a wait. */
  end?(): void;
  /** Further figures of the round just measured, by name; over threads and rounds the largest is kept. */
  figures?(): Readonly<Record<string, number>>;
}

/**
 * Drives a round: the harness calls it again and again until the time is over, and counts.
 *
 * The result must depend on every operation, so that the compiler cannot drop any; the harness adds it to a sink.
 */
export interface DrivingWorkload extends RoundHooks {
  batch(operations: number): number;
  /** Most operations a batch may have. 1 where each operation is to be timed on its own. */
  readonly maxBatch?: number;
  /** Operations that cannot be parted: 2 where they are the two ways of a round trip. Default 1. */
  readonly minBatch?: number;
}

/** As {@link DrivingWorkload}, for operations that are awaited. */
export interface AsyncDrivingWorkload extends RoundHooks {
  batchAsync(operations: number): Promise<number>;
  readonly maxBatch?: number;
  readonly minBatch?: number;
}

/** Answers to the drivers of a round until it is told to stop. Returns how many operations it did. */
export interface ServingWorkload extends RoundHooks {
  serve(stop: StopSignal): number | Promise<number>;
}

export type Workload = DrivingWorkload | AsyncDrivingWorkload | ServingWorkload;

/** What a workload is given when its thread starts. */
export interface ThreadContext<Shared = unknown, Own = unknown> {
  /** Index of this thread in the variant, in the order in which the variant lists them. */
  readonly index: number;
  /** Number of threads in the variant. */
  readonly threads: number;
  /** What the variant prepared for all threads. */
  readonly shared: Shared;
  /** What the variant prepared for this thread alone: a port, for example. */
  readonly own: Own;
  /** Parameters that the suite wrote beside the workload's name. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export type WorkloadFactory = (context: ThreadContext<never, never>) => Workload | Promise<Workload>;
