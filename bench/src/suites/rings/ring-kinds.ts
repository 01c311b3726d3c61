import {
  MpmcQueue,
  type MpmcQueueHandle,
  MpscRing,
  type MpscRingHandle,
  type RecordConsumer,
  type RecordProducer,
  type RingRecord,
  Segment,
  SpscRing,
  type SpscRingHandle,
  SpscStream,
  type SpscStreamHandle,
} from '@heddle/ring';
import { RingBuffer } from 'ringbuf.js';
import { bareLane } from '../messages/bare-lane.js';
import { type Link, type LinkKind, type LinkParameters, RING_BYTES } from '../messages/link.js';
import { streamLink } from './stream-link.js';

/** One structure in each direction: thread 0 writes the first and reads the second. */
type Both<T> = readonly [there: T, back: T];

const ordered = <T>([there, back]: Both<T>, index: number): Both<T> =>
  index === 0 ? [there, back] : [back, there];

/** Two structures in a segment of their own. */
function inSegment<Handle>(create: (segment: Segment, name: string) => { readonly handle: Handle }) {
  return () => {
    const segment = Segment.create();
    const shared: Both<Handle> = [create(segment, 'there').handle, create(segment, 'back').handle];
    return { shared, release: () => segment.detach() };
  };
}

/** Over the sides of rings of records: `write` writes the message once, unless there is no room. */
function recordLink(
  producer: RecordProducer & { cork?(): void; uncork?(): void },
  consumer: RecordConsumer,
  write: () => boolean,
): Link {
  let sum = 0;
  const take = (record: RingRecord) => {
    sum = (sum + record.word(0)) | 0;
  };
  return {
    send(count) {
      if (count > 1) producer.cork?.();
      for (let i = 0; i < count; i++) {
        while (!write()) {
          // The partner reads until the round is over.
        }
      }
      if (count > 1) producer.uncork?.();
    },
    poll: () => consumer.drain(take),
    get sum() {
      return sum;
    },
  };
}

function spscSides(handles: Both<SpscRingHandle>, index: number) {
  const [there, back] = ordered(handles, index);
  return { producer: SpscRing.from(there).producer(), consumer: SpscRing.from(back).consumer() };
}

const createSpsc = inSegment((segment, name) =>
  SpscRing.create(segment, { name, capacityBytes: RING_BYTES }),
);

const spscRing: LinkKind<Both<SpscRingHandle>> = {
  create: createSpsc,
  open(handles, index, message) {
    const { producer, consumer } = spscSides(handles, index);
    return recordLink(producer, consumer, () => producer.tryWrite(message));
  },
};

/** Numbers in place of bytes: of 8 bytes 4 are the tag. */
const spscWords: LinkKind<Both<SpscRingHandle>> = {
  create: createSpsc,
  open(handles, index) {
    const { producer, consumer } = spscSides(handles, index);
    return recordLink(producer, consumer, () => producer.tryWriteWords(7, 1));
  },
};

const mpscRing: LinkKind<Both<MpscRingHandle>> = {
  create: inSegment((segment, name) => MpscRing.create(segment, { name, capacityBytes: RING_BYTES })),
  open(handles, index, message) {
    const [there, back] = ordered(handles, index);
    const producer = MpscRing.from(there).producer();
    return recordLink(producer, MpscRing.from(back).consumer(), () => producer.tryWrite(message));
  },
};

const mpmcQueue: LinkKind<Both<MpmcQueueHandle>> = {
  create: inSegment((segment, name) => MpmcQueue.create(segment, { name, capacity: RING_BYTES / 8 })),
  open(handles, index): Link {
    const [there, back] = ordered(handles, index);
    const sending = MpmcQueue.from(there);
    const receiving = MpmcQueue.from(back);
    let sum = 0;
    return {
      send(count) {
        for (let i = 0; i < count; i++) {
          while (!sending.tryPut(1)) {
            // The partner takes until the round is over.
          }
        }
      },
      poll() {
        let count = 0;
        for (let value = receiving.tryTake(); value !== undefined; value = receiving.tryTake()) {
          sum = (sum + value) | 0;
          count++;
        }
        return count;
      },
      get sum() {
        return sum;
      },
    };
  },
};

const spscStream: LinkKind<Both<SpscStreamHandle>> = {
  create: inSegment((segment, name) => SpscStream.create(segment, { name, capacityBytes: RING_BYTES })),
  open(handles, index, message, parameters) {
    const [there, back] = ordered(handles, index);
    const writer = SpscStream.from(there).writer();
    const reader = SpscStream.from(back).reader();
    return streamLink(
      (bytes) => writer.tryWrite(bytes),
      (bytes) => reader.tryRead(bytes),
      message,
      parameters,
    );
  },
};

const ringbuf: LinkKind<Both<SharedArrayBuffer>> = {
  create() {
    const storage = () => RingBuffer.getStorageForCapacity(RING_BYTES, Uint8Array);
    return { shared: [storage(), storage()] };
  },
  open(buffers, index, message, parameters: LinkParameters) {
    const [there, back] = ordered(buffers, index);
    // Its types name an instance where the constructor takes a class.
    const type = Uint8Array as never;
    const sending = new RingBuffer(there, type);
    const receiving = new RingBuffer(back, type);
    return streamLink(
      (bytes) => sending.push(bytes, bytes.length),
      (bytes) => receiving.pop(bytes, bytes.length),
      message,
      parameters,
    );
  },
};

export const ringKinds = {
  'bare-lane': bareLane,
  'spsc-ring': spscRing,
  'spsc-words': spscWords,
  'mpsc-ring': mpscRing,
  'mpmc-queue': mpmcQueue,
  'spsc-stream': spscStream,
  'ringbuf.js': ringbuf,
};
