/* criticalkv.c - CriticalKV (Feng et al. 2025, Identify critical KV cache in LLM inference from an
 * output perturbation perspective): half of a head's budget by attention, the other half by
 * attention times how far a value reaches behind the output projection. CriticalAdaKV lets AdaKV
 * set the budgets of the heads. */
#include "evict/parts.h"

#include <stdlib.h>

enum { EPSILON = KR_SNAP_PARAMS, STAGE, ALPHA, N_ADA, N_UNIFORM = ALPHA };

#define COMMON_PARAMS                                                                              \
    KR_SNAP_PARAM_LIST,                                                                            \
        {"epsilon", KR_PARAM_DECIMAL, NULL, {0, 0}, {1, 0}, {1, 4}, "added to the attention scores"}, \
        {"first_stage", KR_PARAM_DECIMAL, NULL, {0, 0}, {1, 0}, {5, 1},                            \
         "share of a budget that goes by attention alone"}

static const kr_param params[] = {
    COMMON_PARAMS,
    {"alpha", KR_PARAM_DECIMAL, NULL, {0, 0}, {1, 0}, {2, 1},
     "share of a uniform budget that every head is sure of; 0 is unstable"},
};
static const kr_param uniform_params[] = {COMMON_PARAMS};

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err) {
    kr_status st = kr_snap_score(in, p, s, err);
    if (st != KR_OK)
        return st;
    const float *norm = kr_shared_norms(in, err);
    if (norm == NULL)
        return err != NULL ? err->code : KR_ENOMEM;
    double eps = kr_param_real(p, EPSILON);
    for (size_t i = 0; i < s->layers * s->heads; i++)
        for (size_t j = i * s->n; j < (i + 1) * s->n - s->tail; j++)
            s->rank[j] = (float)(((double)s->first[j] + eps) * (double)norm[j]);
    return KR_OK;
}

/* Entries forced by attention beyond the window, of a head's budget: its first stage counts the
 * window first, and is never nothing. */
static size_t first_stage(const kr_scores *s, const kr_params *p, size_t budget) {
    size_t f = kr_floor_times(p->v[STAGE], budget);
    if (f == 0 && budget >= 2)
        f = 1;
    return f > s->tail ? f - s->tail : 0;
}

static kr_status with_budgets(const kr_scores *s, const kr_params *p, const size_t *budget,
                              kr_keep **out, kr_error *err) {
    size_t all = s->layers * s->heads;
    size_t *forced = kr_part_budgets(all, 0, err);
    if (forced == NULL)
        return KR_ENOMEM;
    for (size_t i = 0; i < all; i++)
        forced[i] = first_stage(s, p, budget[i]);
    kr_selection sel = {.scope = KR_SCOPE_HEAD, .budget = budget, .forced = forced};
    kr_status st = kr_select(s, &sel, out, err);
    free(forced);
    return st;
}

static kr_status choose(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                        kr_error *err) {
    size_t b = kr_part_budget(s->n, level, (kr_rounding)kr_param_int(p, KR_SNAP_ROUND));
    size_t *budget = kr_part_budgets(s->layers * s->heads, b, err);
    if (budget == NULL)
        return KR_ENOMEM;
    kr_status st = with_budgets(s, p, budget, out, err);
    free(budget);
    return st;
}

/* AdaKV ranks by attention, so its allocation sees `first` as the only scores. */
static kr_status choose_ada(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                            kr_error *err) {
    kr_scores plain = *s;
    plain.rank = s->first;
    plain.order = s->first_order;
    plain.first = NULL;
    plain.first_order = NULL;
    size_t all = s->layers * s->heads;
    size_t b = kr_part_budget(s->n, level, (kr_rounding)kr_param_int(p, KR_SNAP_ROUND));
    kr_keep *won = NULL;
    kr_status st = kr_part_adakv(&plain, b, kr_floor_times(p->v[ALPHA], b), &won, err);
    if (st != KR_OK)
        return st;
    if (won->flags & KR_WINDOW_TRUNC) {
        *out = won;
        return KR_OK;
    }
    size_t *budget = kr_part_budgets(all, 0, err);
    for (size_t i = 0; budget != NULL && i < all; i++)
        budget[i] = won->head[i].n;
    st = budget != NULL ? with_budgets(s, p, budget, out, err) : KR_ENOMEM;
    kr_keep_free(won);
    free(budget);
    return st;
}

const kr_evictor kr_evictor_criticalkv = {
    .name = "criticalkv",
    .what = "half by attention, half by attention times the reach of the value",
    .paper = "Feng et al. 2025, arXiv 2502.03805",
    .params = uniform_params,
    .n_params = N_UNIFORM,
    .scope = KR_SCOPE_HEAD,
    .window = kr_snap_window,
    .tail = kr_snap_window,
    .forced = true,
    .score = score,
    .select = choose,
};

const kr_evictor kr_evictor_criticaladakv = {
    .name = "criticaladakv",
    .what = "CriticalKV with AdaKV's budgets for the heads",
    .paper = "Feng et al. 2025, arXiv 2502.03805",
    .params = params,
    .n_params = N_ADA,
    .scope = KR_SCOPE_LAYER,
    .window = kr_snap_window,
    .tail = kr_snap_window,
    .forced = true,
    .score = score,
    .select = choose_ada,
};
