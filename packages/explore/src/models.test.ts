import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { explore } from './explore.js';
import { findFiles } from './find-files.js';
import { loadModels } from './load-models.js';
import { exploreTests } from './vitest.js';

const folder = fileURLToPath(new URL('./models', import.meta.url));
const files = await findFiles(folder, ['*.explore.js']);
const loaded = await Promise.all(files.map(loadModels));

for (const [index, file] of files.entries()) {
  describe(file.slice(folder.length + 1), () => exploreTests(loaded[index]!.map(({ model }) => model)));
}

describe('looking at fewer states', () => {
  const exhaustive = loaded.flat().filter(({ model }) => model.search === undefined);

  it.each(exhaustive.map(({ model }) => model))('changes no verdict: $name', (model) => {
    const reduced = explore(model);
    // A model that looks at every state has no operation done out of turn.
    const full = explore({ ...model, always: () => undefined }, { maxStates: 50_000, shortestStates: 0 });
    if (!full.bounds.some((bound) => bound.startsWith('stopped'))) {
      expect(full.failure?.kind).toBe(reduced.failure?.kind);
      expect(full.states).toBeGreaterThanOrEqual(reduced.failure === null ? reduced.states : 0);
    } else {
      // What was looked at of it has no failure either.
      expect(full.failure).toBeNull();
    }
  });
});
