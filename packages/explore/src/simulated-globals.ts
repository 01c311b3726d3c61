import { elementTypes, type TypedArrayConstructor } from './element-types.js';
import type { Answer, Operation } from './operation.js';
import type { Performer } from './performer.js';
import { simulatedAtomics } from './simulated-atomics.js';
import { SimulatedBuffer } from './simulated-buffer.js';
import { simulatedView } from './simulated-view.js';

/** The memory out of which simulated `SharedArrayBuffer`s are cut while a model prepares what its threads share. */
interface Arena {
  readonly performer: Performer;
  readonly byteLength: number;
  used: number;
}

let arena: Arena | undefined;

/** The performer of the model that is being prepared or explored; globals of loaded modules go there. */
let active: Performer | undefined;

/** Makes `performer` the one that simulated globals act on. */
export function activateGlobals(performer: Performer): void {
  active = performer;
}

/** Runs `make` so that each `new SharedArrayBuffer` in it, of the simulated kind, takes the next part of the memory. */
export function underSimulatedGlobals(
  performer: Performer,
  byteLength: number,
  make: () => unknown,
): unknown {
  active = performer;
  arena = { performer, byteLength, used: 0 };
  try {
    return make();
  } finally {
    arena = undefined;
  }
}

/** Hands every operation on to the performer of the model that runs. */
const dispatcher: Performer = {
  perform: (operation: Operation): Answer => {
    if (active === undefined) throw new TypeError('Simulated globals are used outside a model');
    return active.perform(operation);
  },
  refuse: (kind, reason) => {
    if (active === undefined) throw new TypeError(`Simulated globals are used outside a model: ${reason}`);
    return active.refuse(kind, reason);
  },
  checkpoint: (state) => active?.checkpoint(state),
  canBlock: () => active?.canBlock() ?? true,
};

class SimulatedSharedArrayBuffer extends SimulatedBuffer {
  constructor(byteLength: number) {
    if (arena === undefined) {
      dispatcher.refuse('unsupported', 'makes a SharedArrayBuffer outside the "shared" of its model');
    }
    const start = arena.used;
    // Each begins at a multiple of 8, so that views of every element type fit.
    const end = start + Math.ceil(byteLength / 8) * 8;
    if (end > arena.byteLength) {
      throw new RangeError(`The model has ${arena.byteLength} bytes, its SharedArrayBuffers need ${end}`);
    }
    arena.used = end;
    super(arena.performer, start, byteLength);
  }
}

/** A typed array constructor that makes simulated views of simulated buffers, and private arrays of all else. */
function simulatedConstructor(real: TypedArrayConstructor): TypedArrayConstructor {
  const type = elementTypes.find((candidate) => candidate.construct === real)!;
  return new Proxy(real, {
    construct(target, args: unknown[], newTarget) {
      const [buffer, byteOffset, length] = args;
      if (!(buffer instanceof SimulatedBuffer)) return Reflect.construct(target, args, newTarget);
      return simulatedView(buffer, type, byteOffset as number | undefined, length as number | undefined);
    },
  });
}

/** The globals under which code that was not written for the seam can be explored. */
export interface SimulatedGlobals {
  readonly Atomics: Atomics;
  readonly SharedArrayBuffer: SharedArrayBufferConstructor;
  readonly Int8Array: Int8ArrayConstructor;
  readonly Uint8Array: Uint8ArrayConstructor;
  readonly Uint8ClampedArray: Uint8ClampedArrayConstructor;
  readonly Int16Array: Int16ArrayConstructor;
  readonly Uint16Array: Uint16ArrayConstructor;
  readonly Int32Array: Int32ArrayConstructor;
  readonly Uint32Array: Uint32ArrayConstructor;
  readonly Float32Array: Float32ArrayConstructor;
  readonly Float64Array: Float64ArrayConstructor;
  readonly BigInt64Array: BigInt64ArrayConstructor;
  readonly BigUint64Array: BigUint64ArrayConstructor;
}

/** `Atomics`, `SharedArrayBuffer` and the typed arrays, simulated. One set for all models. */
export const simulatedGlobals: SimulatedGlobals = Object.freeze({
  Atomics: simulatedAtomics(dispatcher),
  SharedArrayBuffer: SimulatedSharedArrayBuffer,
  ...Object.fromEntries(elementTypes.map((type) => [type.name, simulatedConstructor(type.construct)])),
}) as unknown as SimulatedGlobals;
