/** Bytes between words that different threads write: two cache lines, since processors fetch them in pairs. */
export const LINE_BYTES = 128;

/** Bytes of a word: every word of a layout is one Int32. */
export const WORD_BYTES = 4;

const LINE_WORDS = LINE_BYTES / WORD_BYTES;

/** How one field of a layout is declared. */
export interface FieldDeclaration {
  /**
   * Who writes it, as a role: `'producer'`, `'owner'`, `'anyone'`. `'creator'` marks what is written once.
   * A field whose writer differs from that of the field before it starts a new line.
   */
  readonly writer: string;
  /** Number of words. */
  readonly length: number;
}

/** Declares `length` words (default 1) that threads in the role `writer` write. */
export function field(writer: string, length = 1): FieldDeclaration {
  if (writer === '') throw new TypeError('A field names who writes it, such as "producer"');
  if (!Number.isSafeInteger(length) || length < 1) {
    throw new RangeError(`The length of a field is a whole number of words from 1, not ${length}`);
  }
  return { writer, length };
}

/** A field at the place that it got. */
export interface PlacedField extends FieldDeclaration {
  readonly name: string;
  /** Index of its first word. */
  readonly offset: number;
}

/**
 * The words of a structure, by name.
 *
 * Algorithms take their offsets from `offsets` and contain no literal ones; the explorer, the reports and the
 * documents take names from it.
 */
export interface Layout<Name extends string = string> {
  /** What the structure is, as its directory entry and error messages say it: `'mutex'`. */
  readonly kind: string;
  /** Changes with every change of the layout or of the meaning of a word. 1 to 255. */
  readonly version: number;
  /** Word index of each field. */
  readonly offsets: Readonly<Record<Name, number>>;
  readonly fields: readonly PlacedField[];
  /** Words of the fixed part, a whole number of lines. What has a variable length follows. */
  readonly wordCount: number;
  readonly byteLength: number;
}

/**
 * Declares the words of a structure once, by name.
 *
 * Fields are placed in the order given. Where the writer changes, the next field starts a new line of
 * {@link LINE_BYTES}, so that no two roles share a cache line; the end is padded likewise, so that neighbours
 * in a segment do not share one either.
 *
 * ```ts
 * const ringLayout = defineLayout('spsc-ring', 1, {
 *   capacity: field('creator'),
 *   tail: field('producer'),
 *   head: field('consumer'),
 * });
 * const { tail, head } = ringLayout.offsets; // 32, 64
 * ```
 *
 * @throws TypeError where the kind is empty or there is no field; RangeError where the version is not 1 to 255.
 */
export function defineLayout<const Fields extends Readonly<Record<string, FieldDeclaration>>>(
  kind: string,
  version: number,
  declarations: Fields,
): Layout<keyof Fields & string> {
  if (kind === '') throw new TypeError('A layout names the kind of structure it describes');
  if (!Number.isInteger(version) || version < 1 || version > 255) {
    throw new RangeError(`The version of layout "${kind}" is a whole number from 1 to 255, not ${version}`);
  }
  const fields: PlacedField[] = [];
  const offsets: Record<string, number> = {};
  let end = 0;
  let lastWriter: string | undefined;
  for (const [name, declared] of Object.entries(declarations)) {
    const offset =
      lastWriter === undefined || lastWriter === declared.writer ? end : roundUp(end, LINE_WORDS);
    fields.push({ name, offset, ...declared });
    offsets[name] = offset;
    end = offset + declared.length;
    lastWriter = declared.writer;
  }
  if (fields.length === 0) throw new TypeError(`Layout "${kind}" declares no field`);
  const wordCount = roundUp(end, LINE_WORDS);
  return Object.freeze({
    kind,
    version,
    offsets: Object.freeze(offsets) as Layout<keyof Fields & string>['offsets'],
    fields: Object.freeze(fields),
    wordCount,
    byteLength: wordCount * WORD_BYTES,
  });
}

/** The smallest multiple of `step` that is not below `value`. Exact up to 2^53; no bit operator. */
export function roundUp(value: number, step: number): number {
  // No division: its results stay floats in the engine, and an index that is one costs each access a conversion.
  return value + ((step - (value % step)) % step);
}
