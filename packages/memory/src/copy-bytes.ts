import { isSharedArrayBuffer } from './support.js';

/**
 * From so many bytes on, calling Node pays off: where source and target are congruent modulo 8, and where they are not
 * and the engine copies byte by byte.
 */
const NATIVE_FROM = 2048;
const NATIVE_FROM_SHIFTED = 256;
const WORD_MASK = 7;

/** Whether two buffers may be the same memory: a thread has as many objects over shared memory as it was given. */
function mayBeOne(a: ArrayBufferLike, b: ArrayBufferLike): boolean {
  return a === b || (isSharedArrayBuffer(a) && isSharedArrayBuffer(b));
}

/** `this` from `start` to `end` becomes `value`, which is as long. */
type Fill = (this: Uint8Array, value: Uint8Array, start: number, end: number) => unknown;

interface Engine {
  Buffer?: { prototype: { fill: Fill } };
  process?: { versions?: { node?: string; bun?: string; deno?: string } };
}

/**
 * What copies much memory as fast as the machine does, where the engine has it.
 *
 * `TypedArray.prototype.set` moves shared memory word by word, each by an atomic access, since another thread might look.
 * Where no other looks before it is told to, the machine's own copy will do, and that is what Node's `Buffer` fills one
 * array with another by.
 *
 * @param engine where to look; for tests.
 */
export function nativeFill({ Buffer, process }: Engine): Fill | undefined {
  const { node, bun, deno } = process?.versions ?? {};
  return node && !bun && !deno ? Buffer?.prototype.fill : undefined;
}

const fill = nativeFill(globalThis as Engine);

const { set } = Uint8Array.prototype;

/** The copy of the engine. Looked up once: finding it at each call takes a third of the time of a short copy. */
function setBytes(target: Uint8Array, source: Uint8Array, at: number): void {
  if (ArrayBuffer.isView(target)) set.call(target, source, at);
  // A simulated array, which has its own.
  else (target as Uint8Array).set(source, at);
}

/**
 * Copies bytes, like `target.set(source, at)`, into shared memory or out of it: on Node two to three times as fast from
 * some kilobytes on, and more where their offsets are not congruent modulo 8 (`pnpm bench atomics`, rows `copy`).
 *
 * Other threads must not look at the target, nor change the source, before this returns and they are told so by an
 * `Atomics` call: it is not atomic in any part.
 *
 * @param length bytes of the source that there was made room for: it may be longer by now, where its memory grows.
 * @throws RangeError where that does not fit. Nothing is copied then.
 */
export function copyBytes(target: Uint8Array, source: Uint8Array, at = 0, length = source.length): void {
  const bytes = source.length === length ? source : source.subarray(0, length);
  if (length < NATIVE_FROM_SHIFTED || fill === undefined || at + length > target.length) {
    setBytes(target, bytes, at);
    return;
  }
  const distance = target.byteOffset + at - bytes.byteOffset;
  if (
    (length < NATIVE_FROM && (distance & WORD_MASK) === 0) ||
    (Math.abs(distance) < length && mayBeOne(target.buffer, bytes.buffer))
  ) {
    setBytes(target, bytes, at);
  } else {
    fill.call(target, bytes, at, at + length);
  }
}
