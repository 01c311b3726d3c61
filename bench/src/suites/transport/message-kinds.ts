import type { ContextOptions, Endpoint, Message } from '@heddle/transport';
import { bareLane } from '../messages/bare-lane.js';
import type { Link, LinkKind, LinkParameters } from '../messages/link.js';
import { joinContext, MESSAGE, prepareContext, type SharedContext } from './thread-of-context.js';

/** How a thread sends and reads. */
interface Manner {
  /** Sends as many as there is room for, of a batch of copies. Else each by `trySend`, under one cork. */
  sendMany?(endpoint: Endpoint, batch: readonly Uint8Array[]): number;
  /** Sends a message, unless there is no room. */
  trySend(endpoint: Endpoint, message: Uint8Array, memory: Uint8Array): boolean;
  /** The number in front. */
  read(message: Message): number;
}

const copied: Manner = {
  trySend: (endpoint, message) => endpoint.trySend(MESSAGE, message) === 'sent',
  read: ({ memory, byteOffset }) => memory[byteOffset]!,
};

/** With a view of the data made for each message, as most handlers do. */
const viewed: Manner = { ...copied, read: ({ data }) => data[0]! };

/** Batches by one call each. */
const many: Manner = { ...copied, sendMany: (endpoint, batch) => endpoint.sendMany(MESSAGE, batch) };

/** Written in place: of the data only the number, since the cost of the rest is the sender's own. */
const loaned: Manner = {
  trySend(endpoint, message, memory) {
    const loan = endpoint.loan(message.length);
    if (!loan) return false;
    memory[loan.byteOffset] = 1;
    if (endpoint.trySend(MESSAGE, loan) === 'sent') return true;
    loan.cancel();
    return false;
  },
  read: copied.read,
};

/** A context with a worker for each of two threads. */
function messages(
  { trySend, sendMany, read }: Manner,
  optionsFor: (parameters: LinkParameters) => ContextOptions = () => ({}),
): LinkKind<SharedContext> {
  return {
    create: (parameters) => prepareContext(2, optionsFor(parameters)),
    open(shared, index, message): Link {
      const { worker, memory, connect } = joinContext(shared, index);
      const endpoint = connect(1 - index);
      let sum = 0;
      let batch: readonly Uint8Array[] = [];
      worker.on(MESSAGE, (received) => {
        sum = (sum + read(received)) | 0;
      });
      return {
        send(count) {
          if (sendMany) {
            if (batch.length !== count) batch = Array.from({ length: count }, () => message);
            // What found no room once more, until the partner has taken what is there.
            for (let sent = sendMany(endpoint, batch); sent < count; ) {
              sent += sendMany(endpoint, batch.slice(sent));
            }
            return;
          }
          if (count > 1) endpoint.cork();
          for (let i = 0; i < count; i++) {
            while (!trySend(endpoint, message, memory)) {
              // The partner takes what is there until the round is over.
            }
          }
          if (count > 1) endpoint.uncork();
        },
        poll: () => worker.progress(),
        get sum() {
          return sum;
        },
      };
    },
  };
}

/** Bytes of all slots together, where they are larger than those that a context has unless told otherwise. */
const SLOT_MEMORY_BYTES = 32 * 1024 * 1024;

/** Slots that hold the message. */
function slotsFor({ messageBytes }: LinkParameters): ContextOptions {
  return messageBytes <= 65_536 ? {} : { slotBytes: messageBytes, slots: SLOT_MEMORY_BYTES / messageBytes };
}

/** The same context whatever the size of the message, so that the size is all that differs. */
export const LARGEST_LOAN_BYTES = 4 * 1024 * 1024;
const slotsForLoans = () => slotsFor({ messageBytes: LARGEST_LOAN_BYTES });

export const messageKinds = {
  'bare-lane': bareLane,
  copied: messages(copied, slotsFor),
  viewed: messages(viewed),
  many: messages(many),
  loaned: messages(loaned, slotsForLoans),
};
