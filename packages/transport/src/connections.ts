import type { WaitAsyncOptions } from '@heddle/memory';
import { assertAddress, type WorkerAddress } from './address.js';
import type { ContextMemory } from './context-memory.js';
import { Endpoint, type EndpointOptions } from './endpoint.js';
import type { WorkerPlace } from './lane-life.js';
import { OutboundLane } from './outbound-lane.js';

/** The endpoints of a worker in this thread, and the lanes that they share: one to each worker. */
export class Connections {
  readonly #memory: ContextMemory;
  readonly #from: WorkerPlace;
  /** By the row and generation to which they lead. */
  readonly #lanes = new Map<string, OutboundLane>();
  readonly #endpoints = new Set<Endpoint>();

  constructor(memory: ContextMemory, from: WorkerPlace) {
    this.#memory = memory;
    this.#from = from;
  }

  /** As `worker.connect` has it. */
  connect(address: WorkerAddress, options: EndpointOptions): Endpoint {
    const { segment, shape } = this.#memory;
    assertAddress(address);
    if (address.segment !== segment.id || address.row >= shape.maxWorkers) {
      throw new RangeError('This is the address of a worker of another context');
    }
    const key = `${address.row}/${address.generation}`;
    let lane = this.#lanes.get(key);
    if (!lane || lane.sweep()) {
      lane = this.#memory.lock.run(() => OutboundLane.open(this.#memory, address, this.#from));
      this.#lanes.set(key, lane);
    }
    const used = lane;
    used.users++;
    const endpoint = new Endpoint(this.#memory, used, address, options, (closed) => {
      this.#endpoints.delete(closed);
      if (--used.users > 0) return;
      used.leave();
      if (this.#lanes.get(key) === used) this.#lanes.delete(key);
    });
    this.#endpoints.add(endpoint);
    return endpoint;
  }

  /** Whether {@link report} is going to tell the program something. */
  get hasReport(): boolean {
    return [...this.#endpoints].some((endpoint) => endpoint.hasReport);
  }

  /** Lets each endpoint tell once that its receiver is gone. @throws what the first of their callbacks threw. */
  report(): void {
    const failures: unknown[] = [];
    for (const endpoint of [...this.#endpoints]) {
      try {
        endpoint.report();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Waits until what was sent to other threads was handled, or cannot be, or the time is up. */
  async flush(options: WaitAsyncOptions): Promise<void> {
    const { token } = this.#memory;
    const others = [...this.#endpoints].filter(
      ({ address }) => this.#memory.row(address.row).owner !== token,
    );
    await Promise.allSettled(others.map((endpoint) => endpoint.flushAsync(options)));
  }

  close(): void {
    for (const endpoint of [...this.#endpoints]) endpoint.close();
  }
}
