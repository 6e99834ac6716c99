#include "risk/evalue.h"

#include <math.h>
#include <stdbool.h>

#include "risk/binomial.h"
#include "risk/special.h"

#define LN_SQRT_2PI 0.91893853320467274178

static bool sane(int64_t k, int64_t n, double e) {
    return n >= 1 && n <= KR_BINOM_N_MAX && k >= 0 && k <= n && e > 0 && e < 1;
}

/* ln of x^a (1-x)^b / B(a,b): the same saddle-point form as the binomial mass, for real a, b. */
static double ln_beta_power(double a, double b, double x) {
    double n = a + b, mu = n * x, nu = n * (1 - x);
    double s = kr_stirling_rest(a) + kr_stirling_rest(b) - kr_stirling_rest(n);
    /* B(a,b) = G(a) G(b) / G(a+b) with G(a) = G(a+1)/a */
    return -kr_deviance(a, mu, fma(n, x, -mu)) - kr_deviance(b, nu, fma(n, 1 - x, -nu)) - s -
           LN_SQRT_2PI + 0.5 * (log(a) + log(b) - log(n));
}

/* Continued fraction of the incomplete beta function by Lentz's method (Press et al., "Numerical
 * Recipes", 6.4): I_x(a,b) = x^a (1-x)^b / (a B(a,b)) * value, for x below a/(a+b). */
static double beta_fraction(double a, double b, double x) {
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
    double h = d;
    for (int m = 1; m < 1000000; m++) {
        double num = m * (b - m) * x / ((a - 1 + 2 * m) * (a + 2 * m));
        d = 1 / (1 + num * d);
        c = 1 + num / c;
        h *= d * c;
        num = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 1 + 2 * m));
        d = 1 / (1 + num * d);
        c = 1 + num / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return h;
}

/* ln I_x(a,b) less ln_power = ln_beta_power(a,b,x). */
static double ln_incomplete_over_power(double a, double b, double x, double ln_power) {
    if (x < (a + 1) / (a + b + 2))
        return log(beta_fraction(a, b, x) / a);
    double other = exp(ln_power) * beta_fraction(b, a, 1 - x) / b;
    return log1p(-fmin(other, 1)) - ln_power;
}

/* With a = K+1/2, b = n-K+1/2 the powers of eps cancel all but half an exponent each. */
double kr_evalue_ln(int64_t k, int64_t n, kr_dec eps) {
    double x = kr_dec_double(eps);
    if (!sane(k, n, x))
        return -INFINITY;
    double a = (double)k + 0.5, b = (double)(n - k) + 0.5;
    double cut = log(2 * asin(sqrt(x))); /* ln of B(1/2,1/2) I_x(1/2,1/2) */
    double rest = ln_incomplete_over_power(a, b, x, ln_beta_power(a, b, x));
    return 0.5 * (log(x) + log1p(-x)) - cut + rest;
}

double kr_evalue_point_ln(int64_t k, int64_t n, kr_dec eps, double q) {
    double x = kr_dec_double(eps);
    if (!sane(k, n, x) || !(q > 0 && q < x))
        return -INFINITY;
    return (double)k * log(q / x) + (double)(n - k) * (log1p(-q) - log1p(-x));
}

double kr_evalue_p(double ln_e) { return ln_e > 0 ? exp(-ln_e) : 1; }

int64_t kr_evalue_kmax(int64_t n, kr_dec eps, double delta) {
    if (!sane(0, n, kr_dec_double(eps)) || !(delta > 0 && delta < 1))
        return -1;
    int64_t lo = -1, hi = n; /* E falls in K */
    while (lo < hi) {
        int64_t mid = lo + (hi - lo + 1) / 2;
        if (kr_evalue_ln(mid, n, eps) >= -log(delta) * (1 + 1e-12))
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

kr_limits kr_evalue_limits(int64_t n, kr_dec eps, kr_level level) {
    kr_limits l = {.n = n, .eps = eps, .level = level};
    l.plugin_max = kr_plugin_max(n, eps);
    l.guard_max = l.plugin_max < 1 ? -1 : l.plugin_max - 1;
    l.kmax = kr_evalue_kmax(n, eps, kr_level_double(level)); /* valid beyond the guard of p-values */
    return l;
}
