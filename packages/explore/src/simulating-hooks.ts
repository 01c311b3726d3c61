import type { LoadHook, ResolveHook } from 'node:module';
import { SIMULATED_SCHEME, shadowingPrefix } from './simulated-modules.js';

/** Marks the URL of a module that is loaded with simulated globals, so that it has a copy of its own. */
const MARK = 'heddle-simulated';

/** Resolves what a simulated module imports to a simulated copy, too. */
export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  let wanted = specifier;
  let parent = context.parentURL;
  const begins = specifier.startsWith(SIMULATED_SCHEME);
  if (begins) {
    [wanted, parent] = JSON.parse(decodeURIComponent(specifier.slice(SIMULATED_SCHEME.length)));
  } else if (parent === undefined || !isMarked(parent)) {
    return nextResolve(specifier, context);
  }
  const resolved = await nextResolve(wanted, { ...context, parentURL: parent });
  if (!resolved.url.startsWith('file:') || isMarked(resolved.url)) return resolved;
  const url = new URL(resolved.url);
  url.searchParams.set(MARK, '');
  return { ...resolved, url: url.href };
};

/** Puts the simulated globals in front of the source, on its first line, so that line numbers stay. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (!isMarked(url)) return loaded;
  if (loaded.format !== 'module') {
    throw new TypeError(`${url} is no ECMAScript module, and cannot be loaded with simulated globals`);
  }
  const source =
    typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source as Uint8Array);
  return { ...loaded, source: shadowingPrefix + source };
};

function isMarked(url: string): boolean {
  return url.startsWith('file:') && new URL(url).searchParams.has(MARK);
}
