import { describe, expect, it } from 'vitest';
import { type Comparison, defineSuite, threadCount } from './suite.js';

const module = new URL('./none.worker.js', import.meta.url);
const a = { name: 'a', threads: [{ workload: 'a' }] };
const sound: Comparison = {
  name: 'one',
  title: 'one thing',
  metric: 'time',
  operation: 'call',
  baseline: 'a',
  module,
  variants: [a],
};

const check = (...comparisons: Comparison[]) =>
  defineSuite({ name: 'test', summary: '', limits: '', comparisons: () => comparisons }).comparisons({
    cores: 2,
  });

describe('defineSuite', () => {
  it('passes on what is sound', () => {
    expect(check(sound)).toEqual([sound]);
  });

  it.each<[string, Comparison, RegExp]>([
    ['a baseline that is no variant', { ...sound, baseline: 'b' }, /baseline "b".*"one"/],
    ['a twin that is no variant', { ...sound, variants: [{ ...a, against: 'c' }] }, /twin "c".*variant "a"/],
    [
      'a twin of a target that is no variant',
      { ...sound, variants: [{ ...a, targets: [{ atMost: 1, against: 'c' }] }] },
      /twin "c".*variant "a"/,
    ],
    ['two variants of one name', { ...sound, variants: [a, a] }, /"a" is used twice/],
    ['a variant without threads', { ...sound, variants: [{ ...a, threads: [] }] }, /no thread/],
    ['a variant without a worker file', { ...sound, module: undefined as never }, /no worker file/],
    ['a bandwidth without bytes', { ...sound, metric: 'bandwidth' }, /bytesPerOperation/],
  ])('refuses %s, and says where', (_, comparison, message) => {
    expect(() => check(comparison)).toThrow(message);
  });

  it('refuses two comparisons of one name', () => {
    expect(() => check(sound, sound)).toThrow(/"one" is used twice in suite "test"/);
  });
});

describe('threadCount', () => {
  it('adds up the threads of all workloads', () => {
    expect(threadCount({ ...a, threads: [{ workload: 'a', count: 3 }, { workload: 'b' }] })).toBe(4);
  });
});
