import type { Failure } from './failure.js';
import { type Answer, type Operation, sameAnswer } from './operation.js';
import { resultKey } from './same-result.js';
import { spinStart } from './spin-start.js';

/** An operation of the tested structure, from its call to its return: what linearizability is about. */
export interface RecordedCall {
  readonly name: string;
  readonly args: readonly unknown[];
  /** Shared operations that its thread had done when it was called. */
  readonly calledAt: number;
  result?: unknown;
  returned: boolean;
}

/** How a thread ended. */
export type Outcome =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'broken'; readonly failure: Failure };

/**
 * A history: a point in the life of one thread, given by everything that it has been answered so far.
 *
 * A deterministic thread is a function of its answers, so this is its whole local state. The histories of a thread
 * form a tree with one branch per answer; the code of the thread runs once per node, when the node is made, and
 * tells there what it wants to do next. All later steps through the node are a table look-up, however many states
 * of the model it is part of.
 */
export class HistoryNode {
  readonly id: number;
  /** Which thread it is a point of: an index of the model's bodies. */
  readonly role: number;
  readonly parent: HistoryNode | null;
  /** The answer that led from the parent here. */
  readonly answer: Answer;
  /** Shared operations done so far. */
  readonly depth: number;
  /** The next shared operation, null at the end. */
  operation: Operation | null = null;
  /** How the thread ended, null before. */
  outcome: Outcome | null = null;
  calls: readonly RecordedCall[] = [];
  /** What the thread said its whole local state was just before its next operation; null where it said nothing. */
  checkpoint: string | null = null;
  /** Whether the thread may be going round in a loop that changes nothing. */
  maySpin = false;
  /** How often it has read the clock in that loop. */
  clockReads = 0;
  readonly answers: Answer[] = [];
  readonly children: HistoryNode[] = [];

  constructor(id: number, role: number, parent: HistoryNode | null, answer: Answer) {
    this.id = id;
    this.role = role;
    this.parent = parent;
    this.answer = answer;
    this.depth = parent === null ? 0 : parent.depth + 1;
  }
}

/** Runs the code of a thread up to a new node, and fills the node in. */
export type RunThread = (node: HistoryNode) => void;

/** Looks whether the code does after one history what it did after another one, along what is known of that. */
export type CompareThread = (node: HistoryNode, other: HistoryNode) => void;

/** The histories of the threads of a model, made as a search reaches them and kept. */
export class Histories {
  readonly nodes: HistoryNode[] = [];
  readonly #roots: HistoryNode[] = [];
  /**
   * The first of the histories that are one local state, by what they share: ends with the same result, and checkpoints
   * of which the thread said so.
   */
  readonly #alike = new Map<string, HistoryNode>();
  readonly #run: RunThread;
  readonly #compare: CompareThread;

  constructor(run: RunThread, compare: CompareThread) {
    this.#run = run;
    this.#compare = compare;
  }

  /** Where the thread with this role begins. */
  root(role: number): HistoryNode {
    const known = this.#roots[role];
    if (known !== undefined) return known;
    const root = this.#add(role, null, 0);
    this.#roots[role] = root;
    return root;
  }

  /** Where the thread stands once its pending operation is answered so. */
  next(node: HistoryNode, answer: Answer): HistoryNode {
    const { answers } = node;
    for (let index = 0; index < answers.length; index++) {
      if (answers[index] === answer || sameAnswer(answers[index]!, answer)) return node.children[index]!;
    }
    const child = this.#firstAlike(this.#add(node.role, node, answer));
    answers.push(answer);
    node.children.push(child);
    return child;
  }

  #firstAlike(node: HistoryNode): HistoryNode {
    const key = localStateKey(node);
    if (key === undefined) return node;
    const known = this.#alike.get(key);
    if (known === undefined) {
      this.#alike.set(key, node);
      return node;
    }
    if (node.outcome === null) this.#compare(node, known);
    // Where the comparison has found a difference, the node says so, and is where the thread goes.
    return node.outcome?.kind === 'broken' ? node : known;
  }

  #add(role: number, parent: HistoryNode | null, answer: Answer): HistoryNode {
    const node = new HistoryNode(this.nodes.length, role, parent, answer);
    this.nodes.push(node);
    this.#run(node);
    spinStart(node);
    return node;
  }
}

/** A string that histories share if they are one local state; undefined where only the history itself tells. */
function localStateKey({ role, outcome, checkpoint, calls }: HistoryNode): string | undefined {
  if (outcome === null) {
    const called = checkpoint === null ? undefined : resultKey(calls);
    return called === undefined ? undefined : `${role} at ${checkpoint} ${called}`;
  }
  const result = outcome.kind === 'returned' ? resultKey([outcome.value, calls]) : undefined;
  return result === undefined ? undefined : `${role} ended ${result}`;
}
