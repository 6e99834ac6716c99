/* Validity, by simulation at its worst case, of what test_honesty.c leaves out: shares that are handed
 * on, grids of risk targets, intervals, the tolerance curve, clusters as a whole, moved mixtures. Beside
 * each stands the naive procedure that it replaces. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "risk/binomial.h"
#include "risk/family.h"
#include "risk/mean.h"
#include "risk/mixture.h"
#include "risk/pertask.h"
#include "risk/posthoc.h"
#include "risk/tolerance.h"
#include "tests/risk/sim.h"

static const kr_dec EPS = {5, 2}; /* 0.05 */
static const kr_level DELTA = {{5, 2}, 1};
#define JUST_ABOVE 0.0500001

static void report(const char *what, int64_t wrong, int64_t naive, int draws) {
    printf("note: %s: %.4f, naive %.4f (%d draws)\n", what, (double)wrong / draws, (double)naive / draws,
           draws);
    assert_true((double)wrong / draws <= sim_allowance(0.05, draws));
}

/* --- a family whose first method passes to its end ---------------------------------------------- */

typedef struct {
    const int64_t *k; /* [methods][2] */
} counts;

static int64_t count_of(void *ctx, size_t c, size_t j) { return ((counts *)ctx)->k[2 * c + j]; }

/* One method never fails and hands its share on; the others have their first candidate just above the
 * target. Naive: the whole level for each of them. */
static void handed_on_shares_stay_within_the_budget(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(31);
    int draws = sim_draws();
    kr_limits full = kr_limits_make(1200, EPS, DELTA);
    for (size_t methods = 2; methods <= 8; methods += 3) {
        size_t length[8];
        kr_family_member f[8];
        int64_t k[16] = {0}, wrong = 0, naive = 0;
        counts t = {k};
        for (size_t c = 0; c < methods; c++)
            length[c] = 2;
        for (int i = 0; i < draws; i++) {
            bool any = false, any_naive = false;
            for (size_t c = 1; c < methods; c++) {
                k[2 * c] = sim_count(r, JUST_ABOVE, 1200);
                k[2 * c + 1] = 1200;
            }
            assert_int_equal(kr_family_certify(methods, length, count_of, &t, 1200, EPS, DELTA, NULL, f, NULL),
                             KR_OK);
            for (size_t c = 1; c < methods; c++) {
                any |= f[c].sequence.certified >= 0;
                any_naive |= k[2 * c] <= full.kmax;
            }
            wrong += any;
            naive += any_naive;
        }
        char what[80];
        snprintf(what, sizeof what, "%d more methods share what a completed one hands on", (int)methods - 1);
        report(what, wrong, naive, draws);
    }
    gsl_rng_free(r);
}

/* --- a declared grid of risk targets -------------------------------------------------------------- */

/* Candidate e is the first null at target e: its risk is just above it, all independent. */
static void a_target_of_the_declared_grid_keeps_the_budget(void **state) {
    (void)state;
    static const kr_dec targets[5] = {{2, 2}, {3, 2}, {5, 2}, {8, 2}, {12, 2}};
    gsl_rng *r = sim_rng(33);
    int draws = sim_draws();
    for (int e = 3; e <= 5; e += 2) {
        kr_level level = kr_posthoc_level(DELTA, 13, (size_t)e);
        int64_t fair[5], full[5], wrong = 0, naive = 0;
        assert_int_equal(level.den, e);
        for (int i = 0; i < e; i++) {
            fair[i] = kr_kmax(1200, targets[i], level);
            full[i] = kr_kmax(1200, targets[i], DELTA);
        }
        for (int d = 0; d < draws; d++) {
            bool any = false, any_naive = false;
            for (int i = 0; i < e; i++) {
                int64_t k = sim_count(r, kr_dec_double(targets[i]) + 1e-7, 1200);
                any |= k <= fair[i];
                any_naive |= k <= full[i];
            }
            wrong += any;
            naive += any_naive;
        }
        char what[80];
        snprintf(what, sizeof what, "13 candidates, any of %d declared risk targets", e);
        report(what, wrong, naive, draws);
    }
    gsl_rng_free(r);
}

/* --- intervals ------------------------------------------------------------------------------------- */

static void intervals_of_all_tasks_hold_together(void **state) {
    (void)state;
    static const double risks[13] = {0.29, 0.005, 0.01, 0.02, 0.03, 0.05, 0.05, 0.1, 0.15, 0.3, 0.5, 0.9, 0.03};
    gsl_rng *r = sim_rng(93);
    int draws = sim_draws();
    for (int rule = KR_RULE_BONFERRONI; rule <= KR_RULE_SIDAK; rule++) {
        int64_t wrong = 0, naive = 0;
        for (int d = 0; d < draws; d++) {
            int64_t k[13], n[13];
            kr_task_interval in[13];
            bool any = false, any_naive = false;
            for (int h = 0; h < 13; h++) {
                n[h] = 100;
                k[h] = sim_count(r, risks[h], 100);
            }
            assert_int_equal(kr_task_intervals(13, k, n, EPS, DELTA, (kr_interval_rule)rule, in, NULL), KR_OK);
            for (int h = 0; h < 13; h++) {
                any |= risks[h] < in[h].lower || risks[h] > in[h].upper;
                any_naive |= (d % 10 == 0) && (risks[h] < kr_binom_lower(k[h], 100, 0.025) ||
                                               risks[h] > kr_binom_upper(k[h], 100, 0.025));
            }
            wrong += any;
            naive += 10 * any_naive; /* every tenth draw */
        }
        report(rule == KR_RULE_SIDAK ? "some interval of 13 tasks misses, Sidak"
                                     : "some interval of 13 tasks misses, Bonferroni", wrong, naive, draws);
    }
    gsl_rng_free(r);
}

/* The limits that stand beside the noise floor and the difference of two policies, in strata that are
 * as unequal as can be: some tasks always fail. Naive: normal limits. */
static void limits_hold_in_unequal_strata(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(94);
    int draws = sim_draws();
    for (int bad = 0; bad <= 2; bad++) { /* tasks of 12 that always fail; the others at 2 % */
        int64_t wrong = 0, naive = 0, n = 12 * 10;
        double risk = (bad + (12 - bad) * 0.02) / 12;
        for (int d = 0; d < draws; d++) {
            int64_t k = 10 * bad + sim_count(r, 0.02, 10 * (12 - bad));
            double mean = (double)k / (double)n, half = 1.96 * sqrt(mean * (1 - mean) / (double)n);
            wrong += risk < kr_binom_lower_strat(k, n, 0.025) || risk > kr_binom_upper_strat(k, n, 0.025);
            naive += risk < mean - half || risk > mean + half;
        }
        char what[80];
        snprintf(what, sizeof what, "limits of a rate miss, %d of 12 tasks always fail", bad);
        report(what, wrong, naive, draws);
    }
    gsl_rng_free(r);
}

/* --- the tolerance curve of one policy --------------------------------------------------------------- */

/* Drops of 0, 0.1 and 0.5; the risk beyond any tolerance below 0.1 is just above the target, so a
 * smaller certified one is wrong. Naive: the empirical quantile. */
static void the_smallest_tolerance_of_one_policy_is_free(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(71);
    int draws = sim_draws();
    int64_t wrong = 0, naive = 0, *drop = malloc(1200 * sizeof *drop);
    kr_limits lim = kr_limits_make(1200, EPS, DELTA);
    assert_non_null(drop);
    for (int d = 0; d < draws; d++) {
        int64_t large = sim_count(r, JUST_ABOVE, 1200), worst = sim_count(r, 0.3, large), t;
        for (int64_t i = 0; i < 1200; i++) /* only the ranks that are looked at differ */
            drop[i] = i < 1200 - large ? 0 : i < 1200 - worst ? KR_NANO / 10 : KR_NANO / 2;
        wrong += kr_tolerance_certified_sorted(1200, lim.kmax, drop, &t) && t < KR_NANO / 10;
        naive += kr_tolerance_certified_sorted(1200, lim.plugin_max, drop, &t) && t < KR_NANO / 10;
    }
    report("smallest tolerance of one policy, exact size 0.0451", wrong, naive, draws);
    free(drop);
    gsl_rng_free(r);
}

/* --- clusters as a whole --------------------------------------------------------------------------- */

/* A cluster of five has an event with probability just above the target. Naive: its requests counted one
 * by one against the same target. */
static void any_request_of_a_cluster(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(25);
    int draws = sim_draws();
    double frail = JUST_ABOVE / (1 - pow(0.5, 5));
    int64_t wrong = 0, naive = 0;
    kr_limits one = kr_limits_make(240, EPS, DELTA), all = kr_limits_make(1200, EPS, DELTA);
    for (int d = 0; d < draws; d++) {
        int64_t any = 0, total = 0, weak = sim_count(r, frail, 240);
        for (int64_t c = 0; c < weak; c++) {
            int64_t k = sim_count(r, 0.5, 5);
            any += k > 0;
            total += k;
        }
        wrong += any <= one.kmax;
        naive += total <= all.kmax;
    }
    report("clusters of 5, any request of each", wrong, naive, draws);
    gsl_rng_free(r);
}

/* --- moved mixtures ---------------------------------------------------------------------------------- */

/* All of the risk lies in one task of four, whose share then grows as far as the answer allows. */
static void a_moved_mixture_is_covered(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(95);
    int draws = sim_draws();
    double growth = 1.25, target = 0.05 / growth;
    int64_t wrong = 0, naive = 0, n = 1200;
    kr_limits declared = kr_limits_make(n, kr_dec_make(4, 2), DELTA), plain = kr_limits_make(n, EPS, DELTA);
    for (int d = 0; d < draws; d++) {
        int64_t k = sim_count(r, 4 * (target + 1e-7), n / 4);
        wrong += k <= declared.kmax; /* risk of the moved mixture: growth times target, above eps */
        naive += k <= plain.kmax;
    }
    report("mixture moved by a growth declared beforehand", wrong, naive, draws);
    wrong = naive = 0;
    /* Whichever of 13 candidates is looked at, by its limit: counted as if tasks were alike, judged as if
     * all of the risk lay in one; no population does worse. */
    for (int d = 0; d < draws; d++) {
        bool any = false, any_naive = false;
        int64_t k[13];
        double later[13], worst = 0, risk[13];
        for (size_t j = 0; j < 13; j++) {
            risk[j] = 0.02 * pow(1.07, (double)j);
            k[j] = sim_count(r, risk[j], n);
        }
        assert_int_equal(kr_posthoc_risks(13, k, n, DELTA, NULL, later, NULL), KR_OK);
        for (size_t j = 0; j < 13; j++) {
            worst = fmax(worst, (d % 4 == 0) ? kr_binom_upper_strat(k[j], n, 0.05) : 1);
            double share = kr_mixture_reach(0.25, later[j], EPS), of = 4 * risk[j];
            any |= share > 0 && (1 - share) * risk[j] + share * of > 0.05;
            any |= kr_mixture_growth(later[j], EPS) > 1 && kr_mixture_growth(later[j], EPS) * risk[j] > 0.05;
            any_naive |= kr_mixture_growth(worst, EPS) > 1 && kr_mixture_growth(worst, EPS) * risk[j] > 0.05;
        }
        wrong += any;
        naive += 4 * any_naive; /* every fourth draw */
    }
    report("13 candidates, mixture moved by a growth picked after looking", wrong, naive, draws);
    gsl_rng_free(r);
}

/* --- upper limits of means are the p-values the other way round --------------------------------------- */

static void limits_of_means_agree_with_their_p_values(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(41);
    static const kr_mean_kind kinds[] = {KR_MEAN_HB, KR_MEAN_BERNSTEIN, KR_MEAN_WSR_ROUNDS};
    int draws = sim_draws() / 40 + 1, below[3] = {0};
    for (int d = 0; d < draws; d++) {
        int64_t loss[240];
        double scale = 0.3 + gsl_rng_uniform(r);
        for (int j = 0; j < 240; j++)
            loss[j] = gsl_rng_uniform(r) < 3 * scale * JUST_ABOVE ? (int64_t)ceil(gsl_ran_beta(r, 1, 2) * 1e9) : 0;
        for (int i = 0; i < 3; i++) {
            kr_mean_claim m;
            assert_int_equal(kr_mean_test(kinds[i], loss, 240, 12, EPS, DELTA, &m, NULL), KR_OK);
            assert_true((m.p <= 0.05) == (m.upper <= 0.05));
            below[i] += m.upper <= 0.05;
        }
    }
    printf("note: limits of means at most 0.05, as their p-values say: HB %d, Bernstein %d, rounds %d (%d draws)\n",
           below[0], below[1], below[2], draws);
    gsl_rng_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handed_on_shares_stay_within_the_budget),
        cmocka_unit_test(a_target_of_the_declared_grid_keeps_the_budget),
        cmocka_unit_test(intervals_of_all_tasks_hold_together),
        cmocka_unit_test(limits_hold_in_unequal_strata),
        cmocka_unit_test(the_smallest_tolerance_of_one_policy_is_free),
        cmocka_unit_test(any_request_of_a_cluster),
        cmocka_unit_test(a_moved_mixture_is_covered),
        cmocka_unit_test(limits_of_means_agree_with_their_p_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
