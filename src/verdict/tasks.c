/* tasks.c - a policy task by task: rates, simultaneous intervals, drops. */
#include <math.h>
#include <stdlib.h>

#include "verdict/verdict_impl.h"

static kr_task_drops *drops_of(kr_analysis *a, size_t policy) {
    kr_cached_tasks *oldest = &a->tasks[0];
    for (size_t i = 0; i < a->task_slots; i++) {
        kr_cached_tasks *t = &a->tasks[i];
        if (t->drops != NULL && t->policy == policy) {
            t->last = ++a->clock;
            return t->drops;
        }
        if (oldest->drops != NULL && (t->drops == NULL || t->last < oldest->last))
            oldest = t;
    }
    kr_task_drops *d = kr_task_drops_new(a->c, policy, a->options.split);
    if (d == NULL)
        return NULL;
    kr_task_drops_free(oldest->drops);
    *oldest = (kr_cached_tasks){policy, d, ++a->clock};
    return d;
}

kr_status kr_analysis_task_rates(kr_analysis *a, size_t policy, double *rates, kr_error *err) {
    kr_task_drops *d = kr_calib_tasks(a->c) == 0 ? NULL : drops_of(a, policy);
    if (kr_calib_tasks(a->c) == 0)
        return kr_fail(err, KR_EINVAL, "published counts have no requests and no tasks to show");
    if (d == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t t = 0; t < kr_calib_tasks(a->c); t++) {
        int64_t n = kr_task_drops_n(d, t);
        rates[t] = n > 0 ? (double)kr_task_drops_events(d, t, a->tolerance) / (double)n : NAN;
    }
    return KR_OK;
}

bool kr_analysis_tasks_ready(const kr_analysis *a, size_t policy) {
    for (size_t i = 0; i < KR_TASK_CACHE; i++)
        if (a->tasks[i].drops != NULL && a->tasks[i].policy == policy)
            return true;
    return false;
}

/* Smallest drop that so many tenths of the requests do not exceed (nearest rank); NaN when it is a
 * missing one or there is none. */
static double quantile(const kr_task_drops *d, size_t task, int64_t tenths) {
    int64_t n = kr_task_drops_n(d, task);
    if (n == 0)
        return NAN;
    int64_t rank = (tenths * n + 9) / 10 - 1;
    rank = rank < 0 ? 0 : rank >= n ? n - 1 : rank;
    int64_t v = kr_task_drops_at(d, task, rank);
    return v == INT64_MAX ? NAN : (double)v / (double)KR_NANO;
}

kr_status kr_analysis_tasks(kr_analysis *a, size_t policy, kr_task_row *rows, kr_error *err) {
    size_t tasks = kr_calib_tasks(a->c);
    if (tasks == 0)
        return kr_fail(err, KR_EINVAL, "published counts have no requests and no tasks to show");
    kr_task_drops *d = drops_of(a, policy);
    int64_t *events = malloc(2 * tasks * sizeof *events);
    kr_task_interval *in = malloc(tasks * sizeof *in);
    kr_status st = KR_OK;
    if (d == NULL || events == NULL || in == NULL)
        st = kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t t = 0; t < tasks && st == KR_OK; t++) {
        events[t] = kr_task_drops_events(d, t, a->tolerance);
        events[tasks + t] = kr_task_drops_n(d, t);
    }
    if (st == KR_OK)
        st = kr_task_intervals(tasks, events, events + tasks, a->now.risk,
                               kr_contract_level(&a->now, 1), KR_RULE_BONFERRONI, in, err);
    for (size_t t = 0; t < tasks && st == KR_OK; t++) {
        int64_t n = events[tasks + t];
        rows[t] = (kr_task_row){
            .task = t,
            .n = n,
            .events = events[t],
            .missing = kr_task_drops_missing(d, t),
            .rate = n > 0 ? (double)events[t] / (double)n : NAN,
            .lower = in[t].lower,
            .upper = in[t].upper,
            .flag = in[t].flag,
            .median = quantile(d, t, 5),
            .p90 = quantile(d, t, 9),
            .worst = quantile(d, t, 10),
        };
    }
    free(events);
    free(in);
    return st;
}
