import { describe, expect, it } from 'vitest';
import { explore } from './explore.js';
import { placedLayouts, WordNames } from './word-names.js';

const lock = {
  kind: 'lock',
  wordCount: 4,
  fields: [
    { name: 'state', offset: 0, length: 1 },
    { name: 'owners', offset: 2, length: 2 },
  ],
};

describe('names of words', () => {
  it('come from layouts, with a label where several lie in one memory, and from the model', () => {
    const layouts = placedLayouts([
      { layout: lock, at: 0 },
      { layout: lock, at: 8, label: 'inner' },
    ]);
    const names = new WordNames(layouts, { count: 12, slots: [13, 2] });
    expect([0, 1, 3, 8, 11, 12, 14].map((word) => names.nameOf(word))).toEqual([
      'state',
      'words[1]',
      'owners[1]',
      'inner.state',
      'inner.owners[1]',
      'count',
      'slots[1]',
    ]);
    expect([names.nameOfAddress(34), names.nameOfAddress(48)]).toEqual(['inner.state+2', 'count']);
    expect([names.indexOf('inner.owners'), names.indexOf('slots[1]'), names.indexOf('none')]).toEqual([
      10,
      14,
      undefined,
    ]);
  });

  it('size the memory, and refuse one that does not hold them', () => {
    const model = { name: 'laid out', layout: lock, threads: [() => {}] };
    let length = 0;
    explore({
      ...model,
      check: ({ words }) => {
        length = words.length;
      },
    });
    expect(length).toBe(4);
    expect(() => explore({ ...model, words: 3 })).toThrow('do not hold');
  });

  it('are what a report uses', () => {
    const { failure } = explore({
      name: 'named',
      layout: lock,
      threads: [({ words, atomics }) => atomics.wait(words, 2, 0)],
    });
    expect(failure?.reason).toContain('T0 sleeps on owners[0] while it is 0');
    expect(failure?.columns).toContain('wait owners[0] while 0: sleeps');
  });
});
