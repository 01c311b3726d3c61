import { setTimeout as delay } from 'node:timers/promises';
import { realPlatform } from '@heddle/memory';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Context } from './context.js';
import { Idle, type IdleStep, type IdleStrategy } from './idle.js';

/** The steps of a strategy while nothing comes, and how often it pauses. */
function steps(idle: IdleStrategy, count: number) {
  let pauses = 0;
  const platform = { ...realPlatform, pause: () => pauses++ };
  const all: IdleStep[] = [];
  for (let looks = 1; looks <= count; looks++) all.push(idle.idle(looks, platform));
  return { all, pauses, looks: all.filter((step) => step === 'look').length };
}

describe('idle strategies', () => {
  it('busy never sleeps', () => {
    expect(steps(Idle.busy(), 1000)).toMatchObject({ looks: 1000, pauses: 1000 });
  });

  it('park sleeps after so many looks', () => {
    expect(steps(Idle.park(), 1).all).toEqual(['sleep']);
    expect(steps(Idle.park({ looks: 2 }), 3).all).toEqual(['look', 'look', 'sleep']);
  });

  it('backoff pauses twice as long each time, then sleeps', () => {
    expect(steps(Idle.backoff({ pauses: 4 }), 4)).toEqual({
      all: ['look', 'look', 'look', 'sleep'],
      pauses: 1 + 2 + 4,
      looks: 3,
    });
  });

  it('eventLoop lets it turn, then sleeps', () => {
    expect(steps(Idle.eventLoop({ turns: 2 }), 3).all).toEqual(['turn', 'turn', 'sleep']);
  });

  it('adaptive looks longer where that found something and shorter where not, bounded both ways', () => {
    const idle = Idle.adaptive();
    const first = steps(idle, 5000).looks;
    for (let i = 0; i < 20; i++) idle.found?.(3);
    expect(steps(idle, 5000).looks).toBe(2048);
    for (let i = 0; i < 20; i++) idle.idle(5000, realPlatform);
    const least = steps(idle, 5000).looks;
    expect(least).toBe(16);
    expect(first).toBeGreaterThan(least);
    // What was there at once says nothing about looking.
    idle.found?.(0);
    expect(steps(idle, 5000).looks).toBe(16);
  });

  it('refuse bad options', () => {
    expect(() => Idle.park({ looks: -1 })).toThrow(RangeError);
    expect(() => Idle.backoff({ pauses: 0 })).toThrow(RangeError);
    expect(() => Idle.eventLoop({ turns: 0.5 })).toThrow(RangeError);
  });
});

describe('turns of the event loop', () => {
  /** Whether it turns at once: an immediate waits, and keeps it from sleeping. */
  const turnsAtOnce = () => process.getActiveResourcesInfo().includes('Immediate');

  it('do not let it sleep in between, unless they are not to keep it alive', async () => {
    const context = Context.create({ janitor: false, slots: 1, maxLanes: 1 });
    onTestFinished(() => context[Symbol.dispose]());
    const worker = context.createWorker({ idle: Idle.eventLoop({ turns: 2 ** 20 }) });
    const running = worker.run();
    for (let i = 0; i < 10; i++) {
      await Promise.resolve();
      expect(turnsAtOnce()).toBe(true);
      await delay(1);
    }
    worker.unref();
    await delay(5);
    const seen = new Set<boolean>();
    for (let i = 0; i < 10 && !seen.has(false); i++) {
      seen.add(turnsAtOnce());
      await delay(1);
    }
    expect(seen).toContain(false);
    worker.close();
    await running;
  });
});
