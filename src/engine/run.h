/* run.h - the forward pass: prompts in blocks, then one token at a time for many texts at once.
 *
 * Results are the same bytes for any number of threads. In kr_run_step a row's result does not
 * depend on the other rows of the batch. */
#ifndef KR_ENGINE_RUN_H
#define KR_ENGINE_RUN_H

#include "base/status.h"
#include "engine/kern.h"
#include "engine/kv.h"
#include "engine/model.h"
#include "engine/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kr_run kr_run;

/* Called between pieces of work, at most every 50 ms, `done` of `total` steps; false stops the
 * work, which then fails with KR_ECANCELED and leaves the caches as they were before the call. */
typedef bool (*kr_progress)(void *arg, size_t done, size_t total);

typedef struct {
    size_t threads;      /* 0: physical cores */
    size_t block;        /* prompt tokens worked on together; 0: 512 */
    size_t batch;        /* most rows of one kr_run_step; 0: 1 */
    size_t window;       /* attend to the last `window` positions only; 0: to all */
    const kr_kern *kern; /* NULL: the fastest */
    kr_progress progress;
    void *progress_arg;
} kr_run_options;

/* What eviction policies want to know of a prefill. Filled by kr_run_prefill, over all its calls
 * since kr_taps_clear. Sizes: layers L, query heads H, head size d of the model. */
typedef struct {
    size_t layers, heads, dim;
    /* Queries after the rotary embedding of the last `n_last` <= window tokens, oldest first:
     * last[L][H][window][d], rows 0 .. n_last-1. NULL when window is 0. */
    size_t window, n_last;
    float *last;
    /* Sum over all queries of the attention weight on each cache row: sums[L][H][capacity]; rows
     * beyond the cache's length are 0. NULL when capacity is 0. Needs a cache that was empty. */
    size_t capacity;
    float *sums;
    /* Queries before the rotary embedding at positions >= sinks: their number, their sum [L][H][d]
     * and the sum of their outer products [L][H][d][d]. NULL without moments. */
    size_t sinks, n_moments;
    float *mean, *outer;
} kr_taps;

/* window, capacity: 0 for none. The caller frees *out. */
kr_status kr_taps_new(const kr_geometry *g, size_t window, size_t capacity, bool moments,
                      size_t sinks, kr_taps **out, kr_error *err);
void kr_taps_clear(kr_taps *t);
void kr_taps_free(kr_taps *t); /* NULL is allowed */

/* What one step saw, for comparing runs: both [n][L][H * d] for n rows, either may be NULL. */
typedef struct {
    float *query;     /* after the rotary embedding */
    float *attention; /* weighted values, before the output projection */
} kr_step_tap;

/* Takes a prompt's logits as they come: `pos` and its [vocab] logits. */
typedef kr_status (*kr_logits_fn)(void *arg, size_t pos, const float *logits, kr_error *err);

/* All memory is taken here; `m` must outlive *out. The caller frees *out. */
kr_status kr_run_new(const kr_model *m, const kr_run_options *opt, kr_run **out, kr_error *err);
void kr_run_free(kr_run *r); /* NULL is allowed */

size_t kr_run_threads(const kr_run *r);

/* The threads of a run, for work between its calls; owned by it. */
kr_pool *kr_run_pool(const kr_run *r);

/* Bytes of work buffers that kr_run_new would take; pages never used cost nothing. */
size_t kr_run_bytes(const kr_geometry *g, const kr_run_options *opt);

/* Feeds n >= 1 tokens at positions kv->next onwards and appends them to kv.
 *
 * last   [vocab] logits after the last token, or NULL
 * each   gets the logits of every token in order, or NULL
 * taps   filled along the way, or NULL
 *
 * KR_EINVAL when an id is out of range, kv is of another shape or has no room; KR_ENUM when a
 * logit asked for is not finite (the sentence has the position); KR_ECANCELED. On failure kv is as
 * it was; taps are then of no use. */
kr_status kr_run_prefill(kr_run *r, kr_kv *kv, const int32_t *tokens, size_t n, float *last,
                         kr_logits_fn each, void *each_arg, kr_taps *taps, kr_error *err);

/* Feeds one token to each of n caches, all different, n <= batch: weights are read once for all.
 * logits [n][vocab] (may be NULL). tap may be NULL. Errors as above. No allocation. */
kr_status kr_run_step(kr_run *r, size_t n, kr_kv *const *kv, const int32_t *tokens, float *logits,
                      const kr_step_tap *tap, kr_error *err);

/* Index of the largest of n >= 1 values, the first of equals. */
int32_t kr_run_argmax(const float *logits, size_t n);

#endif
