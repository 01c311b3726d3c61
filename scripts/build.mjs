// Builds the workspace: compiles all packages with their tests, removes outputs whose source is gone, and joins the modules
// of libraries for Node.

import { x } from 'tinyexec';
import { root } from './workspace.mjs';

const { exitCode } = await x('tsc', ['-b'], { nodeOptions: { cwd: root, stdio: 'inherit' } });
if (exitCode !== 0) process.exit(exitCode);
await import('./prune.mjs');
await import('./bundle.mjs');
