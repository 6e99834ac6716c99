/* pair.h - two policies on the same requests. */
#ifndef KR_VERDICT_PAIR_H
#define KR_VERDICT_PAIR_H

#include "risk/compare.h"
#include "verdict/verdict.h"

typedef struct {
    int64_t n, both, only_a, only_b; /* degraded by both, by A alone, by B alone */
    kr_mcnemar_claim test;           /* interval at the contract's confidence */
} kr_pair;

/* KR_EINVAL for published counts. */
kr_status kr_pair_compare(const kr_analysis *a, size_t policy_a, size_t policy_b, kr_pair *out,
                          kr_error *err);
/* One sentence that says who is degraded less often, or that it is not shown. */
void kr_pair_sentence(const kr_analysis *a, size_t policy_a, size_t policy_b, const kr_pair *p,
                      kr_buf *out);

/* "METHOD:LEVEL" (retention as 0.65 or 65%, or a threshold) to a policy; KR_EINVAL. */
kr_status kr_pair_find(const kr_calib *c, const char *text, size_t *policy, kr_error *err);

#endif
