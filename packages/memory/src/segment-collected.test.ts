import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

test('a segment that nobody refers to is collected, though nobody detached', () => {
  const script = `
    const { Segment } = await import(${JSON.stringify(new URL('./index.js', import.meta.url).href)});
    const { threadState } = await import(${JSON.stringify(new URL('./thread-state.js', import.meta.url).href)});
    const refs = Array.from({ length: 20 }, () => new WeakRef(Segment.create({ byteLength: 2 ** 20 })));
    const kept = Segment.create();
    const left = () => refs.filter((ref) => ref.deref()).length + threadState().memberships.size;
    for (let i = 0; i < 50 && left() > 1; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      globalThis.gc();
    }
    console.log(left(), kept.attached, Segment.attach(kept.handle) === kept);
  `;
  const output = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  expect(output).toBe('1 true true\n');
});
