import { createRequire, register } from 'node:module';
import { simulatedGlobals } from './simulated-globals.js';
import { GLOBALS_KEY, SIMULATED_SCHEME } from './simulated-modules.js';

const require = createRequire(import.meta.url);

let registered = false;

/**
 * Loads a module, and all that it imports, as a copy of its own in which `Atomics`, `SharedArrayBuffer` and the typed
 * arrays are the simulated ones: so code that was not written to be explored can be, unmodified.
 *
 * ```ts
 * const { RingBuffer } = await loadSimulated<typeof import('ringbuf.js')>('ringbuf.js', import.meta.url);
 * ```
 *
 * @param specifier as in an `import` of the calling module.
 * @param parent the URL of the calling module.
 * @throws TypeError where a module of the graph is CommonJS; whatever the engine throws where it is not found.
 */
export async function loadSimulated<Module>(specifier: string, parent: string): Promise<Module> {
  (globalThis as Record<symbol, unknown>)[Symbol.for(GLOBALS_KEY)] = simulatedGlobals;
  if (!registered) {
    register('./simulating-hooks.js', import.meta.url);
    registered = true;
  }
  const { nativeImport } = require('./native-import.cjs') as { nativeImport(url: string): Promise<unknown> };
  const request = encodeURIComponent(JSON.stringify([specifier, parent]));
  return (await nativeImport(SIMULATED_SCHEME + request)) as Module;
}
