import { Doorbell } from './doorbell.js';
import type { InboundLane } from './inbound-lane.js';

/** Up to so many lanes are looked at always. */
const HOT_LANES = 8;

/**
 * Which of a worker's lanes it looks at when it polls.
 *
 * | a lane is | the receiver                                   | its sender                                              |
 * |-----------|------------------------------------------------|---------------------------------------------------------|
 * | hot       | looks at its tail at each poll                 | publishes by 1 CAS                                      |
 * | cold      | has armed it, and looks at the doorbell's bits | sets the bit of its bucket with the next record, by 2 CAS and 1 or more |
 *
 * A lane is cold after {@link LookedAt.COOL_AFTER} looks in vain, or a sleep, where there are more than {@link HOT_LANES}; and hot
 * from its next message on. So polling costs what the lanes with traffic cost, however many there are, and a sleep has
 * to arm only those.
 *
 * **Ordering**: B1 of {@link Doorbell}. **Death** of a sender between its record and the bit: recovery asks for attention,
 * which makes all lanes hot. So does another thread that was at a serialized worker meanwhile, and took bits off.
 */
export class LookedAt {
  /** So often there has to be nothing in a lane before it is not looked at any more. */
  static readonly COOL_AFTER = 64;
  readonly hot: InboundLane[] = [];
  readonly hotLanes: number;
  #all: readonly InboundLane[] = [];
  readonly #cold: InboundLane[][] = [];
  #coldCount = 0;

  constructor(hotLanes = HOT_LANES) {
    this.hotLanes = hotLanes;
  }

  get all(): readonly InboundLane[] {
    return this.#all;
  }

  get hasCold(): boolean {
    return this.#coldCount > 0;
  }

  /** These are the lanes now, all of them hot. */
  reset(lanes: readonly InboundLane[]): void {
    this.#all = lanes;
    this.#cold.length = 0;
    this.#coldCount = 0;
    this.hot.length = 0;
    this.hot.push(...lanes);
  }

  /** Makes the lanes of these ready bits hot. */
  warm(ready: number): void {
    Doorbell.forEachBucket(ready, this.#warmBucket);
  }

  readonly #warmBucket = (bucket: number): void => {
    const lanes = this.#cold[bucket];
    if (!lanes) return;
    for (const inbound of lanes) this.hot.push(inbound);
    this.#coldCount -= lanes.length;
    lanes.length = 0;
  };

  /** Stops looking at lanes in which nothing came for long. 1 load and 1 CAS each. */
  cool(): void {
    const { hot } = this;
    for (let i = hot.length - 1; i >= 0; i--) {
      const inbound = hot[i]!;
      if (inbound.vainLooks < LookedAt.COOL_AFTER) continue;
      inbound.vainLooks = 0;
      if (inbound.reader.arm()) this.#chill(i);
    }
  }

  /** Arms what is hot, which is cold then where there are many lanes. Returns false where there is something. */
  arm(): boolean {
    const { hot } = this;
    const many = this.#all.length > this.hotLanes;
    for (let i = hot.length - 1; i >= 0; i--) {
      const { ending, reader } = hot[i]!;
      if (ending || !reader.arm()) return false;
      if (many) this.#chill(i);
    }
    return true;
  }

  #chill(at: number): void {
    const { hot } = this;
    const inbound = hot[at]!;
    const last = hot.pop()!;
    if (last !== inbound) hot[at] = last;
    const bucket = Doorbell.bucketOf(inbound.lane.index);
    this.#cold[bucket] ??= [];
    this.#cold[bucket]!.push(inbound);
    this.#coldCount++;
  }
}
