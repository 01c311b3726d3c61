import { defineSuite } from '../core/suite.js';
import { alone } from './locks/alone.js';
import { contended } from './locks/contended.js';
import { readers, readersAndWriters } from './locks/readers.js';

/** Strategies × threads × lengths of sections. */
export default defineSuite({
  name: 'locks',
  summary: 'strategies × threads × section lengths, beside raw Atomics and locks from npm',
  limits:
    'Each thread does nothing but take one lock again and again: real programs contend less, and then the figures of ' +
    'one thread matter most. With more threads than cores the system decides who runs, and a strategy that never ' +
    'leaves its core looks good until something else needs it. The longest wait is that of every sixteenth section, ' +
    'as the clock costs more than a section. "each" and Jain are about the threads of one variant.',
  comparisons: ({ cores }) => [alone, ...contended(cores), readers, readersAndWriters(cores)],
});
