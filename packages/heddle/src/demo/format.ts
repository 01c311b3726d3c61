/** Bytes with a decimal unit: `98.4 MB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0 ? `${value} B` : `${value.toFixed(value < 100 ? 1 : 0)} ${units[unit]}`;
}

/** Milliseconds, in seconds from one second on. */
export function formatMs(ms: number): string {
  return ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

/** Megabytes (10^6) a second. */
export function megabytesPerSecond(bytes: number, ms: number): number {
  return ms === 0 ? 0 : bytes / 1000 / ms;
}
