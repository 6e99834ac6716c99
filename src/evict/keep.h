/* keep.h - which entries of a cache survive: the result of every policy, and the one selection
 * that all of them share.
 *
 * Entries are taken in tiers: protected ones (sinks at the front, window at the end) first, then
 * forced ones, then the rest by score. Inside a tier the order is score descending, layer, head,
 * position ascending: a total order, so that a smaller budget always selects a subset. Protection
 * is never a large score: with that, ties can evict the window. */
#ifndef KR_EVICT_KEEP_H
#define KR_EVICT_KEEP_H

#include "base/status.h"
#include "engine/kv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KR_BYPASS_SHORT = 1,    /* the text is not longer than what is protected: all is kept */
    KR_WINDOW_TRUNC = 2,    /* budget below what is protected: only its newest part is kept */
    KR_FALLBACK_UNIFORM = 4 /* layer budgets were impossible: all layers have the same */
};

typedef struct {
    size_t layers, heads, n; /* n: entries before eviction */
    kr_kv_keep *head;        /* [layers][heads]; rows NULL keeps all */
    uint32_t *rows;          /* storage of the lists */
    size_t total;            /* entries kept, all heads */
    unsigned flags;
} kr_keep;

/* Keeps everything. The caller frees *out. */
kr_status kr_keep_all(size_t layers, size_t heads, size_t n, unsigned flags, kr_keep **out,
                      kr_error *err);
void kr_keep_free(kr_keep *k); /* NULL is allowed */

/* Lists ascending, unique, in range, none empty; KR_ENUM with a sentence otherwise. */
kr_status kr_keep_check(const kr_keep *k, kr_error *err);

/* Scores of one request under one policy, ready for any number of selections. */
typedef struct {
    size_t layers, heads, n;
    size_t lead, tail;     /* protected: the first `lead` and the last `tail` positions */
    float *rank;           /* [layers][heads][n] score; columns of protected positions unused */
    float *first;          /* [layers][heads][n] what forced entries are ranked by; NULL: rank */
    uint32_t *order;       /* [layers][heads][n - lead - tail] positions by rank, best first */
    uint32_t *first_order; /* the same by `first`; NULL without */
    float *top;            /* [layers] largest rank of a layer */
    double *aux;           /* [layers] or more, a policy's own; NULL */
} kr_scores;

/* Room for scores, all zero. `forced`: with `first`. KR_ENOMEM. The caller frees *out. */
kr_status kr_scores_new(size_t layers, size_t heads, size_t n, size_t lead, size_t tail,
                        bool forced, size_t aux, kr_scores **out, kr_error *err);
void kr_scores_free(kr_scores *s); /* NULL is allowed */

/* Row of one head. */
float *kr_scores_rank(const kr_scores *s, size_t layer, size_t head);
float *kr_scores_first(const kr_scores *s, size_t layer, size_t head);

/* Sorts; to be called once all scores are in. KR_ENUM when a score is NaN. */
kr_status kr_scores_sort(kr_scores *s, kr_error *err);

/* Indices from .. to-1 by `score` descending, then ascending; out[to - from]. */
void kr_order(const float *score, size_t from, size_t to, uint32_t *out);

typedef enum {
    KR_SCOPE_HEAD,  /* each head has its own budget */
    KR_SCOPE_LAYER, /* the heads of a layer share one */
    KR_SCOPE_MODEL  /* all heads share one */
} kr_scope;

typedef struct {
    kr_scope scope;
    const size_t *budget; /* entries, protected ones included: [layers][heads], [layers] or [1] */
    const size_t *forced; /* [layers][heads] entries forced beyond the protected ones, or NULL */
    bool forced_by_top;   /* forced entries compete with their layer's `top` as score instead of
                           * coming first */
    unsigned flags;       /* put into the result */
} kr_selection;

/* Takes `budget` entries of every unit of the scope. A budget below the protected entries of its
 * unit is dealt out evenly and keeps the newest of them (the first where only sinks are protected),
 * with KR_WINDOW_TRUNC. Budgets are clamped so that each head keeps at least one entry and none
 * more than n. The result holds exactly the budget. The caller frees *out. */
kr_status kr_select(const kr_scores *s, const kr_selection *sel, kr_keep **out, kr_error *err);

#endif
