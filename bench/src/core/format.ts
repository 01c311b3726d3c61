import type { Metric } from './suite.js';

/** Three digits that count, and no exponent: `0.52`, `13.4`, `1250`. */
export function formatDigits(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude === 0) return '0';
  if (magnitude >= 100) return value.toFixed(0);
  if (magnitude >= 10) return value.toFixed(1);
  return magnitude >= 0.1 ? value.toFixed(2) : value.toPrecision(2);
}

function scaled(value: number, steps: readonly (readonly [number, string])[]): string {
  const [size, unit] = steps.find(([threshold]) => Math.abs(value) >= threshold) ?? steps.at(-1)!;
  return `${formatDigits(value / size)} ${unit}`;
}

/** A time in the unit that fits it. */
export function formatNs(valueNs: number): string {
  return scaled(valueNs, [
    [1e9, 's'],
    [1e6, 'ms'],
    [1e3, 'µs'],
    [1, 'ns'],
  ]);
}

/** A value of a metric in the unit that fits it. */
export function formatValue(metric: Metric, value: number): string {
  if (metric === 'time' || metric === 'cpu') return formatNs(value);
  const perSecond = metric === 'rate' ? ['G/s', 'M/s', 'k/s', '/s'] : ['GB/s', 'MB/s', 'kB/s', 'B/s'];
  return scaled(value, [
    [1e9, perSecond[0]!],
    [1e6, perSecond[1]!],
    [1e3, perSecond[2]!],
    [1, perSecond[3]!],
  ]);
}

export function formatPercent(part: number): string {
  return `${formatDigits(part * 100)} %`;
}
