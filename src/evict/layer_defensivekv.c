/* layer_defensivekv.c - DefensiveKV with one budget for all heads of all layers (Feng et al. 2025).
 * Forced entries compete with the largest score of their layer, as in the authors' repository. */
#include "evict/parts.h"

#include <stdlib.h>

static kr_status choose(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                        kr_error *err) {
    size_t *forced = kr_defensive_counts(s, p, level, err);
    if (forced == NULL)
        return KR_ENOMEM;
    size_t budget = kr_part_budget_of(s->n, s->layers * s->heads, level,
                                      (kr_rounding)kr_param_int(p, KR_DEF_ROUND));
    kr_selection sel = {.scope = KR_SCOPE_MODEL, .budget = &budget, .forced = forced,
                        .forced_by_top = true};
    kr_status st = kr_select(s, &sel, out, err);
    free(forced);
    return st;
}

const kr_evictor kr_evictor_layer_defensivekv = {
    .name = "layer_defensivekv",
    .what = "DefensiveKV, all layers share a budget",
    .paper = "Feng et al. 2025, arXiv 2510.13334",
    .params = kr_defensive_params,
    .n_params = KR_DEF_PARAMS,
    .scope = KR_SCOPE_MODEL,
    .window = kr_defensive_window,
    .tail = kr_defensive_window,
    .forced = true,
    .score = kr_defensive_score,
    .select = choose,
};
