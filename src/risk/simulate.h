/* simulate.h - what repeated calibration would have done: the loaded requests are taken as the
 * population, calibration sets are drawn from it with replacement, and each rule's choice is held
 * against the population's own risk. */
#ifndef KR_RISK_SIMULATE_H
#define KR_RISK_SIMULATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "risk/pvalue.h"

/* What to draw from. All arrays are borrowed for the call that takes them. */
typedef struct {
    size_t rows, tasks;
    const uint32_t *task; /* [rows] < tasks; every task has a row */
    size_t methods;       /* >= 1 */
    const size_t *length; /* [methods] candidates of each, conservative first */
    const double
        *level; /* [sum of length] retention of each candidate, methods one after another */
    const uint8_t *event; /* [rows][sum of length] 1: degraded, 0: not */
    int64_t n;            /* requests per draw, a multiple of tasks: n/tasks of each task */
    kr_dec eps;
    kr_level delta;
    uint64_t seed;
} kr_sim_setup;

/* One rule over all draws so far. */
typedef struct {
    int64_t broken;       /* draws whose choice has a population risk above eps */
    int64_t fallback;     /* draws without a choice (full KV, retention 1) */
    double level, level2; /* sums of the chosen retention and of its square */
} kr_sim_rule;

typedef struct {
    int64_t draws;
    kr_sim_rule best_naive;  /* lowest retention over methods, each certified at the full delta */
    kr_sim_rule best_family; /* the same with one error budget (equal shares, see family.h) */
    kr_sim_rule best_empirical; /* the same by empirical thresholding */
    kr_sim_rule *certified;     /* [methods] each method alone */
    kr_sim_rule *empirical;     /* [methods] */
} kr_sim_tally;

typedef struct kr_sim kr_sim;

/* KR_EINVAL with a sentence on a setup that is impossible; copies what it needs (rows x candidates
 * bytes). Caller frees. */
kr_status kr_sim_new(const kr_sim_setup *setup, kr_sim **out, kr_error *err);
void kr_sim_free(kr_sim *s);

/* Population risk of a candidate (index over all methods): the mean of the task means. */
double kr_sim_risk(const kr_sim *s, size_t candidate);

kr_status kr_sim_tally_new(const kr_sim *s, kr_sim_tally **out, kr_error *err);
void kr_sim_tally_free(kr_sim_tally *t);
/* Adds `from` to `to`; both of the same simulation. */
void kr_sim_tally_add(const kr_sim *s, kr_sim_tally *to, const kr_sim_tally *from);

/* Makes draws first .. first+count-1 and adds them to *t. A draw depends on seed and its own number
 * only, so any spread over threads (one tally each) gives the same sums of counts. Cost per draw: n
 * times candidates/8 additions. KR_ENOMEM. */
kr_status kr_sim_run(const kr_sim *s, int64_t first, int64_t count, kr_sim_tally *t, kr_error *err);

#endif
