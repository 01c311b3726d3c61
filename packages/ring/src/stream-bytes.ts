/** Positions of a stream count quarters of a byte: the two low bits of a position word are flags. */
export const BYTE = 4;

/** Samples, or any other view: what a stream takes and gives. */
export type StreamView = ArrayBufferView<ArrayBufferLike> & { readonly BYTES_PER_ELEMENT?: number };

/** The bytes of a view. @throws TypeError where it is none. */
export function bytesOf(view: StreamView): Uint8Array {
  if (!ArrayBuffer.isView(view)) throw new TypeError('A stream takes a typed array or a DataView');
  if (view instanceof Uint8Array) return view;
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** Bytes of an element of a view: 1 of a DataView. */
export function elementBytesOf(view: StreamView): number {
  return view.BYTES_PER_ELEMENT ?? 1;
}
