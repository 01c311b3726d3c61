import { type AnyTypedArray, type ElementValue, elementTypes, INT32 } from './element-types.js';
import {
  ADD,
  AND,
  type Answer,
  COMPARE_EXCHANGE,
  EXCHANGE,
  LOAD,
  type Operation,
  OR,
  READ,
  READ_RANGE,
  STORE,
  SUB,
  WRITE,
  WRITE_RANGE,
  XOR,
} from './operation.js';
import type { StateVector } from './state-vector.js';

/** Called with the word and the value of every write to a word of {@link SharedMemory.observed}. */
export type WriteObserver = (word: number, value: number) => void;

/**
 * The simulated shared memory: the first words of the state vector, read and written as elements of any type.
 *
 * Memory is little-endian, as that of every engine in use. A write goes through {@link StateVector.put} word by
 * word, so that it can be undone and is part of the hash.
 */
export class SharedMemory {
  readonly wordCount: number;
  readonly byteLength: number;
  /** 1 for words whose writes the observer is told of. */
  readonly observed: Uint8Array;
  onWrite: WriteObserver = () => {};
  readonly #state: StateVector;
  /** One view per element type over the vector's buffer, remade when it grows. */
  #views: AnyTypedArray[] = [];
  /** One element of each type over the same 8 bytes: coerces values and splits wide ones into words. */
  readonly #scratch: AnyTypedArray[];
  readonly #scratchWords: Int32Array;

  constructor(state: StateVector, wordCount: number) {
    this.wordCount = wordCount;
    this.byteLength = wordCount * 4;
    this.observed = new Uint8Array(wordCount);
    this.#state = state;
    const scratch = new ArrayBuffer(8);
    this.#scratch = elementTypes.map((type) => new type.construct(scratch));
    this.#scratchWords = new Int32Array(scratch);
    this.refresh();
  }

  /** To be called after the vector has grown. */
  refresh(): void {
    const { buffer } = this.#state.values;
    const whole = buffer.byteLength - (buffer.byteLength % 8);
    this.#views = elementTypes.map((type) => new type.construct(buffer, 0, whole / type.bytes));
  }

  /** The value as an element of this type holds it: wrapped, rounded or clamped. */
  coerce(type: number, value: ElementValue): ElementValue {
    if (type === INT32) return (value as number) | 0;
    const scratch = this.#scratch[type]!;
    scratch[0] = value;
    return scratch[0]!;
  }

  read(type: number, address: number): ElementValue {
    if (type === INT32) return this.#state.values[address >>> 2]!;
    return this.#views[type]![address / elementTypes[type]!.bytes]!;
  }

  write(type: number, address: number, value: ElementValue): void {
    if (type === INT32) {
      this.#putWord(address >>> 2, (value as number) | 0);
      return;
    }
    const { bytes } = elementTypes[type]!;
    const scratch = this.#scratch[type]!;
    const word = address >>> 2;
    if (bytes < 4) {
      this.#scratchWords[0] = this.#state.values[word]!;
      scratch[(address & 3) / bytes] = value;
      this.#putWord(word, this.#scratchWords[0]);
      return;
    }
    scratch[0] = value;
    const low = this.#scratchWords[0]!;
    const high = this.#scratchWords[1]!;
    this.#putWord(word, low);
    if (bytes === 8) this.#putWord(word + 1, high);
  }

  #putWord(word: number, value: number): void {
    if (this.observed[word] === 1) this.onWrite(word, value);
    this.#state.put(word, value);
  }

  /** What a load, a store, a read-modify-write or a plain access answers now. */
  answer(operation: Operation): Answer {
    switch (operation.kind) {
      case STORE:
      case WRITE:
        return operation.a;
      case WRITE_RANGE:
        return 0;
      case READ_RANGE: {
        const { bytes } = elementTypes[operation.type]!;
        return Array.from({ length: operation.count }, (_, index) =>
          this.read(operation.type, operation.address + index * bytes),
        );
      }
      default:
        return this.read(operation.type, operation.address);
    }
  }

  /** Does what the operation does to memory, where `before` is what {@link answer} gave. */
  apply(operation: Operation, before: Answer): void {
    switch (operation.kind) {
      case LOAD:
      case READ:
      case READ_RANGE:
        return;
      case WRITE_RANGE: {
        const { bytes } = elementTypes[operation.type]!;
        operation.values?.forEach((value, index) => {
          this.write(operation.type, operation.address + index * bytes, value);
        });
        return;
      }
      default: {
        const after = this.#after(operation, before as ElementValue);
        if (after !== undefined) this.write(operation.type, operation.address, after);
      }
    }
  }

  /** Whether {@link apply} would change any word. */
  changes(operation: Operation, before: Answer): boolean {
    switch (operation.kind) {
      case LOAD:
      case READ:
      case READ_RANGE:
        return false;
      case WRITE_RANGE: {
        const { bytes } = elementTypes[operation.type]!;
        return (operation.values ?? []).some(
          (value, index) => !Object.is(this.read(operation.type, operation.address + index * bytes), value),
        );
      }
      default: {
        const after = this.#after(operation, before as ElementValue);
        return after !== undefined && !Object.is(this.read(operation.type, operation.address), after);
      }
    }
  }

  /** The element that the operation leaves, undefined where it writes nothing. */
  #after(operation: Operation, before: ElementValue): ElementValue | undefined {
    if (operation.kind === COMPARE_EXCHANGE) return before === operation.a ? operation.b : undefined;
    if (operation.kind === STORE || operation.kind === WRITE || operation.kind === EXCHANGE) {
      return this.coerce(operation.type, operation.a);
    }
    const result = elementTypes[operation.type]!.big
      ? combine(operation.kind, before as bigint, operation.a as bigint)
      : combine(operation.kind, before as number, operation.a as number);
    return this.coerce(operation.type, result);
  }
}

function combine<Value extends number | bigint>(kind: number, before: Value, operand: Value): Value {
  // Both are of one type, which the compiler does not follow through the operators.
  const [one, other] = [before as number, operand as number];
  switch (kind) {
    case ADD:
      return (one + other) as Value;
    case SUB:
      return (one - other) as Value;
    case AND:
      return (one & other) as Value;
    case OR:
      return (one | other) as Value;
    case XOR:
      return (one ^ other) as Value;
    default:
      throw new TypeError(`Operation ${kind} does not write`);
  }
}

/** The element that begins at a byte of a word with this value. */
export function elementOfWord(type: number, byte: number, word: number): ElementValue {
  const { bytes, construct } = elementTypes[type]!;
  return new construct(Int32Array.of(word).buffer)[byte / bytes]!;
}

/** The word with the element that begins at a byte of it replaced. */
export function wordWithElement(type: number, byte: number, word: number, value: ElementValue): number {
  const { bytes, construct } = elementTypes[type]!;
  const words = Int32Array.of(word);
  new construct(words.buffer)[byte / bytes] = value;
  return words[0]!;
}
