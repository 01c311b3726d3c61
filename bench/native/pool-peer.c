/*
 * What threads do with a pool, as `src/suites/pool/pool.worker.ts` does it. Which pool: the header named by POOL.
 *
 *   pool-peer alone DEPTH CORES          get so many, put them, on one thread
 *   pool-peer xput BATCH CORES           get here, put there, two threads
 *   pool-peer all THREADS CORES          every thread gets, and puts what the others got
 */
#include "lane.h"
#include "rounds.h"

#include <stdio.h>
#include <string.h>

#include POOL

enum { MAX_DEPTH = 64, BURST = 32 };

static uint32_t amount;

static void alone(int thread, uint64_t operations) {
    (void)thread;
    void *held[MAX_DEPTH];
    for (uint64_t done = 0; done < operations; done += amount) {
        for (uint32_t i = 0; i < amount; i++) {
            held[i] = pool_get();
            keep(held[i]);
        }
        for (uint32_t i = 0; i < amount; i++) pool_put(held[i]);
    }
}

static struct lane *lanes;

static void get_and_send(int thread, uint64_t operations) {
    (void)thread;
    for (uint64_t sent = 0; sent < operations; sent++) {
        void *element;
        while (!(element = pool_get())) lane_await_progress(lanes);
        keep(element);
        while (!lane_send(lanes, element, amount)) {}
    }
    lane_publish(lanes);
}

static uint64_t receive_and_put(int thread) {
    (void)thread;
    int over = 0;
    for (uint64_t served = 0;;) {
        void *element = lane_receive(lanes, amount);
        if (element) {
            pool_put(element);
            served++;
        } else if (over) {
            return served;
        } else {
            over = atomic_load(&round_over);
        }
    }
}

static atomic_int departed;

static struct lane *lane_between(uint32_t sender, uint32_t receiver) { return &lanes[sender * amount + receiver]; }

static uint64_t drain(uint32_t self) {
    uint64_t taken = 0;
    for (uint32_t peer = 0; peer < amount; peer++) {
        if (peer == self) continue;
        for (void *element; (element = lane_receive(lane_between(peer, self), BURST)); taken++) pool_put(element);
    }
    return taken;
}

static void exchange(int thread, uint64_t operations) {
    const uint32_t self = (uint32_t)thread;
    uint32_t peer = self;
    for (uint64_t sent = 0; sent < operations;) {
        const uint64_t before = sent;
        do peer = (peer + 1) % amount;
        while (peer == self);
        struct lane *lane = lane_between(self, peer);
        for (int burst = 0; burst < BURST && sent < operations; burst++) {
            void *element = pool_get();
            if (!element) break;
            keep(element);
            if (!lane_send(lane, element, BURST)) {
                pool_put(element);
                break;
            }
            sent++;
        }
        lane_publish(lane);
        if (drain(self) == 0 && sent == before && atomic_load(&departed)) return;
    }
}

static void depart(int thread) {
    (void)thread;
    atomic_fetch_add(&departed, 1);
}

static void reset(void) { atomic_store(&departed, 0); }

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    amount = (uint32_t)atoi(argv[2]);
    if (amount < 1 || amount > MAX_DEPTH) return 2;
    pool_open();
    struct pattern pattern = {.threads = 1, .drivers = 1, .batch = alone};
    size_t lane_count = 1;
    if (strcmp(argv[1], "xput") == 0) {
        pattern = (struct pattern){.threads = 2, .drivers = 1, .batch = get_and_send, .serve = receive_and_put};
    } else if (strcmp(argv[1], "all") == 0) {
        lane_count = (size_t)amount * amount;
        pattern = (struct pattern){
            .threads = (int)amount, .drivers = (int)amount, .batch = exchange, .end = depart, .begin = reset};
    } else if (strcmp(argv[1], "alone") != 0) {
        return 2;
    }
    lanes = aligned_alloc(LINE, lane_count * sizeof *lanes);
    if (!lanes) return 1;
    memset(lanes, 0, lane_count * sizeof *lanes);
    return run_rounds(&pattern, argv[3]);
}
