#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "risk/anytime.h"

enum { MOST = 200 };

/* Exactly, over all paths: the chance that the interval ever misses the rate up to MOST requests. */
static double ever_missed(double rate, double delta) {
    double alive[MOST + 2] = {1}, missed = 0;
    for (int n = 1; n <= MOST; n++) {
        for (int k = n; k >= 0; k--) {
            alive[k] = (k < n ? alive[k] * (1 - rate) : 0) + (k > 0 ? alive[k - 1] * rate : 0);
            double lo, hi;
            assert_int_equal(kr_anytime_interval(k, n, delta, &lo, &hi, NULL), KR_OK);
            assert_true(lo >= 0 && lo <= (double)k / n && hi >= (double)k / n && hi <= 1);
            if (rate < lo || rate > hi) {
                missed += alive[k];
                alive[k] = 0;
            }
        }
    }
    return missed;
}

static void stopping_at_any_time_keeps_the_error(void **state) {
    (void)state;
    static const double rates[] = {0.01, 0.05, 0.3, 0.9};
    for (size_t i = 0; i < 4; i++) {
        double miss = ever_missed(rates[i], 0.05);
        printf("note: rate %g is missed at some time up to %d with chance %.4f of 0.05\n", rates[i],
               MOST, miss);
        assert_true(miss > 0 && miss <= 0.05);
    }
}

/* Bisection in 50 decimal digits, the beta functions as exact products (Python's decimal). */
static void limits_are_those_of_an_independent_computation(void **state) {
    (void)state;
    static const struct {
        int k, n;
        double delta, lo, hi;
    } known[] = {
        {0, 1, 0.05, 0.000000000000000, 0.975000000000000},
        {1, 1, 0.05, 0.025000000000000, 1.000000000000000},
        {0, 100, 0.05, 0.000000000000000, 0.057028597638772},
        {5, 100, 0.05, 0.007149478932597, 0.155794443540606},
        {30, 600, 0.1, 0.025429619286730, 0.085920851759167},
        {599, 600, 0.01, 0.980979164504148, 0.999999807916639},
        {2, 7, 0.5, 0.053829128132737, 0.650878554224071},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double lo, hi;
        kr_anytime_interval(known[i].k, known[i].n, known[i].delta, &lo, &hi, NULL);
        assert_true(fabs(lo - known[i].lo) < 1e-9 && fabs(hi - known[i].hi) < 1e-9);
    }
}

static void nonsense_is_refused(void **state) {
    (void)state;
    double lo = 7, hi = 7;
    kr_error err;
    assert_int_equal(kr_anytime_interval(3, 2, 0.05, &lo, &hi, &err), KR_EINVAL);
    assert_int_equal(kr_anytime_interval(-1, 2, 0.05, &lo, &hi, &err), KR_EINVAL);
    assert_int_equal(kr_anytime_interval(1, 2, 0, &lo, &hi, &err), KR_EINVAL);
    assert_int_equal(kr_anytime_interval(1, 2, 1, &lo, &hi, &err), KR_EINVAL);
    assert_int_equal(kr_anytime_interval(1, 2, NAN, &lo, &hi, &err), KR_EINVAL);
    assert_true(lo == 7 && hi == 7);
    assert_int_equal(kr_anytime_interval(0, 0, 0.05, &lo, &hi, NULL), KR_OK);
    assert_true(lo == 0 && hi == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopping_at_any_time_keeps_the_error),
        cmocka_unit_test(limits_are_those_of_an_independent_computation),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
