/* mixture.h - risks of another mixture of tasks than the one that was sampled, of the worst task,
 * and how far the mixture may move. */
#ifndef KR_RISK_MIXTURE_H
#define KR_RISK_MIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "risk/pvalue.h"

typedef struct {
    double p; /* what counts: the exact test where every request weighs the same, else the least of
                 the three bounds of one and the same tail */
    double rate; /* sum of weight_h events_h / n_h */
    bool exact;  /* every request weighs the same */
    double chernoff, bentkus, hoeffding;
} kr_mixture_claim;

/* H: "sum of weight_h risk_h is at least eps". events[h] of n[h] requests of task h; weight[tasks]
 * exact fractions >= 0 that sum to exactly 1. A task of weight 0 is left out. KR_EINVAL: a count
 * out of range, weights that are negative, inexact or do not sum to 1, weight on a task without
 * requests. Bounds: exponential moments with the worst distribution of risks over tasks (Chernoff;
 * at equal weights that is the relative-entropy bound), Bentkus (2004) for weighted sums, Hoeffding
 * (1963). */
kr_status kr_mixture_test(size_t tasks, const int64_t *events, const int64_t *n,
                          const kr_ratio *weight, kr_dec eps, kr_mixture_claim *out, kr_error *err);

/* Upper limit of the risk of any mixture at once, also one named after looking: sum of weight_h
 * times the Clopper-Pearson limit of task h at delta/tasks. */
kr_status kr_mixture_any(size_t tasks, const int64_t *events, const int64_t *n,
                         const kr_ratio *weight, kr_level delta, double *upper, kr_error *err);

/* How many thousandths of the weight may move to task `to` (taken from all tasks in proportion)
 * with every step up to there still certified at `level`; -1 if the mixture itself is not. A
 * sensitivity, not a further claim. */
kr_status kr_mixture_reach(size_t tasks, const int64_t *events, const int64_t *n,
                           const kr_ratio *weight, size_t to, kr_dec eps, kr_level level,
                           int *thousandths, kr_error *err);

/* Rows to keep per task so that the kept ones sample the mixture by themselves: take[h] = N
 * weight_h exactly, with the largest N for which no take[h] exceeds n[h]. *total = N, 0 if there is
 * none. */
kr_status kr_mixture_quota(size_t tasks, const int64_t *n, const kr_ratio *weight, int64_t *take,
                           int64_t *total, kr_error *err);

/* "Every task has risk at most eps": p is the largest of the tasks' p-values, each tested at the
 * full level (intersection-union test, Berger 1982); upper[0] the largest of their upper limits. */
typedef struct {
    double p, upper;
    size_t task; /* the one with the largest p-value */
} kr_worst_claim;
kr_status kr_mixture_worst(size_t tasks, const int64_t *events, const int64_t *n, kr_dec eps,
                           kr_level level, kr_worst_claim *out, kr_error *err);

#endif
