import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { importsOf } from './architecture/imports.js';
import { LAYERS, type Layer } from './architecture/layers.js';
import * as rules from './architecture/rules.js';
import {
  type Manifest,
  type Package,
  packageFolders,
  readPackages,
  readReferences,
} from './architecture/workspace.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

describe('the workspace', () => {
  const packages = readPackages(root, LAYERS);

  test('has a layer for each package', () => {
    const folders = packages.map(({ layer }) => layer.folder);
    expect(folders.toSorted()).toEqual(packageFolders(root).toSorted());
  });

  test('lets imports go down only', () => {
    expect(rules.importsGoDown(packages, LAYERS)).toEqual([]);
  });

  test('publishes code that imports only its dependencies', () => {
    expect(rules.publishedImportsAreDependencies(packages)).toEqual([]);
  });

  test('has libraries that any engine can import', () => {
    expect(rules.librariesRunEverywhere(packages)).toEqual([]);
  });

  test('has libraries that install nothing but each other', () => {
    expect(rules.librariesHaveNoForeignDependencies(packages)).toEqual([]);
  });

  test('names only lower packages in its manifests', () => {
    expect(rules.dependenciesGoDown(packages, LAYERS)).toEqual([]);
  });

  test('has tsconfigs that agree with the manifests', () => {
    expect(rules.referencesAreDependencies(packages)).toEqual([]);
  });

  test('gives each entry a source, types and code', () => {
    expect(rules.entriesHaveSources(packages)).toEqual([]);
  });

  test('builds every project', () => {
    const projects = packages.flatMap(({ layer }) => [layer.folder, `${layer.folder}/tsconfig.test.json`]);
    expect(readReferences(root, 'tsconfig.json')).toEqual([...projects, 'bench', 'test']);
  });

  test('is described by the table of docs/architecture.md', () => {
    const rows = readFileSync(join(root, 'docs/architecture.md'), 'utf8').matchAll(
      /^\| `(?<folder>packages\/[^`]+)` \| `(?<name>[^`]+)` \| (?<state>[^|]+) \|/gm,
    );
    const exists = (folder: string) => packages.some(({ layer }) => layer.folder === folder);
    expect([...rows].map(({ groups }) => ({ ...groups }))).toEqual(
      LAYERS.map(({ folder, name }) => ({ folder, name, state: exists(folder) ? 'here' : 'coming' })),
    );
  });
});

describe('the rules', () => {
  const lower: Layer = { name: '@heddle/lower', folder: 'packages/lower' };
  const upper: Layer = { name: '@heddle/upper', folder: 'packages/upper' };
  const models: Layer = { name: '@heddle/models', folder: 'packages/models', forDevelopment: true };
  const layers = [models, lower, upper];

  function makePackage(
    layer: Layer,
    sources: Record<string, string>,
    manifest: Partial<Manifest> = {},
    references: Partial<Package> = {},
  ): Package {
    return {
      layer,
      manifest: {
        name: layer.name,
        exports: { '.': { 'heddle-source': './src/index.ts', default: './dist/index.js' } },
        ...manifest,
      },
      references: [],
      testReferences: [],
      modules: Object.entries(sources).map(([path, source]) => ({ path, imports: importsOf(path, source) })),
      ...references,
    };
  }

  const importing = (source: string, manifest?: Partial<Manifest>) => [
    makePackage(lower, { 'src/index.ts': source }, manifest),
    makePackage(upper, { 'src/index.ts': 'export {};' }),
  ];

  test.each([
    ['static', "import { x } from '@heddle/upper';"],
    ['for effect', "import '@heddle/upper';"],
    ['type', "import type { X } from '@heddle/upper';"],
    ['re-exporting', "export * from '@heddle/upper';"],
    ['re-exporting type', "export type { X } from '@heddle/upper/inner';"],
    ['dynamic', "export const x = () => import('@heddle/upper');"],
    ['inline type', "export type X = import('@heddle/upper').X;"],
    ['self', "import { x } from '@heddle/lower';"],
  ])('refuse a %s import of a package that is not below', (_, source) => {
    expect(rules.importsGoDown(importing(source), layers)).toEqual([
      expect.stringMatching(/^packages\/lower\/src\/index\.ts imports .* is not below @heddle\/lower$/),
    ]);
  });

  test('refuse a package of ours that is no layer', () => {
    expect(rules.importsGoDown(importing("import '@heddle/bench';"), layers)).toHaveLength(1);
  });

  test('refuse a path out of the package', () => {
    expect(rules.importsGoDown(importing("import '../../upper/src/index.js';"), layers)).toHaveLength(1);
    expect(rules.importsGoDown(importing("import './index.js';"), layers)).toEqual([]);
  });

  test('allow a package that is below, and what only looks like an import', () => {
    const packages = [
      makePackage(lower, {
        'src/index.ts': "// import '@heddle/upper';\nexport const s = `import '@heddle/upper'`;",
      }),
      makePackage(upper, { 'src/index.ts': "import '@heddle/lower'; import 'commander';" }),
    ];
    expect(rules.importsGoDown(packages, layers)).toEqual([]);
  });

  test('refuse published code that imports a development dependency, and allow it to a test', () => {
    const sources = { 'src/x.ts': "import '@heddle/models';", 'src/x.test.ts': "import '@heddle/models';" };
    const manifest = { devDependencies: { '@heddle/models': 'workspace:*' } };
    expect(rules.publishedImportsAreDependencies([makePackage(lower, sources, manifest)])).toEqual([
      'packages/lower/src/x.ts imports @heddle/models, which is not among its dependencies',
    ]);
  });

  test.each([
    ['directly', { 'src/index.ts': "import { Worker } from 'node:worker_threads';" }],
    ['without its prefix', { 'src/index.ts': "import { Worker } from 'worker_threads';" }],
    ['or an installed one', { 'src/index.ts': "import 'commander';" }],
    ['through a module', { 'src/index.ts': "export * from './a.js';", 'src/a.ts': "import 'node:fs';" }],
  ])('refuse a library entry that loads a built-in module %s', (_, sources) => {
    const below = makePackage(lower, sources);
    const above = makePackage(upper, { 'src/index.ts': "export * from '@heddle/lower';" });
    expect(rules.librariesRunEverywhere([below])).toHaveLength(1);
    expect(rules.librariesRunEverywhere([below, above])).toHaveLength(1);
  });

  test.each([
    ['a type', "import type { Worker } from 'node:worker_threads';"],
    ['a dynamic import', "export const load = () => import('node:worker_threads');"],
  ])('allow %s of a built-in module in a library entry', (_, source) => {
    expect(rules.librariesRunEverywhere(importing(source))).toEqual([]);
  });

  test('allow foreign modules in entries named after them, in packages meant for Node and in tests', () => {
    const node = "import 'node:fs';";
    const exports = {
      '.': { 'heddle-source': './src/index.ts' },
      './node': { 'heddle-source': './src/node.ts' },
      './vitest': { 'heddle-source': './src/vitest.ts' },
    };
    const sources = {
      'src/index.ts': 'export {};',
      'src/node.ts': node,
      'src/vitest.ts': "import 'vitest';",
      'src/index.test.ts': node,
    };
    const library = makePackage(lower, sources, { exports, peerDependencies: { vitest: '4' } });
    const commandLine = makePackage({ ...upper, forNode: true }, { 'src/index.ts': node });
    expect(rules.librariesRunEverywhere([library, commandLine])).toEqual([]);
    expect(rules.librariesRunEverywhere([makePackage(lower, sources, { exports })])).toEqual([
      'packages/lower/src/vitest.ts imports vitest, and a portable entry loads it',
    ]);
  });

  test('refuse a foreign dependency of a library, and allow it to a package meant for Node', () => {
    const manifest = { dependencies: { '@heddle/lower': 'workspace:*', commander: '1' } };
    const below = makePackage(lower, {});
    expect(rules.librariesHaveNoForeignDependencies([below, makePackage(upper, {}, manifest)])).toEqual([
      'packages/upper/package.json depends on commander',
    ]);
    const peers = { peerDependencies: { vitest: '4' } };
    const optional = { ...peers, peerDependenciesMeta: { vitest: { optional: true } } };
    expect(rules.librariesHaveNoForeignDependencies([makePackage(lower, {}, peers)])).toHaveLength(1);
    expect(rules.librariesHaveNoForeignDependencies([makePackage(lower, {}, optional)])).toEqual([]);
    const forNode = makePackage({ ...upper, forNode: true }, {}, manifest);
    expect(rules.librariesHaveNoForeignDependencies([below, forNode])).toEqual([]);
  });

  test.each([
    ['a higher package', { devDependencies: { '@heddle/upper': 'workspace:*' } }],
    ['a package for development', { dependencies: { '@heddle/models': 'workspace:*' } }],
    ['another name', { name: '@heddle/other' }],
  ])('refuse a manifest with %s', (_, manifest) => {
    expect(rules.dependenciesGoDown([makePackage(lower, {}, manifest)], layers)).toHaveLength(1);
  });

  test('refuse tsconfigs that refer to more or less than the manifest names', () => {
    const below = makePackage(lower, {});
    const manifest = { dependencies: { '@heddle/lower': 'workspace:*' } };
    const both = { references: ['packages/lower'], testReferences: ['packages/lower'] };
    expect(rules.referencesAreDependencies([below, makePackage(upper, {}, manifest, both)])).toEqual([]);
    expect(rules.referencesAreDependencies([below, makePackage(upper, {}, manifest)])).toHaveLength(2);
    expect(rules.referencesAreDependencies([below, makePackage(upper, {}, {}, both)])).toHaveLength(2);
  });

  const plain = { 'heddle-source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' };

  test('know the one file for Node of a package that has it', () => {
    const { default: modules, ...rest } = plain;
    const exports = { '.': { ...rest, node: './lib/index.js', default: modules } };
    const files = ['dist', 'lib', 'src'];
    expect(rules.entriesHaveSources([makePackage(lower, {}, { exports, files })])).toEqual([]);
    expect(
      rules.entriesHaveSources([makePackage(lower, {}, { exports: { '.': plain }, files })]),
    ).toHaveLength(1);
  });

  test.each([
    ['a plain path', './dist/index.js'],
    ['no source', { types: './dist/index.d.ts', default: './dist/index.js' }],
    [
      'another module',
      { 'heddle-source': './src/index.ts', types: './dist/x.d.ts', default: './dist/index.js' },
    ],
    ['one file for Node, of a package without', { ...plain, node: './lib/index.js' }],
    [
      'the source last',
      { types: './dist/index.d.ts', default: './dist/index.js', 'heddle-source': './src/index.ts' },
    ],
  ])('refuse an entry with %s', (_, target) => {
    const exports = { '.': target, './package.json': './package.json' };
    expect(rules.entriesHaveSources([makePackage(lower, {}, { exports })])).toHaveLength(1);
  });
});
