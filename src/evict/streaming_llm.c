/* streaming_llm.c - attention sinks and the newest tokens (Xiao et al. 2023, Efficient streaming
 * language models with attention sinks), applied to a prompt. Entries keep their positions. */
#include "evict/parts.h"

enum { SINKS, ROUND, N };

static const kr_param params[] = {
    KR_INT_PARAM("sinks", 0, 4096, 4, "first tokens that are kept"),
    KR_ROUND_PARAM(0),
};

static size_t protects(const kr_params *p) {
    return (size_t)kr_param_int(p, SINKS);
}

/* The newer, the better; only the sinks are protected. */
static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores **out,
                       kr_error *err) {
    const kr_kv *kv = in->kv;
    kr_scores *s;
    kr_status st = kr_scores_new(kv->layers, kv->heads, kr_evict_n(in), protects(p), 0, false, 0,
                                 &s, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < kv->layers * kv->heads; i++)
        for (size_t j = 0; j < s->n; j++)
            s->rank[i * s->n + j] = (float)j;
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

const kr_evictor kr_evictor_streaming = {
    .name = "streaming_llm",
    .what = "the first tokens and the newest ones",
    .paper = "Xiao et al. 2023, arXiv 2309.17453",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .protects = protects,
    .score = score,
    .select = choose,
};
