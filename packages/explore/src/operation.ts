import type { ElementValue } from './element-types.js';

/** What a shared operation answered: one number, or the elements of a range. */
export type Answer = ElementValue | readonly ElementValue[];

// The kinds of shared operations. Those of `Atomics` come first, then the rest of the platform, then plain access.
export const LOAD = 0;
export const STORE = 1;
export const ADD = 2;
export const SUB = 3;
export const AND = 4;
export const OR = 5;
export const XOR = 6;
export const EXCHANGE = 7;
export const COMPARE_EXCHANGE = 8;
export const WAIT = 9;
export const NOTIFY = 10;
/** An asynchronous wait as one event: sleeps like {@link WAIT}, and may be aborted. */
export const WAIT_EVENT = 11;
export const PAUSE = 12;
export const NOW = 13;
export const RANDOM = 14;
export const READ = 15;
export const WRITE = 16;
export const READ_RANGE = 17;
export const WRITE_RANGE = 18;

// The answers of waits.
export const OK = 0;
export const NOT_EQUAL = 1;
export const TIMED_OUT = 2;
export const ABORTED = 3;

export const waitAnswers = ['ok', 'not-equal', 'timed-out', 'aborted'] as const;

// What an asynchronous wait allows, as bits of the operation's `flags`.
export const MAY_ABORT = 1;
/** Its entry in the queue outlives an abort, and swallows one notify, as that of an engine does. */
export const LEAVES_ENTRY = 2;

/**
 * One shared operation that a simulated thread is about to do.
 *
 * `address` is in bytes. `a` and `b` are its operands, already coerced to the element type: the value; the
 * expected value and the replacement; the expected value and the time-out in milliseconds; the count.
 */
export interface Operation {
  readonly kind: number;
  readonly type: number;
  readonly address: number;
  /** Elements that it touches: more than 1 for ranges only. */
  readonly count: number;
  readonly a: ElementValue;
  readonly b: ElementValue;
  readonly flags: number;
  /** What a range write stores. */
  readonly values: readonly ElementValue[] | null;
}

const names = [
  'load',
  'store',
  'add',
  'sub',
  'and',
  'or',
  'xor',
  'exchange',
  'compareExchange',
  'wait',
  'notify',
  'waitAsync',
  'pause',
  'now',
  'random',
  'read',
  'write',
  'read range',
  'write range',
] as const;

/** The name of a kind of operation, as reports print it. */
export function operationName(kind: number): string {
  return names[kind] ?? `operation ${kind}`;
}

/** Whether it reads or writes memory without `Atomics`. */
export function isPlain(operation: Operation): boolean {
  return operation.kind >= READ;
}

/** Whether two operations are the same to the last operand: what a deterministic thread repeats. */
export function sameOperation(one: Operation, other: Operation): boolean {
  return (
    one.kind === other.kind &&
    one.address === other.address &&
    one.type === other.type &&
    one.count === other.count &&
    Object.is(one.a, other.a) &&
    Object.is(one.b, other.b) &&
    one.flags === other.flags &&
    sameValues(one.values, other.values)
  );
}

function sameValues(one: readonly ElementValue[] | null, other: readonly ElementValue[] | null): boolean {
  if (one === other) return true;
  if (one === null || other === null || one.length !== other.length) return false;
  return one.every((value, index) => Object.is(value, other[index]));
}

/** Whether two answers are the same. */
export function sameAnswer(one: Answer, other: Answer): boolean {
  if (typeof one === 'object' && typeof other === 'object') return sameValues(one, other);
  return Object.is(one, other);
}
