#include "risk/band.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "risk/binomial.h"
#include "risk/pvalue.h"
#include "risk/special.h"

double kr_dkw_halfwidth(int64_t n, double delta) {
    if (n < 1 || !(delta > 0 && delta <= 0.5))
        return 1;
    return sqrt(-log(delta) / (2 * (double)n));
}

int64_t kr_dkw_kmax(int64_t n, kr_dec eps, double delta) {
    double x = (double)n * (kr_dec_double(eps) - kr_dkw_halfwidth(n, delta));
    return n >= 1 && x >= 0 ? (int64_t)floor(x * (1 - 1e-12)) : -1;
}

int64_t kr_bj_kmax(int64_t n, kr_dec eps, double c) {
    int64_t lo = -1, hi = kr_plugin_max(n, eps);
    double e = kr_dec_double(eps);
    while (lo < hi) {
        int64_t mid = lo + (hi - lo + 1) / 2;
        if (kr_p_decide(kr_binom_tails(mid, n, e).p, c) == KR_REJECT_YES)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

/* Law of the number of points so far, among paths that kept the boundary: q[j], from <= j < to. */
typedef struct {
    double *q, *next, *kernel;
    int64_t from, to;
} law;

/* The number of points up to the first bound, at most `top`. */
static void begin(law *l, double mean, int64_t top) {
    l->from = 0;
    l->to = top + 1;
    for (int64_t j = 0; j <= top; j++)
        l->q[j] = kr_poisson_mass((double)j, mean);
}

/* Adds Poisson(mean) points and drops every path above `top`. Terms below 1e-40 of probability are
 * left out: they cannot reach the sixteenth digit. */
static void advance(law *l, double mean, int64_t top) {
    int64_t width = 0;
    for (double k = exp(-mean); width <= top && (k > 1e-40 || (double)width < mean); width++) {
        l->kernel[width] = k;
        k *= mean / (double)(width + 1);
    }
    memset(l->next + l->from, 0, (size_t)(top + 1 - l->from) * sizeof *l->next);
    for (int64_t j = l->from; j < l->to; j++) {
        int64_t end = j + width <= top + 1 ? width : top + 1 - j;
        double at = l->q[j], *to = l->next + j;
        for (int64_t k = 0; k < end; k++)
            to[k] += at * l->kernel[k];
    }
    double *swap = l->q;
    l->q = l->next;
    l->next = swap;
    l->to = top + 1;
    while (l->from + 1 < l->to && l->q[l->from] < 1e-40)
        l->from++;
}

/* P[some U_(i) < b_i, lo <= i <= hi] with b_i at local level c. A Poisson process of rate n,
 * conditioned on n points in (0,1), is n uniform points. */
static double crossing(int64_t n, int64_t lo, int64_t hi, double c, law *l) {
    double rate = (double)n, at = kr_binom_lower(lo, n, c);
    begin(l, rate * at, lo - 1);
    for (int64_t i = lo + 1; i <= hi; i++) {
        double b = kr_binom_lower(i, n, c);
        advance(l, rate * (b - at), i - 1);
        at = b;
    }
    double keep = 0;
    for (int64_t j = l->from; j < l->to; j++)
        keep += l->q[j] * kr_poisson_mass((double)(n - j), rate * (1 - at));
    return 1 - keep / kr_poisson_mass(rate, rate);
}

/* Root of ln crossing(c) = ln delta in ln c by the Illinois variant of the false position. */
static double solve(int64_t n, int64_t lo, int64_t hi, double delta, law *l) {
    double a = log(delta / (double)(hi - lo + 1)) - 1e-9, b = log(delta) + 1e-9, goal = log(delta);
    double fa = log(crossing(n, lo, hi, exp(a), l)) - goal;
    double fb = log(crossing(n, lo, hi, exp(b), l)) - goal;
    double x = a;
    int side = 0;
    for (int i = 0; i < 100 && fabs(b - a) > 1e-14; i++) {
        x = (fa * b - fb * a) / (fa - fb);
        if (!(x > a && x < b))
            x = a + (b - a) / 2;
        double fx = log(crossing(n, lo, hi, exp(x), l)) - goal;
        if (fabs(fx) < 1e-14)
            break;
        if (fx < 0) {
            a = x, fa = fx;
            fb *= side < 0 ? 0.5 : 1;
            side = -1;
        } else {
            b = x, fb = fx;
            fa *= side > 0 ? 0.5 : 1;
            side = 1;
        }
    }
    return exp(x);
}

kr_status kr_bj_level(int64_t n, double delta, int64_t lo, int64_t hi, double *c, kr_error *err) {
    if (n < 1 || n > KR_BJ_N_MAX || lo < 1 || lo > hi || hi > n || !(delta > 0 && delta < 1))
        return kr_fail(err, KR_EINVAL,
                       "band over order statistics %lld to %lld of %lld at level %g is impossible",
                       (long long)lo, (long long)hi, (long long)n, delta);
    double *room = calloc(3 * (size_t)(n + 2), sizeof *room);
    if (room == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a band of %lld requests", (long long)n);
    law l = {.q = room, .next = room + n + 2, .kernel = room + 2 * (n + 2)};
    double x = solve(n, lo, hi, delta, &l);
    free(room);
    if (!(x > 0 && x <= delta * (1 + 1e-6)))
        return kr_fail(err, KR_ENUM, "no local level found for a band of %lld requests",
                       (long long)n);
    *c = x;
    return KR_OK;
}
