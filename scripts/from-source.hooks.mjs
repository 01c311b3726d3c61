// The resolve hook of from-source.mjs. Node runs it for each import and for the entry point of each thread.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The condition in `exports` under which a package of this workspace answers with its sources. */
const SOURCE_CONDITION = 'heddle-source';

/** The `x.ts` that stands for an `x.js` which is not there: sources name the file that the build will make. */
function sourceOf(url) {
  if (url.protocol !== 'file:' || !url.pathname.endsWith('.js') || existsSync(fileURLToPath(url))) {
    return undefined;
  }
  const source = new URL(url);
  source.pathname = url.pathname.replace(/\.js$/, '.ts');
  return existsSync(fileURLToPath(source)) ? source.href : undefined;
}

export async function resolve(specifier, context, nextResolve) {
  const isPath = /^(?:\.{0,2}\/|file:)/.test(specifier);
  const source = isPath ? sourceOf(new URL(specifier, context.parentURL)) : undefined;
  return nextResolve(source ?? specifier, {
    ...context,
    conditions: [SOURCE_CONDITION, ...context.conditions],
  });
}
