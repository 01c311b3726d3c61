import {
  AutoResetEvent,
  Barrier,
  Condition,
  Context,
  ManualResetEvent,
  MpmcQueue,
  Mpool,
  MpscRing,
  Mutex,
  Once,
  RwLock,
  Semaphore,
  SpscRing,
  SpscStream,
} from 'heddle';
import { afterAll, describe, expect, it } from 'vitest';

const context = Context.create({ janitor: false });
const worker = context.createWorker();
const endpoint = worker.connect(worker.address);
afterAll(() => context[Symbol.dispose]());

const bytes = new Uint8Array(8);
const mutex = new Mutex();
const condition = new Condition();
const rwLock = new RwLock();
const semaphore = new Semaphore({ permits: 0 });
const autoReset = new AutoResetEvent();
const manualReset = new ManualResetEvent();
const barrier = new Barrier({ parties: 2 });
const once = new Once();
const full = SpscRing.create({ capacityBytes: 64 }).producer();
while (full.tryWrite(bytes));
const empty = MpscRing.create().consumer();
const stream = SpscStream.create({ capacityBytes: 64 });
const [writer, reader] = [stream.writer(), stream.reader()];
const queue = MpmcQueue.create({ capacity: 2 });
const pool = Mpool.create({ elemSize: 8, maxElems: 1 });
while (pool.tryGet() !== null);
const none = async () => {};

const blocking: Record<string, (options: never) => unknown> = {
  'mutex.lock': (options) => mutex.lock(options),
  'rwLock.read.lock': (options) => rwLock.read.lock(options),
  'rwLock.write.lock': (options) => rwLock.write.lock(options),
  'semaphore.acquire': (options) => semaphore.acquire(options),
  'autoReset.wait': (options) => autoReset.wait(options),
  'manualReset.wait': (options) => manualReset.wait(options),
  'barrier.wait': (options) => barrier.wait(options),
  'condition.wait': (options) => mutex.run(() => condition.wait(mutex, options)),
  'once.run': (options) => once.run(() => {}, options),
  'queue.take': (options) => queue.take(options),
  'ring.read': (options) => empty.read(options),
  'ring.write': (options) => full.write(bytes, options),
  'stream.read': (options) => reader.read(bytes, options),
  'stream.write': (options) => writer.write(bytes, options),
  'pool.get': (options) => pool.get(options),
  'endpoint.send': (options) => endpoint.send(1, bytes, undefined, options),
  'endpoint.flush': (options) => endpoint.flush(options),
  'worker.flush': (options) => worker.flush(options),
  'worker.wait': (options) => worker.wait(options),
};

const asynchronous: Record<string, (options: never) => Promise<unknown>> = {
  'mutex.lockAsync': (options) => mutex.lockAsync(options),
  'rwLock.write.lockAsync': (options) => rwLock.write.lockAsync(options),
  'semaphore.acquireAsync': (options) => semaphore.acquireAsync(options),
  'autoReset.waitAsync': (options) => autoReset.waitAsync(options),
  'manualReset.waitAsync': (options) => manualReset.waitAsync(options),
  'barrier.waitAsync': (options) => barrier.waitAsync(options),
  'once.runAsync': (options) => once.runAsync(none, options),
  'queue.takeAsync': (options) => queue.takeAsync(options),
  'ring.readAsync': (options) => empty.readAsync(options),
  'ring.writeAsync': (options) => full.writeAsync(bytes, options),
  'stream.readAsync': (options) => reader.readAsync(bytes, options),
  'pool.getAsync': (options) => pool.getAsync(options),
  'endpoint.sendAsync': (options) => endpoint.sendAsync(1, bytes, undefined, options),
  'endpoint.flushAsync': (options) => endpoint.flushAsync(options),
  'endpoint.loanAsync': (options) => endpoint.loanAsync(8, options),
  'worker.waitAsync': (options) => worker.waitAsync(options),
  'context.close': (options) => context.close(options),
};

// Taken for options without a timeout it would wait for ever.
describe.each([100, '100', null, true])('%s where options belong', (given) => {
  it.each(Object.entries(blocking))('is a TypeError: %s', (_, call) => {
    expect(() => call(given as never)).toThrow(TypeError);
  });

  it.each(Object.entries(asynchronous))('is a TypeError: %s', async (_, call) => {
    await expect(call(given as never)).rejects.toThrow(TypeError);
  });
});
