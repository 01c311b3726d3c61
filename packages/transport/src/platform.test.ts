import { execFileSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';
import { Segment } from '@heddle/memory';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { addressFromBytes, addressToBytes } from './address.js';
import { Context } from './context.js';
import type { ContextOptions } from './context-options.js';

function make(options: ContextOptions = {}) {
  const context = Context.create({ janitor: false, maxLanes: 4, laneBytes: 1024, slots: 8, ...options });
  onTestFinished(() => context[Symbol.dispose]());
  const receiver = context.createWorker({ name: 'receiver' });
  const sender = context.createWorker({ name: 'sender' });
  return { context, receiver, sender, endpoint: sender.connect(receiver.address) };
}

/** Makes functions throw that get a shared view, as those of browsers do. */
function beStrict(): void {
  const isShared = (value: unknown) =>
    (ArrayBuffer.isView(value) ? value.buffer : value) instanceof SharedArrayBuffer;
  const guard = (owner: object, name: string) => {
    const real = (owner as Record<string, (...args: unknown[]) => unknown>)[name]!;
    const strict = function (this: unknown, ...args: unknown[]) {
      if (args.flat().some(isShared)) throw new TypeError(`${name} was given a shared view`);
      return real.apply(this, args);
    };
    vi.spyOn(owner as Record<string, () => void>, name).mockImplementation(strict as () => void);
  };
  guard(TextDecoder.prototype, 'decode');
  guard(TextEncoder.prototype, 'encodeInto');
  guard(globalThis.crypto, 'getRandomValues');
  onTestFinished(() => void vi.restoreAllMocks());
}

describe('strict engines', () => {
  it('no shared view is given to a function that browsers refuse it to (PF-01)', async () => {
    beStrict();
    const { context, receiver, sender, endpoint } = make();
    expect(() => new TextDecoder().decode(new Uint8Array(new SharedArrayBuffer(1)))).toThrow(TypeError);
    const text = new TextEncoder().encode('wörter');
    const got: string[] = [];
    receiver.on(1, (message) => {
      const copy = new Uint8Array(message.byteLength);
      message.copyTo(copy);
      got.push(new TextDecoder().decode(copy));
      const lease = context.lease(message.keep().handOver());
      got.push(new TextDecoder().decode(lease.data.slice().subarray(0, 7)));
      lease.release();
    });
    endpoint.send(1, text, text);
    await endpoint.sendAsync(1, new Uint8Array(1000).fill(65));
    const loan = endpoint.loan(text.byteLength)!;
    loan.data.set(text);
    endpoint.trySend(1, loan);
    while (receiver.progress() > 0);
    expect(got).toEqual(['wörter', 'wörter', 'A'.repeat(1000), 'AAAAAAA', 'wörter', 'wörter']);
    expect(addressFromBytes(addressToBytes(receiver.address))).toEqual(receiver.address);
    expect(context.report()).toContain('0 outstanding');
    const again = Context.attach(context.handle);
    expect(() => sender.connect({ ...receiver.address, generation: 99 })).toThrow(/closed/);
    await again.close();
    receiver.close();
  });

  it('what is sent may lie in any buffer, which stays as it was; loans share, the others are copied (PF-02)', () => {
    const { context, receiver, endpoint } = make();
    let data = new Uint8Array(0);
    let place = 0;
    receiver.on(1, (message) => {
      data = message.data.slice();
      place = message.byteOffset;
      // Written here, it is not seen there.
      message.memory.fill(0, message.byteOffset, message.byteOffset + message.byteLength);
    });
    const pooled = Buffer.from('from the pool of Node');
    const shared = new SharedArrayBuffer(600);
    new Uint8Array(shared).set(pooled, 5);
    const own = context.segment.allocate(64);
    const inSegment = context.segment.bytesAt(own.byteOffset, 21);
    inSegment.set(pooled);
    const payloads: Uint8Array[] = [
      pooled,
      new Uint8Array(pooled).subarray(3, 11),
      new Uint8Array(shared, 5, 21),
      Buffer.from(shared, 5, 21),
      new Uint8Array(shared),
      inSegment,
    ];
    for (const payload of payloads) {
      const before = Buffer.from(payload);
      const { buffer, byteOffset, byteLength } = payload;
      endpoint.send(1, payload);
      expect(receiver.progress()).toBe(1);
      expect(Buffer.compare(data, before)).toBe(0);
      // Neither detached nor changed.
      expect(Buffer.compare(payload, before)).toBe(0);
      expect(payload).toMatchObject({ byteOffset, byteLength });
      expect(payload.buffer).toBe(buffer);
    }
    for (const other of [new DataView(new ArrayBuffer(8)), new Uint16Array(4), new ArrayBuffer(8), shared]) {
      expect(() => endpoint.trySend(1, other as never)).toThrow(TypeError);
    }
    const loan = endpoint.loan(300)!;
    const view = loan.data.fill(9);
    endpoint.send(1, loan);
    receiver.progress();
    expect(place).toBe(loan.byteOffset);
    expect(view.every((byte) => byte === 0)).toBe(true);
  });
});

describe('other realms (PF-04)', () => {
  it('a context lives in memory of another realm', () => {
    const buffer: SharedArrayBuffer = runInNewContext('new SharedArrayBuffer(2 ** 22)');
    expect(buffer instanceof SharedArrayBuffer).toBe(false);
    const segment = Segment.create({ buffer });
    onTestFinished(() => segment.detach());
    const { receiver, endpoint } = make({ segment, slotBytes: 2000 });
    const got: number[] = [];
    receiver.on(1, ({ data }) => got.push(data.length));
    endpoint.send(1, runInNewContext('new Uint8Array(10)'));
    endpoint.send(1, new Uint8Array(1500));
    receiver.progress();
    expect(got).toEqual([10, 1500]);
  });

  it('without SharedArrayBuffer it is imported all the same, and says what is missing', () => {
    const script = `
      delete globalThis.SharedArrayBuffer;
      const { Context } = await import(${JSON.stringify(new URL('./index.js', import.meta.url).href)});
      try { Context.create(); } catch (error) { console.log(error.code, error.message); }`;
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    expect(output).toMatch(/^ERR_HEDDLE_UNSUPPORTED .*SharedArrayBuffer/);
  });
});
