/* Validity of what may be chosen after looking, by simulation at the worst case of each procedure:
 * risks just above the target and as little dependence as the design allows. Beside each stands the
 * naive procedure that it replaces. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "risk/binomial.h"
#include "risk/compare.h"
#include "risk/evalue.h"
#include "risk/family.h"
#include "risk/mean.h"
#include "risk/mixture.h"
#include "risk/posthoc.h"
#include "risk/split.h"
#include "tests/risk/sim.h"

static const kr_dec EPS = {5, 2}; /* 0.05 */
static const kr_level DELTA = {{5, 2}, 1};
#define JUST_ABOVE 0.0500001

static double share(int64_t k, int draws) { return (double)k / draws; }

static void report(const char *what, int64_t honest, int64_t naive, int draws) {
    printf("note: %s: %.4f, naive %.4f (%d draws)\n", what, share(honest, draws),
           share(naive, draws), draws);
    assert_true(share(honest, draws) <= sim_allowance(0.05, draws));
}

/* --- the best of several methods ----------------------------------------------------------- */

typedef struct {
    size_t steps;
    const int64_t *k; /* [methods][steps] */
} chains;

static int64_t chain_count(void *ctx, size_t c, size_t j) {
    const chains *t = ctx;
    return t->k[c * t->steps + j];
}

/* Does picking the method with the longest certified prefix pick one with a risk above the target?
 * The candidate at `bad` is the first such in every method. */
static void best_of(size_t methods, double step, size_t bad, gsl_rng *r, int draws, double naive) {
    int64_t k[12 * 4], wrong = 0, wrong_naive = 0;
    size_t length[12], steps = 4;
    double risk[4];
    kr_family_member f[12];
    kr_limits full = kr_limits_make(1200, EPS, DELTA);
    char what[100];
    for (size_t j = 0; j < steps; j++)
        risk[j] = JUST_ABOVE * pow(step, (double)j - (double)bad);
    for (size_t c = 0; c < methods; c++)
        length[c] = steps;
    for (int i = 0; i < draws; i++) {
        chains t = {steps, k};
        int64_t longest = -1, longest_naive = -1;
        for (size_t c = 0; c < methods; c++)
            sim_nested(r, steps, risk, 1200, k + c * steps);
        assert_int_equal(
            kr_family_certify(methods, length, chain_count, &t, 1200, EPS, DELTA, NULL, f, NULL),
            KR_OK);
        for (size_t c = 0; c < methods; c++) {
            const int64_t *column = k + c * steps;
            kr_sequence s;
            kr_sequence_certify(&full, steps, column, NULL, &s, NULL);
            longest = f[c].sequence.certified > longest ? f[c].sequence.certified : longest;
            longest_naive = s.certified > longest_naive ? s.certified : longest_naive;
        }
        wrong += longest >= (int64_t)bad;
        wrong_naive += longest_naive >= (int64_t)bad;
    }
    snprintf(what, sizeof what, "best of %zu methods, risk x%.2f, candidate %zu bad (naive expected %.3f)",
             methods, step, bad + 1, naive);
    report(what, wrong, wrong_naive, draws);
    if (draws >= 5000)
        assert_true(fabs(share(wrong_naive, draws) - naive) < 0.02);
}

static void the_best_method_keeps_one_budget(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(6);
    int draws = sim_draws();
    for (size_t m = 4; m <= 12; m += 8) { /* 0.0451: size of one test at n = 1200 */
        best_of(m, 1.25, 0, r, draws, kr_family_naive_error(0.0451, (int64_t)m));
        best_of(m, 1.25, 2, r, draws, kr_family_naive_error(0.0451, (int64_t)m));
    }
    gsl_rng_free(r);
}

/* --- tolerance and risk target after looking ------------------------------------------------- */

#define CHAIN 13

/* Candidate j has no events at tolerances beyond the j-th and a risk just above the target there:
 * each grid point has another first null, all independent. */
static int64_t diagonal(void *ctx, size_t t, size_t j) {
    const int64_t *k = ctx;
    return j < t ? 0 : j == t ? k[j] : 1200;
}

static void a_tolerance_picked_from_the_table_keeps_the_budget(void **state) {
    (void)state;
    static const size_t grids[] = {3, 5, 13};
    gsl_rng *r = sim_rng(72);
    int draws = sim_draws();
    kr_limits full = kr_limits_make(1200, EPS, DELTA);
    for (int g = 0; g < 3; g++) {
        int64_t wrong = 0, naive = 0;
        for (int i = 0; i < draws; i++) {
            int64_t k[CHAIN];
            kr_sequence s[CHAIN];
            bool any = false, any_naive = false;
            for (size_t j = 0; j < CHAIN; j++)
                k[j] = sim_count(r, JUST_ABOVE, 1200);
            assert_int_equal(kr_posthoc_tolerances(grids[g], CHAIN, diagonal, k, 1200, EPS, DELTA,
                                                   NULL, s, NULL),
                             KR_OK);
            for (size_t t = 0; t < grids[g]; t++) {
                any |= s[t].certified >= (int64_t)t;
                any_naive |= k[t] <= full.kmax;
            }
            wrong += any;
            naive += any_naive;
        }
        char what[100];
        snprintf(what, sizeof what, "13 candidates, any of %zu tolerances (naive expected %.3f)", grids[g],
                 kr_family_naive_error(0.0451, (int64_t)grids[g]));
        report(what, wrong, naive, draws);
    }
    gsl_rng_free(r);
}

/* Cell (t, e) of a 3 x 3 map of tolerances and risk targets has its own first null, candidate 3t+e,
 * with a risk just above target e at tolerance t. */
static void a_cell_picked_from_the_map_keeps_the_budget(void **state) {
    (void)state;
    static const kr_dec targets[3] = {{3, 2}, {5, 2}, {1, 1}};
    gsl_rng *r = sim_rng(75);
    int draws = sim_draws();
    kr_level level = kr_posthoc_level_map(DELTA, 9, 3, 3);
    int64_t fair[3], full[3], wrong = 0, naive = 0;
    assert_int_equal(level.den, 9);
    for (int e = 0; e < 3; e++) {
        fair[e] = kr_kmax(1200, targets[e], level);
        full[e] = kr_kmax(1200, targets[e], DELTA);
    }
    for (int i = 0; i < draws; i++) {
        bool any = false, any_naive = false;
        for (int cell = 0; cell < 9; cell++) {
            int64_t k = sim_count(r, kr_dec_double(targets[cell % 3]) + 1e-7, 1200);
            any |= k <= fair[cell % 3];
            any_naive |= k <= full[cell % 3];
        }
        wrong += any;
        naive += any_naive;
    }
    report("9 candidates, any cell of a 3 x 3 map", wrong, naive, draws);
    gsl_rng_free(r);
}

static void a_risk_target_picked_afterwards_keeps_the_budget(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(74);
    int draws = sim_draws();
    int64_t wrong = 0, naive = 0;
    for (int i = 0; i < draws; i++) {
        int64_t k[CHAIN];
        double u[CHAIN], own[CHAIN], worst = 0;
        bool any = false, any_naive = false;
        for (size_t j = 0; j < CHAIN; j++)
            k[j] = sim_count(r, 0.01 * pow(1.35, (double)j), 300);
        assert_int_equal(kr_posthoc_risks(CHAIN, k, 300, DELTA, NULL, u, NULL), KR_OK);
        for (size_t j = 0; j < CHAIN; j++) {
            own[j] = kr_binom_upper_strat(k[j], 300, 0.05);
            worst = fmax(worst, own[j]);
            any |= u[j] < 0.01 * pow(1.35, (double)j);
            any_naive |= worst < 0.01 * pow(1.35, (double)j);
        }
        wrong += any;
        naive += any_naive;
    }
    report("13 candidates, any risk target, n = 300 (naive expected .09 to .16)", wrong, naive, draws);
    gsl_rng_free(r);
}

/* A level picked so as to make the claim just pass: the mean of 1/level over false claims is at
 * most one for e-values. With p-values it has no bound. */
static void a_confidence_picked_afterwards_is_paid_for(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(76);
    int draws = sim_draws();
    double sum = 0, sum_p = 0;
    static const double tilt[12] = {0.2, 0.4, 0.4, 0.6, 0.6, 0.8, 1, 1, 1.2, 1.6, 1.8, 2.4};
    for (int i = 0; i < draws; i++) {
        int64_t k;
        double risk = JUST_ABOVE;
        sim_strata(r, 1, &risk, 12, tilt, 100, &k);
        double e = exp(kr_evalue_ln(k, 1200, EPS)), p = kr_p_value(k, 1200, EPS);
        sum += e;
        sum_p += 1 / p;
    }
    printf("note: confidence picked afterwards, mean of 1/level over claims: e-value %.3f, "
           "p-value %.2f (%d draws)\n",
           sum / draws, sum_p / draws, draws);
    assert_true(sum / draws < 1.1 + 10 / sqrt(draws));
    gsl_rng_free(r);
}

/* --- looks at growing samples ----------------------------------------------------------------- */

static void looks_share_the_budget_or_use_e_values(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(84);
    int draws = sim_draws();
    static const int looks[] = {2, 5, 20};
    for (int l = 0; l < 3; l++) {
        int64_t wrong = 0, naive = 0, wrong_e = 0, each = 1200 / looks[l];
        kr_limits full[20], part[20];
        int64_t e_kmax[20];
        for (int i = 0; i < looks[l]; i++) {
            full[i] = kr_limits_make(each * (i + 1), EPS, DELTA);
            part[i] = kr_limits_make(each * (i + 1), EPS, kr_level_make(DELTA.num, looks[l]));
            e_kmax[i] = kr_evalue_kmax(each * (i + 1), EPS, 0.05);
        }
        for (int d = 0; d < draws; d++) {
            int64_t k = 0;
            bool a = false, b = false, c = false;
            for (int i = 0; i < looks[l]; i++) {
                k += sim_count(r, JUST_ABOVE, each);
                a |= k <= part[i].kmax;
                b |= k <= full[i].kmax;
                c |= k <= e_kmax[i];
            }
            wrong += a;
            naive += b;
            wrong_e += c;
        }
        static const char *const expected[] = {"expected .037, naive .062", "expected .025, naive .116",
                                               "expected .014, naive .178"};
        char what[100];
        snprintf(what, sizeof what, "%d looks at a growing sample, level shared (%s)", looks[l], expected[l]);
        report(what, wrong, naive, draws);
        snprintf(what, sizeof what, "%d looks at a growing sample, e-value (unlimited looks: .038)", looks[l]);
        report(what, wrong_e, naive, draws);
    }
    gsl_rng_free(r);
}

/* --- clusters ------------------------------------------------------------------------------- */

/* Requests in clusters of five whose failures are correlated (beta-binomial, intraclass correlation
 * 0.3): all rows as if independent, one row per cluster, and the mean loss per cluster. */
static void clusters_count_once(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(24);
    int draws = sim_draws();
    double a = JUST_ABOVE * (1 / 0.3 - 1), b = (1 - JUST_ABOVE) * (1 / 0.3 - 1);
    kr_limits all = kr_limits_make(1200, EPS, DELTA), one = kr_limits_make(240, EPS, DELTA);
    int64_t wrong = 0, naive = 0, wrong_mean = 0;
    for (int i = 0; i < draws; i++) {
        int64_t total = 0, single = 0, loss[240];
        for (int c = 0; c < 240; c++) {
            double p = gsl_ran_beta(r, a, b);
            int64_t first = gsl_rng_uniform(r) < p, rest = sim_count(r, p, 4);
            single += first;
            total += first + rest;
            loss[c] = (first + rest) * (KR_NANO / 5);
        }
        naive += total <= all.kmax;
        wrong += single <= one.kmax;
        wrong_mean += kr_mean_p(KR_MEAN_HB, loss, 240, 1, EPS, DELTA) <= 0.05;
    }
    report("clusters of 5, one request of each (naive expected .133)", wrong, naive, draws);
    report("clusters of 5, mean loss of each (naive expected .133)", wrong_mean, naive, draws);
    gsl_rng_free(r);
}

/* --- mixtures ------------------------------------------------------------------------------- */

static void mixture_case(const char *name, const double *risk, gsl_rng *r, int draws) {
    kr_ratio w[12];
    int64_t n[12], k[12], wrong = 0, naive = 0, wrong_sub = 0, take[12], total;
    for (size_t h = 0; h < 12; h++) {
        w[h] = kr_ratio_make(h == 0 ? 6 : h == 1 ? 4 : 1, 20);
        n[h] = 100;
    }
    kr_mixture_quota(12, n, w, take, &total, NULL);
    kr_limits sub = kr_limits_make(total, EPS, DELTA);
    for (int i = 0; i < draws; i++) {
        int64_t kept = 0, sum = 0;
        kr_mixture_claim c;
        for (size_t h = 0; h < 12; h++) {
            int64_t of_kept = sim_count(r, risk[h], take[h]);
            k[h] = of_kept + sim_count(r, risk[h], n[h] - take[h]);
            kept += of_kept;
            sum += k[h];
        }
        kr_mixture_test(12, k, n, w, EPS, &c, NULL);
        wrong += c.p <= 0.05;
        naive += sum <= 47; /* the weights forgotten */
        wrong_sub += kept <= sub.kmax;
    }
    char what[80];
    snprintf(what, sizeof what, "mixture 30/20/5 %%, %s", name);
    report(what, wrong, naive, draws);
    snprintf(what, sizeof what, "mixture 30/20/5 %%, %s, sub-sample of %d", name, (int)total);
    report(what, wrong_sub, naive, draws);
}

static void a_mixture_is_certified_as_a_mixture(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(91);
    int draws = sim_draws();
    double even[12], heavy[12] = {JUST_ABOVE / 0.3}, two[12] = {0.1000001, 0.1000001};
    for (int h = 0; h < 12; h++)
        even[h] = JUST_ABOVE;
    mixture_case("equal risks", even, r, draws);
    mixture_case("all in the heaviest", heavy, r, draws);
    mixture_case("two heavy", two, r, draws);
    gsl_rng_free(r);
}

static void the_worst_task_is_not_averaged_away(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(92);
    int draws = sim_draws();
    int64_t wrong = 0, naive = 0;
    for (int i = 0; i < draws; i++) {
        int64_t n[12], k[12] = {0};
        kr_worst_claim c;
        for (int h = 0; h < 12; h++)
            n[h] = 100;
        k[5] = sim_count(r, JUST_ABOVE, 100);
        kr_mixture_worst(12, k, n, EPS, DELTA, &c, NULL);
        wrong += c.p <= 0.05;
        naive += k[5] <= 47;
    }
    report("every task, one at the target", wrong, naive, draws);
    gsl_rng_free(r);
}

/* --- mean loss, comparison, explore and confirm ------------------------------------------------
 */

static void mean_losses_hold(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(4);
    int draws = sim_draws();
    int64_t wrong[KR_MEAN_WSR_ROUNDS + 1] = {0}, lone = 0;
    for (int i = 0; i < draws; i++) {
        int64_t loss[240], one[240];
        for (int j = 0; j < 240; j++) { /* mostly none, else a Beta(1,2) drop of mean 1/3 */
            bool hit = gsl_rng_uniform(r) < 3 * JUST_ABOVE;
            loss[j] = hit ? (int64_t)ceil(gsl_ran_beta(r, 1, 2) * 1e9) : 0;
            /* one task of twelve carries everything, in rounds of one request per task */
            one[j] = j % 12 == 3 && gsl_rng_uniform(r) < 12 * JUST_ABOVE ? KR_NANO : 0;
        }
        for (int k = KR_MEAN_HOEFFDING; k <= KR_MEAN_WSR_ROUNDS; k++)
            wrong[k] += kr_mean_p((kr_mean_kind)k, loss, 240, 12, EPS, DELTA) <= 0.05;
        lone += kr_mean_p(KR_MEAN_WSR_ROUNDS, one, 240, 12, EPS, DELTA) <= 0.05;
    }
    printf("note: mean loss just above its target, n = 240, certified: Hoeffding %.4f, KL %.4f, "
           "Bentkus %.4f, HB %.4f, Bernstein %.4f, betting %.4f, in rounds %.4f; one task carries "
           "all, in rounds %.4f; expected at n = 1200 .033 and .001 (%d draws)\n",
           share(wrong[0], draws), share(wrong[1], draws), share(wrong[2], draws),
           share(wrong[3], draws), share(wrong[4], draws), share(wrong[5], draws),
           share(wrong[6], draws), share(lone, draws), draws);
    for (int k = KR_MEAN_HOEFFDING; k <= KR_MEAN_WSR_ROUNDS; k++)
        assert_true(share(wrong[k], draws) <= sim_allowance(0.05, draws));
    assert_true(share(lone, draws) <= sim_allowance(0.05, draws));
    gsl_rng_free(r);
}

static void comparisons_hold(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(10);
    int draws = sim_draws();
    int64_t wrong = 0, missed = 0, naive = 0;
    for (int i = 0; i < draws; i++) {
        kr_mcnemar_claim m;
        int64_t b = sim_count(r, 0.03, 600), c = sim_count(r, 0.03 / 0.97, 600 - b);
        kr_mcnemar(b, c, 600, 0.05, &m, NULL);
        wrong += m.two_sided <= 0.05;
        naive += fmin(m.a_better, m.b_better) <= 0.05; /* the side picked after looking */
        missed += m.lower > 0 || m.upper < 0;
    }
    report("equal policies told apart", wrong, naive, draws);
    printf("note: interval misses the difference of two policies: %.4f (%d draws)\n", share(missed, draws),
           draws);
    assert_true(share(missed, draws) <= sim_allowance(0.05, draws));
    gsl_rng_free(r);
}

/* Twelve methods just above the target: the best on exploration rows, tested on the other rows,
 * against the best on all rows tested on the same rows. */
static void choosing_on_other_rows_costs_nothing(void **state) {
    (void)state;
    gsl_rng *r = sim_rng(82);
    int draws = sim_draws();
    kr_limits confirm = kr_limits_make(960, EPS, DELTA), all = kr_limits_make(1200, EPS, DELTA);
    int64_t wrong = 0, naive = 0;
    for (int i = 0; i < draws; i++) {
        int64_t best = INT64_MAX, best_confirm = 0, best_all = INT64_MAX;
        for (int m = 0; m < 12; m++) {
            int64_t a = sim_count(r, JUST_ABOVE, 240), b = sim_count(r, JUST_ABOVE, 960);
            if (a < best)
                best = a, best_confirm = b;
            best_all = a + b < best_all ? a + b : best_all;
        }
        wrong += best_confirm <= confirm.kmax;
        naive += best_all <= all.kmax;
    }
    report("explore 240, confirm 960, twelve methods", wrong, naive, draws);
    gsl_rng_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_method_keeps_one_budget),
        cmocka_unit_test(a_tolerance_picked_from_the_table_keeps_the_budget),
        cmocka_unit_test(a_cell_picked_from_the_map_keeps_the_budget),
        cmocka_unit_test(a_risk_target_picked_afterwards_keeps_the_budget),
        cmocka_unit_test(a_confidence_picked_afterwards_is_paid_for),
        cmocka_unit_test(looks_share_the_budget_or_use_e_values),
        cmocka_unit_test(clusters_count_once),
        cmocka_unit_test(a_mixture_is_certified_as_a_mixture),
        cmocka_unit_test(the_worst_task_is_not_averaged_away),
        cmocka_unit_test(mean_losses_hold),
        cmocka_unit_test(comparisons_hold),
        cmocka_unit_test(choosing_on_other_rows_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
