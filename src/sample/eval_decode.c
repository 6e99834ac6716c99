/* eval_decode.c - all arms in lock-step: the rest of the prompt, then the answers. */
#include "sample/eval_impl.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that a lane takes while it is decoded: its new entries and its rows of the step's buffers. */
static size_t lane_bytes(const kr_eval_work *w) {
    const kr_geometry *g = &w->e->m->geo;
    size_t tail = g->layers * g->kv_heads * (w->rest + w->max_tokens) *
                  (2 * g->head_dim * sizeof(float) + sizeof(int32_t));
    return tail + (g->vocab + 2 * g->layers * g->heads * g->head_dim) * sizeof(float);
}

/* Arms that are decoded together. More of them read the weights less often, but each holds its own
 * new entries; together with the lists these are to stay below one compressed cache. */
static size_t arms_at_once(const kr_eval_work *w) {
    enum { AT_LEAST = 8 };
    size_t budget = KR_EVAL_LANE_BYTES, arms = w->e->opt.n_arms;
    for (size_t i = 0; i < arms; i++)
        if (w->res->arm[i].bytes > budget)
            budget = w->res->arm[i].bytes;
    budget -= w->res->bytes_lists < budget ? w->res->bytes_lists : budget;
    budget = w->e->opt.lane_bytes > 0 ? w->e->opt.lane_bytes : budget;
    size_t n = budget / lane_bytes(w);
    n = n < AT_LEAST ? AT_LEAST : n;
    n = n < arms ? n : arms;
    size_t groups = n > 0 ? (arms + n - 1) / n : 1; /* of even sizes */
    return (arms + groups - 1) / groups;
}

/* Lane 0 and the arms of the group. */
static kr_status open_lanes(kr_eval_work *w, kr_error *err) {
    size_t room = w->rest + w->max_tokens, heads = w->res->layers * w->res->heads;
    kr_kv_keep *all = calloc(heads, sizeof *all);
    if (all == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu heads", heads);
    kr_status st = kr_kv_share(w->full, all, room, &w->lane[0], err);
    for (size_t i = w->from; i < w->to && st == KR_OK; i++)
        st = kr_kv_share(w->full, w->keep[i]->head, room, &w->lane[i + 1], err);
    free(all);
    w->done[0] = false;
    w->res->full.n_tokens = 0; /* it runs along with every group, to the same end */
    return st;
}

static void close_lane(kr_eval_work *w, size_t lane) {
    kr_kv_free(w->lane[lane]);
    w->lane[lane] = NULL;
}

/* Lane `i` of the group. */
static size_t nth(const kr_eval_work *w, size_t i) {
    return i == 0 ? 0 : w->from + i;
}

static size_t lanes(const kr_eval_work *w) {
    return w->to - w->from + 1;
}

/* Lanes that are still going, from `at` on; at most the rows of a step. */
static size_t pick(const kr_eval_work *w, size_t *at, size_t *lane) {
    size_t n = 0;
    for (; *at < lanes(w) && n < w->e->rows; ++*at)
        if (!w->done[nth(w, *at)])
            lane[n++] = nth(w, *at);
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

static bool tick(kr_eval_work *w, size_t t) {
    size_t steps = w->rest + w->max_tokens - 1, each = lanes(w) - 1;
    size_t groups = each > 0 ? (w->e->opt.n_arms + each - 1) / each : 1;
    return kr_eval_tick(w->e, KR_PHASE_DECODE, (each > 0 ? w->from / each : 0) * steps + t,
                        groups * steps);
}

static kr_status feed_rest(kr_eval_work *w, kr_error *err) {
    bool any;
    for (size_t t = 0; t < w->rest; t++) {
        for (size_t i = 0; i < lanes(w); i++)
            w->next[nth(w, i)] = w->res->prompt[w->n + t];
        bool last = t + 1 == w->rest;
        if (!tick(w, t))
            return kr_fail(err, KR_ECANCELED, "canceled");
        kr_status st = step_all(w, (step_kind){last, last}, &any, err);
        if (st != KR_OK)
            return st;
    }
    return KR_OK;
}

static kr_status decode_group(kr_eval_work *w, kr_error *err) {
    kr_status st = open_lanes(w, err);
    if (st == KR_OK && w->rest > 0)
        st = feed_rest(w, err);
    for (size_t i = 0; st == KR_OK && w->rest == 0 && i < lanes(w); i++)
        take(w, nth(w, i), w->first);
    bool any = true;
    for (size_t t = 1; st == KR_OK && any; t++) {
        bool measure = w->rest == 0 && t == 1;
        if (!tick(w, w->rest + t - 1))
            return kr_fail(err, KR_ECANCELED, "canceled");
        st = step_all(w, (step_kind){true, measure}, &any, err);
    }
    for (size_t i = 0; i < lanes(w); i++)
        close_lane(w, nth(w, i));
    return st;
}

kr_status kr_eval_decode(kr_eval_work *w, kr_error *err) {
    size_t arms = w->e->opt.n_arms, at_once = arms_at_once(w);
    w->res->bytes_lanes = (at_once + 1) * lane_bytes(w);
    kr_status st = KR_OK;
    do {
        w->to = w->from + at_once < arms ? w->from + at_once : arms;
        st = decode_group(w, err);
        w->from = w->to;
    } while (st == KR_OK && w->from < arms);
    return st;
}
