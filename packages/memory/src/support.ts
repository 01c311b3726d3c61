/** What this engine and this thread offer. */
export interface Support {
  /** Whether Heddle can work here at all: SharedArrayBuffer and Atomics are there. */
  readonly supported: boolean;
  /** Why not, in a sentence. */
  readonly reason?: string;
  readonly sharedArrayBuffer: boolean;
  /** Whether the page is cross-origin isolated; undefined outside of browsers. */
  readonly crossOriginIsolated: boolean | undefined;
  readonly atomics: boolean;
  /** Whether this thread may block in `Atomics.wait`. */
  readonly wait: boolean;
  readonly waitAsync: boolean;
  /** Whether spinning can be hinted to the processor. Heddle works without. */
  readonly pause: boolean;
}

interface Realm {
  SharedArrayBuffer?: new (byteLength: number) => SharedArrayBuffer;
  Atomics?: Partial<Record<'wait' | 'waitAsync' | 'pause', unknown>> & {
    wait?: (words: Int32Array, index: number, expected: number, timeoutMs: number) => unknown;
  };
  crossOriginIsolated?: boolean;
}

/**
 * Says what this engine offers. Never throws, also where a constructor is missing.
 *
 * @param realm where to look; for tests.
 */
export function support(realm: Realm = globalThis as Realm): Support {
  const { SharedArrayBuffer: Shared, Atomics: atomics, crossOriginIsolated } = realm;
  const sharedArrayBuffer = typeof Shared === 'function';
  const hasAtomics = typeof atomics?.wait === 'function';
  const reason = !sharedArrayBuffer
    ? crossOriginIsolated === false
      ? 'This page has no SharedArrayBuffer because it is not cross-origin isolated: serve it with the headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp'
      : 'This engine has no SharedArrayBuffer'
    : hasAtomics
      ? undefined
      : 'This engine has no Atomics';
  return {
    supported: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    sharedArrayBuffer,
    crossOriginIsolated,
    atomics: hasAtomics,
    wait: sharedArrayBuffer && hasAtomics && canWait(Shared!, atomics!.wait!),
    waitAsync: typeof atomics?.waitAsync === 'function',
    pause: typeof atomics?.pause === 'function',
  };
}

function canWait(
  Shared: NonNullable<Realm['SharedArrayBuffer']>,
  wait: NonNullable<NonNullable<Realm['Atomics']>['wait']>,
): boolean {
  try {
    wait(new Int32Array(new Shared(4)), 0, 1, 0);
    return true;
  } catch {
    return false;
  }
}

/** Whether a value is a SharedArrayBuffer, of this realm or another: `instanceof` is false for the others. */
export function isSharedArrayBuffer(value: unknown): value is SharedArrayBuffer {
  return Object.prototype.toString.call(value) === '[object SharedArrayBuffer]';
}
