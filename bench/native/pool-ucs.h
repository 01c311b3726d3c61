/* `ucs_mpool` of UCX. With LOCKED its calls are made under a `ucs_spinlock`, as UCX itself does between threads. */
#include <stdio.h>
#include <stdlib.h>
#include <ucs/datastruct/mpool.h>
#include <ucs/type/spinlock.h>

static ucs_mpool_t pool;
static ucs_spinlock_t pool_lock;

static void pool_open(void) {
    static ucs_mpool_ops_t operations = {
        .chunk_alloc = ucs_mpool_chunk_malloc,
        .chunk_release = ucs_mpool_chunk_free,
    };
    ucs_status_t status =
        ucs_mpool_init(&pool, 0, ELEM_SIZE, 0, 64, ELEMS_PER_CHUNK, MAX_ELEMS, &operations, "peer");
    if (status == UCS_OK) status = ucs_spinlock_init(&pool_lock, 0);
    if (status == UCS_OK) return;
    fprintf(stderr, "ucs_mpool_init failed: %d\n", status);
    exit(1);
}

static inline void *pool_get(void) {
#if LOCKED
    ucs_spin_lock(&pool_lock);
    void *element = ucs_mpool_get(&pool);
    ucs_spin_unlock(&pool_lock);
    return element;
#else
    return ucs_mpool_get(&pool);
#endif
}

static inline void pool_put(void *element) {
#if LOCKED
    ucs_spin_lock(&pool_lock);
    ucs_mpool_put(element);
    ucs_spin_unlock(&pool_lock);
#else
    ucs_mpool_put(element);
#endif
}
