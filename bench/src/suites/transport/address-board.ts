import { ADDRESS_BYTES, addressFromBytes, addressToBytes, type WorkerAddress } from '@heddle/transport';
import { boardPlaceLayout } from './address-board.layout.js';

const { posted, address } = boardPlaceLayout.offsets;
const PLACE_BYTES = boardPlaceLayout.byteLength;

/** A thread that has not posted its address after so long has died. */
const LIMIT_MS = 20_000;

/** Where threads that start at the same time find each other's workers. */
export class AddressBoard {
  readonly #buffer: SharedArrayBuffer;

  static create(threads: number): SharedArrayBuffer {
    return new SharedArrayBuffer(threads * PLACE_BYTES);
  }

  constructor(buffer: SharedArrayBuffer) {
    this.#buffer = buffer;
  }

  post(index: number, of: WorkerAddress): void {
    const { words, bytes } = this.#place(index);
    bytes.set(addressToBytes(of));
    Atomics.store(words, posted, 1);
    Atomics.notify(words, posted);
  }

  /** Blocks until the thread has posted. */
  read(index: number): WorkerAddress {
    const { words, bytes } = this.#place(index);
    while (Atomics.load(words, posted) === 0) {
      if (Atomics.wait(words, posted, 0, LIMIT_MS) === 'timed-out')
        throw new Error('A thread posts no address');
    }
    return addressFromBytes(bytes);
  }

  #place(index: number) {
    const words = new Int32Array(this.#buffer, index * PLACE_BYTES, boardPlaceLayout.wordCount);
    const bytes = new Uint8Array(words.buffer, words.byteOffset + address * 4, ADDRESS_BYTES);
    return { words, bytes };
  }
}
