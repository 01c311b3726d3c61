/** As much of a layout descriptor as reports need. */
export interface LayoutLike {
  readonly kind: string;
  readonly wordCount: number;
  readonly fields: readonly { readonly name: string; readonly offset: number; readonly length: number }[];
}

/** A layout and the word at which it begins. */
export interface PlacedLayout {
  readonly layout: LayoutLike;
  /** Index of its first word. */
  readonly at: number;
  /** Put before the names of its fields, where several layouts lie in one memory. */
  readonly label?: string;
}

/** Names of words: index, or first index and count. */
export type NamedWords = Readonly<Record<string, number | readonly [index: number, length: number]>>;

/**
 * Names words for reports, and finds them by name: `lock`, `slots[2]`, and `words[7]` where nothing is declared.
 */
export class WordNames {
  readonly #names: string[] = [];
  readonly #indexes = new Map<string, number>();

  constructor(layouts: readonly PlacedLayout[], named: NamedWords) {
    for (const { layout, at, label } of layouts) {
      const prefix = label === undefined ? '' : `${label}.`;
      for (const field of layout.fields) this.#add(prefix + field.name, at + field.offset, field.length);
    }
    for (const [name, place] of Object.entries(named)) {
      if (typeof place === 'number') this.#add(name, place, 1);
      else this.#add(name, place[0], place[1]);
    }
  }

  #add(name: string, index: number, length: number): void {
    this.#indexes.set(name, index);
    for (let offset = 0; offset < length; offset++) {
      const full = length === 1 ? name : `${name}[${offset}]`;
      this.#names[index + offset] = full;
      this.#indexes.set(full, index + offset);
    }
  }

  /** The name of a word. */
  nameOf(index: number): string {
    return this.#names[index] ?? `words[${index}]`;
  }

  /** The name of an address: that of its word, with the byte where it is not the first. */
  nameOfAddress(address: number): string {
    const byte = address % 4;
    return this.nameOf((address - byte) / 4) + (byte === 0 ? '' : `+${byte}`);
  }

  /** The index of a word by name, undefined where there is none. */
  indexOf(name: string): number | undefined {
    return this.#indexes.get(name);
  }
}

/** The layouts of a model as a list of placed ones. */
export function placedLayouts(
  layout: LayoutLike | PlacedLayout | readonly PlacedLayout[] | undefined,
): readonly PlacedLayout[] {
  if (layout === undefined) return [];
  if ('layout' in layout) return [layout];
  if ('fields' in layout) return [{ layout, at: 0 }];
  return layout;
}
