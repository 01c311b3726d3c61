import { PLACE_WORDS } from './mpool.layout.js';

/** A frame of this package's public face, which the caller of it comes after. */
const OWN_FRAME = /\b(Mpool|Lease|MpoolSet)\.\w/;

/** Where a call came from. */
export interface CallPlace {
  /** The frames of the caller, one a line. */
  readonly stack: string;
  /** File, line and column of the first one: `worker.js:12:5`. */
  readonly place: string;
}

/** Where the present call into the pool came from, as far as the engine tells. */
export function placeOfCall(): CallPlace {
  const lines = (new Error().stack ?? '').split('\n');
  let first = 1;
  for (const [i, line] of lines.entries()) if (OWN_FRAME.test(line)) first = i + 1;
  const frames = lines.slice(first);
  const place = /([^/\\\s(@]+:\d+:\d+)\)?$/.exec(frames[0] ?? '')?.[1] ?? '';
  return { stack: frames.join('\n'), place };
}

/** Writes a place where other threads find it: its last 48 characters. */
export function writePlace(words: Int32Array, index: number, place: string): void {
  const text = place.slice(-4 * PLACE_WORDS);
  for (let i = 0; i < PLACE_WORDS; i++) {
    let word = 0;
    for (let byte = 3; byte >= 0; byte--) {
      const code = 4 * i + byte < text.length ? text.charCodeAt(4 * i + byte) : 0;
      word = (word << 8) | (code < 128 ? code : '?'.charCodeAt(0));
    }
    words[index + i] = word;
  }
}

/** What {@link writePlace} wrote; mixed where it is written meanwhile. */
export function readPlace(words: Int32Array, index: number): string {
  let text = '';
  for (let i = 0; i < 4 * PLACE_WORDS; i++) {
    const code = (words[index + (i >>> 2)]! >>> (8 * (i & 3))) & 0x7f;
    if (code === 0) break;
    text += String.fromCharCode(code);
  }
  return text;
}
