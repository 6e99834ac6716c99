#include "verdict/planning.h"

#include <math.h>

#include "risk/binomial.h"
#include "verdict/joint.h"

kr_status kr_planning_table(kr_dec eps, kr_level level, int64_t n, int64_t step, double power,
                            kr_planning_row *rows, kr_error *err) {
    static const double part[KR_PLANNING_ROWS] = {0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
    double e = kr_dec_double(eps);
    for (size_t i = 0; i < KR_PLANNING_ROWS; i++) {
        kr_planning_row r = {.risk = part[i] * e, .power_now = NAN};
        kr_status st = kr_plan_needed(r.risk, power, eps, level, step, KR_BINOM_N_MAX, &r.needed, err);
        if (st != KR_OK)
            return st;
        if (n >= 1)
            r.power_now = kr_plan_power(n, kr_kmax(n, eps, level), r.risk);
        rows[i] = r;
    }
    return KR_OK;
}

int64_t kr_planning_least(kr_dec eps, kr_level level, int64_t step) {
    int64_t n = kr_n_min(eps, level);
    int64_t up = n < 0 ? -1 : (n + step - 1) / step * step;
    return up > KR_BINOM_N_MAX ? -1 : up;
}

int64_t kr_planning_step(const kr_analysis *a) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_calib_meta *m = kr_calib_meta_of(c);
    if (!kr_calib_task_uniform(c, kr_analysis_options_of(a).split))
        return 1;
    int64_t tasks = m->kind == KR_KIND_COUNTS ? m->counts_tasks : (int64_t)kr_calib_tasks(c);
    return tasks > 0 ? tasks : 1;
}

kr_status kr_planning_next_at(kr_analysis *a, size_t method, const kr_level *level,
                              kr_planning_next *out, kr_error *err) {
    const kr_line *l = kr_analysis_line(a, method);
    kr_contract k = kr_analysis_contract(a);
    kr_level at = level != NULL ? *level : kr_analysis_line_limits(a, method)->level;
    *out = (kr_planning_next){l->stopped, l->stopped_events, 0};
    if (level != NULL && l->status != KR_ST_REFUSED) {
        kr_point p;
        kr_status st = kr_analysis_walk_limits(a, method, k.tolerance, kr_analysis_limits(a, k.risk, at), &p, err);
        if (st != KR_OK)
            return st;
        *out = (kr_planning_next){p.stopped, p.stopped_events, 0};
    }
    if (l->status == KR_ST_REFUSED || out->candidate < 0 || out->events < 0)
        *out = (kr_planning_next){-1, -1, 0};
    else
        out->more = kr_plan_more(out->events, kr_analysis_n(a), k.risk, at, kr_planning_step(a), KR_BINOM_N_MAX);
    return KR_OK;
}

void kr_planning_choices(const kr_analysis *a, size_t method, kr_planning_choice out[KR_PLANNING_CHOICES]) {
    kr_contract k = kr_analysis_contract(a);
    int64_t methods = (int64_t)kr_calib_methods(kr_analysis_calib(a));
    const kr_planning_choice choice[KR_PLANNING_CHOICES] = {
        {"nothing", "nothing: one method, one contract", kr_contract_level(&k, 1)},
        {"method", "the method (family)", kr_contract_level(&k, methods)},
        {"tolerance", "the tolerance", kr_joint_level(a, KR_MODE_TOLERANCES, method, k)},
        {"risk", "the risk target", kr_joint_level(a, KR_MODE_RISKS, method, k)},
        {"map", "tolerance and risk target", kr_joint_level(a, KR_MODE_MAP, method, k)}};
    for (size_t i = 0; i < KR_PLANNING_CHOICES; i++)
        out[i] = choice[i];
}
