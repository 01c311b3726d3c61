import { expectTypeOf } from 'vitest';
import {
  createLock,
  type Lock,
  type LockGuard,
  type LockHandle,
  type LockOutcome,
  Mutex,
  type Segment,
} from './index.js';

declare const segment: Segment;

// Alone, by name, or from a handle: the same type.
expectTypeOf(new Mutex()).toEqualTypeOf<Mutex>();
expectTypeOf(Mutex.create(segment, { name: 'm' })).toEqualTypeOf<Mutex>();
expectTypeOf(Mutex.open(segment, 'm')).toEqualTypeOf<Mutex>();
declare const handle: LockHandle;
expectTypeOf(Mutex.from(handle)).toEqualTypeOf<Mutex>();

declare const mutex: Mutex;
expectTypeOf(mutex.lock()).toEqualTypeOf<LockOutcome>();
expectTypeOf(mutex.tryLock()).toEqualTypeOf<LockOutcome | null>();
expectTypeOf(mutex.lockAsync()).resolves.toEqualTypeOf<LockGuard>();
expectTypeOf(mutex.guard()).toExtend<Disposable>();
// What the body gives comes through, from a promise as well.
expectTypeOf(mutex.run(() => 'done')).toBeString();
expectTypeOf(mutex.runAsync(async () => 1)).resolves.toBeNumber();
// @ts-expect-error: a timeout is a number
mutex.lock({ timeout: '1s' });
// @ts-expect-error: a blocking form cannot be aborted, its thread sleeps
mutex.lock({ signal: new AbortController().signal });

expectTypeOf(createLock).returns.toExtend<Lock>();
