/* h2o.c - heavy hitters (Zhang et al. 2023, H2O): attention that an entry received from all tokens.
 *   a  mean over the tokens that could see it, nothing protected ("observed attention")
 *   b  sum over all tokens, the newest eight kept */
#include "evict/parts.h"

enum { VARIANT, RECENT, ROUND, N };

static const char *const variants[] = {"a", "b", NULL};

static const kr_param params[] = {
    KR_CHOICE_PARAM("variant", variants, 2, 1, "a: mean over observers, b: sum"),
    KR_INT_PARAM("recent", 0, 4096, 8, "newest tokens that are kept (variant b)"),
    KR_ROUND_PARAM(0),
};

static size_t tail(const kr_params *p) {
    return kr_param_int(p, VARIANT) == 0 ? 0 : (size_t)kr_param_int(p, RECENT);
}

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err) {
    const kr_kv *kv = in->kv;
    const kr_taps *t = in->taps;
    size_t n = s->n, group = t->heads / kv->heads;
    bool mean = kr_param_int(p, VARIANT) == 0;
    (void)err;
    for (size_t i = 0; i < kv->layers * kv->heads; i++) {
        float *row = s->rank + i * n;
        kr_part_reduce(t->sums + i * group * t->capacity, group, t->capacity, n, KR_REDUCE_MEAN,
                       row);
        for (size_t j = 0; mean && j < n; j++)
            row[j] /= (float)(n - j);
    }
    return KR_OK;
}

const kr_evictor kr_evictor_h2o = {
    .name = "h2o",
    .what = "attention received from all tokens, and the newest",
    .paper = "Zhang et al. 2023, arXiv 2306.14048",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .needs = KR_NEED_SUMS,
    .tail = tail,
    .score = score,
    .round = ROUND,
};
