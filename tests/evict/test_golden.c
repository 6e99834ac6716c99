/* Selections on plain arrays against values worked out by an independent script. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evict/parts.h"

static void must(kr_status st, const kr_error *e) {
    if (st != KR_OK)
        fail_msg("%s", e->msg);
}

/* "0,1,2;6,7": the lists of all heads. */
static void expect_lists(const kr_keep *k, const char *want) {
    kr_buf b = {0};
    for (size_t i = 0; i < k->layers * k->heads; i++) {
        kr_buf_puts(&b, i > 0 ? ";" : "");
        for (size_t j = 0; j < k->head[i].n; j++)
            kr_buf_printf(&b, "%s%u", j > 0 ? "," : "", (unsigned)k->head[i].rows[j]);
    }
    assert_string_equal(kr_buf_text(&b), want);
    kr_buf_free(&b);
}

static kr_keep *choose(const kr_scores *s, const char *text) {
    kr_evict_spec spec;
    kr_error e;
    kr_keep *k = NULL;
    must(kr_evict_parse(text, NULL, &spec, &e), &e);
    must(kr_part_select(&spec, s, &k, &e), &e);
    return k;
}

static void expect(const kr_scores *s, const char *text, const char *want, unsigned flags) {
    kr_keep *k = choose(s, text);
    expect_lists(k, want);
    assert_int_equal(k->flags, flags);
    kr_keep_free(k);
}

static kr_scores *scores(size_t layers, size_t heads, size_t n, size_t w, const float *rows) {
    kr_scores *s = NULL;
    kr_error e;
    must(kr_scores_new(layers, heads, n, 0, w, false, 0, &s, &e), &e);
    for (size_t i = 0; i < layers * heads; i++)
        memcpy(s->rank + i * n, rows + i * (n - w), (n - w) * sizeof *rows);
    must(kr_scores_sort(s, &e), &e);
    return s;
}

static void pooling(void **state) {
    (void)state;
    static const float in[6] = {1};
    static const float avg[6] = {0.2f, 0.2f, 0.2f}, max[6] = {1, 1, 1};
    float out[6];
    kr_part_pool(in, 6, 5, KR_POOL_AVG, out);
    assert_memory_equal(out, avg, sizeof out);
    kr_part_pool(in, 6, 5, KR_POOL_MAX, out);
    assert_memory_equal(out, max, sizeof out);
    kr_part_pool(in, 1, 5, KR_POOL_AVG, out); /* shorter than the kernel */
    assert_float_equal(out[0], 0.2, 1e-7);
}

static void adakv_safeguards(void **state) {
    (void)state;
    static const float rows[] = {.30f, .20f, .10f, .05f, .04f, .01f,
                                 .03f, .02f, .02f, .01f, .01f, .01f};
    kr_scores *s = scores(1, 2, 8, 2, rows);
    expect(s, "adakv:0.5", "0,1,2,3,6,7;6,7", 0);
    expect(s, "adakv:0.5,alpha=0.75", "0,1,2,6,7;0,6,7", 0);
    expect(s, "adakv:0.5,variant=b", "0,1,2,3,6,7;6,7", 0);
    expect(s, "adakv:0.5,variant=c", "0,1,2,6,7;6,7", 0); /* 7 entries, not 8 */
    expect(s, "adakv:4t,variant=c", "0,1,2,6,7;6,7", 0);
    expect(s, "adakv:0.125", "7;7", KR_WINDOW_TRUNC);
    expect(s, "adakv:0.125,variant=b", "7;7", KR_WINDOW_TRUNC);
    expect(s, "snapkv:0.5", "0,1,6,7;0,1,6,7", 0);
    expect(s, "snapkv:0.25", "6,7;6,7", 0);
    expect(s, "snapkv:1e-9", "7;7", KR_WINDOW_TRUNC);
    kr_scores_free(s);
}

static void refreekv_prefixes(void **state) {
    (void)state;
    static const float a[10] = {.60f, .02f, .02f, .02f, .01f, .03f, .04f, .06f, .08f, .12f};
    assert_int_equal(kr_refree_start(a, 1, 10, 4, 0.01), 5);
    assert_int_equal(kr_refree_start(a, 1, 10, 4, 0.05), 7);
    assert_int_equal(kr_refree_start(a, 1, 10, 4, 0.10), 7);
    assert_int_equal(kr_refree_start(a, 1, 10, 4, 0.2), 8);
    assert_int_equal(kr_refree_start(a, 1, 10, 4, 0.3), 9);
    assert_int_equal(kr_refree_start(a, 1, 10, 4, 1), 9);
    assert_int_equal(kr_refree_start(a, 1, 10, 4, 0), 4);
    static const float none[10] = {1}; /* no attention beyond the sinks: all is kept */
    assert_int_equal(kr_refree_start(none, 1, 10, 4, 0.3), 4);
    assert_int_equal(kr_refree_prefix(a, 1, 10, 4, 0.01), 6);
    assert_int_equal(kr_refree_prefix(a, 1, 10, 4, 0.05), 1);

    kr_scores *s = NULL;
    kr_error e;
    must(kr_scores_new(1, 1, 10, 0, 0, false, 1, &s, &e), &e);
    memcpy(s->rank, a, sizeof a);
    s->aux[0] = 1;
    expect(s, "refreekv:0.01,full_layers=0", "0,1,2,3,5,6,7,8,9", 0);
    expect(s, "refreekv:0.05,full_layers=0", "0,1,2,3,7,8,9", 0);
    expect(s, "refreekv:0.3,full_layers=0", "0,1,2,3,9", 0);
    expect(s, "refreekv:0.01,full_layers=0,norm=paper", "0,1,2,3,8,9", 0);
    expect(s, "refreekv:0.05,full_layers=0,norm=paper", "0", 0);
    expect(s, "refreekv:0.05,full_layers=1", "0,1,2,3,4,5,6,7,8,9", 0);
    kr_scores_free(s);
}

static void near(const float *got, const double *want, size_t n) {
    for (size_t i = 0; i < n; i++)
        assert_float_equal(got[i], want[i], 1e-6);
}

static void defensivekv_step_by_step(void **state) {
    (void)state;
    /* Two heads, two window queries, six tokens; the window's own columns hold the rest. */
    static const float a[2][2][6] = {
        {{.4f, .1f, .1f, .1f, .3f, 0}, {.1f, .3f, .1f, .1f, .2f, .2f}},
        {{.1f, .1f, .1f, .3f, .4f, 0}, {.2f, .1f, .1f, .1f, .3f, .2f}}};
    static const float norm[2][6] = {{1, 2, 1, 1, 1, 1}, {1, 1, 1, 3, 1, 1}};
    kr_scores *s = NULL;
    kr_error e;
    must(kr_scores_new(1, 2, 6, 0, 2, true, 1, &s, &e), &e);
    assert_true(kr_defensive_layer(&a[0][0][0], &norm[0][0], 2, 1, 6, 2, 1, false, s->rank,
                                   s->first, &s->aux[0]));
    must(kr_scores_sort(s, &e), &e);
    near(s->rank, (double[]){.2, .2, .1125, .05625}, 4);
    near(s->rank + 6, (double[]){.1, .058333333, .0875, .225}, 4);
    near(s->first, (double[]){.25, .2, .1, .1}, 4);
    near(s->first + 6, (double[]){.15, .1, .1, .2}, 4);
    assert_float_equal(s->aux[0], 0.25, 1e-7);
    kr_evict_spec spec;
    must(kr_evict_parse("defensivekv:0.5", NULL, &spec, &e), &e);
    size_t *c = kr_defensive_counts(s, &spec.params, spec.level, &e);
    assert_int_equal(c[0], 1);
    assert_int_equal(c[1], 1);
    free(c);
    must(kr_evict_parse("defensivekv:0.8", NULL, &spec, &e), &e);
    c = kr_defensive_counts(s, &spec.params, spec.level, &e);
    assert_int_equal(c[0], 1);
    assert_int_equal(c[1], 2);
    free(c);
    expect(s, "defensivekv:0.5", "0,4,5;3,4,5", 0);
    expect(s, "defensivekv:0.8", "0,1,2,4,5;0,3,4,5", 0);
    expect(s, "layer_defensivekv:0.8", "0,1,2,4,5;0,3,4,5", 0);
    double bias;
    assert_true(kr_defensive_layer(&a[0][0][0], &norm[0][0], 2, 1, 6, 2, 1, true, s->rank,
                                   s->first, &bias));
    assert_float_equal(bias, (.3 + .4 + .4 + .5) / 4, 1e-6);
    kr_scores_free(s);
}

/* kvpress #226: with equal scores everywhere a window protected by a large score is evicted. */
static void equal_scores_never_cost_the_window(void **state) {
    (void)state;
    static const float rows[2 * 12] = {0};
    kr_scores *s = scores(2, 1, 16, 4, rows);
    expect(s, "snapkv:0.5", "0,1,2,3,12,13,14,15;0,1,2,3,12,13,14,15", 0);
    expect(s, "adakv:0.25", "12,13,14,15;12,13,14,15", 0);
    expect(s, "adakv:0.25,variant=b", "12,13,14,15;12,13,14,15", 0);
    kr_scores_free(s);
}

/* Across layers, forced entries have their layer's largest score: they can lose to a layer whose
 * scores are larger, the window cannot. */
static void forced_entries_compete_across_layers(void **state) {
    (void)state;
    kr_scores *s = NULL;
    kr_error e;
    must(kr_scores_new(2, 1, 6, 0, 1, true, 2, &s, &e), &e);
    const float rank[2][5] = {{9, 8, 7, 6, 5}, {.1f, .2f, .3f, .4f, .5f}};
    const float first[2][5] = {{1, 2, 3, 4, 5}, {5, 1, 1, 1, 4}};
    for (size_t l = 0; l < 2; l++) {
        memcpy(s->rank + l * 6, rank[l], sizeof rank[l]);
        memcpy(s->first + l * 6, first[l], sizeof first[l]);
    }
    must(kr_scores_sort(s, &e), &e);
    const size_t budget = 6, forced[2] = {1, 2};
    kr_selection sel = {.scope = KR_SCOPE_MODEL, .budget = &budget, .forced = forced,
                        .forced_by_top = true};
    kr_keep *k;
    must(kr_select(s, &sel, &k, &e), &e);
    /* windows 5 and 5; layer 0: 4 (forced, as 9 at a later position than 0) and 0, 1, 2 */
    expect_lists(k, "0,1,2,4,5;5");
    kr_keep_free(k);
    const size_t more = 9;
    sel.budget = &more;
    must(kr_select(s, &sel, &k, &e), &e);
    /* then 3 of layer 0, and of layer 1 the forced 0 and 4, each with its largest score */
    expect_lists(k, "0,1,2,3,4,5;0,4,5");
    kr_keep_free(k);
    sel.forced_by_top = false; /* first of all: 4; 0 and 4 */
    sel.budget = &budget;
    must(kr_select(s, &sel, &k, &e), &e);
    expect_lists(k, "0,4,5;0,4,5");
    kr_keep_free(k);
    const size_t tight = 4;
    sel.budget = &tight;
    assert_int_equal(kr_select(s, &sel, &k, &e), KR_ENUM);
    kr_scores_free(s);
}

static void a_score_that_is_no_number_is_an_error(void **state) {
    (void)state;
    kr_scores *s = NULL;
    kr_error e;
    must(kr_scores_new(1, 2, 6, 1, 1, false, 0, &s, &e), &e);
    s->rank[0] = NAN; /* a protected column: never looked at */
    must(kr_scores_sort(s, &e), &e);
    s->rank[6 + 3] = NAN;
    assert_int_equal(kr_scores_sort(s, &e), KR_ENUM);
    assert_non_null(strstr(e.msg, "position 3 in layer 0, head 1"));
    kr_scores_free(s);
}

/* A random selection against one done the slow way: a full sort by tier, score, head, position. */
typedef struct {
    int tier;
    float score;
    size_t head, pos;
} item;

static int by_order(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->tier != y->tier)
        return x->tier - y->tier;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    return x->pos < y->pos ? -1 : 1;
}

static void selection_equals_a_full_sort(void **state) {
    (void)state;
    enum { HEADS = 5, N = 37, LEAD = 3, TAIL = 6 };
    srand(5);
    for (int round = 0; round < 200; round++) {
        kr_scores *s = NULL;
        kr_error e;
        must(kr_scores_new(1, HEADS, N, LEAD, TAIL, false, 0, &s, &e), &e);
        item all[HEADS * N];
        for (size_t i = 0; i < HEADS * N; i++)
            s->rank[i] = (float)(rand() % 8); /* many ties */
        must(kr_scores_sort(s, &e), &e);
        size_t forced[HEADS], budget = HEADS * (LEAD + TAIL) + (size_t)(rand() % 100) + 15;
        for (size_t h = 0; h < HEADS; h++)
            forced[h] = (size_t)(rand() % 4);
        for (size_t h = 0; h < HEADS; h++) {
            uint32_t order[N];
            kr_order(s->rank + h * N, LEAD, N - TAIL, order);
            for (size_t j = 0; j < N; j++)
                all[h * N + j] = (item){j < LEAD || j >= N - TAIL ? 0 : 2, s->rank[h * N + j], h, j};
            for (size_t j = 0; j < forced[h]; j++)
                all[h * N + order[j]].tier = 1;
        }
        qsort(all, HEADS * N, sizeof *all, by_order);
        kr_selection sel = {.scope = KR_SCOPE_LAYER, .budget = &budget, .forced = forced};
        kr_keep *k;
        must(kr_select(s, &sel, &k, &e), &e);
        bool kept[HEADS][N] = {{false}};
        for (size_t i = 0; i < budget; i++)
            kept[all[i].head][all[i].pos] = true;
        for (size_t h = 0; h < HEADS; h++) {
            size_t c = 0;
            for (size_t j = 0; j < N; j++)
                if (kept[h][j])
                    assert_int_equal(k->head[h].rows[c++], j);
            assert_int_equal(c, k->head[h].n);
        }
        kr_keep_free(k);
        kr_scores_free(s);
    }
}

static void value_norms_are_of_each_query_head(void **state) {
    (void)state;
    /* d 2, width 3, group 2: |v Wo_0|_1 and |v Wo_1|_1, averaged; never of the sum */
    const float v[2][2] = {{1, -1}, {2, 0}};
    const float wo[2][2][3] = {{{1, 2, 3}, {1, 0, 0}}, {{-1, -2, -3}, {0, 1, 1}}};
    float norm[2];
    assert_true(kr_part_norms(&v[0][0], &wo[0][0][0], 2, 2, 2, 3, norm));
    near(norm, (double[]){(5 + 8) / 2.0, 12}, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pooling),
        cmocka_unit_test(adakv_safeguards),
        cmocka_unit_test(refreekv_prefixes),
        cmocka_unit_test(defensivekv_step_by_step),
        cmocka_unit_test(equal_scores_never_cost_the_window),
        cmocka_unit_test(forced_entries_compete_across_layers),
        cmocka_unit_test(a_score_that_is_no_number_is_an_error),
        cmocka_unit_test(selection_equals_a_full_sort),
        cmocka_unit_test(value_norms_are_of_each_query_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
