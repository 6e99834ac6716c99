/* pvalue.h - the p-value behind every certificate, and the counts it lets pass.
 *
 * n independent requests, K of them degraded, H: "the mean risk is at least eps" (eps an exact
 * decimal in (0,1)). Pure functions, safe from any thread. */
#ifndef KR_RISK_PVALUE_H
#define KR_RISK_PVALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "risk/ratio.h"

/* p-values computed in floating point that lie this close to the level, relatively, are undecided
 * and hence not certified. */
#define KR_NEAR_TIE 1e-10

typedef enum { KR_REJECT_NO, KR_REJECT_YES, KR_REJECT_UNDECIDED } kr_reject;

/* Whether K <= n eps - 1, in exact integers. Only below that is the binomial tail an upper bound
 * for every set of unequal per-request risks with the same mean (Hoeffding, "On the distribution of
 * the number of successes in independent trials", 1956), which strata of equal size need. */
bool kr_p_guard(int64_t k, int64_t n, kr_dec eps);

/* P[Bin(n, eps) <= K] where the guard holds, else 1. Also 1 for n < 1, K < 0, K > n and eps outside
 * (0,1). Never NaN. */
double kr_p_value(int64_t k, int64_t n, kr_dec eps);

/* p <= level, inclusive, with the near-tie rule for a p that was computed. A level
 * outside (0,1) rejects nothing, not even p = 0. */
kr_reject kr_p_decide(double p, double level);

/* The same on fractions: exact and inclusive when both sides are exact. */
kr_reject kr_p_decide_ratio(kr_ratio p, kr_ratio level);

/* Largest K that kr_p_value and kr_p_decide certify at `level`; -1 if even K = 0 is not. */
int64_t kr_kmax(int64_t n, kr_dec eps, kr_level level);

/* Largest K with K <= n eps, exact: what empirical thresholding lets pass. -1 for bad arguments. */
int64_t kr_plugin_max(int64_t n, kr_dec eps);

/* Smallest n for which K = 0 is certified; -1 if there is none up to KR_BINOM_N_MAX. */
int64_t kr_n_min(kr_dec eps, kr_level level);

/* Everything that one (n, eps, level) decides about any count: computed once per contract, then a
 * count is judged by integer comparisons alone. */
typedef struct {
    int64_t n;
    kr_dec eps;
    kr_level level;
    int64_t kmax;       /* certified: K <= kmax; -1 none */
    int64_t guard_max;  /* largest K <= n eps - 1; -1 none */
    int64_t plugin_max; /* empirical thresholding: K <= plugin_max */
    bool next_is_tie;   /* K = kmax + 1 is a near tie, undecided */
} kr_limits;

/* n < 1 or n > KR_BINOM_N_MAX or eps outside (0,1): nothing passes. About 10 us at n = 1e6. */
kr_limits kr_limits_make(int64_t n, kr_dec eps, kr_level level);

#endif
