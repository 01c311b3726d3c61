import { type AtomicsLike, idOf } from '@heddle/memory';
import { Gate } from './gate.js';
import {
  CELL,
  CELL_STATE,
  CELL_VALUE,
  cellAt,
  cellId,
  cellLap,
  cellState,
  lapMask,
  mpmcQueueLayout,
  packCell,
  QUEUE_CLOSED,
  SEQUENCE_SHIFT,
  SEQUENCE_STEP,
} from './mpmc-queue.layout.js';
import { closedError } from './ring-errors.js';

const { capacity, tail, head, items, room } = mpmcQueueLayout.offsets;

/**
 * The algorithm of {@link MpmcQueue}, over its words.
 *
 * A number goes in by CAS of the next cell from free to writing, which names the thread; then anyone moves the tail
 * on, and the value and the word full follow. It comes out by one CAS of the cell from full to free of the next
 * lap; then anyone moves the head on. `head` and `tail` only say where to look: what counts are the cells, so a
 * thread that stops before it moves them holds nobody up.
 *
 * **Ordering**: Q1: the value, before the store of full ↔ the load of full before the load of the value. A taker
 * reads the value first and takes it afterwards; where the CAS succeeds the cell was full of this lap all the time.
 *
 * **Close**: `closed` in the tail keeps putters from beginning. One that began before may still take its cell, so a
 * taker that finds the queue closed and its cell free seals the cell: from then on nothing can come.
 *
 * **Death** of a putter in a cell: recovery makes it skipped. Everywhere else the queue is whole.
 *
 * After 2^19 laps (fewer above 4096 numbers: 2^31 numbers) a cell looks as before: a thread that sleeps in the
 * middle of an operation for exactly as many could put its number out of order.
 */
export class MpmcCells {
  readonly items: Gate;
  readonly room: Gate;
  readonly #words: Int32Array;
  readonly #atomics: AtomicsLike;
  readonly #id: number;
  readonly #capacity: number;
  readonly #lapMask: number;
  readonly #lapShift: number;

  /** @param token of the calling thread. */
  constructor(words: Int32Array, token: number, atomics: AtomicsLike) {
    this.#words = words;
    this.#atomics = atomics;
    this.#id = idOf(token);
    this.#capacity = words[capacity]!;
    this.#lapMask = lapMask(this.#capacity);
    this.#lapShift = Math.log2(this.#capacity);
    this.items = new Gate(words, items, atomics);
    this.room = new Gate(words, room, atomics);
  }

  /** @returns whether there was room. @throws HeddleError `ERR_HEDDLE_CLOSED`. */
  put(value: number): boolean {
    const words = this.#words;
    // Each round but the last is one in which another thread moved on.
    for (;;) {
      const word = this.#atomics.load(words, tail);
      if (word & QUEUE_CLOSED) throw closedError('The queue');
      const sequence = word >>> SEQUENCE_SHIFT;
      const at = cellAt(sequence & (this.#capacity - 1));
      const lap = this.#lapOf(sequence);
      const free = packCell(CELL.free, lap);
      const seen = this.#atomics.compareExchange(
        words,
        at + CELL_STATE,
        free,
        packCell(CELL.writing, lap, this.#id),
      );
      if (seen === free) {
        this.#atomics.compareExchange(words, tail, word, (word + SEQUENCE_STEP) | 0);
        this.#atomics.store(words, at + CELL_VALUE, value);
        this.#atomics.store(words, at + CELL_STATE, packCell(CELL.full, lap));
        this.items.wake();
        return true;
      }
      const ahead = (cellLap(seen) - lap) & this.#lapMask;
      if (ahead <= this.#lapMask >>> 1) {
        // The cell has served this lap, or does: the tail was not moved on yet.
        if (ahead === 0 && cellState(seen) === CELL.sealed) throw closedError('The queue');
        this.#atomics.compareExchange(words, tail, word, (word + SEQUENCE_STEP) | 0);
      } else if (this.#atomics.load(words, tail) === word) {
        // The cell still has its number of the lap before.
        return false;
      }
    }
  }

  /**
   * @returns the next number; undefined where there is none, or where the next is being put in.
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the queue is closed and nothing comes any more.
   */
  take(): number | undefined {
    const words = this.#words;
    // Each round but the last is one in which a thread moved on.
    for (;;) {
      const word = this.#atomics.load(words, head);
      const sequence = word >>> SEQUENCE_SHIFT;
      const at = cellAt(sequence & (this.#capacity - 1));
      const cell = this.#atomics.load(words, at + CELL_STATE);
      if (cellLap(cell) !== this.#lapOf(sequence)) {
        // It was taken already, and the head not moved on yet; or the head has moved on.
        this.#atomics.compareExchange(words, head, word, (word + SEQUENCE_STEP) | 0);
        continue;
      }
      const state = cellState(cell);
      if (state === CELL.full || state === CELL.skipped) {
        const value = this.#atomics.load(words, at + CELL_VALUE);
        if (!this.#empty(at, cell, sequence, word)) continue;
        if (state === CELL.full) return value;
        continue;
      }
      if (state === CELL.sealed) throw closedError('The queue');
      if (state === CELL.free && this.#atomics.load(words, tail) & QUEUE_CLOSED) {
        this.#atomics.compareExchange(
          words,
          at + CELL_STATE,
          cell,
          packCell(CELL.sealed, this.#lapOf(sequence)),
        );
        continue;
      }
      if (this.#atomics.load(words, head) === word) return undefined;
    }
  }

  /** Closes the queue: 1 Atomics call, and the wakes. Can be repeated. */
  close(): void {
    this.#atomics.or(this.#words, tail, QUEUE_CLOSED);
    this.items.wakeAll();
    this.room.wakeAll();
  }

  get closed(): boolean {
    return (this.#atomics.load(this.#words, tail) & QUEUE_CLOSED) !== 0;
  }

  /** How many numbers there are, about: others put and take meanwhile. 2 loads. */
  get size(): number {
    const taken = this.#atomics.load(this.#words, head) >>> SEQUENCE_SHIFT;
    const put = this.#atomics.load(this.#words, tail) >>> SEQUENCE_SHIFT;
    // Modulo 2^31, as sequence numbers count.
    return Math.min(this.#capacity, Math.max(0, ((put - taken) << SEQUENCE_SHIFT) >> SEQUENCE_SHIFT));
  }

  /**
   * After the death of a thread: what it was putting in is skipped, and everyone is woken. Can be repeated. A load
   * for each cell.
   */
  recover(deadToken: number): void {
    const words = this.#words;
    for (let index = 0; index < this.#capacity; index++) {
      const at = cellAt(index) + CELL_STATE;
      const cell = this.#atomics.load(words, at);
      if (cellState(cell) !== CELL.writing || cellId(cell) !== idOf(deadToken)) continue;
      this.#atomics.compareExchange(words, at, cell, packCell(CELL.skipped, cellLap(cell)));
    }
    this.items.wakeAll();
    this.room.wakeAll();
  }

  /** Takes the number out of a cell: the one commit of taking. */
  #empty(at: number, cell: number, sequence: number, headWord: number): boolean {
    const after = packCell(CELL.free, this.#lapOf((sequence + this.#capacity) >>> 0));
    if (this.#atomics.compareExchange(this.#words, at + CELL_STATE, cell, after) !== cell) return false;
    this.#atomics.compareExchange(this.#words, head, headWord, (headWord + SEQUENCE_STEP) | 0);
    this.room.wake();
    return true;
  }

  #lapOf(sequence: number): number {
    return (sequence >>> this.#lapShift) & this.#lapMask;
  }
}
