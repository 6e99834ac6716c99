#include "engine/run_impl.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, MAX_BLOCK = 1 << 16, MAX_BATCH = 1 << 12, ROWS_PER_TILE = 16, LOGIT_ROWS = 32 };

static size_t pad8(size_t n) {
    return (n + 7) / 8 * 8;
}

float *kr_run_scratch(const kr_run *r, size_t thread) {
    return r->scratch + thread * r->per_thread;
}

/* ---- making and freeing ---- */

static float *zeros(size_t a, size_t b) {
    return b != 0 && a > SIZE_MAX / sizeof(float) / b ? NULL : calloc(a * b + 1, sizeof(float));
}

enum { N_BUFFERS = 12 };

/* Floats in a row of each buffer; where the buffer goes when r is not NULL. */
static void layout(const kr_geometry *g, kr_run *r, size_t cols[N_BUFFERS],
                   float **where[N_BUFFERS]) {
    size_t d = g->head_dim, q = g->heads * d, kv = g->kv_heads * d, f = pad8(g->ffn);
    const size_t all[N_BUFFERS] = {g->width, pad8(g->width), g->width, q, kv, kv,
                                   pad8(q),  f,              f,        d, g->heads, g->heads};
    memcpy(cols, all, sizeof all);
    if (r == NULL)
        return;
    float **to[N_BUFFERS] = {&r->x,   &r->h,    &r->y,  &r->q,    &r->k,    &r->v,
                             &r->att, &r->gate, &r->up, &r->turn, &r->peak, &r->mass};
    memcpy(where, to, sizeof to);
}

static size_t thread_scratch(const kr_geometry *g) {
    size_t a = kr_run_linear_scratch(g), b = kr_run_attend_scratch(g);
    return ((a > b ? a : b) + 15) / 16 * 16;
}

static bool reserve(kr_run *r) {
    const kr_geometry *g = &r->m->geo;
    size_t cols[N_BUFFERS];
    float **where[N_BUFFERS];
    layout(g, r, cols, where);
    r->ld_width = pad8(g->width);
    r->ld_att = pad8(g->heads * g->head_dim);
    r->ld_ffn = pad8(g->ffn);
    r->per_thread = thread_scratch(g);
    bool ok = true;
    for (size_t i = 0; i < N_BUFFERS; i++)
        ok = (*where[i] = zeros(r->rows, cols[i])) != NULL && ok;
    r->scratch = zeros(kr_pool_threads(r->pool), r->per_thread);
    r->row = calloc(r->rows, sizeof *r->row);
    return ok && r->scratch != NULL && r->row != NULL;
}

static size_t rows_of(const kr_run_options *opt) {
    size_t block = opt->block == 0 ? BLOCK : opt->block, batch = opt->batch == 0 ? 1 : opt->batch;
    return block > batch ? block : batch;
}

size_t kr_run_bytes(const kr_geometry *g, const kr_run_options *opt) {
    size_t cols[N_BUFFERS], sum = 0;
    layout(g, NULL, cols, NULL);
    for (size_t i = 0; i < N_BUFFERS; i++)
        sum += cols[i] * rows_of(opt);
    sum += thread_scratch(g) * (opt->threads == 0 ? kr_pool_cores() : opt->threads);
    return sum * sizeof(float);
}

kr_status kr_run_new(const kr_model *m, const kr_run_options *opt, kr_run **out, kr_error *err) {
    size_t block = opt->block == 0 ? BLOCK : opt->block, batch = opt->batch == 0 ? 1 : opt->batch;
    if (block > MAX_BLOCK || batch > MAX_BATCH)
        return kr_fail(err, KR_EINVAL, "a block of %zu tokens or a batch of %zu rows is beyond the "
                       "limits of %d and %d", block, batch, MAX_BLOCK, MAX_BATCH);
    kr_run *r = calloc(1, sizeof *r);
    if (r == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a run");
    r->m = m;
    r->kern = opt->kern != NULL ? opt->kern : kr_kern_best();
    r->block = block;
    r->batch = batch;
    r->rows = rows_of(opt);
    r->window = opt->window;
    r->progress = opt->progress;
    r->progress_arg = opt->progress_arg;
    /* More than one BLAS thread would make results depend on their number. */
    openblas_set_num_threads(1);
    kr_status st = kr_pool_new(opt->threads == 0 ? kr_pool_cores() : opt->threads, &r->pool, err);
    if (st == KR_OK && !reserve(r))
        st = kr_fail(err, KR_ENOMEM, "out of memory for %zu tokens at once", r->rows);
    if (st != KR_OK)
        kr_run_free(r);
    else
        *out = r;
    return st;
}

void kr_run_free(kr_run *r) {
    if (r == NULL)
        return;
    float *all[] = {r->x, r->h, r->y, r->q, r->k, r->v, r->att, r->gate, r->up, r->turn, r->peak,
                    r->mass, r->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(r->row);
    kr_pool_free(r->pool);
    free(r);
}

size_t kr_run_threads(const kr_run *r) {
    return kr_pool_threads(r->pool);
}

kr_pool *kr_run_pool(const kr_run *r) {
    return r->pool;
}

/* ---- row by row ---- */

/* Work on n rows in tiles of ROWS_PER_TILE. */
typedef struct {
    kr_run *r;
    size_t n, layer;
    const float *norm; /* [width] */
    bool add;          /* x += y first */
    const int32_t *tokens;
} rows_job;

static size_t row_tiles(size_t n) {
    return (n + ROWS_PER_TILE - 1) / ROWS_PER_TILE;
}

static size_t row_end(const rows_job *j, size_t tile) {
    size_t end = (tile + 1) * ROWS_PER_TILE;
    return end < j->n ? end : j->n;
}

/* Zhang and Sennrich 2019, Root mean square layer normalization. */
static void norm_tile(void *arg, size_t tile, size_t thread) {
    const rows_job *j = arg;
    size_t w = j->r->m->geo.width;
    (void)thread;
    for (size_t t = tile * ROWS_PER_TILE; t < row_end(j, tile); t++) {
        float *x = j->r->x + t * w, *h = j->r->h + t * j->r->ld_width;
        const float *y = j->r->y + t * w;
        double sum = 0;
        for (size_t i = 0; j->add && i < w; i++)
            x[i] += y[i];
        for (size_t i = 0; i < w; i++)
            sum += (double)x[i] * (double)x[i];
        float inv = (float)(1.0 / sqrt(sum / (double)w + (double)j->r->m->geo.eps));
        for (size_t i = 0; i < w; i++)
            h[i] = x[i] * inv * j->norm[i];
    }
}

static bool norm(kr_run *r, size_t n, const float *weight, bool add) {
    rows_job j = {.r = r, .n = n, .norm = weight, .add = add};
    return kr_pool_run(r->pool, row_tiles(n), norm_tile, &j);
}

static void embed_tile(void *arg, size_t tile, size_t thread) {
    const rows_job *j = arg;
    const kr_model *m = j->r->m;
    size_t d = m->geo.head_dim;
    (void)thread;
    for (size_t t = tile * ROWS_PER_TILE; t < row_end(j, tile); t++) {
        const uint8_t *row = m->embed.data + (size_t)j->tokens[t] * m->embed.row_bytes;
        j->r->kern->expand(m->embed.type, row, m->geo.width, j->r->x + t * m->geo.width);
        float *turn = j->r->turn + t * d;
        for (size_t i = 0; i < d / 2; i++) {
            double angle = (double)j->r->row[t].pos * m->rope_freq[i];
            turn[i] = (float)cos(angle);
            turn[d / 2 + i] = (float)sin(angle);
        }
    }
}

/* Su et al. 2021, RoFormer: rotates the pairs of one head by the angles of one position. */
static void rotate(const kr_geometry *g, const float *turn, float *v) {
    size_t half = g->head_dim / 2;
    size_t step = g->rope_halves ? 1 : 2, other = g->rope_halves ? half : 1;
    for (size_t i = 0; i < half; i++) {
        float *a = v + i * step, *b = a + other;
        float c = turn[i], s = turn[half + i], x = *a, y = *b;
        *a = x * c - y * s;
        *b = x * s + y * c;
    }
}

/* Rotates queries and keys and appends keys and values to the caches. */
static void cache_tile(void *arg, size_t tile, size_t thread) {
    const rows_job *j = arg;
    const kr_geometry *g = &j->r->m->geo;
    size_t d = g->head_dim;
    (void)thread;
    for (size_t t = tile * ROWS_PER_TILE; t < row_end(j, tile); t++) {
        const float *turn = j->r->turn + t * d;
        const kr_run_row *row = &j->r->row[t];
        for (size_t h = 0; h < g->heads; h++)
            rotate(g, turn, j->r->q + (t * g->heads + h) * d);
        for (size_t h = 0; h < g->kv_heads; h++) {
            kr_kv_head *head = kr_kv_at(row->kv, j->layer, h);
            size_t at = head->len + row->ahead;
            float *k = j->r->k + (t * g->kv_heads + h) * d;
            rotate(g, turn, k);
            memcpy(kr_kv_keys(row->kv, head) + at * d, k, d * sizeof *k);
            memcpy(kr_kv_values(row->kv, head) + at * d, j->r->v + (t * g->kv_heads + h) * d,
                   d * sizeof *k);
            kr_kv_positions(row->kv, head)[at] = row->pos;
        }
    }
}

/* ---- taps ---- */

kr_status kr_taps_new(const kr_geometry *g, size_t window, size_t capacity, bool moments,
                      size_t sinks, kr_taps **out, kr_error *err) {
    kr_taps *t = calloc(1, sizeof *t);
    if (t == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for taps");
    size_t all = g->layers * g->heads, d = g->head_dim;
    *t = (kr_taps){.layers = g->layers, .heads = g->heads, .dim = d, .window = window,
                   .capacity = capacity, .sinks = sinks};
    bool ok = true;
    if (window > 0)
        ok = (t->last = window > SIZE_MAX / d ? NULL : zeros(all, window * d)) != NULL;
    if (ok && capacity > 0)
        ok = (t->sums = zeros(all, capacity)) != NULL;
    if (ok && moments)
        ok = (t->mean = zeros(all, d)) != NULL && (t->outer = zeros(all, d * d)) != NULL;
    if (!ok) {
        kr_taps_free(t);
        return kr_fail(err, KR_ENOMEM, "out of memory for taps on %zu heads", all);
    }
    *out = t;
    return KR_OK;
}

void kr_taps_clear(kr_taps *t) {
    size_t all = t->layers * t->heads, d = t->dim;
    t->n_last = t->n_moments = 0;
    if (t->last != NULL)
        memset(t->last, 0, all * t->window * d * sizeof(float));
    if (t->sums != NULL)
        memset(t->sums, 0, all * t->capacity * sizeof(float));
    if (t->mean != NULL) {
        memset(t->mean, 0, all * d * sizeof(float));
        memset(t->outer, 0, all * d * d * sizeof(float));
    }
}

void kr_taps_free(kr_taps *t) {
    if (t == NULL)
        return;
    free(t->last);
    free(t->sums);
    free(t->mean);
    free(t->outer);
    free(t);
}

typedef struct {
    kr_run *r;
    kr_taps *taps;
    size_t layer, n, skip; /* skip: rows at positions before the sinks' end */
} tap_job;

/* One head: sum and sum of outer products of the queries of this block. */
static void moments_tile(void *arg, size_t head, size_t thread) {
    const tap_job *j = arg;
    size_t d = j->taps->dim, ld = j->taps->heads * d, at = j->layer * j->taps->heads + head;
    const float *q = j->r->q + j->skip * ld + head * d;
    float *mean = j->taps->mean + at * d, *outer = j->taps->outer + at * d * d;
    (void)thread;
    for (size_t t = 0; t < j->n - j->skip; t++)
        for (size_t i = 0; i < d; i++)
            mean[i] += q[t * ld + i];
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)d, (int)d, (int)(j->n - j->skip),
                1.0f, q, (int)ld, q, (int)ld, 1.0f, outer, (int)d);
}

static bool tap_moments(kr_run *r, kr_taps *taps, size_t layer, size_t n) {
    if (taps == NULL || taps->mean == NULL)
        return true;
    tap_job j = {r, taps, layer, n, 0};
    while (j.skip < n && (size_t)r->row[j.skip].pos < taps->sinks)
        j.skip++;
    return j.skip == n || kr_pool_run(r->pool, taps->heads, moments_tile, &j);
}

/* Keeps the newest `window` queries of each head, oldest first. */
static void tap_queries(kr_run *r, kr_taps *taps, size_t layer, size_t n) {
    if (taps == NULL || taps->last == NULL)
        return;
    size_t d = taps->dim, w = taps->window, fresh = n < w ? n : w;
    size_t old = taps->n_last + fresh > w ? w - fresh : taps->n_last;
    for (size_t h = 0; h < taps->heads; h++) {
        float *last = taps->last + (layer * taps->heads + h) * w * d;
        memmove(last, last + (taps->n_last - old) * d, old * d * sizeof *last);
        for (size_t t = 0; t < fresh; t++)
            memcpy(last + (old + t) * d, r->q + ((n - fresh + t) * taps->heads + h) * d,
                   d * sizeof *last);
    }
}

/* Counts of a block, once all layers have seen it. */
static void tap_count(const kr_run *r, kr_taps *taps, size_t n) {
    if (taps == NULL)
        return;
    taps->n_last = taps->n_last + n > taps->window ? taps->window : taps->n_last + n;
    for (size_t t = 0; taps->mean != NULL && t < n; t++)
        taps->n_moments += (size_t)r->row[t].pos >= taps->sinks;
}

static void tap_step(const kr_run *r, const kr_step_tap *tap, size_t layer, size_t n) {
    const kr_geometry *g = &r->m->geo;
    size_t w = g->heads * g->head_dim;
    for (size_t t = 0; tap != NULL && t < n; t++) {
        size_t at = (t * g->layers + layer) * w;
        if (tap->query != NULL)
            memcpy(tap->query + at, r->q + t * w, w * sizeof(float));
        if (tap->attention != NULL)
            memcpy(tap->attention + at, r->att + t * r->ld_att, w * sizeof(float));
    }
}

/* ---- layers ---- */

typedef struct {
    const int32_t *tokens;
    size_t n;
    bool exact;
    kr_taps *taps;
    const kr_step_tap *step;
} pass;

static bool attention(kr_run *r, size_t layer, const pass *p) {
    const kr_geometry *g = &r->m->geo;
    const kr_layer *l = &r->m->layer[layer];
    size_t q = g->heads * g->head_dim, kv = g->kv_heads * g->head_dim, n = p->n;
    const kr_run_proj in[] = {{&l->q, l->q_bias, r->q, q},
                              {&l->k, l->k_bias, r->k, kv},
                              {&l->v, l->v_bias, r->v, kv}};
    const kr_run_proj out = {&l->o, l->o_bias, r->y, g->width};
    rows_job rows = {.r = r, .n = n, .layer = layer};
    float *sums = NULL;
    if (p->taps != NULL && p->taps->sums != NULL)
        sums = p->taps->sums + layer * g->heads * p->taps->capacity;
    if (!kr_run_linear(r, in, 3, r->h, r->ld_width, n, false, p->exact) ||
        !tap_moments(r, p->taps, layer, n) ||
        !kr_pool_run(r->pool, row_tiles(n), cache_tile, &rows))
        return false;
    tap_queries(r, p->taps, layer, n);
    if (!kr_run_attend(r, layer, n, p->exact, sums, sums != NULL ? p->taps->capacity : 0))
        return false;
    tap_step(r, p->step, layer, n);
    return kr_run_linear(r, &out, 1, r->att, r->ld_att, n, false, p->exact);
}

static bool feed_forward(kr_run *r, size_t layer, const pass *p) {
    const kr_layer *l = &r->m->layer[layer];
    const kr_run_proj in[] = {{&l->gate, l->gate_bias, r->gate, r->ld_ffn},
                              {&l->up, l->up_bias, r->up, r->ld_ffn}};
    const kr_run_proj out = {&l->down, l->down_bias, r->y, r->m->geo.width};
    return kr_run_linear(r, in, 2, r->h, r->ld_width, p->n, true, p->exact) &&
           kr_run_linear(r, &out, 1, r->gate, r->ld_ffn, p->n, false, p->exact);
}

/* All layers for the rows set up in r->row; leaves the normed final states in h. False when
 * cancelled. The caches' lengths are the caller's to step on. */
static bool forward(kr_run *r, const pass *p) {
    rows_job rows = {.r = r, .n = p->n, .tokens = p->tokens};
    if (!kr_pool_run(r->pool, row_tiles(p->n), embed_tile, &rows))
        return false;
    for (size_t i = 0; i < r->m->geo.layers; i++) {
        const kr_layer *l = &r->m->layer[i];
        if (!norm(r, p->n, l->attn_norm, i > 0) || !attention(r, i, p) ||
            !norm(r, p->n, l->ffn_norm, true) || !feed_forward(r, i, p))
            return false;
        r->done += p->n;
    }
    return norm(r, p->n, r->m->output_norm, true);
}

static bool logits_of(kr_run *r, size_t first, size_t n, float *out, bool exact) {
    const kr_run_proj p = {&r->m->output, NULL, out, r->m->geo.vocab};
    return kr_run_linear(r, &p, 1, r->h + first * r->ld_width, r->ld_width, n, false, exact);
}

/* ---- checks ---- */

static bool tick(void *arg) {
    kr_run *r = arg;
    return r->progress(r->progress_arg, r->done, r->total);
}

static void begin(kr_run *r, size_t tokens) {
    r->done = 0;
    r->total = tokens * r->m->geo.layers;
    kr_pool_on_tick(r->pool, r->progress != NULL ? tick : NULL, r);
}

static kr_status check_finite(const float *logits, size_t n, int32_t pos, kr_error *err) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(logits[i]))
            return kr_fail(err, KR_ENUM, "the model gave a logit that is no finite number at "
                           "position %d (token %zu); its weights are damaged or overflow", pos, i);
    return KR_OK;
}

static kr_status check_input(const kr_run *r, const kr_kv *kv, const int32_t *tokens, size_t n,
                             kr_error *err) {
    const kr_geometry *g = &r->m->geo;
    if (kv->layers != g->layers || kv->heads != g->kv_heads || kv->dim != g->head_dim)
        return kr_fail(err, KR_EINVAL, "the cache has another shape than the model");
    if (n > kr_kv_room(kv) || n > (size_t)(INT32_MAX - kv->next))
        return kr_fail(err, KR_EINVAL, "the cache has room for %zu more tokens, not for %zu",
                       kr_kv_room(kv), n);
    for (size_t i = 0; i < n; i++)
        if (tokens[i] < 0 || (size_t)tokens[i] >= g->vocab)
            return kr_fail(err, KR_EINVAL, "token %d is outside the vocabulary of %zu",
                           (int)tokens[i], g->vocab);
    return KR_OK;
}

static void advance(kr_kv *kv, size_t n) {
    for (size_t i = 0; i < kv->layers * kv->heads; i++)
        kv->head[i].len += n;
    kv->next += (int32_t)n;
}

static kr_status canceled(kr_error *err) {
    return kr_fail(err, KR_ECANCELED, "canceled");
}

/* ---- prefill ---- */

typedef struct {
    kr_logits_fn fn;
    void *arg;
    float *buf; /* [LOGIT_ROWS][vocab] */
} sink;

static kr_status send_logits(kr_run *r, size_t n, const sink *s, kr_error *err) {
    size_t vocab = r->m->geo.vocab;
    for (size_t i = 0; i < n; i += LOGIT_ROWS) {
        size_t m = n - i < LOGIT_ROWS ? n - i : LOGIT_ROWS;
        if (!logits_of(r, i, m, s->buf, false))
            return canceled(err);
        for (size_t t = 0; t < m; t++) {
            const float *row = s->buf + t * vocab;
            kr_status st = check_finite(row, vocab, r->row[i + t].pos, err);
            if (st == KR_OK)
                st = s->fn(s->arg, (size_t)r->row[i + t].pos, row, err);
            if (st != KR_OK)
                return st;
        }
    }
    return KR_OK;
}

static kr_status prefill_block(kr_run *r, kr_kv *kv, const pass *p, const sink *s, float *last,
                               kr_error *err) {
    for (size_t t = 0; t < p->n; t++)
        r->row[t] = (kr_run_row){kv, kv->next + (int32_t)t, t};
    if (!forward(r, p))
        return canceled(err);
    tap_count(r, p->taps, p->n);
    if (s->fn != NULL) {
        kr_status st = send_logits(r, p->n, s, err);
        if (st != KR_OK)
            return st;
    }
    if (last == NULL)
        return KR_OK;
    if (!logits_of(r, p->n - 1, 1, last, true))
        return canceled(err);
    return check_finite(last, r->m->geo.vocab, r->row[p->n - 1].pos, err);
}

static kr_status check_taps(const kr_run *r, const kr_kv *kv, size_t n, const kr_taps *t,
                            kr_error *err) {
    const kr_geometry *g = &r->m->geo;
    if (t == NULL)
        return KR_OK;
    if (t->layers != g->layers || t->heads != g->heads || t->dim != g->head_dim)
        return kr_fail(err, KR_EINVAL, "the taps have another shape than the model");
    for (size_t i = 0; t->sums != NULL && i < kv->layers * kv->heads; i++)
        if (kv->head[i].len + n > t->capacity)
            return kr_fail(err, KR_EINVAL, "attention sums have room for %zu tokens, not for %zu",
                           t->capacity, kv->head[i].len + n);
    return KR_OK;
}

kr_status kr_run_prefill(kr_run *r, kr_kv *kv, const int32_t *tokens, size_t n, float *last,
                         kr_logits_fn each, void *each_arg, kr_taps *taps, kr_error *err) {
    if (n == 0)
        return kr_fail(err, KR_EINVAL, "the prompt is empty");
    if (kv->base != NULL)
        return kr_fail(err, KR_EINVAL, "a cache that borrows rows takes single tokens only");
    kr_status st = check_input(r, kv, tokens, n, err);
    if (st == KR_OK)
        st = check_taps(r, kv, n, taps, err);
    if (st != KR_OK)
        return st;
    sink s = {each, each_arg, NULL};
    if (each != NULL && (s.buf = zeros(LOGIT_ROWS, r->m->geo.vocab)) == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for logits");
    begin(r, n);
    size_t at = 0;
    while (at < n && st == KR_OK) {
        pass p = {tokens + at, n - at < r->block ? n - at : r->block, false, taps, NULL};
        st = prefill_block(r, kv, &p, &s, at + p.n == n ? last : NULL, err);
        if (st != KR_OK)
            break;
        advance(kv, p.n);
        at += p.n;
    }
    if (st != KR_OK)
        kr_kv_pop(kv, at);
    free(s.buf);
    return st;
}

/* ---- step ---- */

static kr_status check_step(const kr_run *r, size_t n, kr_kv *const *kv, const int32_t *tokens,
                            kr_error *err) {
    if (n == 0 || n > r->batch)
        return kr_fail(err, KR_EINVAL, "a step of %zu rows; expected 1 to %zu", n, r->batch);
    for (size_t i = 0; i < n; i++) {
        kr_status st = check_input(r, kv[i], tokens + i, 1, err);
        if (st != KR_OK)
            return st;
        for (size_t j = 0; j < i; j++)
            if (kv[j] == kv[i])
                return kr_fail(err, KR_EINVAL, "rows %zu and %zu of a step share a cache", j, i);
    }
    return KR_OK;
}

kr_status kr_run_step(kr_run *r, size_t n, kr_kv *const *kv, const int32_t *tokens, float *logits,
                      const kr_step_tap *tap, kr_error *err) {
    kr_status st = check_step(r, n, kv, tokens, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < n; i++)
        r->row[i] = (kr_run_row){kv[i], kv[i]->next, 0};
    pass p = {tokens, n, true, NULL, tap};
    begin(r, n);
    if (!forward(r, &p) || (logits != NULL && !logits_of(r, 0, n, logits, true)))
        return canceled(err);
    for (size_t i = 0; logits != NULL && i < n && st == KR_OK; i++)
        st = check_finite(logits + i * r->m->geo.vocab, r->m->geo.vocab, kv[i]->next, err);
    for (size_t i = 0; i < n && st == KR_OK; i++)
        advance(kv[i], 1);
    return st;
}

int32_t kr_run_argmax(const float *logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}
