#include "calib/idset.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Multiply and fold (as in wyhash): every input bit reaches every output bit through a 128-bit
 * product with a seeded operand. */
__extension__ typedef unsigned __int128 u128;

static uint64_t fold(uint64_t a, uint64_t b) {
    u128 p = (u128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t hash(const kr_idset *s, const char *text, size_t len) {
    uint64_t h = s->seed ^ (uint64_t)len;
    for (; len >= 8; text += 8, len -= 8) {
        uint64_t w;
        memcpy(&w, text, 8);
        h = fold(h ^ w, s->seed | 1) + UINT64_C(0x9E3779B97F4A7C15);
    }
    uint64_t w = 0;
    memcpy(&w, text, len);
    return fold(h ^ w, UINT64_C(0xD6E8FEB86659FD93) ^ s->seed);
}

kr_idset kr_idset_make(kr_id_fn id, const void *ctx) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t seed = (uint64_t)t.tv_nsec * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)t.tv_sec << 32 ^
                    (uint64_t)(uintptr_t)&t;
    return (kr_idset){.seed = fold(seed, UINT64_C(0xA0761D6478BD642F)), .id = id, .ctx = ctx};
}

void kr_idset_free(kr_idset *s) {
    free(s->slot);
    s->slot = NULL;
    s->cap = s->count = 0;
}

int64_t kr_idset_find(const kr_idset *s, const char *text, size_t len) {
    if (s->cap == 0)
        return -1;
    for (size_t i = hash(s, text, len) & (s->cap - 1);; i = (i + 1) & (s->cap - 1)) {
        if (s->slot[i] == 0)
            return -1;
        size_t n, row = s->slot[i] - 1;
        const char *t = s->id(s->ctx, row, &n);
        if (n == len && memcmp(t, text, len) == 0)
            return (int64_t)row;
    }
}

static void put(kr_idset *s, size_t row) {
    size_t len;
    const char *text = s->id(s->ctx, row, &len);
    size_t i = hash(s, text, len) & (s->cap - 1);
    while (s->slot[i] != 0)
        i = (i + 1) & (s->cap - 1);
    s->slot[i] = (uint32_t)row + 1;
}

bool kr_idset_add(kr_idset *s, size_t row) {
    if (row >= UINT32_MAX - 1)
        return false;
    if (2 * (s->count + 1) > s->cap) {
        size_t cap = s->cap > 0 ? s->cap * 2 : 256, old = s->cap;
        uint32_t *slot = calloc(cap, sizeof *slot), *before = s->slot;
        if (slot == NULL)
            return false;
        s->slot = slot;
        s->cap = cap;
        for (size_t i = 0; i < old; i++)
            if (before[i] != 0)
                put(s, before[i] - 1);
        free(before);
    }
    put(s, row);
    s->count++;
    return true;
}
