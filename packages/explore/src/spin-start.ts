import type { HistoryNode } from './history.js';
import {
  ADD,
  AND,
  type Answer,
  COMPARE_EXCHANGE,
  EXCHANGE,
  LOAD,
  NOTIFY,
  NOW,
  OK,
  type Operation,
  OR,
  PAUSE,
  RANDOM,
  READ,
  READ_RANGE,
  SUB,
  sameAnswer,
  sameOperation,
  WAIT,
  WAIT_EVENT,
  XOR,
} from './operation.js';

/** How far back a repeated operation is looked for. */
const WINDOW = 256;

/**
 * Marks a new node at which its thread may be going round in a loop: the operation just done was done before with
 * the same answer, and everything in between changed nothing.
 *
 * The mark is only a suspicion; whether the loop ends by itself is found out by running it on
 * (`spin-ahead.ts`).
 */
export function spinStart(node: HistoryNode): void {
  const last = node.parent;
  if (last?.operation == null) return;
  const { operation } = last;
  if (!isIdle(operation, node.answer)) return;
  node.clockReads = last.clockReads + (operation.kind === NOW ? 1 : 0);
  let child: HistoryNode = last;
  for (let back = 0; back < WINDOW && child.parent !== null; back++) {
    const earlier = child.parent;
    if (earlier.operation === null || !isIdle(earlier.operation, child.answer)) return;
    if (
      sameOperation(earlier.operation, operation) &&
      (operation.kind === NOW || sameAnswer(child.answer, node.answer))
    ) {
      node.maySpin = true;
      return;
    }
    child = earlier;
  }
}

/** Whether the operation, answered so, changed nothing that any thread could see. */
function isIdle(operation: Operation, answer: Answer): boolean {
  switch (operation.kind) {
    case LOAD:
    case READ:
    case READ_RANGE:
    case PAUSE:
    case NOW:
    case RANDOM:
      return true;
    case COMPARE_EXCHANGE:
      return answer !== operation.a || operation.a === operation.b;
    case NOTIFY:
      return answer === 0;
    case WAIT:
    case WAIT_EVENT:
      return answer !== OK;
    case ADD:
    case SUB:
    case OR:
    case XOR:
      // Enough for the read-modify-writes that are used as loads.
      return Number(operation.a) === 0;
    case AND:
      return Number(operation.a) === -1;
    case EXCHANGE:
      return answer === operation.a;
    default:
      return false;
  }
}
