/* keydiff.c - KeyDiff (Park et al. 2025): keeps the keys least like the mean direction of their
 * head's keys. Needs no query. */
#include "evict/parts.h"

#include <math.h>
#include <stdlib.h>

enum { ROUND, N };

static const kr_param params[] = {KR_ROUND_PARAM(0)};

static double dot(const float *a, const double *b, size_t d) {
    double s = 0;
    for (size_t i = 0; i < d; i++)
        s += (double)a[i] * b[i];
    return s;
}

static double norm(const float *a, size_t d) {
    double s = 0;
    for (size_t i = 0; i < d; i++)
        s += (double)a[i] * (double)a[i];
    return sqrt(s);
}

/* s[j] = - cos(k[j], mean of the unit keys); k [n][d] */
static bool head(const float *k, size_t n, size_t d, float *s) {
    double *mean = calloc(d, sizeof *mean);
    if (mean == NULL)
        return false;
    for (size_t j = 0; j < n; j++) {
        double len = norm(k + j * d, d);
        for (size_t c = 0; c < d; c++)
            mean[c] += (double)k[j * d + c] / (len > 1e-12 || len != len ? len : 1e-12) / (double)n;
    }
    double anchor = 0;
    for (size_t c = 0; c < d; c++)
        anchor += mean[c] * mean[c];
    anchor = sqrt(anchor);
    for (size_t j = 0; j < n; j++) {
        double both = norm(k + j * d, d) * anchor;
        s[j] = (float)(-dot(k + j * d, mean, d) / (both > 1e-8 || both != both ? both : 1e-8));
    }
    free(mean);
    return true;
}

static bool each(const void *arg, size_t layer, size_t h) {
    const void *const *a = arg;
    const kr_kv *kv = a[0];
    const kr_scores *s = a[1];
    return head(kr_kv_keys(kv, kr_kv_at(kv, layer, h)), s->n, kv->dim,
                kr_scores_rank(s, layer, h));
}

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores **out,
                       kr_error *err) {
    const kr_kv *kv = in->kv;
    kr_scores *s;
    (void)p;
    kr_status st = kr_scores_new(kv->layers, kv->heads, kr_evict_n(in), 0, 0, false, 0, &s, err);
    if (st != KR_OK)
        return st;
    const void *arg[] = {kv, s};
    st = kr_part_heads(in, each, arg, err);
    if (st == KR_OK)
        st = kr_scores_sort(s, err);
    if (st == KR_OK)
        *out = s;
    else
        kr_scores_free(s);
    return st;
}

static kr_status choose(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                        kr_error *err) {
    kr_rounding how = (kr_rounding)kr_param_int(p, ROUND);
    return kr_part_uniform(s, kr_part_budget(s->n, level, how), out, err);
}

const kr_evictor kr_evictor_keydiff = {
    .name = "keydiff",
    .what = "the keys least like the others of their head",
    .paper = "Park et al. 2025, arXiv 2504.15364",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .score = score,
    .select = choose,
};
