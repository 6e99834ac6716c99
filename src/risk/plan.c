#include "risk/plan.h"

#include <math.h>

#include "risk/binomial.h"

__extension__ typedef __int128 wide;

double kr_plan_power(int64_t n, int64_t kmax, double risk) {
    return kmax < 0 || n < 1 ? 0 : kr_binom_tails(kmax, n, risk).p;
}

/* A search over the sizes i * step. A range of sizes is left out as a whole where bounds settle it:
 * kmax never falls with n, and P[Bin(n, risk) <= k] rises with k and falls with n. */
typedef struct {
    double risk, power;
    kr_dec eps;
    kr_level level;
    int64_t step;
    int64_t k, n; /* the count and size that a scaled count is taken from */
} search;

static int64_t kmax_at(const search *s, int64_t i) { return kr_kmax(i * s->step, s->eps, s->level); }

/* Somewhere between a and b; in proportion where they are far apart. */
static int64_t between(int64_t a, int64_t b) {
    return b / 4 > a ? (int64_t)sqrt((double)a * (double)b) : a + (b - a) / 2;
}

/* Smallest i in a..b whose power is at least the wanted, or -1. */
static int64_t first_with(const search *s, int64_t a, int64_t b) {
    if (kr_plan_power(a * s->step, kmax_at(s, b), s->risk) < s->power)
        return -1;
    if (a == b)
        return a;
    int64_t mid = between(a, b), left = first_with(s, a, mid);
    return left >= 0 ? left : first_with(s, mid + 1, b);
}

/* Largest i in a..b whose power is below the wanted, or -1. */
static int64_t last_without(const search *s, int64_t a, int64_t b) {
    if (kr_plan_power(b * s->step, kmax_at(s, a), s->risk) >= s->power)
        return -1;
    if (a == b)
        return a;
    int64_t mid = between(a, b), right = last_without(s, mid + 1, b);
    return right >= 0 ? right : last_without(s, a, mid);
}

/* A size from which on every size has the power, for certain: Hoeffding's inequality puts kmax/n above
 * eps - sqrt(ln(1/level) / 2n) - 1/n, and a share of events above that has a chance of at most 1 - power. */
static double surely_enough(const search *s) {
    double gap = kr_dec_double(s->eps) - s->risk, l = -log(kr_level_double(s->level));
    double root = (sqrt(l) + sqrt(-log1p(-s->power))) / sqrt(2) / gap;
    double n = root * root + 4 / gap + 4 / l + 4; /* generous for the two roundings to counts */
    for (double x = n;; x *= 2) /* seen to hold, not trusted */
        if (sqrt(2 * x) * (gap - sqrt(l / 2 / x) - 1 / x) >= sqrt(-log1p(-s->power)) && x * l >= 2)
            return x;
}

kr_status kr_plan_needed(double risk, double power, kr_dec eps, kr_level level, int64_t step,
                         int64_t n_max, kr_plan_size *out, kr_error *err) {
    double d = kr_level_double(level);
    if (!(risk > 0 && risk <= KR_PLAN_CLOSEST * kr_dec_double(eps)) || !(power > 0 && power < 1) ||
        !(d > 0 && d < 1))
        return kr_fail(err, KR_EINVAL,
                       "a true risk of %g against a target of %g at level %g with probability %g cannot be "
                       "planned; the risk must lie between 0 and %g of the target",
                       risk, kr_dec_double(eps), d, power, KR_PLAN_CLOSEST);
    if (step < 1 || n_max < step || n_max > KR_BINOM_N_MAX)
        return kr_fail(err, KR_EINVAL, "requests in steps of %lld up to %lld", (long long)step,
                       (long long)n_max);
    search s = {.risk = risk, .power = power, .eps = eps, .level = level, .step = step};
    int64_t last = n_max / step;
    double sure = ceil(surely_enough(&s) / (double)step);
    bool reached = sure < (double)last;
    if (reached)
        last = (int64_t)sure;
    int64_t first = first_with(&s, 1, last);
    int64_t gap = first < 0 ? last : last_without(&s, first, last);
    *out = (kr_plan_size){.first = first < 0 ? -1 : first * step, .searched = n_max / step * step};
    if (first < 0 || (gap == last && !reached))
        out->stable = -1;
    else
        out->stable = gap < 0 ? out->first : (gap + 1) * step;
    return KR_OK;
}

static int64_t scaled(const search *s, int64_t i) {
    return (int64_t)(((wide)s->k * i * s->step + s->n - 1) / s->n);
}

/* Smallest i in a..b at which the scaled count passes, or -1. */
static int64_t first_passing(const search *s, int64_t a, int64_t b) {
    if (scaled(s, a) > kmax_at(s, b))
        return -1;
    if (a == b)
        return a;
    int64_t mid = between(a, b), left = first_passing(s, a, mid);
    return left >= 0 ? left : first_passing(s, mid + 1, b);
}

static bool passes(const search *s, int64_t i) { return scaled(s, i) <= kmax_at(s, i); }

/* A rate that nearly touches eps: some size that passes by bisection, then a hundred sizes over the
 * `teeth` before it, on which sizes pass and fail in turns. */
static int64_t first_nearby(const search *s, int64_t from, int64_t last, int64_t teeth) {
    int64_t lo = from - 1, hi = last;
    if (!passes(s, last))
        return -1;
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (passes(s, mid))
            hi = mid;
        else
            lo = mid;
    }
    for (int64_t i = hi - teeth > from ? hi - teeth : from; i < hi; i += teeth / 100 + 1)
        if (passes(s, i))
            return i;
    return hi;
}

int64_t kr_plan_more(int64_t k, int64_t n, kr_dec eps, kr_level level, int64_t step, int64_t n_max) {
    double d = kr_level_double(level), e = kr_dec_double(eps), gap = e - (double)k / (double)n;
    if (n < 1 || k < 0 || k > n || step < 1 || !(d > 0 && d < 1) || n_max > KR_BINOM_N_MAX)
        return KR_PLAN_NEVER;
    if (k > kr_plugin_max(n, eps) || kr_ratio_cmp(kr_ratio_make(k, n), kr_ratio_dec(eps)) >= 0)
        return KR_PLAN_NEVER;
    if (k <= kr_kmax(n, eps, level))
        return 0;
    search s = {.eps = eps, .level = level, .step = step, .k = k, .n = n};
    int64_t from = n / step + 1, last = n_max / step, i = -1;
    if (from > last)
        return KR_PLAN_BEYOND;
    if (!(gap >= (1 - KR_PLAN_CLOSEST) * e))
        i = first_nearby(&s, from, last, (int64_t)fmin(8 / fmax(gap, 1e-18), (double)KR_BINOM_N_MAX) / step);
    else /* in widening ranges, so that an early answer needs no far look */
        for (int64_t to; from <= last && i < 0; from = to + 1) {
            to = from > last / 2 ? last : 2 * from;
            i = first_passing(&s, from, to);
        }
    return i < 0 ? KR_PLAN_BEYOND : i * step - n;
}
