#include "risk/tolerance.h"

#include <stddef.h>

bool kr_tolerance_certified(int64_t n, int64_t kmax, kr_rank_fn drop, void *ctx, int64_t *out) {
    if (n < 1 || kmax < 0)
        return false;
    int64_t d = kmax >= n ? INT64_MIN : drop(ctx, n - kmax - 1);
    if (d == KR_DROP_MISSING)
        return false;
    *out = d;
    return true;
}

static int64_t from_array(void *ctx, int64_t rank) { return (*(const int64_t *const *)ctx)[rank]; }

bool kr_tolerance_certified_sorted(int64_t n, int64_t kmax, const int64_t *drops, int64_t *out) {
    return kr_tolerance_certified(n, kmax, from_array, &drops, out);
}
