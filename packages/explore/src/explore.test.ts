import { describe, expect, it } from 'vitest';
import { explore } from './explore.js';
import { defineModel, type Model } from './model.js';
import type { SimulatedThread } from './simulated-thread.js';

const model = (rest: Partial<Model> & Pick<Model, 'threads'>): Model => ({ name: 'test', words: 8, ...rest });

const failureOf = (rest: Partial<Model> & Pick<Model, 'threads'>) => explore(model(rest)).failure;

/** All results that the threads of a model can end with. */
function outcomes(rest: Partial<Model> & Pick<Model, 'threads'>): string[] {
  const seen = new Set<string>();
  const report = explore(
    model({
      ...rest,
      check: ({ results }) => {
        seen.add(JSON.stringify(results));
        return undefined;
      },
    }),
  );
  expect(report.failure).toBeNull();
  return [...seen].sort();
}

describe('bad declarations are refused before anything runs', () => {
  it.each<[string, Partial<Model>, string]>([
    ['no thread', { threads: [] }, 'has no thread'],
    ['no memory', { words: undefined as never }, '"words" nor "layout"'],
    ['words that are no number', { words: 1.5 }, '"words"'],
    ['a negative number of kills', { kills: -1 }, '"kills"'],
    ['a hint that is no word', { hints: ['nothing'] }, 'hint nothing'],
    ['a killable thread that is none', { killable: ['nobody'] }, 'nobody'],
    ['a clock that goes back', { clockJumps: [-1] }, 'forward'],
    ['no random number', { randoms: [] }, '"randoms"'],
    ['too many threads', { threads: new Array(25).fill(() => {}) }, 'more than 24'],
    ['a strategy that there is not', { search: { strategy: 'dfs' as never } }, 'exhaustive, random, pct'],
    ['an expectation that is none', { expect: 'fail' as never }, '"expect"'],
    ['a search bound that is no number', { search: { maxStates: Number.NaN } }, 'search.maxStates'],
  ])('%s', (_what, rest, problem) => {
    expect(() => explore(model({ threads: [() => {}], ...rest }))).toThrow(problem);
  });

  it('names the model', () => {
    expect(() => defineModel({ name: 'ring', words: 0, threads: [() => {}] })).toThrow('Model "ring"');
  });
});

describe('code that cannot be explored is reported with the step, not judged', () => {
  it('does other operations when it is run again', () => {
    let runs = 0;
    const failure = failureOf({
      names: { lock: 0 },
      threads: [
        ({ words, atomics }) => {
          atomics.load(words, 0);
          atomics.load(words, runs++);
          atomics.load(words, 7);
        },
      ],
    });
    expect(failure?.kind).toBe('non-deterministic');
    expect(failure?.reason).toMatch(/T0 did load words\[\d\] where it did load .* as operation 2/);
  });

  it('returns something else when it is run again', () => {
    let runs = 0;
    expect(failureOf({ threads: [() => runs++] })?.kind).toBe('non-deterministic');
  });

  it('catches the suspension and returns', () => {
    const failure = failureOf({
      names: { lock: 0 },
      threads: [
        ({ words, atomics }) => {
          try {
            atomics.load(words, 0);
          } catch {
            return 'gone wrong';
          }
          return 'well';
        },
      ],
    });
    expect(failure).toMatchObject({ kind: 'swallowed', reason: expect.stringContaining('load lock') });
  });

  it('catches the suspension in a loop that cannot be stopped', () => {
    const stubborn = ({ words, atomics }: SimulatedThread) => {
      for (let tries = 0; tries < 1e9; tries++) {
        try {
          atomics.load(words, 0);
          return;
        } catch (error) {
          if (error instanceof Error) throw error;
        }
      }
    };
    expect(failureOf({ threads: [stubborn] })).toMatchObject({
      kind: 'swallowed',
      reason: expect.stringContaining('in a loop'),
    });
  });

  it.each<[string, (thread: SimulatedThread) => unknown, string]>([
    ['a plain read past the end', ({ words }) => words[8], 'reads element 8 of a view of 8'],
    ['a plain write before the start', ({ words }) => Reflect.set(words, '-1', 1), 'writes element -1'],
    ['a plain read at no index', ({ words }) => words[Number.NaN], 'element NaN'],
    ['an atomic past the end', ({ words, atomics }) => atomics.add(words, 9, 1), 'Atomics.add on element 9'],
    [
      'real shared memory',
      ({ atomics }) => atomics.load(new Int32Array(new SharedArrayBuffer(4)), 0),
      'shared memory outside the model',
    ],
    ['a range past the end', ({ words }) => words.set([1, 2, 3], 6), 'elements 6 to 8'],
  ])('touches memory outside the words: %s', (_what, body, reason) => {
    expect(failureOf({ threads: [body] })).toMatchObject({
      kind: 'out-of-bounds',
      reason: expect.stringContaining(reason),
    });
  });

  it('returns a promise', () => {
    const late = async ({ words, atomics }: SimulatedThread) => {
      atomics.load(words, 0);
      await undefined;
      atomics.load(words, 0);
    };
    for (const body of [async () => {}, late]) {
      const failure = failureOf({ threads: [body] });
      expect(failure).toMatchObject({
        kind: 'unsupported',
        reason: expect.stringMatching(/promise.+thread\.drive/),
      });
    }
  });

  it('uses the Atomics of the engine', () => {
    const failure = failureOf({ threads: [({ words }) => Atomics.load(words, 0)] });
    expect(failure).toMatchObject({ kind: 'exception', reason: expect.stringContaining('thread.atomics') });
  });

  it('waits asynchronously where only a machine can', () => {
    const failure = failureOf({ threads: [({ words, atomics }) => atomics.waitAsync(words, 0, 0)] });
    expect(failure).toMatchObject({ kind: 'unsupported', reason: expect.stringContaining('step machine') });
  });

  it('makes a view with a constructor of the engine', () => {
    const failure = failureOf({ threads: [({ words }) => new Uint8Array(words.buffer)] });
    expect(failure).toMatchObject({ kind: 'unsupported', reason: expect.stringContaining('thread.view()') });
  });

  it('leaves private arrays alone: they are no shared memory and no step', () => {
    const report = explore(model({ threads: [({ atomics }) => atomics.add(new Int32Array(2), 1, 5)] }));
    expect(report).toMatchObject({ failure: null, steps: 0, complete: true });
  });
});

describe('what the surroundings may do', () => {
  it('a timed wait times out or is woken', () => {
    expect(
      outcomes({
        threads: [
          ({ words, atomics }) => atomics.wait(words, 0, 0, 10),
          ({ words, atomics }) => {
            atomics.store(words, 0, 1);
            return atomics.notify(words, 0);
          },
        ],
      }),
    ).toEqual(['["not-equal",0]', '["ok",1]', '["timed-out",0]']);
  });

  it('without time-outs, a waiter that only its time-out would save is a lost wake', () => {
    const forgetful: Model['threads'] = [
      ({ words, atomics }) => atomics.wait(words, 0, 0, 10),
      ({ words, atomics }) => atomics.store(words, 0, 1),
    ];
    expect(failureOf({ threads: forgetful })).toBeNull();
    expect(failureOf({ threads: forgetful, timeouts: false })?.kind).toBe('lost-wake');
  });

  it('the clock stands at the deadline once a wait has timed out', () => {
    expect(
      outcomes({
        threads: [
          ({ words, platform }) => {
            const start = platform.now();
            platform.atomics.wait(words, 0, 0, 25);
            return platform.now() - start;
          },
        ],
      }),
    ).toEqual(['[25]']);
  });

  it('a deadline loop ends, with stray wakes too', () => {
    const patient = ({ words, platform }: SimulatedThread) => {
      const deadline = platform.now() + 100;
      for (let left = 100; left > 0; left = deadline - platform.now()) {
        if (platform.atomics.load(words, 0) === 1) return 'set';
        platform.atomics.wait(words, 0, 0, left);
      }
      return 'late';
    };
    const set = ({ words, atomics }: SimulatedThread) => {
      atomics.store(words, 0, 1);
      atomics.notify(words, 0);
    };
    expect(outcomes({ threads: [patient, set], strayWakes: 2 })).toEqual(['["late",null]', '["set",null]']);
  });

  it('a spin with a deadline sees time pass', () => {
    const spin = ({ words, platform }: SimulatedThread) => {
      const deadline = platform.now() + 1000;
      while (platform.now() < deadline) {
        if (platform.atomics.load(words, 0) === 1) return 'set';
        platform.pause();
      }
      return 'late';
    };
    expect(outcomes({ threads: [spin] })).toEqual(['["late"]']);
    const report = explore(model({ threads: [spin, ({ words, atomics }) => atomics.store(words, 0, 1)] }));
    expect(report).toMatchObject({ failure: null, complete: true });
  });

  it('the clock may be late by the jumps that the model allows', () => {
    const look = ({ platform }: SimulatedThread) => platform.now();
    expect(outcomes({ threads: [look], clockJumps: [5, 1000] })).toEqual(['[0]', '[1000]', '[5]']);
  });

  it('a random number is each that the model allows', () => {
    expect(outcomes({ threads: [({ platform }) => platform.random()], randoms: [3, 9] })).toEqual([
      '[3]',
      '[9]',
    ]);
  });

  it('notify wakes in the order of arrival, up to its count', () => {
    const sleep = ({ words, atomics, index }: SimulatedThread) => {
      const place = atomics.add(words, 1, 1);
      atomics.wait(words, 0, 0);
      return [index, place, atomics.add(words, 2, 1)];
    };
    const wake = ({ words, atomics }: SimulatedThread) => {
      while (atomics.load(words, 1) < 2);
      const first = atomics.notify(words, 0, 1);
      atomics.store(words, 0, 1);
      return [first, atomics.notify(words, 0)];
    };
    const ends = outcomes({ threads: [sleep, sleep, wake] });
    expect(ends.length).toBeGreaterThan(2);
    for (const end of ends)
      expect(['[1,1]', '[0,1]', '[1,0]', '[0,0]', '[0,2]']).toContain(JSON.stringify(JSON.parse(end)[2]));
  });
});

describe('hints', () => {
  it('a hint read gives any value that the word takes', () => {
    expect(
      outcomes({
        hints: [0],
        threads: [
          ({ words }) => words[0],
          ({ words, atomics }) => {
            atomics.store(words, 0, 1);
            atomics.store(words, 0, 2);
          },
        ],
      }),
    ).toEqual(['[0,null]', '[1,null]', '[2,null]']);
  });

  it('a value that is taken only later is read too', () => {
    expect(
      outcomes({
        hints: [0],
        threads: [
          ({ words, atomics }) => {
            const seen = words[0];
            atomics.store(words, 1, 1);
            return seen;
          },
          ({ words, atomics }) => {
            if (atomics.load(words, 1) === 1) atomics.store(words, 0, 7);
          },
        ],
      }),
    ).toEqual(['[0,null]', '[7,null]']);
  });

  it('a hint as the expectation of a CAS costs a retry and no more', () => {
    const increment = ({ words, atomics }: SimulatedThread) => {
      for (let seen = words[0]!; ; ) {
        const found = atomics.compareExchange(words, 0, seen, seen + 1);
        if (found === seen) return;
        seen = found;
      }
    };
    const report = explore(
      model({
        hints: [0],
        threads: [increment, increment],
        check: ({ words }) => (words[0] === 2 ? undefined : `${words[0]}`),
      }),
    );
    expect(report).toMatchObject({ failure: null, complete: true });
  });

  it('a hint as the sole condition of a sleep is found as a sleep that does not end', () => {
    const failure = failureOf({
      hints: [0],
      threads: [
        ({ words, atomics }) => {
          if (words[0] === 0) atomics.wait(words, 1, 0);
        },
        ({ words, atomics }) => {
          atomics.store(words, 0, 1);
          atomics.notify(words, 1);
        },
      ],
    });
    expect(failure?.kind).toBe('deadlock');
  });

  it('a failure that rests on a late read is replayed by its string, by the values that were read', () => {
    const subject = model({
      hints: [0],
      threads: [
        ({ words, atomics }) => {
          const seen = words[0];
          if (atomics.load(words, 0) === 3 && seen === 2) throw new Error('read late');
        },
        ({ words, atomics }) => {
          for (const value of [1, 2, 3]) atomics.store(words, 0, value);
        },
      ],
    });
    const { failure } = explore(subject);
    expect(failure).toMatchObject({ kind: 'exception', replay: expect.stringContaining('0~2') });
    expect(explore(subject, { replay: failure!.replay }).failure).toMatchObject({
      columns: failure!.columns,
    });
  });

  it('a hint may be read by bytes, and not as part of a range', () => {
    expect(
      outcomes({
        hints: [0],
        threads: [
          (thread) => thread.view(Uint8Array)[1],
          ({ words, atomics }) => void atomics.store(words, 0, 0x500),
        ],
      }),
    ).toEqual(['[0,null]', '[5,null]']);
    const failure = failureOf({ hints: [0], threads: [({ words }) => words.slice(0, 2)] });
    expect(failure).toMatchObject({ kind: 'unsupported', reason: expect.stringContaining('range') });
  });

  it.each([
    ['Float32Array', Float32Array],
    ['Float64Array', Float64Array],
    ['BigInt64Array', BigInt64Array],
  ])('a hint is an integer within one word: read as a %s it is refused', (name, type) => {
    const failure = failureOf({
      hints: [0],
      threads: [(thread) => thread.view(type as typeof Float32Array)[0]],
    });
    expect(failure).toMatchObject({
      kind: 'unsupported',
      reason: expect.stringContaining(`reads a hint as a ${name}`),
    });
  });

  it('undeclared, the same read is a race', () => {
    expect(
      failureOf({ threads: [({ words }) => words[0], ({ words, atomics }) => atomics.store(words, 0, 1)] })
        ?.kind,
    ).toBe('race');
  });
});

describe('loops', () => {
  it('a bounded spin that then sleeps is followed to its sleep', () => {
    const waiter = ({ words, platform }: SimulatedThread) => {
      for (let spins = 0; spins < 20; spins++) {
        if (platform.atomics.load(words, 0) === 1) return 'spun';
        platform.pause();
      }
      while (platform.atomics.load(words, 0) === 0) platform.atomics.wait(words, 0, 0);
      return 'slept';
    };
    const setter = ({ words, atomics }: SimulatedThread) => {
      atomics.store(words, 0, 1);
      atomics.notify(words, 0);
    };
    expect(outcomes({ threads: [waiter, setter] })).toEqual(['["slept",null]', '["spun",null]']);
  });

  it('an endless spin that nobody ends is a deadlock', () => {
    const failure = failureOf({
      names: { flag: 0 },
      threads: [
        ({ words, atomics }) => {
          while (atomics.load(words, 0) === 0);
        },
      ],
    });
    expect(failure).toMatchObject({
      kind: 'deadlock',
      reason: expect.stringContaining('spins: load flag keeps answering 0'),
    });
  });

  it('a polling loop of timed waits ends once another thread has moved', () => {
    const poll = ({ words, atomics }: SimulatedThread) => {
      while (atomics.load(words, 0) === 0) atomics.wait(words, 1, 0, 1);
    };
    const report = explore(model({ threads: [poll, ({ words, atomics }) => atomics.store(words, 0, 1)] }));
    expect(report).toMatchObject({ failure: null, complete: true });
  });

  it('two threads that undo each other for ever are a livelock', () => {
    const polite =
      (mine: number, other: number) =>
      ({ words, atomics }: SimulatedThread) => {
        for (;;) {
          atomics.store(words, mine, 1);
          if (atomics.load(words, other) === 0) return;
          atomics.store(words, mine, 0);
        }
      };
    expect(failureOf({ threads: [polite(0, 1), polite(1, 0)], search: { maxThreadSteps: 60 } })?.kind).toBe(
      'livelock',
    );
  });
});

describe('linearizability', () => {
  interface Queue {
    readonly items: readonly unknown[];
  }
  const fifo = {
    initial: { items: [] } as Queue,
    apply({ items }: Queue, { name, args }: { name: string; args: readonly unknown[] }) {
      if (name === 'push') return { state: { items: [...items, args[0]] }, result: undefined };
      return { state: { items: items.slice(1) }, result: items[0] ?? null };
    },
  };
  const slots = 2;
  /** A queue of two slots whose push fills a slot that it has claimed: the order of filling is not that of claiming. */
  const push = (thread: SimulatedThread, value: number) =>
    thread.call('push', [value], () => {
      const slot = thread.atomics.add(thread.words, 0, 1);
      thread.atomics.store(thread.words, 2 + slot, value);
    });
  const pop = (thread: SimulatedThread) =>
    thread.call('pop', [], () => {
      for (let slot = 0; slot < slots; slot++) {
        const value = thread.atomics.exchange(thread.words, 2 + slot, 0);
        if (value !== 0) return value;
      }
      return null;
    });

  it('results that no order of the calls explains are found', () => {
    const failure = failureOf({
      sequential: fifo as never,
      threads: [
        (thread) => push(thread, 1),
        (thread) => push(thread, 2),
        (thread) => [pop(thread), pop(thread)],
      ],
    });
    expect(failure).toMatchObject({ kind: 'not-linearizable', reason: expect.stringContaining('pop() → ') });
  });

  it('an atomic counter is linearizable, with a death in a call too', () => {
    const counter = {
      initial: 0,
      apply: (state: number) => ({ state: state + 1, result: state }),
    };
    const report = explore(
      model({
        sequential: counter as never,
        kills: 1,
        threads: [0, 1, 2].map(
          () => (thread: SimulatedThread) =>
            thread.call('next', [], () => thread.atomics.add(thread.words, 0, 1)),
        ),
      }),
    );
    expect(report).toMatchObject({ failure: null, complete: true });
  });

  it('calls that do not overlap keep their order: a stale read is no order', () => {
    const register = {
      initial: 0,
      apply: (state: number, { name, args }: { name: string; args: readonly unknown[] }) =>
        name === 'write' ? { state: args[0] as number, result: undefined } : { state, result: state },
    };
    const failure = failureOf({
      sequential: register as never,
      threads: [
        (thread) => {
          thread.call('write', [1], () => void thread.atomics.store(thread.words, 0, 1));
          thread.atomics.store(thread.words, 1, 1);
        },
        (thread) => {
          // A read that goes to a copy which nobody updates.
          if (thread.atomics.load(thread.words, 1) === 1) {
            thread.call('read', [], () => thread.atomics.load(thread.words, 2));
          }
        },
      ],
    });
    expect(failure?.kind).toBe('not-linearizable');
  });
});

describe('checkpoints', () => {
  const twice =
    (checkpoint: boolean) =>
    (thread: SimulatedThread): void => {
      const { words, atomics } = thread;
      for (let round = 0; round < 2; round++) {
        if (checkpoint) thread.checkpoint(round);
        for (let seen = atomics.load(words, 0); ; ) {
          const found = atomics.compareExchange(words, 0, seen, seen + 1);
          if (found === seen) break;
          seen = found;
        }
      }
    };
  const check: Model['check'] = ({ words }) => (words[0] === 4 ? undefined : `${words[0]} of 4`);

  it('make fewer states, and the same verdict', () => {
    const [plain, merged] = [false, true].map((checkpoint) =>
      explore(model({ threads: [twice(checkpoint), twice(checkpoint)], check })),
    );
    expect(plain).toMatchObject({ failure: null, complete: true });
    expect(merged).toMatchObject({ failure: null, complete: true });
    expect(merged!.states).toBeLessThan(plain!.states);
  });

  it('that hide what matters later are told of', () => {
    const forgetful = (thread: SimulatedThread) => {
      const { words, atomics } = thread;
      const seen = atomics.load(words, 0);
      thread.checkpoint();
      atomics.load(words, 1);
      atomics.store(words, 2, seen);
    };
    const setter = ({ words, atomics }: SimulatedThread) => atomics.store(words, 0, 7);
    expect(failureOf({ threads: [forgetful, setter] })).toMatchObject({
      kind: 'checkpoint',
      reason: expect.stringContaining('T0 goes on differently'),
    });
  });

  it('take numbers, strings, arrays and plain objects', () => {
    const failure = failureOf({
      threads: [
        (thread) => {
          thread.checkpoint(new Map());
          thread.atomics.load(thread.words, 0);
        },
      ],
    });
    expect(failure).toMatchObject({ kind: 'unsupported', reason: expect.stringContaining('checkpoint') });
  });
});

describe('searches', () => {
  const lostUpdate: Model['threads'] = [0, 1].map(() => ({ words, atomics }: SimulatedThread) => {
    atomics.store(words, 0, atomics.load(words, 0) + 1);
  });
  const check: Model['check'] = ({ words }) => (words[0] === 2 ? undefined : 'an update is lost');

  it('the shortest failing schedule is found, and its string replays it', () => {
    const subject = model({ threads: lostUpdate, check });
    const { failure } = explore(subject);
    expect(failure).toMatchObject({ kind: 'check', length: 4, shortest: true });
    const again = explore(subject, { replay: failure!.replay });
    expect(again.failure).toMatchObject({
      kind: 'check',
      reason: failure!.reason,
      columns: failure!.columns,
    });
  });

  it('a schedule of another model is refused', () => {
    expect(() => explore(model({ threads: lostUpdate }), { replay: '0x9' })).toThrow('not possible');
    expect(() => explore(model({ threads: lostUpdate }), { replay: '9' })).toThrow('not possible');
    expect(() => explore(model({ threads: lostUpdate }), { replay: 'zero' })).toThrow('no step');
  });

  it('a search with a bound never calls itself complete when the bound has cut anything', () => {
    const threads = lostUpdate;
    expect(explore(model({ threads, search: { preemptions: 0 } }))).toMatchObject({
      failure: null,
      complete: false,
    });
    expect(explore(model({ threads, check, search: { preemptions: 1 } })).failure?.kind).toBe('check');
    expect(explore(model({ threads, search: { maxStates: 3 } }))).toMatchObject({ complete: false });
    expect(explore(model({ threads, search: { maxSteps: 3 } }))).toMatchObject({ complete: false });
    expect(explore(model({ threads, search: { maxDepth: 2 } }))).toMatchObject({ complete: false });
    expect(explore(model({ threads, search: { preemptions: 9 } }))).toMatchObject({ complete: true });
  });

  it('a failure within a bound on preemptions is traced, private words and plain access included', () => {
    const threads: Model['threads'] = [0, 1].map((own) => ({ words, atomics }: SimulatedThread) => {
      atomics.store(words, 2 + own, 1);
      const seen = atomics.load(words, 0);
      atomics.store(words, 2 + own, 2);
      words[4 + own] = seen;
      atomics.store(words, 0, seen + 1);
    });
    const subject = model({ threads, check, search: { preemptions: 1 } });
    const { failure } = explore(subject);
    expect(failure?.kind).toBe('check');
    expect(explore(subject, { replay: failure!.replay }).failure?.columns).toBe(failure!.columns);
  });

  it.each(['random', 'pct'] as const)('%s finds the fault, the same one for the same seed', (strategy) => {
    const subject = model({ threads: lostUpdate, check, search: { strategy, seed: 5, shortestStates: 0 } });
    const first = explore(subject);
    expect(first).toMatchObject({ failure: { kind: 'check' }, complete: false, seed: 5 });
    expect(explore(subject).failure!.replay).toBe(first.failure!.replay);
  });

  it('an invariant is looked at in every state', () => {
    const failure = failureOf({
      threads: [
        ({ words, atomics }) => {
          atomics.store(words, 0, 1);
          atomics.store(words, 0, 0);
        },
      ],
      always: (words) => (words[0] === 1 ? 'the word is 1' : undefined),
    });
    expect(failure).toMatchObject({ kind: 'invariant', length: 1 });
  });

  it('no two ways of counting states: the same model gives the same figures again', () => {
    const subject = model({ threads: lostUpdate, kills: 1 });
    const [one, other] = [explore(subject), explore(subject)];
    expect([one.states, one.steps, one.kills]).toEqual([other.states, other.steps, other.kills]);
  });
});

describe('deaths', () => {
  it('a thread may die before each of its steps, asleep too', () => {
    const deaths = new Set<string>();
    explore(
      model({
        kills: 1,
        killable: [0],
        threads: [
          ({ words, atomics }) => {
            atomics.store(words, 0, 1);
            atomics.wait(words, 1, 0);
            atomics.store(words, 0, 2);
          },
          ({ words, atomics }) => {
            atomics.store(words, 1, 1);
            atomics.notify(words, 1);
          },
        ],
        check: ({ words, dead }) => {
          deaths.add(`${dead[0]} ${words[0]}`);
          return undefined;
        },
      }),
    );
    expect([...deaths].sort()).toEqual(['false 2', 'true 0', 'true 1']);
  });

  it('recovery interleaves with the survivors, is killed, and is started again', () => {
    const seen = new Set<string>();
    const report = explore(
      model({
        kills: 2,
        killable: [0],
        threads: [
          ({ words, atomics }) => atomics.store(words, 0, 1),
          ({ words, atomics }) => atomics.load(words, 1),
        ],
        recover: ({ words, atomics }, dead) => {
          atomics.add(words, 1, 1);
          atomics.store(words, 2, 1 + dead);
          return 'recovered';
        },
        check: ({ words, results, dead, recoveries }) => {
          seen.add(JSON.stringify([dead[0], words[1], results[1], recoveries.length]));
          if (dead[0] && words[2] !== 1) return 'recovery has not ended';
          return undefined;
        },
      }),
    );
    expect(report).toMatchObject({ failure: null, complete: true });
    // Begun twice: the first was killed between its steps.
    expect([...seen]).toContain('[true,2,2,1]');
    expect([...seen]).toContain('[true,2,1,1]');
    expect([...seen]).toContain('[true,1,0,1]');
  });

  it('what the dead thread wrote happens before its recovery, and before nobody else', () => {
    const threads: Model['threads'] = [
      ({ words, atomics }) => {
        words[0] = 1;
        atomics.load(words, 3);
      },
      ({ words, atomics }) => atomics.load(words, 3),
    ];
    expect(failureOf({ threads, kills: 1, killable: [0], recover: ({ words }) => words[0] })).toBeNull();
    const racing: Model['threads'] = [
      threads[0]!,
      ({ words, atomics }) => {
        if (atomics.load(words, 2) === 1) words[0] = 2;
      },
    ];
    expect(
      failureOf({
        threads: racing,
        kills: 1,
        killable: [0],
        recover: ({ words, atomics }) => atomics.add(words, 2, 0),
      }),
    ).toBeNull();
    expect(
      failureOf({
        threads: [threads[0]!, ({ words }) => words[0]],
        kills: 1,
        killable: [0],
        recover: () => {},
      })?.kind,
    ).toBe('race');
  });
});
