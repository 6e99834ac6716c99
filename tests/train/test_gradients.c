/* The trainer's gradients against differences of its loss, and its texts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/train/data.h"
#include "tools/train/net.h"
#include "tools/train/optim.h"

static const kr_net_shape small = {.vocab = 11,
                                   .width = 12,
                                   .layers = 2,
                                   .heads = 4,
                                   .kv_heads = 2,
                                   .dim = 6,
                                   .ffn = 10,
                                   .eps = 1e-5f,
                                   .base = 100};

enum { N = 90 };

/* Two texts, the first longer than one block of attention. */
static kr_net_batch make_batch(int32_t *token, float *weight, size_t *start) {
    kr_draw d = kr_draw_start(1, 0);
    start[0] = 0, start[1] = 70, start[2] = N;
    for (size_t i = 0; i < N; i++) {
        token[i] = (int32_t)kr_draw_below(&d, small.vocab);
        weight[i] = i % 3 == 0 && i != 0 ? 0.5f + (float)(i % 2) : 0;
    }
    weight[70] = 0;
    return (kr_net_batch){2, N, start, token, weight};
}

/* Fourth-order central differences; float32 losses leave about three digits. */
static void every_gradient_agrees_with_finite_differences(void **state) {
    (void)state;
    kr_net_params p, g;
    int32_t token[N];
    float weight[N];
    size_t start[3];
    kr_net_batch b = make_batch(token, weight, start);
    assert_true(kr_net_params_new(&small, &p) && kr_net_params_new(&small, &g));
    kr_net_work *w = kr_net_work_new(&small, 128);
    kr_net_init(&small, &p, 3);
    kr_net_loss(&small, &p, &b, w, 1, &g, NULL, NULL);
    double worst = 0;
    for (size_t i = 0; i < p.n; i += 7) {
        static const double at[] = {2, 1, -1, -2}, by[] = {-1, 8, -8, 1};
        const float x = p.all[i], h = 4e-3f;
        double difference = 0;
        for (size_t j = 0; j < 4; j++) {
            p.all[i] = x + (float)at[j] * h;
            difference +=
                by[j] * kr_net_loss(&small, &p, &b, w, 1, NULL, NULL, NULL) / (12 * (double)h);
        }
        p.all[i] = x;
        double e = fabs(difference - (double)g.all[i]) / (fabs(difference) + 0.3);
        worst = e > worst ? e : worst;
    }
    printf("note: worst gradient error %.2g over %zu of %zu parameters\n", worst, p.n / 7 + 1, p.n);
    assert_true(worst < 3e-3);
    kr_net_work_free(w);
    kr_net_params_free(&p);
    kr_net_params_free(&g);
}

static void texts_do_not_see_each_other(void **state) {
    (void)state;
    kr_net_params p;
    int32_t token[N];
    float weight[N], both[N * 11], alone[N * 11];
    size_t start[3], one[2] = {0, 20};
    kr_net_batch b = make_batch(token, weight, start);
    kr_net_batch second = {1, 20, one, token + 70, weight + 70};
    assert_true(kr_net_params_new(&small, &p));
    kr_net_work *w = kr_net_work_new(&small, 128);
    kr_net_init(&small, &p, 3);
    memset(both, 0, sizeof both);
    memset(alone, 0, sizeof alone);
    kr_net_loss(&small, &p, &b, w, 1, NULL, NULL, both);
    kr_net_loss(&small, &p, &second, w, 1, NULL, NULL, alone);
    for (size_t i = 0; i < 20 * 11; i++)
        assert_true(fabsf(both[70 * 11 + i] - alone[i]) < 1e-4f);
    kr_net_work_free(w);
    kr_net_params_free(&p);
}

static void a_few_steps_lower_the_loss(void **state) {
    (void)state;
    kr_net_params p, g;
    int32_t token[N];
    float weight[N];
    size_t start[3];
    kr_net_batch b = make_batch(token, weight, start);
    assert_true(kr_net_params_new(&small, &p) && kr_net_params_new(&small, &g));
    kr_net_work *w = kr_net_work_new(&small, 128);
    kr_optim *o = kr_optim_new(&small);
    kr_net_init(&small, &p, 3);
    double first = 0, last = 0;
    for (int i = 0; i < 60; i++) {
        memset(g.all, 0, g.n * sizeof *g.all);
        last = kr_net_loss(&small, &p, &b, w, 1, &g, NULL, NULL);
        first = i == 0 ? last : first;
        kr_optim_begin(o, &g);
        kr_optim_lane(o, &p, &g, (kr_optim_rates){0.02, 3e-3, 0.01}, 0, 2);
        kr_optim_lane(o, &p, &g, (kr_optim_rates){0.02, 3e-3, 0.01}, 1, 2);
        kr_optim_end(o, &p, &g, (kr_optim_rates){0.02, 3e-3, 0.01});
    }
    printf("note: loss %.1f, after 60 steps %.1f\n", first, last);
    assert_true(last < 0.5 * first);
    kr_optim_free(o);
    kr_net_work_free(w);
    kr_net_params_free(&p);
    kr_net_params_free(&g);
}

static void training_texts_fit_and_weigh_answers_only(void **state) {
    (void)state;
    kr_words *words;
    kr_error err;
    kr_train_data d = {0};
    kr_draw r = kr_draw_start(5, 1);
    const kr_train_mix mix = {{1, 1, 1, 1, 1, 1, 1, 1}};
    assert_int_equal(kr_words_new(&words, &err), KR_OK);
    for (size_t length = 64; length <= 512; length *= 2) {
        const kr_train_stage stage = {200, length, 4, 1, 50, 1};
        assert_int_equal(kr_train_draw(words, &r, &stage, &mix, &d, &err), KR_OK);
        assert_int_equal(d.texts, 200);
        size_t total = 0;
        for (size_t i = 0; i < d.texts; i++) {
            size_t weighed = 0;
            assert_in_range(d.start[i + 1] - d.start[i], 8, length);
            assert_int_equal(d.token.v[d.start[i]], KR_WORD_BEGIN);
            assert_true(d.weight[d.start[i]] == 0);
            for (size_t j = d.start[i]; j < d.start[i + 1]; j++) {
                weighed += d.weight[j] > 0;
                assert_true(d.token.v[j] != KR_WORD_UNKNOWN);
            }
            assert_in_range(weighed, 0, length / 2);
            total += weighed;
        }
        assert_true(total > 200 * 3);
    }
    kr_train_data_free(&d);
    kr_words_free(words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient_agrees_with_finite_differences),
        cmocka_unit_test(texts_do_not_see_each_other),
        cmocka_unit_test(a_few_steps_lower_the_loss),
        cmocka_unit_test(training_texts_fit_and_weigh_answers_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
