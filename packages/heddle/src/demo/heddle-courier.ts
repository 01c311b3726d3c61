import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { idOf, Segment } from '@heddle/memory';
import { type Audit, Mpool } from '@heddle/mpool';
import { type SpscProducer, SpscRing } from '@heddle/ring';
import {
  type Answer,
  type Block,
  type Courier,
  type CourierOptions,
  type PoolAccount,
  WorkerDiedError,
} from './courier.js';
import { answersRing, BLOCK_POOL, type HeddleWorkerData, OUTPUT_POOL, tasksRing } from './heddle-names.js';
import { Inbox } from './inbox.js';
import { largestOutput } from './job.js';

/** Bytes of a record with up to four words, in a ring. */
const RECORD_BYTES = 24;

interface PoolBlock extends Block {
  readonly descriptor: number;
}

interface PoolAnswer extends Answer {
  readonly descriptor: number | undefined;
}

interface Hand {
  readonly name: string;
  readonly worker: Worker;
  readonly tasks: SpscProducer;
  /** Of its thread, as the pool names it. */
  readonly token: number;
  readonly exited: Promise<void>;
}

/**
 * Blocks by descriptor: the file is read into a slot of a pool, the slot's number goes to the worker through a
 * ring, and the worker puts it on its own thread. Nothing is copied on the way.
 */
export class HeddleCourier implements Courier {
  readonly #options: CourierOptions;
  readonly #segment: Segment;
  readonly #blocks: Mpool;
  readonly #outputs: Mpool | undefined;
  readonly #taskRings: SpscRing[] = [];
  readonly #hands: Hand[] = [];
  readonly #answers = new Inbox<PoolAnswer>();
  readonly #stop = new AbortController();
  #closing: Promise<PoolAccount> | undefined;
  #next = 0;

  private constructor(options: CourierOptions) {
    const { workers, blockBytes, job, window } = options;
    const outputBytes = largestOutput(job, blockBytes);
    this.#options = options;
    this.#segment = Segment.create({
      // Reserved, not taken: only what is touched takes memory.
      byteLength: 2 ** 26 + 2 * window * (blockBytes + outputBytes),
      maxThreads: workers + 1,
      maxStructures: 4 * (workers + 1),
    });
    const pool = { growFactor: 2, elemsPerChunk: 2 } as const;
    this.#blocks = Mpool.create(this.#segment, {
      ...pool,
      name: BLOCK_POOL,
      elemSize: blockBytes,
      maxElems: window,
    });
    if (outputBytes > 0) {
      this.#outputs = Mpool.create(this.#segment, {
        ...pool,
        name: OUTPUT_POOL,
        elemSize: outputBytes,
        maxElems: window,
      });
    }
  }

  static async create(options: CourierOptions): Promise<HeddleCourier> {
    const courier = new HeddleCourier(options);
    await Promise.all(Array.from({ length: options.workers }, (_, index) => courier.#spawn(index)));
    return courier;
  }

  async #spawn(index: number): Promise<void> {
    const { job, window } = this.#options;
    const name = `worker ${index + 1}`;
    const capacityBytes = window * RECORD_BYTES;
    const tasks = SpscRing.create(this.#segment, { name: tasksRing(index), capacityBytes });
    const answers = SpscRing.create(this.#segment, { name: answersRing(index), capacityBytes });
    this.#taskRings.push(tasks);
    const workerData: HeddleWorkerData = {
      segment: this.#segment.handle,
      index,
      job,
      main: this.#segment.thread.token,
    };
    const worker = new Worker(new URL('./heddle.worker.js', import.meta.url), { name, workerData });
    let token = 0;
    let held: string[] = [];
    let cause = 'it left early';
    worker.on('error', (error) => {
      cause = error.message;
    });
    // Looks before recovery takes back what the worker held, and again after it.
    worker.once('exit', () => {
      held = this.#heldBy(idOf(token));
    });
    this.#segment.watch(worker);
    const exited = new Promise<void>((resolve) => {
      worker.once('exit', (code) => {
        // What a dead worker cannot close any more.
        answers.close();
        const reason = `${cause}, exit code ${code}`;
        if (!this.#closing) {
          this.#answers.fail(new WorkerDiedError(name, reason, { held, after: this.#account() }));
        }
        resolve();
      });
    });
    [token] = await Promise.race([
      once(worker, 'message'),
      exited.then(() => Promise.reject(new WorkerDiedError(name, cause))),
    ]);
    this.#hands.push({ name, worker, token, tasks: tasks.producer(), exited });
    void this.#collect(answers);
  }

  /** Takes a worker's answers off its ring until that is closed. */
  async #collect(ring: SpscRing): Promise<void> {
    try {
      for await (const record of ring.consumer()) {
        const crc = record.word(0) >>> 0;
        const byteLength = record.word(2);
        const descriptor = byteLength > 0 ? record.word(1) : undefined;
        if (descriptor !== undefined) this.#outputs!.adopt(descriptor);
        const output =
          descriptor === undefined
            ? new Uint8Array(0)
            : this.#outputs!.bytes(descriptor).subarray(0, byteLength);
        this.#answers.put({ sequence: record.tag, crc, output, descriptor });
      }
    } catch (error) {
      this.#answers.fail(error as Error);
    }
  }

  async acquire(): Promise<PoolBlock> {
    const descriptor = this.#blocks.tryGet() ?? (await this.#blocks.getAsync({ signal: this.#stop.signal }));
    return { descriptor, bytes: this.#blocks.bytes(descriptor) };
  }

  cancel(block: Block): void {
    this.#blocks.put((block as PoolBlock).descriptor);
  }

  send(block: Block, byteLength: number, sequence: number): void {
    // What a dead worker leaves behind is no better reason than its death.
    this.#answers.assertOpen();
    const { descriptor } = block as PoolBlock;
    const hand = this.#hands[this.#next++ % this.#hands.length]!;
    // From here on the block is the worker's, also if this thread or that one ends.
    this.#blocks.detach(descriptor, hand.token);
    if (!hand.tasks.tryWriteWords(sequence, descriptor, byteLength)) {
      throw new Error(`The ring to ${hand.name} is full, though it has room for every block under way`);
    }
    if (sequence === this.#options.killAtBlock) void hand.worker.terminate();
  }

  receive(): Promise<PoolAnswer> {
    return this.#answers.take();
  }

  finish(answer: Answer): void {
    const { descriptor } = answer as PoolAnswer;
    if (descriptor !== undefined) this.#outputs!.put(descriptor);
  }

  close(): Promise<PoolAccount> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<PoolAccount> {
    // A closed ring is read to its end; then the worker leaves by itself, and closes the ring of its answers.
    for (const ring of this.#taskRings) ring.close();
    await Promise.all(this.#hands.map(({ exited }) => exited));
    this.#stop.abort();
    const account = this.#account();
    this.#segment.detach();
    return account;
  }

  #audits(): { pool: Mpool; audit: Audit }[] {
    const pools = this.#outputs ? [this.#blocks, this.#outputs] : [this.#blocks];
    return pools.map((pool) => ({ pool, audit: pool.audit() }));
  }

  #account(): PoolAccount {
    const audits = this.#audits();
    const sum = (key: keyof PoolAccount) => audits.reduce((total, { audit }) => total + audit[key], 0);
    return {
      got: sum('got'),
      put: sum('put'),
      putAcrossThreads: sum('putAcrossThreads'),
      recovered: sum('recovered'),
      outstanding: sum('outstanding'),
    };
  }

  #heldBy(threadId: number): string[] {
    return this.#audits().flatMap(({ pool, audit }) =>
      audit.holders
        .filter((holding) => holding.threadId === threadId)
        .map(({ descriptor, state }) => `descriptor ${descriptor} of pool "${pool.name}" (${state})`),
    );
  }
}
