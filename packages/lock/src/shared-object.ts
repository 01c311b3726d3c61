import { type Platform, realPlatform, type Segment } from '@heddle/memory';
import { handleOf, type LockHandle, type Placement } from './placement.js';

/** One thread's object over the words of a structure: where it stands, and how others find it. */
export abstract class SharedObject {
  readonly #kind: string;
  readonly #placement: Placement;
  protected readonly platform: Platform;
  #disposed = false;

  protected constructor(kind: string, placement: Placement) {
    this.#kind = kind;
    this.#placement = placement;
    this.platform = placement.platform ?? realPlatform;
  }

  /** The segment it stands in; undefined where it stands over words of another structure. */
  get segment(): Segment | undefined {
    return this.#placement.segment;
  }

  /**
   * What another thread makes its own object from.
   *
   * @throws TypeError where it stands over words of another structure.
   */
  get handle(): LockHandle {
    return handleOf(this.#placement, this.#kind);
  }

  /** Slot of the structure in the directory of its segment; undefined where it has none. */
  protected get slot(): number | undefined {
    return this.#placement.info?.slot;
  }

  /** Detaches from the segment where this object attached to it. The structure itself stays. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    if (this.#placement.ownsSegment) this.#placement.segment?.detach();
  }
}
