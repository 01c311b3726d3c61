// Runs a TypeScript file, and the workers that it starts, straight from the sources on any supported Node:
//
//   node --import ./scripts/from-source.mjs FILE.ts
//
// A worker inherits `--import` through `process.execArgv`, so each thread loads this file before its own entry.
// docs/worker-files.md says more.

import { register } from 'node:module';
import { register as compileTypeScript } from 'tsx/esm/api';

compileTypeScript();
// Registered last, so it is asked first.
register('./from-source.hooks.mjs', import.meta.url);
