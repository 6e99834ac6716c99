/* refreekv.c - ReFreeKV (Ni et al. 2025): no budget but a threshold. Sinks and the shortest run of
 * newest entries whose attention norm falls short of the whole by at most T; so every request and
 * every layer keeps its own share.
 *   ref    the norm leaves the sinks out, "at most T" (as the repository computes)
 *   paper  the norm includes them, "less than T", sinks first in the ranking (equations 1 to 3) */
#include "evict/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SINKS, FULL_LAYERS, NORM, N };

static const char *const norms[] = {"ref", "paper", NULL};

static const kr_param params[] = {
    KR_INT_PARAM("sinks", 0, 4096, 4, "first tokens that are kept"),
    KR_INT_PARAM("full_layers", 0, 4096, 2, "lowest layers that keep everything"),
    KR_CHOICE_PARAM("norm", norms, 2, 0, "which form of the criterion"),
};

static size_t lead(const kr_params *p) {
    return (size_t)kr_param_int(p, SINKS);
}

static size_t one(const kr_params *p) {
    (void)p;
    return 1;
}

/* ---- plain arrays ---- */

/* norm[p - from] = mean over heads of the 2-norm of a[h][p .. n), p = from .. n (then 0). */
static void suffix_norms(const float *a, size_t heads, size_t n, size_t from, double *norm) {
    memset(norm, 0, (n - from + 1) * sizeof *norm);
    for (size_t h = 0; h < heads; h++) {
        double sum = 0;
        for (size_t p = n; p-- > from;) {
            sum += (double)a[h * n + p] * (double)a[h * n + p];
            norm[p - from] += sqrt(sum) / (double)heads;
        }
    }
}

size_t kr_refree_start(const float *a, size_t heads, size_t n, size_t m, double threshold) {
    double *norm = malloc((n - m + 1) * sizeof *norm);
    size_t p = m;
    if (norm == NULL)
        return m; /* keeps all: the safe side */
    suffix_norms(a, heads, n, m, norm);
    while (norm[0] > 0 && p + 1 < n && (norm[0] - norm[p + 1 - m]) / norm[0] <= threshold)
        p++;
    free(norm);
    return p;
}

/* Mean over heads of the norm of the first `count` entries of the ranking, for all counts at once:
 * norm[count], count = 0 .. n. */
static void prefix_norms(const float *a, size_t heads, size_t n, size_t m, double *norm) {
    memset(norm, 0, (n + 1) * sizeof *norm);
    for (size_t h = 0; h < heads; h++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            double v = (double)a[h * n + (i < m ? i : n - 1 - (i - m))];
            sum += v * v;
            norm[i + 1] += sqrt(sum) / (double)heads;
        }
    }
}

size_t kr_refree_prefix(const float *a, size_t heads, size_t n, size_t m, double threshold) {
    double *norm = malloc((n + 1) * sizeof *norm);
    if (norm == NULL)
        return n;
    prefix_norms(a, heads, n, m, norm);
    size_t i = 1;
    while (i < n && !(1 - norm[i] / norm[n] < threshold))
        i++;
    free(norm);
    return i;
}

/* ---- a request ---- */

/* The newest query's attention of all query heads is what levels are applied to: rank holds it,
 * [layers][query heads][n], and nothing needs sorting. */
static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err) {
    (void)p;
    s->aux[0] = (double)in->kv->heads;
    for (size_t i = 0; i < s->layers * s->heads; i++) {
        float *row = s->rank + i * s->n;
        kr_part_head_attention(in, i / s->heads, i % s->heads, 1, row);
        for (size_t j = 0; j < s->n; j++)
            if (isnan(row[j]))
                return kr_fail(err, KR_ENUM, "the attention of layer %zu is not a number; the "
                               "model's weights are damaged or overflow", i / s->heads);
    }
    return KR_OK;
}

/* The list of one layer: the first `lead` entries and those from `run` on. */
static size_t write_list(uint32_t *rows, size_t n, size_t lead, size_t run) {
    size_t c = 0;
    for (size_t j = 0; j < n; j++)
        if (j < lead || j >= run)
            rows[c++] = (uint32_t)j;
    return c;
}

static size_t keep_layer(const kr_scores *s, const kr_params *p, size_t layer, double t,
                         uint32_t *rows) {
    size_t n = s->n, m = (size_t)kr_param_int(p, SINKS);
    const float *a = s->rank + layer * s->heads * n;
    if (layer < (size_t)kr_param_int(p, FULL_LAYERS))
        return write_list(rows, n, n, n);
    if (kr_param_int(p, NORM) == 0)
        return write_list(rows, n, m, kr_refree_start(a, s->heads, n, m, t));
    size_t c = kr_refree_prefix(a, s->heads, n, m, t);
    return c <= m ? write_list(rows, n, c, n) : write_list(rows, n, m, n - (c - m));
}

static kr_status choose(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                        kr_error *err) {
    size_t heads = (size_t)s->aux[0];
    double t = kr_dec_double(level.value);
    kr_keep *k;
    kr_status st = kr_keep_all(s->layers, heads, s->n, 0, &k, err);
    if (st != KR_OK)
        return st;
    /* All heads of a layer share one list. */
    k->rows = malloc(s->layers * s->n * sizeof *k->rows);
    if (k->rows == NULL) {
        kr_keep_free(k);
        return kr_fail(err, KR_ENOMEM, "out of memory for the selection of %zu cache entries",
                       s->layers * s->n);
    }
    k->total = 0;
    for (size_t l = 0; l < s->layers; l++) {
        size_t c = keep_layer(s, p, l, t, k->rows + l * s->n);
        for (size_t h = 0; h < heads; h++)
            k->head[l * heads + h] = (kr_kv_keep){k->rows + l * s->n, c};
        k->total += heads * c;
    }
    st = kr_keep_check(k, err);
    if (st == KR_OK)
        *out = k;
    else
        kr_keep_free(k);
    return st;
}

const kr_evictor kr_evictor_refreekv = {
    .name = "refreekv",
    .what = "sinks and the shortest recent run that carries the attention",
    .paper = "Ni et al. 2025, arXiv 2502.16886",
    .params = params,
    .n_params = N,
    .threshold = true,
    .scope = KR_SCOPE_LAYER,
    .window = one,
    .lead = lead,
    .tail = one,
    .raw = true,
    .score = score,
    .select = choose,
};
