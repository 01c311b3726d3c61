/** A typed array over the memory, of any element type. */
export type AnyTypedArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/** A number of shared memory: a `bigint` for the two 64-bit integer types. */
export type ElementValue = number | bigint;

export type TypedArrayConstructor = {
  new (length: number): AnyTypedArray;
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): AnyTypedArray;
  readonly BYTES_PER_ELEMENT: number;
  readonly name: string;
  readonly prototype: AnyTypedArray;
};

/**
 * The element types of views, by number: an operation keeps the number, so that it stays a flat record.
 *
 * `atomic` tells which of them `Atomics` accepts, `waitable` on which of them it can sleep.
 */
export interface ElementType {
  readonly id: number;
  readonly name: string;
  readonly bytes: number;
  readonly atomic: boolean;
  readonly waitable: boolean;
  readonly big: boolean;
  readonly construct: TypedArrayConstructor;
}

function elementType(id: number, construct: unknown, atomic: boolean, waitable = false): ElementType {
  const array = construct as TypedArrayConstructor;
  const { name, BYTES_PER_ELEMENT: bytes } = array;
  return { id, name, bytes, atomic, waitable, big: name.startsWith('Big'), construct: array };
}

export const elementTypes: readonly ElementType[] = [
  elementType(0, Int32Array, true, true),
  elementType(1, Uint32Array, true),
  elementType(2, Int8Array, true),
  elementType(3, Uint8Array, true),
  elementType(4, Uint8ClampedArray, false),
  elementType(5, Int16Array, true),
  elementType(6, Uint16Array, true),
  elementType(7, Float32Array, false),
  elementType(8, Float64Array, false),
  elementType(9, BigInt64Array, true, true),
  elementType(10, BigUint64Array, true),
];

/** Number of {@link elementTypes} entry 0, which most operations are on. */
export const INT32 = 0;

/** The element type with this constructor, or undefined where there is none. */
export function elementTypeOf(construct: unknown): ElementType | undefined {
  return elementTypes.find((type) => type.construct === construct);
}

/** Whether elements of this type can be read as hints: integers that lie in one word. */
export function isHintType(id: number): boolean {
  const { bytes, construct } = elementTypes[id]!;
  return bytes <= 4 && (construct as unknown) !== Float32Array;
}
