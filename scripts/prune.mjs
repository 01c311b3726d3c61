// Removes compiled files whose source is gone. `tsc -b` leaves them, so that a deleted test would run for ever and a
// deleted module would still be published.

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { glob } from 'tinyglobby';
import { root } from './workspace.mjs';

const COMPILED = /\.(?:js|d\.ts)(?:\.map)?$/;

const outputs = await glob(['{packages/*,bench,test}/dist/**/*.{js,d.ts,js.map,d.ts.map}'], { cwd: root });
for (const output of outputs) {
  const source = output.replace('/dist/', '/src/').replace(COMPILED, '.ts');
  if (existsSync(join(root, source))) continue;
  await rm(join(root, output));
  console.log(`removed ${output.split('/').join(sep)}: no ${source}`);
}
