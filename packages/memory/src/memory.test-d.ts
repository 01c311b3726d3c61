import type { Worker } from 'node:worker_threads';
import { expectTypeOf } from 'vitest';
import type { CountingPlatform } from './counting-platform.js';
import {
  defineLayout,
  type ErrorCode,
  field,
  HeddleError,
  type Layout,
  type Platform,
  type Range,
  type RecoveryContext,
  registerKind,
  runAsync,
  runBlocking,
  Segment,
  type SegmentHandle,
  type Steps,
  type StructureInfo,
  Waiter,
  type WatchableWorker,
} from './index.js';

// A layout knows its words by name.
const layout = defineLayout('ring', 1, { tail: field('producer'), head: field('consumer') });
expectTypeOf(layout).toEqualTypeOf<Layout<'tail' | 'head'>>();
expectTypeOf(layout.offsets.tail).toBeNumber();
// @ts-expect-error: no such word
layout.offsets.middle;
// @ts-expect-error: offsets do not change
layout.offsets.tail = 1;

// Node's workers and the counting platform fit as they are.
expectTypeOf<Worker>().toExtend<WatchableWorker>();
expectTypeOf<CountingPlatform>().toExtend<Platform>();

// Views of a segment are views of shared memory.
declare const segment: Segment;
expectTypeOf(segment.wordsAt(0, 4)).toEqualTypeOf<Int32Array<SharedArrayBuffer>>();
expectTypeOf(segment.bytesAt(0, 4)).toEqualTypeOf<Uint8Array<SharedArrayBuffer>>();
expectTypeOf(segment.handle).toEqualTypeOf<SegmentHandle>();
expectTypeOf(segment.allocate(1)).toEqualTypeOf<Range>();
expectTypeOf(segment).toExtend<Disposable>();
// @ts-expect-error: a segment is created or attached, not constructed
new Segment();
// @ts-expect-error: what crosses threads is the handle
Segment.attach(segment);
// @ts-expect-error: it may not be the memory of one thread
Segment.create({ buffer: new ArrayBuffer(8) });

// A structure names its kind by its layout, and its init sees where it lies.
segment.createStructure({
  name: 'a',
  layout,
  byteLength: layout.byteLength,
  init: (info) => expectTypeOf(info).toEqualTypeOf<StructureInfo>(),
});
// @ts-expect-error: no layout
segment.createStructure({ name: 'a', byteLength: 8 });
registerKind({ layout, recover: (context) => expectTypeOf(context).toEqualTypeOf<RecoveryContext>() });

// One step machine, two ways to run it.
declare const steps: Steps<'granted' | 'gave up'>;
declare const platform: Platform;
expectTypeOf(runBlocking(steps, segment.words, platform)).toEqualTypeOf<'granted' | 'gave up'>();
expectTypeOf(runAsync(steps, segment.words, platform)).resolves.toEqualTypeOf<'granted' | 'gave up'>();
expectTypeOf(new Waiter(segment.words, 0).wait(0)).toBeBoolean();
expectTypeOf(new Waiter(segment.words, 0).waitAsync(0)).resolves.toBeBoolean();

// Codes are known.
expectTypeOf(new HeddleError('ERR_HEDDLE_CLOSED', '').code).toEqualTypeOf<ErrorCode>();
// @ts-expect-error: no such code
new HeddleError('ERR_HEDDLE_OTHER', '');
