import { describe, expect, it } from 'vitest';
import { RandomNumbers } from './random-numbers.js';
import { StateVector } from './state-vector.js';
import { VisitedSet } from './visited-set.js';

describe('the state vector', () => {
  it('rolls back values and hashes together, through growth too', () => {
    const random = new RandomNumbers(3);
    const state = new StateVector(8);
    const before: [number, string, number, number][] = [];
    for (let step = 0; step < 500; step++) {
      before.push([state.mark(), state.values.slice(0, 8).join(), state.hashA, state.hashB]);
      if (step % 50 === 0) state.allocate(100);
      for (let puts = 0; puts < 4; puts++) state.put(random.below(8), random.below(1000) - 500);
    }
    for (const [mark, values, hashA, hashB] of before.reverse()) {
      state.rollback(mark);
      expect([state.values.slice(0, 8).join(), state.hashA, state.hashB]).toEqual([values, hashA, hashB]);
    }
  });

  it('has one hash for one content, however it came there', () => {
    const one = new StateVector(4);
    const other = new StateVector(4);
    for (const [index, value] of [
      [0, 5],
      [1, -9],
      [2, 7],
      [1, 3],
    ] as const)
      one.put(index, value);
    for (const [index, value] of [
      [2, 7],
      [1, 3],
      [0, 5],
    ] as const)
      other.put(index, value);
    expect([one.hashA, one.hashB]).toEqual([other.hashA, other.hashB]);
    other.put(3, 1);
    expect(one.hashA === other.hashA && one.hashB === other.hashB).toBe(false);
  });

  it('gives small different contents different hashes', () => {
    const state = new StateVector(3);
    const seen = new Set<string>();
    for (let content = 0; content < 40 ** 3; content++) {
      const mark = state.mark();
      state.put(0, content % 40);
      state.put(1, Math.floor(content / 40) % 40);
      state.put(2, Math.floor(content / 1600));
      seen.add(`${state.hashA} ${state.hashB}`);
      state.rollback(mark);
    }
    expect(seen.size).toBe(40 ** 3);
  });
});

describe('the set of visited states', () => {
  it('knows what was added, zero and growth included', () => {
    const random = new RandomNumbers(9);
    const known = new Set<string>();
    const visited = new VisitedSet();
    for (let step = 0; step < 60_000; step++) {
      const [a, b] = [random.below(300) - 5, random.below(300) - 5];
      // The pair (0, 0) is kept as (0, 1).
      const key = a === 0 && b === 0 ? '0 1' : `${a} ${b}`;
      expect(visited.add(a, b)).toBe(!known.has(key));
      known.add(key);
    }
    expect(visited.size).toBe(known.size);
  });
});
