import type { Step, Steps } from '@heddle/memory';

/** What a sleep of a receiver needs of it. */
export interface Arming {
  /** What to sleep on. */
  readonly index: number;
  readonly expected: number;
  /** Announces a sleep and looks once more. Returns false where there is something to do. */
  arm(): boolean;
  /** Takes the announcement back. */
  disarm(): void;
}

/** The steps of sleeping until there is something to progress. Done with false: the time is up. */
export class ArmSteps implements Steps<boolean> {
  readonly #arming: Arming;

  constructor(arming: Arming) {
    this.#arming = arming;
  }

  begin(): Step<boolean> {
    const { index, expected } = this.#arming;
    return this.#arming.arm() ? { done: false, index, expected } : { done: true, value: true };
  }

  onWake(): Step<boolean> {
    return this.begin();
  }

  onTimeout(): Step<boolean> {
    const armed = this.#arming.arm();
    if (armed) this.#arming.disarm();
    return { done: true, value: !armed };
  }

  onAbort(): void {
    this.#arming.disarm();
  }
}
