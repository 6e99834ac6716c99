#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "risk/binomial.h"
#include "risk/mean.h"
#include "tests/risk/golden.h"

#define MOST 256

/* Compares where the golden row has the field. */
static double gap(const cJSON *row, const char *name, double got) {
    double want = golden_num(row, name);
    return isnan(want) ? 0 : golden_rel(got, want);
}

static void one_golden_row(const cJSON *row, const int64_t *loss, int64_t n) {
    static const struct {
        kr_mean_kind kind;
        int64_t round;
        const char *sub, *p, *upper;
    } fields[] = {
        {KR_MEAN_HOEFFDING, 1, NULL, "p_hoeffding", "ucb_hoeffding"},
        {KR_MEAN_KL, 1, NULL, "p_kl", "ucb_kl"},
        {KR_MEAN_BENTKUS, 1, NULL, "p_bentkus", "ucb_bentkus"},
        {KR_MEAN_HB, 1, NULL, "p_hb", "ucb_hb"},
        {KR_MEAN_BERNSTEIN, 1, NULL, "p_empirical_bernstein", "ucb_empirical_bernstein"},
        {KR_MEAN_WSR, 1, "wsr", "p", "ucb"},
        {KR_MEAN_WSR_ROUNDS, 12, "wsr_round_H12", "p", "ucb"},
        {KR_MEAN_WSR_ROUNDS, 6, "wsr_round_H6", "p", "ucb"},
        {KR_MEAN_WSR_ROUNDS, 4, "wsr_round_H4", "p", "ucb"},
    };
    kr_dec alpha = golden_decimal(row, "alpha");
    kr_level d = golden_level(row, "delta");
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        kr_mean_claim c;
        const cJSON *from = fields[f].sub == NULL ? row : golden_get(row, fields[f].sub);
        assert_int_equal(kr_mean_test(fields[f].kind, loss, n, fields[f].round, alpha, d, &c, NULL),
                         KR_OK);
        double e = fmax(gap(from, fields[f].p, c.p), gap(from, fields[f].upper, c.upper));
        if (e > 1e-11)
            fail_msg("%s %s: error %g (p %.17g, upper %.17g)", golden_str(row, "name"), fields[f].p,
                     e, c.p, c.upper);
    }
}

static void bounds_agree_with_golden_values(void **state) {
    (void)state;
    const cJSON *g = golden_get(golden, "bounded_loss"), *row, *v;
    int count = 0;
    cJSON_ArrayForEach (row, golden_get(g, "results")) {
        int64_t loss[MOST], n = 0;
        cJSON_ArrayForEach (v, golden_get(golden_get(g, "data"), golden_str(row, "name"))) {
            assert_true(kr_dec_nano(dec(v->valuestring), &loss[n++]));
        }
        assert_int_equal(n, golden_int(row, "n"));
        one_golden_row(row, loss, n);
        count++;
    }
    printf("note: bounded_loss: %d entries (9 vectors, 4 contracts)\n", count);
    assert_int_equal(count, 36);
}

/* p <= a exactly when the limit at level a is at most alpha, for the kinds whose p does not itself
 * depend on the level. */
static void test_and_limit_say_the_same(void **state) {
    (void)state;
    int64_t loss[60];
    for (int i = 0; i < 60; i++)
        loss[i] = i % 7 == 0 ? (i * 12345678) % KR_NANO : 0;
    for (int kind = KR_MEAN_HOEFFDING; kind <= KR_MEAN_BERNSTEIN; kind++)
        for (int64_t a = 5; a < 500; a += 17) {
            kr_mean_claim c, d;
            kr_dec alpha = kr_dec_make(a, 3);
            kr_level l = kr_level_make(dec("0.05"), 1);
            kr_mean_test((kr_mean_kind)kind, loss, 60, 1, alpha, l, &c, NULL);
            kr_mean_test((kr_mean_kind)kind, loss, 60, 1, alpha, kr_level_make(dec("0.01"), 1), &d,
                         NULL);
            assert_int_equal(c.p <= 0.05, c.upper <= kr_dec_double(alpha));
            assert_true(d.upper >= c.upper && d.p == c.p);
        }
}

static void losses_are_rounded_up_and_missing_ones_are_full(void **state) {
    (void)state;
    assert_int_equal(kr_mean_loss(-5, KR_NANO), 0);
    assert_int_equal(kr_mean_loss(1, KR_NANO), 1);
    assert_int_equal(kr_mean_loss(1, 3), 333333334);
    assert_int_equal(kr_mean_loss(INT64_MAX, KR_NANO), KR_NANO);
    assert_int_equal(kr_mean_loss(50 * KR_NANO, 100 * KR_NANO), KR_NANO / 2);
    assert_int_equal(kr_mean_loss(1, 0), KR_NANO);
}

static void impossible_losses_are_refused(void **state) {
    (void)state;
    kr_mean_claim c = {77, 77};
    kr_error err;
    kr_level d = kr_level_make(dec("0.05"), 1);
    int64_t loss[] = {0, -1}, over[] = {KR_NANO + 1};
    assert_int_equal(kr_mean_test(KR_MEAN_HB, loss, 2, 1, dec("0.1"), d, &c, &err), KR_EINVAL);
    assert_int_equal(kr_mean_test(KR_MEAN_HB, over, 1, 1, dec("0.1"), d, &c, &err), KR_EINVAL);
    assert_int_equal(kr_mean_test(KR_MEAN_HB, loss, 1, 1, dec("0"), d, &c, &err), KR_EINVAL);
    assert_int_equal(kr_mean_test(KR_MEAN_WSR_ROUNDS, loss, 1, 0, dec("0.1"), d, &c, &err),
                     KR_EINVAL);
    assert_true(c.p == 77);
    for (int kind = KR_MEAN_HOEFFDING; kind <= KR_MEAN_WSR_ROUNDS; kind++) {
        assert_int_equal(kr_mean_test((kr_mean_kind)kind, NULL, 0, 1, dec("0.1"), d, &c, &err),
                         KR_OK);
        assert_true(c.p == 1 && c.upper == 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_agree_with_golden_values),
        cmocka_unit_test(test_and_limit_say_the_same),
        cmocka_unit_test(losses_are_rounded_up_and_missing_ones_are_full),
        cmocka_unit_test(impossible_losses_are_refused),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
