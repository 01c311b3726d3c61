import { copyBytes } from '@heddle/memory';
import type { DrivingWorkload, ThreadContext } from '../../core/workload.js';
import { messageOf } from '../messages/link.js';

/** As much memory as the slots that messages of this size are copied into, one after the other. */
const TARGET_BYTES = 16 * 1024 * 1024;

/** What a copy in costs without anything around it. */
export const copyIn = (context: ThreadContext<undefined>) => copying(context, copyBytes);

/** The same by the engine's own means. */
export const setIn = (context: ThreadContext<undefined>) =>
  copying(context, (target, source, at) => target.set(source, at));

function copying(
  { parameters }: ThreadContext<undefined>,
  copy: (target: Uint8Array, source: Uint8Array, at: number) => void,
): DrivingWorkload {
  const message = messageOf(parameters['messageBytes'] as number);
  const target = new Uint8Array(new SharedArrayBuffer(TARGET_BYTES)).fill(1);
  let at = 0;
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) {
        copy(target, message, at);
        at = (at + message.length) % TARGET_BYTES;
      }
      return target[at]!;
    },
  };
}
