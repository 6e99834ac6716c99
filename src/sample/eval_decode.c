/* eval_decode.c - all arms in lock-step: the rest of the prompt, then the answers. */
#include "sample/eval_impl.h"

#include <stdlib.h>
#include <string.h>

static kr_status open_lanes(kr_eval_work *w, kr_error *err) {
    size_t room = w->rest + w->max_tokens, heads = w->res->layers * w->res->heads;
    kr_kv_keep *all = calloc(heads, sizeof *all);
    if (all == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu heads", heads);
    kr_status st = kr_kv_share(w->full, all, room, &w->lane[0], err);
    for (size_t i = 0; i < w->e->opt.n_arms && st == KR_OK; i++)
        st = kr_kv_share(w->full, w->keep[i]->head, room, &w->lane[i + 1], err);
    free(all);
    return st;
}

/* Lanes that are still going, from `from` on; at most the rows of a step. */
static size_t pick(const kr_eval_work *w, size_t *from, size_t *lane) {
    size_t n = 0;
    for (; *from <= w->e->opt.n_arms && n < w->e->rows; ++*from)
        if (!w->done[*from])
            lane[n++] = *from;
    return n;
}

static void finish(kr_eval_work *w, size_t lane) {
    kr_arm_result *a = kr_eval_lane(w, lane);
    double heads = (double)(w->res->layers * w->res->heads);
    double fed = heads * (double)w->lane[lane]->head[0].len, all = heads * (double)w->n + fed;
    a->rho_end = all > 0 ? ((double)a->kept + fed) / all : 1;
    w->done[lane] = true;
}

static void part(kr_eval_work *w, kr_arm_result *a, size_t at, int32_t token, const float *logits) {
    int32_t own = w->res->full.token[at];
    a->parted = true;
    a->parted_at = at;
    a->full_margin = w->full_logits[own] - w->full_logits[token];
    a->margin = logits[own] - logits[token];
}

/* Takes the logits of a lane: its next token, whether it ends there, whether it leaves full KV's
 * answer. Lane 0 comes first in every step. */
static void take(kr_eval_work *w, size_t lane, const float *logits) {
    const kr_model *m = w->e->m;
    kr_arm_result *a = kr_eval_lane(w, lane), *full = &w->res->full;
    int32_t token = kr_run_argmax(logits, m->geo.vocab);
    size_t at = a->n_tokens;
    a->token[a->n_tokens++] = token;
    if (lane == 0)
        memcpy(w->full_logits, logits, m->geo.vocab * sizeof *logits);
    else if (!a->parted && at < full->n_tokens && token != full->token[at])
        part(w, a, at, token, logits);
    w->next[lane] = token;
    if (m->tok != NULL && !w->e->opt.ignore_stops && kr_tok_stops(m->tok, token)) {
        a->stop = KR_END_TOKEN;
        finish(w, lane);
    } else if (a->n_tokens == w->max_tokens) {
        a->stop = KR_END_LENGTH;
        finish(w, lane);
    }
}

typedef struct {
    bool logits;  /* this step gives tokens */
    bool measure; /* and is the first after eviction that does */
} step_kind;

static kr_status step_rows(kr_eval_work *w, const size_t *lane, size_t n, step_kind kind,
                           kr_error *err) {
    const kr_geometry *g = &w->e->m->geo;
    size_t wide = g->layers * g->heads * g->head_dim;
    kr_kv *kv[KR_EVAL_ROWS];
    int32_t token[KR_EVAL_ROWS];
    for (size_t i = 0; i < n; i++) {
        kv[i] = w->lane[lane[i]];
        token[i] = w->next[lane[i]];
    }
    kr_step_tap tap = {.query = w->query, .attention = w->attention};
    kr_status st = kr_run_step(w->e->run, n, kv, token, kind.logits ? w->logits : NULL,
                               kind.measure ? &tap : NULL, err);
    for (size_t i = 0; i < n && st == KR_OK; i++) {
        if (kind.measure && lane[i] == 0)
            kr_eval_measure_full(w, w->query + i * wide, w->attention + i * wide);
        if (kind.measure)
            kr_eval_measure_arm(w, lane[i], w->attention + i * wide);
        if (kind.logits)
            take(w, lane[i], w->logits + i * g->vocab);
    }
    return st;
}

/* One token for every lane that is going. *any: there was one. */
static kr_status step_all(kr_eval_work *w, step_kind kind, bool *any, kr_error *err) {
    size_t lane[KR_EVAL_ROWS], from = 0, n;
    kr_status st = KR_OK;
    *any = false;
    while (st == KR_OK && (n = pick(w, &from, lane)) > 0) {
        *any = true;
        st = step_rows(w, lane, n, kind, err);
    }
    w->res->steps += *any;
    return st;
}

static kr_status feed_rest(kr_eval_work *w, kr_error *err) {
    bool any;
    for (size_t t = 0; t < w->rest; t++) {
        for (size_t i = 0; i <= w->e->opt.n_arms; i++)
            w->next[i] = w->res->prompt[w->n + t];
        bool last = t + 1 == w->rest;
        if (!kr_eval_tick(w->e, KR_PHASE_DECODE, t, w->rest + w->max_tokens - 1))
            return kr_fail(err, KR_ECANCELED, "canceled");
        kr_status st = step_all(w, (step_kind){last, last}, &any, err);
        if (st != KR_OK)
            return st;
    }
    return KR_OK;
}

kr_status kr_eval_decode(kr_eval_work *w, kr_error *err) {
    kr_status st = open_lanes(w, err);
    if (st != KR_OK)
        return st;
    size_t lanes = w->e->opt.n_arms + 1, room = w->rest + w->max_tokens;
    w->res->bytes_tails = lanes * w->res->layers * w->res->heads * room *
                          (2 * w->full->dim * sizeof(float) + sizeof(int32_t));
    if (w->rest == 0)
        for (size_t i = 0; i < lanes; i++)
            take(w, i, w->first);
    else
        st = feed_rest(w, err);
    bool any = true;
    for (size_t t = 1; st == KR_OK && any; t++) {
        bool measure = w->rest == 0 && t == 1;
        if (!kr_eval_tick(w->e, KR_PHASE_DECODE, w->rest + t - 1, w->rest + w->max_tokens - 1))
            return kr_fail(err, KR_ECANCELED, "canceled");
        st = step_all(w, (step_kind){true, measure}, &any, err);
    }
    return st;
}
