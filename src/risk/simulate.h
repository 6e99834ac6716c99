/* simulate.h - what repeated calibration would have done: the loaded requests are taken as the
 * population, calibration sets are drawn from it with replacement, and each rule's choice is held
 * against the population's own risk. */
#ifndef KR_RISK_SIMULATE_H
#define KR_RISK_SIMULATE_H

#include <stdbool.h>
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
    const double *level;  /* [sum of length] retention of each candidate, methods one after another;
                             NaN: not known, taken for 1 where the lowest is looked for */
    const uint8_t *event; /* [rows][sum of length] 1: degraded, 0: not */
    int64_t n;            /* requests per draw, a multiple of tasks: n/tasks of each task */
    kr_dec eps;
    kr_level delta;
    uint64_t seed;
} kr_sim_setup;

#define KR_SIM_N_MAX 10000000 /* requests per draw */

typedef enum {
    KR_SIM_CERTIFIED,      /* each method alone, at the full delta */
    KR_SIM_EMPIRICAL,      /* each method alone: longest prefix with events <= n eps */
    KR_SIM_FAMILY,         /* lowest retention over methods, one error budget (equal shares, family.h) */
    KR_SIM_UNCORRECTED,    /* the same, each method certified at the full delta */
    KR_SIM_BEST_EMPIRICAL, /* the same by empirical thresholding */
    KR_SIM_RULES
} kr_sim_rule;

/* What the rules chose so far: draws by the candidate chosen (index over all methods), for the first
 * two rules of each method. The other draws fell back to full KV. Counts only, so that the sums are
 * the same bytes for any spread over threads. */
typedef struct {
    int64_t draws;
    int64_t *chosen[KR_SIM_RULES]; /* [candidates] */
} kr_sim_tally;

typedef struct kr_sim kr_sim;

/* KR_EINVAL with a sentence on a setup that is impossible; copies what it needs (rows x candidates
 * bytes). Caller frees. */
kr_status kr_sim_new(const kr_sim_setup *setup, kr_sim **out, kr_error *err);
void kr_sim_free(kr_sim *s);

/* Population risk of a candidate (index over all methods): the mean of the task means. */
double kr_sim_risk(const kr_sim *s, size_t candidate);
/* Its retention, and whether its risk is above eps. */
double kr_sim_level(const kr_sim *s, size_t candidate);
bool kr_sim_broken(const kr_sim *s, size_t candidate);
/* Candidates of a method: how many, and the index of the first. */
size_t kr_sim_length(const kr_sim *s, size_t method, size_t *first);

kr_status kr_sim_tally_new(const kr_sim *s, kr_sim_tally **out, kr_error *err);
void kr_sim_tally_free(kr_sim_tally *t);
/* Adds `from` to `to`; both of the same simulation. */
void kr_sim_tally_add(const kr_sim *s, kr_sim_tally *to, const kr_sim_tally *from);

/* One rule over all draws; `method` matters for the first two rules. Retentions are NaN without draws
 * or where a level that was chosen is not known; full KV is 1. */
typedef struct {
    int64_t broken;           /* draws whose choice has a population risk above eps */
    int64_t fallback;         /* draws without a choice */
    double mean, sd;          /* of the retention chosen */
    double low, median, high; /* a tenth, half and nine tenths of the draws keep at most this */
} kr_sim_result;
kr_sim_result kr_sim_result_of(const kr_sim *s, const kr_sim_tally *t, kr_sim_rule rule, size_t method);

/* Makes draws first .. first+count-1 and adds them to *t. A draw depends on seed and its own number
 * only, so any spread over threads (one tally each) gives the same sums of counts. Cost per draw: n
 * times candidates/8 additions. KR_ENOMEM. */
kr_status kr_sim_run(const kr_sim *s, int64_t first, int64_t count, kr_sim_tally *t, kr_error *err);

#endif
