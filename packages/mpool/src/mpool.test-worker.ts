import { parentPort, workerData } from 'node:worker_threads';
import { Mpool, type MpoolHandle } from './index.js';

/** What a test tells this worker to do. Each task answers with one message, unless it ends the thread. */
export type Task =
  /** With `drop` as leases, which it forgets; then it takes no turn of its event loop any more. */
  | { readonly do: 'get'; readonly count: number; readonly drop?: boolean }
  | { readonly do: 'adopt'; readonly descriptors: readonly number[] }
  /** With `thenBlock` it takes no turn of its event loop after the answer, until the word in it changes. */
  | { readonly do: 'put'; readonly descriptors: readonly number[]; readonly thenBlock?: SharedArrayBuffer }
  | { readonly do: 'send'; readonly count: number; readonly to: number }
  /** Blocks in get until somebody puts, or closes the pool: then it answers with nothing. */
  | { readonly do: 'wait' }
  /** Answers with nothing where the pool is closed. */
  | { readonly do: 'try' }
  | { readonly do: 'dispose' }
  /** Waits on its event loop, and detaches while it does. Its wait says how it ended in `ended`. */
  | { readonly do: 'detach while waiting'; readonly ended: SharedArrayBuffer }
  | { readonly do: 'exchange'; readonly rounds: number; readonly hold: number }
  /** Leaves what it gets in a random box, and puts what it finds there, which another thread has got. */
  | { readonly do: 'swap'; readonly rounds: number; readonly boxes: SharedArrayBuffer }
  | { readonly do: 'flush' }
  /** Audits as long as the word is 0. */
  | { readonly do: 'audit'; readonly until: SharedArrayBuffer }
  | { readonly do: 'end'; readonly how: 'exit' | 'throw' | 'detach' };

export interface Answer {
  readonly threadId: number;
  readonly token: number;
  readonly descriptors: readonly number[];
}

// The words in which threads mark elements as theirs begin at 0, in debug mode at each get.
const pool = Mpool.from((workerData as { pool: MpoolHandle }).pool, {
  init: (bytes) => bytes.set([0, 0, 0, 0]),
});
const { id: me, token } = pool.segment.thread;
const ownerWords = new Int32Array(pool.segment.buffer);

/**
 * Gets, marks as its own, requires that nobody else has marked, holds a few, puts the oldest: the words in the
 * elements show whether a slot was ever given to two threads.
 */
function exchange(rounds: number, hold: number): void {
  const held: number[] = [];
  const putOldest = () => {
    const oldest = held.shift()!;
    Atomics.store(ownerWords, pool.offset(oldest) / 4, 0);
    pool.put(oldest);
  };
  for (let round = 0; round < rounds; ) {
    const descriptor = pool.tryGet();
    if (descriptor === null) {
      if (held.length > 0) {
        putOldest();
        continue;
      }
      // All are with others: they hold at most what they may, so one of them puts.
      pool.put(pool.get());
      continue;
    }
    round++;
    const before = Atomics.exchange(ownerWords, pool.offset(descriptor) / 4, me);
    if (before !== 0) throw new Error(`Slot of ${descriptor} was given to thread ${me} and ${before}`);
    held.push(descriptor);
    if (held.length >= hold) putOldest();
  }
  while (held.length > 0) putOldest();
  pool.flush();
}

/** Puts what some thread got, after making sure that nobody else has it. */
function putFound(descriptor: number): void {
  const word = pool.offset(descriptor) / 4;
  if (Atomics.exchange(ownerWords, word, 0) !== descriptor + 1)
    throw new Error(`${descriptor} was overwritten`);
  pool.put(descriptor);
}

function swap(rounds: number, boxes: Int32Array): void {
  let seed = me;
  for (let round = 0; round < rounds; round++) {
    const descriptor = pool.get();
    const before = Atomics.exchange(ownerWords, pool.offset(descriptor) / 4, descriptor + 1);
    if (before !== 0) throw new Error(`${descriptor} was given out while ${before - 1} was`);
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    const found = Atomics.exchange(boxes, (seed >>> 8) % boxes.length, descriptor + 1);
    if (found !== 0) putFound(found - 1);
  }
  pool.flush();
}

function unlessClosed(get: () => number): number[] {
  try {
    return [get()];
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_HEDDLE_CLOSED') return [];
    throw error;
  }
}

function run(task: Task): readonly number[] {
  switch (task.do) {
    case 'get':
      if (task.drop) return Array.from({ length: task.count }, () => pool.lease().descriptor);
      return Array.from({ length: task.count }, () => pool.get());
    case 'put':
      for (const descriptor of task.descriptors) pool.put(descriptor);
      return [];
    case 'adopt':
      for (const descriptor of task.descriptors) pool.adopt(descriptor);
      return [];
    case 'send': {
      const got = Array.from({ length: task.count }, () => pool.get());
      for (const descriptor of got) pool.detach(descriptor, task.to);
      return got;
    }
    case 'wait':
      return unlessClosed(() => pool.get());
    case 'try':
      return unlessClosed(() => pool.tryGet() ?? -1);
    case 'detach while waiting': {
      const ended = new Int32Array(task.ended);
      const say = (how: number) => {
        Atomics.store(ended, 0, how);
        Atomics.notify(ended, 0);
      };
      pool.getAsync().then(
        () => say(1),
        (error: { code?: string }) => say(error.code === 'ERR_HEDDLE_DETACHED' ? 2 : 3),
      );
      pool.segment.detach();
      return [];
    }
    case 'dispose':
      pool[Symbol.dispose]();
      return [];
    case 'exchange':
      exchange(task.rounds, task.hold);
      return [];
    case 'swap':
      swap(task.rounds, new Int32Array(task.boxes));
      return [];
    case 'audit':
      do pool.audit();
      while (Atomics.load(new Int32Array(task.until), 0) === 0);
      return [];
    case 'flush':
      pool.flush();
      return [];
    case 'end':
      if (task.how === 'exit') process.exit(0);
      if (task.how === 'throw') throw new Error('as the test wants it');
      pool.segment.detach();
      return [];
  }
}

parentPort!.on('message', (task: Task) => {
  const descriptors = run(task);
  parentPort!.postMessage({ threadId: me, token, descriptors } satisfies Answer);
  if (task.do === 'put' && task.thenBlock) Atomics.wait(new Int32Array(task.thenBlock), 0, 0);
  if (task.do === 'get' && task.drop) for (;;);
});
