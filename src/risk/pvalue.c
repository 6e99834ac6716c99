#include "risk/pvalue.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#include "risk/binomial.h"

__extension__ typedef __int128 wide;

static bool in_unit(kr_dec eps) {
    return kr_dec_cmp(eps, kr_dec_make(0, 0)) > 0 && kr_dec_cmp(eps, kr_dec_make(1, 0)) < 0;
}

static wide ten_to(int scale) {
    wide p = 1;
    for (int i = 0; i < scale; i++)
        p *= 10;
    return p;
}

static bool sane(int64_t n, kr_dec eps) { return n >= 1 && n <= KR_BINOM_N_MAX && in_unit(eps); }

/* n <= 1e9 and eps.digits < 1e18 keep both products far below 2^127. */
bool kr_p_guard(int64_t k, int64_t n, kr_dec eps) {
    if (!sane(n, eps) || k < 0 || k > n)
        return false;
    return ((wide)k + 1) * ten_to(eps.scale) <= (wide)n * eps.digits;
}

int64_t kr_plugin_max(int64_t n, kr_dec eps) {
    return sane(n, eps) ? (int64_t)((wide)n * eps.digits / ten_to(eps.scale)) : -1;
}

double kr_p_value(int64_t k, int64_t n, kr_dec eps) {
    return kr_p_guard(k, n, eps) ? kr_binom_tails(k, n, kr_dec_double(eps)).p : 1;
}

kr_reject kr_p_decide(double p, double level) {
    if (!(level > 0 && level < 1) || !(p >= 0))
        return KR_REJECT_NO;
    if (fabs(p - level) <= KR_NEAR_TIE * level)
        return KR_REJECT_UNDECIDED;
    return p < level ? KR_REJECT_YES : KR_REJECT_NO;
}

kr_reject kr_p_decide_ratio(kr_ratio p, kr_ratio level) {
    if (!kr_ratio_exact(p) || !kr_ratio_exact(level))
        return kr_p_decide(p.value, level.value);
    if (level.num <= 0 || level.num >= level.den || p.num < 0)
        return KR_REJECT_NO;
    return kr_ratio_cmp(p, level) <= 0 ? KR_REJECT_YES : KR_REJECT_NO;
}

static kr_reject decide(int64_t k, int64_t n, kr_dec eps, double level) {
    return kr_p_decide(kr_p_value(k, n, eps), level);
}

/* Quantile of the binomial by the normal law with the skewness term of Cornish and Fisher. */
static int64_t first_guess(int64_t n, double p, double level, int64_t top) {
    double z = gsl_cdf_ugaussian_Qinv(level), m = (double)n;
    double x = m * p - z * sqrt(m * p * (1 - p)) + (1 - 2 * p) * (z * z - 1) / 6 - 0.5;
    if (!(x > 0))
        return 0;
    return x < (double)top ? (int64_t)x : top;
}

/* Follows the tail from k by adding or taking off single masses; a few steps only, so that
 * rounding stays far inside what the closing check of the caller covers. */
static int64_t walk(int64_t k, int64_t n, double p, double level, int64_t top) {
    double tail = kr_binom_tails(k, n, p).p, mass = exp(kr_binom_ln_mass(k, n, p));
    double odds = p / (1 - p);
    for (int i = 0; i < 64 && k >= 0 && tail > level; i++) {
        tail -= mass;
        mass *= (double)k / (odds * (double)(n - k + 1));
        k--;
    }
    for (int i = 0; i < 64 && k >= 0 && k < top; i++) {
        mass *= odds * (double)(n - k) / (double)(k + 1);
        if (tail + mass > level)
            break;
        tail += mass;
        k++;
    }
    return k;
}

/* Largest passing K in lo..hi, where lo passes (or is -1) and hi + 1 does not. */
static int64_t bisect(int64_t lo, int64_t hi, int64_t n, kr_dec eps, double level) {
    while (lo < hi) {
        int64_t mid = lo + (hi - lo + 1) / 2;
        if (decide(mid, n, eps, level) == KR_REJECT_YES)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

/* The walk only proposes: the answer is what kr_p_value itself says of K and K + 1. */
static int64_t largest(int64_t n, kr_dec eps, double level, int64_t top) {
    if (top < 0 || !(level > 0 && level < 1))
        return -1;
    double p = kr_dec_double(eps);
    int64_t k = walk(first_guess(n, p, level, top), n, p, level, top);
    if (k >= 0 && decide(k, n, eps, level) != KR_REJECT_YES)
        return bisect(-1, k - 1, n, eps, level);
    if (k < top && decide(k + 1, n, eps, level) == KR_REJECT_YES)
        return bisect(k + 1, top, n, eps, level);
    return k;
}

int64_t kr_kmax(int64_t n, kr_dec eps, kr_level level) {
    return largest(n, eps, kr_level_double(level), kr_plugin_max(n, eps) - 1);
}

kr_limits kr_limits_make(int64_t n, kr_dec eps, kr_level level) {
    kr_limits l = {.n = n, .eps = eps, .level = level};
    l.plugin_max = kr_plugin_max(n, eps);
    l.guard_max = l.plugin_max < 1 ? -1 : l.plugin_max - 1;
    l.kmax = kr_kmax(n, eps, level);
    l.next_is_tie = l.kmax < l.guard_max &&
                    decide(l.kmax + 1, n, eps, kr_level_double(level)) == KR_REJECT_UNDECIDED;
    return l;
}

int64_t kr_n_min(kr_dec eps, kr_level level) {
    double d = kr_level_double(level);
    if (!in_unit(eps) || !(d > 0) || d >= 1)
        return -1;
    double p = kr_dec_double(eps);
    double guess = fmax(ceil(log(d) / log1p(-p)), ceil(1 / p));
    if (!(guess < (double)KR_BINOM_N_MAX))
        return -1;
    int64_t n = (int64_t)fmax(guess, 1);
    while (n > 1 && decide(0, n - 1, eps, d) == KR_REJECT_YES)
        n--;
    while (n <= KR_BINOM_N_MAX && decide(0, n, eps, d) != KR_REJECT_YES)
        n++;
    return n <= KR_BINOM_N_MAX ? n : -1;
}
