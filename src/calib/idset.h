/* idset.h - which request ids were seen: text to row, for a million ids in a few megabytes. */
#ifndef KR_CALIB_IDSET_H
#define KR_CALIB_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The texts themselves belong to the caller and are asked for by row. */
typedef const char *(*kr_id_fn)(const void *ctx, size_t row, size_t *len);

typedef struct {
    uint32_t *slot; /* row + 1, 0 free */
    size_t cap, count;
    uint64_t seed;
    kr_id_fn id;
    const void *ctx;
} kr_idset;

/* Seeded anew each time, so that no file can be made to collide. */
kr_idset kr_idset_make(kr_id_fn id, const void *ctx);
void kr_idset_free(kr_idset *s);
/* The row with this text, or -1. */
int64_t kr_idset_find(const kr_idset *s, const char *text, size_t len);
/* Adds `row`, whose text the caller's function already gives. False: out of memory. */
bool kr_idset_add(kr_idset *s, size_t row);

#endif
