import { availableParallelism } from 'node:os';
import type { Gate } from './gate.js';

/**
 * Locks of a package from npm that work across threads: those of `multithreading`, over a word that we provide.
 *
 * Loaded where they are opened: the package changes the globals of its thread.
 */

const create = () => new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);

async function load() {
  // It asks for the number of cores when it is loaded, and Node 20 has no navigator.
  const globals = globalThis as { navigator?: unknown };
  globals.navigator ??= { hardwareConcurrency: availableParallelism() };
  return import('multithreading');
}

function gateOf(take: () => { dispose(): void }): Gate {
  let guard: { dispose(): void };
  return {
    enter() {
      guard = take();
    },
    leave: () => guard.dispose(),
  };
}

export const packageLocks = {
  'multithreading-mutex': {
    create,
    async open(buffer: SharedArrayBuffer) {
      const { Mutex } = await load();
      const mutex = new Mutex(undefined, buffer);
      return gateOf(() => mutex.blockingLock());
    },
  },
  'multithreading-rwlock-read': {
    create,
    async open(buffer: SharedArrayBuffer) {
      const { RwLock } = await load();
      const lock = new RwLock(undefined, buffer);
      return gateOf(() => lock.blockingRead());
    },
  },
  'multithreading-rwlock-write': {
    create,
    async open(buffer: SharedArrayBuffer) {
      const { RwLock } = await load();
      const lock = new RwLock(undefined, buffer);
      return gateOf(() => lock.blockingWrite());
    },
  },
};
