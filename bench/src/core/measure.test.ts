import { describe, expect, it } from 'vitest';
import { measureComparison } from './measure.js';
import type { Plan } from './plan.js';
import type { MeasuredVariant } from './report.js';
import {
  CannotRunHere,
  type Comparison,
  type ExternalVariant,
  type RoundResult,
  type Runner,
} from './suite.js';

const plan: Plan = { mode: 'quick', rounds: 3, roundMs: 10, warmUpSliceMs: 1, warmUpLimitMs: 20 };

/** A runner that plays back times in place of measuring any. */
class Playback implements Runner {
  closed = false;
  readonly #next: () => Partial<RoundResult>;

  constructor(next: () => Partial<RoundResult>) {
    this.#next = next;
  }

  async round(timeMs: number): Promise<RoundResult> {
    return {
      nsPerOperation: 100,
      slowestNs: 120,
      batchNs: 50_000,
      work: [10],
      driving: [true],
      cpuMs: [timeMs],
      wallMs: timeMs,
      figures: {},
      timerSaturated: false,
      ...this.#next(),
    };
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

function playing(name: string, next: () => Partial<RoundResult>, rest: Partial<ExternalVariant> = {}) {
  return { name, open: async () => new Playback(next), ...rest };
}

function comparing(variants: ExternalVariant[], rest: Partial<Comparison> = {}): Comparison {
  const baseline = variants[0]!.name;
  return { name: 'test', title: 'a test', metric: 'time', operation: 'call', baseline, variants, ...rest };
}

function run(
  comparison: Comparison,
  ofPlan = plan,
  progress: (variant: string, step: string) => void = () => {},
) {
  return measureComparison(comparison, {
    plan: ofPlan,
    clockResolutionNs: 50,
    open: (_, variant) => (variant as ExternalVariant).open([]),
    progress,
  });
}

const measured = (variants: readonly unknown[]) => variants as readonly MeasuredVariant[];

describe('measureComparison', () => {
  it('runs every variant once a round, and turns the order by one place each time', async () => {
    const order: string[] = [];
    const variants = ['a', 'b', 'c'].map((name) => playing(name, () => ({})));
    await run(comparing(variants), plan, (variant, step) => {
      if (step.startsWith('round')) order.push(variant);
    });
    expect(order.join('')).toBe('abcbcacab');
  });

  it('divides each round by the same round of the baseline, or of the twin that a variant names', async () => {
    // Every round is slower than the one before; the variants are slower by constant factors.
    const drifting = (factor: number) => {
      let round = 0;
      return () => ({ nsPerOperation: factor * 2 ** round++ });
    };
    const { variants } = await run(
      comparing([
        playing('baseline', drifting(1)),
        playing('double', drifting(2)),
        playing('triple', drifting(3), { against: 'double' }),
      ]),
    );
    const [baseline, double, triple] = measured(variants);
    expect(baseline!.ratio).toMatchObject({ against: 'baseline', median: 1, mad: 0 });
    expect(double!.ratio).toMatchObject({ against: 'baseline', rounds: [2, 2, 2] });
    expect(triple!.ratio).toMatchObject({ against: 'double', rounds: [1.5, 1.5, 1.5] });
  });

  it('turns times into rates and bandwidths where those are asked for', async () => {
    const rate = await run(comparing([playing('a', () => ({}))], { metric: 'rate' }));
    expect(measured(rate.variants)[0]!.value.median).toBe(1e7);
    const copies = [playing('a', () => ({}), { bytesPerOperation: 1024 })];
    const bandwidth = await run(comparing(copies, { metric: 'bandwidth' }));
    expect(measured(bandwidth.variants)[0]!.value.median).toBe(1024e7);
  });

  it('divides the CPU time of all threads by what the driving ones did, where that is asked for', async () => {
    const next = () => ({ work: [10, 30, 999], driving: [true, true, false], cpuMs: [1, 2, 5] });
    const { unit, variants } = await run(comparing([playing('a', next)], { metric: 'cpu' }));
    expect(unit).toBe('ns');
    expect(measured(variants)[0]!.value.median).toBe(8e6 / 40);
  });

  it('warms up no variant that does so by itself', async () => {
    let rounds = 0;
    const runner = new Playback(() => ({ nsPerOperation: ++rounds }));
    const warm = { name: 'warm', open: async () => Object.assign(runner, { warm: true }) };
    const { variants } = await run(comparing([warm]));
    expect(rounds).toBe(plan.rounds);
    expect(measured(variants)[0]!.warnings.map(({ code }) => code)).not.toContain('warm-up');
  });

  it('makes the rounds longer where a comparison needs it, in a full run', async () => {
    const wallMs: number[] = [];
    for (const mode of ['full', 'quick'] as const) {
      const { variants } = await run(comparing([playing('a', () => ({}))], { roundMs: 1000 }), {
        ...plan,
        mode,
      });
      wallMs.push(measured(variants)[0]!.wallMs);
    }
    expect(wallMs).toEqual([1000, 10]);
  });

  it('leaves out a variant that fails, says why, and closes every runner', async () => {
    const opened: Playback[] = [];
    const track = (next: () => Partial<RoundResult>) => async () => {
      const runner = new Playback(next);
      opened.push(runner);
      return runner;
    };
    const broken = () => {
      throw new Error('it broke');
    };
    const { variants } = await run(
      comparing([
        { name: 'broken', open: track(broken) },
        { name: 'sound', open: track(() => ({})) },
        { name: 'absent', open: track(() => ({})), skip: 'not on this engine' },
        {
          name: 'unable',
          open: async () => {
            throw new CannotRunHere('no compiler');
          },
        },
      ]),
    );
    expect(variants[0]).toEqual({ name: 'broken', status: 'failed', reason: 'it broke' });
    expect(variants[1]).toMatchObject({ name: 'sound', status: 'measured' });
    expect(variants[1]).not.toHaveProperty('ratio');
    expect(variants[2]).toEqual({ name: 'absent', status: 'skipped', reason: 'not on this engine' });
    expect(variants[3]).toEqual({ name: 'unable', status: 'skipped', reason: 'no compiler' });
    expect(opened).toHaveLength(2);
    expect(opened.every((runner) => runner.closed)).toBe(true);
  });

  it('keeps fairness among those who drive, work and CPU time of every thread, and the largest figures', async () => {
    let round = 0;
    const { variants } = await run(
      comparing([
        playing('a', () => ({
          work: [1, 3, 1000],
          driving: [true, true, false],
          cpuMs: [5, 6, null],
          figures: { longestWaitNs: ++round },
        })),
      ]),
    );
    const [variant] = measured(variants);
    expect(variant).toMatchObject({ threads: 3, jain: 0.8 });
    expect(variant!.threadReports.map(({ role, work, cpuMs }) => [role, work, cpuMs])).toEqual([
      ['drives', 1, 5],
      ['drives', 3, 6],
      ['serves', 1000, null],
    ]);
    expect(variant!.figures['longestWaitNs']).toBe(round);
  });

  it.each([
    [{ atMost: 2 }, 'met'],
    [{ atLeast: 1.9 }, 'met'],
    [{ atMost: 1.5 }, 'missed'],
    [{ atLeast: 4 }, 'missed'],
  ] as const)('judges a ratio of 2 against the target %o: %s', async (target, outcome) => {
    const double = playing('double', () => ({ nsPerOperation: 200 }), { targets: [target] });
    const { variants } = await run(comparing([playing('baseline', () => ({})), double]));
    const [report] = measured(variants)[1]!.targets;
    expect(report).toEqual({ of: 'ratio', against: 'baseline', ...target, value: 2, outcome });
  });

  it('does not call a target missed where the rounds differ by more than what is missing', async () => {
    const times = [190, 200, 210];
    let round = 0;
    const wavering = playing('wavering', () => ({ nsPerOperation: times[round++ % 3]! }), {
      targets: [{ atMost: 1.95 }],
    });
    const { variants } = await run(comparing([playing('baseline', () => ({})), wavering]));
    expect(measured(variants)[1]!.targets[0]!.outcome).toBe('within-spread');
  });

  it('judges a target against another twin than that of the row, and leaves it open where that has no figures', async () => {
    const { variants } = await run(
      comparing([
        playing('baseline', () => ({})),
        playing('slow', () => ({ nsPerOperation: 400 })),
        playing('absent', () => ({}), { skip: 'not on this engine' }),
        playing('double', () => ({ nsPerOperation: 200 }), {
          targets: [
            { atMost: 0.6, against: 'slow' },
            { atMost: 1, against: 'absent' },
          ],
        }),
      ]),
    );
    const [, , , double] = measured(variants);
    expect(double!.ratio!.against).toBe('baseline');
    expect(double!.targets).toEqual([
      { of: 'ratio', against: 'slow', atMost: 0.6, value: 0.5, outcome: 'met' },
      { of: 'ratio', against: 'absent', atMost: 1, outcome: 'not-judged' },
    ]);
  });

  it.each([
    [10, [5, 5], 'met'],
    [10, [1, 9], 'missed'],
    [1000, [5, 5], 'not-judged'],
  ] as const)('judges fairness over %i ms of work %o: %s', async (overMs, work, outcome) => {
    const fair = playing('a', () => ({ work, driving: [true, true] }), {
      targets: [{ jainAtLeast: 0.95, overMs }],
    });
    const { variants } = await run(comparing([fair]));
    expect(measured(variants)[0]!.targets[0]).toMatchObject({ of: 'jain', atLeast: 0.95, outcome });
  });
});

describe('the warnings', () => {
  const codes = async (next: () => Partial<RoundResult>, rest: Partial<ExternalVariant> = {}) => {
    const { variants } = await run(comparing([playing('a', next, rest)]));
    return measured(variants)[0]!.warnings.map(({ code }) => code);
  };

  it('are absent where nothing is wrong', async () => {
    expect(await codes(() => ({}))).toEqual([]);
  });

  it('tell of rounds that differ too much', async () => {
    let round = 0;
    expect(await codes(() => ({ nsPerOperation: 100 * (1 + (round++ % 3)) }))).toContain('spread');
  });

  it('tell of batches that the clock cannot resolve', async () => {
    expect(await codes(() => ({ batchNs: 200 }))).toEqual(['timer']);
    expect(await codes(() => ({ timerSaturated: true }))).toEqual(['timer']);
  });

  it('tell of code that kept getting faster until warm-up ended', async () => {
    let nsPerOperation = 1e6;
    const faster = () => {
      nsPerOperation *= 0.8;
      return { nsPerOperation };
    };
    expect(await codes(faster)).toContain('warm-up');
  });

  it('tell of a thread that had to share its core', async () => {
    expect(await codes(() => ({ wallMs: 100, cpuMs: [40] }))).toEqual(['core-taken']);
    const two = () => ({ wallMs: 100, cpuMs: [100, 40], work: [10, 10], driving: [true, false] });
    expect(await codes(two, { polls: true })).toEqual(['core-taken']);
    expect(await codes(two)).toEqual([]);
  });
});
