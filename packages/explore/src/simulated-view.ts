import {
  type AnyTypedArray,
  type ElementType,
  type ElementValue,
  elementTypes,
  INT32,
} from './element-types.js';
import { type Operation, READ, READ_RANGE, WRITE, WRITE_RANGE } from './operation.js';
import type { SimulatedBuffer } from './simulated-buffer.js';

/** What a simulated view looks at. */
export interface ViewRange {
  readonly buffer: SimulatedBuffer;
  readonly type: ElementType;
  /** From the start of its buffer, as `byteOffset` gives it. */
  readonly byteOffset: number;
  readonly length: number;
}

const ranges = new WeakMap<object, ViewRange>();

/** The range that a simulated view looks at; undefined for everything else. */
export function viewRange(view: unknown): ViewRange | undefined {
  return typeof view === 'object' && view !== null ? ranges.get(view) : undefined;
}

/** The address of an element in the simulated memory. */
export function elementAddress(range: ViewRange, index: number): number {
  return range.buffer.start + range.byteOffset + index * range.type.bytes;
}

const element = (range: ViewRange, kind: number, index: number, a: ElementValue): Operation => ({
  kind,
  type: range.type.id,
  address: elementAddress(range, index),
  count: 1,
  a,
  b: 0,
  flags: 0,
  values: null,
});

/** Coerces a value as storing it into a view of this type does. */
export function coerceElement(type: ElementType, value: unknown): ElementValue {
  if (type.id === INT32 && typeof value === 'number') return value | 0;
  const one = new type.construct(1);
  one[0] = value as ElementValue;
  return one[0]!;
}

function readRange(range: ViewRange, begin: number, end: number): ElementValue[] {
  if (end <= begin) return [];
  const operation = { ...element(range, READ_RANGE, begin, 0), count: end - begin };
  return [...(range.buffer.performer.perform(operation) as readonly ElementValue[])];
}

function writeRange(range: ViewRange, begin: number, values: readonly unknown[]): void {
  if (values.length === 0) return;
  if (begin < 0 || begin + values.length > range.length) {
    range.buffer.performer.refuse(
      'out-of-bounds',
      `writes elements ${begin} to ${begin + values.length - 1} of a view of ${range.length}`,
    );
  }
  const coerced = values.map((value) => coerceElement(range.type, value));
  const operation = { ...element(range, WRITE_RANGE, begin, 0), count: coerced.length, values: coerced };
  range.buffer.performer.perform(operation);
}

/** A relative index of `slice`, `fill` and the like, made absolute. */
function absolute(index: unknown, length: number, whenAbsent: number): number {
  if (index === undefined) return whenAbsent;
  const whole = Math.trunc(Number(index)) || 0;
  return whole < 0 ? Math.max(0, length + whole) : Math.min(whole, length);
}

type Method = (range: ViewRange, view: object, ...args: never[]) => unknown;

/**
 * Members of a view that are not elements. A method that touches several elements is one access to a range;
 * methods not listed here are those of `Array.prototype`, which touch one element after the other.
 */
const members: Record<string, Method> = {
  subarray: (range, _view, begin?: number, end?: number) => {
    const from = absolute(begin, range.length, 0);
    const to = Math.max(from, absolute(end, range.length, range.length));
    return simulatedView(range.buffer, range.type, range.byteOffset + from * range.type.bytes, to - from);
  },
  set: (range, _view, source: ArrayLike<unknown>, offset = 0) => {
    const from = viewRange(source);
    writeRange(range, offset, from === undefined ? Array.from(source) : readRange(from, 0, from.length));
  },
  copyWithin: (range, view, target: number, begin: number, end?: number) => {
    const to = absolute(target, range.length, 0);
    const from = absolute(begin, range.length, 0);
    const until = Math.min(absolute(end, range.length, range.length), from + range.length - to);
    writeRange(range, to, readRange(range, from, until));
    return view;
  },
  fill: (range, view, value: unknown, begin?: number, end?: number) => {
    const from = absolute(begin, range.length, 0);
    const to = absolute(end, range.length, range.length);
    writeRange(range, from, new Array(Math.max(0, to - from)).fill(value));
    return view;
  },
  slice: (range, _view, begin?: number, end?: number) => {
    const from = absolute(begin, range.length, 0);
    const to = absolute(end, range.length, range.length);
    const values = readRange(range, from, to);
    const copy = new range.type.construct(values.length);
    values.forEach((value, index) => {
      copy[index] = value;
    });
    return copy;
  },
};

/** What `key` is as an index: a number, or undefined for a name. */
function asIndex(key: string): number | undefined {
  const code = key.charCodeAt(0);
  if ((code >= 48 && code <= 57) || code === 45) return Number(key);
  return key === 'NaN' || key === 'undefined' || key === 'Infinity' ? Number.NaN : undefined;
}

class ViewHandler implements ProxyHandler<AnyTypedArray> {
  readonly #range: ViewRange;

  constructor(range: ViewRange) {
    this.#range = range;
  }

  get(target: AnyTypedArray, key: string | symbol, view: object): unknown {
    const range = this.#range;
    if (typeof key === 'symbol') {
      return key === Symbol.iterator ? () => Array.prototype.values.call(view) : Reflect.get(target, key);
    }
    const index = asIndex(key);
    if (index !== undefined) {
      this.#checkIndex(index, key, 'reads');
      return range.buffer.performer.perform(element(range, READ, index, 0));
    }
    switch (key) {
      case 'length':
        return range.length;
      case 'byteLength':
        return range.length * range.type.bytes;
      case 'byteOffset':
        return range.byteOffset;
      case 'buffer':
        return range.buffer;
      case 'BYTES_PER_ELEMENT':
        return range.type.bytes;
    }
    const member = Object.hasOwn(members, key) ? members[key] : undefined;
    if (member !== undefined) return (...args: never[]) => member(range, view, ...args);
    const generic = (Array.prototype as unknown as Record<string, unknown>)[key];
    if (typeof generic === 'function' && key in target) return generic.bind(view);
    return Reflect.get(target, key);
  }

  set(_target: AnyTypedArray, key: string | symbol, value: unknown): boolean {
    const range = this.#range;
    const index = typeof key === 'string' ? asIndex(key) : undefined;
    if (index === undefined) {
      return range.buffer.performer.refuse('unsupported', `sets the property ${String(key)} of a view`);
    }
    this.#checkIndex(index, String(key), 'writes');
    range.buffer.performer.perform(element(range, WRITE, index, coerceElement(range.type, value)));
    return true;
  }

  has(target: AnyTypedArray, key: string | symbol): boolean {
    const index = typeof key === 'string' ? asIndex(key) : undefined;
    return index === undefined ? key in target : index >= 0 && index < this.#range.length;
  }

  #checkIndex(index: number, key: string, verb: string): void {
    const { length, buffer } = this.#range;
    if (Number.isInteger(index) && index >= 0 && index < length) return;
    buffer.performer.refuse('out-of-bounds', `${verb} element ${key} of a view of ${length}`);
  }
}

/**
 * A typed array over simulated memory: the elements are shared operations of the running thread.
 *
 * It is a proxy for an empty array of the same type, so that `instanceof` holds.
 */
export function simulatedView(
  buffer: SimulatedBuffer,
  type: ElementType,
  byteOffset = 0,
  length = Math.floor((buffer.byteLength - byteOffset) / type.bytes),
): AnyTypedArray {
  if (byteOffset % type.bytes !== 0) {
    throw new RangeError(
      `The start offset of a ${type.name} is a multiple of ${type.bytes}, not ${byteOffset}`,
    );
  }
  if (!(length >= 0) || byteOffset < 0 || byteOffset + length * type.bytes > buffer.byteLength) {
    throw new RangeError(
      `A ${type.name} of ${length} elements from byte ${byteOffset} does not fit ${buffer.byteLength} bytes`,
    );
  }
  const range: ViewRange = { buffer, type, byteOffset, length };
  const view = new Proxy(new type.construct(0), new ViewHandler(range));
  ranges.set(view, range);
  return view;
}

/** A view over the whole of a buffer as 32-bit words. */
export function wordsView(buffer: SimulatedBuffer): Int32Array<SharedArrayBuffer> {
  return simulatedView(buffer, elementTypes[0]!) as Int32Array<SharedArrayBuffer>;
}
