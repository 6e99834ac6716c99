/* multiple.h - several claims under one error budget.
 *
 * Every procedure here keeps the probability of even one false rejection at or below delta,
 * whatever the dependence between the p-values. Adjusted p-values: adjusted <= delta where and only
 * where the hypothesis is rejected (up to near ties, which are undecided and not rejected). */
#ifndef KR_RISK_MULTIPLE_H
#define KR_RISK_MULTIPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "risk/pvalue.h"

/* p-values are fractions: kr_ratio_dec for published decimals (compared exactly, inclusively),
 * kr_ratio_double for computed ones (near ties refused). NaN or negative counts as 1. */
typedef struct {
    kr_reject verdict;
    double level;    /* the level it was tested at last; 0 where it was never testable */
    double adjusted; /* adjusted p-value, in [0,1] */
    int order;       /* 1, 2, ... in which it was rejected, 0: not rejected */
} kr_claim;

/* p[m] in the declared order; out[m]. Stops at the first that is not rejected. Returns how many
 * were rejected. */
size_t kr_multiple_fixed(size_t m, const kr_ratio *p, kr_level delta, kr_claim *out);

/* Each at delta/m. */
size_t kr_multiple_bonferroni(size_t m, const kr_ratio *p, kr_level delta, kr_claim *out);

/* Holm (Scandinavian Journal of Statistics 6, 1979): the k-th smallest at delta/(m-k+1), stopping
 * at the first failure; ties by index. O(m^2), no allocation. */
size_t kr_multiple_holm(size_t m, const kr_ratio *p, kr_level delta, kr_claim *out);

/* p-value of "all of these hold" (union of nulls, intersection-union test): the largest. */
kr_ratio kr_multiple_all(size_t m, const kr_ratio *p);

#endif
