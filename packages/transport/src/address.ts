import { assertWhole } from './transport-errors.js';

/** How others reach a worker: plain and cloneable. */
export interface WorkerAddress {
  readonly heddle: 'address';
  /** Id of the segment. */
  readonly segment: string;
  /** Which of the contexts of the segment: its place in the directory. */
  readonly context: number;
  readonly row: number;
  readonly generation: number;
}

/** Bytes of an address as bytes. */
export const ADDRESS_BYTES = 20;

const MAGIC = 0x48444c41;
const MAX_ROW = 0xffff;
const MAX_CONTEXT = 0xffff;
export const MAX_GENERATION = 2 ** 31 - 1;

/**
 * An address as {@link ADDRESS_BYTES} bytes, big-endian: magic "HDLA", context and row of 2 bytes each, generation, the 8
 * bytes of the segment's id.
 */
export function addressToBytes(address: WorkerAddress): Uint8Array<ArrayBuffer> {
  assertAddress(address);
  const view = new DataView(new ArrayBuffer(ADDRESS_BYTES));
  view.setUint32(0, MAGIC);
  view.setUint16(4, address.context);
  view.setUint16(6, address.row);
  view.setUint32(8, address.generation);
  view.setUint32(12, Number.parseInt(address.segment.slice(0, 8), 16));
  view.setUint32(16, Number.parseInt(address.segment.slice(8), 16));
  return new Uint8Array(view.buffer);
}

/** @throws TypeError where these bytes are no address. They may lie in shared memory. */
export function addressFromBytes(bytes: Uint8Array): WorkerAddress {
  const isBytes = Object.prototype.toString.call(bytes) === '[object Uint8Array]';
  if (isBytes && bytes.byteLength >= ADDRESS_BYTES) {
    // Read once: others may write to shared memory meanwhile.
    const view = new DataView(Uint8Array.from(bytes.subarray(0, ADDRESS_BYTES)).buffer);
    const hex = (at: number) => view.getUint32(at).toString(16).padStart(8, '0');
    const context = view.getUint16(4);
    const row = view.getUint16(6);
    const generation = view.getUint32(8);
    if (view.getUint32(0) === MAGIC && generation <= MAX_GENERATION) {
      return { heddle: 'address', segment: hex(12) + hex(16), context, row, generation };
    }
  }
  throw new TypeError(`The bytes of an address are the ${ADDRESS_BYTES} that addressToBytes gave`);
}

/** @throws TypeError or RangeError where it is no address. */
export function assertAddress(address: unknown): asserts address is WorkerAddress {
  const given = address as WorkerAddress;
  if (typeof given !== 'object' || given === null || given.heddle !== 'address') {
    throw new TypeError('Connect to what worker.address gave, or addressFromBytes');
  }
  assertWhole('The context of an address', given.context, 0, MAX_CONTEXT);
  assertWhole('The row of an address', given.row, 0, MAX_ROW);
  assertWhole('The generation of an address', given.generation, 0, MAX_GENERATION);
  if (!/^[0-9a-f]{16}$/.test(given.segment)) {
    throw new TypeError('The segment of an address is 16 hexadecimal digits');
  }
}
