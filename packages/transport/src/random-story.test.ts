import { expect, it, vi } from 'vitest';
import { carry } from './carry.test-worker.js';
import { Completion } from './completion.js';
import { Context } from './context.js';
import type { Endpoint } from './endpoint.js';
import { Idle } from './idle.js';
import type { Lease } from './lease.js';
import type { Loan } from './loan.js';
import type { Message } from './message.js';
import { headerOf, Numbered, randomFrom, readHeader } from './numbered.test-worker.js';
import { codeOf } from './pair.test-worker.js';
import { THREAD_MODES } from './thread-mode.js';
import type { TransportWorker } from './transport-worker.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
if (LONG) vi.setConfig({ testTimeout: 3_600_000 });

const ID = 1;
const WORKERS = 4;
const SIZES = 3;

/** A message that was accepted. */
interface Sent {
  /** As its header has it: of a batch, the first one's. */
  readonly named: number;
  readonly sequence: number;
  readonly asked: { ended: number; handled: boolean; kept: boolean } | undefined;
}

/** What a lane is to carry: its messages that are not handled, in order. */
interface Way {
  readonly number: number;
  readonly from: TransportWorker;
  readonly to: TransportWorker;
  readonly queue: Sent[];
  readonly ends: Set<Endpoint>;
  sent: number;
  corked: boolean;
  /** Asynchronous sends that have not ended, by sequence: they may be sent, and handled, before this is known. */
  readonly waiting: Map<number, Sent>;
}

/** What a program throws, from a handler or a function of a completion. */
class Mishap extends Error {}

const OVER: IteratorResult<Message, void> = { done: true, value: undefined };

interface Kept {
  lease: Lease;
  readonly way: Way;
  readonly sent: Sent;
}

/**
 * One thread does at random whatever a program may do with workers, endpoints and messages, beside a model of what has to
 * come of it: each accepted message is handled once, whole, in its order, or counted as unread in the one report; each
 * completion ends once; and nothing is left.
 */
class Story {
  readonly #random: () => number;
  readonly #context = Context.create({
    janitor: false,
    maxWorkers: WORKERS,
    maxLanes: 16,
    laneBytes: 512,
    inlineBytes: 64,
    slotBytes: 128,
    slots: 6,
    largeSlots: [
      { bytes: 300, count: 2 },
      { bytes: 2100, count: 1 },
    ],
  });
  readonly #numbered = new Numbered(2100);
  readonly #workers: TransportWorker[] = [];
  readonly #ways: Way[] = [];
  readonly #asked: NonNullable<Sent['asked']>[] = [];
  #kept: Kept[] = [];
  #loans: Loan[] = [];
  #pending = 0;
  #ending = false;
  #aborts: AbortController[] = [];
  readonly #runs = new Map<TransportWorker, AbortController>();
  readonly #failures: unknown[] = [];
  /** Those whose handler runs. */
  readonly #handling = new Set<TransportWorker>();
  readonly log: string[] = [];

  constructor(seed: number) {
    this.#random = randomFrom(seed);
    // Positions of lanes wrap at 2^32 bytes and at twice that, by half and in whole.
    carry(this.#context, () => (this.#below(3) + 1) * 2 ** 32 - 8 * this.#below(64));
  }

  #below(most: number): number {
    return Math.floor(this.#random() * most);
  }

  #pick<T>(of: readonly T[]): T | undefined {
    return of[this.#below(of.length)];
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  async run(steps: number): Promise<void> {
    for (let i = 0; i < steps; i++) {
      await this.#step();
      // What was sent meanwhile is noted before the next step.
      if (this.#pending > 0 || this.#chance(0.3)) await this.#turn();
    }
    await this.#end();
  }

  /** What waits on the event loop may go on. @throws what was wrong about how something ended. */
  async #turn(): Promise<void> {
    await new Promise(setImmediate);
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  async #step(): Promise<void> {
    const kind = this.#below(100);
    if (kind < 6) this.#open();
    else if (kind < 14) this.#connect();
    else if (kind < 36) this.#send();
    else if (kind < 42) this.#sendNow();
    else if (kind < 48) this.#wait();
    else if (kind < 54) this.#sendMany();
    else if (kind < 58) this.#cork();
    else if (kind < 61) this.#flush();
    else if (kind < 76) this.#progress();
    else if (kind < 79) this.#runFor();
    else if (kind < 86) await this.#iterate();
    else if (kind < 93) this.#release();
    else if (kind < 97) this.#closeEndpoint();
    else if (kind < 99) this.#closeWorker();
    else this.#loan();
  }

  /** What the program throws comes through. */
  #letPass(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof Mishap)) throw error;
      this.log.push('it threw');
    }
  }

  #mishap(): void {
    if (!this.#ending && this.#chance(0.03)) throw new Mishap();
  }

  #open(): void {
    if (this.#workers.length === WORKERS) return;
    const worker = this.#context.createWorker({ threadMode: this.#pick(THREAD_MODES)! });
    worker.on(ID, (message) => {
      this.#handling.add(worker);
      try {
        this.#handle(worker, message);
        this.#aside();
      } finally {
        this.#handling.delete(worker);
      }
      this.#mishap();
    });
    this.log.push(`open ${worker.threadMode} in row ${worker.address.row}`);
    this.#workers.push(worker);
  }

  #connect(): void {
    const from = this.#pick(this.#workers);
    const to = this.#pick(this.#workers);
    if (!from || !to) return;
    let way = this.#ways.find((known) => known.from === from && known.to === to && known.ends.size > 0);
    if (!way) {
      const number = this.#ways.length;
      way = { number, from, to, queue: [], ends: new Set(), sent: 0, corked: false, waiting: new Map() };
      this.#ways.push(way);
    }
    const used = way;
    const endpoint = from.connect(to.address, {
      onClosed: ({ begun, unread }) => {
        this.log.push(`report of way ${used.number}`);
        this.#same('what was unread', [begun, unread], [0, used.queue.length]);
        this.#same('the receiver is closed', to.closed, true);
        this.#inside(from);
      },
    });
    this.log.push(`connect ${from.address.row} to ${to.address.row}: way ${way.number}`);
    way.ends.add(endpoint);
  }

  #endpoint(): { way: Way; endpoint: Endpoint } | undefined {
    const way = this.#pick(this.#ways.filter(({ ends }) => ends.size > 0));
    const endpoint = way && this.#pick([...way.ends]);
    return endpoint && { way: way!, endpoint };
  }

  #send(): void {
    const chosen = this.#endpoint();
    if (!chosen) return;
    const { way, endpoint } = chosen;
    const sequence = way.sent;
    let data: Uint8Array | Loan = this.#numbered.data(way.number, sequence);
    const { byteLength } = data;
    if (this.#chance(0.3) && !endpoint.closed) {
      const loan = endpoint.loan(byteLength);
      if (!loan) return;
      loan.data.set(data as Uint8Array);
      data = loan;
    }
    const { asked, completion } = this.#ask(way);
    const answer = endpoint.trySend(ID, data, headerOf(way.number, sequence), completion);
    this.log.push(`send ${sequence} of ${byteLength} by way ${way.number}: ${answer}`);
    if (answer === 'sent') {
      if (asked) this.#asked.push(asked);
      way.queue.push({ named: sequence, sequence, asked });
      way.sent++;
    } else {
      if (!(data instanceof Uint8Array)) data.cancel();
      if (answer === 'closed') this.#same('the receiver is closed', way.to.closed, true);
    }
    if (way.to.closed && !way.corked) this.#same('to one that is gone', answer, 'closed');
  }

  #ask({ from }: Way) {
    if (!this.#chance(0.2)) return {};
    const asked = { ended: 0, handled: false, kept: false };
    const completion = new Completion((error) => {
      asked.ended++;
      if (!error && (!asked.handled || asked.kept)) throw new Error('ended well before it was done');
      this.#inside(from);
      this.#mishap();
    });
    return { asked, completion };
  }

  /** A send that blocks, for no time: it is sent, or nothing was. */
  #sendNow(): void {
    const chosen = this.#endpoint();
    if (!chosen) return;
    const { way, endpoint } = chosen;
    const sequence = way.sent;
    const data = this.#numbered.data(way.number, sequence);
    const { asked, completion } = this.#ask(way);
    const code = codeOf(() =>
      endpoint.send(ID, data, headerOf(way.number, sequence), { timeout: 0, completion }),
    );
    this.log.push(`send ${sequence} by way ${way.number} now: ${code}`);
    if (code === 'nothing') {
      if (asked) this.#asked.push(asked);
      way.queue.push({ named: sequence, sequence, asked });
      way.sent++;
    } else this.#mayEnd(way, code);
  }

  /** Flushes for no time, or fences: what was held back is published, and nothing else has changed. */
  #flush(): void {
    const chosen = this.#endpoint();
    if (!chosen) return;
    const { way, endpoint } = chosen;
    if (this.#chance(0.5)) {
      const code = codeOf(() => endpoint.flush({ timeout: 0 }));
      this.log.push(`flush way ${way.number} now: ${code}`);
      if (code === 'nothing') this.#same('flushed, and not handled', way.queue, []);
      else this.#mayEnd(way, code);
    } else {
      const code = codeOf(() => way.from.fence());
      this.log.push(`fence row ${way.from.address.row}: ${code}`);
      if (code !== 'nothing') this.#same('why it is no fence', code, 'ERR_HEDDLE_OUTSTANDING');
    }
  }

  /** Whether what blocks may end so. */
  #mayEnd(way: Way, code: string): void {
    if (code === 'ERR_HEDDLE_CLOSED') this.#same('the receiver is closed', way.to.closed, true);
    else if (code === 'ERR_HEDDLE_OUTSTANDING') this.#same('something waits', this.#pending > 0, true);
    else this.#same('why it ended', code, 'ERR_HEDDLE_TIMED_OUT');
  }

  /** Begins something that may have to wait: a send, a loan, a flush. Each may be aborted. */
  #wait(): void {
    const chosen = this.#endpoint();
    if (!chosen) return;
    const { way, endpoint } = chosen;
    const abort = new AbortController();
    const { signal } = abort;
    if (this.#chance(0.4)) this.#aborts.push(abort);
    if (this.#chance(0.3)) this.#aborts.shift()?.abort('aborted');
    const number = this.#pending++;
    const kind = this.#below(3);
    const what = `${['send', 'loan', 'flush'][kind]} ${number} by way ${way.number}`;
    this.log.push(`wait: ${what}`);
    const ended =
      kind === 0 ? this.#sendAsync(way, endpoint, signal) : this.#other(kind, way, endpoint, signal);
    ended
      .catch((error: unknown) => {
        const isClosed = (error as { code?: string }).code === 'ERR_HEDDLE_CLOSED';
        const may =
          error === 'aborted' ? signal.aborted : isClosed && (way.to.closed || !way.ends.has(endpoint));
        this.log.push(`${what} failed: ${error}`);
        if (!may) throw error;
      })
      .catch((error) => this.#failures.push(error))
      .finally(() => this.#pending--);
  }

  async #sendAsync(way: Way, endpoint: Endpoint, signal: AbortSignal): Promise<void> {
    const sequence = way.sent++;
    const data = this.#numbered.data(way.number, sequence).slice();
    const { asked, completion } = this.#ask(way);
    way.waiting.set(sequence, { named: sequence, sequence, asked });
    try {
      await endpoint.sendAsync(ID, data, headerOf(way.number, sequence), { signal, completion });
      this.log.push(`sent ${sequence} by way ${way.number}`);
      this.#noteSent(way, sequence);
    } catch (error) {
      if (!way.waiting.delete(sequence)) throw new Error('it was handled, and failed');
      throw error;
    }
  }

  /** An asynchronous send was sent: before all that were sent later. */
  #noteSent(way: Way, sequence: number): void {
    const sent = way.waiting.get(sequence);
    if (!sent) return;
    way.waiting.delete(sequence);
    if (sent.asked) this.#asked.push(sent.asked);
    const later = way.queue.findIndex((other) => other.sequence > sequence);
    way.queue.splice(later < 0 ? way.queue.length : later, 0, sent);
  }

  async #other(kind: number, way: Way, endpoint: Endpoint, signal: AbortSignal): Promise<void> {
    if (kind === 1) {
      this.#loans.push(await endpoint.loanAsync(1 + this.#below(2000), { signal }));
      return;
    }
    // What waits is sent before it.
    const before = way.sent;
    await endpoint.flushAsync({ signal });
    this.#same(
      'flushed, and not handled',
      way.queue.filter(({ sequence }) => sequence < before),
      [],
    );
  }

  #sendMany(): void {
    const chosen = this.#endpoint();
    if (!chosen || chosen.way.to.closed) return;
    const { way, endpoint } = chosen;
    // It may be sent already, and not noted, or not.
    if (way.waiting.size > 0) return;
    const first = way.sent;
    const all = Array.from({ length: this.#below(6) }, (_, i) => {
      const data = this.#numbered.data(way.number, first + i).slice();
      const loan = this.#chance(0.2) ? endpoint.loan(data.length) : undefined;
      loan?.data.set(data);
      return loan ?? data;
    });
    const sent = endpoint.sendMany(ID, all, headerOf(way.number, first));
    for (const data of all.slice(sent)) if (!(data instanceof Uint8Array)) data.cancel();
    this.log.push(`send ${sent} of ${all.length} from ${first} on by way ${way.number}`);
    for (let i = 0; i < sent; i++) way.queue.push({ named: first, sequence: first + i, asked: undefined });
    way.sent += sent;
  }

  #cork(): void {
    const chosen = this.#endpoint();
    if (!chosen) return;
    const { way, endpoint } = chosen;
    this.log.push(`${way.corked ? 'uncork' : 'cork'} way ${way.number}`);
    const published = way.corked ? endpoint.uncork() : endpoint.cork();
    if (published === false) this.#same('the receiver is closed', way.to.closed, true);
    way.corked = !way.corked;
  }

  #progress(): void {
    const worker = this.#pick(this.#workers);
    if (!worker) return;
    const budget = this.#chance(0.3) ? 1 + this.#below(4) : Infinity;
    this.log.push(`progress of row ${worker.address.row}`);
    if (this.#chance(0.2))
      this.#letPass(() => void (this.#chance(0.5) ? worker.arm() : worker.wait({ timeout: 0 })));
    this.#letPass(() => void worker.progress(budget));
  }

  /** From a handler: receives on another worker, or closes it; one whose handler runs refuses both. */
  #aside(): void {
    if (this.#ending || !this.#chance(0.1)) return;
    const worker = this.#pick(this.#workers);
    if (!worker) return;
    if (this.#handling.has(worker)) {
      this.#same(
        'progress inside',
        codeOf(() => worker.progress()),
        'ERR_HEDDLE_OUTSTANDING',
      );
      this.#same(
        'close inside',
        codeOf(() => worker.close()),
        'ERR_HEDDLE_OUTSTANDING',
      );
    } else if (this.#chance(0.9)) this.#letPass(() => void worker.progress());
    else this.#closeOne(worker);
  }

  /** Receives on the event loop, beside whatever else receives there, until it is aborted, or something throws. */
  #runFor(): void {
    const worker = this.#pick(this.#workers);
    if (!worker) return;
    const abort = new AbortController();
    this.#endRun(worker);
    this.#runs.set(worker, abort);
    const idle = this.#pick([Idle.adaptive(), Idle.park(), Idle.eventLoop(), Idle.backoff({ pauses: 4 })])!;
    this.log.push(`run row ${worker.address.row}`);
    worker.run({ signal: abort.signal, idle }).catch((error: unknown) => {
      if (!(error instanceof Mishap)) this.#failures.push(error);
    });
  }

  #endRun(worker: TransportWorker): void {
    this.#runs.get(worker)?.abort();
    this.#runs.delete(worker);
  }

  /** One message of an iteration, which is ended or dropped; or one that waits in vain, and is ended. */
  async #iterate(): Promise<void> {
    const worker = this.#pick(this.#workers);
    if (!worker) return;
    this.log.push(`iterate in row ${worker.address.row}`);
    // It would receive before this has seen the message.
    this.#endRun(worker);
    const messages = worker.messages();
    let result: IteratorResult<Message, void> | undefined;
    const next = messages.next().then(
      (given) => {
        result = given;
        return given;
      },
      (error) => {
        if (!(error instanceof Mishap)) throw error;
        result = OVER;
        return OVER;
      },
    );
    await Promise.resolve();
    await Promise.resolve();
    if (result?.value) this.#handle(worker, result.value);
    if (!result || this.#chance(0.5)) await messages.return();
    if (!result) this.#same('what a wait that was ended gives', await next, OVER);
  }

  #handle(worker: TransportWorker, message: Message): void {
    const [number, named] = readHeader(message);
    const way = this.#ways[number]!;
    this.#noteSent(way, named);
    const sent = way.queue.shift();
    this.log.push(`row ${worker.address.row} handles ${named} of way ${number}`);
    this.#same('the next message', [named, worker], [sent?.named, way.to]);
    this.#same('where it came from', message.sender, way.from.address);
    if (!this.#numbered.matches(message.data, number, sent!.sequence)) throw new Error('it is not whole');
    if (sent!.asked) sent!.asked.handled = true;
    this.#keep(way, sent!, message);
    this.#inside(worker);
  }

  /** Something from inside of a handler or a callback. Of a worker that is being closed, most of it is refused. */
  #inside(worker: TransportWorker): void {
    if (this.#ending || !this.#chance(0.2)) return;
    this.log.push(`from inside of row ${worker.address.row}:`);
    const acts = [
      () => this.#connect(),
      () => this.#send(),
      () => this.#sendMany(),
      () => this.#cork(),
      () => this.#wait(),
      () => this.#release(),
      () => this.#closeEndpoint(),
    ];
    this.#pick(acts)!();
  }

  #keep(way: Way, sent: Sent, message: Message): void {
    if (!this.#chance(0.15)) return;
    try {
      this.#kept.push({ lease: message.keep(), way, sent });
      if (sent.asked) sent.asked.kept = true;
    } catch (error) {
      this.#same('why it cannot be kept', (error as { code: string }).code, 'ERR_HEDDLE_EXHAUSTED');
    }
  }

  #release(): void {
    const kept = this.#pick(this.#kept);
    if (!kept) return;
    if (this.#chance(0.3)) kept.lease = this.#context.lease(kept.lease.handOver());
    const { lease, way, sent } = kept;
    if (!this.#numbered.matches(lease.data, way.number, sent.sequence))
      throw new Error('kept, and not whole any more');
    this.#kept = this.#kept.filter((other) => other !== kept);
    if (sent.asked) sent.asked.kept = false;
    lease.release();
  }

  /** Takes a slot of some size for a while. */
  #loan(): void {
    const chosen = this.#endpoint();
    for (const loan of this.#loans.splice(0)) loan.cancel();
    if (!chosen || chosen.endpoint.closed) return;
    const loan = chosen.endpoint.loan(1 + this.#below(2000));
    if (loan) this.#loans.push(loan);
  }

  #closeEndpoint(): void {
    const chosen = this.#endpoint();
    if (!chosen) return;
    this.log.push(`close an endpoint of way ${chosen.way.number}`);
    this.#closeEnd(chosen.way, chosen.endpoint);
    this.#letPass(() => chosen.endpoint.close());
  }

  #closeEnd(way: Way, endpoint: Endpoint): void {
    way.ends.delete(endpoint);
    way.corked = false;
  }

  #closeWorker(): void {
    const worker = this.#pick(this.#workers);
    if (worker) this.#closeOne(worker);
  }

  #closeOne(worker: TransportWorker): void {
    this.log.push(`close row ${worker.address.row}`);
    this.#workers.splice(this.#workers.indexOf(worker), 1);
    for (const way of this.#ways) {
      if (way.from === worker) for (const endpoint of way.ends) this.#closeEnd(way, endpoint);
    }
    this.#letPass(() => worker.close());
  }

  async #end(): Promise<void> {
    this.#ending = true;
    this.log.push('the end');
    for (const worker of this.#workers) this.#endRun(worker);
    for (const way of this.#ways) for (const endpoint of way.ends) endpoint.uncork();
    const all = () => this.#workers.reduce((sum, worker) => sum + worker.progress(), 0);
    while (all() + this.#pending > 0) {
      while (this.#kept.length > 0) this.#release();
      for (const loan of this.#loans.splice(0)) loan.cancel();
      await this.#turn();
    }
    for (const way of this.#ways) {
      if (!way.to.closed) this.#same(`left in way ${way.number}`, way.queue, []);
    }
    while (this.#kept.length > 0) this.#release();
    for (const loan of this.#loans) loan.cancel();
    while (all() > 0);
    while (this.#workers.length > 0) this.#closeWorker();
    this.#same(
      'completions that did not end once',
      this.#asked.filter(({ ended }) => ended !== 1),
      [],
    );
    this.#same('what is in use', this.#context.usage(), { workers: 0, lanes: 0, slots: 0 });
    for (let size = 0; size < SIZES; size++) {
      const { outstanding, consistent, putTwice, unreachable } = this.#context.audit(size);
      this.#same('the account', [outstanding, consistent, putTwice, unreachable], [0, true, [], []]);
    }
    this.#context[Symbol.dispose]();
  }

  #same(what: string, is: unknown, expected: unknown): void {
    if (is === expected) return;
    try {
      expect(is).toEqual(expected);
    } catch (error) {
      throw new Error(`${what}: ${(error as Error).message}`);
    }
  }
}

it('whatever a thread does with workers, endpoints and messages: each message once, whole, in order, or reported', async () => {
  const runs = LONG ? 2_000 : 150;
  const start = LONG ? Math.floor(Math.random() * 2 ** 30) : 1;
  for (let seed = start; seed < start + runs; seed++) {
    const story = new Story(seed);
    try {
      await story.run(300);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).stack}\n${story.log.slice(-40).join('\n')}`);
    }
  }
});
