#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "risk/band.h"
#include "risk/binomial.h"
#include "risk/evalue.h"
#include "risk/plan.h"
#include "risk/posthoc.h"
#include "tests/risk/golden.h"

static int64_t nano_of(const char *s) {
    int64_t v = 0;
    assert_true(kr_dec_nano(dec(s), &v));
    return v;
}

static int64_t item(const cJSON *array, size_t i) {
    return (int64_t)cJSON_GetArrayItem(array, (int)i)->valuedouble;
}

/* Counts straight from the drops of the golden chain, in integers of 1e-9. */
typedef struct {
    const cJSON *drops, *taus;
} raw;

static int64_t raw_count(void *ctx, size_t t, size_t j) {
    const raw *r = ctx;
    int64_t tau = nano_of(cJSON_GetArrayItem(r->taus, (int)t)->valuestring), k = 0;
    const cJSON *d;
    cJSON_ArrayForEach (d, cJSON_GetArrayItem(r->drops, (int)j))
        k += nano_of(d->valuestring) > tau;
    return k;
}

static void tolerance_table_agrees_with_golden_values(void **state) {
    (void)state;
    const cJSON *g = golden_get(golden, "posthoc_tau");
    raw r = {golden_get(g, "drops_by_policy"), golden_get(g, "taus")};
    size_t m = (size_t)cJSON_GetArraySize(r.drops), points = (size_t)cJSON_GetArraySize(r.taus);
    int64_t n = cJSON_GetArraySize(cJSON_GetArrayItem(r.drops, 0));
    kr_dec eps = golden_decimal(g, "eps");
    kr_level d = golden_level(g, "delta");
    kr_sequence s[8];
    kr_limits lim;
    kr_status st = kr_posthoc_tolerances(points, m, raw_count, &r, n, eps, d, &lim, s, NULL);
    assert_int_equal(st, KR_OK);
    assert_int_equal(lim.kmax, golden_int(g, "kmax_simultaneous"));
    assert_int_equal(kr_kmax(n, eps, d), golden_int(g, "kmax_single"));
    for (size_t t = 0; t < points; t++) {
        assert_int_equal(s[t].certified + 1,
                         item(golden_get(g, "n_certified_by_tau_simultaneous"), t));
        for (size_t j = 0; j < m; j++)
            assert_int_equal(raw_count(&r, t, j),
                             item(cJSON_GetArrayItem(golden_get(g, "counts"), (int)j), t));
    }
    printf("note: posthoc_tau: %zu entries\n", points * m);
}

static void risk_table_agrees_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row, *v;
    cJSON_ArrayForEach (row, golden_get(golden, "posthoc_eps")) {
        int64_t k[32], n = golden_int(row, "n");
        double upper[32], running[32];
        size_t m = 0, j = 0;
        cJSON_ArrayForEach (v, golden_get(row, "counts"))
            k[m++] = (int64_t)v->valuedouble;
        kr_level level = golden_level(row, "level");
        /* the golden level is that of one candidate: a budget of m times it */
        kr_level delta =
            kr_level_make(kr_dec_make(level.num.digits * (int64_t)m, level.num.scale), level.den);
        assert_int_equal(kr_posthoc_risks(m, k, n, delta, upper, running, NULL), KR_OK);
        cJSON_ArrayForEach (v, golden_get(row, "upper")) {
            assert_true(golden_rel(upper[j++], v->valuedouble) <= 1e-12);
        }
        j = 0;
        cJSON_ArrayForEach (v, golden_get(row, "running_max")) {
            assert_true(golden_rel(running[j++], v->valuedouble) <= 1e-12);
        }
        cJSON_ArrayForEach (v, golden_get(row, "n_certified_at_eps")) {
            assert_int_equal(kr_posthoc_prefix(m, running, dec(v->string)), v->valuedouble);
        }
        count++;
    }
    printf("note: posthoc_eps: %d entries\n", count);
    assert_int_equal(count, 2);
}

static void e_values_agree_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "e_values")) {
        int64_t n = golden_int(row, "n"), k = golden_int(row, "k");
        kr_dec eps = golden_decimal(row, "eps");
        double e = kr_evalue_ln(k, n, eps), q = 0.6 * kr_dec_double(eps);
        double want = golden_num(row, "logE_mix_beta_half_half_truncated");
        assert_true(fabs(e - want) <= 1e-11 * fmax(1, fabs(want)));
        assert_true(golden_rel(kr_evalue_p(e), golden_num(row, "posthoc_p_mix")) <= 1e-10);
        e = kr_evalue_point_ln(k, n, eps, q);
        want = golden_num(row, "logE_point_q_0_6eps");
        assert_true(fabs(e - want) <= 1e-11 * fmax(1, fabs(want)));
        assert_true(golden_rel(kr_evalue_p(e), golden_num(row, "posthoc_p_point")) <= 1e-10);
        count++;
    }
    printf("note: e_values: %d entries\n", count);
    assert_int_equal(count, 12);
}

/* E[E] over Bin(n, eps) is 1 at the boundary and below 1 above it. */
static void e_values_have_expectation_one_at_the_boundary(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 7, 100, 1200};
    kr_dec eps = dec("0.05");
    for (int i = 0; i < 4; i++) {
        double at = 0, above = 0;
        for (int64_t k = 0; k <= sizes[i]; k++) {
            double e = kr_evalue_ln(k, sizes[i], eps);
            at += exp(e + kr_binom_ln_mass(k, sizes[i], 0.05));
            above += exp(e + kr_binom_ln_mass(k, sizes[i], 0.06));
        }
        assert_true(fabs(at - 1) < 1e-11);
        assert_true(above < 1);
    }
    assert_true(kr_evalue_ln(-1, 10, eps) == -INFINITY && kr_evalue_ln(11, 10, eps) == -INFINITY);
    assert_true(isfinite(kr_evalue_ln(0, 10000000, eps)));
    assert_true(isfinite(kr_evalue_ln(10000000, 10000000, eps)));
}

static void e_value_limits_walk_like_any_other(void **state) {
    (void)state;
    kr_limits l = kr_evalue_limits(1200, dec("0.05"), kr_level_make(dec("0.05"), 1));
    kr_sequence s;
    assert_int_equal(l.kmax, 38);
    kr_sequence_certify(&l, 3, (int64_t[]){20, 38, 39}, NULL, &s, NULL);
    assert_int_equal(s.certified, 1);
    assert_int_equal(s.why, KR_STOP_EVENTS);
    assert_int_equal(kr_evalue_limits(0, dec("0.05"), kr_level_make(dec("0.05"), 1)).kmax, -1);
}

static void dkw_agrees_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    kr_dec eps = dec("0.05");
    cJSON_ArrayForEach (row, golden_get(golden, "dkw_one_sided")) {
        int64_t n = golden_int(row, "n");
        kr_level d = golden_level(row, "delta");
        double level = kr_level_double(d);
        assert_true(golden_rel(kr_dkw_halfwidth(n, level), golden_num(row, "halfwidth")) <= 1e-12);
        assert_int_equal(kr_dkw_kmax(n, eps, level), golden_int(row, "kmax_at_eps_0_05"));
        assert_int_equal(kr_kmax(n, eps, d), golden_int(row, "exact_kmax"));
        count++;
    }
    printf("note: dkw_one_sided: %d entries\n", count);
    assert_int_equal(count, 29);
}

static void berk_jones_agrees_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    double worst = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "berk_jones_one_sided")) {
        int64_t n = golden_int(row, "n"), lo = 1, hi = n;
        const char *range = strchr(golden_str(row, "range"), '[');
        long long a, b;
        if (range != NULL && sscanf(range, "[%lld,%lld]", &a, &b) == 2)
            lo = a, hi = b;
        double c = 0, want = golden_num(row, "local_level");
        assert_int_equal(kr_bj_level(n, golden_num(row, "delta"), lo, hi, &c, NULL), KR_OK);
        worst = fmax(worst, golden_rel(c, want));
        assert_true(golden_rel(c, want) <= 1e-10);
        count++;
    }
    printf("note: berk_jones_one_sided: %d entries, worst error %.1e\n", count, worst);
    assert_int_equal(count, 37);
    double c = 77;
    assert_int_equal(kr_bj_level(10, 0.05, 5, 4, &c, NULL), KR_EINVAL);
    assert_int_equal(kr_bj_level(0, 0.05, 1, 0, &c, NULL), KR_EINVAL);
    assert_true(c == 77);
}

/* Largest count that each named rule certifies at eps = delta = .05. */
static int64_t kmax_of(const char *method, int64_t n) {
    kr_dec eps = dec("0.05");
    long share = 1;
    double c;
    const char *eq = strstr(method, "c=");
    if (eq != NULL && sscanf(eq, "c=%lf", &c) == 1)
        return kr_bj_kmax(n, eps, c);
    if (sscanf(method, "delta/%ld", &share) == 1 || strstr(method, "single") != NULL)
        return kr_kmax(n, eps, kr_level_make(dec("0.05"), share));
    if (strncmp(method, "confirm split ", 14) == 0)
        return kr_kmax((int64_t)((double)n * atof(method + 14)), eps,
                       kr_level_make(dec("0.05"), 1));
    if (strncmp(method, "DKW", 3) == 0)
        return kr_dkw_kmax(n, eps, 0.05);
    if (strncmp(method, "e mix", 5) == 0)
        return kr_evalue_kmax(n, eps, 0.05);
    double q = strstr(method, "0.6") != NULL ? 0.03 : 0.025;
    int64_t k = -1;
    while (k < n && kr_evalue_point_ln(k + 1, n, eps, q) >= -log(0.05))
        k++;
    return k;
}

static void prices_of_all_rules_agree_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden_get(golden, "power_loss_table"), "rows")) {
        const char *method = golden_str(row, "method");
        int64_t n = golden_int(row, "n"), k = golden_int(row, "kmax"), used = n;
        if (kmax_of(method, n) != k)
            fail_msg("%s at n = %d: %d, not %d", method, (int)n, (int)kmax_of(method, n), (int)k);
        if (strncmp(method, "confirm split ", 14) == 0)
            used = (int64_t)((double)n * atof(method + 14));
        double got = kr_plan_power(used, k, 0.03), want = golden_num(row, "power_at_0_03");
        assert_true(fabs(got - want) <= 1e-11);
        got = kr_plan_power(used, k, 0.035);
        assert_true(fabs(got - golden_num(row, "power_at_0_035")) <= 1e-11);
        got = k < 0 ? 0 : kr_binom_upper(k, used, 0.8); /* risk with 80 % power */
        want = golden_num(row, "risk_with_80pct_power");
        assert_true(k < 0 || golden_rel(got, want) <= 1e-9);
        count++;
    }
    printf("note: power_loss_table: %d entries\n", count);
    assert_int_equal(count, 84);
}

static void levels_are_shared_over_the_smaller_side(void **state) {
    (void)state;
    kr_level d = kr_level_make(dec("0.05"), 2);
    assert_int_equal(kr_posthoc_level(d, 13, 3).den, 6);
    assert_int_equal(kr_posthoc_level(d, 4, 20).den, 8);
    assert_int_equal(kr_posthoc_level(d, 4, 0).den, 8);
    assert_int_equal(kr_posthoc_level_map(d, 13, 3, 3).den, 18);
    assert_int_equal(kr_posthoc_level_map(d, 2, 5, 4).den, 16);
    assert_true(kr_level_double(kr_posthoc_level_map(d, 13, 0, 3)) == 0);
    assert_true(kr_level_double(kr_posthoc_level_map(d, SIZE_MAX, SIZE_MAX, SIZE_MAX)) == 0);
    assert_true(kr_level_double(kr_posthoc_level(d, 0, 5)) == 0);
    assert_true(kr_level_double(kr_posthoc_level(d, SIZE_MAX, SIZE_MAX)) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tolerance_table_agrees_with_golden_values),
        cmocka_unit_test(risk_table_agrees_with_golden_values),
        cmocka_unit_test(e_values_agree_with_golden_values),
        cmocka_unit_test(e_values_have_expectation_one_at_the_boundary),
        cmocka_unit_test(e_value_limits_walk_like_any_other),
        cmocka_unit_test(dkw_agrees_with_golden_values),
        cmocka_unit_test(berk_jones_agrees_with_golden_values),
        cmocka_unit_test(prices_of_all_rules_agree_with_golden_values),
        cmocka_unit_test(levels_are_shared_over_the_smaller_side),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
