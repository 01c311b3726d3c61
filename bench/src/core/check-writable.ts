import { closeSync, existsSync, openSync, rmSync } from 'node:fs';

/**
 * Throws the system's error where the file cannot be written: at once, and not after minutes of measuring.
 *
 * Leaves a file that is there as it is, and none where there was none.
 */
export function checkWritable(path: string): void {
  const existed = existsSync(path);
  closeSync(openSync(path, 'a'));
  if (!existed) rmSync(path);
}
