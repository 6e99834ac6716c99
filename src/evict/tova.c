/* tova.c - TOVA (Oren et al. 2024, Transformers are multi-state RNNs): what the newest token attends
 * to, on average over all heads of a layer, which keep the same entries. */
#include "evict/parts.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND, N };

static const kr_param params[] = {KR_ROUND_PARAM(0)};

static size_t one(const kr_params *p) {
    (void)p;
    return 1;
}

/* Mean over all query heads of the newest query's attention, in double. */
static bool layer_mean(const kr_evict_input *in, size_t layer, float *a, double *mean) {
    const kr_kv *kv = in->kv;
    size_t n = kr_evict_n(in), heads = in->model->geo.heads, group = heads / kv->heads;
    memset(mean, 0, n * sizeof *mean);
    for (size_t q = 0; q < heads; q++) {
        kr_part_attention(kr_part_queries(in->taps, layer, q, 1),
                          kr_kv_keys(kv, kr_kv_at(kv, layer, q / group)), 1, n, kv->dim, a);
        for (size_t j = 0; j < n; j++)
            mean[j] += (double)a[j] / (double)heads;
    }
    return true;
}

static kr_status fill(const kr_evict_input *in, kr_scores *s, kr_error *err) {
    float *a = malloc(s->n * sizeof *a);
    double *mean = malloc(s->n * sizeof *mean);
    bool ok = a != NULL && mean != NULL;
    for (size_t l = 0; ok && l < s->layers; l++) {
        layer_mean(in, l, a, mean);
        for (size_t h = 0; h < s->heads; h++)
            for (size_t j = 0; j < s->n; j++)
                kr_scores_rank(s, l, h)[j] = (float)mean[j];
    }
    free(a);
    free(mean);
    return ok ? kr_scores_sort(s, err)
              : kr_fail(err, KR_ENOMEM, "out of memory for the attention of %zu tokens", s->n);
}

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores **out,
                       kr_error *err) {
    kr_scores *s;
    (void)p;
    kr_status st = kr_scores_new(in->kv->layers, in->kv->heads, kr_evict_n(in), 0, 1, false, 0, &s,
                                 err);
    if (st != KR_OK)
        return st;
    st = fill(in, s, err);
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

const kr_evictor kr_evictor_tova = {
    .name = "tova",
    .what = "what the newest token attends to",
    .paper = "Oren et al. 2024, arXiv 2401.06104",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .window = one,
    .protects = one,
    .score = score,
    .select = choose,
};
