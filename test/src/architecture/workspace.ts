import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { type Import, importsOf } from './imports.js';
import type { Layer } from './layers.js';

export interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** A package as its files describe it. */
export interface Package {
  readonly layer: Layer;
  readonly manifest: Manifest;
  /** Folders that `tsconfig.json` refers to, from the root. */
  readonly references: readonly string[];
  /** The same of `tsconfig.test.json`, its own `tsconfig.json` left out. */
  readonly testReferences: readonly string[];
  readonly modules: readonly Module[];
}

export interface Module {
  /** From the package's folder: `src/index.ts`. */
  readonly path: string;
  readonly imports: readonly Import[];
}

/** The packages of those layers whose folder exists. */
export function readPackages(root: string, layers: readonly Layer[]): Package[] {
  return layers
    .filter(({ folder }) => existsSync(join(root, folder)))
    .map((layer) => ({
      layer,
      manifest: readJson(join(root, layer.folder, 'package.json')),
      references: readReferences(root, `${layer.folder}/tsconfig.json`),
      testReferences: readReferences(root, `${layer.folder}/tsconfig.test.json`).filter(
        (reference) => reference !== `${layer.folder}/tsconfig.json`,
      ),
      modules: readModules(join(root, layer.folder)),
    }));
}

/** Names of the folders that hold a package, from the root. */
export function packageFolders(root: string): string[] {
  return readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}`)
    .filter((folder) => existsSync(join(root, folder, 'package.json')));
}

/** What a tsconfig refers to, from the root. */
export function readReferences(root: string, file: string): string[] {
  const { references = [] }: { references?: { path: string }[] } = readJson(join(root, file));
  return references.map(({ path }) => posix.join(posix.dirname(file), path));
}

function readModules(folder: string): Module[] {
  return readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .sort()
    .map((path) => ({
      path: posix.join('src', path.split(sep).join('/')),
      imports: importsOf(path, readFileSync(join(folder, 'src', path), 'utf8')),
    }));
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8'));
}
