// The engine's own `import()`. Test runners put one of their own in its place in modules that they transform, which
// knows nothing of loader hooks; a CommonJS module they leave alone.
module.exports = { nativeImport: (url: string): Promise<unknown> => import(url) };
