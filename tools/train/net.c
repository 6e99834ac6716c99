#include "tools/train/net.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/tasks.h"

enum { BLOCK = 64 }; /* query rows of attention worked on together */

/* --- parameters ------------------------------------------------------------------------------ */

static size_t layer_floats(const kr_net_shape *s) {
    return 2 * s->heads * s->dim * s->width + 2 * s->kv_heads * s->dim * s->width +
           3 * s->ffn * s->width + 2 * s->width;
}

static float *take(float **at, size_t n) {
    float *p = *at;
    *at += n;
    return p;
}

bool kr_net_params_new(const kr_net_shape *s, kr_net_params *out) {
    size_t n = s->vocab * s->width + s->width + s->layers * layer_floats(s);
    size_t hd = s->heads * s->dim, kd = s->kv_heads * s->dim, d = s->width, f = s->ffn;
    kr_net_params p = {.n = n,
                       .all = calloc(n, sizeof *p.all),
                       .layer = calloc(s->layers, sizeof *p.layer)};
    if (p.all == NULL || p.layer == NULL) {
        kr_net_params_free(&p);
        return false;
    }
    float *at = p.all;
    p.embed = take(&at, s->vocab * d);
    p.norm = take(&at, d);
    for (size_t l = 0; l < s->layers; l++)
        p.layer[l] = (kr_net_layer){.q = take(&at, hd * d),
                                    .k = take(&at, kd * d),
                                    .v = take(&at, kd * d),
                                    .o = take(&at, d * hd),
                                    .gate = take(&at, f * d),
                                    .up = take(&at, f * d),
                                    .down = take(&at, d * f),
                                    .attn_norm = take(&at, d),
                                    .ffn_norm = take(&at, d)};
    *out = p;
    return true;
}

void kr_net_params_free(kr_net_params *p) {
    free(p->all);
    free(p->layer);
    *p = (kr_net_params){0};
}

/* Box and Muller's normal deviates. */
static void fill_normal(kr_draw *d, float *v, size_t n, double deviation) {
    for (size_t i = 0; i < n; i++) {
        double a = ((double)(kr_draw_next(d) >> 11) + 0.5) * 0x1p-53;
        double b = (double)(kr_draw_next(d) >> 11) * 0x1p-53;
        v[i] = (float)(deviation * sqrt(-2 * log(a)) * cos(6.283185307179586 * b));
    }
}

static void fill(float *v, size_t n, float x) {
    for (size_t i = 0; i < n; i++)
        v[i] = x;
}

void kr_net_init(const kr_net_shape *s, kr_net_params *p, uint64_t seed) {
    kr_draw r = kr_draw_start(seed, kr_task_stream(KR_DRAW_TRAIN, 255, 0));
    size_t hd = s->heads * s->dim, kd = s->kv_heads * s->dim, d = s->width, f = s->ffn;
    double in = 1 / sqrt((double)d), out = 1 / sqrt(2.0 * (double)s->layers);
    fill_normal(&r, p->embed, s->vocab * d, 0.08);
    fill(p->norm, d, 1);
    for (size_t l = 0; l < s->layers; l++) {
        kr_net_layer *y = &p->layer[l];
        fill_normal(&r, y->q, hd * d, in);
        fill_normal(&r, y->k, kd * d, in);
        fill_normal(&r, y->v, kd * d, in);
        fill_normal(&r, y->o, d * hd, out / sqrt((double)hd));
        fill_normal(&r, y->gate, f * d, in);
        fill_normal(&r, y->up, f * d, in);
        fill_normal(&r, y->down, d * f, out / sqrt((double)f));
        fill(y->attn_norm, d, 1);
        fill(y->ffn_norm, d, 1);
    }
}

void kr_net_look_back(const kr_net_shape *s, kr_net_params *p, const size_t *back) {
    const double constant = 0.3, logit = 3.5, shrink = 0.3;
    size_t d = s->width, dim = s->dim, pairs = dim >= 32 ? 6 : dim / 4;
    double square = 0, gap = 0;
    for (size_t i = 0; i < s->vocab; i++)
        p->embed[i * d] = (float)constant;
    for (size_t i = 0; i < s->vocab * d; i++)
        square += (double)p->embed[i] * (double)p->embed[i];
    double normed =
        constant / sqrt(square / (double)(s->vocab * d)); /* dimension 0 after the norm */
    for (size_t i = 0; i < pairs; i++)
        gap += 1 - cos(pow(s->base, -2.0 * (double)i / (double)dim));
    double size = sqrt(logit * sqrt((double)dim) / gap) / normed;
    kr_net_layer *y = &p->layer[0];
    for (size_t i = 0; i < s->heads * dim * d; i++)
        y->q[i] *= (float)shrink;
    for (size_t i = 0; i < s->kv_heads * dim * d; i++)
        y->k[i] *= (float)shrink;
    for (size_t i = 0; i < pairs; i++) {
        double speed = pow(s->base, -2.0 * (double)i / (double)dim);
        for (size_t g = 0; g < s->kv_heads; g++)
            y->k[(g * dim + 2 * i) * d] = (float)size;
        for (size_t h = 0; h < s->heads; h++) {
            double angle = speed * (double)back[h];
            y->q[(h * dim + 2 * i) * d] = (float)(size * cos(angle));
            y->q[(h * dim + 2 * i + 1) * d] = (float)(-size * sin(angle));
        }
    }
}

/* --- workspace ------------------------------------------------------------------------------- */

/* What the forward pass of one layer leaves for the backward pass; rows by features. */
typedef struct {
    float *in, *normed, *q, *k, *v, *mixed; /* in: the stream before; mixed: before the o matrix */
    float *mid, *normed2, *gate, *up;       /* mid: the stream between the two halves */
    float *r1, *r2;                         /* 1 / rms per row */
    float *p;                               /* attention weights, block by block */
} layer_work;

struct kr_net_work {
    size_t rows;
    float *floats; /* all of the below */
    layer_work *layer;
    float *out, *r_out; /* the stream at the end, and its 1 / rms */
    float *act, *d_stream,
        *picked; /* [rows][F] [rows][D]; picked: the stream at rows that predict */
    float *d_normed, *d_gate, *d_up, *d_act;
    float *d_q, *d_k, *d_v, *d_mixed;
    float *head_in, *d_head_in, *logits; /* predicted rows; logits [HEAD_ROWS][V] */
    float *scores;                       /* [BLOCK][rows] */
    float *cosine, *sine;                /* [rows][d/2] */
    size_t *row;                         /* rows that predict */
};

enum { HEAD_ROWS = 128 };

/* All floats lie in one block; two rounds share the code, the first only counts. */
typedef struct {
    float *at; /* NULL while counting */
    size_t n;
} arena;

static void get(arena *a, float **p, size_t n) {
    n = (n + 15) / 16 * 16;
    *p = a->at == NULL ? NULL : a->at + a->n;
    a->n += n;
}

static void layer_work_get(const kr_net_shape *s, size_t rows, size_t weights, layer_work *y,
                           arena *a) {
    size_t d = s->width, hd = s->heads * s->dim, kd = s->kv_heads * s->dim;
    get(a, &y->in, rows * d), get(a, &y->normed, rows * d);
    get(a, &y->q, rows * hd), get(a, &y->k, rows * kd), get(a, &y->v, rows * kd);
    get(a, &y->mixed, rows * hd), get(a, &y->mid, rows * d), get(a, &y->normed2, rows * d);
    get(a, &y->gate, rows * s->ffn), get(a, &y->up, rows * s->ffn);
    get(a, &y->r1, rows), get(a, &y->r2, rows), get(a, &y->p, weights);
}

static void work_get(const kr_net_shape *s, kr_net_work *w, arena *a) {
    size_t d = s->width, hd = s->heads * s->dim, kd = s->kv_heads * s->dim, f = s->ffn,
           rows = w->rows;
    /* Attention weights need most for one text of `rows` tokens. */
    size_t blocks = rows / BLOCK + 1,
           weights = s->heads * BLOCK * BLOCK * blocks * (blocks + 1) / 2;
    get(a, &w->out, rows * d), get(a, &w->r_out, rows), get(a, &w->act, rows * f);
    get(a, &w->d_stream, rows * d), get(a, &w->picked, rows * d), get(a, &w->d_normed, rows * d);
    get(a, &w->d_gate, rows * f), get(a, &w->d_up, rows * f), get(a, &w->d_act, rows * f);
    get(a, &w->d_q, rows * hd), get(a, &w->d_k, rows * kd), get(a, &w->d_v, rows * kd);
    get(a, &w->d_mixed, rows * hd), get(a, &w->head_in, rows * d), get(a, &w->d_head_in, rows * d);
    get(a, &w->logits, HEAD_ROWS * s->vocab), get(a, &w->scores, BLOCK * rows);
    get(a, &w->cosine, rows * s->dim / 2), get(a, &w->sine, rows * s->dim / 2);
    for (size_t l = 0; l < s->layers; l++)
        layer_work_get(s, rows, weights, &w->layer[l], a);
}

static void make_angles(const kr_net_shape *s, kr_net_work *w) {
    size_t half = s->dim / 2;
    for (size_t t = 0; t < w->rows; t++)
        for (size_t i = 0; i < half; i++) {
            double a = (double)t * pow(s->base, -2.0 * (double)i / (double)s->dim);
            w->cosine[t * half + i] = (float)cos(a);
            w->sine[t * half + i] = (float)sin(a);
        }
}

kr_net_work *kr_net_work_new(const kr_net_shape *s, size_t rows) {
    kr_net_work *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    w->rows = rows;
    w->layer = calloc(s->layers, sizeof *w->layer);
    w->row = calloc(rows, sizeof *w->row);
    arena a = {0};
    if (w->layer != NULL && w->row != NULL) {
        work_get(s, w, &a);
        w->floats = calloc(a.n, sizeof *w->floats);
    }
    if (w->floats == NULL) {
        kr_net_work_free(w);
        return NULL;
    }
    a = (arena){w->floats, 0};
    work_get(s, w, &a);
    make_angles(s, w);
    return w;
}

void kr_net_work_free(kr_net_work *w) {
    if (w == NULL)
        return;
    free(w->layer);
    free(w->row);
    free(w->floats);
    free(w);
}

/* --- pieces ---------------------------------------------------------------------------------- */

/* out[n][o] = in[n][i] * W[o][i]^T */
static void apply(size_t n, size_t o, size_t i, const float *in, const float *w, float *out) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)o, (int)i, 1, in, (int)i, w,
                (int)i, 0, out, (int)o);
}

/* d_in[n][i] (+)= d_out[n][o] * W[o][i] */
static void back_in(size_t n, size_t o, size_t i, const float *d_out, const float *w, bool add,
                    float *d_in) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)i, (int)o, 1, d_out, (int)o,
                w, (int)i, add ? 1 : 0, d_in, (int)i);
}

/* dW[o][i] += d_out[n][o]^T * in[n][i] */
static void back_w(size_t n, size_t o, size_t i, const float *d_out, const float *in, float *d_w) {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)o, (int)i, (int)n, 1, d_out, (int)o,
                in, (int)i, 1, d_w, (int)i);
}

static void norm(size_t n, size_t d, const float *x, const float *g, float eps, float *y,
                 float *r) {
    for (size_t t = 0; t < n; t++) {
        const float *a = x + t * d;
        float sum = 0;
        for (size_t i = 0; i < d; i++)
            sum += a[i] * a[i];
        r[t] = 1 / sqrtf(sum / (float)d + eps);
        for (size_t i = 0; i < d; i++)
            y[t * d + i] = a[i] * r[t] * g[i];
    }
}

/* With y = x r g, r = (mean x^2 + eps)^(-1/2): dx_i = r (dy_i g_i - x_i r^2 mean_j(dy_j g_j x_j)).
 * Adds to dx and dg. */
static void norm_back(size_t n, size_t d, const float *x, const float *g, const float *r,
                      const float *dy, float *dx, float *dg) {
    for (size_t t = 0; t < n; t++) {
        const float *a = x + t * d, *b = dy + t * d;
        float dot = 0;
        for (size_t i = 0; i < d; i++)
            dot += b[i] * g[i] * a[i];
        float c = dot * r[t] * r[t] / (float)d;
        for (size_t i = 0; i < d; i++) {
            dx[t * d + i] += r[t] * (b[i] * g[i] - a[i] * c);
            dg[i] += b[i] * a[i] * r[t];
        }
    }
}

/* Turns neighbouring pairs by the angle of their position in the text; back turns the other way,
 * which is also the gradient. */
static void rotate(const kr_net_work *w, const kr_net_batch *b, size_t heads, size_t dim, bool back,
                   float *x) {
    size_t half = dim / 2;
    for (size_t s = 0; s < b->texts; s++)
        for (size_t t = b->start[s]; t < b->start[s + 1]; t++) {
            const float *c = w->cosine + (t - b->start[s]) * half;
            const float *z = w->sine + (t - b->start[s]) * half;
            for (size_t h = 0; h < heads; h++) {
                float *v = x + (t * heads + h) * dim;
                for (size_t i = 0; i < half; i++) {
                    float e = v[2 * i], o = v[2 * i + 1], sine = back ? -z[i] : z[i];
                    v[2 * i] = e * c[i] - o * sine;
                    v[2 * i + 1] = e * sine + o * c[i];
                }
            }
        }
}

/* Softmax of row i over its first `live` of `n` columns, zero beyond. */
static void softmax(float *row, size_t live, size_t n) {
    float top = row[0], sum = 0;
    for (size_t i = 1; i < live; i++)
        top = row[i] > top ? row[i] : top;
    for (size_t i = 0; i < live; i++) {
        row[i] = expf(row[i] - top);
        sum += row[i];
    }
    float inverse = 1 / sum;
    for (size_t i = 0; i < live; i++)
        row[i] *= inverse;
    for (size_t i = live; i < n; i++)
        row[i] = 0;
}

/* One block of query rows of one head of one text. */
typedef struct {
    size_t from, rows, cols; /* rows from..from+rows-1 of the text see cols = from+rows columns */
    float *p;                /* [rows][cols] */
} block;

typedef void block_fn(const kr_net_shape *s, kr_net_work *w, layer_work *y, size_t first,
                      size_t head, block b);

static void each_block(const kr_net_shape *s, kr_net_work *w, layer_work *y, const kr_net_batch *b,
                       block_fn *fn) {
    float *p = y->p;
    for (size_t t = 0; t < b->texts; t++)
        for (size_t h = 0; h < s->heads; h++) {
            size_t n = b->start[t + 1] - b->start[t];
            for (size_t from = 0; from < n; from += BLOCK) {
                size_t rows = n - from < BLOCK ? n - from : BLOCK;
                fn(s, w, y, b->start[t], h, (block){from, rows, from + rows, p});
                p += rows * (from + rows);
            }
        }
}

static void attend(const kr_net_shape *s, kr_net_work *w, layer_work *y, size_t first, size_t head,
                   block b) {
    (void)w;
    size_t hd = s->heads * s->dim, kd = s->kv_heads * s->dim, kv = head / (s->heads / s->kv_heads);
    const float *q = y->q + (first + b.from) * hd + head * s->dim;
    const float *k = y->k + first * kd + kv * s->dim, *v = y->v + first * kd + kv * s->dim;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)b.rows, (int)b.cols, (int)s->dim,
                1 / sqrtf((float)s->dim), q, (int)hd, k, (int)kd, 0, b.p, (int)b.cols);
    for (size_t i = 0; i < b.rows; i++)
        softmax(b.p + i * b.cols, b.from + i + 1, b.cols);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)b.rows, (int)s->dim, (int)b.cols, 1,
                b.p, (int)b.cols, v, (int)kd, 0, y->mixed + (first + b.from) * hd + head * s->dim,
                (int)hd);
}

/* d_v += P^T dO;  dS = P (dP - sum(dP P)) with dP = dO V^T;  d_q = dS K / sqrt d;  d_k += dS^T Q
 * / sqrt d */
static void attend_back(const kr_net_shape *s, kr_net_work *w, layer_work *y, size_t first,
                        size_t head, block b) {
    size_t hd = s->heads * s->dim, kd = s->kv_heads * s->dim, kv = head / (s->heads / s->kv_heads);
    size_t at_q = (first + b.from) * hd + head * s->dim, at_k = first * kd + kv * s->dim;
    float scale = 1 / sqrtf((float)s->dim), *ds = w->scores;
    int rows = (int)b.rows, cols = (int)b.cols, dim = (int)s->dim, iq = (int)hd, ik = (int)kd;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, cols, dim, rows, 1, b.p, cols,
                w->d_mixed + at_q, iq, 1, w->d_v + at_k, ik);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, cols, dim, 1, w->d_mixed + at_q, iq,
                y->v + at_k, ik, 0, ds, cols);
    for (size_t i = 0; i < b.rows; i++) {
        float *r = ds + i * b.cols, dot = 0;
        const float *p = b.p + i * b.cols;
        for (size_t j = 0; j < b.cols; j++)
            dot += r[j] * p[j];
        for (size_t j = 0; j < b.cols; j++)
            r[j] = p[j] * (r[j] - dot);
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, dim, cols, scale, ds, cols,
                y->k + at_k, ik, 0, w->d_q + at_q, iq);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, cols, dim, rows, scale, ds, cols,
                y->q + at_q, iq, 1, w->d_k + at_k, ik);
}

/* --- forward --------------------------------------------------------------------------------- */

static void activate(size_t n, const float *gate, const float *up, float *act) {
    for (size_t i = 0; i < n; i++)
        act[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
}

static void add_to(float *x, const float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void layer_forward(const kr_net_shape *s, const kr_net_layer *p, const kr_net_batch *b,
                          kr_net_work *w, layer_work *y, float *out) {
    size_t n = b->n, d = s->width, hd = s->heads * s->dim, kd = s->kv_heads * s->dim, f = s->ffn;
    norm(n, d, y->in, p->attn_norm, s->eps, y->normed, y->r1);
    apply(n, hd, d, y->normed, p->q, y->q);
    apply(n, kd, d, y->normed, p->k, y->k);
    apply(n, kd, d, y->normed, p->v, y->v);
    rotate(w, b, s->heads, s->dim, false, y->q);
    rotate(w, b, s->kv_heads, s->dim, false, y->k);
    each_block(s, w, y, b, attend);
    apply(n, d, hd, y->mixed, p->o, y->mid);
    add_to(y->mid, y->in, n * d);
    norm(n, d, y->mid, p->ffn_norm, s->eps, y->normed2, y->r2);
    apply(n, f, d, y->normed2, p->gate, y->gate);
    apply(n, f, d, y->normed2, p->up, y->up);
    activate(n * f, y->gate, y->up, w->act);
    apply(n, d, f, w->act, p->down, out);
    add_to(out, y->mid, n * d);
}

static void forward(const kr_net_shape *s, const kr_net_params *p, const kr_net_batch *b,
                    kr_net_work *w) {
    size_t d = s->width;
    for (size_t t = 0; t < b->n; t++)
        memcpy(w->layer[0].in + t * d, p->embed + (size_t)b->token[t] * d, d * sizeof *p->embed);
    for (size_t l = 0; l < s->layers; l++)
        layer_forward(s, &p->layer[l], b, w, &w->layer[l],
                      l + 1 < s->layers ? w->layer[l + 1].in : w->out);
}

/* --- backward -------------------------------------------------------------------------------- */

static void activate_back(size_t n, const float *gate, const float *up, const float *d_act,
                          float *d_gate, float *d_up) {
    for (size_t i = 0; i < n; i++) {
        float sigma = 1 / (1 + expf(-gate[i])), silu = gate[i] * sigma;
        d_gate[i] = d_act[i] * up[i] * (sigma + silu * (1 - sigma));
        d_up[i] = d_act[i] * silu;
    }
}

/* w->d_stream holds the gradient of the layer's output and then of its input. */
static void layer_backward(const kr_net_shape *s, const kr_net_layer *p, const kr_net_batch *b,
                           kr_net_work *w, layer_work *y, kr_net_layer *g) {
    size_t n = b->n, d = s->width, hd = s->heads * s->dim, kd = s->kv_heads * s->dim, f = s->ffn;
    activate(n * f, y->gate, y->up, w->act);
    back_w(n, d, f, w->d_stream, w->act, g->down);
    back_in(n, d, f, w->d_stream, p->down, false, w->d_act);
    activate_back(n * f, y->gate, y->up, w->d_act, w->d_gate, w->d_up);
    back_w(n, f, d, w->d_gate, y->normed2, g->gate);
    back_w(n, f, d, w->d_up, y->normed2, g->up);
    back_in(n, f, d, w->d_gate, p->gate, false, w->d_normed);
    back_in(n, f, d, w->d_up, p->up, true, w->d_normed);
    norm_back(n, d, y->mid, p->ffn_norm, y->r2, w->d_normed, w->d_stream, g->ffn_norm);

    back_w(n, d, hd, w->d_stream, y->mixed, g->o);
    back_in(n, d, hd, w->d_stream, p->o, false, w->d_mixed);
    memset(w->d_k, 0, n * kd * sizeof *w->d_k);
    memset(w->d_v, 0, n * kd * sizeof *w->d_v);
    each_block(s, w, y, b, attend_back);
    rotate(w, b, s->heads, s->dim, true, w->d_q);
    rotate(w, b, s->kv_heads, s->dim, true, w->d_k);
    back_w(n, hd, d, w->d_q, y->normed, g->q);
    back_w(n, kd, d, w->d_k, y->normed, g->k);
    back_w(n, kd, d, w->d_v, y->normed, g->v);
    back_in(n, hd, d, w->d_q, p->q, false, w->d_normed);
    back_in(n, kd, d, w->d_k, p->k, true, w->d_normed);
    back_in(n, kd, d, w->d_v, p->v, true, w->d_normed);
    norm_back(n, d, y->in, p->attn_norm, y->r1, w->d_normed, w->d_stream, g->attn_norm);
}

static void backward(const kr_net_shape *s, const kr_net_params *p, const kr_net_batch *b,
                     kr_net_work *w, kr_net_params *g) {
    size_t d = s->width;
    for (size_t l = s->layers; l-- > 0;)
        layer_backward(s, &p->layer[l], b, w, &w->layer[l], &g->layer[l]);
    for (size_t t = 0; t < b->n; t++)
        add_to(g->embed + (size_t)b->token[t] * d, w->d_stream + t * d, d);
}

/* --- the head, at rows that predict ----------------------------------------------------------- */

static float row_loss(float *z, size_t v, int32_t target, float weight, float scale,
                      int32_t *best) {
    size_t top = 0;
    for (size_t i = 1; i < v; i++)
        if (z[i] > z[top])
            top = i;
    float max = z[top], sum = 0, wanted = z[target];
    for (size_t i = 0; i < v; i++) {
        z[i] = expf(z[i] - max);
        sum += z[i];
    }
    for (size_t i = 0; i < v; i++)
        z[i] *= weight * scale / sum;
    z[target] -= weight * scale;
    *best = (int32_t)top;
    return weight * (logf(sum) + max - wanted);
}

/* Rows i .. i+n-1 of w->row; leaves d_head_in when g is not NULL. */
static double head_part(const kr_net_shape *s, const kr_net_params *p, const kr_net_batch *b,
                        kr_net_work *w, size_t i, size_t n, float scale, kr_net_params *g,
                        int32_t *best, float *logits) {
    size_t d = s->width, v = s->vocab;
    double loss = 0;
    apply(n, v, d, w->head_in + i * d, p->embed, w->logits);
    for (size_t j = 0; j < n; j++) {
        size_t next = w->row[i + j] + 1;
        int32_t top;
        if (logits != NULL)
            memcpy(logits + next * v, w->logits + j * v, v * sizeof *logits);
        loss +=
            (double)row_loss(w->logits + j * v, v, b->token[next], b->weight[next], scale, &top);
        if (best != NULL)
            best[next] = top;
    }
    if (g != NULL) {
        back_w(n, v, d, w->logits, w->head_in + i * d, g->embed);
        back_in(n, v, d, w->logits, p->embed, false, w->d_head_in + i * d);
    }
    return loss;
}

static double head(const kr_net_shape *s, const kr_net_params *p, const kr_net_batch *b,
                   kr_net_work *w, float scale, kr_net_params *g, int32_t *best, float *logits) {
    size_t d = s->width, n = 0;
    double loss = 0;
    for (size_t t = 1; t < b->n; t++)
        if (b->weight[t] > 0)
            w->row[n++] = t - 1;
    float *in = w->picked;
    for (size_t j = 0; j < n; j++)
        memcpy(in + j * d, w->out + w->row[j] * d, d * sizeof *in);
    norm(n, d, in, p->norm, s->eps, w->head_in, w->r_out);
    for (size_t i = 0; i < n; i += HEAD_ROWS)
        loss +=
            head_part(s, p, b, w, i, n - i < HEAD_ROWS ? n - i : HEAD_ROWS, scale, g, best, logits);
    if (g == NULL)
        return loss;
    float *d_in = w->d_normed;
    memset(d_in, 0, n * d * sizeof *d_in);
    norm_back(n, d, in, p->norm, w->r_out, w->d_head_in, d_in, g->norm);
    memset(w->d_stream, 0, b->n * d * sizeof *w->d_stream);
    for (size_t j = 0; j < n; j++)
        memcpy(w->d_stream + w->row[j] * d, d_in + j * d, d * sizeof *d_in);
    return loss;
}

double kr_net_loss(const kr_net_shape *s, const kr_net_params *p, const kr_net_batch *b,
                   kr_net_work *w, float scale, kr_net_params *grad, int32_t *best, float *logits) {
    if (best != NULL)
        for (size_t t = 0; t < b->n; t++)
            best[t] = -1;
    forward(s, p, b, w);
    double loss = head(s, p, b, w, scale, grad, best, logits);
    if (grad != NULL)
        backward(s, p, b, w, grad);
    return loss;
}
