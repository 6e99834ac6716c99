/* planning.h - how many requests: for a true risk, and for the next candidate of a method. */
#ifndef KR_VERDICT_PLANNING_H
#define KR_VERDICT_PLANNING_H

#include "risk/plan.h"
#include "verdict/verdict.h"

#define KR_PLANNING_ROWS 7

typedef struct {
    double risk;         /* true risk of a policy */
    double power_now;    /* probability that it is certified with n requests; NaN for n < 1 */
    kr_plan_size needed; /* requests for the power; -1 where not below the search's end */
} kr_planning_row;

/* rows[KR_PLANNING_ROWS] at 20, 40, 50, 60, 70, 80 and 90 % of eps; step is the number of tasks that
 * share the requests equally. */
kr_status kr_planning_table(kr_dec eps, kr_level level, int64_t n, int64_t step, double power,
                            kr_planning_row *rows, kr_error *err);

/* The candidate that stopped a method's walk, and how many more requests would let it pass if its
 * observed rate stayed: -1 when it never would (or up to n_max), 0 without such a candidate. */
typedef struct {
    int candidate;
    int64_t events, more;
} kr_planning_next;
kr_planning_next kr_planning_next_of(const kr_analysis *a, size_t method, int64_t n_max);

#endif
