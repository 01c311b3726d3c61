import { AccessFacts } from './access-facts.js';
import { type ElementValue, elementTypes, INT32, isHintType } from './element-types.js';
import { Histories } from './history.js';
import { isPlain, NOW, type Operation, READ } from './operation.js';
import type { Program } from './program.js';
import { elementOfWord, SharedMemory, wordWithElement } from './shared-memory.js';
import { underSimulatedGlobals } from './simulated-globals.js';
import { StateVector } from './state-vector.js';
import { ThreadRunner } from './thread-runner.js';

/**
 * What stays when a search starts over: the initial memory, the histories of the threads, and the facts about
 * them that decide what a state has to hold.
 *
 * The facts only ever grow. A search that meets a new one starts over; having run a few random schedules first,
 * it seldom does.
 */
export class Simulation {
  readonly program: Program;
  readonly runner: ThreadRunner;
  readonly histories: Histories;
  readonly initialWords: Int32Array;
  /** Who accesses which words. */
  readonly access: AccessFacts;
  /** Bytes that some thread accesses plainly. */
  readonly plainBytes = new Set<number>();
  /** Whether a place of the race check is a byte, since some element is smaller than a word. */
  byteGranular = false;
  /** Whether time is part of the state, since some thread reads the clock. */
  readsClock = false;
  /** The values that each hint word takes. */
  readonly hintValues = new Map<number, number[]>();
  /** Rises with every new fact that changes what a state holds. */
  factCount = 0;
  /** Rises with every new value of a hint word. */
  hintValueCount = 0;

  constructor(program: Program) {
    this.program = program;
    const memory = new SharedMemory(new StateVector(program.wordCount), program.wordCount);
    this.runner = new ThreadRunner(program.roles, memory, program.names);
    this.initialWords = this.#prepare(memory);
    this.access = new AccessFacts(program.wordCount, program.threadCount, program.roles.length);
    this.runner.onOperation = (role, operation) => this.#learn(role, operation);
    this.histories = new Histories(
      (node) => this.runner.run(node),
      (node, other) => this.runner.compare(node, other),
    );
    for (let word = 0; word < program.wordCount; word++) {
      if (program.hints[word] === 1) this.hintValues.set(word, [this.initialWords[word]!]);
    }
  }

  /** Lets the model make what its threads share, and write the first contents of the memory. */
  #prepare(memory: SharedMemory): Int32Array {
    const { program, runner } = this;
    const { shared, init } = program.model;
    if (shared !== undefined) runner.shared = underSimulatedGlobals(runner, memory.byteLength, shared);
    const words = new Int32Array(new SharedArrayBuffer(program.wordCount * 4));
    for (let word = 0; word < program.wordCount; word++) words[word] = memory.read(0, word * 4) as number;
    const refuseCallback = () => {
      throw new TypeError(`Model "${program.model.name}": "init" cannot schedule a callback`);
    };
    init?.(words, {
      atomics: Atomics,
      now: () => 0,
      random: () => program.randoms[0]!,
      pause: () => {},
      canBlock: () => true,
      schedule: refuseCallback,
      turn: refuseCallback,
      keepAlive: () => () => {},
    });
    return Int32Array.from(words);
  }

  #learn(role: number, operation: Operation): void {
    if (this.access.learn(role, operation)) this.factCount++;
    const { bytes } = elementTypes[operation.type]!;
    if (operation.kind === NOW && !this.readsClock) {
      this.readsClock = true;
      this.factCount++;
    }
    if (operation.address < 0) return;
    if (bytes < 4 && !this.byteGranular) {
      this.byteGranular = true;
      this.factCount++;
    }
    if (!isPlain(operation) || !this.program.races) return;
    const before = this.plainBytes.size;
    const end = operation.address + operation.count * bytes;
    for (let byte = operation.address; byte < end; byte++) {
      if (this.program.hints[byte >>> 2] === 0) this.plainBytes.add(byte);
    }
    if (this.plainBytes.size > before) this.factCount++;
  }

  /** The values that this plain read of one integer of at most 32 bits may give, where it is of a hint. */
  hintValuesOf(operation: Operation): readonly ElementValue[] | undefined {
    if (operation.kind !== READ || this.program.hints[operation.address >>> 2] === 0) return undefined;
    if (!isHintType(operation.type)) return undefined;
    const values = this.hintValues.get(operation.address >>> 2)!;
    if (operation.type === INT32) return values;
    return values.map((value) => elementOfWord(operation.type, operation.address & 3, value));
  }

  /** Notes a value of a hint word. */
  learnHintValue(word: number, value: number): void {
    const values = this.hintValues.get(word)!;
    if (values.includes(value)) return;
    values.push(value);
    this.hintValueCount++;
  }

  /** Notes a value of which only the element that this operation reads is known; the rest is as at the beginning. */
  learnHintElement(operation: Operation, value: number): void {
    if (this.hintValuesOf(operation)!.includes(value)) return;
    const word = operation.address >>> 2;
    const before = this.initialWords[word]!;
    this.learnHintValue(word, wordWithElement(operation.type, operation.address & 3, before, value));
  }
}
