/* pool.h - worker threads that share out numbered tiles of work.
 *
 * Which thread takes which tile is open, so a tile must write only what is its own; then results
 * do not depend on the number of threads. */
#ifndef KR_ENGINE_POOL_H
#define KR_ENGINE_POOL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { KR_POOL_MAX_THREADS = 256 };

typedef struct kr_pool kr_pool;

/* One tile. `thread` < kr_pool_threads() names scratch that no other tile uses meanwhile. */
typedef void (*kr_pool_fn)(void *arg, size_t tile, size_t thread);

/* `threads` counts the caller; 1 starts none. The caller frees *out. */
kr_status kr_pool_new(size_t threads, kr_pool **out, kr_error *err);
void kr_pool_free(kr_pool *p); /* NULL is allowed */

size_t kr_pool_threads(const kr_pool *p);

/* Physical cores of this machine, at least 1. */
size_t kr_pool_cores(void);

/* `tick` is called by the thread in kr_pool_run, between two tiles, at most every 50 ms; when it
 * returns false the tiles not yet begun are dropped. NULL: never. */
void kr_pool_on_tick(kr_pool *p, bool (*tick)(void *arg), void *arg);

/* Runs fn for tiles 0 .. n-1 and returns when all are done: true, or false after a cancellation.
 * One caller at a time; no allocation. NULL: all on the calling thread. */
bool kr_pool_run(kr_pool *p, size_t n, kr_pool_fn fn, void *arg);

#endif
