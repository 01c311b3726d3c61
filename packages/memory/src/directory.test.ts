import { describe, expect, test } from 'vitest';
import { countingPlatform } from './counting-platform.js';
import { Directory, type StructureOptions } from './directory.js';
import {
  isProposed,
  proposedWord,
  SLOT_EMPTY,
  SLOT_FREE,
  slotWord,
  structureLayout,
} from './directory.layout.js';
import { type Platform, realPlatform } from './platform.js';
import { Space } from './space.js';

const ME = 3;
const OTHER = 4;
const SPACE_BYTES = 64 * 1024;
const SLOTS = 8;
const mutex = { kind: 'mutex', version: 1 };
const pool = { kind: 'pool', version: 1 };

function makeParts(platform: Platform = realPlatform, memory?: SharedArrayBuffer) {
  const base = (SLOTS * 16 + Space.wordCountFor(32)) * 4;
  const buffer = memory ?? new SharedArrayBuffer(base + SPACE_BYTES);
  const words = new Int32Array(buffer);
  const slots = words.subarray(0, SLOTS);
  const space = new Space(words.subarray(SLOTS * 16, base / 4), base, SPACE_BYTES, platform);
  return { buffer, words, slots, space, directory: new Directory(slots, words, space, platform) };
}

const options = (changes: Partial<StructureOptions> = {}): StructureOptions => ({
  name: 'a',
  layout: mutex,
  byteLength: 100,
  ...changes,
});

const code = (name: string) => expect.objectContaining({ code: `ERR_HEDDLE_${name}` });

describe('creating', () => {
  test('makes a structure that others can open', () => {
    const { directory } = makeParts();
    const info = directory.create(options(), ME);
    expect(info).toMatchObject({ name: 'a', kind: 'mutex', version: 1, byteLength: 100 });
    expect(info.byteOffset % 128).toBe(0);
    expect(directory.open('a', mutex)).toEqual(info);
    expect(directory.find('a')).toEqual(info);
    expect(directory.list()).toEqual([info]);
  });

  test('shows the body filled in, never before', () => {
    const { directory, words } = makeParts();
    const info = directory.create(
      options({
        init(info) {
          expect(directory.find('a')).toBeUndefined();
          words[info.byteOffset / 4] = 42;
        },
      }),
      ME,
    );
    expect(words[info.byteOffset / 4]).toBe(42);
  });

  test('aligns the body', () => {
    const { directory } = makeParts();
    expect(directory.create(options({ align: 4096 }), ME).byteOffset % 4096).toBe(0);
    expect(directory.create(options({ name: 'b', align: 4 }), ME).byteOffset % 128).toBe(0);
  });

  test('of a name that is taken is an error, whatever the kind', () => {
    const { directory, space } = makeParts();
    directory.create(options(), ME);
    const before = space.usage();
    expect(() => directory.create(options(), OTHER)).toThrow(code('NAME_TAKEN'));
    expect(() => directory.create(options({ layout: pool }), OTHER)).toThrow(
      expect.objectContaining({
        code: 'ERR_HEDDLE_NAME_TAKEN',
        message: expect.stringContaining('mutex named "a"'),
      }),
    );
    expect(space.usage()).toEqual(before);
  });

  test.each<[Partial<StructureOptions>, typeof TypeError | typeof RangeError]>([
    [{ name: '' }, TypeError],
    [{ name: 5 as never }, TypeError],
    [{ name: 'a\0b' }, TypeError],
    [{ name: 'x'.repeat(65) }, RangeError],
    [{ layout: { kind: 'k'.repeat(33), version: 1 } }, RangeError],
    [{ byteLength: -1 }, RangeError],
    [{ byteLength: 1.5 }, RangeError],
    [{ byteLength: Number.NaN }, RangeError],
    [{ align: 3 }, RangeError],
    [{ align: Number.NaN }, RangeError],
    [{ align: 2 ** 31 }, RangeError],
  ])('refuses %o before anything changes, also where the name exists', (changes, error) => {
    const { directory, words } = makeParts();
    const before = words.slice();
    expect(() => directory.create(options(changes), ME)).toThrow(error);
    expect(words).toEqual(before);
    if (changes.name !== undefined) return;
    directory.create(options(), ME);
    expect(() => directory.openOrCreate(options(changes), ME)).toThrow(error);
  });

  test('leaves nothing behind when init throws', () => {
    const { directory, space } = makeParts();
    const init = () => {
      throw new Error('no');
    };
    expect(() => directory.create(options({ init }), ME)).toThrow('no');
    expect(space.usage().used).toBe(0);
    expect(directory.find('a')).toBeUndefined();
    expect(directory.create(options(), ME).slot).toBeGreaterThanOrEqual(0);
  });

  test('leaves nothing behind when there is no space', () => {
    const { directory, space } = makeParts();
    expect(() => directory.create(options({ byteLength: SPACE_BYTES }), ME)).toThrow(code('OUT_OF_SPACE'));
    expect(space.usage().used).toBe(0);
  });

  test('fails when every slot is used, and leaves nothing behind', () => {
    const { directory, space } = makeParts();
    for (let i = 0; i < SLOTS; i++) directory.create(options({ name: `n${i}` }), ME);
    const { used } = space.usage();
    expect(() => directory.create(options({ name: 'more' }), ME)).toThrow(code('DIRECTORY_FULL'));
    expect(space.usage().used).toBe(used);
    for (let i = 0; i < SLOTS; i++) expect(directory.open(`n${i}`, mutex).name).toBe(`n${i}`);
  });

  test('gives zeroed memory, also where it was used before', () => {
    const { directory, words } = makeParts();
    const first = directory.create(options({ byteLength: 70_000 / 2 }), ME);
    words.fill(-1, first.byteOffset / 4, (first.byteOffset + first.byteLength) / 4);
    directory.remove(first, ME);
    const second = directory.create(options({ name: 'b', byteLength: 70_000 / 2 }), ME);
    expect(second.byteOffset).toBe(first.byteOffset);
    const end = (second.byteOffset + second.range.byteLength - structureLayout.byteLength) / 4;
    expect(words.subarray(second.byteOffset / 4, end).every((word) => word === 0)).toBe(true);
  });
});

describe('two creators of one name', () => {
  /** Runs a second creator inside the first one's init: after it has built, before it publishes. */
  function race(second: StructureOptions) {
    const { directory, space } = makeParts();
    let inner: unknown;
    const outer = () =>
      directory.openOrCreate(
        options({
          init() {
            inner = directory.openOrCreate(second, OTHER);
          },
        }),
        ME,
      );
    return { outer, inner: () => inner, directory, space };
  }

  test('agree on one winner, and the loser frees what it built', () => {
    const { outer, inner, directory, space } = race(options());
    const lost = outer();
    expect(inner()).toMatchObject({ created: true });
    expect(lost).toEqual({ ...(inner() as object), created: false });
    expect(directory.list()).toHaveLength(1);
    expect(space.owned(ME)).toEqual([]);
    expect(space.usage().used).toBe(lost.info.range.byteLength);
  });

  test('of different kinds: the loser is told so', () => {
    const { outer, space } = race(options({ layout: pool }));
    expect(outer).toThrow(code('KIND_MISMATCH'));
    expect(space.owned(ME)).toEqual([]);
  });

  test('of names that meet at one slot both get theirs', () => {
    const { directory } = makeParts();
    for (let i = 0; i < 2; i++) {
      directory.openOrCreate(
        options({
          name: `o${i}`,
          init() {
            for (let j = 0; j < 3; j++) directory.openOrCreate(options({ name: `i${i}${j}` }), OTHER);
          },
        }),
        ME,
      );
    }
    expect(
      directory
        .list()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(['o0', 'o1', 'i00', 'i01', 'i02', 'i10', 'i11', 'i12'].toSorted());
  });

  test('one of whom sees its structure removed by somebody before it has kept it', () => {
    let directory: Directory;
    const counting = countingPlatform();
    const parts = makeParts({
      ...counting,
      atomics: {
        ...counting.atomics,
        compareExchange(words, index, expected, replacement) {
          const found = Atomics.compareExchange(words, index, expected, replacement);
          // The slot's second CAS: from here on everybody can see it.
          if (words === parts.slots && isProposed(expected))
            directory.remove(directory.open('a', mutex), OTHER);
          return found;
        },
      },
    });
    directory = new Directory(
      parts.slots,
      parts.words,
      new Space(
        parts.words.subarray(SLOTS * 16, SLOTS * 16 + Space.wordCountFor(32)),
        (SLOTS * 16 + Space.wordCountFor(32)) * 4,
        SPACE_BYTES,
      ),
    );
    expect(parts.directory.create(options(), ME)).toMatchObject({ name: 'a' });
    expect(directory.find('a')).toBeUndefined();
    expect(parts.space.usage().used).toBe(0);
  });

  test('one of whom gives way and comes again: with another word, that no CAS of who saw the first one hits', () => {
    const counting = countingPlatform();
    const proposals: number[] = [];
    const parts = makeParts({
      ...counting,
      atomics: {
        ...counting.atomics,
        compareExchange(words, index, expected, replacement) {
          const found = Atomics.compareExchange(words, index, expected, replacement);
          if (words !== parts.slots || !isProposed(replacement)) return found;
          // Another creator comes to an earlier place, makes this one give way, and what it creates is removed.
          if (proposals.push(replacement) === 1) words[index] = SLOT_FREE;
          return found;
        },
      },
    });
    const info = parts.directory.create(options(), ME);
    expect(proposals).toHaveLength(2);
    expect(proposals[1]).not.toBe(proposals[0]);
    expect(parts.directory.list()).toEqual([info]);
    expect(parts.space.usage().used).toBe(info.range.byteLength);
  });
});

describe('opening', () => {
  test('checks the kind, and says both', () => {
    const { directory } = makeParts();
    directory.create(options({ layout: pool }), ME);
    expect(() => directory.open('a', mutex)).toThrow(
      expect.objectContaining({ code: 'ERR_HEDDLE_KIND_MISMATCH', message: '"a" is a pool, not a mutex' }),
    );
    expect(() => directory.openOrCreate(options(), ME)).toThrow(code('KIND_MISMATCH'));
  });

  test('checks the version', () => {
    const { directory } = makeParts();
    directory.create(options(), ME);
    expect(() => directory.open('a', { kind: 'mutex', version: 2 })).toThrow(code('VERSION'));
  });

  test('of an unknown name says what there is', () => {
    const { directory } = makeParts();
    expect(() => directory.open('a', mutex)).toThrow(/no structure named "a"; it has none at all/);
    directory.create(options({ name: 'b' }), ME);
    expect(() => directory.open('a', mutex)).toThrow(/it has "b" \(mutex\)/);
  });

  test('takes every name that can be created', () => {
    const { directory } = makeParts();
    for (const name of ['\ufeffbom', '€'.repeat(21), '🧵', ' ', '__proto__', 'x'.repeat(64)]) {
      const info = directory.create(options({ name }), ME);
      expect(directory.open(name, mutex)).toEqual(info);
      expect(() => directory.create(options({ name }), ME)).toThrow(code('NAME_TAKEN'));
    }
  });

  test('hands no shared view to a decoder (PF-01)', () => {
    const decode = TextDecoder.prototype.decode;
    TextDecoder.prototype.decode = function (input, ...rest) {
      if (ArrayBuffer.isView(input) && !(input.buffer instanceof ArrayBuffer)) throw new TypeError('shared');
      return decode.call(this, input, ...rest);
    };
    try {
      const { directory } = makeParts();
      directory.create(options(), ME);
      expect(directory.open('a', mutex).kind).toBe('mutex');
    } finally {
      TextDecoder.prototype.decode = decode;
    }
  });

  test('never finds another structure that took the place of a removed one', () => {
    const { buffer, directory } = makeParts();
    const first = directory.create(options(), ME);
    // A reader that is interrupted, at each of its loads in turn.
    for (let at = 0; ; at++) {
      const victim = directory.find('a') ?? directory.create(options(), ME);
      let loads = 0;
      let replaced = false;
      const counting = countingPlatform();
      const reader = makeParts(
        {
          ...counting,
          atomics: {
            ...counting.atomics,
            load(words, index) {
              if (loads++ === at) {
                replaced = true;
                directory.remove(victim, OTHER);
                directory.create(options({ name: 'thief', byteLength: first.byteLength }), OTHER);
              }
              return Atomics.load(words, index);
            },
          },
        },
        buffer,
      ).directory;
      const found = reader.find('a');
      if (found) expect(found.name).toBe('a');
      if (!replaced) break;
      // Directories have few slots: clear them for the next round.
      new Int32Array(buffer).subarray(0, SLOTS).fill(0);
      for (const range of reader.list()) directory.remove(range, ME);
      new Int32Array(buffer).fill(0);
    }
  });
});

test('finding a name costs 13 loads, and one for each 4 bytes of name and kind', () => {
  const platform = countingPlatform();
  const { directory } = makeParts(platform);
  directory.create(options(), ME);
  platform.reset();
  directory.find('a');
  expect(platform.counts()).toEqual({ load: 16 });
  platform.reset();
  expect(directory.find('nothing')).toBeUndefined();
  expect(platform.total()).toBeLessThanOrEqual(7);
});

describe('removing', () => {
  test('frees the memory, and the name can be created again', () => {
    const { directory, space } = makeParts();
    const info = directory.create(options(), ME);
    expect(directory.remove(info, ME)).toBe(true);
    expect(space.usage().used).toBe(0);
    expect(directory.find('a')).toBeUndefined();
    const second = directory.create(options(), ME);
    expect(second.range).toMatchObject({ index: info.range.index, generation: 1 });
  });

  test('twice is told, and does not touch what came after', () => {
    const { directory } = makeParts();
    const info = directory.create(options(), ME);
    directory.remove(info, ME);
    const after = directory.create(options(), ME);
    expect(directory.remove(info, OTHER)).toBe(false);
    expect(directory.find('a')).toEqual(after);
  });

  test('keeps the names that were probed past it', () => {
    const { directory } = makeParts();
    const infos = Array.from({ length: SLOTS }, (_, i) => directory.create(options({ name: `n${i}` }), ME));
    directory.remove(infos[0]!, ME);
    for (const info of infos.slice(1)) expect(directory.find(info.name)).toEqual(info);
  });
});

describe('a slot whose structure was removed', () => {
  test('is used again, for any name', () => {
    const { directory, space } = makeParts();
    const kept = directory.create(options({ name: 'kept' }), ME);
    const { used } = space.usage();
    const slots = new Set<number>();
    for (let i = 0; i < 10_000; i++) {
      const info = directory.create(options({ name: `n${i}` }), ME);
      slots.add(info.slot);
      expect(directory.find(info.name)).toEqual(info);
      directory.remove(info, ME);
      expect(directory.find(info.name)).toBeUndefined();
    }
    expect(slots.size).toBe(SLOTS - 1);
    expect(space.usage()).toMatchObject({ used, ranges: 2 });
    expect(directory.list()).toEqual([kept]);
  });

  test('holds another word for who knew the old one, although range and name are the same', () => {
    const { directory } = makeParts();
    const first = directory.create(options(), ME);
    directory.remove(first, ME);
    const second = directory.create(options(), ME);
    expect([second.slot, second.range.index]).toEqual([first.slot, first.range.index]);
    expect(directory.remove(first, OTHER)).toBe(false);
    expect(directory.at(first.slot)).toEqual(second);
  });

  test('is no place for a second structure of a name that another creator proposes elsewhere', () => {
    const { directory, slots } = makeParts();
    const blocks = Array.from({ length: SLOTS - 1 }, (_, i) =>
      directory.create(options({ name: `n${i}` }), ME),
    );
    const at = slots.indexOf(SLOT_EMPTY);
    // The second one comes when the first has built, and finds all slots free.
    const init = () => {
      for (const block of blocks) directory.remove(block, ME);
      directory.create(options({ name: 'b' }), OTHER);
    };
    expect(() => directory.create(options({ name: 'b', init }), ME)).toThrow(code('NAME_TAKEN'));
    expect(directory.list()).toHaveLength(1);
    // It had proposed there, and gave way.
    expect(slots[at]).toBe(SLOT_FREE);
  });
});

describe('settling what a dead thread left', () => {
  test('takes back what it proposed, and decides nothing for it', () => {
    const { directory, space, slots } = makeParts();
    const info = directory.create(options(), OTHER);
    directory.remove(info, OTHER);
    const range = space.allocate(1000, ME);
    slots[info.slot] = proposedWord(range);
    directory.withdraw(OTHER);
    expect(slots[info.slot]).toBe(proposedWord(range));
    directory.withdraw(ME);
    expect(slots[info.slot]).toBe(SLOT_FREE);
    expect(space.isLive(range)).toBe(true);
    directory.settle(ME);
    expect(space.usage().used).toBe(0);
  });

  test('keeps what it published, and frees what it did not', () => {
    const { directory, space, slots } = makeParts();
    const published = directory.create(options(), ME);
    const loose = space.allocate(1000, ME);
    // As if it had died between the slot's CAS and its keep.
    const unkept = space.allocate(1000, ME);
    slots[(published.slot + 1) % SLOTS] = slotWord(unkept);
    directory.settle(ME);
    expect(space.isLive(published.range)).toBe(true);
    expect(space.isLive(unkept)).toBe(true);
    expect(space.isLive(loose)).toBe(false);
    expect(space.owned(ME)).toEqual([]);
    directory.settle(ME);
    expect(space.isLive(unkept)).toBe(true);
  });

  test('finishes a removal that it began, at each of its steps', () => {
    for (const steps of [1, 2]) {
      const { directory, space, slots } = makeParts();
      const info = directory.create(options(), ME);
      space.retire(info.range, ME);
      if (steps > 1) slots[info.slot] = SLOT_FREE;
      directory.settle(ME);
      expect(directory.find('a')).toBeUndefined();
      expect(space.usage().used).toBe(0);
    }
  });
});
