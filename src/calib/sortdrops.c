#include "calib/sortdrops.h"

#include <string.h>

#define BITS 11
#define BUCKETS (1u << BITS)
#define SMALL 64

/* One stable pass by `digit(value)`; false when all values share it and nothing was moved. */
#define RADIX_SORT(NAME, TYPE, UNSIGNED, PASSES, TOP)                                             \
    static bool NAME##_pass(const TYPE *from, TYPE *to, size_t n, unsigned pass) {                 \
        size_t at[BUCKETS] = {0}, sum = 0;                                                        \
        for (size_t i = 0; i < n; i++)                                                            \
            at[(((UNSIGNED)from[i] ^ (TOP)) >> (pass * BITS)) & (BUCKETS - 1)]++;                  \
        if (at[(((UNSIGNED)from[0] ^ (TOP)) >> (pass * BITS)) & (BUCKETS - 1)] == n)               \
            return false;                                                                         \
        for (size_t b = 0; b < BUCKETS; b++) {                                                    \
            size_t count = at[b];                                                                 \
            at[b] = sum;                                                                          \
            sum += count;                                                                         \
        }                                                                                         \
        for (size_t i = 0; i < n; i++)                                                            \
            to[at[(((UNSIGNED)from[i] ^ (TOP)) >> (pass * BITS)) & (BUCKETS - 1)]++] = from[i];    \
        return true;                                                                              \
    }                                                                                             \
    static void NAME##_small(TYPE *v, size_t n) {                                                 \
        for (size_t i = 1; i < n; i++) {                                                          \
            TYPE x = v[i];                                                                        \
            size_t k = i;                                                                         \
            for (; k > 0 && v[k - 1] > x; k--)                                                    \
                v[k] = v[k - 1];                                                                  \
            v[k] = x;                                                                             \
        }                                                                                         \
    }                                                                                             \
    void NAME(TYPE *v, size_t n, TYPE *scratch) {                                                 \
        if (n <= SMALL) {                                                                         \
            NAME##_small(v, n);                                                                   \
            return;                                                                               \
        }                                                                                         \
        TYPE *from = v, *to = scratch;                                                            \
        for (unsigned p = 0; p < (PASSES); p++)                                                   \
            if (NAME##_pass(from, to, n, p)) {                                                    \
                TYPE *t = from;                                                                   \
                from = to;                                                                        \
                to = t;                                                                           \
            }                                                                                     \
        if (from != v)                                                                            \
            memcpy(v, from, n * sizeof *v);                                                       \
    }

/* Flipping the top bit makes the order of unsigned digits that of signed values. */
RADIX_SORT(kr_sort_i32, int32_t, uint32_t, 3, UINT32_C(1) << 31)
RADIX_SORT(kr_sort_i64, int64_t, uint64_t, 6, UINT64_C(1) << 63)
