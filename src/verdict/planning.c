#include "verdict/planning.h"

#include <math.h>

kr_status kr_planning_table(kr_dec eps, kr_level level, int64_t n, int64_t step, double power,
                            kr_planning_row *rows, kr_error *err) {
    static const double part[KR_PLANNING_ROWS] = {0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
    double e = kr_dec_double(eps);
    int64_t n_max = (int64_t)fmin(2000.0 / e, 2e6); /* at 90 % of eps some 900/eps are needed */
    for (size_t i = 0; i < KR_PLANNING_ROWS; i++) {
        kr_planning_row r = {.risk = part[i] * e, .power_now = NAN};
        kr_status st = kr_plan_needed(r.risk, power, eps, level, step, n_max, &r.needed, err);
        if (st != KR_OK)
            return st;
        if (n >= 1)
            r.power_now = kr_plan_power(n, kr_kmax(n, eps, level), r.risk);
        rows[i] = r;
    }
    return KR_OK;
}

kr_planning_next kr_planning_next_of(const kr_analysis *a, size_t method, int64_t n_max) {
    const kr_line *l = kr_analysis_line(a, method);
    kr_planning_next x = {l->stopped, l->stopped_events, 0};
    if (l->status == KR_ST_REFUSED || l->stopped < 0 || l->stopped_events < 0)
        return (kr_planning_next){-1, -1, 0};
    x.more = kr_plan_more(l->stopped_events, kr_analysis_n(a), kr_analysis_contract(a).risk,
                          kr_analysis_line_limits(a, method)->level, n_max);
    return x;
}
