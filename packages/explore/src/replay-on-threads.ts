import { fileURLToPath } from 'node:url';
import { ABORT, choiceKind, KILL, STEP, STRAY_WAKE, TIME_OUT } from './choice.js';
import { settledTrace } from './explore.js';
import { loadModels } from './load-models.js';
import { LockStepThread } from './lock-step-thread.js';
import {
  ABORTED,
  type Answer,
  NOW,
  OK,
  type Operation,
  PAUSE,
  RANDOM,
  sameAnswer,
  sameOperation,
  TIMED_OUT,
} from './operation.js';
import { compileModel } from './program.js';
import type { ReplayCommand, ReplayMessage } from './replay-messages.js';
import { decodeSchedule } from './replay-string.js';
import { formatTrace } from './report.js';
import { sameResult } from './same-result.js';
import { Simulation } from './simulation.js';
import type { Trace, TraceStep } from './trace.js';

/** Which schedule to replay. */
export interface ThreadReplayOptions {
  /** Path or URL of the built file that exports the model: each worker loads it. */
  readonly file: string | URL;
  /** Name of the model. */
  readonly model: string;
  /** The schedule, as a failure report gives it. */
  readonly replay: string;
  /**
   * Milliseconds that a thread is given to fall asleep in its wait, which nothing can observe. Where they do not
   * suffice the replay is tried again with more. Default 5.
   */
  readonly settleMs?: number;
}

/** How the replay went. */
export interface ThreadReplay {
  /** Whether every operation answered on the real engine what it answered in the simulator, and all ended alike. */
  readonly agrees: boolean;
  /** Where it did not, in words. */
  readonly differences: readonly string[];
  /** Steps done. */
  readonly steps: number;
  /** Real `terminate()` calls. */
  readonly kills: number;
  /** Steps whose answer was the simulator's: the clock, chance, hints read late, stray wakes, aborts, time-outs. */
  readonly imposed: number;
  /** The shared words at the end. */
  readonly words: Int32Array<SharedArrayBuffer>;
  /** The schedule, one column per thread. */
  readonly columns: string;
}

/** Tries with a longer and longer time to fall asleep. */
const ATTEMPTS = 4;

/**
 * Replays a schedule with real workers, real `Atomics` on real shared memory, and a real `terminate()` at each death.
 * The workers go in lock step: each waits before each of its shared operations until it is told to go on.
 *
 * Real are all accesses, sleeping in `Atomics.wait`, being woken by `Atomics.notify`, and dying. Imposed are the clock,
 * chance, hints read late and waits that end otherwise than by a notify.
 *
 * @throws RangeError where the file exports no such model or the schedule is not one of it.
 */
export async function replayOnThreads(options: ThreadReplayOptions): Promise<ThreadReplay> {
  const file = options.file instanceof URL ? fileURLToPath(options.file) : options.file;
  const loaded = (await loadModels(file)).find(({ model }) => model.name === options.model);
  if (loaded === undefined) throw new RangeError(`${file} exports no model "${options.model}"`);
  const simulation = new Simulation(compileModel(loaded.model));
  const trace = settledTrace(simulation, decodeSchedule(options.replay));
  let settleMs = options.settleMs ?? 5;
  for (let attempt = 1; ; attempt++, settleMs *= 8) {
    const replay = new Replay(file, simulation, trace, settleMs);
    const result = await replay.run();
    if (result.agrees || attempt === ATTEMPTS) return result;
  }
}

class Replay {
  readonly #file: string;
  readonly #simulation: Simulation;
  readonly #trace: Trace;
  readonly #settleMs: number;
  readonly #memory: SharedArrayBuffer;
  readonly #threads = new Map<number, LockStepThread>();
  readonly #differences: string[] = [];
  #kills = 0;
  #imposed = 0;

  constructor(file: string, simulation: Simulation, trace: Trace, settleMs: number) {
    this.#file = file;
    this.#simulation = simulation;
    this.#trace = trace;
    this.#settleMs = settleMs;
    this.#memory = new SharedArrayBuffer(simulation.program.wordCount * 4);
    new Int32Array(this.#memory).set(simulation.initialWords);
  }

  async run(): Promise<ThreadReplay> {
    const { program } = this.#simulation;
    let steps = 0;
    try {
      for (let thread = 0; thread < program.threadCount; thread++) await this.#start(thread, thread);
      for (const step of this.#trace.steps) {
        await this.#take(step, steps);
        steps++;
        if (this.#differences.length > 0) break;
      }
      if (this.#differences.length === 0) this.#compareEnds();
    } finally {
      await Promise.all([...this.#threads.values()].map((thread) => thread.terminate()));
    }
    return {
      agrees: this.#differences.length === 0,
      differences: this.#differences,
      steps,
      kills: this.#kills,
      imposed: this.#imposed,
      words: new Int32Array(this.#memory),
      columns: formatTrace(this.#trace),
    };
  }

  async #start(slot: number, role: number): Promise<void> {
    const thread = new LockStepThread({
      file: this.#file,
      model: this.#simulation.program.model.name,
      role,
      memory: this.#memory,
      gate: new SharedArrayBuffer(4),
    });
    this.#threads.set(slot, thread);
    await thread.next();
  }

  async #take(step: TraceStep, at: number): Promise<void> {
    const thread = this.#threads.get(step.thread)!;
    const kind = choiceKind(step.choice);
    if (kind === KILL) {
      await thread.terminate();
      this.#kills++;
      for (const slot of step.begun) await this.#start(slot, step.recoveryRoles.get(slot)!);
      return;
    }
    if (kind === STEP) await this.#perform(thread, step, at);
    else {
      this.#imposed++;
      thread.command({ do: 'perform' });
      await this.#expectAnswer(thread, step, at);
    }
    for (const slot of step.woken) await this.#expectWake(this.#threads.get(slot)!, slot, at);
  }

  async #perform(thread: LockStepThread, step: TraceStep, at: number): Promise<void> {
    const { last } = thread;
    if (last.kind !== 'at' || !sameOperation(last.operation, step.operation!)) {
      this.#differ(at, `${this.#name(step.thread)} is at ${describe(last)}`);
      return;
    }
    if (step.answer === undefined) {
      thread.command(this.#sleepCommand(step.thread, at));
      const message = await thread.next();
      if (message.kind !== 'sleeping') this.#differ(at, `${this.#name(step.thread)} did not sleep`);
      await new Promise((resolve) => setTimeout(resolve, this.#settleMs));
      return;
    }
    const imposes = isImposed(step.operation!) || step.late;
    if (imposes) this.#imposed++;
    thread.command(imposes ? { do: 'impose', answer: step.answer } : { do: 'perform' });
    await this.#expectAnswer(thread, step, at);
  }

  async #expectAnswer(thread: LockStepThread, step: TraceStep, at: number): Promise<void> {
    const message = await thread.next();
    if (message.kind !== 'answered' || !sameAnswer(message.answer, step.answer!)) {
      this.#differ(at, `${step.text}: on the real engine ${describe(message)}`);
      return;
    }
    await thread.next();
  }

  async #expectWake(thread: LockStepThread, slot: number, at: number): Promise<void> {
    const message = await thread.next();
    if (message.kind !== 'answered' || message.answer !== OK) {
      this.#differ(at, `${this.#name(slot)} was to be woken, and ${describe(message)}`);
      return;
    }
    await thread.next();
  }

  /** How the sleep that begins here ends, which decides whether it can be a real one. */
  #sleepCommand(thread: number, at: number): ReplayCommand {
    for (const later of this.#trace.steps.slice(at + 1)) {
      if (later.woken.includes(thread)) break;
      if (later.thread !== thread) continue;
      const kind = choiceKind(later.choice);
      if (kind === TIME_OUT) return { do: 'doze', answer: TIMED_OUT };
      if (kind === STRAY_WAKE) return { do: 'doze', answer: OK };
      if (kind === ABORT) return { do: 'doze', answer: ABORTED };
      break;
    }
    return { do: 'sleep' };
  }

  #compareEnds(): void {
    const words = new Int32Array(this.#memory);
    const { names } = this.#simulation.program;
    words.forEach((value, word) => {
      if (value === this.#trace.words[word]) return;
      this.#differences.push(
        `${names.nameOf(word)} ends as ${value}, in the simulator as ${this.#trace.words[word]}`,
      );
    });
    const { failure, results, steps } = this.#trace;
    // Of a thread whose step was the failure the simulator does not know how it goes on.
    const failed = failure === null ? undefined : steps.at(-1)?.thread;
    for (const [slot, thread] of this.#threads) {
      const { last } = thread;
      if (last.kind !== 'returned') continue;
      if (results.has(slot) ? sameResult(last.value, results.get(slot)) : slot === failed) continue;
      this.#differences.push(`${this.#name(slot)} returned something else than in the simulator`);
    }
  }

  #differ(at: number, what: string): void {
    this.#differences.push(`Step ${at + 1}: ${what}`);
  }

  #name(slot: number): string {
    return this.#trace.threads[slot] ?? `thread ${slot}`;
  }
}

function isImposed({ kind }: Operation): boolean {
  return kind === NOW || kind === RANDOM || kind === PAUSE;
}

function describe(message: ReplayMessage): string {
  switch (message.kind) {
    case 'answered':
      return `it answered ${formatAnswer(message.answer)}`;
    case 'threw':
      return `it threw ${message.error}`;
    case 'returned':
      return 'it has returned';
    default:
      return message.kind === 'sleeping' ? 'it sleeps' : 'it is at another operation';
  }
}

function formatAnswer(answer: Answer): string {
  return typeof answer === 'object' ? `[${answer.join()}]` : String(answer);
}
