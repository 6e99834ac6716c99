#include "evict/parts.h"

#include <cblas.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const char *const kr_round_names[] = {"floor", "even", "float", NULL};
const char *const kr_pooling_names[] = {"avg", "max", NULL};
const char *const kr_reduce_names[] = {"mean", "max", "sum", NULL};
const char *const kr_order_names[] = {"pool_first", "reduce_first", NULL};

size_t kr_part_budget(size_t n, kr_evict_level level, kr_rounding how) {
    return kr_part_budget_of(n, 1, level, how);
}

size_t kr_part_budget_of(size_t n, size_t times, kr_evict_level level, kr_rounding how) {
    size_t most = n * times, b;
    if (level.kind == KR_EVICT_TOKENS)
        b = (uint64_t)level.value.digits < n ? (size_t)level.value.digits * times : most;
    else
        b = kr_budget(n, times, level.value, how);
    return b < times ? times : b > most ? most : b;
}

size_t *kr_part_budgets(size_t count, size_t each, kr_error *err) {
    size_t *b = malloc(count * sizeof *b);
    if (b == NULL)
        kr_fail(err, KR_ENOMEM, "out of memory for %zu budgets", count);
    for (size_t i = 0; b != NULL && i < count; i++)
        b[i] = each;
    return b;
}

kr_status kr_part_uniform(const kr_scores *s, size_t budget, kr_keep **out, kr_error *err) {
    size_t *b = kr_part_budgets(s->layers * s->heads, budget, err);
    if (b == NULL)
        return KR_ENOMEM;
    kr_selection sel = {.scope = KR_SCOPE_HEAD, .budget = b};
    kr_status st = kr_select(s, &sel, out, err);
    free(b);
    return st;
}

/* ---- attention ---- */

void kr_part_attention(const float *q, const float *k, size_t w, size_t n, size_t d, float *a) {
    const kr_kern *kern = kr_kern_best();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)w, (int)n, (int)d,
                1.0f / sqrtf((float)d), q, (int)d, k, (int)d, 0.0f, a, (int)n);
    for (size_t t = 0; t < w; t++) {
        float *row = a + t * n;
        size_t seen = n - w + t + 1;
        float inv = 1.0f / kern->exp_sum(row, seen, kern->max(row, seen));
        for (size_t j = 0; j < seen; j++)
            row[j] *= inv;
        memset(row + seen, 0, (n - seen) * sizeof *row);
    }
}

/* Newest w queries of a head in the taps, [w][d]. */
static const float *newest_queries(const kr_taps *t, size_t layer, size_t head, size_t w) {
    const float *rows = t->last + (layer * t->heads + head) * t->window * t->dim;
    return rows + (t->n_last - w) * t->dim;
}

void kr_part_head_attention(const kr_evict_input *in, size_t layer, size_t head, size_t w,
                            float *a) {
    const kr_kv *kv = in->kv;
    const kr_kv_head *h = kr_kv_at(kv, layer, head / (in->model->geo.heads / kv->heads));
    kr_part_attention(newest_queries(in->taps, layer, head, w), kr_kv_keys(kv, h), w, h->len,
                      kv->dim, a);
}

typedef struct {
    const kr_evict_input *in;
    kr_scores *s;
    kr_part_fn fn;
    const void *arg;
    atomic_bool failed;
} spread;

static void spread_tile(void *arg, size_t tile, size_t thread) {
    spread *s = arg;
    size_t heads = s->in->kv->heads;
    (void)thread;
    if (!s->fn(s->in, s->s, tile / heads, tile % heads, s->arg))
        atomic_store(&s->failed, true);
}

kr_status kr_part_heads(const kr_evict_input *in, kr_scores *s, kr_part_fn fn, const void *arg,
                        kr_error *err) {
    spread all = {.in = in, .s = s, .fn = fn, .arg = arg};
    atomic_init(&all.failed, false);
    if (!kr_pool_run(in->pool, in->kv->layers * in->kv->heads, spread_tile, &all))
        return kr_fail(err, KR_ECANCELED, "canceled");
    if (atomic_load(&all.failed))
        return kr_fail(err, KR_ENOMEM, "out of memory for the attention of %zu tokens", s->n);
    return KR_OK;
}

/* ---- SnapKV ---- */

void kr_part_pool(const float *in, size_t n, size_t kernel, kr_pooling how, float *out) {
    size_t half = kernel / 2;
    for (size_t j = 0; j < n; j++) {
        size_t lo = j > half ? j - half : 0, hi = j + half < n ? j + half : n - 1;
        double sum = 0;
        float top = in[lo];
        for (size_t i = lo; i <= hi; i++) {
            sum += (double)in[i];
            top = in[i] > top ? in[i] : top;
        }
        out[j] = how == KR_POOL_MAX ? top : (float)(sum / (double)kernel);
    }
}

void kr_part_reduce(const float *in, size_t group, size_t ld, size_t n, kr_reduce how, float *out) {
    for (size_t j = 0; j < n; j++) {
        /* In double, so that equal rows give their own value back. */
        double sum = 0;
        float top = in[j];
        for (size_t g = 0; g < group; g++) {
            sum += (double)in[g * ld + j];
            top = in[g * ld + j] > top ? in[g * ld + j] : top;
        }
        out[j] = how == KR_REDUCE_MAX ? top
                                      : (float)(how == KR_REDUCE_SUM ? sum : sum / (double)group);
    }
}

/* mean[m] of the columns of a[w][n], m <= n. */
static void column_means(const float *a, size_t w, size_t n, size_t m, double *sum, float *mean) {
    memset(sum, 0, m * sizeof *sum);
    for (size_t t = 0; t < w; t++)
        for (size_t j = 0; j < m; j++)
            sum[j] += (double)a[t * n + j];
    for (size_t j = 0; j < m; j++)
        mean[j] = (float)(sum[j] / (double)w);
}

bool kr_part_snap(const float *a, size_t group, size_t n, const kr_snap *snap, float *s) {
    size_t w = snap->window, m = n - w;
    double *sum = malloc(m * sizeof *sum);
    float *mean = malloc(2 * group * m * sizeof *mean), *pooled = mean + group * m;
    bool ok = sum != NULL && mean != NULL;
    for (size_t g = 0; ok && g < group; g++) {
        column_means(a + g * w * n, w, n, m, sum, mean + g * m);
        if (snap->order == KR_POOL_FIRST)
            kr_part_pool(mean + g * m, m, snap->kernel, snap->pooling, pooled + g * m);
    }
    if (ok && snap->order == KR_POOL_FIRST) {
        kr_part_reduce(pooled, group, m, m, snap->reduce, s);
    } else if (ok) {
        kr_part_reduce(mean, group, m, m, snap->reduce, pooled);
        kr_part_pool(pooled, m, snap->kernel, snap->pooling, s);
    }
    free(sum);
    free(mean);
    return ok;
}

kr_snap kr_snap_params(const kr_params *p) {
    return (kr_snap){(size_t)kr_param_int(p, KR_SNAP_WINDOW),
                     (size_t)kr_param_int(p, KR_SNAP_KERNEL),
                     (kr_pooling)kr_param_int(p, KR_SNAP_POOL),
                     (kr_reduce)kr_param_int(p, KR_SNAP_REDUCE),
                     (kr_pool_order)kr_param_int(p, KR_SNAP_ORDER)};
}

size_t kr_snap_window(const kr_params *p) {
    return (size_t)kr_param_int(p, KR_SNAP_WINDOW);
}

static bool snap_head(const kr_evict_input *in, kr_scores *s, size_t layer, size_t head,
                      const void *arg) {
    const kr_snap *snap = arg;
    size_t n = s->n, w = snap->window, group = in->model->geo.heads / in->kv->heads;
    float *a = malloc(group * w * n * sizeof *a);
    if (a == NULL)
        return false;
    for (size_t g = 0; g < group; g++)
        kr_part_head_attention(in, layer, head * group + g, w, a + g * w * n);
    bool ok = kr_part_snap(a, group, n, snap,
                           s->first != NULL ? kr_scores_first(s, layer, head)
                                            : kr_scores_rank(s, layer, head));
    free(a);
    return ok;
}

kr_status kr_snap_score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err) {
    kr_snap snap = kr_snap_params(p);
    return kr_part_heads(in, s, snap_head, &snap, err);
}

/* ---- value norms ---- */

enum { NORM_ROWS = 256 };

static void add_norms(const float *y, size_t rows, size_t width, double share, double *sum) {
    for (size_t j = 0; j < rows; j++) {
        double part[8] = {0}; /* fixed order, and the compiler can vectorise it */
        const float *row = y + j * width;
        size_t i = 0;
        for (; i + 8 <= width; i += 8)
            for (size_t l = 0; l < 8; l++)
                part[l] += (double)fabsf(row[i + l]);
        for (; i < width; i++)
            part[0] += (double)fabsf(row[i]);
        sum[j] += share * (((part[0] + part[1]) + (part[2] + part[3])) +
                           ((part[4] + part[5]) + (part[6] + part[7])));
    }
}

bool kr_part_norms(const float *v, const float *wo, size_t group, size_t n, size_t d, size_t width,
                   float *norm) {
    float *y = malloc(NORM_ROWS * width * sizeof *y);
    if (y == NULL)
        return false;
    for (size_t at = 0; at < n; at += NORM_ROWS) {
        size_t rows = n - at < NORM_ROWS ? n - at : NORM_ROWS;
        double sum[NORM_ROWS] = {0};
        for (size_t g = 0; g < group; g++) {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)width, (int)d,
                        1.0f, v + at * d, (int)d, wo + g * d * width, (int)width, 0.0f, y,
                        (int)width);
            add_norms(y, rows, width, 1.0 / (double)group, sum);
        }
        for (size_t j = 0; j < rows; j++)
            norm[at + j] = (float)sum[j];
    }
    free(y);
    return true;
}

typedef struct {
    const kr_evict_input *in;
    size_t layer;
    const float *rows; /* [H * d][D] of the layer */
    float *norm;
    atomic_bool failed;
} norm_job;

static void norm_tile(void *arg, size_t head, size_t thread) {
    norm_job *j = arg;
    const kr_kv *kv = j->in->kv;
    const kr_geometry *g = &j->in->model->geo;
    size_t n = kr_evict_n(j->in), group = g->heads / kv->heads, d = kv->dim;
    (void)thread;
    if (!kr_part_norms(kr_kv_values(kv, kr_kv_at(kv, j->layer, head)),
                       j->rows + head * group * d * g->width, group, n, d, g->width,
                       j->norm + (j->layer * kv->heads + head) * n))
        atomic_store(&j->failed, true);
}

const float *kr_shared_norms(const kr_evict_input *in, kr_error *err) {
    if (in->shared->norm != NULL)
        return in->shared->norm;
    const kr_geometry *g = &in->model->geo;
    float *rows = malloc(g->heads * g->head_dim * g->width * sizeof *rows);
    norm_job j = {.in = in, .rows = rows};
    j.norm = malloc(g->layers * in->kv->heads * kr_evict_n(in) * sizeof *j.norm);
    atomic_init(&j.failed, rows == NULL || j.norm == NULL);
    bool ok = true;
    for (; ok && !atomic_load(&j.failed) && j.layer < g->layers; j.layer++) {
        kr_model_output_rows(in->model, j.layer, rows);
        ok = kr_pool_run(in->pool, in->kv->heads, norm_tile, &j);
    }
    free(rows);
    if (ok && !atomic_load(&j.failed))
        return in->shared->norm = j.norm;
    free(j.norm);
    kr_fail(err, ok ? KR_ENOMEM : KR_ECANCELED, ok ? "out of memory for value norms" : "canceled");
    return NULL;
}

void kr_evict_shared_free(kr_evict_shared *s) {
    free(s->norm);
    s->norm = NULL;
}
