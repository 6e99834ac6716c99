/* plan.h - how many requests a certificate needs. */
#ifndef KR_RISK_PLAN_H
#define KR_RISK_PLAN_H

#include <stdint.h>

#include "base/status.h"
#include "risk/pvalue.h"

/* P[Bin(n, risk) <= kmax]: probability that a policy of that true risk is certified. Exact for
 * equal task risks, a lower bound for unequal ones where kmax >= n risk (Hoeffding 1956). kmax < 0:
 * 0. */
double kr_plan_power(int64_t n, int64_t kmax, double risk);

typedef struct {
    int64_t first;    /* smallest n with the power; -1: none up to n_max */
    int64_t stable;   /* smallest n from which on every n has it; -1: not reached up to n_max */
    int64_t searched; /* n_max, rounded down to a multiple of step */
} kr_plan_size;

#define KR_PLAN_CLOSEST 0.98 /* true risk that is planned for, as a part of eps */

/* Power moves up and down with n in saw-teeth, hence two answers, both exact. n runs over multiples of
 * `step` (the number of tasks, or 1) up to n_max <= KR_BINOM_N_MAX. risk in (0, 0.98 eps], power and
 * level in (0,1). KR_EINVAL otherwise. A few ms. */
kr_status kr_plan_needed(double risk, double power, kr_dec eps, kr_level level, int64_t step,
                         int64_t n_max, kr_plan_size *out, kr_error *err);

#define KR_PLAN_NEVER (-1)  /* the rate is not below eps (or arguments make no sense) */
#define KR_PLAN_BEYOND (-2) /* not up to n_max */

/* Smallest number of further requests with which a candidate with K events among n would pass if its
 * observed rate stayed the same: ceil(K n'/n) <= kmax(n') for n' a multiple of step. 0 if it passes
 * now, else above 0, KR_PLAN_NEVER or KR_PLAN_BEYOND. Exact where K/n is at most 98 % of eps; nearer,
 * up to 0.05 % too many. */
int64_t kr_plan_more(int64_t k, int64_t n, kr_dec eps, kr_level level, int64_t step, int64_t n_max);

#endif
