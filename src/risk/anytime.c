#include "risk/anytime.h"

#include <math.h>
#include <stdbool.h>

/* ln of the evidence against the rate p. */
static double evidence(double k, double n, double p) {
    double mixed = lgamma(k + 0.5) + lgamma(n - k + 0.5) - lgamma(n + 1) - log(M_PI);
    double hits = k > 0 ? k * log(p) : 0, misses = n > k ? (n - k) * log1p(-p) : 0;
    return mixed - hits - misses;
}

/* Where the evidence crosses `limit` between `in`, where it is below, and `out`. Returns the side
 * that is refuted, so that the interval errs to the wide side. */
static double crossing(double k, double n, double limit, double in, double out) {
    for (int i = 0; i < 60; i++) {
        double mid = 0.5 * (in + out);
        if (evidence(k, n, mid) < limit)
            in = mid;
        else
            out = mid;
    }
    return out;
}

kr_status kr_anytime_interval(int64_t events, int64_t n, double delta, double *lo, double *hi,
                              kr_error *err) {
    if (events < 0 || n < events || !(delta > 0 && delta < 1))
        return kr_fail(err, KR_EINVAL, "an interval for %lld of %lld events at error %g",
                       (long long)events, (long long)n, delta);
    double k = (double)events, m = (double)n, limit = -log(delta);
    *lo = 0;
    *hi = 1;
    if (n == 0)
        return KR_OK;
    if (events > 0)
        *lo = crossing(k, m, limit, k / m, 0);
    if (events < n)
        *hi = crossing(k, m, limit, k / m, 1);
    return KR_OK;
}
