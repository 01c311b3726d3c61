import type { Worker } from 'node:worker_threads';
import { expect, onTestFinished } from 'vitest';
import type { WorkerAddress } from './address.js';
import type { Context } from './context.js';
import { ALL, addressIn, ON_PURPOSE, PHASES, ROW_WORDS, TELL } from './mate.test-worker.js';

/** Nothing moved for so long: a hang. No test passes because of it. */
const STUCK_MS = 20_000;

interface Member {
  readonly worker: Worker;
  readonly role: string;
  readonly row: number;
  /** Exit code, once it has ended. */
  ended: number | undefined;
}

/**
 * The threads of a test, as it sees them from outside. Each tells what it does in its row of shared words; when nothing
 * moves any more, or a thread fails, the test ends with an error that shows all of that.
 */
export class Crew {
  readonly told: Int32Array<SharedArrayBuffer>;
  members: Member[] = [];
  /** Lines that say what the run depends on, a seed for instance: printed with every failure. */
  readonly notes: string[] = [];
  readonly #context: Context;
  readonly #url: URL;
  readonly #failures: string[] = [];
  #motion = 0;
  #movedAtMs = performance.now();

  /** @param url of the file with the roles. */
  constructor(context: Context, url: URL, threads: number) {
    this.#context = context;
    this.#url = url;
    this.told = new Int32Array(new SharedArrayBuffer((threads + 1) * ROW_WORDS * 4));
    onTestFinished(async () => {
      await Promise.all(this.members.map(({ worker }) => worker.terminate()));
    });
  }

  /**
   * Starts a thread.
   *
   * @param data for its role, in `workerData`.
   * @param row its own, or that of one that has ended.
   */
  start(role: string, data: object = {}, row = this.members.length + 1): Member {
    this.members = this.members.filter((member) => member.row !== row);
    const base = row * ROW_WORDS;
    if (base + ROW_WORDS > this.told.length) throw new RangeError(`The crew has no row ${row}`);
    this.told.fill(0, base, base + ROW_WORDS);
    const worker = this.#context.spawn<Worker>(this.#url, {
      workerData: { ...data, role, row, told: this.told.buffer, file: this.#url.href },
      // What a thread prints when it dies of purpose is of no use.
      stderr: true,
    });
    const member: Member = { worker, role, row, ended: undefined };
    worker.on('error', (error) => {
      const reason = error as Error;
      if (reason.message === ON_PURPOSE) return;
      this.#failures.push(`${role} in row ${row} failed: ${reason.stack ?? String(reason)}`);
    });
    worker.once('exit', (code) => {
      member.ended = code;
    });
    this.members.push(member);
    return member;
  }

  get(word: number, row = 0): number {
    return Atomics.load(this.told, row * ROW_WORDS + word);
  }

  /** Address of the worker that a thread announced. */
  addressOf(row: number): WorkerAddress {
    return addressIn(this.#context, this.get(TELL.workerRow, row), this.get(TELL.generation, row));
  }

  set(word: number, value: number, row = 0): void {
    Atomics.store(this.told, row * ROW_WORDS + word, value);
    Atomics.notify(this.told, row * ROW_WORDS + word);
  }

  /** A word of all threads, added up. */
  sum(word: number): number {
    return this.members.reduce((sum, { row }) => sum + this.get(word, row), 0);
  }

  /** Waits until something holds. @param step to do each time before. @throws Error that shows all threads. */
  async until(what: string, holds: () => boolean, step?: () => void): Promise<void> {
    this.#moved();
    for (;;) {
      step?.();
      this.assertWell();
      if (holds()) return;
      this.#assertMotion(what);
      await new Promise((resolve) => (step ? setImmediate(resolve) : setTimeout(resolve, 2)));
    }
  }

  /** The same for a thread that gives its event loop no turn, asleep or busy. */
  blockUntil(what: string, holds: () => boolean, how: 'asleep' | 'busy' = 'asleep'): void {
    this.#moved();
    while (!holds()) {
      this.#assertMotion(what);
      if (how === 'asleep') Atomics.wait(this.told, ALL.ready, this.get(ALL.ready), 10);
    }
  }

  /** Waits until all threads have ended by themselves. */
  async untilAllEnded(): Promise<void> {
    await this.until('every thread has ended', () => this.members.every(({ ended }) => ended !== undefined));
  }

  assertWell(): void {
    if (this.#failures.length > 0) throw this.#error(this.#failures.join('\n'));
  }

  /** Every lane and slot is back, but for those that are said to be in use. */
  assertConserved(use: { workers?: number; lanes?: number } = {}): void {
    const { workers = 0, lanes = 0 } = use;
    expect(this.#context.usage(), this.picture()).toEqual({ workers, lanes, slots: 0 });
    const audit = this.#context.audit();
    expect(audit, this.#context.report()).toMatchObject({
      outstanding: 0,
      unreachable: [],
      listedWrongly: [],
      putTwice: [],
      consistent: true,
    });
    expect(audit.free + audit.cached + audit.unsent, this.#context.report()).toBe(audit.capacity);
  }

  /** What every thread told last, and what of the context is in use. */
  picture(): string {
    const lines = this.members.map(({ role, row, ended }) => {
      const words = [...this.told.subarray(row * ROW_WORDS, (row + 1) * ROW_WORDS)];
      const state = ended === undefined ? PHASES[words[TELL.phase]!] : `ended with ${ended}`;
      return `  row ${row} ${role}: ${state}, thread ${words[TELL.threadId]}, received ${words[TELL.received]}, sent ${words[TELL.sent]}, told ${words.slice(TELL.first).join(' ')}`;
    });
    return [
      ...this.notes,
      ...lines,
      `  row 0: ${this.told.subarray(0, ROW_WORDS).join(' ')}`,
      `  in use: ${JSON.stringify(this.#context.usage())}`,
      this.#context.report(),
    ].join('\n');
  }

  #moved(): void {
    this.#movedAtMs = performance.now();
  }

  #assertMotion(what: string): void {
    let motion = 0;
    for (const word of this.told) motion = (Math.imul(motion, 31) + word) | 0;
    const nowMs = performance.now();
    if (motion !== this.#motion) {
      this.#motion = motion;
      this.#movedAtMs = nowMs;
    } else if (nowMs - this.#movedAtMs > STUCK_MS) {
      throw this.#error(`Nothing moves any more, and this does not hold: ${what}`);
    }
  }

  #error(what: string): Error {
    return new Error(`${what}\n${this.picture()}`);
  }
}
