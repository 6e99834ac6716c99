#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>


#include "base/clock.h"
#include "risk/binomial.h"
#include "risk/plan.h"
#include "risk/random.h"
#include "tests/risk/golden.h"

__extension__ typedef __int128 wide;

static kr_level level(const char *s) { return kr_level_make(dec(s), 1); }

static void powers_and_sizes_agree_with_golden_values(void **state) {
    (void)state;
    const cJSON *row;
    int powers = 0, sizes = 0;
    cJSON_ArrayForEach (row, golden_get(golden, "power_binomial")) {
        double r = strtod(golden_str(row, "R"), NULL);
        double p = kr_plan_power(golden_int(row, "n"), golden_int(row, "kmax"), r);
        assert_true(golden_rel(p, golden_num(row, "power")) <= 1e-12);
        powers++;
    }
    double t0 = kr_clock();
    cJSON_ArrayForEach (row, golden_get(golden, "sample_size")) {
        kr_plan_size s;
        double r = strtod(golden_str(row, "R"), NULL), power = strtod(golden_str(row, "power"), NULL);
        /* The golden search ended at 12,000, this one looks as far as there is. */
        assert_int_equal(kr_plan_needed(r, power, golden_decimal(row, "eps"), golden_level(row, "delta"),
                                        1, KR_BINOM_N_MAX, &s, NULL), KR_OK);
        assert_int_equal(s.first, golden_int(row, "n_first"));
        assert_int_equal(s.stable, golden_int(row, "n_stable"));
        sizes++;
    }
    printf("note: power_binomial: %d entries; sample_size: %d entries, %.1f ms each\n", powers, sizes,
           (kr_clock() - t0) * 1e3 / sizes);
    assert_int_equal(powers, 56);
    assert_int_equal(sizes, 12);
}

/* The published table of requests needed: eps, delta over a number of claims, true risk, power. */
static void the_table_of_sizes(void **state) {
    (void)state;
    static const struct {
        const char *eps, *delta;
        int64_t claims;
        double risk, power;
        int64_t first, stable;
    } row[] = {{"0.05", "0.05", 1, 0.01, 0.8, 124, 124},      {"0.05", "0.05", 1, 0.02, 0.8, 234, 286},
               {"0.05", "0.05", 1, 0.025, 0.8, 361, 434},     {"0.05", "0.05", 1, 0.03, 0.8, 601, 694},
               {"0.05", "0.05", 1, 0.03, 0.9, 832, 900},      {"0.05", "0.05", 1, 0.035, 0.8, 1148, 1260},
               {"0.05", "0.05", 1, 0.04, 0.8, 2698, 2869},    {"0.05", "0.01", 1, 0.03, 0.8, 997, 1068},
               {"0.05", "0.05", 12, 0.03, 0.8, 1212, 1284},   {"0.1", "0.05", 1, 0.05, 0.8, 179, 203},
               {"0.02", "0.05", 1, 0.01, 0.8, 969, 1091},     {"0.01", "0.05", 1, 0.005, 0.8, 1941, 2185}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        kr_plan_size s;
        kr_level l = kr_level_make(dec(row[i].delta), row[i].claims);
        assert_int_equal(kr_plan_needed(row[i].risk, row[i].power, dec(row[i].eps), l, 1, KR_BINOM_N_MAX, &s,
                                        NULL), KR_OK);
        assert_int_equal(s.first, row[i].first);
        assert_int_equal(s.stable, row[i].stable);
        assert_int_equal(s.searched, KR_BINOM_N_MAX);
    }
}

/* Every size up to `most`, one by one. */
static kr_plan_size one_by_one(double risk, double power, kr_dec eps, kr_level l, int64_t step, int64_t most) {
    kr_plan_size s = {-1, -1, most / step * step};
    for (int64_t n = step; n <= most; n += step) {
        bool has = kr_plan_power(n, kr_kmax(n, eps, l), risk) >= power;
        if (has && s.first < 0)
            s.first = n;
        if (has && s.stable < 0)
            s.stable = n;
        if (!has)
            s.stable = -1;
    }
    return s;
}

static void the_search_leaves_nothing_out(void **state) {
    (void)state;
    kr_random r = kr_random_start(4, 0);
    int found = 0, beyond = 0;
    for (int i = 0; i < 60; i++) {
        kr_dec eps = kr_dec_make((int64_t)kr_random_below(&r, 300) + 5, 3);
        kr_level l = kr_level_make(kr_dec_make((int64_t)kr_random_below(&r, 99) + 1, 3),
                                   1 + (int64_t)kr_random_below(&r, 13));
        int64_t step = 1 + (int64_t)kr_random_below(&r, 13), most = 500 + (int64_t)kr_random_below(&r, 3000);
        double risk = kr_dec_double(eps) * (0.1 + 0.08 * (double)kr_random_below(&r, 11));
        double power = 0.05 + 0.1 * (double)kr_random_below(&r, 10);
        kr_plan_size want = one_by_one(risk, power, eps, l, step, most), got;
        assert_int_equal(kr_plan_needed(risk, power, eps, l, step, most, &got, NULL), KR_OK);
        assert_int_equal(got.first, want.first);
        assert_int_equal(got.searched, want.searched);
        /* What follows the last size looked at is known to the search alone. */
        if (want.stable >= 0 && got.stable < 0)
            fail_msg("stable %lld was missed", (long long)want.stable);
        if (got.stable >= 0)
            assert_int_equal(got.stable, want.stable);
        found += got.stable >= 0;
        beyond += got.first < 0;
    }
    assert_true(found > 20 && beyond > 5);
}

static void sizes_are_multiples_of_the_tasks(void **state) {
    (void)state;
    kr_plan_size one, seven;
    assert_int_equal(kr_plan_needed(0.03, 0.8, dec("0.05"), level("0.05"), 1, 100000, &one, NULL), KR_OK);
    assert_int_equal(kr_plan_needed(0.03, 0.8, dec("0.05"), level("0.05"), 7, 100000, &seven, NULL), KR_OK);
    assert_int_equal(seven.first % 7, 0);
    assert_int_equal(seven.stable, (one.stable + 6) / 7 * 7);
    assert_true(seven.first >= one.first && seven.first <= seven.stable);
    assert_int_equal(seven.searched, 99995);
}

static void searches_end(void **state) {
    (void)state;
    kr_plan_size s = {.first = 77};
    kr_error err;
    kr_level l = level("0.05");
    assert_int_equal(kr_plan_needed(0.06, 0.8, dec("0.05"), l, 1, 1000, &s, &err), KR_EINVAL);
    assert_int_equal(kr_plan_needed(0.0499, 0.8, dec("0.05"), l, 1, 1000, &s, &err), KR_EINVAL);
    assert_int_equal(kr_plan_needed(0.03, 1, dec("0.05"), l, 1, 1000, &s, &err), KR_EINVAL);
    assert_int_equal(kr_plan_needed(0.03, 0.8, dec("0.05"), level("0"), 1, 1000, &s, &err), KR_EINVAL);
    assert_int_equal(kr_plan_needed(0.03, 0.8, dec("0.05"), l, 0, 1000, &s, &err), KR_EINVAL);
    assert_int_equal(kr_plan_needed(0.03, 0.8, dec("0.05"), l, 1, KR_BINOM_N_MAX + 1, &s, &err), KR_EINVAL);
    assert_int_equal(s.first, 77);
    assert_int_equal(kr_plan_needed(0.049, 0.8, dec("0.05"), l, 12, 1200, &s, &err), KR_OK);
    assert_int_equal(s.first, -1);
    assert_int_equal(s.stable, -1);
    assert_int_equal(s.searched, 1200);
    double slowest = 0;
    static const char *const eps[] = {"0.5", "0.05", "0.001", "0.000001", "0.000000001", "0.999"};
    static const double part[] = {0.2, 0.9, KR_PLAN_CLOSEST};
    for (size_t i = 0; i < sizeof eps / sizeof *eps; i++)
        for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
            double t0 = kr_clock();
            assert_int_equal(kr_plan_needed(part[k] * kr_dec_double(dec(eps[i])), 0.8, dec(eps[i]), l, 1,
                                            KR_BINOM_N_MAX, &s, NULL), KR_OK);
            slowest = fmax(slowest, kr_clock() - t0);
        }
    printf("note: the slowest of 18 searches up to 1e9 requests took %.0f ms\n", slowest * 1e3);
}

static void more_requests_at_the_same_rate(void **state) {
    (void)state;
    kr_dec eps = dec("0.05");
    kr_level d = level("0.05");
    assert_int_equal(kr_plan_more(47, 1200, eps, d, 1, 1000000), 0);
    assert_int_equal(kr_plan_more(60, 1200, eps, d, 1, 1000000), KR_PLAN_NEVER); /* at the target */
    assert_int_equal(kr_plan_more(61, 1200, eps, d, 1, 1000000), KR_PLAN_NEVER);
    int64_t more = kr_plan_more(48, 1200, eps, d, 1, 1000000);
    assert_true(more > 0 && more < 200);
    assert_true((48 * (1200 + more) + 1199) / 1200 <= kr_kmax(1200 + more, eps, d));
    assert_int_equal(kr_plan_more(0, 10, eps, d, 1, 1000000), 49);
    assert_int_equal(kr_plan_more(55, 1200, eps, d, 1, 1300), KR_PLAN_BEYOND);
    assert_int_equal(kr_plan_more(5, 0, eps, d, 1, 1300), KR_PLAN_NEVER);
    for (int64_t step = 1; step <= 12; step += 11) /* every size before the answer fails */
        for (int64_t k = 0; k < 60; k += 3) {
            more = kr_plan_more(k, 1200, eps, d, step, 600000);
            assert_true(more >= 0 && more % step == 0);
            for (int64_t n = 1200; n < 1200 + more; n += step)
                assert_true((k * n + 1199) / 1200 > kr_kmax(n, eps, d));
            assert_true((k * (1200 + more) + 1199) / 1200 <= kr_kmax(1200 + more, eps, d));
        }
    double t0 = kr_clock();
    more = kr_plan_more(49700, 1000000, eps, d, 1, KR_BINOM_N_MAX);
    /* 1.64^2 0.05 0.95 / 0.0003^2, by the normal law */
    assert_true(fabs((double)(more + 1000000) / 1428000 - 1) < 0.02);
    assert_true((wide)49700 * (1000000 + more) <= (wide)1000000 * kr_kmax(1000000 + more, eps, d));
    int64_t far = kr_plan_more(499990, 10000000, eps, d, 1, KR_BINOM_N_MAX);
    printf("note: 49700 of a million at 5 %%: %lld more would do; 499990 of ten million: %lld; %.0f ms\n",
           (long long)more, (long long)far, (kr_clock() - t0) * 1e3);
    assert_true(more > 0 && far == KR_PLAN_BEYOND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_and_sizes_agree_with_golden_values),
        cmocka_unit_test(the_table_of_sizes),
        cmocka_unit_test(the_search_leaves_nothing_out),
        cmocka_unit_test(sizes_are_multiples_of_the_tasks),
        cmocka_unit_test(searches_end),
        cmocka_unit_test(more_requests_at_the_same_rate),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
