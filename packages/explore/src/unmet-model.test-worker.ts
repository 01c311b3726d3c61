import { defineModel } from './index.js';

/** For the tests of the command, which has to say that this is not as expected. */
export const models = defineModel({
  name: 'a model that is not as expected',
  words: 1,
  names: { flag: 0 },
  threads: [({ words, atomics }) => atomics.store(words, 0, 1)],
  check: ({ words }) => (words[0] === 0 ? undefined : 'the flag is set'),
});
