import { type AtomicsLike, defineLayout, field, type Platform, realPlatform } from '@heddle/memory';
import { expectTypeOf } from 'vitest';

// The engine's own objects fit the seam as they are, and so does the real platform.
expectTypeOf<typeof Atomics>().toExtend<AtomicsLike>();
expectTypeOf(realPlatform).toExtend<Platform>();

// A layout knows its words by name, in whatever package it was declared.
const { offsets } = defineLayout('example', 1, { head: field('consumer'), tail: field('producer') });
expectTypeOf(offsets).toEqualTypeOf<Readonly<Record<'head' | 'tail', number>>>();
// @ts-expect-error: no such word
offsets.middle;
