import type { HeddleError } from '@heddle/memory';
import { expectTypeOf } from 'vitest';
import {
  Completion,
  Context,
  type Endpoint,
  type Message,
  type SendStatus,
  type ThreadMode,
  type WorkerAddress,
} from './index.js';

const context = Context.create();
const worker = context.createWorker({ name: 'w', threadMode: 'serialized' });

expectTypeOf(worker.address).toEqualTypeOf<WorkerAddress>();
expectTypeOf(worker.threadMode).toEqualTypeOf<ThreadMode>();
const endpoint = worker.connect(worker.address);
expectTypeOf(endpoint).toEqualTypeOf<Endpoint>();
expectTypeOf(endpoint.trySend(1, new Uint8Array(1))).toEqualTypeOf<SendStatus>();
const completion = new Completion((error) => expectTypeOf(error).toEqualTypeOf<HeddleError | undefined>());
expectTypeOf(endpoint.trySend(1, endpoint.loan(1), undefined, completion)).toEqualTypeOf<SendStatus>();
expectTypeOf(endpoint.sendMany(1, [new Uint8Array(1), endpoint.loan(1)!])).toBeNumber();
expectTypeOf(completion.finished()).toEqualTypeOf<Promise<void>>();
// @ts-expect-error: options come last, a completion is one of them
endpoint.send(1, new Uint8Array(1), undefined, completion);
worker.on(1, (message) => {
  expectTypeOf(message).toEqualTypeOf<Message>();
  expectTypeOf(message.data).toExtend<Uint8Array>();
});
// @ts-expect-error: no such mode
context.createWorker({ threadMode: 'free' });
// @ts-expect-error: workers are found by address, not by name
worker.connect('w');
