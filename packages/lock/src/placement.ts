import {
  ALONE_NAME,
  aloneSegment,
  type Layout,
  type Platform,
  registerKind,
  Segment,
  type SegmentHandle,
  type StructureInfo,
} from '@heddle/memory';

/** What another thread needs to find a structure: plain and cloneable, for `workerData` or a message. */
export interface LockHandle {
  /** The kind of structure, as its layout names it. */
  readonly heddle: string;
  readonly segment: SegmentHandle;
  readonly name: string;
}

/** How a structure is created by name. */
export interface NameOptions {
  readonly name: string;
}

/** Where a structure stands that is embedded in another one, and for whom. */
export interface OverOptions {
  /** Of this thread, from `segment.thread.token`: 1 to 2^24 - 1. */
  readonly token: number;
  /** For tests and models. */
  readonly platform?: Platform | undefined;
}

/** The words of a structure, as one thread sees them, and how they came to be. */
export interface Placement {
  readonly words: Int32Array;
  readonly token: number;
  readonly platform?: Platform | undefined;
  readonly segment?: Segment;
  readonly info?: StructureInfo;
  /** Whether this thread attached to the segment for this structure alone. */
  readonly ownsSegment?: boolean;
}

/** Creates a structure by name, its body zero but for what `init` writes. */
export function createPlacement(
  segment: Segment,
  layout: Pick<Layout, 'kind' | 'version' | 'byteLength'>,
  options: NameOptions,
  init?: (words: Int32Array) => void,
  byteLength = layout.byteLength,
): Placement {
  const info = segment.createStructure({
    name: options.name,
    layout,
    byteLength,
    ...(init && { init: (body: StructureInfo) => init(bodyWords(segment, body)) }),
  });
  return placed(segment, info, false);
}

/** Opens a structure by name. */
export function openPlacement(
  segment: Segment,
  layout: Pick<Layout, 'kind' | 'version'>,
  name: string,
): Placement {
  return placed(segment, segment.openStructure(name, layout), false);
}

/** Creates a structure in a segment of its own. */
export function alonePlacement(
  layout: Pick<Layout, 'kind' | 'version' | 'byteLength'>,
  init?: (words: Int32Array) => void,
  byteLength = layout.byteLength,
): Placement {
  const segment = aloneSegment(byteLength);
  return { ...createPlacement(segment, layout, { name: ALONE_NAME }, init, byteLength), ownsSegment: true };
}

/** Attaches to the segment of a handle and opens the structure in it. */
export function handlePlacement(handle: LockHandle, layout: Pick<Layout, 'kind' | 'version'>): Placement {
  if (typeof handle !== 'object' || handle === null || handle.heddle !== layout.kind) {
    throw new TypeError(
      `A ${layout.kind} is made from the handle of a ${layout.kind}, passed through workerData or a message`,
    );
  }
  const segment = Segment.attach(handle.segment);
  try {
    return placed(segment, segment.openStructure(handle.name, layout), true);
  } catch (error) {
    segment.detach();
    throw error;
  }
}

/** Takes words that another structure provides. */
export function overPlacement(
  words: Int32Array,
  layout: Pick<Layout, 'kind' | 'wordCount'>,
  options: OverOptions,
): Placement {
  const { token } = options;
  if (words.length < layout.wordCount) {
    throw new RangeError(`A ${layout.kind} takes ${layout.wordCount} words, not ${words.length}`);
  }
  if (!Number.isInteger(token) || token < 1 || token >= 2 ** 24) {
    throw new RangeError(
      `A thread's token is segment.thread.token, a positive number of 24 bits, not ${token}`,
    );
  }
  return { words, token, platform: options.platform };
}

/** The handle of a structure that has a name. */
export function handleOf(placement: Placement, kind: string): LockHandle {
  const { segment, info } = placement;
  if (!segment || !info) {
    throw new TypeError(
      `This ${kind} stands over words of another structure: pass on the handle of that one`,
    );
  }
  return { heddle: kind, segment: segment.handle, name: info.name };
}

function placed(segment: Segment, info: StructureInfo, ownsSegment: boolean): Placement {
  const { token } = segment.thread;
  return { words: bodyWords(segment, info), token, platform: segment.platform, segment, info, ownsSegment };
}

/**
 * Registers how a kind of structure is recovered.
 *
 * @param module `import.meta.url` of the module that calls this.
 */
export function registerRecovery(
  layout: Pick<Layout, 'kind' | 'version'>,
  module: string,
  make: (placement: Placement) => { recover(deadToken: number): void },
): void {
  registerKind({
    layout,
    module,
    recover: ({ segment, info, dead }) => make(placed(segment, info, false)).recover(dead.token),
  });
}

function bodyWords(segment: Segment, info: StructureInfo): Int32Array {
  return segment.wordsAt(info.byteOffset, info.byteLength);
}
