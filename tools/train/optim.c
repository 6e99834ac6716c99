#include "tools/train/optim.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MATRICES = 7, MAX_LANES = 2 };

struct kr_optim {
    kr_net_shape s;
    kr_net_params first, second; /* momentum of matrices or first moments; second moments */
    size_t step, side;           /* side: longest side of a matrix */
    float *scratch[MAX_LANES];   /* three squares and two matrices each */
};

void kr_optim_free(kr_optim *o) {
    if (o == NULL)
        return;
    kr_net_params_free(&o->first);
    kr_net_params_free(&o->second);
    for (size_t i = 0; i < MAX_LANES; i++)
        free(o->scratch[i]);
    free(o);
}

kr_optim *kr_optim_new(const kr_net_shape *s) {
    kr_optim *o = calloc(1, sizeof *o);
    if (o == NULL)
        return NULL;
    o->s = *s;
    o->side = s->width > s->heads * s->dim ? s->width : s->heads * s->dim;
    o->side = o->side > s->ffn ? o->side : s->ffn;
    bool ok = kr_net_params_new(s, &o->first) && kr_net_params_new(s, &o->second);
    for (size_t i = 0; i < MAX_LANES; i++) {
        o->scratch[i] = calloc(5 * o->side * o->side, sizeof(float));
        ok = ok && o->scratch[i] != NULL;
    }
    if (ok)
        return o;
    kr_optim_free(o);
    return NULL;
}

double kr_optim_begin(kr_optim *o, kr_net_params *grad) {
    double sum = 0;
    for (size_t i = 0; i < grad->n; i++)
        sum += (double)grad->all[i] * (double)grad->all[i];
    double norm = sqrt(sum);
    if (norm > 1)
        cblas_sscal((int)grad->n, (float)(1 / norm), grad->all, 1);
    o->step++;
    return norm;
}

/* Newton and Schulz's iteration towards the nearest orthogonal matrix, five steps with the
 * coefficients of Jordan et al., "Muon" (2024). x [rows][cols], rows <= cols; in place. */
static void orthogonalize(float *x, int rows, int cols, float *scratch) {
    float *a = scratch, *b = a + rows * rows, *y = b + rows * rows;
    cblas_sscal(rows * cols, 1 / (cblas_snrm2(rows * cols, x, 1) + 1e-7f), x, 1);
    for (int step = 0; step < 5; step++) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, rows, cols, 1, x, cols, x, cols,
                    0, a, rows);
        memcpy(b, a, (size_t)(rows * rows) * sizeof *b);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, rows, rows, 2.0315f, a, rows,
                    a, rows, -4.7750f, b, rows);
        memcpy(y, x, (size_t)(rows * cols) * sizeof *y);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, rows, 1, b, rows, y,
                    cols, 3.4445f, x, cols);
    }
}

static void transpose(const float *x, size_t rows, size_t cols, float *out) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            out[j * rows + i] = x[i * cols + j];
}

/* Nesterov momentum 0.95, orthogonalized, longer matrices with a longer step. */
static void muon(float *p, const float *g, float *m, size_t rows, size_t cols, kr_optim_rates rates,
                 float *scratch) {
    size_t n = rows * cols;
    float *u = scratch, *t = u + n, *rest = t + n;
    for (size_t i = 0; i < n; i++) {
        m[i] = 0.95f * m[i] + g[i];
        u[i] = g[i] + 0.95f * m[i];
    }
    if (rows > cols) {
        transpose(u, rows, cols, t);
        orthogonalize(t, (int)cols, (int)rows, rest);
        transpose(t, cols, rows, u);
    } else {
        orthogonalize(u, (int)rows, (int)cols, rest);
    }
    float step = (float)(rates.muon * sqrt(rows > cols ? (double)rows / (double)cols : 1));
    float keep = (float)(1 - rates.muon * rates.decay);
    for (size_t i = 0; i < n; i++)
        p[i] = keep * p[i] - step * u[i];
}

void kr_optim_lane(kr_optim *o, kr_net_params *p, const kr_net_params *grad, kr_optim_rates rates,
                   size_t lane, size_t lanes) {
    const kr_net_shape *s = &o->s;
    size_t d = s->width, hd = s->heads * s->dim, kd = s->kv_heads * s->dim, f = s->ffn;
    for (size_t i = lane; i < MATRICES * s->layers; i += lanes) {
        size_t l = i / MATRICES;
        kr_net_layer *y = &p->layer[l], *m = &o->first.layer[l];
        const kr_net_layer *g = &grad->layer[l];
        const struct {
            float *p, *m;
            const float *g;
            size_t rows, cols;
        } all[MATRICES] = {{y->q, m->q, g->q, hd, d},         {y->k, m->k, g->k, kd, d},
                           {y->v, m->v, g->v, kd, d},         {y->o, m->o, g->o, d, hd},
                           {y->gate, m->gate, g->gate, f, d}, {y->up, m->up, g->up, f, d},
                           {y->down, m->down, g->down, d, f}};
        size_t j = i % MATRICES;
        muon(all[j].p, all[j].g, all[j].m, all[j].rows, all[j].cols, rates, o->scratch[lane]);
    }
}

/* Kingma and Ba's Adam, betas 0.9 and 0.95, no decay. */
static void adam(kr_optim *o, float *p, const float *g, float *m, float *v, size_t n, double rate) {
    float c1 = (float)(1 / (1 - pow(0.9, (double)o->step)));
    float c2 = (float)(1 / (1 - pow(0.95, (double)o->step)));
    for (size_t i = 0; i < n; i++) {
        m[i] = 0.9f * m[i] + 0.1f * g[i];
        v[i] = 0.95f * v[i] + 0.05f * g[i] * g[i];
        p[i] -= (float)rate * m[i] * c1 / (sqrtf(v[i] * c2) + 1e-8f);
    }
}

void kr_optim_end(kr_optim *o, kr_net_params *p, const kr_net_params *grad, kr_optim_rates rates) {
    size_t d = o->s.width;
    adam(o, p->embed, grad->embed, o->first.embed, o->second.embed, o->s.vocab * d, rates.adam);
    adam(o, p->norm, grad->norm, o->first.norm, o->second.norm, d, rates.adam);
    for (size_t l = 0; l < o->s.layers; l++) {
        adam(o, p->layer[l].attn_norm, grad->layer[l].attn_norm, o->first.layer[l].attn_norm,
             o->second.layer[l].attn_norm, d, rates.adam);
        adam(o, p->layer[l].ffn_norm, grad->layer[l].ffn_norm, o->first.layer[l].ffn_norm,
             o->second.layer[l].ffn_norm, d, rates.adam);
    }
}
