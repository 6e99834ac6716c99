/* knorm.c - small keys attract attention (Devoto et al. 2024, A simple and effective L2 norm-based
 * strategy for KV cache compression): keeps the keys of smallest norm. Needs no query. */
#include "evict/parts.h"

#include <math.h>

enum { ROUND, N };

static const kr_param params[] = {KR_ROUND_PARAM(0)};

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores **out,
                       kr_error *err) {
    const kr_kv *kv = in->kv;
    kr_scores *s;
    (void)p;
    kr_status st = kr_scores_new(kv->layers, kv->heads, kr_evict_n(in), 0, 0, false, 0, &s, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < kv->layers * kv->heads; i++) {
        const float *k = kr_kv_keys(kv, &kv->head[i]);
        for (size_t j = 0; j < s->n; j++) {
            double sum = 0;
            for (size_t c = 0; c < kv->dim; c++)
                sum += (double)k[j * kv->dim + c] * (double)k[j * kv->dim + c];
            s->rank[i * s->n + j] = (float)-sqrt(sum);
        }
    }
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

const kr_evictor kr_evictor_knorm = {
    .name = "knorm",
    .what = "the keys of smallest norm",
    .paper = "Devoto et al. 2024, arXiv 2406.11430",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .score = score,
    .select = choose,
};
