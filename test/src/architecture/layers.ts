/** A package of the workspace and its place among the others. */
export interface Layer {
  readonly name: string;
  readonly folder: string;
  /** Meant for Node as a whole: a command line, not a library. */
  readonly forNode?: true;
  /** Used while developing, never by the code of another package. */
  readonly forDevelopment?: true;
}

/**
 * All packages from the ground up: each may import only from those above it. This is the one list; the checks, and
 * through them the manifests, the tsconfigs and the table in docs/architecture.md, have to agree with it. A package
 * whose folder is not there yet is coming.
 */
export const LAYERS: readonly Layer[] = [
  { name: '@heddle/explore', folder: 'packages/explore', forDevelopment: true },
  { name: '@heddle/memory', folder: 'packages/memory' },
  { name: '@heddle/lock', folder: 'packages/lock' },
  { name: '@heddle/ring', folder: 'packages/ring' },
  { name: '@heddle/mpool', folder: 'packages/mpool' },
  { name: '@heddle/rcache', folder: 'packages/rcache' },
  { name: '@heddle/transport', folder: 'packages/transport' },
  { name: 'heddle', folder: 'packages/heddle', forNode: true },
];
