/* pertask.h - simultaneous confidence intervals of the risk, task by task (a diagnosis beside a
 * certificate of the mixture, never part of it). */
#ifndef KR_RISK_PERTASK_H
#define KR_RISK_PERTASK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "risk/ratio.h"

typedef enum {
    KR_TASK_OK,        /* upper limit at most eps */
    KR_TASK_NOT_SHOWN, /* upper limit above eps */
    KR_TASK_VIOLATES   /* lower limit above eps */
} kr_task_flag;

typedef enum {
    KR_RULE_BONFERRONI, /* delta/H each: any dependence between tasks */
    KR_RULE_SIDAK       /* 1 - (1-delta)^(1/H) each: independent tasks */
} kr_interval_rule;

typedef struct {
    double lower, upper; /* two-sided Clopper-Pearson, half of the task's level on each side */
    kr_task_flag flag;
} kr_task_interval;

/* events[h] of n[h] requests in task h, h < tasks; n may differ, n[h] = 0 gives [0,1]. With
 * probability at least 1 - delta every interval holds its task's risk. KR_EINVAL: a count out of
 * 0..n[h], delta or eps outside (0,1), no task. out[tasks] untouched on error. */
kr_status kr_task_intervals(size_t tasks, const int64_t *events, const int64_t *n, kr_dec eps,
                            kr_level delta, kr_interval_rule rule, kr_task_interval *out,
                            kr_error *err);

const char *kr_task_flag_name(kr_task_flag f); /* "ok", "not shown", "violates" */

#endif
