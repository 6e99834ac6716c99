/* budget.h - how many cache entries a retention stands for, in exact arithmetic.
 *
 * In binary floating point n * (1 - 0.8) loses a token for every n that is a multiple of 5. So
 * retentions stay decimals, counts are integers, and rounding is stated. */
#ifndef KR_EVICT_BUDGET_H
#define KR_EVICT_BUDGET_H

#include "base/decimal.h"

#include <stddef.h>

typedef enum {
    KR_ROUND_FLOOR,
    KR_ROUND_EVEN, /* to the nearest, halves to the even one, as Python's round() */
    KR_ROUND_FLOAT /* floor of the binary product n * (1 - c), c = 1 - r: what the reference
                    * implementations compute, lost tokens included */
} kr_rounding;

/* n * times * r rounded, for n, times < 2^31 and 0 <= r <= 1. Not clamped. */
size_t kr_budget(size_t n, size_t times, kr_dec r, kr_rounding how);

/* max(1, min(n, b)) */
size_t kr_budget_clamp(size_t n, size_t b);

/* floor(a * x) for a decimal a >= 0, exactly. */
size_t kr_floor_times(kr_dec a, size_t x);

/* PyramidKV's budget of one layer (Cai et al. 2024; as kvpress computes it): a straight line from
 * hi at layer 0 to lo at the last, lo = n r / beta, hi = 2 n r - lo, hi at most n - w. Rounded half
 * to even, at least 1. *uniform says that n >= hi >= lo >= w does not hold; every layer then gets
 * n r rounded. A single layer gets n r. The count includes the window w. */
size_t kr_budget_pyramid(size_t n, size_t w, size_t layer, size_t layers, size_t beta, kr_dec r,
                         bool *uniform);

#endif
