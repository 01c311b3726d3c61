import { expectTypeOf } from 'vitest';
import { MpmcQueue, type RingRecord, type Segment, SpscRing, type SpscRingHandle } from './index.js';

declare const segment: Segment;
const ring = SpscRing.create(segment, { name: 'r', capacityBytes: 4096 });
const producer = ring.producer();
const consumer = ring.consumer();

expectTypeOf(ring.handle).toEqualTypeOf<SpscRingHandle>();
expectTypeOf(producer.tryWrite(new Uint8Array(1))).toBeBoolean();
expectTypeOf(producer.tryClaim(8)).toBeNumber();
expectTypeOf(consumer.tryRead()).toEqualTypeOf<RingRecord | undefined>();
// Without a time limit nothing is undefined.
expectTypeOf(consumer.read()).toEqualTypeOf<RingRecord>();
expectTypeOf(consumer.read({ timeout: 5 })).toEqualTypeOf<RingRecord | undefined>();
const queue = MpmcQueue.create(segment, { name: 'q' });
expectTypeOf(queue.take()).toBeNumber();
expectTypeOf(queue.take({ spins: 5 })).toBeNumber();
expectTypeOf(queue.take({ timeout: 5 })).toEqualTypeOf<number | undefined>();
declare const waiting: { readonly timeout?: number; readonly spins?: number };
expectTypeOf(queue.take(waiting)).toEqualTypeOf<number | undefined>();
expectTypeOf(queue.takeAsync({ signal: AbortSignal.timeout(5) })).resolves.toBeNumber();
expectTypeOf(queue.takeAsync({ timeout: 5 })).resolves.toEqualTypeOf<number | undefined>();
expectTypeOf(consumer.readAsync()).resolves.toEqualTypeOf<RingRecord | undefined>();
expectTypeOf(consumer).toExtend<AsyncIterable<RingRecord>>();
// @ts-expect-error: bytes, not text
producer.tryWrite('text');
// @ts-expect-error: a record is read, its length is not set
consumer.tryRead()!.byteLength = 1;
// @ts-expect-error: the handle of another kind of ring
SpscRing.from({ ...ring.handle, heddle: 'mpsc-ring' });
