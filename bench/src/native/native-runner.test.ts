import { afterEach, describe, expect, it } from 'vitest';
import { CannotRunHere } from '../core/suite.js';
import { NativeRunner } from './native-runner.js';
import { compile } from './program.js';

let runner: NativeRunner | undefined;
afterEach(() => runner?.close());

/** A program of the same manners as `rounds.c`. */
const program = (line: string) => {
  runner = new NativeRunner(process.execPath, ['-e', `process.stdin.on('data', (ms) => { ${line} })`]);
  return runner;
};

const thread = { operations: 1000, elapsedNs: 1e6, cpuNs: 5e5, batches: 20, medianNs: 900, slowestNs: 1500 };

describe('NativeRunner', () => {
  it('takes the median batch where one thread drives alone', async () => {
    const result = await program(`console.log('${JSON.stringify([{ ...thread, driving: true }])}')`).round(1);
    expect(result).toMatchObject({ nsPerOperation: 900, slowestNs: 1500, batchNs: 50_000, work: [1000] });
    expect(result).toMatchObject({ driving: [true], cpuMs: [0.5], wallMs: 1 });
  });

  it('adds up the rates of those who drive together, and leaves out those who serve', async () => {
    const threads = [true, true, false].map((driving) => ({ ...thread, driving }));
    const result = await program(`console.log('${JSON.stringify(threads)}')`).round(1);
    expect(result).toMatchObject({ nsPerOperation: 500, work: [1000, 1000, 1000] });
  });

  it('says what a program said that ended in a round', async () => {
    const ending = program(`console.error('out of elements'); process.exit(1)`);
    await expect(ending.round(1)).rejects.toThrow(/ended in a round: out of elements/);
  });
});

describe('compile', () => {
  it('says what has to be installed where something is missing', async () => {
    const missing = compile({
      sources: ['rounds.c'],
      defines: {},
      libraries: ['-lheddle-has-no-such-library'],
      needs: 'a library that there is not',
    });
    await expect(missing).rejects.toThrow(CannotRunHere);
    await expect(missing).rejects.toThrow(/a library that there is not|no C compiler/);
  });
});
