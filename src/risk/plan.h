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

#define KR_PLAN_STEPS 2000000 /* sizes that one search looks at */

typedef struct {
    int64_t first;    /* smallest n with the power; -1: none up to n_max */
    int64_t stable;   /* smallest n from which on every n has it; -1: not reached up to n_max */
    int64_t searched; /* n_max, rounded down to a multiple of step */
} kr_plan_size;

/* Power moves up and down with n in saw-teeth, hence two answers. n runs over multiples of `step`
 * (the number of tasks, or 1) up to n_max. risk in (0, eps), power in (0,1). KR_EINVAL otherwise.
 * About 20 ms for n_max = 12000. */
kr_status kr_plan_needed(double risk, double power, kr_dec eps, kr_level level, int64_t step,
                         int64_t n_max, kr_plan_size *out, kr_error *err);

/* Smallest number of further requests with which a candidate with K events among n would pass if
 * its observed rate stayed the same: ceil(K n'/n) <= kmax(n'). 0 if it passes now, -1 if not up to
 * n_max. Exact where eps - K/n > 4e-4, else at most 4e-4/(eps - K/n) too many. */
int64_t kr_plan_more(int64_t k, int64_t n, kr_dec eps, kr_level level, int64_t n_max);

#endif
