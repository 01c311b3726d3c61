import type { DrivingWorkload, ThreadContext } from '../../core/workload.js';
import { messageOf } from '../messages/link.js';

/** As much memory as the slots that messages of this size are copied into, one after the other. */
const TARGET_BYTES = 16 * 1024 * 1024;

/** What a copy in costs without anything around it. */
export function copyIn({ parameters }: ThreadContext<undefined>): DrivingWorkload {
  const message = messageOf(parameters['messageBytes'] as number);
  const target = new Uint8Array(new SharedArrayBuffer(TARGET_BYTES)).fill(1);
  let at = 0;
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) {
        target.set(message, at);
        at = (at + message.length) % TARGET_BYTES;
      }
      return target[at]!;
    },
  };
}
