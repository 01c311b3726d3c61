import { createHash, randomFillSync, webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createGzip, gunzipSync, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

// What docs/memory.md says of functions that are given elements, records and messages in place.
const text = 'shared';
let view: Uint8Array<SharedArrayBuffer>;

beforeEach(() => {
  view = new Uint8Array(new SharedArrayBuffer(text.length));
  view.set(Buffer.from(text));
});

describe('a view on shared memory is taken in place by', () => {
  test('files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'heddle-views-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, 'file');
    const file = openSync(path, 'w+');
    expect(writeSync(file, view)).toBe(text.length);
    view.fill(0);
    expect(readSync(file, view, { position: 0 })).toBe(text.length);
    closeSync(file);
    expect(await readFile(path, 'utf8')).toBe(text);
    expect(Buffer.from(view.buffer).toString()).toBe(text);
  });

  test('sockets', async () => {
    const server = createServer((socket) => socket.end(view)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    expect((await buffer(connect(port, '127.0.0.1'))).toString()).toBe(text);
    server.close();
  });

  test('hashes, random bytes and compression', async () => {
    expect(createHash('sha256').update(view).digest('hex')).toBe(
      createHash('sha256').update(text).digest('hex'),
    );
    expect(gunzipSync(gzipSync(view)).toString()).toBe(text);
    const gzip = createGzip();
    gzip.end(view);
    expect(gunzipSync(await buffer(gzip)).toString()).toBe(text);
    expect(randomFillSync(view)).toBe(view);
  });

  test('text, both ways', () => {
    expect(new TextDecoder().decode(view)).toBe(text);
    expect(new TextEncoder().encodeInto('SHARED', view).written).toBe(6);
    expect(Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString()).toBe('SHARED');
  });
});

test('Web Crypto refuses one, and takes what slice() copied', async () => {
  await expect(webcrypto.subtle.digest('SHA-1', view as never)).rejects.toThrow(TypeError);
  await webcrypto.subtle.digest('SHA-1', view.slice() as never);
});
