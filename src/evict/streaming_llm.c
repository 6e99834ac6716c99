/* streaming_llm.c - attention sinks and the newest tokens (Xiao et al. 2023, Efficient streaming
 * language models with attention sinks), applied to a prompt. Entries keep their positions. */
#include "evict/parts.h"

enum { SINKS, ROUND, N };

static const kr_param params[] = {
    KR_INT_PARAM("sinks", 0, 4096, 4, "first tokens that are kept"),
    KR_ROUND_PARAM(0),
};

static size_t lead(const kr_params *p) {
    return (size_t)kr_param_int(p, SINKS);
}

/* The newer, the better; only the sinks are protected. */
static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err) {
    (void)in;
    (void)p;
    (void)err;
    for (size_t i = 0; i < s->layers * s->heads; i++)
        for (size_t j = 0; j < s->n; j++)
            s->rank[i * s->n + j] = (float)j;
    return KR_OK;
}

const kr_evictor kr_evictor_streaming = {
    .name = "streaming_llm",
    .what = "the first tokens and the newest ones",
    .paper = "Xiao et al. 2023, arXiv 2309.17453",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .lead = lead,
    .score = score,
    .round = ROUND,
};
