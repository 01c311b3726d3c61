/** What became of an attempt to send. */
export const SENT = 0;
export const NO_ROOM = 1;
export const LANE_CLOSED = 2;
