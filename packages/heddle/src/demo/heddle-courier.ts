import type { Worker } from 'node:worker_threads';
import { Context, type Endpoint, Idle, type Lease, type Loan, type TransportWorker } from '@heddle/transport';
import {
  type Answer,
  type Block,
  type Courier,
  type CourierOptions,
  type PoolAccount,
  WorkerDiedError,
} from './courier.js';
import { accountOf, headerOf, MESSAGE, readHeader } from './heddle-messages.js';
import { Inbox } from './inbox.js';
import { largestOutput } from './job.js';

interface LoanedBlock extends Block {
  readonly loan: Loan;
  readonly hand: Hand;
}

interface LeasedAnswer extends Answer {
  readonly lease: Lease | undefined;
}

/** A worker, and the way to it. */
interface Hand {
  readonly thread: Worker;
  readonly endpoint: Endpoint;
  readonly exited: Promise<string>;
}

const NOTHING = new Uint8Array(0);

/**
 * Blocks as messages of Heddle: the file is read into a loaned slot, the slot's descriptor goes to the worker, and
 * the worker puts it on its own thread. No block is copied on the way.
 */
export class HeddleCourier implements Courier {
  readonly #options: CourierOptions;
  readonly #context: Context;
  readonly #main: TransportWorker;
  readonly #receiving: Promise<void>;
  readonly #hands: Hand[] = [];
  readonly #answers = new Inbox<LeasedAnswer>();
  #closing: Promise<PoolAccount> | undefined;
  #next = 0;

  private constructor(options: CourierOptions) {
    const { workers, blockBytes, job, window } = options;
    this.#options = options;
    this.#context = Context.create({
      slotBytes: Math.max(blockBytes, largestOutput(job, blockBytes)),
      // Each block under way, its output, and of each worker the block that it is about to give back.
      slots: 2 * window + workers,
      maxWorkers: workers + 1,
      // This thread's event loop turns, so it sees deaths by itself.
      janitor: false,
    });
    this.#main = this.#context.createWorker({ name: 'main', idle: Idle.park() });
    this.#main.on(MESSAGE.answer, (message) => {
      const [sequence, crc] = readHeader(message);
      const lease = message.byteLength > 0 ? message.keep() : undefined;
      this.#answers.put({ sequence, crc, output: lease?.data ?? NOTHING, lease });
    });
    this.#receiving = this.#main.run().catch((error) => this.#answers.fail(error));
  }

  static async create(options: CourierOptions): Promise<HeddleCourier> {
    const courier = new HeddleCourier(options);
    for (let index = 0; index < options.workers; index++) await courier.#spawn(`worker ${index + 1}`);
    return courier;
  }

  async #spawn(name: string): Promise<void> {
    const thread = this.#context.spawn<Worker>(new URL('./heddle.worker.js', import.meta.url), {
      name,
      workerData: { main: this.#main.address, job: this.#options.job },
    });
    let cause = 'it left early';
    thread.on('error', (error) => {
      cause = error.message;
    });
    const exited = new Promise<string>((resolve) => {
      thread.once('exit', (code) => resolve(`${cause}, exit code ${code}`));
    });
    const ready = new Promise<Endpoint>((resolve) => {
      this.#main.on(MESSAGE.ready, ({ sender }) => {
        const onClosed = async ({ begun, unread }: { begun: number; unread: number }) => {
          if (this.#closing) return;
          const reason = await exited;
          this.#answers.fail(
            new WorkerDiedError(name, reason, { begun, unread, after: accountOf(this.#context) }),
          );
        };
        resolve(this.#main.connect(sender, { onClosed }));
      });
    });
    const early = exited.then((reason) => Promise.reject(new WorkerDiedError(name, reason)));
    const endpoint = await Promise.race([ready, early]);
    early.catch(() => {});
    this.#hands.push({ thread, endpoint, exited });
  }

  async acquire(): Promise<LoanedBlock> {
    const hand = this.#hands[this.#next++ % this.#hands.length]!;
    const loan = hand.endpoint.loan(this.#options.blockBytes);
    if (!loan) throw new Error('All slots are out, though there is one for every block and output under way');
    return { loan, hand, bytes: loan.data };
  }

  cancel(block: Block): void {
    (block as LoanedBlock).loan.cancel();
  }

  send(block: Block, byteLength: number, sequence: number): void {
    // What a dead worker leaves behind is no better reason than its death.
    this.#answers.assertOpen();
    const { loan, hand } = block as LoanedBlock;
    const status = hand.endpoint.trySend(MESSAGE.block, loan, headerOf(sequence, byteLength));
    if (status !== 'sent') loan.cancel();
    if (status === 'no-resource') throw new Error('A lane is full, though it has room for every block');
    if (sequence === this.#options.killAtBlock) void hand.thread.terminate();
  }

  receive(): Promise<LeasedAnswer> {
    return this.#answers.take();
  }

  finish(answer: Answer): void {
    (answer as LeasedAnswer).lease?.release();
  }

  close(): Promise<PoolAccount> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<PoolAccount> {
    for (const { endpoint } of this.#hands) endpoint.trySend(MESSAGE.end);
    await Promise.all(this.#hands.map(({ exited }) => exited));
    const account = accountOf(this.#context);
    await this.#context.close();
    await this.#receiving;
    return account;
  }
}
