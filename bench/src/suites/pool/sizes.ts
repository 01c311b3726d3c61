/** Bytes of an element: as small as a message, so that no peer is slowed down by the memory it walks over. */
export const ELEM_SIZE = 64;

/** Elements that can be out. */
export const MAX_ELEMS = 4096;

/** Elements of a chunk of those pools that grow. */
export const ELEMS_PER_CHUNK = 128;
