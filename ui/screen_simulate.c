/* Repeated calibration drawn from the loaded requests, as a picture that grows while it runs. */
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "ui/pages.h"
#include "verdict/simrun.h"

enum { DRAWS = 20000, MANY_ROWS = 30000, BAR = 30 };

static bool same_setting(const kr_app *a) {
    kr_contract k = kr_analysis_contract(a->an);
    return kr_dec_cmp(k.tolerance, a->sim_contract.tolerance) == 0 &&
           kr_dec_cmp(k.risk, a->sim_contract.risk) == 0 &&
           kr_dec_cmp(k.confidence, a->sim_contract.confidence) == 0;
}

void kr_sim_begin(kr_app *a) {
    kr_error err;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    kr_simrun_options o = {.draws = DRAWS, .seed = 1, .threads = cores > 1 ? (int)cores - 1 : 1};
    kr_simrun_free(a->sim);
    a->sim = NULL;
    a->sim_contract = kr_analysis_contract(a->an);
    a->sim_ended = a->sim_failed = false;
    if (kr_simrun_start(a->an, o, &a->sim, &err) != KR_OK) {
        a->sim = NULL;
        a->sim_failed = true;
        kr_app_say(a, true, "%s", err.msg);
    }
}

void kr_sim_stop(kr_app *a) {
    if (!kr_sim_running(a))
        return;
    kr_simrun_cancel(a->sim);
    kr_app_say(a, false, "the simulation is stopped; Enter begins it again");
}

bool kr_sim_running(const kr_app *a) { return a->sim != NULL && !a->sim_ended; }

/* Begun between keys, never by one, so that no key waits for the threads of the one before. */
bool kr_sim_wanted(const kr_app *a) {
    size_t rows = kr_calib_rows(a->calib);
    return a->screen == KR_SCREEN_SIMULATE && rows > 0 && rows <= MANY_ROWS && !a->sim_failed &&
           (a->sim == NULL || !same_setting(a));
}

bool kr_sim_tick(kr_app *a) {
    if (kr_sim_wanted(a))
        kr_sim_begin(a);
    if (!kr_sim_running(a))
        return false;
    kr_simrun_poll(a->sim, &a->sim_ended);
    kr_page_refresh(a);
    return a->screen == KR_SCREEN_SIMULATE;
}

void kr_app_finish(kr_app *a) {
    const struct timespec tick = {0, 2 * 1000 * 1000};
    if (kr_sim_wanted(a))
        kr_sim_begin(a);
    while (kr_sim_running(a)) {
        nanosleep(&tick, NULL);
        kr_simrun_poll(a->sim, &a->sim_ended);
    }
    kr_page_refresh(a);
}

/* The share of draws as a bar on a scale of 0 to 50 %, with a mark where delta is. */
static void put_bar(kr_buf *out, double share, double delta) {
    int n = (int)lround(2 * BAR * fmin(share, 0.5)), mark = (int)lround(2 * BAR * fmin(delta, 0.5));
    for (int i = 0; i < BAR; i++)
        kr_buf_puts(out, i == mark ? "|" : i < n ? "#" : " ");
}

static void put_rule(kr_app *a, kr_buf *out, const char *name, const kr_sim_tally *t, kr_sim_rule r, size_t m, double delta) {
    kr_sim_row x = kr_sim_row_of(kr_simrun_sim(a->sim), t, r, m);
    kr_buf_printf(out, "=  %-22.22s ", name);
    put_bar(out, x.broken, delta);
    kr_buf_printf(out, " %6.2f%% [%5.2f, %5.2f] keeps %5.1f%%%s\n", 100 * x.broken, 100 * x.lower,
                  100 * x.upper, 100 * x.of.mean, x.lower > delta ? "  TOO OFTEN" : "");
}

static void put_results(kr_app *a, const kr_sim_tally *t, kr_buf *out) {
    double delta = kr_level_double(kr_contract_level(&a->sim_contract, 1));
    const char *name = kr_calib_method(a->calib, a->method)->name;
    kr_buf_printf(out, "#%s alone\n", name);
    put_rule(a, out, "certified", t, KR_SIM_CERTIFIED, a->method, delta);
    put_rule(a, out, "empirical", t, KR_SIM_EMPIRICAL, a->method, delta);
    kr_buf_puts(out, "#The lowest retention over all methods\n");
    put_rule(a, out, "as a family", t, KR_SIM_FAMILY, 0, delta);
    put_rule(a, out, "uncorrected", t, KR_SIM_UNCORRECTED, 0, delta);
    put_rule(a, out, "empirical", t, KR_SIM_BEST_EMPIRICAL, 0, delta);
    kr_buf_puts(out, "#Every method, empirical thresholding\n");
    for (size_t m = 0; m < kr_calib_methods(a->calib); m++)
        put_rule(a, out, kr_calib_method(a->calib, m)->name, t, KR_SIM_EMPIRICAL, m, delta);
    kr_buf_puts(out, "-Bars from 0 to 50 % of draws whose choice breaks the contract on the population, "
                     "with 95 % intervals; | is the allowed error. The loaded requests are the "
                     "population here: this judges the rules, not the policies.\n");
}

void kr_page_simulate(kr_app *a, kr_buf *out) {
    bool many = kr_calib_rows(a->calib) > MANY_ROWS;
    kr_buf_puts(out, "#Repeated calibration: how often does each rule break the contract?\n");
    if (a->sim == NULL) {
        kr_buf_puts(out, kr_calib_rows(a->calib) == 0
                             ? "!Published counts have no requests to draw from.\n"
                         : many ? " Enter begins it; with this many requests it takes a while.\n"
                                : " about to begin\n");
        return;
    }
    bool ended;
    const kr_sim_tally *t = kr_simrun_poll(a->sim, &ended);
    kr_simrun_options o = kr_simrun_options_of(a->sim);
    kr_buf_printf(out, " %lld of %lld draws of %lld requests, seed %llu%s\n", (long long)t->draws,
                  (long long)o.draws, (long long)o.n, (unsigned long long)o.seed,
                  !ended               ? "; running, c stops it"
                  : t->draws < o.draws ? "; stopped"
                                       : "");
    if (t->draws > 0)
        put_results(a, t, out);
}
