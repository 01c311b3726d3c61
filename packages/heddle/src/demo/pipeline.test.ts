import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Answer, Block, Courier } from './courier.js';
import { runPipeline } from './pipeline.js';

const BLOCK_BYTES = 8;

/** Answers each block in this thread, the later ones first within a batch. */
class LocalCourier implements Courier {
  readonly #answers: Answer[] = [];
  readonly #waiting: (() => void)[] = [];
  underWay = 0;
  mostUnderWay = 0;
  cancelled = 0;
  failAt = Number.POSITIVE_INFINITY;

  async acquire(): Promise<Block> {
    return { bytes: new Uint8Array(BLOCK_BYTES) };
  }

  cancel(): void {
    this.cancelled++;
  }

  send(block: Block, byteLength: number, sequence: number): void {
    this.mostUnderWay = Math.max(this.mostUnderWay, ++this.underWay);
    const output = block.bytes.slice(0, byteLength);
    this.#answers.push({ sequence, crc: crc32(output), output });
    this.#waiting.shift()?.();
  }

  async receive(): Promise<Answer> {
    if (this.#answers.length === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const answer = this.#answers.pop()!;
    if (answer.sequence >= this.failAt) throw new Error('a worker died');
    return answer;
  }

  finish(): void {
    this.underWay--;
  }

  async close(): Promise<undefined> {}
}

function sourceOf(bytes: Uint8Array) {
  let at = 0;
  return {
    read(block: Uint8Array) {
      const part = bytes.subarray(at, at + block.byteLength);
      block.set(part);
      at += part.byteLength;
      return part.byteLength;
    },
  };
}

const text = Buffer.from('the quick brown fox jumps over the lazy dog, again and again and again');

test('answers in any order are put out in order', async () => {
  const courier = new LocalCourier();
  const out: Uint8Array[] = [];
  const result = await runPipeline(courier, {
    source: sourceOf(text),
    sink: { write: (bytes) => void out.push(bytes) },
    window: 4,
  });
  expect(Buffer.concat(out)).toEqual(text);
  expect(result).toMatchObject({ bytes: text.byteLength, crc: crc32(text) });
  expect(result.blockCrcs).toHaveLength(Math.ceil(text.byteLength / BLOCK_BYTES));
});

test('no more blocks are under way than the window allows, and none is left', async () => {
  const courier = new LocalCourier();
  await runPipeline(courier, { source: sourceOf(text), window: 3 });
  expect(courier.mostUnderWay).toBeLessThanOrEqual(3);
  expect(courier).toMatchObject({ underWay: 0, cancelled: 1 });
});

test('an empty source gives no block, or one where the job needs it', async () => {
  const none = await runPipeline(new LocalCourier(), { source: sourceOf(new Uint8Array()), window: 1 });
  expect(none).toMatchObject({ bytes: 0, crc: 0, blockCrcs: [] });
  const one = await runPipeline(new LocalCourier(), {
    source: sourceOf(new Uint8Array()),
    window: 1,
    atLeastOneBlock: true,
  });
  expect(one).toMatchObject({ bytes: 0, crc: 0, blockCrcs: [0] });
});

test('a failure of the courier, the source or the sink ends the pipeline with that error', async () => {
  const courier = new LocalCourier();
  courier.failAt = 2;
  await expect(runPipeline(courier, { source: sourceOf(text), window: 2 })).rejects.toThrow('a worker died');
  const read = () => {
    throw new Error('unreadable');
  };
  await expect(runPipeline(new LocalCourier(), { source: { read }, window: 2 })).rejects.toThrow(
    'unreadable',
  );
  const write = () => {
    throw new Error('disk full');
  };
  await expect(
    runPipeline(new LocalCourier(), { source: sourceOf(text), sink: { write }, window: 2 }),
  ).rejects.toThrow('disk full');
});
