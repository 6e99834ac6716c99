/* RULER's string matching (Hsieh et al. 2024) in the variants of the tools that rerun it. */
#include "calib/scorers.h"

#include "calib/scorer_text.h"

/* What happens to control characters U+0000..U+001F inside the prediction. */
typedef enum { CONTROL_TO_NEWLINE, CONTROL_DELETED, RAW } cleaning;

static kr_str clean(const kr_score_in *in, cleaning how) {
    kr_str s = kr_str_valid(in->arena, in->prediction, in->prediction_len);
    if (how == RAW)
        return s;
    s = kr_str_strip(s);
    char *p = kr_arena_alloc(in->arena, s.len);
    size_t n = 0;
    if (p == NULL)
        return kr_str_lit("");
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.s[i] >= 0x20)
            p[n++] = s.s[i];
        else if (how == CONTROL_TO_NEWLINE)
            p[n++] = '\n';
    }
    return kr_str_strip((kr_str){p, n});
}

/* Number of references found in the prediction, without regard to case; an empty one always is. */
static size_t hits(const kr_score_in *in, cleaning how, kr_score *out) {
    size_t n = 0;
    if (in->answers == NULL || in->answers->count == 0) {
        out->why = "no reference answer";
        return 0;
    }
    kr_str text = kr_str_lower(in->arena, clean(in, how));
    for (const kr_lit *r = in->answers->first; r != NULL; r = r->next) {
        kr_str ref = kr_str_lower(in->arena, kr_answer_text(in->arena, r));
        n += kr_str_find(text, ref, 0) != SIZE_MAX;
    }
    return n;
}

static void match_all(const kr_score_in *in, cleaning how, kr_score *out) {
    size_t n = hits(in, how, out);
    if (out->why == NULL)
        out->value = (double)n / (double)in->answers->count;
}

static void match_part(const kr_score_in *in, cleaning how, kr_score *out) {
    out->value = hits(in, how, out) > 0 ? 1.0 : 0.0;
}

void kr_score_ruler_all(const kr_score_in *in, kr_score *out) {
    match_all(in, CONTROL_TO_NEWLINE, out);
}

void kr_score_ruler_part(const kr_score_in *in, kr_score *out) {
    match_part(in, CONTROL_TO_NEWLINE, out);
}

void kr_score_kvpress_ruler_all(const kr_score_in *in, kr_score *out) {
    match_all(in, CONTROL_DELETED, out);
}

void kr_score_kvpress_ruler_part(const kr_score_in *in, kr_score *out) {
    match_part(in, CONTROL_DELETED, out);
}

/* lm-evaluation-harness calls a mean over the references its partial match. */
void kr_score_lm_ruler_part(const kr_score_in *in, kr_score *out) {
    match_all(in, CONTROL_TO_NEWLINE, out);
}

/* KVCache-Factory looks for every reference in the text as it is, whatever the task. */
void kr_score_raw_ruler_all(const kr_score_in *in, kr_score *out) {
    match_all(in, RAW, out);
}
