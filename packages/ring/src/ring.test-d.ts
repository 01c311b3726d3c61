import { expectTypeOf } from 'vitest';
import type {
  MpmcQueue,
  MpmcQueueHandle,
  MpscRing,
  MpscRingHandle,
  RecordConsumer,
  RecordProducer,
  RingRecord,
  SpscRing,
  SpscRingHandle,
  SpscStream,
  StreamView,
} from './index.js';

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
expectTypeOf<ReturnType<RecordConsumer['tryRead']>>().toEqualTypeOf<RingRecord | undefined>();
expectTypeOf<ReturnType<MpmcQueue['tryTake']>>().toEqualTypeOf<number | undefined>();

// Streams take samples of any kind, and no plain arrays.
expectTypeOf<Float32Array<ArrayBuffer>>().toExtend<StreamView>();
expectTypeOf<DataView>().toExtend<StreamView>();
expectTypeOf<number[]>().not.toExtend<StreamView>();
expectTypeOf<SpscStream['handle']['heddle']>().toEqualTypeOf<'spsc-stream'>();
