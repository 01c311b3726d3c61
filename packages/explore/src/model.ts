import type { FailureKind } from './failure.js';
import type { SequentialModel } from './linearizability.js';
import type { SimulatedPlatform, SimulatedThread } from './simulated-thread.js';
import type { LayoutLike, NamedWords, PlacedLayout } from './word-names.js';

/** The code of one thread: an ordinary synchronous function, deterministic but for what its operations answer. */
export type ThreadBody = (thread: SimulatedThread) => unknown;

/** The code that repairs what a dead thread left. `dead` is the index of that thread. */
export type RecoveryBody = (thread: SimulatedThread, dead: number) => unknown;

/** What a check sees when all threads have ended. */
export interface End {
  /** A copy of the words, on which real `Atomics` work. It holds until the check returns. */
  readonly words: Int32Array<SharedArrayBuffer>;
  /** What each thread returned, undefined for a dead one. */
  readonly results: readonly unknown[];
  /** Whether each thread was killed. */
  readonly dead: readonly boolean[];
  /** What recovery threads that ended by themselves returned, in the order in which they were started. */
  readonly recoveries: readonly unknown[];
  /** What `shared` made. Not to be used to reach the memory: that is what `words` is for. */
  readonly shared: unknown;
}

/** A model that whoever explores it names. */
export type UnnamedModel = Omit<Model, 'name'> & { readonly name?: string };

/** A check tells a fault by returning or throwing a reason. */
// biome-ignore lint/suspicious/noConfusingVoidType: a check that only throws returns nothing
export type Verdict = string | undefined | void;

/** How the schedules are chosen. */
export interface Search {
  /**
   * `'exhaustive'` (default): every schedule, states seen before pruned. `'random'`: at each step any choice.
   * `'pct'`: random priorities, changed at a few random steps, which finds a fault of depth d with a known chance.
   */
  readonly strategy?: 'exhaustive' | 'random' | 'pct';
  /** Most switches away from a thread that could go on. Bounds the search. */
  readonly preemptions?: number;
  /** Schedules that `'random'` and `'pct'` run. Default 1,000. */
  readonly schedules?: number;
  /** Seed of the random strategies. Default 1. */
  readonly seed?: number;
  /** Points at which `'pct'` changes priorities. Default 3. */
  readonly changePoints?: number;
  /** Most states. Default 20 million. */
  readonly maxStates?: number;
  /** Most steps. Default none. */
  readonly maxSteps?: number;
  /** Most steps of one schedule. Default 100,000. */
  readonly maxDepth?: number;
  /** Most time in milliseconds. Default none. */
  readonly maxMs?: number;
  /** Steps of one thread after which it counts as a livelock. Default 1,000. */
  readonly maxThreadSteps?: number;
  /** Steps for which a loop that changes nothing is run ahead before it counts as endless. Default 200. */
  readonly spinSteps?: number;
  /** States that the search for the shortest failing schedule may visit; 0 keeps the first found. Default 300,000. */
  readonly shortestStates?: number;
}

/** What a model is expected to show. */
export type Expectation =
  | 'pass'
  | {
      /** The kind of failure, or any of several. */
      readonly fail: FailureKind | readonly FailureKind[];
      /** What the reason must contain or match. */
      readonly reason?: string | RegExp;
    };

/**
 * A small program over shared memory whose every schedule is looked at: two or three threads with one or two
 * operations each.
 */
export interface Model {
  readonly name: string;
  /** 32-bit words of shared memory. Default: up to the end of the last layout. */
  readonly words?: number;
  /** What lies in the words, so that reports name them. A layout alone begins at word 0. */
  readonly layout?: LayoutLike | PlacedLayout | readonly PlacedLayout[];
  /** Names of words that no layout describes: index, or first index and count. */
  readonly names?: NamedWords;
  /** Prepares the memory before the threads start, with ordinary access and real `Atomics`. */
  readonly init?: (words: Int32Array<SharedArrayBuffer>, platform: SimulatedPlatform) => void;
  /**
   * Makes what the threads share, under the simulated globals: for code that allocates its own
   * `SharedArrayBuffer`. The threads find it as `thread.shared`. Runs before `init`.
   */
  readonly shared?: () => unknown;
  /** The threads: a list, or by name. */
  readonly threads: readonly ThreadBody[] | Readonly<Record<string, ThreadBody>>;
  /** Runs as a further thread after each death. Several run side by side, as two detectors of one death do. */
  readonly recover?: RecoveryBody | readonly RecoveryBody[];
  /** Looked at when all threads have ended. */
  readonly check?: (end: End) => Verdict;
  /** Looked at when all threads have ended: says what has leaked or is there twice. */
  readonly conserve?: (end: End) => Verdict;
  /** Looked at in every state. The words are not to be changed. */
  readonly always?: (words: Int32Array) => Verdict;
  /** What the calls recorded with `thread.call` must be explained by, one after the other. */
  readonly sequential?: SequentialModel;
  /** Words whose plain accesses may race, by index or name. A plain read of one gives any value it ever takes. */
  readonly hints?: readonly (number | string)[];
  /** Most threads that are killed in one schedule, recovering ones included. Default 0. */
  readonly kills?: number;
  /** Threads that may be killed, by index or name. Default all. */
  readonly killable?: readonly (number | string)[];
  /** How often each thread's wait may return without a notify. Default 0. */
  readonly strayWakes?: number;
  /** Whether timed waits time out. Default true: at any moment. */
  readonly timeouts?: boolean;
  /** By how many milliseconds the clock may have moved on when it is read, beyond what time-outs move it. */
  readonly clockJumps?: readonly number[];
  /** How many such jumps one schedule has. Default 1. */
  readonly maxClockJumps?: number;
  /** What a random number may be. Default 0 only. */
  readonly randoms?: readonly number[];
  /** Whether plain accesses are checked for data races. Default true. */
  readonly races?: boolean;
  readonly search?: Search;
  /** What changes in a deep run. */
  readonly deep?: Omit<Partial<Model>, 'name' | 'deep' | 'expect'>;
  /** Default `'pass'`. */
  readonly expect?: Expectation;
}

/**
 * Checks a model's declaration and returns it.
 *
 * @throws TypeError or RangeError, naming the model, where the declaration cannot be meant.
 */
export function defineModel(model: Model): Model {
  if (typeof model.name !== 'string' || model.name === '') throw new TypeError('A model has a name');
  const say = (problem: string) => `Model "${model.name}": ${problem}`;
  const bodies = Object.values(model.threads ?? {});
  if (bodies.length === 0) throw new TypeError(say('has no thread'));
  if (bodies.some((body) => typeof body !== 'function')) throw new TypeError(say('a thread is a function'));
  if (model.words !== undefined && (!Number.isSafeInteger(model.words) || model.words < 1)) {
    throw new RangeError(say(`"words" is a whole number from 1, not ${model.words}`));
  }
  if (model.words === undefined && model.layout === undefined) {
    throw new TypeError(say('says neither "words" nor "layout"'));
  }
  for (const key of ['kills', 'strayWakes', 'maxClockJumps'] as const) {
    const count = model[key];
    if (count !== undefined && (!Number.isSafeInteger(count) || count < 0)) {
      throw new RangeError(say(`"${key}" is a whole number from 0, not ${count}`));
    }
  }
  if (model.randoms?.length === 0) throw new RangeError(say('"randoms" needs a value to answer with'));
  if (model.clockJumps?.some((jump) => !(jump > 0))) throw new RangeError(say('a clock jumps forward only'));
  const { strategy = 'exhaustive' } = model.search ?? {};
  if (!STRATEGIES.includes(strategy)) {
    throw new RangeError(say(`"search.strategy" is one of ${STRATEGIES.join(', ')}, not ${strategy}`));
  }
  const { expect = 'pass' } = model;
  if (expect !== 'pass' && expect?.fail === undefined) {
    throw new TypeError(say(`"expect" is 'pass' or { fail: kind }, not ${JSON.stringify(expect)}`));
  }
  for (const [key, value] of Object.entries(model.search ?? {})) {
    if (key !== 'strategy' && key !== 'seed' && !(Number(value) >= 0)) {
      throw new RangeError(say(`"search.${key}" is a number from 0, not ${value}`));
    }
  }
  const slots = bodies.length + (model.kills ?? 0) * recoveriesOf(model).length;
  if (slots > MAX_THREADS) throw new RangeError(say(`needs ${slots} threads, more than ${MAX_THREADS}`));
  return model;
}

const STRATEGIES = ['exhaustive', 'random', 'pct'];

/** Most threads of a model, recovering ones included. */
const MAX_THREADS = 24;

/** The recovery bodies, as a list. */
export function recoveriesOf(model: Model): readonly RecoveryBody[] {
  if (model.recover === undefined) return [];
  return typeof model.recover === 'function' ? [model.recover] : model.recover;
}

/** The model as a deep run explores it. */
export function deepened(model: Model): Model {
  const { deep, ...rest } = model;
  if (deep === undefined) return model;
  return { ...rest, ...deep, search: { ...rest.search, ...deep.search } };
}
