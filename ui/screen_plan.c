/* How many requests: by true risk, and for each method's next candidate. */
#include <math.h>
#include <stdio.h>

#include "ui/pages.h"
#include "verdict/planning.h"

static void put_size(kr_buf *out, int64_t n, int64_t beyond) {
    if (n >= 0)
        kr_buf_printf(out, " %9lld", (long long)n);
    else
        kr_buf_printf(out, "  >%7lld", (long long)beyond);
}

static void put_next(kr_app *a, size_t m, kr_buf *out) {
    kr_planning_next x = {-1, -1, 0};
    kr_planning_next_at(a->an, m, NULL, &x, NULL);
    char level[32];
    kr_level_label(a, m, x.candidate, level);
    kr_buf_printf(out, "=  %-22.22s ", kr_calib_method(a->calib, m)->name);
    if (x.candidate < 0)
        kr_buf_puts(out, "no candidate is waiting\n");
    else if (x.more < 0)
        kr_buf_printf(out, "%6s: %lld of %lld, no number of requests would do\n", level,
                      (long long)x.events, (long long)kr_analysis_n(a->an));
    else
        kr_buf_printf(out, "%6s: %lld of %lld, %lld more requests\n", level, (long long)x.events,
                      (long long)kr_analysis_n(a->an), (long long)x.more);
}

void kr_page_plan(kr_app *a, kr_buf *out) {
    kr_contract k = kr_analysis_contract(a->an);
    kr_level level = kr_analysis_level(a->an);
    kr_split s = kr_analysis_options_of(a->an).split;
    size_t tasks = kr_calib_task_uniform(a->calib, s) ? kr_calib_tasks(a->calib) : 1;
    int64_t step = tasks > 0 ? (int64_t)tasks : 1, n = kr_analysis_n(a->an);
    kr_planning_row rows[KR_PLANNING_ROWS];
    kr_error err;
    char risk[KR_DEC_TEXT];
    int64_t least = kr_n_min(k.risk, level);
    kr_buf_printf(out, "#Requests needed at risk target %s %%, error level %.3g, certified with "
                       "probability 0.8\n", kr_dec_percent(k.risk, 0, risk), kr_level_double(level));
    kr_buf_printf(out, " At least %lld, with no event at all; %lld are there, in multiples of %lld.\n",
                  (long long)((least + step - 1) / step * step), (long long)n, (long long)step);
    if (kr_planning_table(k.risk, level, n, step, 0.8, rows, &err) != KR_OK) {
        kr_buf_printf(out, "!%s\n", err.msg);
        return;
    }
    kr_buf_puts(out, "=  true risk   first n  stable n   power with what is there\n");
    for (size_t i = 0; i < KR_PLANNING_ROWS; i++) {
        static const char bar[] = "##############################";
        kr_buf_printf(out, "=  %7.3f %%", 100 * rows[i].risk);
        put_size(out, rows[i].needed.first, rows[i].needed.searched);
        put_size(out, rows[i].needed.stable, rows[i].needed.searched);
        kr_buf_printf(out, "   %.3f %.*s\n", rows[i].power_now,
                      (int)lround(30 * rows[i].power_now), bar);
    }
    kr_buf_puts(out, "-first: smallest number that reaches the probability; stable: from there on every "
                     "number does. Equal task risks assumed; unequal ones can only help.\n");
    kr_buf_puts(out, "#\n#Next candidate of each method, if its observed rate stays\n");
    for (size_t m = 0; m < kr_calib_methods(a->calib); m++)
        put_next(a, m, out);
    kr_buf_puts(out, "-A guess about the next sample, no claim: the observed rate is not the risk.\n");
}
