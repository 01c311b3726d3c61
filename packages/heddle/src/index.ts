/**
 * The front door: all of Heddle's library packages under one name.
 */
export * from '@heddle/lock';
export * from '@heddle/memory';
export * from '@heddle/mpool';
export * from '@heddle/ring';
