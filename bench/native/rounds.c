#define _GNU_SOURCE
#include "rounds.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The same as in the harness: a batch is to last 25 to 200 microseconds. */
enum { TARGET_NS = 50000, LARGEST_BATCH = 1 << 24, LOGGED_BATCHES = 1 << 15 };

struct thread {
    pthread_t handle;
    int index;
    uint64_t batch_size;
    uint64_t operations;
    uint64_t elapsed_ns;
    uint64_t cpu_ns;
    uint64_t batches;
    double slowest_ns;
    double log[LOGGED_BATCHES];
};

atomic_int round_over;

static const struct pattern *measured;
static struct thread *threads;
static pthread_barrier_t start_line, finish_line;
static uint64_t round_ns;
static atomic_int running;

static uint64_t clock_ns(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void drive(struct thread *thread) {
    const uint64_t start = clock_ns(CLOCK_MONOTONIC);
    uint64_t before = start;
    do {
        const uint64_t size = thread->batch_size;
        measured->batch(thread->index, size);
        const uint64_t after = clock_ns(CLOCK_MONOTONIC);
        const uint64_t took = after - before;
        const double each = (double)took / (double)size;
        before = after;
        thread->operations += size;
        thread->log[thread->batches++ % LOGGED_BATCHES] = each;
        if (each > thread->slowest_ns) thread->slowest_ns = each;
        if (took < TARGET_NS / 2 && size < LARGEST_BATCH) thread->batch_size = size * 2;
        else if (took > TARGET_NS * 4 && size > 1) thread->batch_size = size / 2;
    } while (before - start < round_ns);
    thread->elapsed_ns = before - start;
    if (atomic_fetch_sub(&running, 1) == 1) atomic_store(&round_over, 1);
    if (measured->end) measured->end(thread->index);
}

static void *live(void *argument) {
    struct thread *thread = argument;
    for (;;) {
        pthread_barrier_wait(&start_line);
        const uint64_t cpu_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        const uint64_t before = clock_ns(CLOCK_MONOTONIC);
        thread->operations = thread->batches = 0;
        thread->slowest_ns = 0;
        if (thread->index < measured->drivers) {
            drive(thread);
        } else {
            thread->operations = measured->serve(thread->index);
            thread->elapsed_ns = clock_ns(CLOCK_MONOTONIC) - before;
        }
        thread->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
        pthread_barrier_wait(&finish_line);
    }
    return NULL;
}

static int ascending(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_of(struct thread *thread) {
    const uint64_t count = thread->batches < LOGGED_BATCHES ? thread->batches : LOGGED_BATCHES;
    if (count == 0) return 0;
    qsort(thread->log, count, sizeof(double), ascending);
    return count % 2 ? thread->log[count / 2] : (thread->log[count / 2 - 1] + thread->log[count / 2]) / 2;
}

static void report(void) {
    for (int i = 0; i < measured->threads; i++) {
        struct thread *thread = &threads[i];
        printf("%s{\"driving\":%s,\"operations\":%llu,\"elapsedNs\":%llu,\"cpuNs\":%llu,\"batches\":%llu,"
               "\"medianNs\":%.4f,\"slowestNs\":%.4f}",
               i ? "," : "[", i < measured->drivers ? "true" : "false", (unsigned long long)thread->operations,
               (unsigned long long)thread->elapsed_ns, (unsigned long long)thread->cpu_ns,
               (unsigned long long)thread->batches, median_of(thread), thread->slowest_ns);
    }
    printf("]\n");
    fflush(stdout);
}

static void tie(const char *cores) {
    int ids[1024], count = 0;
    for (const char *next = cores; *next && count < 1024; next = strchr(next, ',') + 1) {
        ids[count++] = atoi(next);
        if (!strchr(next, ',')) break;
    }
    if (count < measured->threads) return;
    for (int i = 0; i < measured->threads; i++) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(ids[i], &set);
        pthread_setaffinity_np(threads[i].handle, sizeof set, &set);
    }
}

int run_rounds(const struct pattern *pattern, const char *cores) {
    measured = pattern;
    threads = calloc((size_t)pattern->threads, sizeof *threads);
    pthread_barrier_init(&start_line, NULL, (unsigned)pattern->threads + 1);
    pthread_barrier_init(&finish_line, NULL, (unsigned)pattern->threads + 1);
    for (int i = 0; i < pattern->threads; i++) {
        threads[i].index = i;
        threads[i].batch_size = 1;
        if (pthread_create(&threads[i].handle, NULL, live, &threads[i]) != 0) return 1;
    }
    tie(cores);
    double ms;
    while (scanf("%lf", &ms) == 1) {
        round_ns = (uint64_t)(ms * 1e6);
        atomic_store(&running, pattern->drivers);
        atomic_store(&round_over, 0);
        if (pattern->begin) pattern->begin();
        pthread_barrier_wait(&start_line);
        pthread_barrier_wait(&finish_line);
        report();
    }
    return 0;
}
