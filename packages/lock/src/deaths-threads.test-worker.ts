import { AutoResetEvent } from './auto-reset-event.js';
import { Barrier } from './barrier.js';
import { Condition, type ConditionOutcome } from './condition.js';
import { exclusionClass } from './exclusion-kinds.test-worker.js';
import type { ExclusiveLock } from './exclusive-lock.js';
import type { LockOutcome } from './lock.js';
import { ManualResetEvent } from './manual-reset-event.js';
import { ALL, type Mortal, PHASE, runMortal, TELL } from './mortal.test-worker.js';
import { Mutex } from './mutex.js';
import { Once } from './once.js';
import { RwLock } from './rw-lock.js';
import { Semaphore } from './semaphore.js';
import { SeqLock } from './seq-lock.js';

/** Of what excludes, and of conditions: what the threads did in all, and how many were told of a death. */
export const WORK = { total: ALL.first, informed: ALL.first + 1 } as const;
/** Of semaphores. */
export const PERMITS = { inside: ALL.first, issued: ALL.first + 1 } as const;
/** Of events: the round that is open, and the one that is the last. */
export const DOORS = { round: ALL.first, last: ALL.first + 1 } as const;
/** Of barriers: how often it was reset; in a thread's row, how often it was the last of a round. */
export const ROUNDS = { epoch: ALL.first, last: TELL.own + 1 } as const;
/** In the row of a once: runs that began, and that ended; in a thread's row, the one that it is at. */
export const RUNS = { begun: 1, ended: 2, item: TELL.own } as const;

const hasCode = (error: unknown, code: string) => (error as { code?: string }).code === code;

/** Waits for at most a moment, again and again. */
function timedOften(attempt: (options: { timeout: number }) => void): void {
  for (;;) {
    try {
      attempt({ timeout: 1 });
      return;
    } catch (error) {
      if (!hasCode(error, 'ERR_HEDDLE_TIMED_OUT')) throw error;
    }
  }
}

/** The total is what the rows say, but for what a death leaves. */
function check(mortal: Mortal, outcome: LockOutcome): void {
  if (outcome === 'acquired' && mortal.told[WORK.total] !== mortal.sum(TELL.own)) {
    throw new Error('Half a change is to be seen');
  }
}

/** One section under a lock, in which it puts in order what a death left. */
function change(mortal: Mortal, lock: ExclusiveLock): void {
  const { told } = mortal;
  mortal.phase(PHASE.asking);
  const outcome = lock.lock();
  if (outcome === 'owner-died') told[WORK.informed] = told[WORK.informed]! + 1;
  mortal.phase(PHASE.holding);
  check(mortal, outcome);
  if (outcome === 'owner-died') {
    told[WORK.total] = mortal.sum(TELL.own);
    lock.markConsistent();
  }
  mortal.count(TELL.own);
  told[WORK.total] = told[WORK.total]! + 1;
  mortal.phase(PHASE.leaving);
  lock.unlock();
  mortal.phase(PHASE.idle);
  mortal.did();
}

function exclude(mortal: Mortal): void {
  const [handle] = mortal.handles;
  const lock = exclusionClass(handle!.heddle).from(handle!);
  while (!mortal.stopped) change(mortal, lock);
}

/** Writes now and then, and reads. */
function readAndWrite(mortal: Mortal): void {
  const { read, write } = RwLock.from(mortal.handles[0]!);
  for (let round = mortal.row; !mortal.stopped; round++) {
    if (round % 4 === 0) {
      change(mortal, write);
      continue;
    }
    mortal.phase(PHASE.reading);
    check(mortal, read.lock());
    read.unlock();
    mortal.phase(PHASE.idle);
    mortal.did();
  }
}

/** Word 0 of the payload is the sum of the others, of which each thread writes its own. */
function readAndUpdate(mortal: Mortal): void {
  const { row } = mortal;
  const lock = SeqLock.from(mortal.handles[0]!);
  const values = new Int32Array(lock.length);
  const check = (payload: Int32Array) => {
    if (payload[0] !== payload.subarray(1).reduce((sum, value) => sum + value, 0)) {
      throw new Error(`Half a write: ${payload.join(' ')}`);
    }
  };
  for (let round = 0; !mortal.stopped; round++) {
    if (round % 2 === 0) {
      lock.update((payload) => {
        check(payload);
        payload[0] = payload[0]! + 1;
        payload[row] = payload[row]! + 1;
      });
      mortal.count(TELL.own);
    } else check(lock.read(values));
    mortal.did();
  }
}

/** No more inside than permits were issued. */
function acquireAndRelease(mortal: Mortal): void {
  const { told } = mortal;
  const semaphore = Semaphore.from(mortal.handles[0]!);
  for (let round = 0; !mortal.stopped; round++) {
    mortal.phase(PHASE.asking);
    if (round % 3 === 0) timedOften((options) => semaphore.acquire(options));
    else if (round % 3 === 1 || !semaphore.tryAcquire()) semaphore.acquire();
    mortal.phase(PHASE.holding);
    const inside = Atomics.add(told, PERMITS.inside, 1) + 1;
    if (inside > Atomics.load(told, PERMITS.issued)) throw new Error(`${inside} are inside`);
    Atomics.sub(told, PERMITS.inside, 1);
    mortal.phase(PHASE.leaving);
    semaphore.release();
    mortal.phase(PHASE.idle);
    mortal.did();
  }
}

/** Threads in odd rows make units, those in even ones consume them; there is room for one. */
export const produced = (row: number) => (row % 2 === 0 ? -1 : 1);

function produceOrConsume(mortal: Mortal): void {
  const { told } = mortal;
  const mutex = Mutex.from(mortal.handles[0]!);
  const [notFull, notEmpty] = [1, 2].map((i) => Condition.from(mortal.handles[i]!)) as [Condition, Condition];
  const change = produced(mortal.row);
  const [ready, others] = change > 0 ? [notFull, notEmpty] : [notEmpty, notFull];
  const wanted = change > 0 ? 0 : 1;
  const look = (outcome: LockOutcome | ConditionOutcome) => {
    const units = mortal.sum(TELL.own, produced);
    if (outcome === 'owner-died') {
      told[WORK.total] = units;
      mutex.markConsistent();
    }
    if (told[WORK.total] !== units || units < 0 || units > 1) {
      throw new Error(`${told[WORK.total]} units are there, ${units} should be`);
    }
    return units === wanted;
  };
  while (!mortal.stopped) {
    mortal.phase(PHASE.asking);
    let holds = look(mutex.lock());
    while (!holds && !mortal.stopped) holds = look(ready.wait(mutex));
    mortal.phase(PHASE.holding);
    if (holds) {
      mortal.count(TELL.own);
      told[WORK.total] = told[WORK.total]! + change;
    }
    mutex.unlock();
    others.notifyOne();
    mortal.did();
  }
}

/** Passes one door after the other, round after round, and says so. */
function walk(mortal: Mortal): void {
  const { told } = mortal;
  const doors = [0, 1].map((i) => ManualResetEvent.from(mortal.handles[i]!));
  const passed = AutoResetEvent.from(mortal.handles[2]!);
  // The one before may have died between its note and this.
  passed.set();
  const own = mortal.at(TELL.own);
  for (let round = told[own]! + 1; round <= Atomics.load(told, DOORS.last); round++) {
    const door = doors[round & 1]!;
    if (round % 3 === 0) while (!door.wait({ timeout: 0.05 }));
    else door.wait();
    if (Atomics.load(told, DOORS.round) !== round) throw new Error(`Door ${round} is open too early`);
    Atomics.store(told, own, round);
    passed.set();
    mortal.did();
  }
}

/** Opens a door when everyone has passed the one before, and is shut out of nothing that its predecessor left. */
function keepDoors(mortal: Mortal): void {
  const { told } = mortal;
  const doors = [0, 1].map((i) => ManualResetEvent.from(mortal.handles[i]!));
  const passed = AutoResetEvent.from(mortal.handles[2]!);
  const everyonePassed = (round: number) => {
    for (let row = 1; row < mortal.threads; row++) {
      if (Atomics.load(told, mortal.at(TELL.own, row)) < round) return false;
    }
    return true;
  };
  for (;;) {
    const round = Atomics.load(told, DOORS.round);
    doors[round & 1]!.set();
    while (!everyonePassed(round)) passed.wait();
    if (Atomics.load(told, DOORS.last) === round) return;
    doors[round & 1]!.reset();
    if (mortal.stopped) Atomics.store(told, DOORS.last, round + 1);
    Atomics.store(told, DOORS.round, round + 1);
    mortal.did();
  }
}

/** Round after round, until the barrier breaks; then again when it has been reset. */
function keepInStep(mortal: Mortal): void {
  const { told } = mortal;
  let epoch = Atomics.load(told, ROUNDS.epoch);
  const barrier = Barrier.from(mortal.handles[0]!);
  for (;;) {
    try {
      if (barrier.wait() === 'last') mortal.count(ROUNDS.last);
    } catch (error) {
      if (!hasCode(error, 'ERR_HEDDLE_POISONED')) throw error;
      mortal.phase(PHASE.broken);
      while (Atomics.load(told, ROUNDS.epoch) === epoch) Atomics.wait(told, ROUNDS.epoch, epoch);
      if (mortal.stopped) return;
      epoch = Atomics.load(told, ROUNDS.epoch);
      mortal.phase(PHASE.idle);
      continue;
    }
    const round = told[mortal.at(TELL.own)]! + 1;
    for (let row = 1; row <= mortal.threads; row++) {
      const behind = round - Atomics.load(told, mortal.at(TELL.own, row));
      if (behind !== 0 && behind !== 1)
        throw new Error(`Row ${row} is behind by ${behind} in round ${round}`);
    }
    Atomics.store(told, mortal.at(TELL.own), round);
    mortal.did();
  }
}

/** Goes through them all. In every other one who comes first sleeps until it is killed. */
function runEach(mortal: Mortal): void {
  const { told } = mortal;
  mortal.handles.forEach((handle, item) => {
    const once = Once.from(handle);
    const row = 1 + mortal.threads + item;
    told[mortal.at(RUNS.item)] = item;
    mortal.phase(PHASE.asking);
    once.run(({ interrupted }) => {
      if (!interrupted && told[mortal.at(RUNS.begun, row)] !== 0) {
        throw new Error(`Nobody said that run ${item} was interrupted`);
      }
      told[mortal.at(RUNS.begun, row)] = told[mortal.at(RUNS.begun, row)]! + 1;
      mortal.phase(PHASE.holding);
      if (item % 2 === 0 && !interrupted) for (;;) Atomics.wait(told, mortal.at(TELL.phase), PHASE.holding);
      told[mortal.at(RUNS.ended, row)] = told[mortal.at(RUNS.ended, row)]! + 1;
      mortal.phase(PHASE.leaving);
    });
    mortal.phase(PHASE.idle);
    if (!once.done || told[mortal.at(RUNS.ended, row)] === 0) throw new Error(`Run ${item} did not end`);
    mortal.did();
  });
}

/** Notifies every word of every structure each millisecond, until it is to be calm. */
function storm({ told, handles }: Mortal): void {
  const segments = [...new Set(handles.map(({ segment }) => segment.buffer))].map(
    (buffer) => new Int32Array(buffer),
  );
  while (Atomics.load(told, ALL.calm) === 0) {
    Atomics.wait(told, ALL.calm, 0, 1);
    for (const segment of segments) {
      for (let index = 0; index < segment.length; index++) Atomics.notify(segment, index);
    }
  }
}

// Without `await` at the top: Node 20 aborts where a thread is terminated while it evaluates such a module.
runMortal({
  exclude,
  readAndWrite,
  readAndUpdate,
  acquireAndRelease,
  produceOrConsume,
  walk,
  keepDoors,
  keepInStep,
  runEach,
  storm,
});
