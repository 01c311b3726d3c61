import { describe, expect, it } from 'vitest';
import { explore } from './explore.js';
import type { Model } from './model.js';
import type { SimulatedThread } from './simulated-thread.js';
import type { Step, Steps } from './step-machine.js';

/** Takes a permit from word 0, waiting for one on that word. */
class Acquire implements Steps<string> {
  readonly #thread: SimulatedThread;

  constructor(thread: SimulatedThread) {
    this.#thread = thread;
  }

  begin(): Step<string> {
    const { words, atomics } = this.#thread;
    for (let value = atomics.load(words, 0); value > 0; ) {
      const seen = atomics.compareExchange(words, 0, value, value - 1);
      if (seen === value) return { done: true, value: 'acquired' };
      value = seen;
    }
    return { done: false, index: 0, expected: 0 };
  }

  onWake(): Step<string> {
    return this.begin();
  }

  onTimeout(): Step<string> {
    return { done: true, value: 'timed out' };
  }

  onAbort(): Step<string> {
    return { done: true, value: 'aborted' };
  }
}

const release = ({ words, atomics }: SimulatedThread): void => {
  atomics.add(words, 0, 1);
  atomics.notify(words, 0, 1);
};

function explored(rest: Partial<Model> & Pick<Model, 'threads'>) {
  const ends = new Set<string>();
  const report = explore({
    name: 'machine',
    words: 1,
    check: ({ results }) => {
      ends.add(JSON.stringify(results));
      return undefined;
    },
    ...rest,
  });
  return { report, ends: [...ends].sort() };
}

describe('step machines', () => {
  it('are woken, or never have to wait', () => {
    const { report, ends } = explored({ threads: [(thread) => thread.drive(new Acquire(thread)), release] });
    expect(report).toMatchObject({ failure: null, complete: true });
    expect(ends).toEqual(['["acquired",null]']);
  });

  it('time out and are aborted where the driver says so, at any moment of their sleep', () => {
    const { report, ends } = explored({
      threads: [(thread) => thread.drive(new Acquire(thread), { timeoutMs: 5, abortable: true }), release],
      strayWakes: 1,
    });
    expect(report).toMatchObject({ failure: null, complete: true });
    expect(ends).toEqual(['["aborted",null]', '["acquired",null]', '["timed out",null]']);
  });

  it('whose shell says what an abort comes to end with nothing', () => {
    const machine = (thread: SimulatedThread) => {
      const acquire = new Acquire(thread);
      return {
        begin: () => acquire.begin(),
        onWake: () => acquire.onWake(),
        onTimeout: () => acquire.onTimeout(),
        onAbort() {},
      };
    };
    const { ends } = explored({
      threads: [(thread) => thread.drive(machine(thread), { abortable: true }) ?? 'given up', release],
    });
    expect(ends).toEqual(['["acquired",null]', '["given up",null]']);
  });

  it('an aborted wait swallows the notify that was meant for another, unless its entry is taken away', () => {
    const threads = (leavesEntry: boolean): Model['threads'] => [
      (thread) => {
        const result = thread.drive(new Acquire(thread), { abortable: true, leavesEntry });
        if (result === 'acquired') release(thread);
      },
      (thread) => {
        thread.drive(new Acquire(thread));
        release(thread);
      },
      release,
    ];
    expect(explored({ threads: threads(true) }).report.failure).toMatchObject({
      kind: 'lost-wake',
      reason: expect.stringContaining('T1 sleeps'),
    });
    expect(explored({ threads: threads(false) }).report).toMatchObject({ failure: null, complete: true });
  });

  it('a machine that cannot be aborted is not driven so', () => {
    const steps = {
      begin: () => ({ done: true, value: 1 }) as const,
      onWake: () => ({ done: true, value: 1 }) as const,
    };
    const { report } = explored({ threads: [(thread) => thread.drive(steps, { abortable: true })] });
    expect(report.failure).toMatchObject({ kind: 'exception', reason: expect.stringContaining('onAbort') });
  });

  it('a machine that waits for ever is told from one that is slow', () => {
    const restless: Steps<number> = {
      begin: () => ({ done: false, index: 0, expected: 1 }),
      onWake: () => ({ done: false, index: 0, expected: 1 }),
    };
    const { report } = explored({ threads: [(thread) => thread.drive(restless, { maxWaits: 10 })] });
    expect(report.failure).not.toBeNull();
  });
});
