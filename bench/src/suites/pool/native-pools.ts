import type { ExternalVariant } from '../../core/suite.js';
import { NativeRunner } from '../../native/native-runner.js';
import { compile, type NativeProgram } from '../../native/program.js';
import { ELEM_SIZE, ELEMS_PER_CHUNK, MAX_ELEMS } from './sizes.js';

const sources = ['pool-peer.c', 'rounds.c'];
const sizes = { ELEM_SIZE, MAX_ELEMS, ELEMS_PER_CHUNK };

function ucs(locked: 0 | 1): NativeProgram {
  const defines = { ...sizes, POOL: '"pool-ucs.h"', LOCKED: locked };
  return { sources, defines, libraries: ['-lucs'], needs: 'UCX with its headers (Debian: libucx-dev)' };
}

function malloc(mimalloc: 0 | 1, libraries: string[], needs: string): NativeProgram {
  return { sources, defines: { ...sizes, POOL: '"pool-malloc.h"', MIMALLOC: mimalloc }, libraries, needs };
}

const programs = {
  'ucs-mpool': ucs(0),
  'ucs-mpool-spinlock': ucs(1),
  malloc: malloc(0, [], 'the C library'),
  mimalloc: malloc(1, ['-l:libmimalloc.so.2'], 'mimalloc (Debian: libmimalloc2.0)'),
};

/** A pool in C. `pattern` and `amount` are those of `pool-peer.c`. */
export function native(
  name: keyof typeof programs,
  pattern: 'alone' | 'xput' | 'all',
  amount: number,
): ExternalVariant {
  return {
    name,
    async open(cores) {
      return new NativeRunner(await compile(programs[name]), [pattern, String(amount), cores.join(',')]);
    },
  };
}
