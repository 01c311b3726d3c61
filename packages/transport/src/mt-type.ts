/** Which lock guards what the threads of a context share. */
export type MtType = 'none' | 'spinlock' | 'mutex' | 'worker-async';

/** As the header of a context holds them. */
export const MT_TYPES = ['spinlock', 'mutex', 'worker-async', 'none'] as const satisfies readonly MtType[];
