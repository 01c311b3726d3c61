import { expectTypeOf } from 'vitest';
import {
  type MpmcQueue,
  type MpmcQueueHandle,
  type MpscRing,
  type MpscRingHandle,
  type RecordConsumer,
  type RecordProducer,
  type RingRecord,
  SpscRing,
  type SpscRingHandle,
  type SpscStream,
  type StreamView,
} from './index.js';

expectTypeOf(SpscRing.create()).toEqualTypeOf<SpscRing>();
expectTypeOf(SpscRing.create({ capacityBytes: 64 })).toEqualTypeOf<SpscRing>();
// @ts-expect-error: in a segment of several structures it has a name
SpscRing.create(SpscRing.create().segment, { capacityBytes: 64 });

declare const producer: RecordProducer;
declare const consumer: RecordConsumer;
declare const handle: SpscRingHandle;
declare const queue: MpmcQueue;

// Records lie in shared memory, and say so.
expectTypeOf<RingRecord['bytes']>().toEqualTypeOf<Uint8Array<SharedArrayBuffer>>();
expectTypeOf<RecordProducer['memory']>().toEqualTypeOf<Uint8Array<SharedArrayBuffer>>();

// The sides of both rings can be used alike.
expectTypeOf<ReturnType<SpscRing['producer']>>().toExtend<RecordProducer>();
expectTypeOf<ReturnType<MpscRing['producer']>>().toExtend<RecordProducer>();
expectTypeOf<ReturnType<SpscRing['consumer']>>().toExtend<RecordConsumer>();
expectTypeOf<ReturnType<MpscRing['consumer']>>().toExtend<RecordConsumer>();

// A handle of one kind is not that of another.
expectTypeOf<SpscRing['handle']>().toEqualTypeOf<SpscRingHandle>();
expectTypeOf<SpscRingHandle>().not.toExtend<MpscRingHandle>();
expectTypeOf<MpmcQueue['handle']>().toEqualTypeOf<MpmcQueueHandle>();

// Finding nothing is a value that has to be looked at.
expectTypeOf(producer.tryWrite(new Uint8Array(1))).toBeBoolean();
expectTypeOf(producer.tryClaim(8)).toBeNumber();
expectTypeOf(consumer.tryRead()).toEqualTypeOf<RingRecord | undefined>();
expectTypeOf(consumer).toExtend<AsyncIterable<RingRecord>>();
expectTypeOf<ReturnType<MpmcQueue['tryTake']>>().toEqualTypeOf<number | undefined>();

// Without a time limit nothing is undefined.
expectTypeOf(consumer.read()).toEqualTypeOf<RingRecord>();
expectTypeOf(consumer.read({ timeout: 5 })).toEqualTypeOf<RingRecord | undefined>();
expectTypeOf(consumer.readAsync()).resolves.toEqualTypeOf<RingRecord>();
expectTypeOf(consumer.readAsync({ timeout: 5 })).resolves.toEqualTypeOf<RingRecord | undefined>();
expectTypeOf(queue.take()).toBeNumber();
expectTypeOf(queue.take({ spins: 5 })).toBeNumber();
expectTypeOf(queue.take({ timeout: 5 })).toEqualTypeOf<number | undefined>();
declare const waiting: { readonly timeout?: number; readonly spins?: number };
expectTypeOf(queue.take(waiting)).toEqualTypeOf<number | undefined>();
expectTypeOf(queue.takeAsync({ signal: AbortSignal.timeout(5) })).resolves.toBeNumber();
expectTypeOf(queue.takeAsync({ timeout: 5 })).resolves.toEqualTypeOf<number | undefined>();

// Streams take samples of any kind, and no plain arrays.
expectTypeOf<Float32Array<ArrayBuffer>>().toExtend<StreamView>();
expectTypeOf<DataView>().toExtend<StreamView>();
expectTypeOf<number[]>().not.toExtend<StreamView>();
expectTypeOf<SpscStream['handle']['heddle']>().toEqualTypeOf<'spsc-stream'>();

// @ts-expect-error: bytes, not text
producer.tryWrite('text');
// @ts-expect-error: a record is read, its length is not set
consumer.tryRead()!.byteLength = 1;
// @ts-expect-error: the handle of another kind of ring
SpscRing.from({ ...handle, heddle: 'mpsc-ring' });
