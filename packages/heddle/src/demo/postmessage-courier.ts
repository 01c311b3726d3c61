import { Worker } from 'node:worker_threads';
import { type Answer, type Block, type Courier, type CourierOptions, WorkerDiedError } from './courier.js';
import { Inbox } from './inbox.js';
import type { PostMessageAnswer, PostMessageTask } from './postmessage.worker.js';

interface PrivateBlock extends Block {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Blocks by `postMessage`, as Node offers it: copied (structured clone), or moved (transfer), where the worker
 * sends the memory back with its answer to be used again.
 */
export class PostMessageCourier implements Courier {
  readonly #transfer: boolean;
  readonly #options: CourierOptions;
  readonly #workers: Worker[] = [];
  readonly #free: PrivateBlock[] = [];
  readonly #wanting: ((block: Block) => void)[] = [];
  readonly #answers = new Inbox<Answer>();
  #allocated = 0;
  #closing = false;
  #next = 0;

  private constructor(options: CourierOptions, transfer: boolean) {
    this.#options = options;
    this.#transfer = transfer;
  }

  static async create(options: CourierOptions, transfer: boolean): Promise<PostMessageCourier> {
    const courier = new PostMessageCourier(options, transfer);
    await Promise.all(Array.from({ length: options.workers }, (_, i) => courier.#spawn(`worker ${i + 1}`)));
    return courier;
  }

  async #spawn(name: string): Promise<void> {
    const worker = new Worker(new URL('./postmessage.worker.js', import.meta.url), {
      name,
      workerData: { job: this.#options.job, transfer: this.#transfer },
    });
    this.#workers.push(worker);
    await new Promise<void>((resolve, reject) => {
      worker.once('message', () => resolve());
      worker.once('error', reject);
    });
    worker.on('message', ({ sequence, crc, output, block }: PostMessageAnswer) => {
      if (block) this.#recycle(block);
      this.#answers.put({ sequence, crc, output });
    });
    worker.on('error', (error) => this.#answers.fail(new WorkerDiedError(name, error.message)));
    worker.on('exit', (code) => {
      if (!this.#closing) this.#answers.fail(new WorkerDiedError(name, `exit code ${code}`));
    });
  }

  async acquire(): Promise<Block> {
    const block = this.#free.pop();
    if (block) return block;
    if (this.#allocated < this.#options.window) {
      this.#allocated++;
      return { bytes: new Uint8Array(this.#options.blockBytes) };
    }
    return new Promise((resolve) => this.#wanting.push(resolve));
  }

  cancel(block: Block): void {
    this.#recycle(block.bytes as Uint8Array<ArrayBuffer>);
  }

  send(block: Block, byteLength: number, sequence: number): void {
    this.#answers.assertOpen();
    const worker = this.#workers[this.#next++ % this.#workers.length]!;
    const bytes = block.bytes as Uint8Array<ArrayBuffer>;
    const task: PostMessageTask = {
      sequence,
      block: this.#transfer ? bytes : bytes.subarray(0, byteLength),
      byteLength,
    };
    worker.postMessage(task, this.#transfer ? [bytes.buffer] : []);
    if (!this.#transfer) this.#recycle(bytes);
  }

  receive(): Promise<Answer> {
    return this.#answers.take();
  }

  finish(): void {}

  async close(): Promise<undefined> {
    this.#closing = true;
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #recycle(bytes: Uint8Array<ArrayBuffer>): void {
    const block = { bytes };
    const want = this.#wanting.shift();
    if (want) want(block);
    else this.#free.push(block);
  }
}
