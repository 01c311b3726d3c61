import type { Answer, Operation } from './operation.js';

/** What a worker of a replay is started with. */
export interface ReplayWorkerData {
  /** Path of the file that exports the model. */
  readonly file: string;
  readonly model: string;
  /** Which of the model's roles the worker plays. */
  readonly role: number;
  /** The shared memory of the model. */
  readonly memory: SharedArrayBuffer;
  /** One word: rises with each command. The worker sleeps on it between its steps. */
  readonly gate: SharedArrayBuffer;
}

/** What the worker is told to do with the operation at which it is. */
export type ReplayCommand =
  /** To do it on the real memory, and to answer what it answered. */
  | { readonly do: 'perform' }
  /** The same, but to go on with this answer: a hint read late, the clock, chance. */
  | { readonly do: 'impose'; readonly answer: Answer }
  /** To sleep in a real wait until a real notify. */
  | { readonly do: 'sleep' }
  /** To check that the real wait would sleep, and to go on with this answer once told so by the next command. */
  | { readonly do: 'doze'; readonly answer: number };

/** What the worker says. */
export type ReplayMessage =
  | { readonly kind: 'at'; readonly operation: Operation }
  | { readonly kind: 'sleeping' }
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: string };
