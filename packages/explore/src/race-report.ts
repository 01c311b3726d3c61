import { describeOperation } from './describe-operation.js';
import type { Machine } from './machine.js';
import type { Operation } from './operation.js';

/** A data race in a sentence. `racing` holds the threads as bits, none where the other access is a plain write. */
export function describeRace(
  machine: Machine,
  thread: number,
  operation: Operation,
  address: number,
  racing: number,
): string {
  const others: string[] = [];
  for (let other = 0; other < machine.threads.count; other++) {
    if ((racing & (1 << other)) !== 0 && other !== thread) others.push(machine.nameOf(other));
  }
  const { names } = machine.program;
  const earlier =
    others.length > 0 ? `an access by ${others.join(' and ')}` : 'a plain write by another thread';
  return (
    `Data race on ${names.nameOfAddress(address)}: ${machine.nameOf(thread)} does ` +
    `${describeOperation(operation, names)}, and ${earlier} before it is ordered neither before nor after`
  );
}
