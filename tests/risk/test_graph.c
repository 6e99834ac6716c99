#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <gsl/gsl_rng.h>

#include "risk/family.h"
#include "risk/graph.h"
#include "tests/risk/golden.h"

#define MOST 64

static size_t read_ratios(const cJSON *array, kr_ratio *out) {
    const cJSON *v;
    size_t m = 0;
    cJSON_ArrayForEach (v, array)
        out[m++] = golden_ratio(v);
    return m;
}

static kr_graph *golden_graph(const cJSON *row) {
    kr_ratio w[MOST], e[MOST];
    kr_graph *g = NULL;
    const cJSON *line;
    size_t m = read_ratios(golden_get(row, "weights"), w), i = 0;
    assert_int_equal(kr_graph_new(m, &g, NULL), KR_OK);
    cJSON_ArrayForEach (line, golden_get(row, "transitions")) {
        kr_graph_set_weight(g, i, w[i]);
        read_ratios(line, e);
        for (size_t k = 0; k < m; k++)
            kr_graph_set_edge(g, i, k, e[k]);
        i++;
    }
    return g;
}

/* delta as "1/20" or "0.05" */
static kr_level golden_delta(const cJSON *row) {
    kr_ratio d = golden_ratio(golden_get(row, "delta"));
    return kr_level_make(kr_dec_make(d.num, 0), d.den);
}

static double item(const cJSON *row, const char *name, size_t i) {
    return cJSON_GetArrayItem(golden_get(row, name), (int)i)->valuedouble;
}

static void one_golden_graph(const cJSON *row) {
    kr_ratio p[MOST];
    kr_claim c[MOST];
    size_t m = read_ratios(golden_get(row, "p_exact"), p), rejected = 0;
    kr_graph *g = golden_graph(row);
    assert_int_equal(kr_graph_test(g, p, golden_delta(row), c, &rejected, NULL), KR_OK);
    kr_graph_free(g);
    assert_int_equal(rejected, cJSON_GetArraySize(golden_get(row, "rejected")));
    for (size_t r = 0; r < rejected; r++) {
        size_t i = (size_t)item(row, "rejection_order", r);
        assert_int_equal(c[i].verdict, KR_REJECT_YES);
        assert_int_equal(c[i].order, r + 1);
        assert_true(golden_rel(c[i].level, item(row, "level_at_rejection", r)) <= 1e-12);
    }
    for (size_t i = 0; i < m; i++) {
        assert_true(golden_rel(c[i].adjusted, item(row, "adjusted_p", i)) <= 1e-12);
        if (c[i].verdict != KR_REJECT_YES)
            assert_true(golden_rel(c[i].level, item(row, "final_levels", i)) <= 1e-12);
    }
}

static void graphs_agree_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "graphical")) {
        one_golden_graph(row);
        count++;
    }
    printf("note: graphical: %d entries\n", count);
    assert_int_equal(count, 8);
}

static void same_rejections(const cJSON *want, const kr_claim *got) {
    const cJSON *v;
    size_t j = 0;
    cJSON_ArrayForEach (v, want) {
        assert_int_equal(got[j].verdict == KR_REJECT_YES, cJSON_IsTrue(v));
        j++;
    }
}

static void one_golden_vector(const cJSON *row) {
    kr_ratio p[MOST], w[MOST];
    kr_claim c[MOST], direct[MOST];
    kr_graph *g = NULL;
    size_t m = read_ratios(golden_get(row, "p"), p), starts[8], s = 0;
    kr_level d = golden_level(row, "delta");
    const cJSON *v;
    read_ratios(golden_get(row, "fallback_weights"), w);
    assert_int_equal(kr_graph_fallback(m, w, &g, NULL), KR_OK);
    assert_int_equal(kr_graph_test(g, p, d, c, NULL, NULL), KR_OK);
    same_rejections(golden_get(row, "fallback_rejected"), c);
    kr_graph_free(g);

    cJSON_ArrayForEach (v, golden_get(row, "multistart_starts"))
        starts[s++] = (size_t)v->valuedouble;
    assert_int_equal(kr_graph_multistart(m, s, starts, &g, NULL), KR_OK);
    assert_int_equal(kr_graph_test(g, p, d, c, NULL, NULL), KR_OK);
    same_rejections(golden_get(row, "multistart_accumulating"), c);
    kr_graph_free(g);
    kr_multiple_multistart(m, s, starts, p, d, c);
    same_rejections(golden_get(row, "multistart_plain"), c);

    assert_int_equal(kr_graph_holm(m, &g, NULL), KR_OK);
    assert_int_equal(kr_graph_test(g, p, d, c, NULL, NULL), KR_OK);
    kr_multiple_holm(m, p, d, direct);
    same_rejections(golden_get(row, "holm"), c);
    for (size_t i = 0; i < m; i++)
        assert_true(golden_rel(c[i].adjusted, direct[i].adjusted) <= 1e-12);
    kr_graph_free(g);
}

static void fallback_and_multistart_agree_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden, "multiple_testing_vectors")) {
        one_golden_vector(row);
        count++;
    }
    printf("note: multiple_testing_vectors (fallback, multi-start, Holm as a graph): %d entries\n",
           count);
    assert_int_equal(count, 4);
}

static gsl_rng *rng_new(unsigned long seed) {
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    assert_non_null(r);
    gsl_rng_set(r, seed);
    return r;
}

/* A random p-value as a decimal on a coarse grid, so that ties with levels do occur. */
static kr_ratio random_p(gsl_rng *r) {
    return kr_ratio_dec(kr_dec_make((int64_t)gsl_rng_uniform_int(r, 160), 3));
}

static void special_graphs_equal_their_direct_forms(void **state) {
    (void)state;
    gsl_rng *r = rng_new(3);
    kr_level d = kr_level_make(dec("0.12"), 1);
    for (int i = 0; i < 3000; i++) {
        kr_ratio p[8];
        kr_claim a[8], b[8];
        kr_graph *g = NULL;
        size_t m = 1 + gsl_rng_uniform_int(r, 8);
        for (size_t j = 0; j < m; j++)
            p[j] = random_p(r);
        assert_int_equal((i % 2 ? kr_graph_holm : kr_graph_fixed)(m, &g, NULL), KR_OK);
        assert_int_equal(kr_graph_test(g, p, d, a, NULL, NULL), KR_OK);
        (i % 2 ? kr_multiple_holm : kr_multiple_fixed)(m, p, d, b);
        kr_graph_free(g);
        for (size_t j = 0; j < m; j++) {
            assert_int_equal(a[j].verdict, b[j].verdict);
            assert_true(golden_rel(a[j].adjusted, b[j].adjusted) <= 1e-12);
            assert_int_equal(a[j].verdict == KR_REJECT_YES, a[j].adjusted <= 0.12);
        }
    }
    gsl_rng_free(r);
}

/* Weights of the intersection hypothesis `set` in a graph, by taking the others out. */
static bool intersection_rejected(kr_graph *g, unsigned set, size_t m, const kr_ratio *p,
                                  kr_ratio d) {
    bool yes = false;
    for (size_t i = 0; i < m; i++)
        if (!(set >> i & 1))
            kr_graph_remove(g, i);
    for (size_t i = 0; i < m; i++)
        if (set >> i & 1)
            yes |= kr_p_decide_ratio(p[i], kr_ratio_mul(kr_graph_weight(g, i), d)) == KR_REJECT_YES;
    return yes;
}

/* A hypothesis is rejected exactly when every intersection that contains it is: the closed test. */
static void chains_equal_the_closed_test(void **state) {
    (void)state;
    gsl_rng *r = rng_new(4);
    kr_level d = kr_level_make(dec("0.12"), 1);
    for (int i = 0; i < 200; i++) {
        size_t length[] = {1 + gsl_rng_uniform_int(r, 3), 1 + gsl_rng_uniform_int(r, 3), 2};
        size_t m = length[0] + length[1] + length[2];
        kr_ratio p[8];
        kr_claim c[8];
        kr_graph *g = NULL;
        unsigned kept = 0;
        for (size_t j = 0; j < m; j++)
            p[j] = random_p(r);
        kr_graph_chains(3, length, NULL, &g, NULL);
        assert_int_equal(kr_graph_test(g, p, d, c, NULL, NULL), KR_OK);
        kr_graph_free(g);
        for (unsigned set = 1; set < 1u << m; set++) {
            kr_graph_chains(3, length, NULL, &g, NULL);
            if (!intersection_rejected(g, set, m, p, kr_ratio_level(d)))
                kept |= set;
            kr_graph_free(g);
        }
        for (size_t j = 0; j < m; j++)
            assert_int_equal(c[j].verdict == KR_REJECT_YES, !(kept >> j & 1));
    }
    gsl_rng_free(r);
}

typedef struct {
    size_t length[4], head[4];
    int64_t k[4 * 8];
} table;

static int64_t table_count(void *ctx, size_t c, size_t j) {
    const table *t = ctx;
    return t->k[t->head[c] + j];
}

static void a_family_of_counts_equals_the_graph_of_its_p_values(void **state) {
    (void)state;
    static const kr_ratio unequal[] = {{0.5, 1, 2}, {0.25, 1, 4}, {0.125, 1, 8}, {0.125, 1, 8}};
    gsl_rng *r = rng_new(5);
    kr_dec eps = dec("0.05");
    kr_level d = kr_level_make(dec("0.05"), 1);
    int completed = 0;
    for (int i = 0; i < 2000; i++) {
        table t;
        kr_ratio p[32];
        kr_claim c[32];
        kr_family_member f[4];
        kr_graph *g = NULL;
        const kr_ratio *w = i % 3 ? NULL : unequal;
        size_t m = 0;
        for (size_t a = 0; a < 4; a++) {
            t.length[a] = 1 + gsl_rng_uniform_int(r, 6);
            t.head[a] = m;
            for (size_t j = 0; j < t.length[a]; j++, m++)
                t.k[m] = (int64_t)(30 + gsl_rng_uniform_int(r, i % 2 ? 19 : 14));
        }
        for (size_t j = 0; j < m; j++)
            p[j] = kr_ratio_double(kr_p_value(t.k[j], 1200, eps));
        assert_int_equal(kr_graph_chains(4, t.length, w, &g, NULL), KR_OK);
        assert_int_equal(kr_graph_test(g, p, d, c, NULL, NULL), KR_OK);
        kr_graph_free(g);
        kr_status st = kr_family_certify(4, t.length, table_count, &t, 1200, eps, d, w, f, NULL);
        assert_int_equal(st, KR_OK);
        for (size_t a = 0; a < 4; a++)
            for (size_t j = 0; j < t.length[a]; j++)
                assert_int_equal((int64_t)j <= f[a].sequence.certified,
                                 c[t.head[a] + j].verdict == KR_REJECT_YES);
        for (size_t a = 0; a < 4; a++)
            completed += f[a].sequence.stopped < 0;
    }
    printf("note: families against graphs: 2000 random tables, %d chains completed\n", completed);
    gsl_rng_free(r);
}

static void best_of_many_agrees_with_golden_values(void **state) {
    (void)state;
    int count = 0;
    const cJSON *row;
    kr_dec eps = dec("0.05");
    cJSON_ArrayForEach (row, golden_get(golden, "best_of_M_independent_boundary")) {
        int64_t m = golden_int(row, "M"), k1 = kr_kmax(1200, eps, kr_level_make(dec("0.05"), 1));
        int64_t k = kr_kmax(1200, eps, kr_level_make(dec("0.05"), m));
        assert_int_equal(k, golden_int(row, "kmax_at_delta_over_M"));
        double naive = kr_family_naive_error(kr_p_value(k1, 1200, eps), m);
        double fair = kr_family_naive_error(kr_p_value(k, 1200, eps), m);
        assert_true(golden_rel(naive, golden_num(row, "uncorrected_independent")) <= 1e-11);
        assert_true(golden_rel(fair, golden_num(row, "corrected_independent")) <= 1e-11);
        count++;
    }
    printf("note: best_of_M_independent_boundary: %d entries\n", count);
    assert_int_equal(count, 8);
}

/* Measured prices hold against the file they come from, and uncorrelated ones against their closed
 * form (four standard errors). */
static void measured_prices_agree_with_the_simulation(void **state) {
    (void)state;
    int count = 0;
    double least, most;
    const cJSON *row;
    cJSON_ArrayForEach (row, golden_get(golden_get(golden, "simulation_best_of_M"), "rows")) {
        if (strncmp(golden_str(row, "scenario"), "least favourable", 16) != 0)
            continue;
        int64_t m = golden_int(row, "M");
        double v = golden_num(row, "p_selected_violates_uncorrected");
        double rho = golden_num(row, "latent_rho");
        assert_true(kr_family_price(m, &least, &most));
        assert_true(least <= v && v <= most);
        if (rho == 0)
            assert_true(fabs(v - kr_family_naive_error(0.04505743472189248, m)) < 0.014);
        if (m > 1)
            assert_true(rho > 0 || v == most);
        assert_true(golden_num(row, "p_selected_violates_delta_over_M") <= 0.05 + 0.014);
        count++;
    }
    printf("note: simulation_best_of_M (least favourable): %d entries\n", count);
    assert_int_equal(count, 24);
    assert_true(kr_family_price(5, &least, &most) && most == 0.2432);
    assert_false(kr_family_price(13, &least, &most));
}

/* Published counts at four methods: DefensiveKV's 44 passes alone but not in the family of four. */
static void the_published_family_loses_one_certificate(void **state) {
    (void)state;
    table t = {{1, 1, 1, 1}, {0, 1, 2, 3}, {42, 40, 44, 43}};
    kr_family_member f[4];
    kr_level d = kr_level_make(dec("0.05"), 1);
    /* each sequence ends with a hopeless candidate, so that no chain completes */
    table open = {{2, 2, 2, 2}, {0, 2, 4, 6}, {42, 900, 40, 900, 44, 900, 43, 900}};
    assert_int_equal(
        kr_family_certify(4, open.length, table_count, &open, 1200, dec("0.05"), d, NULL, f, NULL),
        KR_OK);
    const int64_t want[] = {0, 0, -1, 0};
    for (int c = 0; c < 4; c++) {
        assert_int_equal(f[c].limits.kmax, 43);
        assert_int_equal(f[c].sequence.certified, want[c]);
    }
    /* when the other three complete, their shares come to the fourth, which then passes */
    assert_int_equal(
        kr_family_certify(4, t.length, table_count, &t, 1200, dec("0.05"), d, NULL, f, NULL),
        KR_OK);
    assert_int_equal(f[2].sequence.certified, 0);
    assert_int_equal(f[2].limits.kmax, 47); /* at the whole delta: the others are done together */
}

static void a_share_of_zero_rejects_nothing(void **state) {
    (void)state;
    kr_ratio p[3] = {{0.2, 1, 5}, {0, 0, 1}, {0, 0, 0}};
    kr_claim c[3];
    kr_graph *g = NULL;
    size_t rejected = 9;
    assert_int_equal(kr_graph_fixed(3, &g, NULL), KR_OK);
    kr_level d = kr_level_make(dec("0.05"), 1);
    assert_int_equal(kr_graph_test(g, p, d, c, &rejected, NULL), KR_OK);
    assert_int_equal(rejected, 0);
    p[0] = kr_ratio_double((double)NAN);
    assert_int_equal(kr_graph_test(g, p, d, c, &rejected, NULL), KR_OK);
    assert_int_equal(rejected, 0);
    assert_true(c[0].adjusted == 1);
    kr_graph_free(g);
}

static void impossible_graphs_are_refused(void **state) {
    (void)state;
    kr_graph *g = NULL;
    kr_error err;
    kr_ratio half = kr_ratio_make(1, 2), p[2] = {half, half};
    kr_ratio w[2] = {half, kr_ratio_make(2, 3)};
    kr_claim c[2];
    size_t start[] = {1, 1};
    kr_level d = kr_level_make(dec("0.05"), 1);
    assert_int_equal(kr_graph_new(0, &g, &err), KR_EINVAL);
    assert_int_equal(kr_graph_new(SIZE_MAX, &g, &err), KR_EINVAL);
    assert_int_equal(kr_graph_fallback(2, w, &g, &err), KR_EINVAL);
    assert_non_null(strstr(err.msg, "weights sum"));
    assert_int_equal(kr_graph_multistart(2, 2, start, &g, &err), KR_EINVAL);
    assert_int_equal(kr_graph_chains(2, (size_t[]){3, 0}, NULL, &g, &err), KR_EINVAL);
    assert_int_equal(kr_graph_chains(2, (size_t[]){3, SIZE_MAX}, NULL, &g, &err), KR_EINVAL);
    assert_int_equal(kr_graph_new(2, &g, NULL), KR_OK);
    kr_graph_set_edge(g, 0, 0, half);
    assert_int_equal(kr_graph_test(g, p, d, c, NULL, &err), KR_EINVAL);
    kr_graph_set_edge(g, 0, 0, kr_ratio_make(0, 1));
    kr_graph_set_edge(g, 0, 1, kr_ratio_make(-1, 2));
    assert_int_equal(kr_graph_check(g, &err), KR_EINVAL);
    kr_graph_set_edge(g, 0, 1, kr_ratio_double((double)NAN));
    assert_int_equal(kr_graph_check(g, &err), KR_EINVAL);
    kr_graph_free(g);
    kr_graph_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_agree_with_golden_values),
        cmocka_unit_test(fallback_and_multistart_agree_with_golden_values),
        cmocka_unit_test(special_graphs_equal_their_direct_forms),
        cmocka_unit_test(chains_equal_the_closed_test),
        cmocka_unit_test(a_family_of_counts_equals_the_graph_of_its_p_values),
        cmocka_unit_test(best_of_many_agrees_with_golden_values),
        cmocka_unit_test(measured_prices_agree_with_the_simulation),
        cmocka_unit_test(the_published_family_loses_one_certificate),
        cmocka_unit_test(a_share_of_zero_rejects_nothing),
        cmocka_unit_test(impossible_graphs_are_refused),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
