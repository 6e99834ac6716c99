/* expected_attention.c - Expected Attention (Devoto et al. 2025): attention that an entry can expect
 * from the queries to come, whose distribution is estimated from the prompt's queries before the
 * rotary embedding, turned by the mean rotation of the next positions. */
#include "evict/parts.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SINKS, HORIZON, COVARIANCE, VNORM, EPSILON, ROUND, N };

static const char *const no_yes[] = {"no", "yes", NULL};

static const kr_param params[] = {
    KR_INT_PARAM("sinks", 0, 4096, 4, "first tokens that are kept and left out of the estimate"),
    KR_INT_PARAM("horizon", 1, 65536, 512, "positions to come"),
    KR_CHOICE_PARAM("covariance", no_yes, 2, 1, "use the spread of the queries"),
    KR_CHOICE_PARAM("vnorm", no_yes, 2, 1, "times the norm of the value"),
    {"epsilon", KR_PARAM_DECIMAL, NULL, {0, 0}, {1, 0}, {0, 0}, "added to the expected attention"},
    KR_ROUND_PARAM(0),
};

static size_t lead(const kr_params *p) {
    return (size_t)kr_param_int(p, SINKS);
}

typedef struct {
    const kr_evict_input *in;
    const kr_params *p;
    const double *turn; /* [d/2] mean cosines, then [d/2] mean sines */
} job;

/* Mean rotation of positions n .. n+horizon-1. */
static void mean_rotation(const kr_model *m, size_t n, size_t horizon, double *turn) {
    size_t half = m->geo.head_dim / 2;
    for (size_t i = 0; i < half; i++) {
        double c = 0, s = 0;
        for (size_t p = n; p < n + horizon; p++) {
            c += cos((double)p * m->rope_freq[i]);
            s += sin((double)p * m->rope_freq[i]);
        }
        turn[i] = c / (double)horizon;
        turn[half + i] = s / (double)horizon;
    }
}

/* Rotates the pairs of x, whose elements are `stride` apart. */
static void rotate(const kr_geometry *g, const double *turn, double *x, size_t stride) {
    size_t half = g->head_dim / 2, step = g->rope_halves ? 1 : 2, other = g->rope_halves ? half : 1;
    for (size_t i = 0; i < half; i++) {
        double *a = x + i * step * stride, *b = a + other * stride, u = *a, v = *b;
        *a = turn[i] * u - turn[half + i] * v;
        *b = turn[half + i] * u + turn[i] * v;
    }
}

/* Mean and covariance of one query head, rotated. mu [d], sigma [d][d]. */
static void moments(const job *j, size_t layer, size_t head, double *mu, double *sigma) {
    const kr_taps *t = j->in->taps;
    const kr_geometry *g = &j->in->model->geo;
    size_t d = t->dim, at = layer * t->heads + head;
    double count = (double)t->n_moments;
    for (size_t i = 0; i < d; i++)
        mu[i] = (double)t->mean[at * d + i] / count;
    for (size_t i = 0; i < d * d; i++)
        sigma[i] = (double)t->outer[at * d * d + i] / count - mu[i / d] * mu[i % d];
    rotate(g, j->turn, mu, 1);
    for (size_t i = 0; i < d; i++)
        rotate(g, j->turn, sigma + i * d, 1); /* columns: Sigma R^T */
    for (size_t i = 0; i < d; i++)
        rotate(g, j->turn, sigma + i, d); /* rows: R Sigma R^T */
}

enum { BLOCK = 128 };

/* z[j] for j in [from, n): mu . k / sqrt d + k' Sigma k / (2 d) */
static void logits(const job *j, const float *k, size_t from, size_t n, const float *mu,
                   const float *sigma, float *y, float *z) {
    size_t d = j->in->kv->dim;
    bool spread = kr_param_int(j->p, COVARIANCE) == 1;
    for (size_t at = from; at < n; at += BLOCK) {
        size_t rows = n - at < BLOCK ? n - at : BLOCK;
        if (spread)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)d, (int)d, 1.0f,
                        k + at * d, (int)d, sigma, (int)d, 0.0f, y, (int)d);
        for (size_t r = 0; r < rows; r++) {
            const float *key = k + (at + r) * d;
            double lin = 0, quad = 0;
            for (size_t c = 0; c < d; c++) {
                lin += (double)mu[c] * (double)key[c];
                quad += spread ? (double)y[r * d + c] * (double)key[c] : 0;
            }
            z[at + r] = (float)(lin / sqrt((double)d) + quad / (2 * (double)d));
        }
    }
}

static double value_norm(const float *v, size_t d) {
    double s = 0;
    for (size_t i = 0; i < d; i++)
        s += (double)v[i] * (double)v[i];
    return sqrt(s);
}

/* Adds the softmax of z[from .. n) divided by the group to sum. */
static void add_softmax(float *z, size_t from, size_t n, double share, double *sum) {
    const kr_kern *kern = kr_kern_best();
    float total = kern->exp_sum(z + from, n - from, kern->max(z + from, n - from));
    for (size_t j = from; j < n; j++)
        sum[j] += share * (double)(z[j] / total);
}

typedef struct {
    double *mu, *sigma, *sum;
    float *fmu, *fsigma, *y, *z;
} space;

static bool reserve(space *w, size_t n, size_t d) {
    *w = (space){malloc(d * sizeof(double)),     malloc(d * d * sizeof(double)),
                 calloc(n, sizeof(double)),      malloc(d * sizeof(float)),
                 malloc(d * d * sizeof(float)),  malloc(BLOCK * d * sizeof(float)),
                 malloc(n * sizeof(float))};
    return w->mu != NULL && w->sigma != NULL && w->sum != NULL && w->fmu != NULL &&
           w->fsigma != NULL && w->y != NULL && w->z != NULL;
}

static void release(space *w) {
    free(w->mu);
    free(w->sigma);
    free(w->sum);
    free(w->fmu);
    free(w->fsigma);
    free(w->y);
    free(w->z);
}

static bool head_scores(const kr_evict_input *in, kr_scores *s, size_t layer, size_t head,
                        const void *arg) {
    const job *j = arg;
    const kr_kv *kv = in->kv;
    size_t n = s->n, d = kv->dim, group = in->model->geo.heads / kv->heads;
    const kr_kv_head *h = kr_kv_at(kv, layer, head);
    float *rank = kr_scores_rank(s, layer, head);
    bool vnorm = kr_param_int(j->p, VNORM) == 1;
    double eps = kr_param_real(j->p, EPSILON);
    space w;
    bool ok = reserve(&w, n, d);
    for (size_t g = 0; ok && g < group; g++) {
        moments(j, layer, head * group + g, w.mu, w.sigma);
        for (size_t i = 0; i < d; i++)
            w.fmu[i] = (float)w.mu[i];
        for (size_t i = 0; i < d * d; i++)
            w.fsigma[i] = (float)w.sigma[i];
        logits(j, kr_kv_keys(kv, h), s->lead, n, w.fmu, w.fsigma, w.y, w.z);
        add_softmax(w.z, s->lead, n, 1.0 / (double)group, w.sum);
    }
    for (size_t i = s->lead; ok && i < n; i++)
        rank[i] = (float)((w.sum[i] + eps) *
                          (vnorm ? value_norm(kr_kv_values(kv, h) + i * d, d) : 1));
    release(&w);
    return ok;
}

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err) {
    double *turn = malloc(in->kv->dim * sizeof *turn);
    if (turn == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a rotation");
    mean_rotation(in->model, s->n, (size_t)kr_param_int(p, HORIZON), turn);
    job j = {in, p, turn};
    kr_status st = kr_part_heads(in, s, head_scores, &j, err);
    free(turn);
    return st;
}

const kr_evictor kr_evictor_expected = {
    .name = "expected_attention",
    .what = "attention to be expected from queries to come",
    .paper = "Devoto et al. 2025, arXiv 2510.00636",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .needs = KR_NEED_MOMENTS,
    .lead = lead,
    .score = score,
    .round = ROUND,
};
