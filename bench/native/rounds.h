/*
 * Rounds of measurement for a native peer, as the harness of the bench asks for them.
 *
 * stdin: a line with the milliseconds of a round. stdout: a line of JSON with what each thread did in it. The
 * program ends with its stdin.
 */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Tells threads that answer to others that the round is over. */
extern atomic_int round_over;

/* What the program measures. */
struct pattern {
    int threads;
    /* Threads from 0 that drive: they are called until the time is over. The others are called once a round. */
    int drivers;
    /* Does so many operations. A driver's. */
    void (*batch)(int thread, uint64_t operations);
    /* Answers until round_over. Returns how many operations it did. */
    uint64_t (*serve)(int thread);
    /* After a driver's last batch of a round. May be NULL. */
    void (*end)(int thread);
    /* Before a round, while all threads are at rest. May be NULL. */
    void (*begin)(void);
};

/* Cores to tie a thread each to, as "0,1"; "" for none, or where there are more threads than cores. */
int run_rounds(const struct pattern *pattern, const char *cores);

/* Keeps the compiler from dropping what leads to a pointer. */
static inline void keep(const void *pointer) { __asm__ volatile("" : : "r"(pointer) : "memory"); }

#endif
