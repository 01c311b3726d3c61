interface Listening {
  readonly acts: Set<() => void>;
  readonly listener: () => void;
}

/** By signal. One that nobody waits by is not in it. */
const listening = new WeakMap<AbortSignal, Listening>();

/**
 * Calls `act` when the signal aborts, once, in the order in which they asked.
 *
 * All of this thread share one listener on a signal: an engine takes more than ten for a leak and says so, and a program
 * that ends all of its waits by one signal has any number.
 *
 * @param act does not throw.
 * @returns a function that takes it back.
 */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  const joined = listening.get(signal) ?? listen(signal);
  joined.acts.add(act);
  return () => {
    if (!joined.acts.delete(act) || joined.acts.size > 0 || listening.get(signal) !== joined) return;
    listening.delete(signal);
    signal.removeEventListener('abort', joined.listener);
  };
}

function listen(signal: AbortSignal): Listening {
  const acts = new Set<() => void>();
  const listener = () => {
    listening.delete(signal);
    signal.removeEventListener('abort', listener);
    // One may take another back: that one is not called any more.
    for (const act of acts) if (acts.delete(act)) act();
  };
  const begun = { acts, listener };
  listening.set(signal, begun);
  signal.addEventListener('abort', listener);
  return begun;
}
