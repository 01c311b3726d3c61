import { readFileSync } from 'node:fs';

/** A word on which nobody ever notifies. */
const pillow = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** Long enough to leave the core, too short to matter between rounds. */
const NAP_MS = 0.05;

/** `process.threadCpuUsage`, which came after Node 20. In microseconds. */
type ThreadCpuUsage = { threadCpuUsage?: () => { user: number; system: number } };

/**
 * CPU time that the calling thread has used so far, in milliseconds; `null` where the system does not tell.
 *
 * The system's account lags by up to a tick (1–10 ms) while the thread runs and is exact when it leaves its core, so
 * the thread naps before it reads. Without `process.threadCpuUsage` it reads the scheduler's figures on Linux.
 */
export function threadCpuMs(): number | null {
  Atomics.wait(pillow, 0, 0, NAP_MS);
  const { threadCpuUsage } = process as ThreadCpuUsage;
  if (threadCpuUsage) {
    const { user, system } = threadCpuUsage.call(process);
    return (user + system) / 1000;
  }
  try {
    const onCpuNs = Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]);
    return Number.isFinite(onCpuNs) ? onCpuNs / 1e6 : null;
  } catch {
    return null;
  }
}
