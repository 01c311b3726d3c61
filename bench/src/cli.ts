import { runCommand } from './command.js';

// Whoever reads the table may stop early, as `head` does. Then there is nobody left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// Not `process.exit`, which would cut off what a pipe has not taken yet.
process.exitCode = await runCommand(process.argv.slice(2), process);
