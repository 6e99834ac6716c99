/* evalue.h - evidence whose confidence may be chosen after looking.
 *
 * An e-value has expectation at most 1 under "the mean risk is at least eps"; so a claim made where
 * E >= 1/d has, for any d chosen from the data, an expected count of false claims times 1/d of at
 * most 1 (Gruenwald, PNAS 121, 2024). It holds for strata of equal size as the binomial test does.
 * In a fixed sequence, walk while E >= 1/d. Never mix: a p-value does not allow this. */
#ifndef KR_RISK_EVALUE_H
#define KR_RISK_EVALUE_H

#include <stdint.h>

#include "risk/pvalue.h"

/* ln E of the likelihood ratio mixed over Beta(1/2,1/2) cut to (0,eps). 0 <= K <= n,
 * 1 <= n <= KR_BINOM_N_MAX, eps in (0,1); anything else: -INFINITY (no evidence). */
double kr_evalue_ln(int64_t k, int64_t n, kr_dec eps);

/* ln E of the single alternative risk q in (0,eps), fixed beforehand. */
double kr_evalue_point_ln(int64_t k, int64_t n, kr_dec eps, double q);

/* The p-value that stays valid at a level chosen afterwards: min(1, 1/E). */
double kr_evalue_p(double ln_e);

/* What the e-value lets pass at `level`, in the form that the walks of sequence.h take: kmax is
 * kr_evalue_kmax. The level may have been picked after looking. */
kr_limits kr_evalue_limits(int64_t n, kr_dec eps, kr_level level);

/* Largest K with E >= 1/delta; -1 if none. */
int64_t kr_evalue_kmax(int64_t n, kr_dec eps, double delta);

#endif
