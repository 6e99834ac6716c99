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

/* Upper limit U of the mixture's risk R at `level`: P[R <= U] >= 1 - level. The inverse of
 * kr_mixture_test in eps. */
kr_status kr_mixture_upper(size_t tasks, const int64_t *events, const int64_t *n,
                           const kr_ratio *weight, kr_level level, double *upper, kr_error *err);

/* How far the mixture may move where R <= U is known. Every mixture w' with w'_h <= g w_h for all tasks
 * has risk sum w'_h r_h <= g sum w_h r_h = g R <= g U: all of them are covered at once by that one event
 * for g = eps/U. growth: that g, 1 where U leaves no room, INFINITY for U = 0. reach: the share of all
 * requests, 0..1, that may move to one task of weight w (from all tasks in proportion): the risk is then
 * (1-t) R + t r with r <= min(1, R/w), which is at most eps for t <= (eps - U) / (min(1, U/w) - U). A task
 * that has all of the risk attains it, so nothing better follows from R <= U alone. U must be a limit
 * that holds for the policy in hand: of a policy selected from a chain that is the running limit of
 * posthoc.h, or a target eps/g declared beforehand. */
double kr_mixture_growth(double upper, kr_dec eps);
double kr_mixture_reach(double weight, double upper, kr_dec eps);

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
