/** What the explorer can find. The last five are faults of the model or of how it uses the explorer. */
export type FailureKind =
  | 'check'
  | 'invariant'
  | 'leak'
  | 'exception'
  | 'deadlock'
  | 'lost-wake'
  | 'livelock'
  | 'race'
  | 'hint'
  | 'not-linearizable'
  | 'non-deterministic'
  | 'checkpoint'
  | 'swallowed'
  | 'out-of-bounds'
  | 'unsupported';

/** One failure: its kind, and the reason in a sentence. */
export interface Failure {
  readonly kind: FailureKind;
  readonly reason: string;
}
