import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { CannotRunHere, type ExternalVariant, type RoundResult, type Runner } from '../core/suite.js';

/** A test of `ucx_perftest`, with messages of so many bytes. */
export interface UcxTest {
  readonly test: 'ucp_am_lat' | 'ucp_am_bw' | 'tag_lat' | 'tag_bw';
  readonly messageBytes: number;
  /** An operation is a round trip, where the test counts one way of it. */
  readonly roundTrip?: boolean;
}

const PROGRAM = 'ucx_perftest';
const NEEDS = `it needs ${PROGRAM} (Debian: apt-get install ucx-utils)`;

/** Messages of the first run, which tells how many fit into a round, and the fewest of a round. */
const FIRST_ITERATIONS = 1000;
const LEAST_ITERATIONS = 100;

/** The part of a run's messages that are sent ahead to warm up. */
const WARM_UP = 0.1;

/** A client that comes before its server is refused; then it comes again, at most so often. */
const MOST_ATTEMPTS = 200;

/** How long a run may take beyond its time before it counts as hung. */
const HANG_LIMIT_MS = 30_000;

/** What a run said: nanoseconds a message. */
export interface UcxFigures {
  readonly iterations: number;
  /** Of single messages, one way. Only the tests of latency have it. */
  readonly medianNs: number;
  /** Over the whole run. */
  readonly overallNs: number;
}

/**
 * Native UCX over posix shared memory: two processes that poll, one on each core.
 *
 * Each round is a run of both. Of latency the figure is the median that UCX reports, which no interruption moves, of
 * rates the one over the whole run.
 */
export class UcxRunner implements Runner {
  /** It is compiled ahead, and warms up before each run. */
  readonly warm = true;
  readonly #test: UcxTest;
  readonly #cores: readonly number[];
  readonly #running = new Set<ChildProcess>();
  #nsPerMessage = 0;

  private constructor(test: UcxTest, cores: readonly number[]) {
    this.#test = test;
    this.#cores = cores;
  }

  /** @throws CannotRunHere where the program is missing, or finds no shared memory. */
  static async open(test: UcxTest, cores: readonly number[]): Promise<UcxRunner> {
    const runner = new UcxRunner(test, cores);
    try {
      runner.#nsPerMessage = (await runner.#run(FIRST_ITERATIONS, 0)).overallNs;
      return runner;
    } catch (error) {
      await runner.close();
      throw new CannotRunHere(error instanceof Error ? error.message : String(error));
    }
  }

  async round(timeMs: number): Promise<RoundResult> {
    const wanted = Math.max(LEAST_ITERATIONS, Math.round((timeMs * 1e6) / this.#nsPerMessage));
    const { iterations, medianNs, overallNs } = await this.#run(wanted, timeMs);
    this.#nsPerMessage = overallNs;
    const ways = this.#test.roundTrip ? 2 : 1;
    const isLatency = this.#test.test.endsWith('_lat');
    const wallNs = iterations * overallNs;
    return {
      nsPerOperation: ways * (isLatency ? medianNs : overallNs),
      slowestNs: ways * overallNs,
      batchNs: wallNs,
      work: [iterations / ways, iterations / ways],
      driving: [true, false],
      cpuMs: [null, null],
      wallMs: wallNs / 1e6,
      figures: {},
      timerSaturated: false,
    };
  }

  async close(): Promise<void> {
    for (const child of this.#running) child.kill('SIGKILL');
  }

  async #run(iterations: number, timeMs: number): Promise<UcxFigures> {
    const port = String(await freePort());
    const { test, messageBytes } = this.#test;
    const server = this.#start(['-p', port], this.#cores[1]);
    const watchdog = setTimeout(() => void this.close(), timeMs + HANG_LIMIT_MS);
    const warmUp = String(Math.ceil(iterations * WARM_UP));
    const sizes = ['-s', String(messageBytes), '-n', String(iterations), '-w', warmUp];
    const args = ['127.0.0.1', '-p', port, '-t', test, ...sizes, '-v'];
    try {
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const client = await this.#start(args, this.#cores[0]).ended;
        if (client.code === 0) {
          // It ends by itself, and takes its shared memory with it.
          await server.ended;
          return figuresFrom(client.output);
        }
        if (!/refused/i.test(client.output)) throw new Error(`${PROGRAM} failed: ${reasonIn(client.output)}`);
      }
      throw new Error(`The server of ${PROGRAM} takes no connection`);
    } finally {
      clearTimeout(watchdog);
      server.child.kill('SIGKILL');
      await server.ended.catch(() => {});
    }
  }

  #start(args: readonly string[], core: number | undefined) {
    const onCore = core === undefined || this.#cores.length < 2 ? [] : ['-c', String(core)];
    const env = { ...process.env, UCX_TLS: 'posix,self', UCX_WARN_UNUSED_ENV_VARS: 'n' };
    const child = spawn(PROGRAM, [...args, ...onCore], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#running.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const ended = once(child, 'close').then(
      ([code]) => ({ code: code as number | null, output }),
      (error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT' ? new CannotRunHere(NEEDS) : error;
      },
    );
    // Of the server nobody waits while the client runs.
    ended.catch(() => {}).finally(() => this.#running.delete(child));
    return { child, ended };
  }
}

/** A variant of a comparison. */
export function ucx(name: string, test: UcxTest): ExternalVariant {
  return { name, bytesPerOperation: test.messageBytes, open: (cores) => UcxRunner.open(test, cores) };
}

/**
 * The figures in what `ucx_perftest -v` printed: a line of names, lines on the way, marked by thread, and the result.
 *
 * @throws Error where they are not there.
 */
export function figuresFrom(output: string): UcxFigures {
  const lines = output.split('\n').map((line) => line.trim());
  const names = lines.find((line) => line.startsWith('iterations,'))?.split(',') ?? [];
  const values =
    lines
      .filter((line) => /^\d+,[\d.,]+$/.test(line))
      .at(-1)
      ?.split(',')
      .map(Number) ?? [];
  const figure = (isIt: (name: string) => boolean) => values[names.findIndex(isIt)] ?? Number.NaN;
  const iterations = figure((name) => name === 'iterations');
  // Microseconds with three digits behind the point are too coarse for rates, which are given a second as well.
  const medianNs = figure((name) => name.endsWith('percentile_lat')) * 1000;
  const overallNs = 1e9 / figure((name) => name === 'overall_mr');
  if (iterations > 0 && medianNs > 0 && Number.isFinite(overallNs))
    return { iterations, medianNs, overallNs };
  throw new Error(`${PROGRAM} printed no figures that can be read: ${reasonIn(output)}`);
}

/** The line that says most about a failure. */
function reasonIn(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return (lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? 'it said nothing').trim();
}

/** A port on which nobody listens at the moment. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return (address as { port: number }).port;
}
