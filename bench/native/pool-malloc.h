/* malloc and free: those of the C library, or with MIMALLOC those of mimalloc, whose headers are not needed. */
#include <stdlib.h>

#if MIMALLOC
void *mi_malloc(size_t size);
void mi_free(void *pointer);
#define ALLOCATE mi_malloc
#define RELEASE mi_free
#else
#define ALLOCATE malloc
#define RELEASE free
#endif

static void pool_open(void) {}

static inline void *pool_get(void) { return ALLOCATE(ELEM_SIZE); }

static inline void pool_put(void *element) { RELEASE(element); }
