import type { ElementValue } from './element-types.js';
import {
  ADD,
  AND,
  COMPARE_EXCHANGE,
  EXCHANGE,
  LOAD,
  type NOT_EQUAL,
  NOTIFY,
  type Operation,
  OR,
  PAUSE,
  STORE,
  SUB,
  type TIMED_OUT,
  WAIT,
  waitAnswers,
  XOR,
} from './operation.js';
import type { Performer } from './performer.js';
import { coerceElement, elementAddress, type ViewRange, viewRange } from './simulated-view.js';

type View = Int32Array;

/**
 * The `Atomics` of a simulated thread.
 *
 * On a simulated view each call is a shared operation. On a private array it is what it always is, and no step;
 * real shared memory is refused, since other threads would not be simulated there.
 */
export function simulatedAtomics(performer: Performer): Atomics {
  const perform = (range: ViewRange, kind: number, index: number, a: ElementValue, b: ElementValue) => {
    const operation: Operation = {
      kind,
      type: range.type.id,
      address: elementAddress(range, index),
      count: 1,
      a,
      b,
      flags: 0,
      values: null,
    };
    return performer.perform(operation);
  };

  /** The range of a view for an operation on one element, or undefined for a private array. */
  const checked = (view: unknown, index: number, waitable: boolean, name: string): ViewRange | undefined => {
    const range = viewRange(view);
    if (range === undefined) {
      const { buffer } = view as { buffer?: unknown };
      if (buffer instanceof SharedArrayBuffer) {
        performer.refuse('out-of-bounds', `calls Atomics.${name} on shared memory outside the model`);
      }
      return undefined;
    }
    if (!(waitable ? range.type.waitable : range.type.atomic)) {
      throw new TypeError(`Atomics.${name} does not take a ${range.type.name}`);
    }
    if (!Number.isInteger(index) || index < 0 || index >= range.length) {
      performer.refuse(
        'out-of-bounds',
        `calls Atomics.${name} on element ${index} of a view of ${range.length}`,
      );
    }
    return range;
  };

  const readModifyWrite = (kind: number, name: 'add' | 'sub' | 'and' | 'or' | 'xor' | 'exchange') =>
    function operate(view: View, index: number, value: number): number {
      const range = checked(view, index, false, name);
      if (range === undefined) return Atomics[name](view, index, value);
      return perform(range, kind, index, coerceElement(range.type, value), 0) as number;
    };

  const simulated = {
    load(view: View, index: number): number {
      const range = checked(view, index, false, 'load');
      if (range === undefined) return Atomics.load(view, index);
      return perform(range, LOAD, index, 0, 0) as number;
    },
    store(view: View, index: number, value: number): number {
      const range = checked(view, index, false, 'store');
      if (range === undefined) return Atomics.store(view, index, value);
      perform(range, STORE, index, coerceElement(range.type, value), 0);
      return range.type.big ? value : Math.trunc(value) || 0;
    },
    add: readModifyWrite(ADD, 'add'),
    sub: readModifyWrite(SUB, 'sub'),
    and: readModifyWrite(AND, 'and'),
    or: readModifyWrite(OR, 'or'),
    xor: readModifyWrite(XOR, 'xor'),
    exchange: readModifyWrite(EXCHANGE, 'exchange'),
    compareExchange(view: View, index: number, expected: number, replacement: number): number {
      const range = checked(view, index, false, 'compareExchange');
      if (range === undefined) return Atomics.compareExchange(view, index, expected, replacement);
      const a = coerceElement(range.type, expected);
      return perform(range, COMPARE_EXCHANGE, index, a, coerceElement(range.type, replacement)) as number;
    },
    wait(view: View, index: number, expected: number, timeoutMs?: number): 'ok' | 'not-equal' | 'timed-out' {
      const range = checked(view, index, true, 'wait');
      if (range === undefined) return Atomics.wait(view, index, expected, timeoutMs);
      if (!performer.canBlock()) throw new TypeError('Atomics.wait cannot be called in this context');
      const limit = effectiveTimeout(timeoutMs);
      const answer = perform(range, WAIT, index, coerceElement(range.type, expected), limit) as number;
      return waitAnswers[answer as typeof NOT_EQUAL | typeof TIMED_OUT];
    },
    notify(view: View, index: number, count?: number): number {
      const range = checked(view, index, true, 'notify');
      if (range === undefined) return Atomics.notify(view, index, count);
      const most = count === undefined ? Number.POSITIVE_INFINITY : Math.max(0, Math.trunc(count) || 0);
      return perform(range, NOTIFY, index, most, 0) as number;
    },
    waitAsync(): never {
      performer.refuse(
        'unsupported',
        'calls Atomics.waitAsync, whose promise cannot settle in a synchronous thread; drive the step machine instead',
      );
    },
    isLockFree: (size: number) => Atomics.isLockFree(size),
    pause(): void {
      performer.perform(noMemory(PAUSE));
    },
    [Symbol.toStringTag]: 'Atomics' as const,
  };
  return simulated as unknown as Atomics;
}

/** A time-out as `Atomics.wait` takes it: what is not a number waits for ever, nothing is negative. */
export function effectiveTimeout(timeoutMs: number | undefined): number {
  const given = Number(timeoutMs);
  return Number.isNaN(given) ? Number.POSITIVE_INFINITY : Math.max(0, given);
}

/** An operation on no memory: of the clock, of chance, or a pause. */
export function noMemory(kind: number): Operation {
  return { kind, type: 0, address: -1, count: 0, a: 0, b: 0, flags: 0, values: null };
}
