/* eval_impl.h - what the parts of an evaluation share. Internal to eval*.c. */
#ifndef KR_SAMPLE_EVAL_IMPL_H
#define KR_SAMPLE_EVAL_IMPL_H

#include "sample/eval.h"

enum {
    KR_EVAL_ROWS = 64,            /* most rows of one step; more arms take several */
    KR_EVAL_LANE_BYTES = 16 << 20 /* what new entries of all arms may always take */
};

struct kr_eval {
    const kr_model *m;
    kr_eval_options opt; /* with an own copy of the arms */
    kr_evict_spec *arm;
    kr_run *run;
    size_t rows;         /* of one step */
    size_t window, sinks;
    unsigned needs;      /* of all arms together */
    kr_phase phase;
    bool canceled;
};

/* One request being evaluated. Lane 0 is full KV, lane i + 1 arm i. */
typedef struct {
    kr_eval *e;
    kr_eval_result *res;
    size_t n, rest;      /* tokens in the cache, tokens of the prompt fed after eviction */
    size_t max_tokens;
    size_t from, to;     /* arms being decoded */
    uint64_t key;
    kr_kv *full;
    kr_taps *taps;
    kr_keep **keep;      /* [n_arms] */
    kr_kv **lane;        /* [n_arms + 1] */
    int32_t *next;       /* [n_arms + 1] token to feed */
    bool *done;          /* [n_arms + 1] */
    float *first;        /* [vocab] logits of the prompt's last token, or NULL */
    float *logits;       /* [rows][vocab] */
    float *full_logits;  /* [vocab] of lane 0 in this step */
    float *query;        /* [rows][layers][H d] */
    float *attention;    /* the same */
    float *full_attention; /* [layers][H d] of lane 0 */
    float *mass;         /* [layers x KV heads + 1][n] attention of the full run's query; scratch */
} kr_eval_work;

bool kr_eval_tick(kr_eval *e, kr_phase phase, size_t done, size_t total);

/* Selects for every arm from one scoring pass per policy. */
kr_status kr_eval_select(kr_eval_work *w, kr_error *err);

/* Decodes all lanes to their end. */
kr_status kr_eval_decode(kr_eval_work *w, kr_error *err);

kr_arm_result *kr_eval_lane(const kr_eval_work *w, size_t lane);

/* From the step that follows eviction: what the full run attends to, and how far each arm's
 * attention output is from the full run's. */
void kr_eval_measure_full(kr_eval_work *w, const float *query, const float *attention);
void kr_eval_measure_arm(kr_eval_work *w, size_t lane, const float *attention);

#endif
