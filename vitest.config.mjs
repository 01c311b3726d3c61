import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests run on the build (`tsc -b` puts them beside what they test), so that worker files are plain
// JavaScript in every thread and what is tested is what is published. docs/worker-files.md says more.
const all = ['packages/*/dist/**/*.test.js', 'bench/dist/**/*.test.js', 'test/dist/**/*.test.js'];
const models = ['packages/*/dist/**/*explore.test.js', 'packages/*/dist/**/models.test.js'];

const common = { pool: 'forks', testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    projects: [
      // Models need no threads: as many files at a time as there are cores.
      {
        test: {
          ...common,
          name: 'models',
          include: models,
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      // Tests on threads have all cores for themselves, one file after the other.
      {
        test: {
          ...common,
          name: 'tests',
          include: all,
          exclude: models,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
