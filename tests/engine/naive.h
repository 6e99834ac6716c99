/* naive.h - the forward pass written out in double precision, as slow and plain as it can be: one
 * token after the other, whole score rows, no tiles. What the engine is compared with. */
#ifndef KR_TESTS_ENGINE_NAIVE_H
#define KR_TESTS_ENGINE_NAIVE_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model.h"

/* True when query position `q` may not see key position `k` in that head. */
typedef bool (*naive_hide)(void *arg, size_t layer, size_t kv_head, size_t k, size_t q);

typedef struct {
    const kr_model *m;
    size_t n;
    double *logits;   /* [n][V] */
    double *pre, *q;  /* [L][n][H*d] before and after the rotary embedding */
    double *k, *v;    /* [L][n][K*d] */
    double *att;      /* [L][n][H*d] */
    double *sums;     /* [L][H][n] attention received by each key */
} naive;

static inline double *naive_zeros(size_t n) {
    return calloc(n + 1, sizeof(double));
}

static inline void naive_mat(const kr_mat *w, const float *bias, const double *x, double *y) {
    float *row = malloc(w->cols * sizeof *row);
    for (size_t i = 0; i < w->rows; i++) {
        kr_quant_expand(w->type, w->data + i * w->row_bytes, w->cols, row);
        double s = bias != NULL ? (double)bias[i] : 0;
        for (size_t c = 0; c < w->cols; c++)
            s += (double)row[c] * x[c];
        y[i] = s;
    }
    free(row);
}

static inline void naive_norm(const kr_model *m, const double *x, const float *w, double *h) {
    double s = 0;
    for (size_t i = 0; i < m->geo.width; i++)
        s += x[i] * x[i];
    s = 1 / sqrt(s / (double)m->geo.width + (double)m->geo.eps);
    for (size_t i = 0; i < m->geo.width; i++)
        h[i] = x[i] * s * (double)w[i];
}

static inline void naive_rope(const kr_model *m, size_t pos, double *v) {
    size_t half = m->geo.head_dim / 2;
    for (size_t i = 0; i < half; i++) {
        double a = (double)pos * m->rope_freq[i], c = cos(a), s = sin(a);
        double *p = m->geo.rope_halves ? v + i : v + 2 * i;
        double *r = m->geo.rope_halves ? p + half : p + 1;
        double x = *p, y = *r;
        *p = x * c - y * s;
        *r = x * s + y * c;
    }
}

static inline void naive_attend(naive *t, size_t l, size_t pos, naive_hide hide, void *arg) {
    const kr_geometry *g = &t->m->geo;
    size_t d = g->head_dim, hq = g->heads * d, hk = g->kv_heads * d;
    double *w = naive_zeros(pos + 1);
    for (size_t h = 0; h < g->heads; h++) {
        size_t kh = h / (g->heads / g->kv_heads);
        const double *q = t->q + (l * t->n + pos) * hq + h * d;
        double *o = t->att + (l * t->n + pos) * hq + h * d, max = -INFINITY, sum = 0;
        for (size_t j = 0; j <= pos; j++) {
            const double *k = t->k + (l * t->n + j) * hk + kh * d;
            w[j] = 0;
            for (size_t i = 0; i < d; i++)
                w[j] += q[i] * k[i];
            w[j] /= sqrt((double)d);
            if (hide != NULL && hide(arg, l, kh, j, pos))
                w[j] = -INFINITY;
            max = fmax(max, w[j]);
        }
        for (size_t j = 0; j <= pos; j++)
            sum += w[j] = exp(w[j] - max);
        for (size_t j = 0; j <= pos; j++) {
            const double *v = t->v + (l * t->n + j) * hk + kh * d;
            t->sums[(l * g->heads + h) * t->n + j] += w[j] / sum;
            for (size_t i = 0; i < d; i++)
                o[i] += w[j] / sum * v[i];
        }
    }
    free(w);
}

static inline void naive_layer(naive *t, size_t l, size_t pos, double *x, naive_hide hide,
                               void *arg) {
    const kr_geometry *g = &t->m->geo;
    const kr_layer *w = &t->m->layer[l];
    size_t d = g->head_dim, hq = g->heads * d, hk = g->kv_heads * d, at = l * t->n + pos;
    double *h = naive_zeros(g->width), *y = naive_zeros(g->width);
    double *a = naive_zeros(g->ffn), *b = naive_zeros(g->ffn);
    naive_norm(t->m, x, w->attn_norm, h);
    naive_mat(&w->q, w->q_bias, h, t->pre + at * hq);
    naive_mat(&w->k, w->k_bias, h, t->k + at * hk);
    naive_mat(&w->v, w->v_bias, h, t->v + at * hk);
    memcpy(t->q + at * hq, t->pre + at * hq, hq * sizeof(double));
    for (size_t i = 0; i < g->heads; i++)
        naive_rope(t->m, pos, t->q + at * hq + i * d);
    for (size_t i = 0; i < g->kv_heads; i++)
        naive_rope(t->m, pos, t->k + at * hk + i * d);
    naive_attend(t, l, pos, hide, arg);
    naive_mat(&w->o, w->o_bias, t->att + at * hq, y);
    for (size_t i = 0; i < g->width; i++)
        x[i] += y[i];
    naive_norm(t->m, x, w->ffn_norm, h);
    naive_mat(&w->gate, w->gate_bias, h, a);
    naive_mat(&w->up, w->up_bias, h, b);
    for (size_t i = 0; i < g->ffn; i++)
        a[i] = a[i] / (1 + exp(-a[i])) * b[i];
    naive_mat(&w->down, w->down_bias, a, y);
    for (size_t i = 0; i < g->width; i++)
        x[i] += y[i];
    free(h);
    free(y);
    free(a);
    free(b);
}

static inline naive naive_run(const kr_model *m, const int32_t *tokens, size_t n, naive_hide hide,
                              void *arg) {
    const kr_geometry *g = &m->geo;
    size_t hq = g->layers * n * g->heads * g->head_dim;
    size_t hk = g->layers * n * g->kv_heads * g->head_dim;
    naive t = {m, n, naive_zeros(n * g->vocab), naive_zeros(hq), naive_zeros(hq), naive_zeros(hk),
               naive_zeros(hk), naive_zeros(hq), naive_zeros(g->layers * g->heads * n)};
    double *x = naive_zeros(g->width), *h = naive_zeros(g->width);
    float *row = malloc(g->width * sizeof *row);
    for (size_t pos = 0; pos < n; pos++) {
        kr_quant_expand(m->embed.type, m->embed.data + (size_t)tokens[pos] * m->embed.row_bytes,
                        g->width, row);
        for (size_t i = 0; i < g->width; i++)
            x[i] = (double)row[i];
        for (size_t l = 0; l < g->layers; l++)
            naive_layer(&t, l, pos, x, hide, arg);
        naive_norm(m, x, m->output_norm, h);
        naive_mat(&m->output, NULL, h, t.logits + pos * g->vocab);
    }
    free(x);
    free(h);
    free(row);
    return t;
}

static inline void naive_free(naive *t) {
    double *all[] = {t->logits, t->pre, t->q, t->k, t->v, t->att, t->sums};
    for (size_t i = 0; i < 7; i++)
        free(all[i]);
}

#endif
