/* adakv.c - AdaKV (Feng et al. 2024): the heads of a layer share a budget, with a safeguard for
 * each head. Three published safeguards:
 *   a  every head keeps its best alpha x floor(n r), the window counted first; H floor(n r) in all
 *   b  the same number beyond the window; floor(n r H) in all
 *   c  between a uniform and the score-driven number per head; the sum may miss by a few tokens */
#include "evict/parts.h"

#include <stdlib.h>

enum { VARIANT = KR_SNAP_PARAMS, ALPHA, NORMALIZE, N };

static const char *const variants[] = {"a", "b", "c", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};

static const kr_param params[] = {
    KR_SNAP_PARAM_LIST,
    KR_CHOICE_PARAM("variant", variants, 3, 0, "which safeguard"),
    {"alpha", KR_PARAM_DECIMAL, NULL, {0, 0}, {1, 0}, {2, 1},
     "share of a uniform budget that every head is sure of; 0 is unstable"},
    KR_CHOICE_PARAM("normalize", no_yes, 2, 0,
                    "variant c: weigh a head by the share of its best entries"),
};

/* The same number for each unit of budget and each head's forced entries. */
static kr_status shared(const kr_scores *s, size_t budget, size_t forced, kr_keep **out,
                        kr_error *err) {
    size_t *b = kr_part_budgets(s->layers, budget, err);
    size_t *f = b != NULL ? kr_part_budgets(s->layers * s->heads, forced, err) : NULL;
    kr_selection sel = {.scope = KR_SCOPE_LAYER, .budget = b, .forced = f};
    kr_status st = f != NULL ? kr_select(s, &sel, out, err) : KR_ENOMEM;
    free(b);
    free(f);
    return st;
}

kr_status kr_part_adakv(const kr_scores *s, size_t budget, size_t sure, kr_keep **out,
                        kr_error *err) {
    return shared(s, budget * s->heads, sure > s->tail ? sure - s->tail : 0, out, err);
}

/* Scores of one layer weighed by (sum of a head's best c) / (sum of all), if asked for. */
static void weigh(kr_scores *t, const kr_scores *s, size_t c) {
    size_t m = s->n - s->tail;
    for (size_t i = 0; i < s->layers * s->heads; i++) {
        double best = 0, sum = 0;
        for (size_t j = 0; j < m; j++) {
            double v = (double)s->rank[i * s->n + s->order[i * m + j]];
            sum += v;
            best += j < c ? v : 0;
        }
        for (size_t j = 0; j < m; j++)
            t->rank[i * s->n + j] = (float)((double)s->rank[i * s->n + j] *
                                            (sum > 0 ? best / sum : 0));
    }
}

/* round half to even of count (1 - alpha) + floor(c alpha) */
static size_t blend(size_t count, kr_dec alpha, size_t c) {
    kr_dec rest;
    if (!kr_dec_sub(kr_dec_make(1, 0), alpha, &rest))
        return count;
    return kr_budget(count, 1, rest, KR_ROUND_EVEN) + kr_floor_times(alpha, c);
}

/* Per-head budgets of variant c: its share of the best c H entries of the layer, blended. */
static kr_status blended(const kr_scores *s, const kr_params *p, size_t budget, kr_keep **out,
                         kr_error *err) {
    size_t all = s->layers * s->heads, w = s->tail, c = budget > w ? budget - w : 0;
    if (c == 0) /* at or below the window: nothing to share out */
        return kr_part_uniform(s, budget, out, err);
    kr_keep *won = NULL;
    kr_scores *t = NULL;
    size_t *b = kr_part_budgets(all, 0, err);
    kr_status st = b == NULL ? KR_ENOMEM : KR_OK;
    if (st == KR_OK && kr_param_int(p, NORMALIZE)) {
        st = kr_scores_new(s->layers, s->heads, s->n, 0, w, false, 0, &t, err);
        if (st == KR_OK) {
            weigh(t, s, c);
            st = kr_scores_sort(t, err);
        }
    }
    if (st == KR_OK)
        st = shared(t != NULL ? t : s, budget * s->heads, 0, &won, err);
    for (size_t i = 0; i < all && st == KR_OK; i++)
        b[i] = w + blend(won->head[i].n - w, p->v[ALPHA], c);
    kr_selection sel = {.scope = KR_SCOPE_HEAD, .budget = b};
    if (st == KR_OK)
        st = kr_select(s, &sel, out, err);
    kr_keep_free(won);
    kr_scores_free(t);
    free(b);
    return st;
}

static kr_status choose(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                        kr_error *err) {
    kr_rounding how = (kr_rounding)kr_param_int(p, KR_SNAP_ROUND);
    size_t per_head = kr_part_budget(s->n, level, how);
    if (kr_param_int(p, VARIANT) == 2)
        return blended(s, p, per_head, out, err);
    if (kr_param_int(p, VARIANT) == 0)
        return kr_part_adakv(s, per_head, kr_floor_times(p->v[ALPHA], per_head), out, err);
    /* What is forced beyond the window must fit into the budget with it. */
    size_t total = kr_part_budget_of(s->n, s->heads, level, how), room = total / s->heads;
    size_t forced = kr_floor_times(p->v[ALPHA], per_head);
    room = room > s->tail ? room - s->tail : 0;
    return shared(s, total, forced < room ? forced : room, out, err);
}

const kr_evictor kr_evictor_adakv = {
    .name = "adakv",
    .what = "SnapKV's scores, the heads of a layer share a budget",
    .paper = "Feng et al. 2024, arXiv 2407.11550",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_LAYER,
    .window = kr_snap_window,
    .tail = kr_snap_window,
    .score = kr_snap_score,
    .select = choose,
};
