import { workerData } from 'node:worker_threads';
import type { LockHandle } from './placement.js';

/** Words of row 0, for all threads; what comes after `first` is the test's. */
export const ALL = { stop: 0, calm: 1, first: 2 } as const;
/** Words of a thread's row; `own` and what comes after it are the test's. */
export const TELL = { phase: 0, done: 1, own: 2 } as const;
export const ROW_WORDS = 8;

/**
 * Where a thread is, as it notes itself. Dead in `holding` it had what it asked for, in `idle` it had not; in `asking`
 * and `leaving` nobody can tell. In `loading` it has not begun.
 */
export const PHASE = {
  idle: 0,
  asking: 1,
  holding: 2,
  leaving: 3,
  reading: 4,
  broken: 5,
  loading: 6,
} as const;

export interface MortalData {
  readonly mortal: string;
  readonly handles: readonly LockHandle[];
  readonly told: SharedArrayBuffer;
  readonly row: number;
  /** Threads of the test, in rows from 1 on. */
  readonly threads: number;
}

/** A thread of a test that may be killed at any moment: what it tells the others of itself. */
export class Mortal {
  readonly told: Int32Array;
  readonly row: number;
  readonly threads: number;
  readonly handles: readonly LockHandle[];

  constructor({ told, row, threads, handles }: MortalData) {
    this.told = new Int32Array(told);
    this.row = row;
    this.threads = threads;
    this.handles = handles;
  }

  /** Index of a word of a row. */
  at(word: number, row = this.row): number {
    return row * ROW_WORDS + word;
  }

  get stopped(): boolean {
    return Atomics.load(this.told, ALL.stop) !== 0;
  }

  phase(phase: number): void {
    Atomics.store(this.told, this.at(TELL.phase), phase);
  }

  /** Notes a round. */
  did(): void {
    Atomics.add(this.told, this.at(TELL.done), 1);
  }

  /** Counts something in a word of its own row that others read under a lock. */
  count(word: number): void {
    this.told[this.at(word)] = this.told[this.at(word)]! + 1;
  }

  /** A word of the threads' rows, added up; with a sign for each row where one is given. */
  sum(word: number, sign: (row: number) => number = () => 1): number {
    let sum = 0;
    for (let row = 1; row <= this.threads; row++) sum += sign(row) * this.told[this.at(word, row)]!;
    return sum;
  }
}

/** Runs the job that this thread was started for, if it is one. */
export function runMortal(jobs: Record<string, (mortal: Mortal) => void>): void {
  const data = workerData as MortalData | undefined;
  if (data?.mortal === undefined) return;
  const mortal = new Mortal(data);
  if (data.row > 0) mortal.phase(PHASE.idle);
  jobs[data.mortal]!(mortal);
}
