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

static bool each(const kr_evict_input *in, kr_scores *s, size_t layer, size_t h, const void *arg) {
    (void)arg;
    return head(kr_kv_keys(in->kv, kr_kv_at(in->kv, layer, h)), s->n, in->kv->dim,
                kr_scores_rank(s, layer, h));
}

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err) {
    (void)p;
    return kr_part_heads(in, s, each, NULL, err);
}

const kr_evictor kr_evictor_keydiff = {
    .name = "keydiff",
    .what = "the keys least like the others of their head",
    .paper = "Park et al. 2025, arXiv 2504.15364",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .score = score,
    .round = ROUND,
};
