import { elementTypes } from './element-types.js';

/** Stands before the specifier of a module that is to be loaded with simulated globals. */
export const SIMULATED_SCHEME = 'heddle-simulated:';

/** Key of the global under which loaded modules find the simulated globals. */
export const GLOBALS_KEY = '@heddle/explore simulated globals';

const names = ['Atomics', 'SharedArrayBuffer', ...elementTypes.map((type) => type.name)];

/** Declares the simulated globals as constants of a module, which then shadow the real ones in it. */
export const shadowingPrefix = `const {${names.join(',')}}=globalThis[Symbol.for(${JSON.stringify(GLOBALS_KEY)})];`;
