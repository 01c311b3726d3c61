/** How long and how often everything is measured. */
export interface Plan {
  readonly mode: 'full' | 'quick';
  readonly rounds: number;
  /** Fixed time of one variant in one round. */
  readonly roundMs: number;
  /** Length of one slice of warm-up, and the most that warm-up takes for one variant. */
  readonly warmUpSliceMs: number;
  readonly warmUpLimitMs: number;
}

/** For figures that are written down. Odd numbers of rounds, so that the median is a round that took place. */
export const fullPlan: Plan = {
  mode: 'full',
  rounds: 11,
  roundMs: 120,
  warmUpSliceMs: 25,
  warmUpLimitMs: 1000,
};

/** For a look: a suite takes well under a minute, and its spread is wider. */
export const quickPlan: Plan = {
  mode: 'quick',
  rounds: 5,
  roundMs: 20,
  warmUpSliceMs: 10,
  warmUpLimitMs: 150,
};
