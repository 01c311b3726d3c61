/**
 * The link word of a slot. While the slot is on a list: the next one + 1, or 0 at the end, never negative. Else where
 * it came from:
 *
 * ```
 *  1 (sign) | 0 (11 bits) | holder (10 bits) << 10 | got by (10 bits)
 * ```
 *
 * Got by is for reports. The holder is the way to the latch that governs the slot's lease, without a look at the lease
 * itself: that word changes with every get and put and would move from core to core, while this one stays the same as
 * long as one thread gets the slot again and again. Only the lease word decides.
 *
 * Written by who leases the slot, under a latch; by who adopts it, by CAS.
 */
const OFF_LIST = -(2 ** 31);
const ID_BITS = 10;
const ID_MASK = 2 ** ID_BITS - 1;

export function linkWord(gotBy: number, holder: number): number {
  return OFF_LIST | (holder << ID_BITS) | gotBy;
}

/** Who got the slot; of a slot that is on a list, nobody in particular. */
export function gotByOf(link: number): number {
  return link & ID_MASK;
}

/** Who holds it, as far as this word knows. */
export function holderHintOf(link: number): number {
  return (link >>> ID_BITS) & ID_MASK;
}
