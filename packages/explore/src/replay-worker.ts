import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type AnyTypedArray, type ElementValue, elementTypes } from './element-types.js';
import { loadModels } from './load-models.js';
import {
  ADD,
  AND,
  type Answer,
  COMPARE_EXCHANGE,
  EXCHANGE,
  LOAD,
  NOTIFY,
  type Operation,
  OR,
  READ,
  READ_RANGE,
  STORE,
  SUB,
  TIMED_OUT,
  WAIT,
  WAIT_EVENT,
  WRITE,
  WRITE_RANGE,
  waitAnswers,
  XOR,
} from './operation.js';
import type { Performer } from './performer.js';
import { compileModel } from './program.js';
import type { ReplayCommand, ReplayMessage, ReplayWorkerData } from './replay-messages.js';
import { SharedMemory } from './shared-memory.js';
import { SimulatedBuffer } from './simulated-buffer.js';
import { activateGlobals, underSimulatedGlobals } from './simulated-globals.js';
import { SimulatedThread, simulatedPlatform } from './simulated-thread.js';
import { wordsView } from './simulated-view.js';
import { StateVector } from './state-vector.js';

/** A thread of a model on real memory, in lock step: before each shared operation it waits to be told to go on. */
class LockStepPerformer implements Performer {
  readonly #port: MessagePort;
  readonly #gate: Int32Array;
  readonly #memory: SharedArrayBuffer;
  /** Takes the operations of the code that prepares the model, which were done once and for all before. */
  readonly #rehearsal: SharedMemory;
  #rehearsing = true;
  #commands = 0;

  constructor(port: MessagePort, gate: SharedArrayBuffer, memory: SharedArrayBuffer) {
    this.#port = port;
    this.#gate = new Int32Array(gate);
    this.#memory = memory;
    this.#rehearsal = new SharedMemory(new StateVector(memory.byteLength / 4), memory.byteLength / 4);
  }

  begin(): void {
    this.#rehearsing = false;
  }

  say(message: ReplayMessage): void {
    this.#port.postMessage(message);
  }

  checkpoint(): void {}

  canBlock(): boolean {
    return true;
  }

  refuse(_kind: string, reason: string): never {
    throw new RangeError(reason);
  }

  perform(operation: Operation): Answer {
    if (this.#rehearsing) {
      if (operation.address < 0) return 0;
      const answer = this.#rehearsal.answer(operation);
      this.#rehearsal.apply(operation, answer);
      return answer;
    }
    this.say({ kind: 'at', operation });
    const command = this.#nextCommand();
    switch (command.do) {
      case 'perform': {
        const answer = operate(this.#memory, operation, 0);
        this.say({ kind: 'answered', answer });
        return answer;
      }
      case 'impose': {
        if (operation.address >= 0) operate(this.#memory, operation, 0);
        this.say({ kind: 'answered', answer: command.answer });
        return command.answer;
      }
      case 'sleep': {
        this.say({ kind: 'sleeping' });
        const answer = operate(this.#memory, operation, Number.POSITIVE_INFINITY);
        this.say({ kind: 'answered', answer });
        return answer;
      }
      case 'doze': {
        const dozed = operate(this.#memory, operation, 1);
        if (dozed !== TIMED_OUT) {
          this.say({ kind: 'answered', answer: dozed });
          return dozed;
        }
        this.say({ kind: 'sleeping' });
        this.#nextCommand();
        this.say({ kind: 'answered', answer: command.answer });
        return command.answer;
      }
    }
  }

  #nextCommand(): ReplayCommand {
    this.#commands++;
    while (Atomics.load(this.#gate, 0) < this.#commands) Atomics.wait(this.#gate, 0, this.#commands - 1);
    return receiveMessageOnPort(this.#port)!.message as ReplayCommand;
  }
}

/** Does an operation with the real `Atomics` on the real memory. */
function operate(memory: SharedArrayBuffer, operation: Operation, waitMs: number): Answer {
  const type = elementTypes[operation.type]!;
  const view = new type.construct(memory);
  const index = operation.address / type.bytes;
  // All element types with atomics take the same calls; the compiler wants to know which one it is.
  const [words, a, b] = [view as Int32Array, operation.a as number, operation.b as number];
  switch (operation.kind) {
    case LOAD:
      return Atomics.load(words, index);
    case STORE:
      return Atomics.store(words, index, a);
    case ADD:
      return Atomics.add(words, index, a);
    case SUB:
      return Atomics.sub(words, index, a);
    case AND:
      return Atomics.and(words, index, a);
    case OR:
      return Atomics.or(words, index, a);
    case XOR:
      return Atomics.xor(words, index, a);
    case EXCHANGE:
      return Atomics.exchange(words, index, a);
    case COMPARE_EXCHANGE:
      return Atomics.compareExchange(words, index, a, b);
    case NOTIFY:
      return Atomics.notify(words, index, a);
    case WAIT:
    case WAIT_EVENT:
      return waitAnswers.indexOf(Atomics.wait(words, index, a, waitMs));
    case READ:
      return view[index]!;
    case WRITE:
      view[index] = operation.a;
      return operation.a;
    case READ_RANGE:
      return Array.from(view.subarray(index, index + operation.count) as ArrayLike<ElementValue>);
    case WRITE_RANGE:
      writeAll(view, index, operation.values ?? []);
      return 0;
    default:
      return 0;
  }
}

function writeAll(view: AnyTypedArray, index: number, values: readonly ElementValue[]): void {
  values.forEach((value, offset) => {
    view[index + offset] = value;
  });
}

async function main(port: MessagePort, data: ReplayWorkerData): Promise<void> {
  const performer = new LockStepPerformer(port, data.gate, data.memory);
  const { model } = (await loadModels(data.file)).find((loaded) => loaded.model.name === data.model)!;
  const role = compileModel(model).roles[data.role]!;
  const buffer = new SimulatedBuffer(performer, 0, data.memory.byteLength);
  activateGlobals(performer);
  const shared =
    model.shared === undefined
      ? undefined
      : underSimulatedGlobals(performer, data.memory.byteLength, model.shared);
  performer.begin();
  const thread = new SimulatedThread({
    index: role.index,
    name: role.name,
    performer,
    buffer,
    words: wordsView(buffer),
    platform: simulatedPlatform(performer),
    shared,
    calls: [],
    operationCount: () => 0,
  });
  try {
    performer.say({ kind: 'returned', value: role.body(thread) });
  } catch (error) {
    performer.say({ kind: 'threw', error: error instanceof Error ? error.message : String(error) });
  }
}

if (parentPort !== null) await main(parentPort, workerData as ReplayWorkerData);
