import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { HeddleError } from './errors.js';
import { Segment } from './segment.js';
import type { Range } from './space.js';

export const STRESS_SIZES = { maxThreads: 16, maxStructures: 64, maxRanges: 128 };

export interface StressJob {
  /** Raw memory: whoever comes first makes it a segment. */
  readonly buffer: SharedArrayBuffer;
  /** One word: threads begin together when all are there. */
  readonly gate: Int32Array;
  readonly threads: number;
  readonly names: number;
  readonly rounds: number;
}

export interface StressResult {
  readonly id: string;
  readonly token: number;
  /** Names that this thread created. */
  readonly created: readonly string[];
  /** Where it found each name. */
  readonly offsets: readonly number[];
  /** What it saw that must not be. */
  readonly faults: readonly string[];
}

const box = { kind: 'box', version: 1 };

function run({ buffer, gate, threads, names, rounds }: StressJob): StressResult {
  Atomics.add(gate, 0, 1);
  Atomics.notify(gate, 0);
  for (let here = Atomics.load(gate, 0); here < threads; here = Atomics.load(gate, 0))
    Atomics.wait(gate, 0, here);

  const segment = Segment.create({ ...STRESS_SIZES, buffer });
  const { token } = segment.thread;
  const faults: string[] = [];
  const created: string[] = [];
  const offsets: number[] = [];

  for (let i = 0; i < names; i++) {
    const name = `name ${i}`;
    const { info, created: mine } = segment.openOrCreateStructure({
      name,
      layout: box,
      byteLength: 8,
      init: ({ byteOffset }) => Atomics.store(segment.words, byteOffset / 4, token),
    });
    if (mine) created.push(name);
    if (Atomics.load(segment.words, info.byteOffset / 4) === 0) faults.push(`"${name}" is not filled in`);
    offsets.push(info.byteOffset);
  }

  const held: Range[] = [];
  const stamp = ({ byteOffset, byteLength }: Range) => segment.wordsAt(byteOffset, byteLength);
  const giveBack = (range: Range) => {
    if (!stamp(range).every((word) => word === token))
      faults.push(`somebody wrote into range ${range.index}`);
    segment.space.discard(range);
  };
  for (let round = 0; round < rounds; round++) {
    try {
      const range = segment.allocate(128 * (1 + ((round * 7 + token) % 5)), { align: 128 << (round % 3) });
      stamp(range).fill(token);
      held.push(range);
    } catch (error) {
      if (!(error instanceof HeddleError && error.code === 'ERR_HEDDLE_OUT_OF_SPACE')) throw error;
      if (held.length === 0) Atomics.wait(gate, 0, threads, 1);
    }
    if (held.length > 3 || round % 3 === 0) {
      const range = held.shift();
      if (range) giveBack(range);
    }
  }
  for (const range of held) giveBack(range);
  return { id: segment.id, token, created, offsets, faults };
}

if (!isMainThread) {
  const result = run(workerData as StressJob);
  // Attached to the end: its row is freed by nobody but itself.
  parentPort!.postMessage(result);
}
