import { parseSync, Visitor } from 'oxc-parser';

/** One module that a source names. */
export interface Import {
  readonly specifier: string;
  /** Gone after compilation. */
  readonly typeOnly: boolean;
  /** `import(…)`: runs when it is reached, not when the module is loaded. */
  readonly dynamic: boolean;
}

/** Everything that a module imports or re-exports, also types and dynamic imports of literal names. */
export function importsOf(path: string, source: string): Import[] {
  const { module, program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`);
  const imports: Import[] = [];
  for (const { moduleRequest, entries } of module.staticImports) {
    const typeOnly = entries.length > 0 && entries.every((entry) => entry.isType);
    imports.push({ specifier: moduleRequest.value, typeOnly, dynamic: false });
  }
  for (const { entries } of module.staticExports) {
    const specifier = entries.find((entry) => entry.moduleRequest)?.moduleRequest?.value;
    if (specifier === undefined) continue;
    imports.push({ specifier, typeOnly: entries.every((entry) => entry.isType), dynamic: false });
  }
  const visitor = new Visitor({
    ImportExpression({ source: named }) {
      if (named.type !== 'Literal' || typeof named.value !== 'string') return;
      imports.push({ specifier: named.value, typeOnly: false, dynamic: true });
    },
    TSImportType({ source: named }) {
      imports.push({ specifier: named.value, typeOnly: true, dynamic: true });
    },
  });
  visitor.visit(program);
  return imports;
}
