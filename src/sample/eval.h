/* eval.h - paired evaluation: one request, full KV and any number of policies side by side.
 *
 * The prompt is worked off once with the full cache. Every policy scores once, every level selects
 * from these scores, and all arms then decode in lock-step, each over its own entries of the one
 * cache; weights are read once per step for all of them. An arm's result does not depend on which
 * other arms are there, on the number of threads, or on what was evaluated before. */
#ifndef KR_SAMPLE_EVAL_H
#define KR_SAMPLE_EVAL_H

#include "base/status.h"
#include "engine/model.h"
#include "engine/run.h"
#include "evict/policy.h"
#include "sample/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    KR_QUERY_AWARE,   /* the whole prompt is there when entries are evicted */
    KR_QUERY_AGNOSTIC /* only the context is; the question is read through the evicted cache */
} kr_protocol;
const char *kr_protocol_name(kr_protocol p); /* "query_aware", "query_agnostic" */
bool kr_protocol_find(const char *name, kr_protocol *out);

/* Query-aware: where the first token of an answer comes from. */
typedef enum {
    KR_FIRST_STEP,   /* the prompt's last token is fed after eviction, for full KV too, so that
                      * every token of the answer depends on the evicted cache */
    KR_FIRST_PREFILL /* from the prompt with full KV, as the methods' own code does */
} kr_first_token;
const char *kr_first_token_name(kr_first_token f); /* "step", "prefill" */
bool kr_first_token_find(const char *name, kr_first_token *out);

/* Why an answer ended: the model ended its text, or it is as long as it may be. */
typedef enum { KR_END_TOKEN, KR_END_LENGTH } kr_answer_end;
const char *kr_answer_end_name(kr_answer_end end); /* "token", "length" */

/* Why a run of the evaluator calls back; false from the callback cancels (KR_ECANCELED). */
typedef enum { KR_PHASE_PREFILL, KR_PHASE_SCORE, KR_PHASE_DECODE } kr_phase;
const char *kr_phase_name(kr_phase p);
typedef bool (*kr_eval_progress)(void *arg, kr_phase phase, size_t done, size_t total);

typedef struct {
    kr_protocol protocol;
    kr_first_token first_token;
    const kr_evict_spec *arm; /* [n_arms], copied */
    size_t n_arms;
    size_t threads;       /* 0: physical cores */
    size_t max_tokens;    /* overrides the requests' when not 0 */
    size_t context;       /* longest prompt and answer together; 0: the model's trained context */
    size_t lane_bytes;    /* memory for the new entries of the arms decoded together, which decides
                           * how many these are; 0: below one compressed cache, at least 16 MB */
    bool ignore_stops;    /* decode to the limit: for measuring */
    bool positions;       /* count for every prompt token the heads that keep it */
    const kr_kern *kern;  /* NULL: the fastest */
    kr_eval_progress progress;
    void *progress_arg;
} kr_eval_options;

/* One arm's outcome. Arrays belong to the result. */
typedef struct {
    unsigned flags;      /* KR_BYPASS_SHORT, ... */
    size_t kept;         /* entries kept, all heads */
    double rho_ctx;      /* kept / (layers x heads x n) */
    double rho_end;      /* entries held when the answer ended / those of full KV at that point */
    size_t bytes;        /* held after eviction, as float32 keys and values and positions */
    size_t *head_kept;   /* [layers][heads] */
    float *head_mass;    /* [layers][heads] share of the attention on the evicted part of the
                          * prompt's cache that the kept entries have, for the full run's query
                          * that gives the first token of the answer after eviction */
    float *layer_error;  /* [layers] || o - o_full || / || o_full || of the attention output there */
    uint32_t *position;  /* [n] heads that keep a position; NULL unless asked for */
    int32_t *token;      /* [n_tokens] a token that ends the text included */
    size_t n_tokens;
    kr_answer_end stop;
    char *text;          /* the answer; NULL without a tokenizer */
    size_t text_len;
    double utility;      /* NaN when there is none; `why` then says why */
    double drop;         /* full's utility - this one; NaN when either is */
    const char *why;
    bool parted;         /* the answer differs from full KV's */
    size_t parted_at;    /* first token that differs */
    float full_margin;   /* there: full KV's logit of its own token minus that of this arm's, >= 0 */
    float margin;        /* the same two logits in this arm, <= 0 */
} kr_arm_result;

typedef struct {
    size_t layers, heads; /* KV heads */
    size_t n_prompt;      /* tokens of the prompt */
    size_t n;             /* of them in the cache when entries were evicted */
    int32_t *prompt;      /* [n_prompt] */
    kr_arm_result full;
    kr_arm_result *arm;   /* [n_arms] */
    size_t n_arms;
    double prefill_s, score_s, decode_s; /* seconds; score_s selection included */
    size_t steps;         /* decoding steps, many arms together in each */
    size_t bytes_cache, bytes_taps, bytes_lists, bytes_lanes; /* memory of the request */
} kr_eval_result;

typedef struct kr_eval kr_eval;

/* `m` must outlive *out. KR_EINVAL when arms cannot be evaluated together. */
kr_status kr_eval_new(const kr_model *m, const kr_eval_options *opt, kr_eval **out, kr_error *err);
void kr_eval_free(kr_eval *e); /* NULL is allowed */
size_t kr_eval_threads(const kr_eval *e);

/* Evaluates one request; a failure concerns this request alone (but for KR_ENOMEM). Free the
 * result with kr_eval_result_free. */
kr_status kr_eval_request(kr_eval *e, const kr_sample_request *q, kr_eval_result **out, kr_error *err);

/* The same for tokens: context[0 .. split), then the question. Utilities are NaN. */
kr_status kr_eval_tokens(kr_eval *e, const int32_t *prompt, size_t n, size_t split,
                         size_t max_tokens, uint64_t key, kr_eval_result **out, kr_error *err);
void kr_eval_result_free(kr_eval_result *r); /* NULL is allowed */

/* Tokens of a request's prompt and how many of them lie in its context. BOS as the vocabulary
 * asks; a prompt that begins with its text gets no second one. The caller frees *ids. */
kr_status kr_sample_tokens(const kr_sample_request *q, const kr_tok *tok, int32_t **ids, size_t *n,
                            size_t *split, kr_error *err);

#endif
