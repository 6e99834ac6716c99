/* run_attend.c - attention over ragged caches.
 *
 * Scores are worked off in tiles of cache rows with a running maximum and sum (Milakov and
 * Gimelshein 2018, Online normalizer calculation for softmax), so no n x n matrix is held. What a
 * query may see is decided by positions: every cache row from a position not after its own and,
 * with a window, after its own minus the window. Rows ascend by position, so that is a range. */
#include "engine/run_impl.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

typedef struct {
    kr_run *r;
    size_t layer, n, per;  /* rows; units of work in one tile */
    size_t group, step;    /* query heads per KV head; query tokens of one sgemm tile */
    float scale;
    float *sums;
    size_t capacity;
} job;

/* Scratch of one thread, cut up. */
typedef struct {
    float *q;      /* [QUERY_TILE or group][pad8(d)] scaled queries */
    float *s;      /* [..][KEY_TILE] scores */
    float *o;      /* [..][d] weighted values */
    float *m, *l;  /* [..] running maximum and sum */
    float *dots;   /* for the dot kernel */
    float *rows;   /* [KEY_TILE][d] borrowed rows, brought together */
} space;

static size_t pad8(size_t n) {
    return (n + 7) / 8 * 8;
}

static size_t tile_height(const kr_geometry *g) {
    size_t group = g->heads / g->kv_heads;
    return group > KR_RUN_QUERY_TILE ? group : KR_RUN_QUERY_TILE;
}

size_t kr_run_attend_scratch(const kr_geometry *g) {
    size_t d8 = pad8(g->head_dim);
    return tile_height(g) * (2 * d8 + KR_RUN_KEY_TILE + 2) + KR_KERN_ROWS * d8 +
           KR_RUN_KEY_TILE * g->head_dim;
}

static space carve(const job *j, size_t thread) {
    const kr_geometry *g = &j->r->m->geo;
    size_t d8 = pad8(g->head_dim), h = tile_height(g);
    float *p = kr_run_scratch(j->r, thread);
    return (space){p, p + h * d8, p + h * (d8 + KR_RUN_KEY_TILE),
                   p + h * (2 * d8 + KR_RUN_KEY_TILE), p + h * (2 * d8 + KR_RUN_KEY_TILE + 1),
                   p + h * (2 * d8 + KR_RUN_KEY_TILE + 2),
                   p + h * (2 * d8 + KR_RUN_KEY_TILE + 2) + KR_KERN_ROWS * d8};
}

/* First of n ascending positions that is greater than `pos`. */
static size_t after(const int32_t *at, size_t n, int64_t pos) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (at[mid] <= pos)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

typedef struct {
    const float *k, *v;
    size_t lo, hi; /* visible rows, borrowed ones first */
    size_t lent;   /* rows borrowed */
    const uint32_t *rows; /* [lent] their indices in lent_k and lent_v; NULL: 0 .. lent-1 */
    const float *lent_k, *lent_v;
} view;

/* The same over the borrowed rows, which are all older than what is fed now. */
static size_t after_lent(const kr_kv *base, const kr_kv_head *h, const view *v, int64_t pos) {
    const int32_t *at = kr_kv_positions(base, h);
    size_t lo = 0, hi = v->lent;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (at[v->rows == NULL ? mid : v->rows[mid]] <= pos)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static view look(const job *j, size_t row, size_t head) {
    const kr_run_row *w = &j->r->row[row];
    const kr_kv_head *h = kr_kv_at(w->kv, j->layer, head);
    const int32_t *at = kr_kv_positions(w->kv, h);
    size_t len = h->len + w->ahead + 1;
    int64_t oldest = (int64_t)w->pos - (int64_t)j->r->window;
    view v = {.k = kr_kv_keys(w->kv, h), .v = kr_kv_values(w->kv, h), .hi = after(at, len, w->pos)};
    if (j->r->window > 0)
        v.lo = after(at, len, oldest);
    if (w->kv->base == NULL)
        return v;
    const kr_kv_head *lender = kr_kv_at(w->kv->base, j->layer, head);
    v.lent = kr_kv_borrowed(w->kv, h);
    v.rows = w->kv->from[h - w->kv->head].rows;
    v.lent_k = kr_kv_keys(w->kv->base, lender);
    v.lent_v = kr_kv_values(w->kv->base, lender);
    v.hi += v.lent;
    if (v.lo > 0)
        v.lo += v.lent;
    else if (j->r->window > 0)
        v.lo = after_lent(w->kv->base, lender, &v, oldest);
    return v;
}

/* Rows at .. at+n-1 of a view side by side: where they lie, or copied into `out`. */
static const float *together(const view *v, const float *lent, const float *own, size_t at,
                             size_t n, size_t d, float *out) {
    if (at >= v->lent)
        return own + (at - v->lent) * d;
    size_t borrowed = v->lent - at < n ? v->lent - at : n;
    size_t first = v->rows == NULL ? at : v->rows[at];
    if (borrowed == n && (v->rows == NULL || v->rows[at + n - 1] - first == n - 1))
        return lent + first * d;
    for (size_t i = 0; i < borrowed; i++)
        memcpy(out + i * d, lent + (v->rows == NULL ? at + i : v->rows[at + i]) * d,
               d * sizeof *out);
    memcpy(out + borrowed * d, own, (n - borrowed) * d * sizeof *out);
    return out;
}

/* Query token `row`, query head `head`, scaled, padded with zeros. */
static void load_query(const job *j, size_t row, size_t head, float *out) {
    const kr_geometry *g = &j->r->m->geo;
    size_t d = g->head_dim;
    const float *q = j->r->q + row * g->heads * d + head * d;
    for (size_t i = 0; i < d; i++)
        out[i] = q[i] * j->scale;
    for (size_t i = d; i < pad8(d); i++)
        out[i] = 0;
}

/* Takes scores s[n] of one query into its running softmax: s becomes weights relative to the new
 * maximum; the result is the factor for what was summed before. */
static float absorb(const kr_kern *kern, float *s, size_t n, float *m, float *l) {
    float top = kern->max(s, n), factor = 1;
    if (top > *m) {
        factor = *l == 0 ? 0 : expf(*m - top);
        *m = top;
    }
    *l = *l * factor + kern->exp_sum(s, n, *m);
    return factor;
}

/* Remembers what turns scores into weights, for the second pass over them. */
static void keep_norm(const job *j, size_t row, size_t head, float m, float l) {
    size_t at = row * j->r->m->geo.heads + head;
    j->r->peak[at] = m;
    j->r->mass[at] = l;
}

static void store(const job *j, size_t row, size_t head, const float *o, float l) {
    size_t d = j->r->m->geo.head_dim;
    float *att = j->r->att + row * j->r->ld_att + head * d;
    for (size_t i = 0; i < d; i++)
        att[i] = o[i] / l;
}

/* ---- few rows: each by itself ---- */

static void attend_row(const job *j, size_t row, size_t kv_head, const space *sp) {
    const kr_kern *kern = j->r->kern;
    size_t d = j->r->m->geo.head_dim, d8 = pad8(d);
    view v = look(j, row, kv_head);
    for (size_t g = 0; g < j->group; g++) {
        load_query(j, row, kv_head * j->group + g, sp->q + g * d8);
        sp->m[g] = -INFINITY;
        sp->l[g] = 0;
    }
    memset(sp->o, 0, j->group * d * sizeof *sp->o);
    for (size_t at = v.lo, n; at < v.hi; at += n) {
        n = v.hi - at < KR_RUN_KEY_TILE ? v.hi - at : KR_RUN_KEY_TILE;
        const float *k = together(&v, v.lent_k, v.k, at, n, d, sp->rows);
        kr_mat keys = {(const uint8_t *)k, KR_QUANT_F32, n, d, d * sizeof(float)};
        kern->dots(&keys, 0, n, sp->q, d8, j->group, sp->s, KR_RUN_KEY_TILE, sp->dots);
        const float *values = together(&v, v.lent_v, v.v, at, n, d, sp->rows);
        for (size_t g = 0; g < j->group; g++) {
            float *s = sp->s + g * KR_RUN_KEY_TILE;
            float f = absorb(kern, s, n, &sp->m[g], &sp->l[g]);
            kern->mix(s, values, n, d, f, sp->o + g * d);
        }
    }
    for (size_t g = 0; g < j->group; g++) {
        size_t head = kv_head * j->group + g;
        store(j, row, head, sp->o + g * d, sp->l[g]);
        keep_norm(j, row, head, sp->m[g], sp->l[g]);
    }
}

static void run_rows(void *arg, size_t tile, size_t thread) {
    const job *j = arg;
    space sp = carve(j, thread);
    size_t heads = j->r->m->geo.kv_heads, end = (tile + 1) * j->per;
    /* Rows of one head follow each other: caches that share a base find it in the processor's. */
    for (size_t u = tile * j->per; u < end && u < j->n * heads; u++)
        attend_row(j, u % j->n, u / j->n, &sp);
}

/* ---- many rows of one cache: scores and values by sgemm ---- */

/* Query tokens t0 .. t0+n-1 of one KV head; row i * group + g of the tile is token i, head g. */
typedef struct {
    size_t t0, n, kv_head;
    size_t lo[KR_RUN_QUERY_TILE], hi[KR_RUN_QUERY_TILE];
    const float *k, *v;
} strip;

static void load_strip(const job *j, size_t t0, size_t kv_head, const space *sp, strip *st) {
    size_t d8 = pad8(j->r->m->geo.head_dim);
    st->t0 = t0;
    st->n = j->n - t0 < j->step ? j->n - t0 : j->step;
    st->kv_head = kv_head;
    for (size_t i = 0; i < st->n; i++) {
        view v = look(j, t0 + i, kv_head);
        st->lo[i] = v.lo;
        st->hi[i] = v.hi;
        st->k = v.k;
        st->v = v.v;
        for (size_t g = 0; g < j->group; g++)
            load_query(j, t0 + i, kv_head * j->group + g, sp->q + (i * j->group + g) * d8);
    }
}

static void score(const job *j, const strip *st, size_t at, size_t n, const space *sp) {
    int d = (int)j->r->m->geo.head_dim;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(st->n * j->group), (int)n, d, 1.0f,
                sp->q, (int)pad8((size_t)d), st->k + at * (size_t)d, d, 0.0f, sp->s,
                KR_RUN_KEY_TILE);
}

/* The part of tile [at, at + n) that token i of the strip sees; false when it is none. */
static bool seen(const strip *st, size_t i, size_t at, size_t n, size_t *lo, size_t *hi) {
    *lo = st->lo[i] > at ? st->lo[i] - at : 0;
    *hi = st->hi[i] < at + n ? st->hi[i] : at + n;
    *hi = *hi > at ? *hi - at : 0;
    return *lo < *hi;
}

static void weigh(const job *j, const strip *st, size_t at, size_t n, const space *sp) {
    size_t d = j->r->m->geo.head_dim;
    for (size_t r = 0; r < st->n * j->group; r++) {
        size_t lo, hi;
        float *s = sp->s + r * KR_RUN_KEY_TILE, *o = sp->o + r * d;
        if (!seen(st, r / j->group, at, n, &lo, &hi)) {
            memset(s, 0, n * sizeof *s);
            continue;
        }
        memset(s, 0, lo * sizeof *s);
        memset(s + hi, 0, (n - hi) * sizeof *s);
        float f = absorb(j->r->kern, s + lo, hi - lo, &sp->m[r], &sp->l[r]);
        for (size_t c = 0; c < d; c++)
            o[c] *= f;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(st->n * j->group), (int)d, (int)n,
                1.0f, sp->s, KR_RUN_KEY_TILE, st->v + at * d, (int)d, 1.0f, sp->o, (int)d);
}

static void run_strip(void *arg, size_t tile, size_t thread) {
    const job *j = arg;
    space sp = carve(j, thread);
    strip st;
    size_t heads = j->r->m->geo.kv_heads, d = j->r->m->geo.head_dim;
    load_strip(j, tile / heads * j->step, tile % heads, &sp, &st);
    for (size_t r = 0; r < st.n * j->group; r++) {
        sp.m[r] = -INFINITY;
        sp.l[r] = 0;
    }
    memset(sp.o, 0, st.n * j->group * d * sizeof *sp.o);
    size_t end = st.hi[st.n - 1];
    for (size_t at = st.lo[0], n; at < end; at += n) {
        n = end - at < KR_RUN_KEY_TILE ? end - at : KR_RUN_KEY_TILE;
        score(j, &st, at, n, &sp);
        weigh(j, &st, at, n, &sp);
    }
    for (size_t r = 0; r < st.n * j->group; r++) {
        size_t row = st.t0 + r / j->group, head = st.kv_head * j->group + r % j->group;
        store(j, row, head, sp.o + r * d, sp.l[r]);
        keep_norm(j, row, head, sp.m[r], sp.l[r]);
    }
}

/* ---- attention summed over queries ---- */

static void add_weights(const job *j, const strip *st, size_t at, size_t n, const space *sp) {
    for (size_t r = 0; r < st->n * j->group; r++) {
        size_t lo, hi, head = st->kv_head * j->group + r % j->group;
        if (!seen(st, r / j->group, at, n, &lo, &hi))
            continue;
        size_t norm = (st->t0 + r / j->group) * j->r->m->geo.heads + head;
        float *s = sp->s + r * KR_RUN_KEY_TILE, *sum = j->sums + head * j->capacity + at;
        float inv = 1.0f / j->r->mass[norm];
        j->r->kern->exp_sum(s + lo, hi - lo, j->r->peak[norm]);
        for (size_t c = lo; c < hi; c++)
            sum[c] += s[c] * inv;
    }
}

/* One KV head from the first query to the last, so that the order of additions is fixed. */
static void run_sums(void *arg, size_t tile, size_t thread) {
    const job *j = arg;
    space sp = carve(j, thread);
    strip st;
    for (size_t t0 = 0; t0 < j->n; t0 += j->step) {
        load_strip(j, t0, tile, &sp, &st);
        size_t end = st.hi[st.n - 1];
        for (size_t at = st.lo[0], n; at < end; at += n) {
            n = end - at < KR_RUN_KEY_TILE ? end - at : KR_RUN_KEY_TILE;
            score(j, &st, at, n, &sp);
            add_weights(j, &st, at, n, &sp);
        }
    }
}

/* Cache rows that the pass reads per unit of run_rows, about. */
static size_t units_per_tile(const job *j) {
    const kr_geometry *g = &j->r->m->geo;
    size_t longest = 0;
    for (size_t i = 0; i < j->n; i++) {
        const kr_kv_head *h = kr_kv_at(j->r->row[i].kv, j->layer, 0);
        size_t len = h->len + kr_kv_borrowed(j->r->row[i].kv, h);
        longest = len > longest ? len : longest;
    }
    return 1 + KR_RUN_GRAIN / ((longest + 1) * 2 * g->head_dim * j->group);
}

bool kr_run_attend(kr_run *r, size_t layer, size_t n, bool exact, float *sums, size_t capacity) {
    const kr_geometry *g = &r->m->geo;
    job j = {.r = r, .layer = layer, .n = n, .group = g->heads / g->kv_heads, .sums = sums,
             .capacity = capacity, .scale = 1.0f / sqrtf((float)g->head_dim)};
    j.step = j.group >= KR_RUN_QUERY_TILE ? 1 : KR_RUN_QUERY_TILE / j.group;
    bool ok;
    if (exact || n <= KR_RUN_FEW) {
        j.per = units_per_tile(&j);
        ok = kr_pool_run(r->pool, (n * g->kv_heads + j.per - 1) / j.per, run_rows, &j);
    } else {
        ok = kr_pool_run(r->pool, (n + j.step - 1) / j.step * g->kv_heads, run_strip, &j);
    }
    if (ok && sums != NULL)
        ok = kr_pool_run(r->pool, g->kv_heads, run_sums, &j);
    return ok;
}
