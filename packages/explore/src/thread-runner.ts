import { describeOperation } from './describe-operation.js';
import type { FailureKind } from './failure.js';
import { HistoryNode, type RecordedCall } from './history.js';
import { type Answer, type Operation, sameOperation } from './operation.js';
import type { Performer } from './performer.js';
import { resultKey, sameResult } from './same-result.js';
import type { SharedMemory } from './shared-memory.js';
import { SimulatedBuffer } from './simulated-buffer.js';
import { type SimulatedPlatform, SimulatedThread, simulatedPlatform } from './simulated-thread.js';
import { wordsView } from './simulated-view.js';
import type { WordNames } from './word-names.js';

/** Code that a simulated thread may run, with what identifies the thread to it. */
export interface Role {
  readonly index: number;
  readonly name: string;
  readonly body: (thread: SimulatedThread) => unknown;
}

/** Thrown to suspend a thread. One object, without a stack, so that throwing it is cheap. */
const SUSPENSION = Object.freeze({ suspension: 'The schedule explorer suspends this thread here' });

/** Rethrows without effect after which a thread is held to be looping on the suspension. */
const MAX_RETHROWS = 100_000;

/**
 * Runs the code of threads. There is no way to stop JavaScript half-way and go on later, so a thread is suspended
 * by throwing out of its next shared operation, and resumed by running it from its start: the operations that it
 * has done already get the answers that they got.
 *
 * **Suspension is sticky.** Once thrown, every further operation throws again without effect, so that `finally`
 * blocks and guards that unlock do nothing while the stack unwinds.
 *
 * **Faults of the code** are noticed here: other operations than last time (non-deterministic), a return although
 * suspended (swallowed), a use of memory outside the model.
 */
export class ThreadRunner implements Performer {
  readonly buffer: SimulatedBuffer;
  readonly platform: SimulatedPlatform;
  readonly words: Int32Array<SharedArrayBuffer>;
  /** Told of every operation that a thread is found to want. */
  onOperation: (role: number, operation: Operation) => void = () => {};
  shared: unknown;
  readonly #roles: readonly Role[];
  readonly #memory: SharedMemory;
  readonly #names: WordNames;
  /** The node that is being filled in, null while no thread runs. */
  #node: HistoryNode | null = null;
  /** The nodes from the root to {@link #node}. */
  #path: HistoryNode[] = [];
  #position = 0;
  /** Checkpoints that the running thread has passed. */
  #checkpoints = 0;
  #suspended = false;
  #rethrows = 0;

  constructor(roles: readonly Role[], memory: SharedMemory, names: WordNames) {
    this.#roles = roles;
    this.#memory = memory;
    this.#names = names;
    this.buffer = new SimulatedBuffer(this, 0, memory.byteLength);
    this.platform = simulatedPlatform(this);
    this.words = wordsView(this.buffer);
  }

  canBlock(): boolean {
    return true;
  }

  checkpoint(state: readonly unknown[]): void {
    const node = this.#node;
    if (node === null || this.#suspended) return;
    this.#checkpoints++;
    if (this.#position < node.depth) return;
    const key = resultKey(state);
    if (key === undefined) {
      this.refuse(
        'unsupported',
        'passes a checkpoint something else than numbers, strings, arrays and plain objects',
      );
    }
    node.checkpoint = `${this.#checkpoints} ${key}`;
  }

  /**
   * Looks whether the code does after `node` what it did after `other`, which it said to be the same, along the first
   * of what is known of that. Where it does not, `node` is marked as broken.
   */
  compare(node: HistoryNode, other: HistoryNode): void {
    const along: HistoryNode[] = [];
    for (let at: HistoryNode | undefined = other; at?.operation != null; at = at.children[0]) along.push(at);
    // A path as it would be if `node` went on as `other` did: the operations of that, and the answers that it got.
    let last = node;
    for (let step = 0; step < along.length; step++) {
      const { operation, answers, role } = along[step]!;
      if (step > 0) last = new HistoryNode(-1, role, last, along[step - 1]!.answers[0]!);
      if (step === 0 && !sameOperation(node.operation!, operation!)) {
        const [one, two] = [this.#describe(node.operation), this.#describe(operation)];
        this.#break(
          node,
          'checkpoint',
          `does ${one} after a checkpoint, and ${two} after the same checkpoint elsewhere`,
        );
        return;
      }
      last.operation = operation;
      if (answers.length === 0) break;
    }
    if (last === node) return;
    const probe = new HistoryNode(-1, node.role, last.parent, last.answer);
    probe.operation = last.operation;
    this.#attempt(probe);
    if (probe.outcome !== null) {
      const place = `${along.length - 1} operations after a checkpoint`;
      this.#break(node, 'checkpoint', `goes on differently ${place} than elsewhere after the same one`);
    }
  }

  /** Fills in a new node: what its thread does next, or how it ended. */
  run(node: HistoryNode): void {
    const value = this.#attempt(node);
    if (node.outcome?.kind !== 'returned') return;
    // An end is reached once more, since nothing later would notice that it differs.
    const { calls } = node;
    node.outcome = null;
    const again = this.#attempt(node);
    if (
      node.outcome === null ||
      (node.outcome as { kind: string }).kind !== 'returned' ||
      !sameResult(value, again)
    ) {
      this.#break(node, 'non-deterministic', 'ended differently when it was run again with the same answers');
    }
    node.calls = calls;
  }

  #attempt(node: HistoryNode): unknown {
    const role = this.#roles[node.role]!;
    this.#follow(node);
    const calls: RecordedCall[] = [];
    let value: unknown;
    let returned = false;
    try {
      value = role.body(this.#thread(role, calls));
      returned = true;
    } catch (error) {
      if (!this.#suspended) node.outcome = { kind: 'threw', error };
    } finally {
      this.#node = null;
    }
    node.calls = calls;
    if (!returned || node.outcome !== null) return undefined;
    if (value instanceof Promise) {
      // It rejects with the suspension, or goes on when nobody looks.
      value.catch(() => {});
      this.#break(
        node,
        'unsupported',
        'returned a promise: a simulated thread is synchronous. Write what waits as a step machine, for thread.drive',
      );
    } else if (this.#suspended) {
      this.#break(
        node,
        'swallowed',
        `caught the suspension at ${this.#describe(node.operation)} and returned`,
      );
    } else if (this.#position < node.depth) {
      const missing = this.#path[this.#position]!.operation;
      this.#break(
        node,
        'non-deterministic',
        `returned where it did ${this.#describe(missing)} before, as operation ${this.#position + 1}`,
      );
    } else {
      node.outcome = { kind: 'returned', value };
    }
    return value;
  }

  #follow(node: HistoryNode): void {
    const path = this.#path;
    path.length = node.depth + 1;
    for (let at: HistoryNode | null = node; at !== null; at = at.parent) path[at.depth] = at;
    this.#node = node;
    this.#position = 0;
    this.#checkpoints = 0;
    this.#suspended = false;
    this.#rethrows = 0;
  }

  #thread(role: Role, calls: RecordedCall[]): SimulatedThread {
    return new SimulatedThread({
      index: role.index,
      name: role.name,
      performer: this,
      buffer: this.buffer,
      words: this.words,
      platform: this.platform,
      shared: this.shared,
      calls,
      operationCount: () => this.#position,
    });
  }

  perform(operation: Operation): Answer {
    const node = this.#node;
    if (node === null) return this.#performDirectly(operation);
    if (this.#suspended) this.#rethrow();
    const position = this.#position;
    if (position < node.depth) {
      const recorded = this.#path[position]!.operation!;
      if (sameOperation(recorded, operation)) {
        this.#position = position + 1;
        return this.#path[position + 1]!.answer;
      }
      this.#break(
        node,
        'non-deterministic',
        `did ${this.#describe(operation)} where it did ${this.#describe(recorded)} before, as operation ${position + 1}, after the same answers`,
      );
    } else if (node.operation === null) {
      node.operation = operation;
      this.onOperation(node.role, operation);
    } else if (!sameOperation(node.operation, operation)) {
      this.#break(node, 'non-deterministic', `did ${this.#describe(operation)} when it was run again`);
    }
    this.#suspended = true;
    throw SUSPENSION;
  }

  refuse(kind: FailureKind, reason: string): never {
    const node = this.#node;
    if (node === null) throw new RangeError(`Preparing the model: ${reason}`);
    if (this.#suspended) this.#rethrow();
    this.#break(node, kind, reason);
    this.#suspended = true;
    throw SUSPENSION;
  }

  #rethrow(): never {
    this.#rethrows++;
    if (this.#rethrows > MAX_RETHROWS) {
      const node = this.#node!;
      this.#break(node, 'swallowed', `catches the suspension at ${this.#describe(node.operation)} in a loop`);
      throw new Error('A catch block that goes round again has to let through what it does not know');
    }
    throw SUSPENSION;
  }

  /** An operation of the code that prepares the model, before the threads start. */
  #performDirectly(operation: Operation): Answer {
    if (operation.address < 0) return 0;
    const answer = this.#memory.answer(operation);
    this.#memory.apply(operation, answer);
    return answer;
  }

  #break(node: HistoryNode, kind: FailureKind, reason: string): void {
    node.outcome = {
      kind: 'broken',
      failure: { kind, reason: `${this.#roles[node.role]!.name} ${reason}` },
    };
  }

  #describe(operation: Operation | null | undefined): string {
    return operation == null ? 'nothing' : describeOperation(operation, this.#names);
  }
}
