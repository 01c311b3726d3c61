/*
 * A lane of pointers from one thread to another, with cached positions and publication in batches: the same as
 * `src/suites/pool/lane.ts`.
 */
#ifndef LANE_H
#define LANE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { LANE_SLOTS = 4096, LINE = 128 };

struct lane {
    _Alignas(LINE) _Atomic uint32_t head;
    _Alignas(LINE) _Atomic uint32_t tail;
    /* The sender's own. */
    _Alignas(LINE) uint32_t next_tail;
    uint32_t published;
    uint32_t known_head;
    /* The receiver's own. */
    _Alignas(LINE) uint32_t next_head;
    uint32_t acknowledged;
    uint32_t known_tail;
    _Alignas(LINE) void *slots[LANE_SLOTS];
};

static inline void lane_publish(struct lane *lane) {
    if (lane->published == lane->next_tail) return;
    lane->published = lane->next_tail;
    atomic_store(&lane->tail, lane->published);
}

/* False where the lane is full; what was sent is published then. */
static inline int lane_send(struct lane *lane, void *pointer, uint32_t batch) {
    if (lane->next_tail - lane->known_head == LANE_SLOTS) {
        lane_publish(lane);
        lane->known_head = atomic_load(&lane->head);
        if (lane->next_tail - lane->known_head == LANE_SLOTS) return 0;
    }
    lane->slots[lane->next_tail % LANE_SLOTS] = pointer;
    lane->next_tail++;
    if (lane->next_tail - lane->published >= batch) lane_publish(lane);
    return 1;
}

/* Returns when the receiver has taken something since this was last asked, or everything. */
static inline void lane_await_progress(struct lane *lane) {
    lane_publish(lane);
    const uint32_t known = lane->known_head;
    do lane->known_head = atomic_load(&lane->head);
    while (lane->known_head == known && known != lane->published);
}

static inline void lane_acknowledge(struct lane *lane) {
    if (lane->acknowledged == lane->next_head) return;
    lane->acknowledged = lane->next_head;
    atomic_store(&lane->head, lane->acknowledged);
}

/* NULL where the lane is empty; what was taken is acknowledged then. */
static inline void *lane_receive(struct lane *lane, uint32_t batch) {
    if (lane->next_head == lane->known_tail) {
        lane_acknowledge(lane);
        lane->known_tail = atomic_load(&lane->tail);
        if (lane->next_head == lane->known_tail) return NULL;
    }
    void *pointer = lane->slots[lane->next_head % LANE_SLOTS];
    lane->next_head++;
    if (lane->next_head - lane->acknowledged >= batch) lane_acknowledge(lane);
    return pointer;
}

#endif
