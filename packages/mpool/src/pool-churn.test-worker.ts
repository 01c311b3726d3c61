import { parentPort, workerData } from 'node:worker_threads';
import { type HeddleError, Segment, type SegmentHandle } from '@heddle/memory';
import { Mpool } from './mpool.js';

/** What each thread of the churn is given. */
export interface Churn {
  readonly segment: SegmentHandle;
  readonly names: readonly string[];
  readonly rounds: number;
  readonly seed: number;
}

const { segment: handle, names, rounds, seed } = workerData as Churn;
const segment = Segment.attach(handle);
const expected = ['NAME_TAKEN', 'NAME_UNKNOWN', 'CLOSED', 'OUTSTANDING', 'DIRECTORY_FULL', 'OUT_OF_SPACE'];
const hooks = { init: (bytes: Uint8Array) => bytes.set(new Uint8Array(bytes.length)) };
let state = seed;

function random(): number {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return state >>> 8;
}

/** Whatever other threads do to the pool meanwhile, what was got is this thread's alone until it is put. */
function use(pool: Mpool): void {
  const descriptor = pool.tryGet();
  if (descriptor === null) return;
  const bytes = pool.bytes(descriptor);
  const mark = 1 + (random() % 255);
  bytes.set(new Uint8Array(bytes.length).fill(mark));
  for (let look = 0; look < 3; look++) {
    if (bytes.some((byte) => byte !== mark)) throw new Error('Another thread wrote to the element');
  }
  pool.put(descriptor);
}

function round(): void {
  const name = names[random() % names.length]!;
  const options = { name, elemSize: 64, maxElems: 8, elemsPerChunk: 2, ...hooks };
  const pool = random() % 2 ? Mpool.create(segment, options) : Mpool.open(segment, name, hooks);
  try {
    for (let uses = random() % 4; uses > 0; uses--) use(pool);
    const end = random() % 8;
    if (end < 3) pool.close();
    else if (end < 5) pool.close({ force: true });
    else if (end < 6) pool.shrink();
  } finally {
    pool[Symbol.dispose]();
  }
}

parentPort!.once('message', () => {
  let met = 0;
  for (let i = 0; i < rounds; i++) {
    try {
      round();
    } catch (error) {
      const code = (error as HeddleError).code?.replace('ERR_HEDDLE_', '') ?? '';
      if (!expected.includes(code)) throw error;
      met++;
    }
  }
  parentPort!.postMessage(met);
});
