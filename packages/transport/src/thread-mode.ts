/** Who may call a worker. */
export type ThreadMode = 'single' | 'serialized' | 'multi';

/** As the row of a worker holds them. */
export const THREAD_MODES = ['single', 'serialized', 'multi'] as const satisfies readonly ThreadMode[];
