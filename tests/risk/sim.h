/* sim.h - what the simulation tests share: seeded draws, their number, and counts with nested
 * failures. Counts are drawn, not rows, so twenty thousand draws take a moment. */
#ifndef KR_TESTS_RISK_SIM_H
#define KR_TESTS_RISK_SIM_H

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SIM_SLOW
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SIM_SLOW
#endif
#ifdef SIM_SLOW
#define SIM_DRAWS 2000
#else
#define SIM_DRAWS 20000
#endif

/* 20000 (2000 under sanitizers), or KR_SIM_DRAWS: valgrind runs set it lower. */
static inline int sim_draws(void) {
    const char *s = getenv("KR_SIM_DRAWS");
    int n = s ? atoi(s) : SIM_DRAWS;
    return n > 0 ? n : SIM_DRAWS;
}

static inline gsl_rng *sim_rng(unsigned long seed) {
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    if (r == NULL)
        abort();
    gsl_rng_set(r, seed);
    return r;
}

static inline int64_t sim_count(gsl_rng *r, double risk, int64_t n) {
    return gsl_ran_binomial(r, risk, (unsigned)n);
}

/* Counts of m candidates with rising risks whose failures are nested: a request that fails under
 * one candidate fails under every later one. */
static inline void sim_nested(gsl_rng *r, size_t m, const double *risk, int64_t n, int64_t *k) {
    int64_t have = 0;
    double at = 0;
    for (size_t j = 0; j < m; j++) {
        have += sim_count(r, (risk[j] - at) / (1 - at), n - have);
        at = risk[j];
        k[j] = have;
    }
}

/* The same in `tasks` strata of equal size with risk[j] * tilt[h] (mean tilt 1), added up. */
static inline void sim_strata(gsl_rng *r, size_t m, const double *risk, size_t tasks,
                              const double *tilt, int64_t per_task, int64_t *k) {
    for (size_t j = 0; j < m; j++)
        k[j] = 0;
    for (size_t h = 0; h < tasks; h++) {
        double mine[64];
        int64_t part[64];
        for (size_t j = 0; j < m; j++)
            mine[j] = fmin(1, risk[j] * tilt[h]);
        sim_nested(r, m, mine, per_task, part);
        for (size_t j = 0; j < m; j++)
            k[j] += part[j];
    }
}

/* Largest rate that `draws` runs of probability `level` still make likely (4 standard errors). */
static inline double sim_allowance(double level, int draws) {
    return level + 4 * sqrt(level * (1 - level) / draws);
}

#endif
