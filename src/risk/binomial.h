/* binomial.h - binomial tails and exact (Clopper-Pearson) confidence limits.
 *
 * Relative error below 1e-12 for n up to 1e5 and below 5e-12 up to 1e7. Never returns NaN: an
 * argument that makes no sense gives the answer that claims least. Pure functions of their
 * arguments, safe from any thread. Cost of a tail: O(sqrt(n p (1-p))). */
#ifndef KR_RISK_BINOMIAL_H
#define KR_RISK_BINOMIAL_H

#include <stdint.h>

/* Largest number of trials the tails are computed for. */
#define KR_BINOM_N_MAX INT64_C(1000000000)

/* X ~ Bin(n, prob): p = P[X <= k], q = P[X > k]. Each is computed without cancellation, so a tiny q
 * is as accurate as a tiny p. A tail too small for a double is 0 with a finite logarithm; a tail
 * that is exactly zero has logarithm -INFINITY. */
typedef struct {
    double p, q;
    double ln_p, ln_q;
} kr_tails;

/* k < 0: p = 0, q = 1. k >= n: p = 1, q = 0. prob <= 0: p = 1 (k >= 0). prob >= 1: p = 0 (k < n).
 * prob NaN, n < 0 or n > KR_BINOM_N_MAX: no statement, p = q = 1. */
kr_tails kr_binom_tails(int64_t k, int64_t n, double prob);

/* ln P[X = k]; -INFINITY outside 0..n and where the mass is exactly zero, and for bad arguments.
 * Saddle-point form of Loader, "Fast and accurate computation of binomial probabilities" (2000). */
double kr_binom_ln_mass(int64_t k, int64_t n, double prob);

/* One-sided Clopper-Pearson limits (Biometrika 26, 1934) at level a in (0,1):
 * upper = sup{p : P[X <= k] >= a}, lower = inf{p : P[X >= k] >= a}.
 * upper = 1 where k >= n, lower = 0 where k <= 0. Bad arguments: upper 1, lower 0. */
double kr_binom_upper(int64_t k, int64_t n, double a);
double kr_binom_lower(int64_t k, int64_t n, double a);

/* The same limits for a sum of n independent trials with unequal probabilities (strata of equal
 * size), as limits on their mean: max(upper, (k+1)/n) cut to 1, min(lower, (k-1)/n) cut to 0.
 * Hoeffding, "On the distribution of the number of successes in independent trials" (1956). */
double kr_binom_upper_strat(int64_t k, int64_t n, double a);
double kr_binom_lower_strat(int64_t k, int64_t n, double a);

#endif
