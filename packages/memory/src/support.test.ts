import { execFileSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { isSharedArrayBuffer, support } from './support.js';

describe('support', () => {
  test('says what Node offers', () => {
    expect(support()).toMatchObject({ supported: true, sharedArrayBuffer: true, atomics: true, wait: true });
    expect(support().waitAsync).toBe(typeof Atomics.waitAsync === 'function');
    expect(support().crossOriginIsolated).toBeUndefined();
    expect(support()).not.toHaveProperty('reason');
  });

  test('says why nothing works in a page that is not isolated', () => {
    const found = support({ Atomics, crossOriginIsolated: false });
    expect(found).toMatchObject({ supported: false, sharedArrayBuffer: false, wait: false });
    expect(found.reason).toMatch(/Cross-Origin-Opener-Policy/);
  });

  test('does not throw in an empty realm (PF-04)', () => {
    expect(support({})).toMatchObject({ supported: false, atomics: false, wait: false, waitAsync: false });
  });

  test('knows that a thread must not block (LC-03)', () => {
    const wait = () => {
      throw new TypeError('Atomics.wait cannot be called in this context');
    };
    expect(support({ SharedArrayBuffer, Atomics: { wait } })).toMatchObject({ supported: true, wait: false });
  });
});

describe('a realm without SharedArrayBuffer (PF-04)', () => {
  function inRealmWithout(globals: string[], script: string): unknown {
    const entry = JSON.stringify(new URL('./index.js', import.meta.url).href);
    const source = `
      for (const name of ${JSON.stringify(globals)}) delete globalThis[name];
      const { support, Segment, Waiter, HeddleError } = await import(${entry});
      const attempt = (f) => { try { f(); return 'nothing thrown'; } catch (error) { return error.code ?? error.name; } };
      console.log(JSON.stringify(${script}));`;
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', source], {
      encoding: 'utf8',
    });
    return JSON.parse(output);
  }

  test('can import the package and ask', () => {
    expect(inRealmWithout(['SharedArrayBuffer'], 'support()')).toMatchObject({
      supported: false,
      reason: 'This engine has no SharedArrayBuffer',
    });
    expect(inRealmWithout(['SharedArrayBuffer', 'Atomics'], 'support()')).toMatchObject({
      supported: false,
      atomics: false,
      pause: false,
    });
  });

  test('gets a clear error from constructors', () => {
    expect(inRealmWithout(['SharedArrayBuffer'], 'attempt(() => Segment.create())')).toBe(
      'ERR_HEDDLE_UNSUPPORTED',
    );
    expect(
      inRealmWithout(['SharedArrayBuffer'], "attempt(() => Segment.attach({ heddle: 'segment' }))"),
    ).toBe('ERR_HEDDLE_UNSUPPORTED');
  });
});

describe('a realm whose thread must not block (LC-03)', () => {
  test('gets an error from every blocking form, and can do everything else', () => {
    const entry = JSON.stringify(new URL('./index.js', import.meta.url).href);
    const script = `
      Atomics.wait = () => { throw new TypeError('Atomics.wait cannot be called in this context'); };
      const { support, Segment, Waiter } = await import(${entry});
      const attempt = (f) => { try { return f(); } catch (error) { return error.code ?? error.message; } };
      const segment = Segment.create({ byteLength: 2 ** 20 });
      const waiter = new Waiter(segment.words, 40);
      const info = segment.createStructure({ name: 'a', layout: { kind: 'box', version: 1 }, byteLength: 8 });
      const waited = waiter.waitAsync(0, { timeout: 5 });
      const blank = { heddle: 'segment', from: 0, buffer: new SharedArrayBuffer(2 ** 20) };
      console.log(JSON.stringify([
        support().wait,
        attempt(() => waiter.wait(0)),
        attempt(() => waiter.wait(1)),
        attempt(() => Segment.attach(blank)),
        segment.removeStructure(info),
        await waited,
      ]));
      segment.detach();`;
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    expect(JSON.parse(output)).toEqual([
      false,
      'ERR_HEDDLE_MUST_NOT_BLOCK',
      'ERR_HEDDLE_MUST_NOT_BLOCK',
      'ERR_HEDDLE_NOT_READY',
      true,
      false,
    ]);
  });
});

describe('isSharedArrayBuffer', () => {
  test('is true for those of another realm, for which instanceof is false (PF-04)', () => {
    const foreign: unknown = runInNewContext('new SharedArrayBuffer(8)');
    expect(foreign instanceof SharedArrayBuffer).toBe(false);
    expect(isSharedArrayBuffer(foreign)).toBe(true);
    expect(isSharedArrayBuffer(new SharedArrayBuffer(8))).toBe(true);
  });

  test.each([new ArrayBuffer(8), new Uint8Array(8), null, undefined, 8, {}])('is false for %s', (value) => {
    expect(isSharedArrayBuffer(value)).toBe(false);
  });
});
