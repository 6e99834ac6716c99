/* pyramidkv.c - PyramidKV (Cai et al. 2024): SnapKV's scores, budgets that shrink from the first
 * layer to the last. */
#include "evict/parts.h"

#include <stdlib.h>

enum { BETA = KR_SNAP_PARAMS, N };

static const kr_param params[] = {
    KR_SNAP_PARAM_LIST,
    KR_INT_PARAM("beta", 1, 1000, 20, "the last layer's share is the mean's divided by this"),
};

/* A number of tokens as a share of n that rounds back to it. */
static kr_dec share(kr_evict_level level, size_t n) {
    if (level.kind != KR_EVICT_TOKENS)
        return level.value;
    return kr_dec_from_double((double)level.value.digits / (double)n, 12);
}

static kr_status choose(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                        kr_error *err) {
    size_t all = s->layers * s->heads, w = s->tail;
    size_t *budget = kr_part_budgets(all, 0, err);
    if (budget == NULL)
        return KR_ENOMEM;
    bool uniform = false;
    for (size_t i = 0; i < all; i++)
        budget[i] = kr_budget_pyramid(s->n, w, i / s->heads, s->layers,
                                      (size_t)kr_param_int(p, BETA), share(level, s->n), &uniform);
    kr_selection sel = {.scope = KR_SCOPE_HEAD, .budget = budget,
                        .flags = uniform ? KR_FALLBACK_UNIFORM : 0};
    kr_status st = kr_select(s, &sel, out, err);
    free(budget);
    return st;
}

const kr_evictor kr_evictor_pyramidkv = {
    .name = "pyramidkv",
    .what = "SnapKV's scores, more for the lower layers",
    .paper = "Cai et al. 2024, arXiv 2406.02069",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .window = kr_snap_window,
    .tail = kr_snap_window,
    .score = kr_snap_score,
    .select = choose,
};
