#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <gsl/gsl_rng.h>

#include "base/clock.h"
#include "risk/binomial.h"
#include "risk/contract.h"
#include "risk/multiple.h"
#include "risk/pertask.h"
#include "risk/pvalue.h"
#include "risk/random.h"
#include "risk/sequence.h"
#include "risk/tolerance.h"
#include "tests/risk/golden.h"

static kr_level level(const char *s) { return kr_level_make(dec(s), 1); }

static void noted(const char *array, int got, int want) {
    printf("note: %s: %d entries\n", array, got);
    assert_int_equal(got, want);
}

/* --- golden values ------------------------------------------------------------------------- */

static void published_decisions_come_out(void **state) {
    (void)state;
    const cJSON *g = golden_get(golden, "paper_numbers"), *row;
    kr_dec eps = dec("0.05");
    assert_int_equal(kr_kmax(1200, eps, level("0.05")), golden_int(g, "kmax_1200"));
    assert_int_equal(kr_kmax(1300, eps, level("0.05")), golden_int(g, "kmax_1300"));
    assert_int_equal(kr_plugin_max(1200, eps), golden_int(g, "plugin_1200"));
    int count = 0;
    cJSON_ArrayForEach (row, golden_get(g, "rows")) {
        int64_t k = golden_int(row, "K"), n = golden_int(row, "n");
        double p = kr_p_value(k, n, eps);
        assert_true(golden_rel(p, golden_num(row, "p")) <= 1e-12);
        assert_true(golden_rel(kr_binom_upper(k, n, 0.05), golden_num(row, "cp_upper_0_05")) <=
                    1e-12);
        assert_true(golden_rel(kr_binom_lower(k, n, 0.05), golden_num(row, "cp_lower_0_05")) <=
                    1e-12);
        bool yes = kr_p_decide(p, 0.05) == KR_REJECT_YES;
        assert_int_equal(yes, golden_true(row, "certified"));
        assert_int_equal(yes, golden_true(row, "expected_from_notes"));
        assert_int_equal(k <= kr_plugin_max(n, eps), golden_true(row, "plug_in_allows"));
        count++;
    }
    noted("paper_numbers", count, 8);
}

static void kmax_agrees_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "kmax")) {
        int64_t n = golden_int(row, "n"), k = golden_int(row, "kmax");
        kr_dec eps = golden_decimal(row, "eps");
        kr_level d = golden_level(row, "delta");
        kr_limits lim = kr_limits_make(n, eps, d);
        assert_int_equal(lim.kmax, k);
        assert_false(lim.next_is_tie);
        assert_int_equal(n == 0 ? 0 : lim.plugin_max, golden_int(row, "plugin_kmax"));
        double at = golden_num(row, "p_at_kmax"), above = golden_num(row, "p_at_kmax_plus_1");
        if (!isnan(at))
            assert_true(golden_rel(kr_p_value(k, n, eps), at) <= 1e-12);
        if (!isnan(above) && n > 0 && k + 1 <= n)
            assert_true(golden_rel(kr_binom_tails(k + 1, n, kr_dec_double(eps)).p, above) <= 1e-12);
        count++;
    }
    noted("kmax", count, 682);
}

static void smallest_n_agrees_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "n_min_zero_violations")) {
        kr_dec eps = golden_decimal(row, "eps");
        kr_level d = golden_level(row, "delta");
        int64_t n = kr_n_min(eps, d);
        assert_int_equal(n, golden_int(row, "n_min_zero_violations"));
        assert_int_equal(kr_kmax(n, eps, d), 0);
        assert_int_equal(kr_kmax(n - 1, eps, d), -1);
        count++;
    }
    noted("n_min_zero_violations", count, 26);
}

static void guard_is_exact(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "hoeffding1956_p_value")) {
        int64_t k = golden_int(row, "K"), n = golden_int(row, "n");
        kr_dec eps = golden_decimal(row, "eps");
        assert_int_equal(kr_p_guard(k, n, eps), golden_true(row, "guard_holds"));
        assert_true(golden_rel(kr_p_value(k, n, eps), golden_num(row, "p_reported")) <= 1e-12);
        double tail = kr_binom_tails(k, n, kr_dec_double(eps)).p;
        assert_true(golden_rel(tail, golden_num(row, "binom_cdf")) <= 1e-12);
        count++;
    }
    noted("hoeffding1956_p_value", count, 17);
    count = 0;
    cJSON_ArrayForEach (row, golden_get(golden, "envelope_guard_float_traps")) {
        int64_t n = golden_int(row, "n"), k = golden_int(row, "largest_K_with_valid_envelope");
        kr_dec eps = golden_decimal(row, "eps");
        assert_true(kr_p_guard(k, n, eps) && !kr_p_guard(k + 1, n, eps));
        assert_int_equal(kr_limits_make(n, eps, level("0.05")).guard_max, k);
        count++;
    }
    noted("envelope_guard_float_traps", count, 14);
}

static int64_t count_of(const cJSON *v) {
    return cJSON_IsNumber(v) ? (int64_t)v->valuedouble : KR_COUNT_NONE;
}

static void one_golden_sequence(const cJSON *row) {
    int64_t events[64], n = golden_int(row, "n");
    kr_candidate cand[64];
    kr_ratio p[64];
    kr_claim claim[64];
    const cJSON *v;
    size_t m = 0;
    cJSON_ArrayForEach (v, golden_get(row, "counts"))
        events[m++] = count_of(v);
    kr_level d = golden_level(row, "delta");
    kr_limits lim = kr_limits_make(n, golden_decimal(row, "eps"), d);
    kr_sequence s;
    assert_int_equal(kr_sequence_certify(&lim, m, events, cand, &s, NULL), KR_OK);
    assert_int_equal(s.certified, golden_int(row, "selected_index"));
    assert_int_equal(s.certified + 1, golden_int(row, "n_certified"));
    for (size_t j = 0; j < m; j++)
        p[j] = kr_ratio_double(cand[j].p_value);
    assert_int_equal(kr_multiple_fixed(m, p, d, claim), golden_int(row, "n_certified"));
    for (size_t j = 0; j < m; j++) {
        double want = cJSON_GetArrayItem(golden_get(row, "p"), (int)j)->valuedouble;
        assert_true(golden_rel(cand[j].p_value, want) <= 1e-12);
        want = cJSON_GetArrayItem(golden_get(row, "adjusted_p"), (int)j)->valuedouble;
        assert_true(golden_rel(claim[j].adjusted, want) <= 1e-12);
        bool pass = (int64_t)j <= s.certified;
        assert_int_equal(cand[j].verdict == KR_VERDICT_PASS, pass);
        assert_int_equal(claim[j].verdict == KR_REJECT_YES, pass);
    }
}

static void fixed_sequences_agree_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "fixed_sequence")) {
        one_golden_sequence(row);
        count++;
    }
    noted("fixed_sequence", count, 13);
}

static void same_rejections(const cJSON *want, const kr_claim *got) {
    const cJSON *v;
    size_t j = 0;
    cJSON_ArrayForEach (v, want)
        assert_int_equal(got[j++].verdict == KR_REJECT_YES, cJSON_IsTrue(v));
}

static void holm_and_bonferroni_agree_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row, *v;
    cJSON_ArrayForEach (row, golden_get(golden, "multiple_testing_vectors")) {
        kr_ratio p[16];
        kr_claim c[16];
        size_t m = 0, j = 0;
        cJSON_ArrayForEach (v, golden_get(row, "p"))
            p[m++] = golden_ratio(v);
        kr_level d = golden_level(row, "delta");
        kr_multiple_bonferroni(m, p, d, c);
        same_rejections(golden_get(row, "bonferroni"), c);
        assert_int_equal(kr_multiple_fixed(m, p, d, c),
                         golden_int(row, "fixed_sequence_n_certified"));
        kr_multiple_holm(m, p, d, c);
        same_rejections(golden_get(row, "holm"), c);
        cJSON_ArrayForEach (v, golden_get(row, "holm_adjusted_p")) {
            assert_true(golden_rel(c[j++].adjusted, v->valuedouble) <= 1e-12);
        }
        count++;
    }
    noted("multiple_testing_vectors (Bonferroni, Holm, fixed)", count, 4);
    count = 0;
    cJSON_ArrayForEach (row, golden_get(golden, "multi_risk_max_p")) {
        kr_ratio p[16];
        size_t m = 0;
        cJSON_ArrayForEach (v, golden_get(row, "p"))
            p[m++] = golden_ratio(v);
        kr_ratio all = kr_multiple_all(m, p);
        assert_int_equal(kr_ratio_cmp(all, golden_ratio(golden_get(row, "p_combined"))), 0);
        kr_reject r = kr_p_decide_ratio(all, kr_ratio_dec(dec("0.05")));
        assert_int_equal(r == KR_REJECT_YES, golden_true(row, "certified"));
        count++;
    }
    noted("multi_risk_max_p", count, 4);
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t nano_of(const char *s) {
    int64_t v = 0;
    assert_true(kr_dec_nano(dec(s), &v));
    return v;
}

static void certified_tolerance_agrees_with_golden_values(void **state) {
    (void)state;
    const cJSON *g = golden_get(golden, "certified_tolerance"), *row, *v;
    int64_t drops[300];
    size_t n = 0;
    int count = 0;
    cJSON_ArrayForEach (v, golden_get(g, "drops"))
        drops[n++] = nano_of(v->valuestring);
    assert_int_equal(n, 300);
    qsort(drops, n, sizeof *drops, by_value);
    cJSON_ArrayForEach (row, golden_get(g, "rows")) {
        int64_t k = kr_kmax((int64_t)n, golden_decimal(row, "eps"), golden_level(row, "delta"));
        int64_t tau = 0, above = 0;
        assert_int_equal(k, golden_int(row, "kmax"));
        assert_true(kr_tolerance_certified_sorted((int64_t)n, k, drops, &tau));
        assert_int_equal(tau, nano_of(golden_str(row, "tau_hat")));
        for (size_t i = 0; i < n; i++)
            above += drops[i] > tau;
        assert_int_equal(above, golden_int(row, "violations_at_tau_hat"));
        count++;
    }
    noted("certified_tolerance", count, 3);
}

/* The event itself: a drop above the tolerance in integers of 1e-9, or no number at all. */
static bool is_event(const char *full, const char *compressed, const char *tau) {
    int64_t a, b, t = nano_of(tau);
    size_t used;
    if (!kr_nano_scan(full, strlen(full), &a, &used) ||
        !kr_nano_scan(compressed, strlen(compressed), &b, &used))
        return true;
    return a - b > t;
}

static void events_agree_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "float_threshold")) {
        bool v =
            is_event(golden_str(row, "u_full"), golden_str(row, "u_pi"), golden_str(row, "tau"));
        assert_int_equal(v, golden_true(row, "nano_integer_rule_violation"));
        count++;
    }
    noted("float_threshold", count, 21);
    row = cJSON_GetArrayItem(golden_get(golden, "missing_utilities"), 0);
    int64_t k = 0;
    for (int i = 0; i < 6; i++) {
        const char *full = cJSON_GetArrayItem(golden_get(row, "u_full"), i)->valuestring;
        const char *pi = cJSON_GetArrayItem(golden_get(row, "u_pi"), i)->valuestring;
        bool v = is_event(full, pi, golden_str(row, "tau"));
        assert_int_equal(v, cJSON_GetArrayItem(golden_get(row, "V"), i)->valueint);
        k += v;
    }
    assert_int_equal(k, golden_int(row, "K"));
    noted("missing_utilities", 1, cJSON_GetArraySize(golden_get(golden, "missing_utilities")));
}

static void per_task_intervals_agree_with_golden_values(void **state) {
    (void)state;
    static const char *const names[] = {"bonferroni", "sidak"};
    int count = 0;
    const cJSON *row, *v;
    cJSON_ArrayForEach (row, golden_get(golden, "per_task_intervals")) {
        int64_t k[32], n[32];
        size_t tasks = 0, h = 0;
        cJSON_ArrayForEach (v, golden_get(row, "K"))
            k[tasks++] = count_of(v);
        cJSON_ArrayForEach (v, golden_get(row, "n"))
            n[h++] = count_of(v);
        kr_level d = kr_level_make(kr_dec_from_double(golden_num(row, "delta"), 6), 1);
        for (int s = 0; s < 2; s++) {
            kr_task_interval t[32];
            assert_int_equal(
                kr_task_intervals(tasks, k, n, dec("0.05"), d, (kr_interval_rule)s, t, NULL),
                KR_OK);
            h = 0;
            cJSON_ArrayForEach (v, golden_get(row, names[s])) {
                assert_true(golden_rel(t[h].lower, cJSON_GetArrayItem(v, 0)->valuedouble) <= 1e-12);
                assert_true(golden_rel(t[h].upper, cJSON_GetArrayItem(v, 1)->valuedouble) <= 1e-12);
                h++;
            }
        }
        count++;
    }
    noted("per_task_intervals", count, 5);
}

/* 29 of 100 in one task is a violation although 51 of 1300 certifies the mixture. */
static void a_bad_task_is_named_beside_a_certified_mixture(void **state) {
    (void)state;
    const int64_t k[] = {29, 0, 0, 1, 2, 3, 0, 5, 4, 2, 1, 3, 1};
    int64_t n[13];
    for (int h = 0; h < 13; h++)
        n[h] = 100;
    kr_task_interval t[13];
    assert_int_equal(
        kr_task_intervals(13, k, n, dec("0.05"), level("0.05"), KR_RULE_BONFERRONI, t, NULL),
        KR_OK);
    assert_int_equal(t[0].flag, KR_TASK_VIOLATES);
    assert_int_equal(t[1].flag, KR_TASK_NOT_SHOWN);
    kr_limits lim = kr_limits_make(1300, dec("0.05"), level("0.05"));
    assert_true(51 <= lim.kmax);
}

/* --- properties ---------------------------------------------------------------------------- */

static gsl_rng *rng_new(unsigned long seed) {
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    assert_non_null(r);
    gsl_rng_set(r, seed);
    return r;
}

static int64_t random_size(gsl_rng *r, double max) {
    return (int64_t)exp(gsl_rng_uniform(r) * log(max));
}

static kr_dec random_share(gsl_rng *r) {
    static const int64_t tens[] = {10, 100, 1000, 10000};
    int s = (int)gsl_rng_uniform_int(r, 4);
    int64_t d = 1 + (int64_t)gsl_rng_uniform_int(r, (unsigned long)tens[s] - 1);
    return kr_dec_make(d, s + 1);
}

/* The largest certifiable count is exactly where the p-value rule changes, for any contract. */
static void kmax_is_where_the_p_value_rule_changes(void **state) {
    (void)state;
    gsl_rng *r = rng_new(42);
    int ties = 0;
    for (int i = 0; i < 20000; i++) {
        int64_t n = random_size(r, i % 50 ? 3e4 : 1e6);
        kr_dec eps = random_share(r);
        kr_level d = kr_level_make(random_share(r), 1 + (int64_t)gsl_rng_uniform_int(r, 20));
        if (i % 7 == 0) /* far below any usual level */
            d.num = kr_dec_make(1, 17);
        kr_limits lim = kr_limits_make(n, eps, d);
        double dd = kr_level_double(d);
        assert_true(lim.kmax >= -1 && lim.kmax <= lim.guard_max && lim.guard_max < n);
        if (lim.kmax >= 0)
            assert_int_equal(kr_p_decide(kr_p_value(lim.kmax, n, eps), dd), KR_REJECT_YES);
        kr_reject next = kr_p_decide(kr_p_value(lim.kmax + 1, n, eps), dd);
        assert_true(next != KR_REJECT_YES);
        assert_int_equal(next == KR_REJECT_UNDECIDED, lim.next_is_tie);
        ties += lim.next_is_tie;
    }
    printf("note: kmax against the p-value rule: 20000 contracts, %d near ties among them\n", ties);
    gsl_rng_free(r);
}

/* The same contracts give the same answers whatever compiler and optimisation built this: a digest
 * over 5000 of them, n up to 1e6, must come out as noted here. */
static void verdicts_do_not_depend_on_the_compiler(void **state) {
    (void)state;
    kr_random r = kr_random_start(1956, 0);
    uint64_t digest = 0;
    for (int i = 0; i < 5000; i++) {
        int64_t n = 1 + (int64_t)kr_random_below(&r, i % 25 ? 5000 : 1000000);
        kr_dec eps = kr_dec_make(1 + (int64_t)kr_random_below(&r, 999), 3);
        kr_dec delta = kr_dec_make(1 + (int64_t)kr_random_below(&r, 499), 3);
        kr_level d = kr_level_make(delta, 1 + (int64_t)kr_random_below(&r, 13));
        kr_limits lim = kr_limits_make(n, eps, d);
        digest = (digest ^ (uint64_t)(lim.kmax * 2 + lim.next_is_tie)) * UINT64_C(0x100000001b3);
        digest += (uint64_t)lim.plugin_max;
    }
    printf("note: digest of 5000 contracts: %016llx\n", (unsigned long long)digest);
    assert_true(digest == UINT64_C(0xf4f4ca891be9710e));
}

/* p <= a exactly when the upper limit at level a is at most eps. */
static void test_and_upper_limit_say_the_same(void **state) {
    (void)state;
    gsl_rng *r = rng_new(43);
    for (int i = 0; i < 5000; i++) {
        int64_t n = 1 + random_size(r, 1e4);
        kr_dec eps = random_share(r);
        double a = 0.2 * gsl_rng_uniform_pos(r), e = kr_dec_double(eps);
        int64_t k = kr_kmax(n, eps, kr_level_make(kr_dec_from_double(a, 15), 1));
        k += (int64_t)gsl_rng_uniform_int(r, 5) - 2;
        if (k < 0 || k > n)
            continue;
        double p = kr_p_value(k, n, eps), u = kr_binom_upper_strat(k, n, a);
        if (fabs(u / e - 1) > 1e-9)
            assert_int_equal(p <= a, u <= e);
    }
    gsl_rng_free(r);
}

/* Exact validity at every extreme of unequal risks: some requests always fail, some never, the
 * others share what is left of a mean of exactly eps. */
static void no_spread_of_risk_over_requests_beats_the_level(void **state) {
    (void)state;
    static const char *const targets[] = {"0.05", "0.1", "0.25", "0.5", "0.9"};
    static const char *const levels[] = {"0.01", "0.05", "0.2", "0.5"};
    double worst = 0;
    for (int e = 0; e < 5; e++)
        for (int l = 0; l < 4; l++)
            for (int64_t n = 1; n <= 90; n += 1 + n / 30) {
                kr_dec eps = dec(targets[e]);
                double d = kr_level_double(level(levels[l])), mean = kr_dec_double(eps);
                int64_t kmax = kr_kmax(n, eps, level(levels[l]));
                for (int64_t always = 0; always <= n && kmax >= always; always++)
                    for (int64_t never = 0; always + never < n; never++) {
                        double rest = (double)(n - always - never);
                        double r = ((double)n * mean - (double)always) / rest;
                        if (r < 0 || r > 1)
                            continue;
                        double p = kr_binom_tails(kmax - always, n - always - never, r).p;
                        worst = fmax(worst, p / d);
                        assert_true(p <= d * (1 + 1e-12));
                    }
            }
    printf(
        "note: unequal risks with mean at the target, n <= 90: certified with at most %.4f of the "
        "level, exactly\n",
        worst);
}

/* The interval misses the true risk with at most its level, exactly, on a grid of risks. */
static void limits_cover(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 40; n += 3)
        for (int i = 1; i < 100; i++) {
            double p = i / 100.0, above = 0, below = 0;
            for (int64_t k = 0; k <= n; k++) {
                double mass = exp(kr_binom_ln_mass(k, n, p));
                below += kr_binom_upper(k, n, 0.05) < p ? mass : 0;
                above += kr_binom_lower(k, n, 0.05) > p ? mass : 0;
            }
            assert_true(below <= 0.05 + 1e-12 && above <= 0.05 + 1e-12);
        }
}

static void plug_in_and_guard_are_exact_where_doubles_are_not(void **state) {
    (void)state;
    assert_int_equal(kr_plugin_max(100, dec("0.29")), 29); /* 100 * 0.29 < 29 in double */
    assert_int_equal(kr_plugin_max(1000, dec("0.055")), 55);
    assert_int_equal(kr_plugin_max(1000000000, dec("0.999999999999999999")), 999999999);
    assert_true(kr_p_guard(28, 100, dec("0.29")));
    assert_false(kr_p_guard(29, 100, dec("0.29")));
    assert_false(kr_p_guard(0, 19, dec("0.05")));
    assert_true(kr_p_guard(0, 20, dec("0.05")));
    assert_true(kr_p_value(29, 100, dec("0.29")) == 1);
}

static void levels_compare_inclusively_and_near_ties_are_undecided(void **state) {
    (void)state;
    assert_int_equal(kr_p_decide(0.05, 0.05), KR_REJECT_UNDECIDED);
    assert_int_equal(kr_p_decide(0.05 * (1 - 1e-11), 0.05), KR_REJECT_UNDECIDED);
    assert_int_equal(kr_p_decide(0.05 * (1 - 1e-9), 0.05), KR_REJECT_YES);
    assert_int_equal(kr_p_decide(0.05 * (1 + 1e-9), 0.05), KR_REJECT_NO);
    assert_int_equal(kr_p_decide(0, 0), KR_REJECT_NO);
    assert_int_equal(kr_p_decide(0, 1), KR_REJECT_NO);
    assert_int_equal(kr_p_decide((double)NAN, 0.05), KR_REJECT_NO);
    kr_ratio p = kr_ratio_dec(dec("0.01")), fifth = kr_ratio_level(kr_level_make(dec("0.05"), 5));
    assert_int_equal(kr_p_decide_ratio(p, fifth), KR_REJECT_YES); /* exact tie */
    p = kr_ratio_dec(dec("0.010000000000000001"));
    assert_int_equal(kr_p_decide_ratio(p, fifth), KR_REJECT_NO);
}

/* P[Bin(2, 1/2) = 0] is exactly 1/4: a level of 1/4 cannot be called in floating point. */
static void a_tie_stops_the_walk_as_undecided(void **state) {
    (void)state;
    kr_limits lim = kr_limits_make(2, dec("0.5"), level("0.25"));
    assert_int_equal(lim.kmax, -1);
    assert_true(lim.next_is_tie);
    kr_sequence s;
    assert_int_equal(kr_sequence_certify(&lim, 1, (int64_t[]){0}, NULL, &s, NULL), KR_OK);
    assert_int_equal(s.status, KR_SEQUENCE_UNDECIDED);
    assert_int_equal(s.why, KR_STOP_UNDECIDED);
    assert_int_equal(s.certified, -1);
    assert_int_equal(s.empirical, 0);
}

static int64_t asked;

static int64_t counting(void *ctx, size_t j) {
    asked++;
    return ((const int64_t *)ctx)[j];
}

static void the_walk_asks_only_for_what_it_needs(void **state) {
    (void)state;
    int64_t k[] = {10, 47, 55, 60, 61, 3, 2};
    kr_limits lim = kr_limits_make(1200, dec("0.05"), level("0.05"));
    kr_sequence s;
    asked = 0;
    assert_int_equal(kr_sequence_walk(&lim, 7, counting, k, &s, NULL), KR_OK);
    assert_int_equal(asked, 5);
    assert_int_equal(s.certified, 1);
    assert_int_equal(s.certified_events, 47);
    assert_int_equal(s.stopped, 2);
    assert_int_equal(s.stopped_events, 55);
    assert_int_equal(s.why, KR_STOP_EVENTS);
    assert_int_equal(s.empirical, 3); /* 60 = 1200 * 0.05 is allowed, a later dip is not */
    assert_int_equal(s.empirical_events, 60);
}

static void every_way_to_stop_has_its_reason(void **state) {
    (void)state;
    kr_limits lim = kr_limits_make(1200, dec("0.05"), level("0.05"));
    kr_sequence s;
    kr_sequence_certify(&lim, 2, (int64_t[]){3, 60}, NULL, &s, NULL);
    assert_int_equal(s.why, KR_STOP_GUARD);
    kr_sequence_certify(&lim, 2, (int64_t[]){3, KR_COUNT_NONE}, NULL, &s, NULL);
    assert_int_equal(s.why, KR_STOP_NO_COUNT);
    assert_int_equal(s.empirical, 0);
    kr_sequence_certify(&lim, 2, (int64_t[]){3, 4}, NULL, &s, NULL);
    assert_int_equal(s.why, KR_STOP_NONE);
    assert_int_equal(s.stopped, -1);
    kr_sequence_certify(&lim, 0, NULL, NULL, &s, NULL);
    assert_int_equal(s.why, KR_STOP_EMPTY);
    assert_int_equal(s.certified, -1);
    lim = kr_limits_make(58, dec("0.05"), level("0.05"));
    kr_sequence_certify(&lim, 1, (int64_t[]){0}, NULL, &s, NULL);
    assert_int_equal(s.why, KR_STOP_TOO_FEW);
    assert_int_equal(s.status, KR_SEQUENCE_CANNOT_CERTIFY);
    lim = kr_limits_make(0, dec("0.05"), level("0.05"));
    assert_int_equal(kr_sequence_certify(&lim, 1, (int64_t[]){0}, NULL, &s, NULL), KR_OK);
    assert_int_equal(s.certified, -1);
    assert_int_equal(s.status, KR_SEQUENCE_CANNOT_CERTIFY);
}

static void impossible_counts_are_refused(void **state) {
    (void)state;
    kr_limits lim = kr_limits_make(100, dec("0.05"), level("0.05"));
    kr_sequence s = {.certified = 77};
    kr_error err;
    const int64_t bad[] = {-1, 101, INT64_MAX};
    for (int i = 0; i < 3; i++) {
        int64_t k[] = {0, bad[i]};
        assert_int_equal(kr_sequence_certify(&lim, 2, k, NULL, &s, &err), KR_EINVAL);
        assert_non_null(strstr(err.msg, "candidate 1"));
        assert_int_equal(s.certified, 77);
    }
}

static void contracts_out_of_range_get_a_sentence(void **state) {
    (void)state;
    static const struct {
        const char *tol, *risk, *conf, *says;
    } bad[] = {
        {"-0.1", "0.05", "0.95", "tolerance -0.1"},
        {"0.1", "0", "0.95", "risk 0 "},
        {"0.1", "1", "0.95", "risk 1 "},
        {"0.1", "-0.05", "0.95", "risk -0.05"},
        {"0.1", "0.05", "1", "confidence 1 "},
        {"0.1", "0.05", "0", "confidence 0 "},
        {"0.1", "0.05", "0.49", "below 0.5"},
    };
    kr_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kr_contract c = {dec(bad[i].tol), dec(bad[i].risk), dec(bad[i].conf)};
        assert_int_equal(kr_contract_check(&c, &err), KR_EINVAL);
        assert_non_null(strstr(err.msg, bad[i].says));
    }
    kr_contract c = {dec("0"), dec("0.05"), dec("0.95")};
    assert_int_equal(kr_contract_check(&c, &err), KR_OK);
    assert_int_equal(kr_dec_cmp(kr_contract_delta(&c), dec("0.05")),
                     0); /* not 0.05000000000000004 */
    assert_int_equal(kr_contract_level(&c, 13).den, 13);
}

static void tolerance_claims_nothing_without_evidence(void **state) {
    (void)state;
    int64_t d[] = {-5, 0, 3, 8, KR_DROP_MISSING}, tau = 77;
    assert_false(kr_tolerance_certified_sorted(5, -1, d, &tau));
    assert_false(
        kr_tolerance_certified_sorted(5, 0, d, &tau)); /* the missing one must be covered */
    assert_false(kr_tolerance_certified_sorted(0, 0, d, &tau));
    assert_int_equal(tau, 77);
    assert_true(kr_tolerance_certified_sorted(5, 1, d, &tau));
    assert_int_equal(tau, 8);
    assert_true(kr_tolerance_certified_sorted(5, 4, d, &tau));
    assert_int_equal(tau, -5);
}

static void speed_is_noted(void **state) {
    (void)state;
    int64_t sink = 0;
    double t0 = kr_clock();
    for (int i = 0; i < 500; i++)
        sink += kr_limits_make(1000000 - i, dec("0.05"), level("0.05")).kmax;
    double t1 = kr_clock();
    printf("note: n = 1e6: all limits of a contract %.1f us\n", (t1 - t0) / 500 * 1e6);
    assert_true(sink > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_decisions_come_out),
        cmocka_unit_test(kmax_agrees_with_golden_values),
        cmocka_unit_test(smallest_n_agrees_with_golden_values),
        cmocka_unit_test(guard_is_exact),
        cmocka_unit_test(fixed_sequences_agree_with_golden_values),
        cmocka_unit_test(holm_and_bonferroni_agree_with_golden_values),
        cmocka_unit_test(certified_tolerance_agrees_with_golden_values),
        cmocka_unit_test(events_agree_with_golden_values),
        cmocka_unit_test(per_task_intervals_agree_with_golden_values),
        cmocka_unit_test(a_bad_task_is_named_beside_a_certified_mixture),
        cmocka_unit_test(kmax_is_where_the_p_value_rule_changes),
        cmocka_unit_test(verdicts_do_not_depend_on_the_compiler),
        cmocka_unit_test(test_and_upper_limit_say_the_same),
        cmocka_unit_test(no_spread_of_risk_over_requests_beats_the_level),
        cmocka_unit_test(limits_cover),
        cmocka_unit_test(plug_in_and_guard_are_exact_where_doubles_are_not),
        cmocka_unit_test(levels_compare_inclusively_and_near_ties_are_undecided),
        cmocka_unit_test(a_tie_stops_the_walk_as_undecided),
        cmocka_unit_test(the_walk_asks_only_for_what_it_needs),
        cmocka_unit_test(every_way_to_stop_has_its_reason),
        cmocka_unit_test(impossible_counts_are_refused),
        cmocka_unit_test(contracts_out_of_range_get_a_sentence),
        cmocka_unit_test(tolerance_claims_nothing_without_evidence),
        cmocka_unit_test(speed_is_noted),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
