/**
 * The front door: all of Heddle's library packages under one name.
 */
export * from '@heddle/lock';
export * from '@heddle/memory';
export * from '@heddle/mpool';
// The pool and the transport both have a lease: of an element, and of a message.
export { Lease } from '@heddle/mpool';
export * from '@heddle/ring';
export type { Lease as MessageLease } from '@heddle/transport';
export * from '@heddle/transport';
