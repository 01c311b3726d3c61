import { HeddleError } from '@heddle/memory';
import { generationOfLease, idOfLease, isOut, stateNameOf } from './lease.js';
import type { PoolWords } from './pool-words.js';

/** What has to happen to a slot in this state before another thread can have it. */
const next: Readonly<Record<string, string>> = {
  held: 'That thread has to detach it before another one adopts it',
  detached: 'Adopt it first',
  sent: 'No other thread can adopt it',
};

/**
 * The error for a descriptor that cannot be used: made up, or stale. Looks at the slot as it is now.
 *
 * @param verb what was refused, as `'put'`.
 * @param hasPut whether this thread has put it, and not sent that off.
 */
export function refusal(
  pool: PoolWords,
  poolName: string,
  value: unknown,
  verb: string,
  hasPut = false,
): HeddleError {
  const { format, me } = pool;
  const slots = pool.slotCount();
  const facts = { pool: poolName, descriptor: value, thread: me.id };
  const start = `Thread ${me.id} cannot ${verb} ${typeof value === 'string' ? JSON.stringify(value) : String(value)} of pool "${poolName}": `;
  if (!format.isDescriptor(value) || format.slotOf(value) >= slots) {
    return new HeddleError(
      'ERR_HEDDLE_BAD_DESCRIPTOR',
      `${start}it is no descriptor of this pool, which has ${slots} slots. Pass on the number that get() gave, unchanged`,
      facts,
    );
  }
  const slot = format.slotOf(value);
  const generation = format.generationOf(value);
  const lease = pool.lease(slot);
  const current = generationOfLease(lease);
  const state = stateNameOf(lease);
  const holder = idOfLease(lease);
  const more = { ...facts, slot, generation, state, currentGeneration: current };
  if ((hasPut && generation === current) || (!isOut(lease) && current === format.next(generation))) {
    return new HeddleError(
      'ERR_HEDDLE_STALE_DESCRIPTOR',
      `${start}slot ${slot} was put already, or came back when the thread that held it ended. Put each descriptor once, and use it no more`,
      more,
    );
  }
  if (generation === current) {
    if (!isOut(lease)) {
      return new HeddleError(
        'ERR_HEDDLE_BAD_DESCRIPTOR',
        `${start}nobody got slot ${slot} in generation ${generation}. Pass on the number that get() gave, unchanged`,
        more,
      );
    }
    return new HeddleError(
      'ERR_HEDDLE_NOT_HOLDER',
      `${start}slot ${slot} is ${state} ${state === 'sent' ? 'to' : 'by'} thread ${holder}. ${next[state] ?? ''}`,
      { ...more, holder },
    );
  }
  return new HeddleError(
    'ERR_HEDDLE_STALE_DESCRIPTOR',
    `${start}it is of generation ${generation}, and slot ${slot} has been put since and is now ${state}${isOut(lease) ? ` by thread ${holder}` : ''} in generation ${current}. Put each descriptor once, and use it no more`,
    isOut(lease) ? { ...more, holder } : more,
  );
}
