import { defineConfig } from 'vitest/config';

// Tests run on the build (`tsc -b` puts them beside what they test), so that worker files are plain
// JavaScript in every thread and what is tested is what is published. docs/worker-files.md says more.
export default defineConfig({
  test: {
    include: ['packages/*/dist/**/*.test.js', 'bench/dist/**/*.test.js', 'test/dist/**/*.test.js'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
