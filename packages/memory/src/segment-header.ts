import { HeddleError } from './errors.js';
import { WORD_BYTES } from './layout.js';
import { parkWhile } from './park.js';
import type { Platform } from './platform.js';
import {
  BYTE_ORDER,
  GEOMETRY_LIMITS,
  type Geometry,
  geometryVersion,
  MAGIC,
  packGeometry,
  regionsOf,
  SEGMENT_VERSION,
  STATE_READY,
  segmentLayout,
  unpackGeometry,
} from './segment.layout.js';
import { type Deadline, deadlineAfter } from './timeout.js';

const { magic, version, byteOrder, geometry, idLow, idHigh, sizeLow, sizeHigh, state } =
  segmentLayout.offsets;

/**
 * Takes the sizes of the tables from options, each rounded up to a power of two.
 *
 * @throws RangeError where one is not a whole number within its limits.
 */
export function geometryFrom(options: Partial<Geometry>): Geometry {
  const size = (name: keyof Geometry): number => {
    const { least, most, standard } = GEOMETRY_LIMITS[name];
    const value = options[name] ?? standard;
    if (!Number.isSafeInteger(value) || value < 1 || value > most) {
      throw new RangeError(`${name} is a whole number from 1 to ${most}, not ${value}`);
    }
    return Math.max(least, 2 ** Math.ceil(Math.log2(value)));
  };
  return {
    maxThreads: size('maxThreads'),
    maxStructures: size('maxStructures'),
    maxRanges: size('maxRanges'),
  };
}

/**
 * Makes zeroed memory a segment, or finishes what another thread began.
 *
 * The geometry is committed by one CAS; whoever finds it there can write everything else, which are constants.
 * So two creators at once agree, and one that died half way is finished by the next who comes. The state is the
 * last word written: before it, nobody reads the others.
 *
 * @param wanted the geometry to create with; undefined to attach, which waits while the memory is all zero.
 * @throws HeddleError `ERR_HEDDLE_NOT_READY` when the time is up, `ERR_HEDDLE_NOT_A_SEGMENT` for other contents,
 *   `ERR_HEDDLE_VERSION` where another version began. Cost: 2 loads on a segment that is ready.
 */
export function initialise(
  words: Int32Array,
  byteLength: number,
  wanted: Geometry | undefined,
  platform: Platform,
  timeoutMs = 0,
): void {
  const { atomics } = platform;
  const deadline = deadlineAfter(timeoutMs, platform.now);
  const found = atomics.load(words, magic);
  if (found === MAGIC && atomics.load(words, state) === STATE_READY) return;
  if (found !== 0 && found !== MAGIC) throw notASegment(found);
  let word = atomics.load(words, geometry);
  if (word === 0) word = wanted ? commit(words, wanted, platform) : awaitCommit(words, deadline, platform);
  const began = geometryVersion(word);
  if (began !== undefined && began !== SEGMENT_VERSION) throw otherVersion(began);
  const agreed = unpackGeometry(word);
  if (!agreed || regionsOf(agreed).space * WORD_BYTES > byteLength) throw notASegment(found);
  // 0 would look like a number that is still missing.
  atomics.compareExchange(words, idLow, 0, platform.random() | 1);
  atomics.compareExchange(words, idHigh, 0, platform.random() | 1);
  atomics.store(words, sizeLow, byteLength | 0);
  atomics.store(words, sizeHigh, Math.floor(byteLength / 2 ** 32));
  atomics.store(words, version, SEGMENT_VERSION);
  atomics.store(words, byteOrder, BYTE_ORDER);
  atomics.store(words, magic, MAGIC);
  atomics.store(words, state, STATE_READY);
}

/** @returns the geometry that won. */
function commit(words: Int32Array, wanted: Geometry, { atomics }: Platform): number {
  const won = atomics.compareExchange(words, geometry, 0, packGeometry(wanted));
  atomics.notify(words, geometry);
  return won || packGeometry(wanted);
}

/**
 * Sees to it that memory in which nobody has begun a segment is zero where the tables are going to be.
 *
 * @throws HeddleError `ERR_HEDDLE_NOT_A_SEGMENT` where it is not.
 */
export function assertBlank(words: Int32Array, wanted: Geometry, { atomics }: Platform): void {
  // Plain reads: a hint. Another creator may write there at this moment, but not before the geometry.
  if (words.subarray(0, regionsOf(wanted).space).every((word) => word === 0)) return;
  if (atomics.load(words, geometry) === 0) throw notASegment(atomics.load(words, magic));
}

/**
 * How long a thread that waits for a creator sleeps at most before it looks again, in milliseconds. A creator that
 * dies between its commit and its notify has no row in the thread table, so nobody else would wake us.
 */
const LOOK_AGAIN_MS = 100;

function awaitCommit(words: Int32Array, deadline: Deadline, platform: Platform): number {
  while (platform.canBlock() && platform.now() < deadline) {
    parkWhile(words, geometry, 0, Math.min(deadline, platform.now() + LOOK_AGAIN_MS), platform);
    const word = platform.atomics.load(words, geometry);
    if (word !== 0) return word;
  }
  throw new HeddleError(
    'ERR_HEDDLE_NOT_READY',
    'The memory is all zero: nobody has called Segment.create over it yet, or its thread died before it began. Attach to what segment.handle gave, or with a longer timeout',
  );
}

/**
 * Reads and checks the header of a segment that is ready.
 *
 * @throws HeddleError `ERR_HEDDLE_NOT_A_SEGMENT`, `ERR_HEDDLE_BYTE_ORDER`, `ERR_HEDDLE_VERSION`,
 *   `ERR_HEDDLE_SEGMENT_SIZE`.
 */
export function readHeader(
  words: Int32Array,
  byteLength: number,
  { atomics }: Platform,
): { readonly id: string; readonly geometry: Geometry } {
  const word = (index: number) => atomics.load(words, index);
  if (word(magic) !== MAGIC) throw notASegment(word(magic));
  if (word(byteOrder) !== BYTE_ORDER) {
    throw otherByteOrder();
  }
  if (word(version) !== SEGMENT_VERSION) {
    throw otherVersion(word(version));
  }
  const recorded = word(sizeHigh) * 2 ** 32 + (word(sizeLow) >>> 0);
  if (recorded !== byteLength) {
    throw new HeddleError(
      'ERR_HEDDLE_SEGMENT_SIZE',
      `The segment was created with ${recorded} bytes, the buffer has ${byteLength}: pass the whole buffer on`,
      { recorded, byteLength },
    );
  }
  const agreed = unpackGeometry(word(geometry));
  if (!agreed) throw notASegment(word(magic));
  const hex = (index: number) => (word(index) >>> 0).toString(16).padStart(8, '0');
  return { id: hex(idHigh) + hex(idLow), geometry: agreed };
}

function otherVersion(found: number): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_VERSION',
    `The segment has layout version ${found}, this code knows version ${SEGMENT_VERSION}: load one version of Heddle in all threads`,
    { version: found, known: SEGMENT_VERSION },
  );
}

function otherByteOrder(): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_BYTE_ORDER',
    'The segment was written by a machine of another byte order: create a new one on this machine',
  );
}

function notASegment(found: number): HeddleError {
  const swapped = (found >>> 24) | ((found >>> 8) & 0xff00) | ((found << 8) & 0xff0000) | (found << 24) | 0;
  if (swapped === MAGIC) {
    return otherByteOrder();
  }
  return new HeddleError(
    'ERR_HEDDLE_NOT_A_SEGMENT',
    'The memory holds something else than a segment: create one over zeroed memory, or pass the handle of one',
  );
}
