import { type ElementValue, elementTypes, INT32 } from './element-types.js';
import {
  ADD,
  type Answer,
  COMPARE_EXCHANGE,
  EXCHANGE,
  LOAD,
  NOTIFY,
  NOW,
  type Operation,
  operationName,
  RANDOM,
  READ,
  READ_RANGE,
  STORE,
  WAIT,
  WAIT_EVENT,
  WRITE,
  WRITE_RANGE,
  waitAnswers,
} from './operation.js';
import type { WordNames } from './word-names.js';

/** An operation in a few words, with names for addresses: `compareExchange lock 0→1`. */
export function describeOperation(operation: Operation, names: WordNames): string {
  const { kind, a, b } = operation;
  if (operation.address < 0) return operationName(kind);
  const target =
    operation.type === INT32 || operation.count > 1 ? '' : `:${elementTypes[operation.type]!.name}`;
  const start = `${operationName(kind)} ${names.nameOfAddress(operation.address)}${target}`;
  switch (kind) {
    case COMPARE_EXCHANGE:
      return `${start} ${a}→${b}`;
    case WAIT:
    case WAIT_EVENT:
      return `${start} while ${a}${b === Number.POSITIVE_INFINITY ? '' : ` for ${b} ms`}`;
    case NOTIFY:
      return `${start} ${a === Number.POSITIVE_INFINITY ? 'all' : a}`;
    case READ_RANGE:
      return `${start} (${operation.count})`;
    case WRITE_RANGE:
      return `${start} = ${list(operation.values ?? [])}`;
    case STORE:
    case WRITE:
      return `${start} = ${a}`;
    case LOAD:
    case READ:
      return start;
    default:
      return `${start} ${a}`;
  }
}

/** An operation that was done, with its answer. */
export function describeDone(operation: Operation, answer: Answer, names: WordNames): string {
  const text = describeOperation(operation, names);
  switch (operation.kind) {
    case STORE:
    case WRITE:
    case WRITE_RANGE:
      return text;
    case COMPARE_EXCHANGE:
      return answer === operation.a ? `${text} ✓` : `${text} ✗ is ${answer}`;
    case WAIT:
    case WAIT_EVENT:
      return `${text}: ${waitAnswers[answer as 0]}`;
    case NOTIFY:
      return `${text}: ${answer} woken`;
    case LOAD:
    case READ:
    case READ_RANGE:
    case RANDOM:
    case NOW:
      return `${text} = ${typeof answer === 'object' ? list(answer) : answer}`;
    default:
      return operation.kind >= ADD && operation.kind <= EXCHANGE ? `${text}, was ${answer}` : text;
  }
}

function list(values: readonly ElementValue[]): string {
  const shown = values.slice(0, 8).join(',');
  return `[${shown}${values.length > 8 ? ',…' : ''}]`;
}
