#include "risk/pertask.h"

#include <math.h>

#include "risk/binomial.h"

static double share(double delta, size_t tasks, kr_interval_rule rule) {
    if (rule == KR_RULE_SIDAK)
        return -expm1(log1p(-delta) / (double)tasks);
    return delta / (double)tasks;
}

kr_status kr_task_intervals(size_t tasks, const int64_t *events, const int64_t *n, kr_dec eps,
                            kr_level delta, kr_interval_rule rule, kr_task_interval *out,
                            kr_error *err) {
    double d = kr_level_double(delta), e = kr_dec_double(eps);
    if (tasks == 0)
        return kr_fail(err, KR_EINVAL, "there is no task to give an interval for");
    if (!(d > 0 && d < 1) || !(e > 0 && e < 1))
        return kr_fail(err, KR_EINVAL, "level %g or risk %g is outside (0, 1)", d, e);
    for (size_t h = 0; h < tasks; h++)
        if (n[h] < 0 || n[h] > KR_BINOM_N_MAX || events[h] < 0 || events[h] > n[h])
            return kr_fail(err, KR_EINVAL, "task %zu has %lld events among %lld requests", h,
                           (long long)events[h], (long long)n[h]);
    double a = share(d, tasks, rule) / 2;
    for (size_t h = 0; h < tasks; h++) {
        kr_task_interval t = {.flag = KR_TASK_OK};
        t.lower = kr_binom_lower(events[h], n[h], a);
        t.upper = kr_binom_upper(events[h], n[h], a);
        if (t.lower > e)
            t.flag = KR_TASK_VIOLATES;
        else if (!(t.upper <= e))
            t.flag = KR_TASK_NOT_SHOWN;
        out[h] = t;
    }
    return KR_OK;
}

const char *kr_task_flag_name(kr_task_flag f) {
    static const char *const names[] = {"ok", "not shown", "violates"};
    return names[f];
}
