#include "calib/scorers.h"

#include <math.h>
#include <string.h>

#include "base/json.h"

static void unsupported(const kr_score_in *in, kr_score *out) {
    (void)in;
    out->why = "the reference itself does not support this task";
}

#define NO_SEGMENTER                                                                               \
    "Chinese word scores rest on the jieba segmenter, for which Debian has no C library"

static const kr_scorer scorers[] = {
    {"exact", KR_SHAPE_NUMBER, kr_score_exact, NULL,
     "1 when the prediction is a reference, byte by byte"},
    {"exact_strip", KR_SHAPE_NUMBER, kr_score_exact_strip, NULL,
     "as exact, white space at both ends ignored"},
    {"numeric", KR_SHAPE_NUMBER, kr_score_numeric, NULL,
     "1 when the last number in the prediction equals a reference as a number"},
    {"ruler.string_match_all", KR_SHAPE_NUMBER, kr_score_ruler_all, NULL,
     "share of the references found (RULER)"},
    {"ruler.string_match_part", KR_SHAPE_NUMBER, kr_score_ruler_part, NULL,
     "1 when any reference is found (RULER)"},
    {"kvpress.ruler.string_match_all", KR_SHAPE_NUMBER, kr_score_kvpress_ruler_all, NULL,
     "share of the references found; control characters are deleted first"},
    {"kvpress.ruler.string_match_part", KR_SHAPE_NUMBER, kr_score_kvpress_ruler_part, NULL,
     "1 when any reference is found; control characters are deleted first"},
    {"lm_eval.ruler.part", KR_SHAPE_NUMBER, kr_score_lm_ruler_part, NULL,
     "share of the references found (the harness's partial match)"},
    {"kvcache_factory.ruler", KR_SHAPE_NUMBER, kr_score_raw_ruler_all, NULL,
     "share of the references found in the raw text"},
    {"longbench.qa_f1", KR_SHAPE_NUMBER, kr_score_qa_f1, NULL, "F1 over words, best reference"},
    {"longbench.qa_f1_zh", KR_SHAPE_NUMBER, NULL, NO_SEGMENTER, "F1 over Chinese words"},
    {"longbench.rouge_l", KR_SHAPE_NUMBER, kr_score_rouge_l, NULL,
     "ROUGE-L over sets of words (package rouge 1.0.1), best reference"},
    {"longbench.rouge_l_zh", KR_SHAPE_NUMBER, NULL, NO_SEGMENTER, "ROUGE-L over Chinese words"},
    {"longbench.classification", KR_SHAPE_NUMBER, kr_score_classification, NULL,
     "1 / number of class names found, when the right one is among them"},
    {"longbench.retrieval", KR_SHAPE_NUMBER, kr_score_retrieval, NULL,
     "share of the numbers in the prediction that name the paragraph"},
    {"longbench.retrieval_zh", KR_SHAPE_NUMBER, kr_score_retrieval_zh, NULL,
     "as retrieval, for Chinese paragraph names"},
    {"longbench.count", KR_SHAPE_NUMBER, kr_score_count, NULL,
     "share of the numbers in the prediction that equal the reference"},
    {"longbench.code_sim.levenshtein", KR_SHAPE_NUMBER, kr_score_code_levenshtein, NULL,
     "similarity of the first code line, fuzzywuzzy with python-Levenshtein"},
    {"longbench.code_sim.difflib", KR_SHAPE_NUMBER, kr_score_code_difflib, NULL,
     "similarity of the first code line, fuzzywuzzy with difflib"},
    {"lm_eval.longbench.code_sim", KR_SHAPE_NUMBER, kr_score_code_lm, NULL,
     "code similarity as lm-evaluation-harness computes it"},
    {"longbench_v2.thudm", KR_SHAPE_CHOICE, kr_score_v2_thudm, NULL,
     "letter named as the correct answer"},
    {"longbench_v2.kvpress", KR_SHAPE_BOOL, kr_score_v2_kvpress, NULL,
     "whether the right letter is named anywhere"},
    {"kvpress.math500", KR_SHAPE_BOOL, kr_score_math500, NULL, "text in the first boxed{}"},
    {"kvpress.aime25", KR_SHAPE_BOOL, kr_score_aime25, NULL, "text in the last boxed{}"},
    {"kvpress.needle_rouge", KR_SHAPE_ROUGE, kr_score_needle, NULL,
     "ROUGE-1, -2, -L of a retrieved needle"},
    {"kvpress.loogle.cloze_exact", KR_SHAPE_PAIR, kr_score_cloze_exact, NULL,
     "entities filled in exactly, of all"},
    {"kvpress.loogle.cloze_partial", KR_SHAPE_PAIR, kr_score_cloze_partial, NULL,
     "entities that share a word, of all"},
    {"infinitebench.kv_retrieval", KR_SHAPE_NUMBER, kr_score_kv_retrieval, NULL,
     "the value is a word of the prediction"},
    {"infinitebench.passkey", KR_SHAPE_NUMBER, kr_score_first_number, NULL, "first run of digits"},
    {"infinitebench.number_string", KR_SHAPE_NUMBER, kr_score_first_number, NULL,
     "first run of digits"},
    {"infinitebench.code_run", KR_SHAPE_NUMBER, kr_score_code_run, NULL, "last word as a number"},
    {"infinitebench.code_debug", KR_SHAPE_NUMBER, kr_score_code_debug, NULL,
     "letter or name of the faulty function"},
    {"infinitebench.math_find", KR_SHAPE_NUMBER, kr_score_math_find, NULL, "first number"},
    {"infinitebench.math_calc", KR_SHAPE_NUMBER, kr_score_math_calc, NULL,
     "share of the numbers right before the first wrong one"},
    {"infinitebench.longdialogue_qa_eng", KR_SHAPE_NUMBER, kr_score_longdialogue, NULL,
     "a reference occurs, without regard to case"},
    {"infinitebench.longbook_choice_eng", KR_SHAPE_NUMBER, kr_score_choice, NULL, "letter chosen"},
    {"infinitebench.longbook_qa_eng", KR_SHAPE_NUMBER, kr_score_qa_f1, NULL, "F1 over words"},
    {"infinitebench.longbook_qa_chn", KR_SHAPE_NUMBER, kr_score_qa_chn, NULL, "F1 over characters"},
    {"infinitebench.longbook_sum_eng", KR_SHAPE_NUMBER, unsupported, NULL,
     "no score: the reference stops at this task"},
    {NULL, KR_SHAPE_NUMBER, NULL, NULL, NULL},
};

const kr_scorer *kr_scorers(void) {
    return scorers;
}

const kr_scorer *kr_scorer_find(const char *name) {
    for (const kr_scorer *s = scorers; s->name != NULL; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

kr_score kr_scorer_run(const kr_scorer *s, const kr_score_in *in) {
    kr_score out = {.value = 0};
    if (s->run == NULL) {
        out.why = s->refused;
        return out;
    }
    s->run(in, &out);
    if (out.why == NULL && in->arena->failed)
        out.why = "out of memory";
    if (out.why == NULL && !isfinite(out.value))
        out.why = "the score is not a number";
    if (out.why != NULL)
        out.value = 0;
    return out;
}

static void put_rouge(const kr_score *r, kr_buf *out) {
    static const char *const names[] = {"rouge-1", "rouge-2", "rouge-l"};
    for (int k = 0; k < 3; k++) {
        kr_buf_printf(out, "%s\"%s\":{\"r\":", k == 0 ? "{" : ",", names[k]);
        kr_json_put_double(out, r->part[3 * k]);
        kr_buf_puts(out, ",\"p\":");
        kr_json_put_double(out, r->part[3 * k + 1]);
        kr_buf_puts(out, ",\"f\":");
        kr_json_put_double(out, r->part[3 * k + 2]);
        kr_buf_puts(out, "}");
    }
    kr_buf_puts(out, "}");
}

void kr_score_json(const kr_scorer *s, const kr_score *r, kr_buf *out) {
    const char letter[2] = {r->letter, '\0'};
    if (r->why != NULL) {
        kr_buf_puts(out, "null");
        return;
    }
    switch (s->shape) {
    case KR_SHAPE_NUMBER: kr_json_put_double(out, r->value); break;
    case KR_SHAPE_BOOL: kr_buf_puts(out, r->value > 0 ? "true" : "false"); break;
    case KR_SHAPE_PAIR: kr_buf_printf(out, "[%.0f,%.0f]", r->part[0], r->part[1]); break;
    case KR_SHAPE_CHOICE:
        kr_buf_puts(out, "{\"pred\":");
        if (r->letter == '\0')
            kr_buf_puts(out, "null");
        else
            kr_json_put_string(out, letter);
        kr_buf_printf(out, ",\"judge\":%s}", r->value > 0 ? "true" : "false");
        break;
    case KR_SHAPE_ROUGE: put_rouge(r, out); break;
    }
}
