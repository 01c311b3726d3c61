import type { ElementValue } from './element-types.js';
import type { Histories, HistoryNode } from './history.js';
import {
  type Answer,
  NOT_EQUAL,
  NOTIFY,
  NOW,
  type Operation,
  PAUSE,
  RANDOM,
  READ,
  READ_RANGE,
  sameOperation,
  TIMED_OUT,
  WAIT,
  WAIT_EVENT,
} from './operation.js';
import type { SharedMemory } from './shared-memory.js';
import type { WaitQueues } from './wait-queues.js';

/** What running a suspected loop ahead has shown. */
export const ENDS = 0;
/** It goes round for ever unless another thread changes something. */
const ENDLESS = 1;
/** The same, and it looks at memory through plain reads only, which an engine may do once and for all. */
export const ENDLESS_ON_PLAIN_READS = 2;

/** What running ahead needs to know of the model's state. */
export interface SpinSurroundings {
  readonly histories: Histories;
  readonly memory: SharedMemory;
  readonly queues: WaitQueues;
  readonly randoms: readonly number[];
  /** Values that a hint read may give instead of the present one. */
  hintValues(operation: Operation): readonly ElementValue[] | undefined;
}

/**
 * Runs a thread ahead on the memory as it is, with no other thread moving, to see whether it leaves its loop: ends,
 * writes, sleeps or wakes somebody. A loop that does none of that in `maxSteps` steps is endless, and its thread
 * need not run again before another has moved.
 *
 * Timed waits time out at once here, and time passes, so that loops with a deadline end. Hint reads branch into all
 * that they may give; with `stale` they go on giving what they gave last, as an engine may let them.
 */
export function spinAhead(
  start: HistoryNode,
  around: SpinSurroundings,
  maxSteps: number,
  clock: number,
  stale: boolean,
): number {
  return ahead(start, around, maxSteps, clock, stale ? STALE : 2);
}

/** In place of a number of branchings: hint reads go on giving what they gave last. */
const STALE = -1;

function ahead(
  start: HistoryNode,
  around: SpinSurroundings,
  maxSteps: number,
  clock: number,
  branchings: number,
): number {
  const { histories, memory, queues } = around;
  let node = start;
  let now = clock;
  let tick = 1;
  let verdict = ENDLESS_ON_PLAIN_READS;
  for (let steps = 0; steps < maxSteps; steps++) {
    const { operation } = node;
    if (operation === null) return ENDS;
    let answer: Answer;
    switch (operation.kind) {
      case PAUSE:
        answer = 0;
        break;
      case NOW:
        answer = now;
        now += tick;
        tick *= 2;
        verdict = ENDLESS;
        break;
      case RANDOM:
        answer = around.randoms[0]!;
        break;
      case NOTIFY:
        if (queues.first(operation.address) >= 0 && Number(operation.a) > 0) return ENDS;
        answer = 0;
        break;
      case WAIT:
      case WAIT_EVENT: {
        verdict = ENDLESS;
        if (memory.read(operation.type, operation.address) !== operation.a) answer = NOT_EQUAL;
        else if (operation.b === Number.POSITIVE_INFINITY) return ENDS;
        else {
          answer = TIMED_OUT;
          now += Number(operation.b);
        }
        break;
      }
      case READ: {
        answer = (branchings === STALE ? lastAnswer(node, operation) : undefined) ?? memory.answer(operation);
        const values = branchings > 0 ? around.hintValues(operation) : undefined;
        for (const value of values ?? []) {
          if (value === answer) continue;
          const branch = histories.next(node, value);
          const other = ahead(branch, around, maxSteps >> 1, now, branchings - 1);
          if (other === ENDS) return ENDS;
        }
        break;
      }
      case READ_RANGE:
        answer = memory.answer(operation);
        break;
      default:
        answer = memory.answer(operation);
        if (memory.changes(operation, answer)) return ENDS;
        verdict = ENDLESS;
    }
    node = histories.next(node, answer);
  }
  return verdict;
}

/** What the thread was answered when it last did this operation, undefined where it has not done it. */
function lastAnswer(node: HistoryNode, operation: Operation): Answer | undefined {
  for (let at = node; at.parent !== null; at = at.parent) {
    if (sameOperation(at.parent.operation!, operation)) return at.answer;
  }
  return undefined;
}
