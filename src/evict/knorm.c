/* knorm.c - small keys attract attention (Devoto et al. 2024, A simple and effective L2 norm-based
 * strategy for KV cache compression): keeps the keys of smallest norm. Needs no query. */
#include "evict/parts.h"

#include <math.h>

enum { ROUND, N };

static const kr_param params[] = {KR_ROUND_PARAM(0)};

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err) {
    const kr_kv *kv = in->kv;
    (void)p;
    (void)err;
    for (size_t i = 0; i < kv->layers * kv->heads; i++) {
        const float *k = kr_kv_keys(kv, &kv->head[i]);
        for (size_t j = 0; j < s->n; j++) {
            double sum = 0;
            for (size_t c = 0; c < kv->dim; c++)
                sum += (double)k[j * kv->dim + c] * (double)k[j * kv->dim + c];
            s->rank[i * s->n + j] = (float)-sqrt(sum);
        }
    }
    return KR_OK;
}

const kr_evictor kr_evictor_knorm = {
    .name = "knorm",
    .what = "the keys of smallest norm",
    .paper = "Devoto et al. 2024, arXiv 2406.11430",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .score = score,
    .round = ROUND,
};
