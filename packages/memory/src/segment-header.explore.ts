import { defineModel, type End, type SimulatedThread } from '@heddle/explore';
import { HeddleError } from './errors.js';
import { realPlatform } from './platform.js';
import { BYTE_ORDER, MAGIC, SEGMENT_VERSION, STATE_READY, segmentLayout } from './segment.layout.js';
import { initialise, readHeader } from './segment-header.js';

/** What the memory is said to have. Only the header is touched. */
const BYTES = 2 ** 20;
const { magic, version, byteOrder, idLow, idHigh, state } = segmentLayout.offsets;

const geometryOf = (index: number) => ({ maxThreads: 2, maxStructures: 2, maxRanges: 8 * 2 ** index });

const create = ({ words, platform, index }: SimulatedThread): string => {
  initialise(words, BYTES, geometryOf(index), platform);
  return JSON.stringify(readHeader(words, BYTES, platform));
};

/** Attaches, or is told in time that there is nothing. */
const attach = ({ words, platform }: SimulatedThread): string => {
  try {
    initialise(words, BYTES, undefined, platform, 150);
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_NOT_READY') return 'nothing there';
    throw error;
  }
  return JSON.stringify(readHeader(words, BYTES, platform));
};

/** All who found a segment found the same one. */
function check({ words, results, dead }: End): string | undefined {
  const found = new Set(results.filter((result, i) => !dead[i] && result !== 'nothing there'));
  if (found.size > 1) return `there are two segments: ${[...found].join(' and ')}`;
  if (found.size === 0) return undefined;
  readHeader(words, BYTES, realPlatform);
  return undefined;
}

/** Nobody who sees `state` ready may find a word missing, at any time. */
function always(words: Int32Array): string | undefined {
  if (words[state] !== STATE_READY) return undefined;
  const complete =
    words[magic] === MAGIC &&
    words[version] === SEGMENT_VERSION &&
    words[byteOrder] === BYTE_ORDER &&
    words[idLow] !== 0 &&
    words[idHigh] !== 0;
  return complete ? undefined : 'it is ready, and a word is missing';
}

const place = { words: segmentLayout.wordCount, layout: segmentLayout, randoms: [4, 8], check, always };

export default [
  defineModel({
    ...place,
    name: 'segment: two threads create it at once with other sizes, either dies',
    threads: [create, create],
    kills: 1,
  }),
  defineModel({
    ...place,
    name: 'segment: one creates it and dies at any step, another attaches',
    threads: { create, attach },
    kills: 1,
    killable: ['create'],
  }),
  defineModel({
    ...place,
    name: 'segment: two create it, one attaches, two die',
    randoms: [4],
    threads: [create, create, attach],
    kills: 2,
    search: { preemptions: 2 },
    deep: { search: { preemptions: 3 } },
  }),
];
