import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';
import { ALL, type MortalData, PHASE, ROW_WORDS, TELL } from './mortal.test-worker.js';
import type { SharedObject } from './shared-object.js';

/** Nothing moved for so long: a hang. No test passes because of it. */
const STUCK_MS = 20_000;

const PHASE_NAMES = Object.keys(PHASE);

interface Member {
  readonly worker: Worker;
  readonly job: string;
  readonly row: number;
  /** Resolves when it has ended, and what was to be recovered is. */
  readonly exit: Promise<void>;
  ended: boolean;
}

/** What a killed thread had noted last. */
export interface Death {
  readonly row: number;
  readonly phase: number;
}

/**
 * The threads of a test, of which it kills some at random. Each tells in its row of shared words what it does; when
 * nothing moves any more, or one fails, the test ends with an error that shows all rows.
 */
export class Mortals {
  readonly told: Int32Array<SharedArrayBuffer>;
  readonly threads: number;
  readonly deaths: Death[] = [];
  readonly #objects: readonly SharedObject[];
  readonly #jobs: readonly string[];
  readonly #members: Member[] = [];
  readonly #failures: string[] = [];
  readonly #seed: number;
  #random: number;
  #motion = 0;
  #movedAtMs = performance.now();

  /**
   * Starts nobody yet.
   *
   * @param objects that the threads get the handles of.
   * @param jobs of the threads in rows 1 and on.
   * @param moreRows beyond those of the threads, for the test.
   */
  constructor(objects: readonly SharedObject[], jobs: readonly string[], seed: number, moreRows = 0) {
    this.#objects = objects;
    this.#jobs = jobs;
    this.#seed = seed;
    this.#random = seed;
    this.threads = jobs.length;
    this.told = new Int32Array(new SharedArrayBuffer((1 + jobs.length + moreRows) * ROW_WORDS * 4));
    onTestFinished(() => this.#terminate());
  }

  /** Starts all threads, in a storm of stray wakes. */
  start(): void {
    this.#members[0] = this.#spawn('storm', 0);
    for (let row = 1; row <= this.threads; row++) this.#start(row);
  }

  get(word: number, row = 0): number {
    return Atomics.load(this.told, row * ROW_WORDS + word);
  }

  set(word: number, value: number, row = 0): void {
    Atomics.store(this.told, row * ROW_WORDS + word, value);
    Atomics.notify(this.told, row * ROW_WORDS + word);
  }

  /** A word of all threads. */
  column(word: number): number[] {
    return Array.from({ length: this.threads }, (_, i) => this.get(word, i + 1));
  }

  sum(word: number): number {
    return this.column(word).reduce((sum, value) => sum + value, 0);
  }

  get allEnded(): boolean {
    return this.#members.slice(1).every(({ ended }) => ended);
  }

  /** A whole number below `limit`. */
  random(limit: number): number {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) | 0;
    return (this.#random >>> 8) % limit;
  }

  /** A row of a thread. */
  randomRow(): number {
    return 1 + this.random(this.threads);
  }

  /** Kills a thread, has it recovered, and says what it had noted last. Its row stays as it is. */
  async kill(row: number): Promise<Death> {
    const { worker, exit } = this.#members[row]!;
    await worker.terminate();
    await exit;
    const death = { row, phase: this.get(TELL.phase, row) };
    this.deaths.push(death);
    return death;
  }

  /** Another thread takes the row of one that was killed. */
  replace(row: number): void {
    this.#start(row);
  }

  /** Ends the storm, which might hide a wake that is lost. */
  async calm(): Promise<void> {
    this.set(ALL.calm, 1);
    await this.#members[0]!.exit;
  }

  /**
   * Kills threads at random moments, the first half of them in the storm, and puts others in their place.
   *
   * @param settle what is to be said and done about each death, before another thread takes the row.
   */
  async killAtRandom(kills: number, settle?: (death: Death) => void): Promise<void> {
    for (let kill = 0; kill < kills; kill++) {
      // Progress between kills, by the ones that are left too.
      const enough = this.sum(TELL.done) + this.random(200);
      await this.until('work goes on between the kills', () => this.sum(TELL.done) >= enough);
      const row = this.randomRow();
      // One that is killed while the engine loads its files leaves them open: after a thousand no more can be opened.
      await this.until('who is to be killed has begun', () => this.get(TELL.phase, row) !== PHASE.loading);
      const death = await this.kill(row);
      settle?.(death);
      this.replace(death.row);
      if (kill === kills >> 1) await this.calm();
    }
  }

  /** Tells all to stop, and waits until they have. */
  async stop(wake?: () => void): Promise<void> {
    await this.calm();
    this.set(ALL.stop, 1);
    wake?.();
    await this.until('every thread has ended', () => this.allEnded);
  }

  /** Waits until something holds. @throws Error that shows all threads. */
  async until(what: string, holds: () => boolean): Promise<void> {
    this.#movedAtMs = performance.now();
    for (;;) {
      if (this.#failures.length > 0) throw new Error(`${this.#failures.join('\n')}\n${this.picture()}`);
      if (holds()) return;
      this.#assertMotion(what);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** What every thread told last. */
  picture(): string {
    const rows = this.#members.slice(1).map(({ job, row, ended }) => {
      const words = [...this.told.subarray(row * ROW_WORDS, (row + 1) * ROW_WORDS)];
      const state = ended ? 'ended' : PHASE_NAMES[words[TELL.phase]!];
      return `  row ${row} ${job}: ${state}, ${words.slice(TELL.done).join(' ')}`;
    });
    const deaths = this.deaths.map(({ row, phase }) => `${row} ${PHASE_NAMES[phase]}`);
    const all = this.told.subarray(0, ROW_WORDS).join(' ');
    return [`  seed ${this.#seed}, all: ${all}`, ...rows, `  killed: ${deaths.join(', ')}`].join('\n');
  }

  #start(row: number): void {
    this.set(TELL.phase, PHASE.loading, row);
    this.#members[row] = this.#spawn(this.#jobs[row - 1]!, row);
  }

  #spawn(job: string, row: number): Member {
    const workerData: MortalData = {
      mortal: job,
      handles: this.#objects.map(({ handle }) => handle),
      told: this.told.buffer,
      row,
      threads: this.threads,
    };
    const worker = new Worker(new URL('./deaths-threads.test-worker.js', import.meta.url), { workerData });
    for (const segment of new Set(this.#objects.map((object) => object.segment!))) segment.watch(worker);
    worker.on('error', (error) => {
      this.#failures.push(`${job} in row ${row} failed: ${(error as Error).stack ?? String(error)}`);
    });
    const member: Member = {
      worker,
      job,
      row,
      exit: new Promise((resolve) => worker.once('exit', () => resolve())),
      ended: false,
    };
    void member.exit.then(() => {
      member.ended = true;
    });
    return member;
  }

  async #terminate(): Promise<void> {
    this.set(ALL.calm, 1);
    await Promise.all(this.#members.map(({ worker }) => worker.terminate()));
  }

  #assertMotion(what: string): void {
    let motion = 0;
    for (const word of this.told) motion = (Math.imul(motion, 31) + word) | 0;
    const nowMs = performance.now();
    if (motion !== this.#motion) {
      this.#motion = motion;
      this.#movedAtMs = nowMs;
    } else if (nowMs - this.#movedAtMs > STUCK_MS) {
      throw new Error(`Nothing moves any more, and this does not hold: ${what}\n${this.picture()}`);
    }
  }
}
