import { deadlineAfter, timeoutOf, type WaitAsyncOptions, type WaitOptions } from '@heddle/memory';
import type { WorkerAddress } from './address.js';
import type { ContextMemory } from './context-memory.js';
import { doAll } from './do-all.js';
import { Endpoint, type EndpointOptions } from './endpoint.js';
import type { WorkerPlace } from './lane-life.js';
import { OutboundLane } from './outbound-lane.js';
import { Outstanding } from './outstanding.js';
import { sendsWait } from './transport-errors.js';

/** The endpoints of a worker in this thread, and the lanes that they share: one to each worker. */
export class Connections {
  /** What they sent and asked about. */
  readonly outstanding = new Outstanding();
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
    this.#memory.assertHere(address);
    const { onClosed } = options;
    if (onClosed !== undefined && typeof onClosed !== 'function') {
      throw new TypeError('onClosed is a function that takes a report');
    }
    const key = `${address.row}/${address.generation}`;
    let lane = this.#lanes.get(key);
    if (!lane || lane.sweep()) {
      lane = this.#memory.lock.run(() => OutboundLane.open(this.#memory, address, this.#from));
      this.#lanes.set(key, lane);
    }
    const used = lane;
    used.users++;
    const endpoint = new Endpoint(this.#memory, used, this.outstanding, address, options, (closed) => {
      this.#endpoints.delete(closed);
      if (--used.users > 0) return;
      used.leave();
      if (this.#lanes.get(key) === used) this.#lanes.delete(key);
    });
    this.#endpoints.add(endpoint);
    return endpoint;
  }

  /** Looks which receivers are gone, and says whether {@link report} is going to tell the program something. */
  get hasReport(): boolean {
    return [...this.#endpoints].some((endpoint) => endpoint.hasReport);
  }

  /** Lets each endpoint tell once that its receiver is gone. @throws what the first of their callbacks threw. */
  report(): void {
    doAll(this.#endpoints, (endpoint) => endpoint.report());
  }

  /**
   * Publishes everything that is held back: what is sent afterwards, by whichever endpoint, becomes visible later.
   *
   * @throws HeddleError `ERR_HEDDLE_OUTSTANDING` while asynchronous sends of this thread wait.
   */
  fence(): void {
    for (const { queue } of this.#lanes.values()) if (!queue.isEmpty) throw sendsWait();
    for (const lane of this.#lanes.values()) if (!lane.left) lane.writer.publish();
  }

  /** Flushes them one after the other, for as long in all. @throws as `endpoint.flush` does. */
  flush(options: Pick<WaitOptions, 'timeout'>): void {
    const { platform } = this.#memory;
    const deadline = deadlineAfter(timeoutOf(options), platform.now);
    this.fence();
    for (const endpoint of this.#endpoints) {
      endpoint.flush({ timeout: deadline === Infinity ? Infinity : Math.max(0, deadline - platform.now()) });
    }
  }

  /** The same on the event loop, all at once. @throws (rejects) as `endpoint.flushAsync` does. */
  async flushAsync(options: WaitAsyncOptions): Promise<void> {
    await Promise.all([...this.#endpoints].map((endpoint) => endpoint.flushAsync(options)));
  }

  /** Waits until what was sent to other threads was handled, or cannot be, or the time is up. */
  async settleOthers(options: WaitAsyncOptions): Promise<void> {
    const { token } = this.#memory;
    const others = [...this.#endpoints].filter(
      ({ address }) => this.#memory.row(address.row).owner !== token,
    );
    await Promise.allSettled(others.map((endpoint) => endpoint.flushAsync(options)));
  }

  /** @throws what one of them threw, after all are closed. */
  close(): void {
    doAll(this.#endpoints, (endpoint) => endpoint.close());
  }
}
