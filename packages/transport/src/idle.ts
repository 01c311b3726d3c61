import type { Platform } from '@heddle/memory';

/** `look` again at once; `turn`: when the event loop had its turn; `sleep` until somebody rings. */
export type IdleStep = 'look' | 'turn' | 'sleep';

/**
 * What a receiver does when it found nothing: a value, so that a program can choose one or write its own.
 *
 * A sleep and the wake from it take tens of microseconds, and looking takes the core: a strategy trades one for the
 * other. One object may serve several workers; one that learns then learns from all of them.
 *
 * The idea is that of Agrona's `IdleStrategy` and of the wait strategies of the Disruptor.
 */
export interface IdleStrategy {
  /**
   * Pauses for as long as it likes, and says what comes next. In `wait`, which has no event loop, a `turn` is a `sleep`.
   *
   * @param looks how often the receiver looked and found nothing, without a sleep in between: from 1.
   * @param platform whose `pause` it calls.
   */
  idle(looks: number, platform: Platform): IdleStep;
  /** There was something, after so many looks without. For a strategy that learns. */
  found?(looks: number): void;
}

const LEAST_LOOKS = 16;
const FIRST_LOOKS = 64;
const MOST_LOOKS = 2048;
const MOST_PAUSES = 512;
const MOST_COUNT = 2 ** 20;

/** Looks for longer where that found something, for shorter where it did not, always bounded; then sleeps. */
class Adaptive implements IdleStrategy {
  #most = FIRST_LOOKS;

  idle(looks: number, platform: Platform): IdleStep {
    if (looks <= this.#most) {
      platform.pause();
      return 'look';
    }
    this.#most = Math.max(this.#most / 2, LEAST_LOOKS);
    return 'sleep';
  }

  found(looks: number): void {
    if (looks > 0) this.#most = Math.min(this.#most * 2, MOST_LOOKS);
  }
}

/** The idle strategies that there are. */
export const Idle = {
  /**
   * Looks for some microseconds, longer where that pays, then sleeps. What a worker does unless told otherwise: each
   * worker has one of its own.
   */
  adaptive(): IdleStrategy {
    return new Adaptive();
  },

  /**
   * Never sleeps: the shortest latency, for a thread with a core of its own. On the event loop the other tasks still
   * have their turn every few milliseconds.
   */
  busy(): IdleStrategy {
    return {
      idle(_looks, platform) {
        platform.pause();
        return 'look';
      },
    };
  },

  /**
   * Pauses for twice as long from look to look, then sleeps: keeps off the memory that the senders write to.
   *
   * @param pauses of the longest pause before the sleep, in calls of `platform.pause`: from 1, default 512.
   * @throws RangeError.
   */
  backoff({ pauses = MOST_PAUSES }: { readonly pauses?: number } = {}): IdleStrategy {
    assertCount('pauses', pauses, 1);
    return {
      idle(looks, platform) {
        const count = 2 ** (looks - 1);
        if (count > pauses) return 'sleep';
        for (let i = 0; i < count; i++) platform.pause();
        return 'look';
      },
    };
  },

  /**
   * Sleeps, after so many looks: for threads that share their core.
   *
   * @param looks from 0, default 0.
   * @throws RangeError.
   */
  park({ looks: most = 0 }: { readonly looks?: number } = {}): IdleStrategy {
    assertCount('looks', most, 0);
    return {
      idle(looks, platform) {
        if (looks > most) return 'sleep';
        platform.pause();
        return 'look';
      },
    };
  },

  /**
   * Looks once in each of so many turns of the event loop, then sleeps: for a receiver that must not keep the other
   * tasks of its thread waiting.
   *
   * @param turns from 0, default 1.
   * @throws RangeError.
   */
  eventLoop({ turns = 1 }: { readonly turns?: number } = {}): IdleStrategy {
    assertCount('turns', turns, 0);
    return { idle: (looks) => (looks > turns ? 'sleep' : 'turn') };
  },
} as const;

function assertCount(name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least && value <= MOST_COUNT) return;
  throw new RangeError(`${name} is a whole number from ${least} to ${MOST_COUNT}, not ${value}`);
}

/** @throws TypeError where it is no strategy. */
export function assertIdle(idle: unknown): IdleStrategy {
  if (typeof (idle as IdleStrategy | undefined)?.idle === 'function') return idle as IdleStrategy;
  throw new TypeError(
    'idle is one of the strategies of Idle, such as Idle.park(), or an object with a method idle',
  );
}
