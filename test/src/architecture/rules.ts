import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import type { Import } from './imports.js';
import type { Layer } from './layers.js';
import type { Manifest, Module, Package } from './workspace.js';

// Each rule takes the packages in the order of their layers and returns a sentence for each violation.

/** Tests, models, type tests and their workers: compiled with the package, not published. */
const DEVELOPMENT = /\.(?:test|test-d|test-worker|explore)\.ts$/;

/** A module imports only packages below its own, and by their names. */
export function importsGoDown(packages: readonly Package[], layers: readonly Layer[]): string[] {
  return everyImport(packages).flatMap(([{ layer }, module, { specifier }]) => {
    const where = `${layer.folder}/${module.path}`;
    if (specifier.startsWith('.')) {
      const target = posix.join(module.path, '..', specifier);
      return target.startsWith('src/') ? [] : [`${where} reaches out of its package: ${specifier}`];
    }
    const target = layers.findIndex(({ name }) => name === packageName(specifier));
    if (target === -1) return isOurs(specifier) ? [`${where} imports ${specifier}, which is no layer`] : [];
    if (target < layers.indexOf(layer)) return [];
    return [`${where} imports ${specifier}, which is not below ${layer.name}`];
  });
}

/** What is published imports only what its manifest lists as dependency or as peer. */
export function publishedImportsAreDependencies(packages: readonly Package[]): string[] {
  return everyImport(packages).flatMap(([{ layer, manifest }, module, { specifier }]) => {
    if (DEVELOPMENT.test(module.path) || specifier.startsWith('.') || isBuiltin(specifier)) return [];
    if (packageName(specifier) in { ...manifest.dependencies, ...manifest.peerDependencies }) return [];
    return [`${layer.folder}/${module.path} imports ${specifier}, which is not among its dependencies`];
  });
}

/** Importing a library takes a JavaScript engine: static imports lead from its entries to layers and nowhere else. */
export function librariesRunEverywhere(packages: readonly Package[]): string[] {
  const problems = packages
    .filter(({ layer }) => !layer.forNode)
    .flatMap((library) =>
      portableEntries(library).flatMap((entry) => foreignImports(library, entry, packages, new Set())),
    );
  return [...new Set(problems)];
}

/** A library installs nothing but other layers. */
export function librariesHaveNoForeignDependencies(packages: readonly Package[]): string[] {
  return packages
    .filter(({ layer }) => !layer.forNode)
    .flatMap(({ layer, manifest }) =>
      installedWith(manifest)
        .filter((name) => !packages.some((other) => other.layer.name === name))
        .map((name) => `${layer.folder}/package.json depends on ${name}`),
    );
}

/** Manifests name only packages below, and those for development only as such. */
export function dependenciesGoDown(packages: readonly Package[], layers: readonly Layer[]): string[] {
  return packages.flatMap(({ layer, manifest }) => {
    const where = `${layer.folder}/package.json`;
    const names = [...installedWith(manifest), ...Object.keys(manifest.devDependencies ?? {})];
    const upward = names
      .filter((name) => layers.findIndex((other) => other.name === name) >= layers.indexOf(layer))
      .map((name) => `${where} names ${name}, which is not below ${layer.name}`);
    const misplaced = installedWith(manifest)
      .filter((name) => layers.some((other) => other.name === name && other.forDevelopment))
      .map((name) => `${where} depends on ${name}, which is for development`);
    const misnamed = manifest.name === layer.name ? [] : [`${where} is called ${manifest.name}`];
    return [...misnamed, ...upward, ...misplaced];
  });
}

/** tsconfig.json refers to the dependencies; tsconfig.test.json to those and the development dependencies. */
export function referencesAreDependencies(packages: readonly Package[]): string[] {
  const folderOf = (name: string) => packages.find(({ layer }) => layer.name === name)?.layer.folder;
  return packages.flatMap(({ layer, manifest, references, testReferences }) => {
    const published = installedWith(manifest).flatMap((name) => folderOf(name) ?? []);
    const development = Object.keys(manifest.devDependencies ?? {}).flatMap((name) => folderOf(name) ?? []);
    return [
      ...difference(`${layer.folder}/tsconfig.json`, references, published),
      ...difference(`${layer.folder}/tsconfig.test.json`, testReferences, [...published, ...development]),
    ];
  });
}

/**
 * Each entry says where its source, its types and its code are, the condition for sources first: the code in one file with
 * the rest of the package for Node, of packages that have that, and else module by module.
 */
export function entriesHaveSources(packages: readonly Package[]): string[] {
  return packages.flatMap(({ layer, manifest }) =>
    Object.entries(manifest.exports ?? {}).flatMap(([subpath, target]) => {
      if (subpath.endsWith('.json')) return [];
      const stem =
        typeof target === 'object' && sourceOf(target)?.match(/^src\/(?<stem>.+)\.ts$/)?.groups?.['stem'];
      const joined = manifest.files?.includes('lib') ? [['node', `./lib/${stem}.js`]] : [];
      const expected = [
        ['heddle-source', `./src/${stem}.ts`],
        ['types', `./dist/${stem}.d.ts`],
        ...joined,
        ['default', `./dist/${stem}.js`],
      ];
      if (JSON.stringify(Object.entries(target)) === JSON.stringify(expected)) return [];
      return [
        `${layer.folder}/package.json: entry ${subpath} is not { heddle-source, types, node, default } of one module, or has "node" without lib`,
      ];
    }),
  );
}

function difference(where: string, actual: readonly string[], expected: readonly string[]): string[] {
  return [
    ...expected.filter((path) => !actual.includes(path)).map((path) => `${where} does not refer to ${path}`),
    ...actual.filter((path) => !expected.includes(path)).map((path) => `${where} refers to ${path}`),
  ];
}

function everyImport(packages: readonly Package[]): (readonly [Package, Module, Import])[] {
  return packages.flatMap((owner) =>
    owner.modules.flatMap((module) => module.imports.map((one) => [owner, module, one] as const)),
  );
}

/** Whatever comes along when the package is installed. */
function installedWith(manifest: Manifest): string[] {
  const { dependencies, peerDependencies = {}, peerDependenciesMeta, optionalDependencies } = manifest;
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

function isOurs(specifier: string): boolean {
  return packageName(specifier) === 'heddle' || specifier.startsWith('@heddle/');
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Sources of those entries that any engine can load. The others are named after what they need: Node, or a peer. */
function portableEntries({ manifest }: Package): string[] {
  const bound = ['node', ...Object.keys(manifest.peerDependencies ?? {})];
  return Object.entries(manifest.exports ?? {}).flatMap(([subpath, target]) => {
    if (typeof target === 'string' || bound.includes(subpath.split('/')[1] ?? '')) return [];
    return sourceOf(target) ?? [];
  });
}

function sourceOf(target: Readonly<Record<string, string>>): string | undefined {
  return target['heddle-source']?.replace('./', '');
}

/** Every module that the loading of `path` loads and that belongs to no layer, with the module that names it. */
function foreignImports(
  owner: Package,
  path: string,
  packages: readonly Package[],
  seen: Set<string>,
): string[] {
  const where = `${owner.layer.folder}/${path}`;
  if (seen.has(where)) return [];
  seen.add(where);
  const module = owner.modules.find((candidate) => candidate.path === path);
  if (module === undefined) return [`${where} is loaded by a portable entry but does not exist`];
  return module.imports
    .filter(({ typeOnly, dynamic }) => !typeOnly && !dynamic)
    .flatMap(({ specifier }) => {
      const target = locate(specifier, owner, path, packages);
      if (target) return foreignImports(target.owner, target.path, packages, seen);
      return [`${where} imports ${specifier}, and a portable entry loads it`];
    });
}

/** The module of the workspace that a specifier leads to. */
function locate(specifier: string, owner: Package, path: string, packages: readonly Package[]) {
  if (specifier.startsWith('.')) {
    return { owner, path: posix.join(path, '..', specifier).replace(/\.js$/, '.ts') };
  }
  const name = packageName(specifier);
  const target = packages.find(({ layer }) => layer.name === name);
  const entry = target?.manifest.exports?.[`.${specifier.slice(name.length)}`];
  if (target === undefined || typeof entry !== 'object') return undefined;
  const source = sourceOf(entry);
  return source === undefined ? undefined : { owner: target, path: source };
}
