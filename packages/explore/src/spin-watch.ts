import type { Counters } from './counters.js';
import type { Failure } from './failure.js';
import type { HistoryNode } from './history.js';
import { READ } from './operation.js';
import type { SharedMemory } from './shared-memory.js';
import type { Simulation } from './simulation.js';
import { ENDLESS_ON_PLAIN_READS, ENDS, type SpinSurroundings, spinAhead } from './spin-ahead.js';
import type { WaitQueues } from './wait-queues.js';

/** Tells of threads in a loop whether they only go round until another thread moves. */
export class SpinWatch {
  readonly #simulation: Simulation;
  readonly #around: SpinSurroundings;
  readonly #counters: Counters;
  readonly #onFailure: (failure: Failure) => void;

  constructor(
    simulation: Simulation,
    memory: SharedMemory,
    queues: WaitQueues,
    counters: Counters,
    onFailure: (failure: Failure) => void,
  ) {
    this.#simulation = simulation;
    this.#around = {
      histories: simulation.histories,
      memory,
      queues,
      randoms: simulation.program.randoms,
      hintValues: (operation) => simulation.hintValuesOf(operation),
    };
    this.#counters = counters;
    this.#onFailure = onFailure;
  }

  /** Whether a thread at this node goes round in a loop that only another thread can end. */
  goesRound(node: HistoryNode): boolean {
    return node.maySpin && this.staysEndless(node);
  }

  /** The same, for a node that need not be marked as part of a loop. */
  staysEndless(node: HistoryNode): boolean {
    const { spinSteps } = this.#simulation.program;
    const { time } = this.#counters;
    const stale =
      this.#simulation.hintValues.size > 0 &&
      spinAhead(node, this.#around, spinSteps, time, true) === ENDLESS_ON_PLAIN_READS;
    const verdict = stale ? ENDLESS_ON_PLAIN_READS : spinAhead(node, this.#around, spinSteps, time, false);
    if (verdict === ENDLESS_ON_PLAIN_READS) this.#blame(node);
    return verdict !== ENDS;
  }

  #blame(node: HistoryNode): void {
    const { roles, names } = this.#simulation.program;
    let where = '';
    for (let at: HistoryNode | null = node; at !== null && where === ''; at = at.parent) {
      const { operation } = at;
      if (operation?.kind === READ) where = ` (of ${names.nameOfAddress(operation.address)})`;
    }
    this.#onFailure({
      kind: 'hint',
      reason: `${roles[node.role]!.name} loops on plain reads only${where}: an engine may read once and loop for ever`,
    });
  }
}
