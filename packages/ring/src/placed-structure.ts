import {
  ALONE_NAME,
  type Alone,
  aloneSegment,
  type Layout,
  type RecoveryContext,
  Segment,
  type SegmentHandle,
  type StructureInfo,
} from '@heddle/memory';
import { claimSide, releaseSide } from './side.js';

/** What another thread opens a ring with: plain and cloneable, for `workerData` or a message. */
export interface RingHandle<Kind extends string = string> {
  readonly heddle: Kind;
  readonly segment: SegmentHandle;
  readonly name: string;
}

/** A side of a structure that a thread has taken. */
interface Side {
  release(): void;
  abandon(): void;
}

/** The sides that this thread holds, by segment and token. */
const held = new Map<string, Set<Side>>();

/**
 * Part of the recovery of a structure: where it is this thread that leaves its segment, its sides are others' to take
 * from now on, and it must not use them any more.
 */
export function abandonSides({ segment, dead }: Pick<RecoveryContext, 'segment' | 'dead'>): void {
  const key = `${segment.id} ${dead.token}`;
  for (const side of held.get(key) ?? []) side.abandon();
  held.delete(key);
}

/**
 * A named structure of a segment as one thread holds it: its memory, the sides that it took, and whether the
 * attachment is its own.
 */
export class PlacedStructure<Kind extends string> {
  readonly segment: Segment;
  readonly name: string;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly #kind: Kind;
  readonly #byteOffset: number;
  #ownsAttachment: boolean;
  readonly #sides = new Set<Side>();

  private constructor(segment: Segment, kind: Kind, info: StructureInfo, ownsAttachment: boolean) {
    this.segment = segment;
    this.name = info.name;
    this.words = segment.wordsAt(info.byteOffset, info.byteLength);
    this.#kind = kind;
    this.#byteOffset = info.byteOffset;
    this.#ownsAttachment = ownsAttachment;
  }

  /**
   * @param where the segment to make it in, with options; or options alone, for one of its own.
   * @param planOf what options come to. What it throws comes through.
   */
  static create<Kind extends string, Options extends { readonly name: string }>(
    layout: Pick<Layout, 'version'> & { readonly kind: Kind },
    where: Segment | Alone<Options>,
    inSegment: Options | undefined,
    planOf: (options: Options) => { readonly byteLength: number; init(words: Int32Array): void },
  ): PlacedStructure<Kind> {
    if (typeof where !== 'object' || where === null || (where instanceof Segment && !inSegment)) {
      throw new TypeError(
        `A ${layout.kind} is created from a segment and options with a name, or from options alone, for a segment of its own`,
      );
    }
    const options = inSegment ?? ({ name: ALONE_NAME, ...where } as Options);
    const { byteLength, init } = planOf(options);
    const segment = inSegment ? (where as Segment) : aloneSegment(byteLength);
    try {
      const info = segment.createStructure({
        name: options.name,
        layout,
        byteLength,
        init: (made) => init(segment.wordsAt(made.byteOffset, made.byteLength)),
      });
      return new PlacedStructure(segment, layout.kind, info, !inSegment);
    } catch (error) {
      if (!inSegment) segment.detach();
      throw error;
    }
  }

  static open<Kind extends string>(
    segment: Segment,
    layout: Pick<Layout, 'version'> & { readonly kind: Kind },
    name: string,
    ownsAttachment = false,
  ): PlacedStructure<Kind> {
    return new PlacedStructure(segment, layout.kind, segment.openStructure(name, layout), ownsAttachment);
  }

  /** @throws TypeError where it is no handle of this kind. What attaching and opening throw comes through. */
  static from<Kind extends string>(
    layout: Pick<Layout, 'version'> & { readonly kind: Kind },
    handle: RingHandle<Kind>,
  ): PlacedStructure<Kind> {
    if (typeof handle !== 'object' || handle === null || handle.heddle !== layout.kind) {
      throw new TypeError(`This is not the handle of a ${layout.kind}: pass what its \`handle\` gave`);
    }
    const segment = Segment.attach(handle.segment);
    try {
      return PlacedStructure.open(segment, layout, handle.name, true);
    } catch (error) {
      segment.detach();
      throw error;
    }
  }

  get handle(): RingHandle<Kind> {
    return { heddle: this.#kind, segment: this.segment.handle, name: this.name };
  }

  /** What lies behind the first `wordCount` words, as bytes. */
  bytesBehind(wordCount: number): Uint8Array<SharedArrayBuffer> {
    const skipped = wordCount * Int32Array.BYTES_PER_ELEMENT;
    return this.segment.bytesAt(this.#byteOffset + skipped, this.words.byteLength - skipped);
  }

  /**
   * Takes the side whose holder stands at word `index` for this thread.
   *
   * @throws HeddleError `ERR_HEDDLE_RING_ROLE` where a living thread has it.
   */
  take<Taken extends Side>(index: number, side: string, make: (onRelease: () => void) => Taken): Taken {
    const { segment, words } = this;
    const { atomics } = segment.platform;
    segment.assertAttached();
    const { token } = segment.thread;
    claimSide(words, index, side, { token, isAlive: (other) => segment.isAlive(other) }, atomics);
    return this.hold(index, make);
  }

  /** Makes the side that this thread has at word `index`: it gives it back by calling the argument of `make`. */
  hold<Taken extends Side>(index: number, make: (onRelease: () => void) => Taken): Taken {
    const { token } = this.segment.thread;
    const key = `${this.segment.id} ${token}`;
    const side: Taken = make(() => {
      this.#sides.delete(side);
      held.get(key)?.delete(side);
      releaseSide(this.words, index, token, this.segment.platform.atomics);
    });
    this.#sides.add(side);
    held.set(key, (held.get(key) ?? new Set()).add(side));
    return side;
  }

  /**
   * Gives back the sides that were taken, and detaches from the segment where attaching was this object's doing. Once:
   * a second time nothing happens.
   */
  leave(): void {
    for (const side of this.#sides) side.release();
    if (!this.#ownsAttachment) return;
    this.#ownsAttachment = false;
    this.segment.detach();
  }
}
