import * as explore from '@heddle/explore';
import * as lock from '@heddle/lock';
import * as memory from '@heddle/memory';
import * as mpool from '@heddle/mpool';
import * as ring from '@heddle/ring';
import * as transport from '@heddle/transport';
import * as heddle from 'heddle';

const packages = {
  '@heddle/explore': explore,
  '@heddle/memory': memory,
  '@heddle/lock': lock,
  '@heddle/ring': ring,
  '@heddle/mpool': mpool,
  '@heddle/transport': transport,
  heddle,
};

export interface ThreadDescription {
  /** Name of the file that the thread runs. */
  readonly file: string;
  readonly packages: readonly PackageDescription[];
}

interface PackageDescription {
  readonly name: string;
  /** Folder and file that its name led to: `src/index.ts`, `lib/index.js` or `dist/index.js`. */
  readonly entry: string;
  /** Names that it exports, sorted. */
  readonly exports: readonly string[];
}

/** Which files this thread runs, and which files the packages of the workspace came from. */
export function describeThread(url: string): ThreadDescription {
  return {
    file: lastSegments(url, 1),
    packages: Object.entries(packages).map(([name, namespace]) => ({
      name,
      entry: lastSegments(import.meta.resolve(name), 2),
      exports: Object.keys(namespace).sort(),
    })),
  };
}

function lastSegments(url: string, count: number): string {
  return url.split('/').slice(-count).join('/');
}
