import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyBytes, nativeFill } from './copy-bytes.js';

const shared = (byteLength: number) => new Uint8Array(new SharedArrayBuffer(byteLength));
const isolated = (byteLength: number) => new Uint8Array(byteLength);
const kinds = fc.constantFrom(shared, isolated);

/** More than what the engine copies itself. */
const MUCH = 10_000;

/** Bytes that tell where they were, none of which is 0. */
function filled(bytes: Uint8Array): Uint8Array {
  for (let i = 0; i < bytes.length; i++) bytes[i] = 1 + (i % 251);
  return bytes;
}

describe('copyBytes', () => {
  it('copies what set does, of any size, from and to any kind of memory at any offset', () => {
    fc.assert(
      fc.property(kinds, kinds, fc.nat(MUCH), fc.nat(17), fc.nat(17), (from, to, length, start, at) => {
        const source = filled(from(start + length)).subarray(start);
        const target = to(at + length + 9);
        const expected = to(target.length);
        expected.set(source, at);
        copyBytes(target, source, at);
        expect(Buffer.compare(target, expected)).toBe(0);
      }),
    );
  });

  it.each([10, 300, MUCH])('copies %d bytes of a source that is longer', (length) => {
    const target = shared(length + 5);
    copyBytes(target, filled(shared(length + 100)), 1, length);
    expect(target.subarray(1, length + 1)).toEqual(filled(shared(length)));
    expect([target[0], ...target.subarray(length + 1)]).toEqual([0, 0, 0, 0, 0]);
  });

  it.each([10, MUCH])('refuses %d bytes that do not fit, and copies none of them', (length) => {
    const target = shared(length + 5);
    expect(() => copyBytes(target, filled(isolated(length)), 6)).toThrow(RangeError);
    expect(() => copyBytes(target, filled(isolated(length)), -1)).toThrow(RangeError);
    expect(target.every((byte) => byte === 0)).toBe(true);
  });

  it.each([1, -1])('moves bytes that overlap, by %d', (by) => {
    const bytes = filled(shared(MUCH + 2));
    const expected = bytes.slice(1, MUCH + 1);
    copyBytes(bytes, bytes.subarray(1, MUCH + 1), 1 + by);
    expect(bytes.slice(1 + by, MUCH + 1 + by)).toEqual(expected);
  });

  it.each([1, -1])('moves them also where source and target are two objects over one memory, by %d', (by) => {
    const bytes = filled(shared(MUCH + 2));
    const { port1, port2 } = new MessageChannel();
    port1.postMessage(bytes);
    const same = receiveMessageOnPort(port2)!.message as Uint8Array;
    port1.close();
    expect(same.buffer).not.toBe(bytes.buffer);
    const expected = bytes.slice(1, MUCH + 1);
    copyBytes(bytes, same.subarray(1, MUCH + 1), 1 + by);
    expect(same.slice(1 + by, MUCH + 1 + by)).toEqual(expected);
  });

  it('uses the fill of Node, and of no runtime that stands in for it', () => {
    const { Buffer } = globalThis;
    const node = '20.0.0';
    expect(nativeFill({ Buffer, process: { versions: { node } } })).toBe(Buffer.prototype.fill);
    for (const engine of [
      {},
      { Buffer },
      { process: { versions: { node } } },
      { Buffer, process: { versions: { node, bun: '1.0.0' } } },
      { Buffer, process: { versions: { node, deno: '2.0.0' } } },
    ]) {
      expect(nativeFill(engine)).toBeUndefined();
    }
  });
});
