#include "risk/binomial.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdbool.h>

#include "risk/special.h"

#define LN_SQRT_2PI 0.91893853320467274178

static bool sane(int64_t n, double p) { return n >= 0 && n <= KR_BINOM_N_MAX && !isnan(p); }

/* ln mass for 0 <= k <= n and 0 < p < 1. */
static double ln_mass(int64_t k, int64_t n, double p) {
    double x = (double)k, m = (double)n, y = (double)(n - k);
    if (k == 0)
        return m * log1p(-p);
    if (k == n)
        return m * log(p);
    double q = 1 - p;
    double mu = m * p, mu_lo = fma(m, p, -mu);
    double nu = m * q, nu_lo = fma(m, q, -nu) + m * ((1 - q) - p); /* q's own rounding, exact */
    double d = kr_deviance(x, mu, mu_lo) + kr_deviance(y, nu, nu_lo);
    double s = kr_stirling_rest(m) - kr_stirling_rest(x) - kr_stirling_rest(y);
    return s - d - LN_SQRT_2PI + 0.5 * (log(m / x) - log(y));
}

double kr_binom_ln_mass(int64_t k, int64_t n, double p) {
    if (!sane(n, p) || k < 0 || k > n)
        return -INFINITY;
    if (p <= 0)
        return k == 0 ? 0.0 : -INFINITY;
    if (p >= 1)
        return k == n ? 0.0 : -INFINITY;
    return ln_mass(k, n, p);
}

/* Sum of the masses from k towards 0 (step -1) or towards n (step +1), in units of the mass at k.
 * Called only on the side of k that leads away from the mode, so the terms fall. The rounding
 * error of each addition is carried along (Neumaier). */
static double sum_away(int64_t k, int64_t n, double p, int step) {
    double odds = step < 0 ? (1 - p) / p : p / (1 - p);
    double up = step < 0 ? (double)k : (double)(n - k);
    double down = step < 0 ? (double)(n - k + 1) : (double)(k + 1);
    double sum = 1, low = 0, t = 1;
    while (up > 0) {
        t *= odds * up / down;
        double next = sum + t;
        low += (sum - next) + t;
        sum = next;
        if (t < 1e-18 * sum)
            break;
        up -= 1;
        down += 1;
    }
    return sum + low;
}

/* e^(ln_m) * s, also where e^(ln_m) alone would leave the range of normal doubles. */
static double scaled(double ln_m, double s) {
    return ln_m > -700 ? exp(ln_m) * s : exp(ln_m + log(s));
}

kr_tails kr_binom_tails(int64_t k, int64_t n, double p) {
    const kr_tails nothing = {1, 1, 0, 0}, below = {0, 1, -INFINITY, 0},
                   above = {1, 0, 0, -INFINITY};
    if (!sane(n, p))
        return nothing;
    if (k < 0)
        return below;
    if (k >= n || p <= 0)
        return above;
    if (p >= 1)
        return below;
    /* The half keeps (k = 0, n = 1, p tiny) on the side whose tail is the small one. */
    bool lower = (double)k + 0.5 < (double)n * p;
    int64_t from = lower ? k : k + 1;
    double lm = ln_mass(from, n, p);
    double s = sum_away(from, n, p, lower ? -1 : 1);
    double small = scaled(lm, s), ln_small = lm + log(s);
    if (small > 1) /* one rounding error above certainty */
        small = 1, ln_small = 0;
    double big = 1 - small, ln_big = log1p(-small);
    return lower ? (kr_tails){small, big, ln_small, ln_big}
                 : (kr_tails){big, small, ln_big, ln_small};
}

/* Approximate quantile of Beta(a, b) at upper tail `level`, as a first guess only: Abramowitz and
 * Stegun 26.5.22. May be off or NaN for extreme arguments; the caller brackets. */
static double beta_guess(double a, double b, double level) {
    double y = gsl_cdf_ugaussian_Qinv(level);
    double ra = 1 / (2 * a - 1), rb = 1 / (2 * b - 1);
    double h = 2 / (ra + rb), lambda = (y * y - 3) / 6;
    double w = y * sqrt(h + lambda) / h - (rb - ra) * (lambda + 5.0 / 6 - 2 / (3 * h));
    return a / (a + b * exp(-2 * w));
}

/* ln tail - ln a and its derivative in p. Upper limit: tail P[X <= k], falling in p; lower limit:
 * tail P[X >= k], rising. Both are log-concave in p, so Newton's steps settle on one side. */
static double excess(int64_t k, int64_t n, double p, double ln_a, bool upper, double *slope) {
    kr_tails t = kr_binom_tails(upper ? k : k - 1, n, p);
    double ln_t = upper ? t.ln_p : t.ln_q;
    double ln_m = ln_mass(k, n, p);
    *slope =
        upper ? -(double)(n - k) / (1 - p) * exp(ln_m - ln_t) : (double)k / p * exp(ln_m - ln_t);
    return ln_t - ln_a;
}

/* The limit for 0 < k < n: Newton inside a shrinking bracket. */
static double solve_limit(int64_t k, int64_t n, double a, bool upper) {
    double lo = 0, hi = 1, ln_a = log(a);
    double x = upper ? beta_guess((double)(k + 1), (double)(n - k), a)
                     : beta_guess((double)k, (double)(n - k + 1), 1 - a);
    for (int i = 0; i < 300; i++) {
        if (!(x > lo && x < hi))
            x = lo + (hi - lo) / 2;
        if (x <= lo || x >= hi) /* neighbours: nothing between them */
            break;
        double slope, g = excess(k, n, x, ln_a, upper, &slope);
        if (g == 0)
            break;
        if ((g > 0) == upper)
            lo = x;
        else
            hi = x;
        double next = x - g / slope;
        if (fabs(next - x) <= 2 * DBL_EPSILON * x)
            return next > lo && next < hi ? next : x;
        x = next;
    }
    return x;
}

static bool usable(int64_t k, int64_t n, double a) {
    return n > 0 && n <= KR_BINOM_N_MAX && k >= 0 && k <= n && a > 0 && a < 1;
}

double kr_binom_upper(int64_t k, int64_t n, double a) {
    if (!usable(k, n, a) || k == n)
        return 1;
    if (k == 0)
        return -expm1(log(a) / (double)n);
    return solve_limit(k, n, a, true);
}

double kr_binom_lower(int64_t k, int64_t n, double a) {
    if (!usable(k, n, a) || k == 0)
        return 0;
    if (k == n)
        return exp(log(a) / (double)n);
    return solve_limit(k, n, a, false);
}

double kr_binom_upper_strat(int64_t k, int64_t n, double a) {
    if (!usable(k, n, a) || k == n)
        return 1;
    return fmin(1, fmax(kr_binom_upper(k, n, a), (double)(k + 1) / (double)n));
}

double kr_binom_lower_strat(int64_t k, int64_t n, double a) {
    if (!usable(k, n, a) || k == 0)
        return 0;
    return fmax(0, fmin(kr_binom_lower(k, n, a), (double)(k - 1) / (double)n));
}
