#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_rng.h>

#include "base/clock.h"
#include "risk/binomial.h"
#include "tests/risk/golden.h"

/* A logarithm near 0 has no more absolute accuracy than its tail has. */
static double ln_error(double got, const cJSON *row, const char *name) {
    const cJSON *v = golden_get(row, name);
    if (!cJSON_IsNumber(v))
        return isinf(got) && got < 0 ? 0 : (double)INFINITY;
    double want = v->valuedouble;
    return got == want ? 0 : fabs(got - want) / fmax(1, fabs(want));
}

static void tails_agree_with_golden_values(void **state) {
    (void)state;
    double worst[2] = {0, 0};
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "binomial_cdf")) {
        int64_t k = golden_int(row, "k"), n = golden_int(row, "n");
        kr_tails t = kr_binom_tails(k, n, golden_num(row, "p"));
        double e = golden_rel(t.p, golden_num(row, "P"));
        e = fmax(e, golden_rel(t.q, golden_num(row, "Q")));
        e = fmax(e, ln_error(t.ln_p, row, "logP"));
        e = fmax(e, ln_error(t.ln_q, row, "logQ"));
        if (e > (n > 100000 ? 5e-12 : 1e-12))
            fail_msg("k=%lld n=%lld p=%g: error %g (%.17g %.17g)", (long long)k, (long long)n,
                     golden_num(row, "p"), e, t.p, t.q);
        worst[n > 100000] = fmax(worst[n > 100000], e);
        count++;
    }
    printf("note: binomial_cdf: %d entries, worst error %.1e (n <= 1e5), %.1e (n <= 1e7)\n", count,
           worst[0], worst[1]);
    assert_int_equal(count, 154);
}

static void limits_agree_with_golden_values(void **state) {
    (void)state;
    double worst = 0;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "clopper_pearson_one_sided")) {
        int64_t k = golden_int(row, "k"), n = golden_int(row, "n");
        double a = golden_num(row, "alpha");
        double e = fmax(golden_rel(kr_binom_upper(k, n, a), golden_num(row, "upper")),
                        golden_rel(kr_binom_lower(k, n, a), golden_num(row, "lower")));
        if (e > 1e-12)
            fail_msg("k=%lld n=%lld a=%g: error %g", (long long)k, (long long)n, a, e);
        worst = fmax(worst, e);
        count++;
    }
    printf("note: clopper_pearson_one_sided: %d entries, worst error %.1e\n", count, worst);
    assert_int_equal(count, 169);
    count = 0;
    cJSON_ArrayForEach (row, golden_get(golden, "stratified_upper_bound")) {
        int64_t k = golden_int(row, "k"), n = golden_int(row, "n");
        double a = golden_num(row, "alpha"), want = golden_num(row, "stratified_upper");
        assert_true(golden_rel(kr_binom_upper_strat(k, n, a), want) <= 1e-12);
        count++;
    }
    printf("note: stratified_upper_bound: %d entries\n", count);
    assert_int_equal(count, 16);
}

static void impossible_arguments_claim_nothing(void **state) {
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY, -1, 0, 1, 2, 0.05};
    const int64_t ks[] = {INT64_MIN, -1, 0, 1, 7, 10, 11, INT64_MAX};
    const int64_t ns[] = {INT64_MIN, -1, 0, 1, 10, KR_BINOM_N_MAX + 1, INT64_MAX};
    for (size_t b = 0; b < 8; b++)
        for (size_t i = 0; i < 8; i++)
            for (size_t j = 0; j < 7; j++) {
                kr_tails t = kr_binom_tails(ks[i], ns[j], bad[b]);
                assert_true(t.p >= 0 && t.p <= 1 && t.q >= 0 && t.q <= 1);
                assert_true(t.ln_p <= 0 && t.ln_q <= 0 && t.p + t.q >= 1);
                double u = kr_binom_upper(ks[i], ns[j], bad[b]);
                double l = kr_binom_lower(ks[i], ns[j], bad[b]);
                assert_true(u >= 0 && u <= 1 && l >= 0 && l <= u);
                u = kr_binom_upper_strat(ks[i], ns[j], bad[b]);
                l = kr_binom_lower_strat(ks[i], ns[j], bad[b]);
                assert_true(u >= 0 && u <= 1 && l >= 0 && l <= u);
            }
    assert_true(kr_binom_upper(0, 0, 0.05) == 1 && kr_binom_lower(0, 0, 0.05) == 0);
    assert_true(kr_binom_tails(3, INT64_MAX, 0.5).p == 1);
}

static gsl_rng *rng_new(unsigned long seed) {
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    assert_non_null(r);
    gsl_rng_set(r, seed);
    return r;
}

/* log-uniform in [1, max] */
static int64_t random_size(gsl_rng *r, double max) {
    return (int64_t)exp(gsl_rng_uniform(r) * log(max));
}

static void lower_tail_falls_in_the_risk_and_rises_in_the_count(void **state) {
    (void)state;
    gsl_rng *r = rng_new(20260101);
    for (int i = 0; i < 4000; i++) {
        int64_t n = 1 + random_size(r, 1e5);
        double p = gsl_rng_uniform(r) * gsl_rng_uniform(r) * 0.99 + 1e-6;
        int64_t k = (int64_t)((double)n * p * (0.5 + gsl_rng_uniform(r)));
        k = k >= n ? n - 1 : k;
        kr_tails t = kr_binom_tails(k, n, p), up = kr_binom_tails(k, n, p + 1e-3 * (1 - p));
        assert_true(t.p > 1 - 1e-9 ? up.ln_p <= t.ln_p : up.ln_p < t.ln_p);
        assert_true(kr_binom_tails(k + 1, n, p).ln_p >= t.ln_p);
        assert_true(fabs(t.p + t.q - 1) < 1e-15);
        /* difference of neighbours is the mass */
        double mass = exp(kr_binom_ln_mass(k, n, p));
        double below = kr_binom_tails(k - 1, n, p).p;
        assert_true(fabs(t.p - below - mass) <= 1e-11 * t.p);
    }
    gsl_rng_free(r);
}

static void limits_are_where_the_tail_meets_the_level(void **state) {
    (void)state;
    gsl_rng *r = rng_new(7);
    double worst = 0;
    for (int i = 0; i < 2000; i++) {
        int64_t n = 2 + random_size(r, i % 10 ? 1e4 : 1e6);
        int64_t k = 1 + (int64_t)((double)(n - 1) * pow(gsl_rng_uniform(r), 3));
        k = k >= n ? n - 1 : k;
        double a = exp(-12 * gsl_rng_uniform(r)) * 0.5;
        double u = kr_binom_upper(k, n, a), l = kr_binom_lower(k, n, a);
        assert_true(l > 0 && l < (double)k / (double)n && u < 1);
        worst = fmax(worst, golden_rel(kr_binom_tails(k, n, u).p, a));
        worst = fmax(worst, golden_rel(kr_binom_tails(k - 1, n, l).q, a));
        assert_true(kr_binom_upper(k, n, a / 2) > u && kr_binom_lower(k, n, a / 2) < l);
    }
    printf("note: tail at the Clopper-Pearson limit against its level: worst relative gap %.1e\n",
           worst);
    assert_true(worst < 1e-9);
    gsl_rng_free(r);
}

/* Where GSL 2.7.1 is right: moderate n, not the far tail of a small probability. */
static void tails_agree_with_gsl_where_gsl_is_right(void **state) {
    (void)state;
    gsl_rng *r = rng_new(11);
    double worst = 0;
    for (int i = 0; i < 5000; i++) {
        int64_t n = 1 + random_size(r, 1e4);
        double p = 0.01 + 0.98 * gsl_rng_uniform(r);
        double sd = sqrt((double)n * p * (1 - p));
        int64_t k = (int64_t)((double)n * p + sd * (6 * gsl_rng_uniform(r) - 3));
        if (k < 0 || k >= n)
            continue;
        kr_tails t = kr_binom_tails(k, n, p);
        worst = fmax(worst, golden_rel(t.p, gsl_cdf_binomial_P((unsigned)k, p, (unsigned)n)));
        worst = fmax(worst, golden_rel(t.q, gsl_cdf_binomial_Q((unsigned)k, p, (unsigned)n)));
    }
    printf("note: tails against GSL, n <= 1e4: worst relative difference %.1e\n", worst);
    assert_true(worst < 1e-10);
    gsl_rng_free(r);
}

static void speed_is_noted(void **state) {
    (void)state;
    double sink = 0, t0 = kr_clock();
    for (int i = 0; i < 200; i++)
        sink += kr_binom_tails(49641 + i, 1000000, 0.05).p;
    double t1 = kr_clock();
    for (int i = 0; i < 50; i++)
        sink += kr_binom_upper(49641 + i, 1000000, 0.05);
    double t2 = kr_clock();
    printf("note: n = 1e6: one tail %.1f us, one upper limit %.1f us\n", (t1 - t0) / 200 * 1e6,
           (t2 - t1) / 50 * 1e6);
    assert_true(sink > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_agree_with_golden_values),
        cmocka_unit_test(limits_agree_with_golden_values),
        cmocka_unit_test(impossible_arguments_claim_nothing),
        cmocka_unit_test(lower_tail_falls_in_the_risk_and_rises_in_the_count),
        cmocka_unit_test(limits_are_where_the_tail_meets_the_level),
        cmocka_unit_test(tails_agree_with_gsl_where_gsl_is_right),
        cmocka_unit_test(speed_is_noted),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
