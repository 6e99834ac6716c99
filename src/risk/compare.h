/* compare.h - two policies on the same requests. */
#ifndef KR_RISK_COMPARE_H
#define KR_RISK_COMPARE_H

#include <stdint.h>

#include "base/status.h"

/* Exact test of McNemar (Psychometrika 12, 1947): given b + c discordant requests, b is binomial
 * with probability 1/2 when both risks are equal. A statement about A against B, never a
 * certificate. */
typedef struct {
    double two_sided;    /* H: equal risks; 1 where b + c = 0 */
    double a_better;     /* H: A is degraded at least as often as B */
    double b_better;     /* the other way round */
    double mid;          /* two-sided mid-p: for display, not exact */
    double lower, upper; /* limits for (risk of A) - (risk of B) at 1 - level, tasks of equal size
                            included: the differences of exact limits of the two discordant
                            shares, a quarter of the level each */
} kr_mcnemar_claim;

/* b requests degraded by A only, c by B only, of n. level in (0,1). */
kr_status kr_mcnemar(int64_t b, int64_t c, int64_t n, double level, kr_mcnemar_claim *out,
                     kr_error *err);

#endif
