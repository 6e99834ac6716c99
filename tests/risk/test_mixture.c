#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "risk/binomial.h"
#include "risk/compare.h"
#include "risk/mixture.h"
#include "tests/risk/golden.h"

static kr_level level(const char *s) { return kr_level_make(dec(s), 1); }

static size_t read_ints(const cJSON *array, int64_t *out) {
    const cJSON *v;
    size_t m = 0;
    cJSON_ArrayForEach (v, array)
        out[m++] = (int64_t)v->valuedouble;
    return m;
}

static size_t read_ratios(const cJSON *array, kr_ratio *out) {
    const cJSON *v;
    size_t m = 0;
    cJSON_ArrayForEach (v, array)
        out[m++] = golden_ratio(v);
    return m;
}

static void mixtures_agree_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "reweighted")) {
        int64_t k[16], n[16];
        kr_ratio w[16];
        kr_mixture_claim c;
        kr_dec eps = golden_decimal(row, "eps");
        size_t tasks = read_ratios(golden_get(row, "weights"), w);
        int64_t requests = 0, events = 0;
        read_ints(golden_get(row, "K"), k);
        read_ints(golden_get(row, "n"), n);
        assert_int_equal(kr_mixture_test(tasks, k, n, w, eps, &c, NULL), KR_OK);
        assert_true(golden_rel(c.rate, golden_num(row, "weighted_rate")) <= 1e-12);
        assert_true(golden_rel(c.chernoff, golden_num(row, "p_chernoff")) <= 1e-8);
        assert_true(golden_rel(c.bentkus, golden_num(row, "p_bentkus_scaled")) <= 1e-8);
        assert_true(golden_rel(c.hoeffding, golden_num(row, "p_hoeffding")) <= 1e-8);
        for (size_t h = 0; h < tasks; h++)
            if (w[h].value > 0)
                requests += n[h], events += k[h];
        double least = fmin(c.chernoff, fmin(c.bentkus, c.hoeffding));
        assert_true(golden_rel(least, golden_num(row, "p_reported_min")) <= 1e-8);
        assert_true(c.p == (c.exact ? kr_p_value(events, requests, eps) : least));
        assert_true(c.p <= least * (1 + 1e-12));
        count++;
    }
    printf("note: reweighted: %d entries\n", count);
    assert_int_equal(count, 5);
}

/* P[S <= k] for S a sum of binomials, by convolution. */
static double sum_of_binomials(const double *r, size_t tasks, int64_t n, int64_t k) {
    double law[1400] = {1}, next[1400];
    for (size_t h = 0; h < tasks; h++) {
        for (int64_t s = 0; s <= k; s++) {
            next[s] = 0;
            for (int64_t x = 0; x <= s && x <= n; x++)
                next[s] += law[s - x] * exp(kr_binom_ln_mass(x, n, r[h]));
        }
        memcpy(law, next, (size_t)(k + 1) * sizeof *law);
    }
    double sum = 0;
    for (int64_t s = 0; s <= k; s++)
        sum += law[s];
    return sum;
}

static void unequal_tasks_stay_below_the_binomial_tail(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row, *v;
    cJSON_ArrayForEach (row, golden_get(golden, "poisson_binomial")) {
        double r[16];
        size_t tasks = 0;
        cJSON_ArrayForEach (v, golden_get(row, "r"))
            r[tasks++] = v->valuedouble;
        int64_t n = golden_int(row, "n_per_task"), k = golden_int(row, "k");
        double p = sum_of_binomials(r, tasks, n, k);
        assert_true(golden_rel(p, golden_num(row, "P_poisson_binomial")) <= 1e-10);
        double same = kr_binom_tails(k, n * (int64_t)tasks, golden_num(row, "mean")).p;
        assert_true(golden_rel(same, golden_num(row, "P_binomial_same_mean")) <= 1e-12);
        if (golden_true(row, "guard_k_le_nR_minus_1"))
            assert_true(p <= same * (1 + 1e-12));
        assert_int_equal(p <= same * (1 + 1e-12), golden_true(row, "bound_holds"));
        count++;
    }
    printf("note: poisson_binomial: %d entries\n", count);
    assert_int_equal(count, 6);
}

static void weights_must_be_a_mixture_of_sampled_tasks(void **state) {
    (void)state;
    int64_t k[] = {0, 0}, n[] = {100, 0}, take[2], total = 7;
    kr_mixture_claim c = {.p = 77};
    kr_error err;
    kr_ratio third = kr_ratio_make(1, 3), half = kr_ratio_make(1, 2);
    kr_dec eps = dec("0.05");
    kr_ratio bad_sum[] = {third, third}, unsampled[] = {half, half};
    kr_ratio negative[] = {kr_ratio_make(3, 2), kr_ratio_make(-1, 2)};
    kr_ratio rounded[] = {kr_ratio_double(0.5), half};
    assert_int_equal(kr_mixture_test(2, k, n, bad_sum, eps, &c, &err), KR_EINVAL);
    assert_int_equal(kr_mixture_test(2, k, n, unsampled, eps, &c, &err), KR_EINVAL);
    assert_non_null(strstr(err.msg, "no requests"));
    assert_int_equal(kr_mixture_test(2, k, n, negative, eps, &c, &err), KR_EINVAL);
    assert_int_equal(kr_mixture_test(0, k, n, rounded, eps, &c, &err), KR_EINVAL);
    n[1] = 100;
    assert_int_equal(kr_mixture_test(2, k, n, rounded, eps, &c, &err), KR_EINVAL);
    k[1] = 101;
    assert_int_equal(kr_mixture_test(2, k, n, unsampled, eps, &c, &err), KR_EINVAL);
    assert_true(c.p == 77);
    assert_int_equal(kr_mixture_quota(2, n, bad_sum, take, &total, &err), KR_EINVAL);
    assert_int_equal(total, 7);
}

static void quotas_keep_the_mixture_exactly(void **state) {
    (void)state;
    const int64_t n[] = {100, 100, 70};
    int64_t take[3], total;
    kr_ratio w[] = {kr_ratio_make(1, 2), kr_ratio_make(1, 3), kr_ratio_make(1, 6)};
    assert_int_equal(kr_mixture_quota(3, n, w, take, &total, NULL), KR_OK);
    assert_int_equal(total, 198);
    assert_int_equal(take[0], 99);
    assert_int_equal(take[1], 66);
    assert_int_equal(take[2], 33);
    kr_ratio odd[] = {kr_ratio_make(100002, 200003), kr_ratio_make(100001, 200003),
                      kr_ratio_make(0, 1)};
    assert_int_equal(kr_mixture_quota(3, n, odd, take, &total, NULL), KR_OK);
    assert_int_equal(total, 0); /* no exact sub-sample that small */
}

static void the_worst_task_decides_for_all(void **state) {
    (void)state;
    int64_t k[12] = {0}, n[12];
    for (int h = 0; h < 12; h++)
        n[h] = 100;
    kr_worst_claim c;
    k[7] = 1;
    assert_int_equal(kr_mixture_worst(12, k, n, dec("0.05"), level("0.05"), &c, NULL), KR_OK);
    assert_int_equal(c.task, 7);
    assert_true(c.p <= 0.05 && c.upper <= 0.05);
    k[3] = 2;
    assert_int_equal(kr_mixture_worst(12, k, n, dec("0.05"), level("0.05"), &c, NULL), KR_OK);
    assert_int_equal(c.task, 3);
    assert_true(c.p > 0.05 && c.upper > 0.05);
}

static void limits_of_a_mixture_and_of_any(void **state) {
    (void)state;
    int64_t k[] = {0, 0, 14}, n[] = {400, 400, 400};
    kr_ratio third = kr_ratio_make(1, 3), w[] = {third, third, third};
    double upper;
    kr_level d = level("0.05");
    assert_int_equal(kr_mixture_any(3, k, n, w, d, &upper, NULL), KR_OK);
    assert_true(upper > 14.0 / 1200 && upper < 0.05);
    for (int unequal = 0; unequal < 2; unequal++) { /* the limit is where the p-value meets the level */
        kr_mixture_claim c;
        double u;
        if (unequal == 0)
            w[0] = w[1] = w[2] = third;
        else
            w[0] = kr_ratio_make(1, 2), w[1] = w[2] = kr_ratio_make(1, 4);
        assert_int_equal(kr_mixture_upper(3, k, n, w, d, &u, NULL), KR_OK);
        kr_mixture_test(3, k, n, w, kr_dec_from_double(u * 1.0001, 12), &c, NULL);
        assert_true(c.p < 0.05 && c.exact == (unequal == 0));
        kr_mixture_test(3, k, n, w, kr_dec_from_double(u * 0.9999, 12), &c, NULL);
        assert_true(c.p > 0.05);
    }
}

static void close_to(double got, double want, double within) {
    assert_true(fabs(got - want) <= within);
}

static void the_mixture_may_move_as_far_as_the_limit_leaves_room(void **state) {
    (void)state;
    kr_dec eps = dec("0.05");
    close_to(kr_mixture_growth(0.04, eps), 1.25, 1e-9);
    close_to(kr_mixture_growth(0.05, eps), 1, 0);
    close_to(kr_mixture_growth(0.06, eps), 1, 0);
    close_to(kr_mixture_growth(NAN, eps), 1, 0);
    /* a fifth of the requests holds all of 0.04: at most 0.2 there, and (1-t) 0.04 + t 0.2 = 0.05 */
    close_to(kr_mixture_reach(0.2, 0.04, eps), 0.0625, 1e-9);
    close_to(kr_mixture_reach(0.01, 0.04, eps), 0.01 / 0.96, 1e-9);
    close_to(kr_mixture_reach(0, 0.04, eps), 0.01 / 0.96, 1e-9);
    close_to(kr_mixture_reach(0.9, 0.04, eps), 1, 0);
    close_to(kr_mixture_reach(0.2, 0.05, eps), 0, 0);
    close_to(kr_mixture_reach(0.2, NAN, eps), 0, 0);
    /* neither claims more than the worst risks allow: all of it in the task that gains */
    for (double u = 0.001; u < 0.05; u += 0.0037)
        for (double w = 0.02; w < 1; w += 0.07) {
            double t = kr_mixture_reach(w, u, eps), g = kr_mixture_growth(u, eps);
            double most = fmin(1, u / w), share = fmin(1, g * w);
            assert_true((1 - t) * u + t * most <= 0.05 + 1e-12);
            assert_true(share * most <= 0.05 + 1e-12);
        }
}

/* Every request of every task fails or none does: extremes of the worst-case search. */
static void bounds_are_probabilities_at_the_extremes(void **state) {
    (void)state;
    const int64_t sizes[] = {1, 10, 1000000};
    kr_ratio w[] = {kr_ratio_make(9, 10), kr_ratio_make(1, 10)};
    for (int s = 0; s < 3; s++)
        for (int all = 0; all < 4; all++) {
            int64_t n[] = {sizes[s], sizes[s]}, k[] = {all & 1 ? n[0] : 0, all & 2 ? n[1] : 0};
            kr_mixture_claim c;
            assert_int_equal(kr_mixture_test(2, k, n, w, dec("0.05"), &c, NULL), KR_OK);
            assert_true(c.p >= 0 && c.p <= 1 && c.chernoff >= 0 && c.chernoff <= 1);
            assert_true(c.bentkus >= 0 && c.bentkus <= 1 && c.hoeffding <= 1);
            /* no test can beat the chance of this outcome at the null */
            if (all == 0)
                assert_true(c.p >= pow(1 - 0.05 / 0.9, (double)n[0]) * (1 - 1e-9));
            else
                assert_true(c.p == 1);
        }
}

static void mcnemar_agrees_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden_get(golden, "mcnemar_exact"), "rows")) {
        kr_mcnemar_claim m;
        int64_t b = golden_int(row, "b"), c = golden_int(row, "c");
        assert_int_equal(kr_mcnemar(b, c, 5000, 0.05, &m, NULL), KR_OK);
        assert_true(golden_rel(m.two_sided, golden_num(row, "p_two_sided")) <= 1e-12);
        assert_true(golden_rel(m.a_better, golden_num(row, "p_one_sided_b_less")) <= 1e-12);
        assert_true(golden_rel(m.b_better, golden_num(row, "p_one_sided_c_less")) <= 1e-12);
        assert_true(golden_rel(m.mid, golden_num(row, "p_mid_two_sided")) <= 1e-12);
        double diff = (double)(b - c) / 5000;
        assert_true(m.lower <= diff && diff <= m.upper && m.lower >= -1 && m.upper <= 1);
        count++;
    }
    printf("note: mcnemar_exact: %d entries\n", count);
    assert_int_equal(count, 13);
    kr_mcnemar_claim m = {.mid = 77};
    assert_int_equal(kr_mcnemar(3, 8, 10, 0.05, &m, NULL), KR_EINVAL);
    assert_true(m.mid == 77);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixtures_agree_with_golden_values),
        cmocka_unit_test(unequal_tasks_stay_below_the_binomial_tail),
        cmocka_unit_test(weights_must_be_a_mixture_of_sampled_tasks),
        cmocka_unit_test(quotas_keep_the_mixture_exactly),
        cmocka_unit_test(the_worst_task_decides_for_all),
        cmocka_unit_test(limits_of_a_mixture_and_of_any),
        cmocka_unit_test(the_mixture_may_move_as_far_as_the_limit_leaves_room),
        cmocka_unit_test(bounds_are_probabilities_at_the_extremes),
        cmocka_unit_test(mcnemar_agrees_with_golden_values),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
