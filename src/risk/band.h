/* band.h - bands that hold for every tolerance and every risk target of one policy at once.
 *
 * Both assume requests drawn independently from the mixture of tasks (not fixed strata). They
 * answer a larger question than delta/min(m, G) does (posthoc.h) and cost more. */
#ifndef KR_RISK_BAND_H
#define KR_RISK_BAND_H

#include <stdint.h>

#include "base/decimal.h"
#include "base/status.h"

/* One-sided Dvoretzky-Kiefer-Wolfowitz-Massart half-width sqrt(ln(1/delta)/(2n)) (Massart, Annals
 * of Probability 18, 1990), valid for delta <= 1/2; 1 outside 0 < delta <= 1/2 or for n < 1. */
double kr_dkw_halfwidth(int64_t n, double delta);

/* Largest K with K/n + half-width <= eps; -1 if none. */
int64_t kr_dkw_kmax(int64_t n, kr_dec eps, double delta);

/* Local level c of the one-sided Berk-Jones band (Berk and Jones 1979; recursion of Moscovich and
 * Nadler, "Fast calculation of boundary crossing probabilities for Poisson processes", 2017):
 * P[U_(i) >= b_i for lo <= i <= hi] = 1 - delta for n uniform order statistics, with b_i the
 * c-quantile of U_(i). The bound at K events is then the Clopper-Pearson limit at level c. 1 <= lo
 * <= hi <= n; lo = 1, hi = n is the full range, lo = ceil(.8 n), hi = floor(.99 n) serves eps in
 * [.01,.2]. Takes about 0.1 s at n = 1200, growing like n^1.5. n at most KR_BJ_N_MAX. */
#define KR_BJ_N_MAX 20000
kr_status kr_bj_level(int64_t n, double delta, int64_t lo, int64_t hi, double *c, kr_error *err);

/* Largest K whose Clopper-Pearson upper limit at level c is at most eps; -1 if none. */
int64_t kr_bj_kmax(int64_t n, kr_dec eps, double c);

#endif
