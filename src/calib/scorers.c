#include "calib/scorers.h"

#include <math.h>
#include <string.h>

#include "base/json.h"

static const kr_scorer scorers[] = {
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
    case KR_SHAPE_NUMBER:
        kr_json_put_double(out, r->value);
        break;
    case KR_SHAPE_BOOL:
        kr_buf_puts(out, r->value > 0 ? "true" : "false");
        break;
    case KR_SHAPE_PAIR:
        kr_buf_printf(out, "[%.0f,%.0f]", r->part[0], r->part[1]);
        break;
    case KR_SHAPE_CHOICE:
        kr_buf_puts(out, "{\"pred\":");
        if (r->letter == '\0')
            kr_buf_puts(out, "null");
        else
            kr_json_put_string(out, letter);
        kr_buf_printf(out, ",\"judge\":%s}", r->value > 0 ? "true" : "false");
        break;
    case KR_SHAPE_ROUGE:
        put_rouge(r, out);
        break;
    }
}
