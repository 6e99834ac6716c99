/* arena.h - many small allocations that are released together. */
#ifndef KR_BASE_ARENA_H
#define KR_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise before the first use: `kr_arena a = {0};`. */
typedef struct {
    struct kr_arena_block *head;
    bool failed; /* an allocation failed since the last reset */
} kr_arena;

/* n bytes, aligned for any object, not cleared; valid until reset or free. NULL when out of memory.
 * n = 0 gives a valid pointer. */
void *kr_arena_alloc(kr_arena *a, size_t n);

/* Copy of s[0..len) with a NUL after it; NULL when out of memory. */
char *kr_arena_copy(kr_arena *a, const char *s, size_t len);

/* Forgets everything but keeps one ordinary block, so that a reset per record costs nothing and one
 * huge record does not pin its memory. */
void kr_arena_reset(kr_arena *a);

void kr_arena_free(kr_arena *a);

#endif
