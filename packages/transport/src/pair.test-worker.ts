import { onTestFinished } from 'vitest';
import { Context } from './context.js';
import type { ContextOptions } from './context-options.js';
import type { ThreadMode } from './thread-mode.js';

/** A context whose ends a test reaches. */
export const SMALL: ContextOptions = {
  janitor: false,
  maxWorkers: 4,
  maxLanes: 8,
  laneBytes: 1024,
  inlineBytes: 64,
  slotBytes: 4096,
  slots: 8,
};

/** A sender and a receiver of this thread, in a context that ends with the test. */
export function makePair(options: ContextOptions = {}, threadMode: ThreadMode = 'single') {
  const context = Context.create({ ...SMALL, ...options });
  onTestFinished(() => context[Symbol.dispose]());
  const receiver = context.createWorker({ name: 'receiver', threadMode });
  const sender = context.createWorker({ name: 'sender' });
  const endpoint = sender.connect(receiver.address);
  return { context, receiver, sender, endpoint };
}

/** Bytes that differ from each other, and from those of another `first`. */
export function bytes(length: number, first = 0): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, i) => (first + i) & 0xff);
}

/** What a call throws: its code, or the name of the error; `'nothing'`. */
export function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return (error as { code?: string }).code ?? (error as Error).name;
  }
  return 'nothing';
}

/** The same of a promise. */
export async function codeOfAsync(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return codeOf(() => {
      throw error;
    });
  }
  return 'nothing';
}
