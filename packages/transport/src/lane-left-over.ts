import { type Platform, realPlatform } from '@heddle/memory';
import { laneLayout, POSITION_FLAGS, UNIT, UNIT_BYTES } from './lane.layout.js';
import { record } from './record.js';

const { bodyBytesOf, KIND, kindOf, PADDING, recordPositions, SLOT_RECORD } = record;

const { tail, head, begun, adopted } = laneLayout.offsets;

/** What a lane held when its receiver was gone. */
export interface LeftOver {
  /** Messages whose handler may have begun: they count as delivered, and are not repeated. */
  readonly begun: number;
  /** Messages that nobody looked at. */
  readonly unread: number;
}

/**
 * Goes through the records that nobody gave back, and hands the descriptors that nobody adopted to `takeBack`.
 *
 * Only for the thread that cleans the lane, or for its sender after the receiver has gone: nothing moves then. What its
 * sender holds back, only that sees.
 *
 * @param upTo position behind the last record. Default the published tail.
 * @param from position of the first. Default the head.
 */
export function leftOver(
  words: Int32Array,
  spaceBytes: number,
  takeBack: (size: number, descriptor: number) => void,
  platform: Platform = realPlatform,
  upTo = platform.atomics.load(words, tail) & ~POSITION_FLAGS,
  from = platform.atomics.load(words, head) & ~POSITION_FLAGS,
): LeftOver {
  const space = words.subarray(laneLayout.wordCount);
  const mask = (spaceBytes / UNIT_BYTES) * UNIT - 1;
  const count = { begun: 0, unread: 0 };
  let position = from;
  // Each round takes a record or padding off what is left.
  while (((upTo - position) | 0) > 0) {
    const inSpace = position & mask;
    const first = space[inSpace >> 1]!;
    if (first === PADDING) {
      position = (position - inSpace + mask + 1) | 0;
      continue;
    }
    const at = inSpace >> 1;
    const next = (position + recordPositions(bodyBytesOf(first))) | 0;
    // What was adopted may have gone on to other threads since.
    if (kindOf(first) !== KIND.inline && ((words[adopted]! - next) | 0) < 0) {
      takeBack(space[at + SLOT_RECORD.size]!, space[at + SLOT_RECORD.descriptor]!);
    }
    if (((words[begun]! - next) | 0) >= 0) count.begun++;
    else count.unread++;
    position = next;
  }
  return count;
}
