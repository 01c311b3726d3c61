import type { DrivingWorkload, ThreadContext } from '../../core/workload.js';

/** `fill`, `slice` and what does the same by other means, on private and on shared views. */

interface ViewParameters {
  readonly byteLength: number;
}

type ByteView = Uint8Array<ArrayBufferLike>;

const byteLengthOf = (context: ThreadContext) => (context.parameters as unknown as ViewParameters).byteLength;
const privateView = (context: ThreadContext): ByteView => new Uint8Array(byteLengthOf(context)).fill(1);
const sharedView = (context: ThreadContext): ByteView =>
  new Uint8Array(new SharedArrayBuffer(byteLengthOf(context))).fill(1);

function filling(view: ByteView): DrivingWorkload {
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) view.fill(i);
      return view[0]!;
    },
  };
}

/** Sets from a block of zeros that is kept for the purpose. */
function settingZeros(view: ByteView): DrivingWorkload {
  const zeros = new Uint8Array(view.byteLength);
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) view.set(zeros);
      return view[0]!;
    },
  };
}

function slicing(view: ByteView): DrivingWorkload {
  return {
    batch(operations) {
      let sum = 0;
      for (let i = 0; i < operations; i++) sum += view.slice()[i % view.length]!;
      return sum;
    },
  };
}

/** A new private array and one copy into it: what `slice` returns, made in two steps. */
function copyingIntoNew(view: ByteView): DrivingWorkload {
  return {
    batch(operations) {
      let sum = 0;
      for (let i = 0; i < operations; i++) {
        const copy = new Uint8Array(view.length);
        copy.set(view);
        sum += copy[i % copy.length]!;
      }
      return sum;
    },
  };
}

/** A copy into an array that is kept: what a hot path does instead. */
function copyingIntoKept(view: ByteView): DrivingWorkload {
  const kept = new Uint8Array(view.length);
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) kept.set(view);
      return kept[0]!;
    },
  };
}

/** The second half over the first. */
function copyingWithin(view: ByteView): DrivingWorkload {
  const half = view.length >> 1;
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) view.copyWithin(0, half);
      return view[0]!;
    },
  };
}

export const fillPrivate = (context: ThreadContext) => filling(privateView(context));
export const fillShared = (context: ThreadContext) => filling(sharedView(context));
export const zerosShared = (context: ThreadContext) => settingZeros(sharedView(context));
export const slicePrivate = (context: ThreadContext) => slicing(privateView(context));
export const sliceShared = (context: ThreadContext) => slicing(sharedView(context));
export const copyIntoNewShared = (context: ThreadContext) => copyingIntoNew(sharedView(context));
export const copyIntoKeptShared = (context: ThreadContext) => copyingIntoKept(sharedView(context));
export const copyWithinPrivate = (context: ThreadContext) => copyingWithin(privateView(context));
export const copyWithinShared = (context: ThreadContext) => copyingWithin(sharedView(context));
