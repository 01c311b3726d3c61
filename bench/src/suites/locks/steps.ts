/**
 * So many steps of work, each waiting for the one before: a generator by shifts, about 2 ns a step.
 *
 * It calls nothing and cannot overflow. With a multiplication, V8 ran the same loop several times slower in some
 * threads than in others, and that covered up the locks.
 *
 * Source: Marsaglia, "Xorshift RNGs" (2003).
 */
export function steps(seed: number, count: number): number {
  let value = seed;
  for (let i = 0; i < count; i++) {
    value ^= value << 13;
    value ^= value >>> 17;
    value ^= value << 5;
  }
  return value;
}
