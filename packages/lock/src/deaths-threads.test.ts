import { availableParallelism } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { AutoResetEvent } from './auto-reset-event.js';
import { Barrier } from './barrier.js';
import { Condition } from './condition.js';
import { DOORS, PERMITS, produced, ROUNDS, RUNS, WORK } from './deaths-threads.test-worker.js';
import { EXCLUSION_KINDS } from './exclusion-kinds.test-worker.js';
import type { ExclusiveLock } from './exclusive-lock.js';
import { Segment } from './index.js';
import { ManualResetEvent } from './manual-reset-event.js';
import { PHASE, TELL } from './mortal.test-worker.js';
import { type Death, Mortals } from './mortals.test-worker.js';
import { Mutex } from './mutex.js';
import { Once } from './once.js';
import { RwLock } from './rw-lock.js';
import { Semaphore } from './semaphore.js';
import { SeqLock } from './seq-lock.js';
import type { SharedObject } from './shared-object.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
if (LONG) vi.setConfig({ testTimeout: 900_000 });
const THREADS = 4 * availableParallelism();
const KILLS = LONG ? 40 : 4;

/** Runs it once, or again and again for a minute. */
async function forAMinute(episode: (seed: number) => Promise<void>): Promise<void> {
  if (!LONG) return episode(77);
  const endMs = performance.now() + 60_000;
  while (performance.now() < endMs) await episode(Math.floor(Math.random() * 2 ** 31));
}

const many = (job: string) => Array<string>(THREADS).fill(job);

/** Disposes of them when the test has finished, after the threads have ended. */
function made<Made extends SharedObject>(object: Made): Made {
  onTestFinished(() => object[Symbol.dispose]());
  return object;
}

const isCertain = ({ phase }: Death) => phase === PHASE.holding;
const isDoubtful = ({ phase }: Death) => phase === PHASE.asking || phase === PHASE.leaving;

/** A count that each death in `holding` adds one to, and each in doubt may. */
function expectOneForEach(deaths: readonly Death[], count: number, mortals: Mortals): void {
  const certain = deaths.filter(isCertain).length;
  expect(count, mortals.picture()).toBeGreaterThanOrEqual(certain);
  expect(count, mortals.picture()).toBeLessThanOrEqual(certain + deaths.filter(isDoubtful).length);
}

/** Every section counts, whatever dies around it, and each death of an owner is told once. */
async function countSections(
  object: SharedObject,
  lock: ExclusiveLock,
  job: string,
  seed: number,
): Promise<void> {
  const mortals = new Mortals([object], many(job), seed);
  mortals.start();
  await mortals.killAtRandom(KILLS);
  await mortals.stop();
  const outcome = lock.tryLock();
  expect(outcome, mortals.picture()).not.toBeNull();
  if (outcome === 'acquired') expect(mortals.get(WORK.total)).toBe(mortals.sum(TELL.own));
  const informed = mortals.get(WORK.informed) + (outcome === 'owner-died' ? 1 : 0);
  expectOneForEach(mortals.deaths, informed, mortals);
  lock.markConsistent();
  lock.unlock();
}

test.each(EXCLUSION_KINDS.filter(({ skips }) => !skips.otherThreads))(
  'killed owners and waiters of a $kind: every section counts, and each death is told once (LK-06)',
  ({ Class }) =>
    forAMinute((seed) => {
      const lock = made(new Class());
      return countSections(lock, lock, 'exclude', seed);
    }),
);

test('killed readers and writers: every write counts, each death is told once, readers hold up nobody (LK-06, LK-08)', () =>
  forAMinute((seed) => {
    const lock = made(new RwLock());
    return countSections(lock, lock.write, 'readAndWrite', seed);
  }));

test('writers of a sequence lock that are killed in the middle: no read is torn, no write is lost (LK-06)', () =>
  forAMinute(async (seed) => {
    const lock = made(new SeqLock({ length: THREADS + 1 }));
    const mortals = new Mortals([lock], many('readAndUpdate'), seed);
    mortals.start();
    await mortals.killAtRandom(KILLS, ({ row }) => {
      const written = lock.read()[row]!;
      // What it wrote and had no time to note.
      expect([0, 1], mortals.picture()).toContain(written - mortals.get(TELL.own, row));
      mortals.set(TELL.own, written, row);
    });
    await mortals.stop();
    const [total, ...written] = lock.read();
    expect(written).toEqual(mortals.column(TELL.own));
    expect(total).toBe(mortals.sum(TELL.own));
    expect(lock.version).toBe(total);
  }));

test('permits of killed threads stay taken, and all others come back (LK-03)', () =>
  forAMinute(async (seed) => {
    const permits = 3;
    const semaphore = made(new Semaphore({ permits, most: permits + KILLS }));
    const mortals = new Mortals([semaphore], many('acquireAndRelease'), seed);
    mortals.set(PERMITS.issued, permits);
    mortals.start();
    await mortals.killAtRandom(KILLS, (death) => {
      if (!isCertain(death) && !isDoubtful(death)) return;
      // As a parent does that knows what a thread had taken.
      mortals.set(PERMITS.issued, mortals.get(PERMITS.issued) + 1);
      semaphore.release();
    });
    await mortals.stop();
    const free = semaphore.available;
    expectOneForEach(mortals.deaths, mortals.get(PERMITS.issued) - free, mortals);
    for (let i = 0; i < free; i++) expect(semaphore.tryAcquire()).toBe(true);
    expect(semaphore.tryAcquire()).toBe(false);
  }));

test('killed producers and consumers take no notify with them, and the units are exact (LK-01, LK-06)', () =>
  forAMinute(async (seed) => {
    const mutex = made(new Mutex());
    const conditions = [made(new Condition()), made(new Condition())];
    const mortals = new Mortals([mutex, ...conditions], many('produceOrConsume'), seed);
    const units = () => mortals.column(TELL.own).reduce((sum, own, i) => sum + produced(i + 1) * own, 0);
    mortals.start();
    await mortals.killAtRandom(KILLS);
    await mortals.stop(() => {
      // Who has looked, and does not wait yet, holds the lock.
      const outcome = mutex.lock();
      if (outcome === 'owner-died') mortals.set(WORK.total, units());
      mutex.markConsistent();
      mutex.unlock();
      for (const condition of conditions) condition.notifyAll();
    });
    expect([0, 1]).toContain(units());
    expect(mortals.get(WORK.total), mortals.picture()).toBe(units());
    expect(mutex.locked).toBe(false);
  }));

test('killed threads at doors and turnstiles: everyone passes every door once it is open (LK-06)', () =>
  forAMinute(async (seed) => {
    const events = [new ManualResetEvent(), new ManualResetEvent(), new AutoResetEvent()].map(made);
    const jobs = [...many('walk').slice(1), 'keepDoors'];
    const mortals = new Mortals(events, jobs, seed);
    mortals.set(DOORS.last, 2 ** 31 - 1);
    mortals.start();
    await mortals.killAtRandom(KILLS);
    await mortals.stop();
    const last = mortals.get(DOORS.last);
    expect(mortals.get(DOORS.round)).toBe(last);
    expect(mortals.column(TELL.own).slice(0, -1), mortals.picture()).toEqual(Array(THREADS - 1).fill(last));
  }));

test('a killed member breaks the barrier in one round for all, and after a reset they go on (LK-06, LK-11)', () =>
  forAMinute(async (seed) => {
    const barrier = made(new Barrier({ parties: THREADS }));
    const mortals = new Mortals([barrier], many('keepInStep'), seed);
    mortals.start();
    for (let kill = 0; kill < KILLS; kill++) {
      const enough = mortals.sum(TELL.done) + mortals.random(200);
      await mortals.until(
        'everyone has been there, and they go on',
        () => mortals.column(TELL.own).every((rounds) => rounds > 0) && mortals.sum(TELL.done) >= enough,
      );
      if (kill === KILLS >> 1) await mortals.calm();
      const { row: victim } = await mortals.kill(mortals.randomRow());
      const isBroken = (phase: number, i: number) => i + 1 === victim || phase === PHASE.broken;
      await mortals.until('everyone is told', () => mortals.column(TELL.phase).every(isBroken));
      const rounds = mortals.column(TELL.own);
      const [noted] = rounds.splice(victim - 1, 1);
      const round = rounds[0]!;
      expect(rounds, mortals.picture()).toEqual(Array(THREADS - 1).fill(round));
      expect([round - 1, round], mortals.picture()).toContain(noted);
      // One was the last in each round; the victim may have had no time to note it.
      expect([noted, round], mortals.picture()).toContain(mortals.sum(ROUNDS.last));
      expect(barrier.broken).toBe(true);
      barrier.reset();
      for (let row = 1; row <= THREADS; row++) {
        mortals.set(TELL.own, 0, row);
        mortals.set(ROUNDS.last, 0, row);
      }
      if (kill === KILLS - 1) break;
      mortals.replace(victim);
      mortals.set(ROUNDS.epoch, kill + 1);
    }
    await mortals.stop(() => mortals.set(ROUNDS.epoch, KILLS));
  }));

test('threads that are killed while they run a once: the next one runs it and is told (LK-06)', () =>
  forAMinute(async (seed) => {
    const items = KILLS;
    const segment = Segment.create({ byteLength: 2 ** 20 });
    onTestFinished(() => segment.detach());
    const onces = Array.from({ length: items }, (_, i) => Once.create(segment, { name: `once ${i}` }));
    const mortals = new Mortals(onces, many('runEach'), seed, items);
    const deathsAt = onces.map((): Death[] => []);
    const kill = async (row: number) => {
      const death = await mortals.kill(row);
      deathsAt[mortals.get(RUNS.item, row)]!.push(death);
      mortals.replace(row);
    };
    const isAsleep = (row: number) =>
      mortals.get(TELL.phase, row) === PHASE.holding && mortals.get(RUNS.item, row) % 2 === 0;
    mortals.start();
    for (;;) {
      let asleep = 0;
      await mortals.until('somebody sleeps in a run, or all have ended', () => {
        asleep = mortals.column(TELL.phase).findIndex((_, i) => isAsleep(i + 1)) + 1;
        return asleep > 0 || mortals.allEnded;
      });
      if (asleep === 0) break;
      if (mortals.deaths.length >= KILLS >> 1) await mortals.calm();
      // Somebody who waits, most likely; and the one that they wait for.
      await kill(mortals.randomRow());
      if (isAsleep(asleep)) await kill(asleep);
    }
    onces.forEach((once, item) => {
      const row = 1 + THREADS + item;
      expect(once.done).toBe(true);
      expect(mortals.get(RUNS.ended, row)).toBeGreaterThanOrEqual(1);
      expectOneForEach(deathsAt[item]!, mortals.get(RUNS.begun, row) - 1, mortals);
    });
  }));
