/* synthetic.h - a request without a model run: random keys, values and taps on a model that consists
 * of nothing but what policies look at. */
#ifndef KR_TESTS_EVICT_SYNTHETIC_H
#define KR_TESTS_EVICT_SYNTHETIC_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evict/policy.h"

typedef struct {
    kr_model model;
    kr_layer *layer;
    double freq[64];
    float *wo;
    kr_kv *kv;
    kr_taps *taps;
    kr_evict_shared shared;
    kr_evict_input in;
} synthetic;

static inline void must(kr_status st, const kr_error *e) {
    if (st != KR_OK)
        fail_msg("%s", e->msg);
}

/* xorshift64* (Marsaglia 2003; Vigna 2016), roughly normal by adding four. */
static inline float noise(uint64_t *s) {
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        *s ^= *s >> 12;
        *s ^= *s << 25;
        *s ^= *s >> 27;
        sum += (double)(int32_t)((*s * UINT64_C(2685821657736338717)) >> 32) * 0x1p-31;
    }
    return (float)sum;
}

/* `group` query heads per KV head, all of a group alike: the same queries and the same rows of the
 * output projection, so that a mean or a maximum over them is that of one. */
static inline synthetic *synthetic_new(size_t layers, size_t kv_heads, size_t group, size_t n,
                                       uint64_t seed) {
    enum { DIM = 8, WIDTH = 12, WINDOW = 64 };
    synthetic *s = calloc(1, sizeof *s);
    kr_error e;
    size_t heads = kv_heads * group, w = n < WINDOW ? n : WINDOW;
    s->model.geo = (kr_geometry){.layers = layers, .width = WIDTH, .heads = heads,
                                 .kv_heads = kv_heads, .head_dim = DIM, .context = 4096};
    for (size_t i = 0; i < DIM / 2; i++)
        s->freq[i] = pow(10000, -2.0 * (double)i / DIM);
    s->model.rope_freq = s->freq;
    s->layer = calloc(layers, sizeof *s->layer);
    s->model.layer = s->layer;
    must(kr_kv_new(layers, kv_heads, DIM, n, &s->kv, &e), &e);
    must(kr_taps_new(&s->model.geo, w, n, true, 4, &s->taps, &e), &e);
    s->wo = calloc(layers * WIDTH * heads * DIM, sizeof *s->wo);
    s->taps->n_last = w;
    s->taps->n_moments = n > 4 ? n - 4 : 1;
    uint64_t r = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (size_t i = 0; i < layers * kv_heads; i++) {
        kr_kv_head *h = &s->kv->head[i];
        h->len = n;
        for (size_t j = 0; j < n * DIM; j++) {
            kr_kv_keys(s->kv, h)[j] = 2 * noise(&r);
            kr_kv_values(s->kv, h)[j] = noise(&r);
        }
        for (size_t j = 0; j < n; j++)
            kr_kv_positions(s->kv, h)[j] = (int32_t)j;
        float q[WINDOW * DIM], sums[4096], mean[DIM], outer[DIM * DIM], wo[DIM * WIDTH];
        for (size_t j = 0; j < w * DIM; j++)
            q[j] = 2 * noise(&r);
        for (size_t j = 0; j < n; j++)
            sums[j] = fabsf(noise(&r)) * (float)(n - j);
        for (size_t j = 0; j < DIM; j++)
            mean[j] = noise(&r) * (float)s->taps->n_moments;
        for (size_t j = 0; j < DIM * WIDTH; j++)
            wo[j] = noise(&r);
        for (size_t a = 0; a < DIM; a++) /* positive definite around the mean */
            for (size_t b = 0; b < DIM; b++)
                outer[a * DIM + b] = mean[a] * mean[b] / (float)s->taps->n_moments +
                                     (a == b ? (float)s->taps->n_moments : 0);
        for (size_t g = 0; g < group; g++) {
            size_t head = i * group + g, layer = i / kv_heads, in_layer = head % heads;
            memcpy(s->taps->last + head * w * DIM, q, w * DIM * sizeof *q);
            memcpy(s->taps->sums + head * n, sums, n * sizeof *sums);
            memcpy(s->taps->mean + head * DIM, mean, sizeof mean);
            memcpy(s->taps->outer + head * DIM * DIM, outer, sizeof outer);
            float *rows = s->wo + layer * WIDTH * heads * DIM; /* [WIDTH][heads * DIM] */
            for (size_t o = 0; o < WIDTH; o++)
                for (size_t c = 0; c < DIM; c++)
                    rows[o * heads * DIM + in_layer * DIM + c] = wo[c * WIDTH + o];
        }
    }
    for (size_t l = 0; l < layers; l++)
        s->layer[l].o = (kr_mat){(const uint8_t *)(s->wo + l * WIDTH * heads * DIM), KR_QUANT_F32,
                                 WIDTH, heads * DIM, heads * DIM * sizeof(float)};
    s->kv->next = (int32_t)n;
    s->in = (kr_evict_input){.model = &s->model, .kv = s->kv, .taps = s->taps,
                             .shared = &s->shared, .key = seed};
    return s;
}

static inline void synthetic_free(synthetic *s) {
    kr_evict_shared_free(&s->shared);
    kr_taps_free(s->taps);
    kr_kv_free(s->kv);
    free(s->layer);
    free(s->wo);
    free(s);
}

static inline kr_evict_spec spec_of(const char *text) {
    kr_evict_spec spec;
    kr_error e;
    must(kr_evict_parse(text, NULL, &spec, &e), &e);
    return spec;
}

/* Score and select in one. */
static inline kr_keep *keep_of(const kr_evict_input *in, const char *text) {
    kr_evict_spec spec = spec_of(text);
    kr_scores *s;
    kr_keep *k = NULL;
    kr_error e;
    must(kr_evict_score(&spec, in, &s, &e), &e);
    must(kr_evict_select(&spec, in, s, &k, &e), &e);
    must(kr_keep_check(k, &e), &e);
    kr_scores_free(s);
    return k;
}

static inline void same_lists(const kr_keep *a, const kr_keep *b) {
    assert_int_equal(a->total, b->total);
    assert_int_equal(a->flags, b->flags);
    for (size_t i = 0; i < a->layers * a->heads; i++) {
        assert_int_equal(a->head[i].n, b->head[i].n);
        assert_int_equal(a->head[i].rows == NULL, b->head[i].rows == NULL);
        if (a->head[i].rows != NULL)
            assert_memory_equal(a->head[i].rows, b->head[i].rows,
                                a->head[i].n * sizeof(uint32_t));
    }
}

static inline bool keeps(const kr_keep *k, size_t i, uint32_t pos) {
    const kr_kv_keep *h = &k->head[i];
    if (h->rows == NULL)
        return pos < h->n;
    size_t lo = 0, hi = h->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (h->rows[mid] < pos)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < h->n && h->rows[lo] == pos;
}

#endif
