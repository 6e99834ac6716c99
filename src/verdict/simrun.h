/* simrun.h - the simulation of repeated calibration, run on threads beside whoever shows it. */
#ifndef KR_VERDICT_SIMRUN_H
#define KR_VERDICT_SIMRUN_H

#include "risk/simulate.h"
#include "verdict/verdict.h"

typedef struct kr_simrun kr_simrun;

typedef struct {
    int64_t draws;
    int64_t n;   /* requests per draw; 0: as many as the file has, up to a multiple of its tasks */
    int threads; /* at least 1 */
    uint64_t seed;
} kr_simrun_options;

/* Draws from the requests of the analysis' split at its contract; `a` is not used after the call.
 * KR_EINVAL for published counts, or numbers that make no sense. */
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

/* Share of draws that broke the contract with its 95 % Clopper-Pearson interval, and the mean
 * retention with its standard error. All NaN without draws. */
typedef struct {
    double broken, lower, upper, retention, retention_se, fallback;
} kr_sim_row;
kr_sim_row kr_sim_row_of(const kr_sim_rule *rule, int64_t draws);

#endif
