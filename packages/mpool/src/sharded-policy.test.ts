import { countingPlatform } from '@heddle/memory/counting';
import { describe, expect, it } from 'vitest';
import { auditPool } from './audit.js';
import { Growth } from './growth.js';
import { adopt, detach } from './hand-over.js';
import { laneLayout, regionsOf, seatLayout, shardLayout } from './mpool.layout.js';
import { bodyByteLength, writeHeader } from './pool-header.js';
import { planOf } from './pool-options.js';
import { policyOf } from './pool-thread.js';
import { PoolWords } from './pool-words.js';
import { Shard } from './shard.js';

const MAGAZINE = 32;

/**
 * A pool, and what three threads have of it, in one thread so that Atomics calls can be counted.
 *
 * @param start position at which lanes begin.
 */
function threads(start = 0) {
  const plan = planOf({ name: 'p', elemSize: 8, maxElems: 512, magazine: MAGAZINE, threads: 3 });
  const words = new Int32Array(new SharedArrayBuffer(bodyByteLength(plan)));
  writeHeader(words, plan, { by: 1 });
  const { lanes, laneWords, seats, seatWords } = regionsOf(plan.shape);
  for (let lane = 0; lane < plan.shape.seats * plan.shape.shards; lane++) {
    const [seat, shard] = [Math.floor(lane / plan.shape.shards), lane % plan.shape.shards];
    const positions = lanes + lane * laneWords;
    words[positions + laneLayout.offsets.tail] = words[positions + laneLayout.offsets.head] = start;
    words[seats + seat * seatWords + seatLayout.wordCount + MAGAZINE + shard] = start;
  }
  const platform = { ...countingPlatform(), canBlock: () => false };
  let ranges = 0;
  const of = (id: number) => {
    const pool = new PoolWords(words, plan.shape, { id, token: id }, () => true, platform);
    const growth = new Growth(pool, plan, {
      allocate: (byteLength) => ({ index: ranges++, generation: 0, byteOffset: 0, byteLength }),
      keep() {},
      isLive: () => true,
      discard() {},
    });
    const others = Array.from({ length: plan.shape.shards - 1 }, (_, i) => new Shard(pool, i + 1));
    const shards = [growth.shard, ...others];
    const policy = policyOf(plan, pool, growth, shards);
    return { policy, pool, audit: () => auditPool(pool, shards) };
  };
  return { platform, words, one: of(1), two: of(2), three: of(3) };
}

type Thread = ReturnType<typeof threads>['one'];

function twoThreads() {
  const { platform, one, two } = threads();
  return { platform, getter: one.policy, putter: two.policy };
}

function handOver(descriptor: number, from: Thread, to: Thread): void {
  expect(detach(from.pool, descriptor, to.pool.me.id)).toBe('given');
  expect(adopt(to.pool, descriptor)).toBe(true);
}

describe('got on one thread and put on another', () => {
  it('costs 2 Atomics calls a batch to put, and 4 a magazine to get', () => {
    const { platform, getter, putter } = twoThreads();
    const got = new Set<number>();
    const get = () => {
      for (let i = 0; i < MAGAZINE; i++) got.add(getter.take());
    };
    const put = () => {
      for (const descriptor of got) expect(putter.give(descriptor)).toBe(true);
      got.clear();
    };
    for (let round = 0; round < 3; round++) {
      get();
      put();
    }
    platform.reset();
    get();
    expect(got.size).toBe(MAGAZINE);
    expect(platform.counts()).toEqual({ compareExchange: 1, exchange: 1, load: 1, store: 1 });
    platform.reset();
    put();
    expect(platform.counts()).toEqual({ load: 1, store: 1 });
  });

  it('takes back more than a lane has room for while nobody gets', () => {
    const { getter, putter } = twoThreads();
    const got = Array.from({ length: 400 }, () => getter.take());
    for (const descriptor of got) expect(putter.give(descriptor)).toBe(true);
    const again = new Set(Array.from({ length: 400 }, () => getter.take()));
    expect(again.size).toBe(400);
  });

  it('refuses what the same thread has put, underway and after, whatever it put meanwhile', () => {
    const { getter, putter } = twoThreads();
    const first = getter.take();
    const second = getter.take();
    for (const sent of [false, true]) {
      if (sent) putter.flush();
      expect(putter.give(first)).toBe(!sent);
      expect(putter.give(first)).toBe(false);
      expect(putter.hasPut(first)).toBe(true);
    }
    putter.give(second);
    putter.flush();
    for (let i = 0; i < MAGAZINE; i++) getter.take();
    getter.take();
    expect(putter.give(first)).toBe(false);
    expect(putter.hasPut(first)).toBe(false);
  });

  it.each([-1, 1.5, Number.NaN, 2 ** 31, 2 ** 31 - 1, 2 ** 53, 31, 300])(
    'refuses %d, which nobody got',
    (value) => {
      const { getter, putter } = twoThreads();
      getter.take();
      for (const policy of [getter, putter]) {
        expect(policy.give(value)).toBe(false);
        expect(policy.give('1' as never)).toBe(false);
      }
    },
  );
});

describe('what was given away, put without being adopted', () => {
  it.each(['to anyone', 'to the putter'])(
    'comes back when it was given %s, also by who put the slot before',
    (to) => {
      const { one, two } = threads();
      const put = (descriptor: number) =>
        two.policy.give(descriptor) || (adopt(two.pool, descriptor) && two.policy.give(descriptor));
      const first = one.policy.take();
      put(first);
      two.policy.flush();
      const again = Array.from({ length: 2 * MAGAZINE }, () => one.policy.take());
      const { format } = one.pool;
      const second = again.find((descriptor) => format.slotOf(descriptor) === format.slotOf(first))!;
      expect(detach(one.pool, second, to === 'to anyone' ? 0 : two.pool.me.id)).toBe('given');
      expect(put(second)).toBe(true);
      two.policy.flush();
      expect(one.audit()).toMatchObject({
        outstanding: again.length - 1,
        put: 2,
        refused: 0,
        consistent: true,
      });
    },
  );
});

it('decides a put only under the latch of who holds the slot, also where that is who collects', () => {
  const { one, two, three } = threads();
  const descriptor = one.policy.take();
  handOver(descriptor, one, two);
  // None of its business: it goes to the second thread's shard.
  expect(three.policy.give(descriptor)).toBe(true);
  three.policy.flush();
  handOver(descriptor, two, one);
  for (let i = 0; i < 2 * MAGAZINE; i++) one.policy.take();
  expect(one.audit()).toMatchObject({ put: 0, refused: 1, outstanding: 2 * MAGAZINE + 1, consistent: true });
});

it.each([2 ** 31 - 40, -40])('goes on where positions in a lane pass 2^31 and 2^32, from %d', (start) => {
  const { one, two } = threads(start);
  for (let round = 0; round < 5; round++) {
    const got = Array.from({ length: 400 }, () => one.policy.take());
    expect(new Set(got).size).toBe(400);
    for (const descriptor of got) expect(two.policy.give(descriptor)).toBe(true);
    const unsent = got.at(-1)!;
    expect(two.policy.give(unsent)).toBe(false);
    expect(one.audit()).toMatchObject({
      outstanding: 0,
      put: 400 * (round + 1),
      refused: 0,
      consistent: true,
    });
  }
});

describe('on a thread that must not block, while another one has the latch', () => {
  it('puts as many as may wait, and then refuses before anything changes', () => {
    const { words, one } = threads();
    const { regions } = one.pool;
    const got = Array.from({ length: MAGAZINE + 1 }, () => one.policy.take());
    const latch = regions.shards + shardLayout.wordCount + shardLayout.offsets.latch;
    words[latch] = 2;
    const last = got.pop()!;
    for (const descriptor of got) expect(one.policy.give(descriptor)).toBe(true);
    const mustNotBlock = expect.objectContaining({ code: 'ERR_HEDDLE_MUST_NOT_BLOCK' });
    expect(() => one.policy.give(last)).toThrow(mustNotBlock);
    words[latch] = 0;
    expect(one.policy.give(last)).toBe(true);
    expect(one.audit()).toMatchObject({ outstanding: 0, put: MAGAZINE + 1, refused: 0 });
  });
});
