/* eval_select.c - which entries each arm keeps: one scoring pass per policy, whatever its levels. */
#include "sample/eval_impl.h"

#include <stdlib.h>
#include <string.h>

static bool same_scores(const kr_evict_spec *a, const kr_evict_spec *b) {
    if (a->policy != b->policy)
        return false;
    for (size_t i = 0; i < a->policy->n_params; i++)
        if (kr_dec_cmp(a->params.v[i], b->params.v[i]) != 0)
            return false;
    return true;
}

static void describe(kr_eval_work *w, size_t arm) {
    const kr_keep *k = w->keep[arm];
    kr_arm_result *a = &w->res->arm[arm];
    size_t heads = k->layers * k->heads;
    a->flags = k->flags;
    a->kept = k->total;
    a->rho_ctx = w->n > 0 ? (double)k->total / ((double)heads * (double)w->n) : 1;
    a->bytes = k->total * (2 * w->full->dim * sizeof(float) + sizeof(int32_t));
    for (size_t i = 0; i < heads; i++)
        a->head_kept[i] = k->head[i].n;
    for (size_t i = 0; a->position != NULL && i < heads; i++)
        for (size_t j = 0; j < k->head[i].n; j++)
            a->position[k->head[i].rows == NULL ? j : k->head[i].rows[j]]++;
    if (k->rows != NULL)
        w->res->bytes_lists += k->total * sizeof(uint32_t);
}

static void describe_full(kr_eval_work *w) {
    kr_arm_result *a = &w->res->full;
    size_t heads = w->res->layers * w->res->heads;
    a->kept = heads * w->n;
    a->rho_ctx = 1;
    a->bytes = w->res->bytes_cache;
    for (size_t i = 0; i < heads; i++)
        a->head_kept[i] = w->n;
    for (size_t j = 0; a->position != NULL && j < w->n; j++)
        a->position[j] = (uint32_t)heads;
}

/* All arms whose scores are those of `arm` and that are not selected yet. */
static kr_status select_like(kr_eval_work *w, size_t arm, const kr_evict_input *in, kr_error *err) {
    const kr_evict_spec *spec = w->e->arm;
    kr_scores *s = NULL;
    kr_status st = kr_evict_score(&spec[arm], in, &s, err);
    for (size_t i = arm; i < w->e->opt.n_arms && st == KR_OK; i++)
        if (w->keep[i] == NULL && same_scores(&spec[arm], &spec[i])) {
            st = kr_evict_select(&spec[i], in, s, &w->keep[i], err);
            if (st == KR_OK)
                describe(w, i);
        }
    kr_scores_free(s);
    return st;
}

kr_status kr_eval_select(kr_eval_work *w, kr_error *err) {
    kr_eval *e = w->e;
    size_t arms = e->opt.n_arms;
    kr_evict_shared shared = {0};
    kr_evict_input in = {.model = e->m, .kv = w->full, .taps = w->taps, .shared = &shared,
                         .pool = kr_run_pool(e->run), .key = w->key};
    kr_status st = KR_OK;
    describe_full(w);
    for (size_t i = 0; i < arms && st == KR_OK; i++) {
        if (w->keep[i] != NULL)
            continue;
        if (!kr_eval_tick(e, KR_PHASE_SCORE, i, arms))
            st = kr_fail(err, KR_ECANCELED, "canceled");
        else if (w->n == 0) /* a prompt of one token: nothing to evict */
            st = kr_keep_all(w->res->layers, w->res->heads, 0, KR_BYPASS_SHORT, &w->keep[i], err);
        else
            st = select_like(w, i, &in, err);
        if (st == KR_OK && w->n == 0)
            describe(w, i);
    }
    kr_evict_shared_free(&shared);
    return st;
}
