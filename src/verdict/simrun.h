/* simrun.h - the simulation of repeated calibration, run on threads beside whoever shows it. */
#ifndef KR_VERDICT_SIMRUN_H
#define KR_VERDICT_SIMRUN_H

#include "risk/simulate.h"
#include "verdict/verdict.h"

typedef struct kr_simrun kr_simrun;

typedef struct {
    int64_t draws;
    int64_t n;   /* requests per draw; 0: as many as the file has */
    int threads; /* at least 1 */
    uint64_t seed;
    kr_level level; /* error level; den 0: what the contract's confidence leaves */
} kr_simrun_options;

/* Draws from the requests of the analysis' split at its contract; `a` is not used after the call. Each
 * task gives the same number of requests where the file's tasks have the same number, else requests are
 * drawn from all. KR_EINVAL for published counts, requests that depend on each other (unless assumed
 * independent), or numbers that make no sense. */
kr_status kr_simrun_start(const kr_analysis *a, kr_simrun_options options, kr_simrun **out,
                          kr_error *err);

/* The sums so far (valid until the next call), and whether the work has ended. Never blocks long. */
const kr_sim_tally *kr_simrun_poll(kr_simrun *r, bool *ended);
/* KR_OK, KR_ECANCELED or what went wrong, once it has ended. */
kr_status kr_simrun_status(const kr_simrun *r);
void kr_simrun_cancel(kr_simrun *r); /* returns at once */
void kr_simrun_free(kr_simrun *r);   /* cancels, waits, releases; NULL is allowed */

const kr_sim *kr_simrun_sim(const kr_simrun *r);
kr_simrun_options kr_simrun_options_of(const kr_simrun *r); /* n filled in */
size_t kr_simrun_tasks(const kr_simrun *r); /* that share n equally; 1: drawn from all requests */

/* Share of draws that broke the contract with its 95 % Clopper-Pearson interval, share that fell back,
 * and a 95 % interval of the mean retention (by the normal law). NaN without draws. */
typedef struct {
    kr_sim_result of;
    double broken, lower, upper, fallback, mean_lower, mean_upper;
} kr_sim_row;
kr_sim_row kr_sim_row_of(const kr_sim *s, const kr_sim_tally *t, kr_sim_rule rule, size_t method);
const char *kr_sim_rule_name(kr_sim_rule rule); /* "certified", "empirical", "best_family", ... */

#endif
