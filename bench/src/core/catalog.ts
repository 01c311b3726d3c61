import { readdirSync } from 'node:fs';
import type { Suite } from './suite.js';

/** The suites there are. */
export interface Catalog {
  /** Sorted. */
  names(): string[];
  load(name: string): Promise<Suite>;
}

const FOLDER = new URL('../suites/', import.meta.url);
const ENDING = '.suite.js';

/** A suite is the default export of the file `suites/<name>.suite.ts`; nothing else lists it. */
export const suitesFolder: Catalog = {
  names: () =>
    readdirSync(FOLDER)
      .filter((file) => file.endsWith(ENDING))
      .map((file) => file.slice(0, -ENDING.length))
      .sort(),

  async load(name) {
    const { default: suite } = (await import(new URL(name + ENDING, FOLDER).href)) as { default?: Suite };
    if (suite?.name !== name) {
      throw new TypeError(
        `The file ${name}${ENDING} has to export defineSuite({ name: '${name}', … }) as default`,
      );
    }
    return suite;
  },
};
