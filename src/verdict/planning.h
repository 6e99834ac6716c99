/* planning.h - how many requests: for a true risk, for the next candidate of a method, and for what is
 * left open until after looking. */
#ifndef KR_VERDICT_PLANNING_H
#define KR_VERDICT_PLANNING_H

#include "risk/plan.h"
#include "verdict/verdict.h"

#define KR_PLANNING_ROWS 7

typedef struct {
    double risk;         /* true risk of a policy */
    double power_now;    /* probability that it is certified with n requests; NaN for n < 1 */
    kr_plan_size needed; /* requests for the power; -1 where more than the largest number planned for */
} kr_planning_row;

/* rows[KR_PLANNING_ROWS] at 20, 40, 50, 60, 70, 80 and 90 % of eps; step is the number of tasks that
 * share the requests equally. Searched up to KR_BINOM_N_MAX requests. */
kr_status kr_planning_table(kr_dec eps, kr_level level, int64_t n, int64_t step, double power,
                            kr_planning_row *rows, kr_error *err);
/* Smallest multiple of step at which no event at all would certify; -1: beyond KR_BINOM_N_MAX. */
int64_t kr_planning_least(kr_dec eps, kr_level level, int64_t step);

/* Tasks that share the requests equally, else 1. */
int64_t kr_planning_step(const kr_analysis *a);

/* The candidate that stops a method's walk, and how many more requests would let it pass if its
 * observed rate stayed: 0 where none is waiting, KR_PLAN_NEVER, KR_PLAN_BEYOND. */
typedef struct {
    int candidate; /* -1: none is waiting */
    int64_t events, more;
} kr_planning_next;
/* level NULL: the line's own; else the walk at that level. */
kr_status kr_planning_next_at(kr_analysis *a, size_t method, const kr_level *level,
                              kr_planning_next *out, kr_error *err);

/* What may be picked after looking, and the level that pays for it. */
typedef struct {
    const char *name; /* "nothing", "method", "tolerance", "risk", "map", as `--choose` takes them */
    const char *text;
    kr_level level;
} kr_planning_choice;
#define KR_PLANNING_CHOICES 5
void kr_planning_choices(const kr_analysis *a, size_t method, kr_planning_choice out[KR_PLANNING_CHOICES]);

#endif
