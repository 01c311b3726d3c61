import type { StructureInfo } from './directory.js';
import type { Layout } from './layout.js';
import type { Segment } from './segment.js';
import { threadState } from './thread-state.js';

/** What recovery tells a structure. */
export interface RecoveryContext {
  readonly segment: Segment;
  readonly info: StructureInfo;
  /** Id and token of the thread that is gone. Its stores are over. */
  readonly dead: { readonly id: number; readonly token: number };
}

/** A kind of structure: its layout, and what to do for it when a thread dies. */
export interface Kind {
  readonly layout: Pick<Layout, 'kind' | 'version'>;
  /**
   * The module that registers this kind when it is imported (`import.meta.url`), so that the janitor can load it. Not
   * looked at where this package is part of a bundle: the threads that are linked do what the janitor has no code for.
   */
  readonly module?: string | undefined;
  /**
   * Takes back what the dead thread held in one structure, and wakes everyone who sleeps on it: a thread that
   * was woken and died before it acted has eaten a wake.
   *
   * Runs on one thread at a time for a dead thread, at the same time as every survivor; may be cut short by the
   * death of the thread it runs on and is then run again from the start. So each of its steps can be repeated.
   * It neither blocks nor throws, but `ERR_HEDDLE_STALLED` where some thread has the structure and does not move for a
   * few milliseconds: that one may be dead as well, and only this thread's event loop able to notice. Then it is run
   * again later.
   */
  recover(context: RecoveryContext): void;
}

/** Registers a kind in this thread. Packages do this when they are imported; a second time replaces the first. */
export function registerKind(kind: Kind): void {
  const state = threadState();
  state.kinds.set(kind.layout.kind, kind);
  for (const listener of state.kindListeners) listener(kind);
}
