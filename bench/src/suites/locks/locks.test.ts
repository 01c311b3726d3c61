import { describe, expect, it } from 'vitest';
import { ThreadGroup } from '../../core/thread-group.js';
import { contended } from './contended.js';
import { court } from './court.layout.js';
import type { Arena } from './section.worker.js';

const { sections, claimed } = court.offsets;
const [comparison] = contended(1);
// Those with more threads than cores: somebody loses its core inside of a section.
const variants = comparison!.variants
  .filter((variant) => 'threads' in variant)
  .filter(({ name }) => name.endsWith('-8t'));
const pinning = { available: false, detail: 'a test', cores: [] };

describe('the strategies', () => {
  it.each(variants)('$name excludes', async (variant) => {
    let arena: Arena | undefined;
    const prepare = (threads: number) => {
      const prepared = variant.prepare!(threads);
      arena = prepared.shared as Arena;
      return prepared;
    };
    const group = await ThreadGroup.open(comparison!, { ...variant, prepare }, pinning);
    try {
      for (const timeMs of [5, 20]) await group.round(timeMs);
    } finally {
      await group.close();
    }
    const words = new Int32Array(arena!.court);
    expect(words[sections]).toBe(words[claimed]);
    expect(words[sections]).toBeGreaterThan(0);
  });
});
