/* eval_json.h - results of evaluations as JSON Lines, for programs.
 *
 * Every line is one object with "event":
 *   start     version 1; model, architecture, layers, heads, kv_heads, head_dim;
 *             requests (how many), requests_file, requests_sha256; protocol, first_token, preset
 *             (or null), threads, tolerance; policies [{index, policy, method, level,
 *             level_kind, parameters}]
 *   progress  request (from 1), of, id, phase (prefill, score, decode), done, total; at most ten
 *             per second
 *   full      id, task, request, of; prompt_tokens, n (of them in the cache at eviction), answer,
 *             tokens, utility, why, stop, bytes, prefill_s, score_s, decode_s, steps
 *   result    id, task, request, of, index, policy, method, level, level_kind; answer, tokens, utility, full_utility,
 *             drop, event_at_tolerance (drop above it; null when unknown), why, stop;
 *             retained (share of the entries kept), retained_end (at the end of the answer), kept,
 *             bytes, flags [...]; parted (first token that differs from full KV's answer or null),
 *             full_margin, margin (logit of full KV's token minus that of this answer's there, in
 *             either run); heads_kept [layer][head], heads_mass [layer][head] (share of attention
 *             kept), layer_error [layer] (relative error of the attention output)
 *             with detail also positions [n]: KV heads, of layers x kv_heads, that keep it
 *   prompt    with detail, before full: id, pieces [text of each prompt token]
 *   error     id, request, of, message
 *   end       requests, failed, seconds, peak_bytes
 * Levels are exact decimals as text. Utilities that do not exist are null. */
#ifndef KR_SAMPLE_EVAL_JSON_H
#define KR_SAMPLE_EVAL_JSON_H

#include "base/buf.h"
#include "sample/eval.h"

typedef struct {
    const char *model_path, *requests_path;
    const kr_model *model;
    const kr_sample_requests *requests; /* what the file holds */
    size_t n;                    /* requests to be evaluated */
    const char *preset;          /* or NULL */
    const kr_eval_options *options;
    size_t threads;
    kr_dec tolerance;
    bool detail;
} kr_eval_job;

/* Whether a drop is above the tolerance, in integers of 1e-9; a drop that is unknown is one. */
bool kr_eval_event(const kr_arm_result *full, const kr_arm_result *arm, kr_dec tolerance);

/* Each appends one line. `at` counts requests from 1. */
void kr_eval_json_start(const kr_eval_job *j, kr_buf *out);
void kr_eval_json_progress(const kr_eval_job *j, const char *id, size_t at, kr_phase phase,
                           size_t done, size_t total, kr_buf *out);
void kr_eval_json_result(const kr_eval_job *j, const kr_sample_request *q, size_t at,
                         const kr_eval_result *r, kr_buf *out); /* all lines of a request */
void kr_eval_json_error(const kr_eval_job *j, const char *id, size_t at, const char *message,
                        kr_buf *out);
void kr_eval_json_end(size_t requests, size_t failed, double seconds, size_t peak, kr_buf *out);

#endif
