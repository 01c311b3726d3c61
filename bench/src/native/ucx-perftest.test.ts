import { describe, expect, it } from 'vitest';
import { CannotRunHere } from '../core/suite.js';
import { figuresFrom, UcxRunner } from './ucx-perftest.js';

const names = 'iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr';

describe('figuresFrom', () => {
  it('reads the result behind the lines on the way', () => {
    const output = [
      names,
      '[thread 0]308385,0.160,3.336,3.336,2.29,2.29,299780,299780',
      '[thread 0] 841,0.231,1192.454,1192.454,838.61,838.61,839,839',
      '1000000,0.170,0.100,0.100,2.16,2.31,283069,10000000',
      '',
    ].join('\n');
    const { iterations, medianNs, overallNs } = figuresFrom(output);
    expect(iterations).toBe(1_000_000);
    expect(medianNs).toBeCloseTo(170);
    expect(overallNs).toBe(100);
  });

  it('goes by the names, so that more columns do no harm', () => {
    const output = `typical,of a later version\niterations,99.9_percentile_lat,new,overall_mr\n5,2.000,7,1000000\n`;
    expect(figuresFrom(output)).toEqual({ iterations: 5, medianNs: 2000, overallNs: 1000 });
  });

  it.each([
    ['nothing', '', /it said nothing/],
    ['an error', 'UCX  ERROR no shared memory\n', /no shared memory/],
    ['names alone', `${names}\n`, /no figures/],
    ['figures without names', '5,1.0,1.0,1.0,1.0,1.0,1,1\n', /no figures/],
  ])('says what was printed where there is %s', (_, output, message) => {
    expect(() => figuresFrom(output)).toThrow(message);
  });
});

describe('UcxRunner', () => {
  it.each(['ucp_am_lat', 'ucp_am_bw'] as const)('plays rounds of %s, or says what it needs', async (test) => {
    let runner: UcxRunner;
    try {
      runner = await UcxRunner.open({ test, messageBytes: 8, roundTrip: test === 'ucp_am_lat' }, []);
    } catch (error) {
      expect(error).toBeInstanceOf(CannotRunHere);
      return;
    }
    try {
      const { nsPerOperation, work, driving } = await runner.round(1);
      expect(nsPerOperation).toBeGreaterThan(0);
      expect(work[0]).toBeGreaterThanOrEqual(50);
      expect(driving).toEqual([true, false]);
    } finally {
      await runner.close();
    }
  });
});
