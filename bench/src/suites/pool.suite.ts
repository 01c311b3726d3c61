import { defineSuite } from '../core/suite.js';
import { allToAll } from './pool/all-to-all.js';
import { alone } from './pool/alone.js';
import { elsewhere } from './pool/elsewhere.js';

/** Policies side by side, beside what there is without a pool and the pools of C. */
export default defineSuite({
  name: 'pool',
  summary: 'get and put by policy: on one thread, got here and put there, all to all; beside C',
  limits:
    'Nobody reads or writes the elements, which are small and found in the cache; a pool whose free list runs through ' +
    'its elements pays for moving them between cores, one that counts slots in an array does not. Threads poll, and ' +
    'none sleeps. The pools in C are asked through the functions of their libraries, as a program does it; none of ' +
    'them checks what is put, nor survives the death of a thread. In "array" one thread gets and one puts, and no ' +
    'more can join.',
  comparisons: ({ cores }) => [
    alone(1),
    alone(32),
    elsewhere(1),
    elsewhere(
      32,
      { atLeast: 4 },
      { atLeast: 10, against: 'ucs-mpool-spinlock' },
      { atLeast: 1.2, against: 'mimalloc' },
    ),
    allToAll(cores),
  ],
});
