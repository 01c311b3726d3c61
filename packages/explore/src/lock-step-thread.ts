import { Worker } from 'node:worker_threads';
import type { ReplayCommand, ReplayMessage, ReplayWorkerData } from './replay-messages.js';

/** A worker in lock step, with the last thing that it said. */
export class LockStepThread {
  last: ReplayMessage = { kind: 'sleeping' };
  readonly #worker: Worker;
  readonly #gate: Int32Array;
  readonly #said: ReplayMessage[] = [];
  #listener: ((message: ReplayMessage) => void) | undefined;

  constructor(data: ReplayWorkerData) {
    this.#gate = new Int32Array(data.gate);
    this.#worker = new Worker(new URL('./replay-worker.js', import.meta.url), { workerData: data });
    this.#worker.on('message', (message: ReplayMessage) => this.#hear(message));
    this.#worker.on('exit', (code) => this.#hear({ kind: 'threw', error: `exited with code ${code}` }));
    this.#worker.on('error', (error) => this.#hear({ kind: 'threw', error: error.message }));
  }

  #hear(message: ReplayMessage): void {
    const listener = this.#listener;
    this.#listener = undefined;
    if (listener === undefined) this.#said.push(message);
    else listener(message);
  }

  /** The next thing that the worker says. After its end, the end again. */
  async next(): Promise<ReplayMessage> {
    const heard = this.#said.shift();
    this.last =
      heard ??
      (await new Promise<ReplayMessage>((resolve) => {
        this.#listener = resolve;
      }));
    return this.last;
  }

  command(command: ReplayCommand): void {
    this.#worker.postMessage(command);
    Atomics.add(this.#gate, 0, 1);
    Atomics.notify(this.#gate, 0);
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}
