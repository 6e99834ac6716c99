#include "calib/scorer_lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "calib/scorer_rules.h"

/* --- data sets -------------------------------------------------------------------------------------- */

static kr_score_in input_of(const kr_lit *row, kr_arena *arena) {
    const kr_lit *p = kr_lit_get(row, "prediction"), *a = kr_lit_get(row, "answers");
    const kr_lit *c = kr_lit_get(row, "all_classes");
    kr_score_in in = {.prediction = "", .arena = arena};
    if (p != NULL && p->type == KR_LIT_STR) {
        in.prediction = p->s;
        in.prediction_len = p->len;
    }
    in.answers = a != NULL && a->type == KR_LIT_LIST ? a : NULL;
    in.classes = c != NULL && c->type == KR_LIT_LIST ? c : NULL;
    return in;
}

/* 100 x mean, rounded as Python's round(x, 2) does: to the nearest decimal of the exact double. */
static void put_percent(kr_buf *out, double total, size_t n) {
    char text[64];
    if (n == 0) {
        kr_buf_puts(out, "null");
        return;
    }
    snprintf(text, sizeof text, "%.2f", 100 * total / (double)n);
    kr_json_put_double(out, strtod(text, NULL));
}

typedef kr_rule choose(const kr_lit *line);

/* Sums the rows whose length falls in [from, below). */
static size_t sum_rows(const kr_lit *line, choose *rule_of, double from, double below,
                       kr_arena *arena, double *total, const char **why) {
    const kr_lit *rows = kr_lit_get(line, "rows"), *classes = kr_lit_get(line, "all_classes");
    kr_rule rule = rule_of(line);
    size_t n = 0;
    *total = 0;
    if (rows == NULL || rows->type != KR_LIT_LIST || rule.why != NULL || rule.scorer == NULL) {
        *why = rule.why != NULL ? rule.why : "no rows";
        return 0;
    }
    for (const kr_lit *r = rows->first; r != NULL && *why == NULL; r = r->next) {
        double length = 0;
        kr_score_in in = input_of(r, arena);
        kr_lit_number(kr_lit_get(r, "length"), false, &length);
        if (length < from || length >= below)
            continue;
        kr_str p =
            kr_rule_prepare(rule.prep, kr_str_valid(arena, in.prediction, in.prediction_len));
        in.prediction = p.s;
        in.prediction_len = p.len;
        if (in.classes == NULL && classes != NULL && classes->type == KR_LIT_LIST)
            in.classes = classes;
        kr_score s = kr_scorer_run(rule.scorer, &in);
        *why = s.why;
        *total += s.value;
        n++;
    }
    return n;
}

static kr_rule ruler_all(const kr_lit *line) {
    (void)line;
    return (kr_rule){kr_scorer_find("ruler.string_match_all"), KR_PREP_NONE, NULL};
}

static kr_rule ruler_part(const kr_lit *line) {
    (void)line;
    return (kr_rule){kr_scorer_find("ruler.string_match_part"), KR_PREP_NONE, NULL};
}

static const char *text_of(const kr_lit *line, const char *name, const char *otherwise) {
    const kr_lit *v = kr_lit_get(line, name);
    return v != NULL && v->type == KR_LIT_STR ? v->s : otherwise;
}

static kr_rule by_variant(const kr_lit *line, const char *benchmark) {
    bool kvpress = strcmp(text_of(line, "variant", "thudm"), "kvpress") == 0;
    return kr_rule_for(kvpress ? KR_FAMILY_KVPRESS : KR_FAMILY_LONGBENCH, benchmark,
                       text_of(line, "dataset", ""), text_of(line, "code_sim", "levenshtein"));
}

static kr_rule longbench(const kr_lit *line) {
    return by_variant(line, "longbench");
}

static kr_rule longbench_e(const kr_lit *line) {
    return by_variant(line, "longbench-e");
}

static void whole(const kr_lit *line, choose *rule, kr_arena *a, kr_buf *score, const char **why) {
    double total;
    size_t n = sum_rows(line, rule, -INFINITY, INFINITY, a, &total, why);
    if (*why == NULL)
        put_percent(score, total, n);
}

static void ruler_dataset_all(const kr_lit *line, kr_arena *a, kr_buf *score, const char **why) {
    whole(line, ruler_all, a, score, why);
}

static void ruler_dataset_part(const kr_lit *line, kr_arena *a, kr_buf *score, const char **why) {
    whole(line, ruler_part, a, score, why);
}

static void longbench_dataset(const kr_lit *line, kr_arena *a, kr_buf *score, const char **why) {
    whole(line, longbench, a, score, why);
}

/* LongBench-E: three buckets of length, null where one is empty. */
static void longbench_e_dataset(const kr_lit *line, kr_arena *a, kr_buf *score, const char **why) {
    static const struct {
        const char *name;
        double from, below;
    } bucket[] = {{"0-4k", -INFINITY, 4000}, {"4-8k", 4000, 8000}, {"8k+", 8000, INFINITY}};
    for (size_t i = 0; i < 3 && *why == NULL; i++) {
        double total;
        size_t n = sum_rows(line, longbench_e, bucket[i].from, bucket[i].below, a, &total, why);
        kr_buf_printf(score, "%s\"%s\":", i == 0 ? "{" : ",", bucket[i].name);
        put_percent(score, total, n);
    }
    kr_buf_puts(score, "}");
}

/* --- list cells -------------------------------------------------------------------------------------- */

static void put_value(const kr_lit *v, kr_arena *a, kr_buf *out) {
    char *copy;
    switch (v->type) {
    case KR_LIT_NULL: kr_buf_puts(out, "null"); return;
    case KR_LIT_BOOL: kr_buf_puts(out, v->yes ? "true" : "false"); return;
    case KR_LIT_INT:
    case KR_LIT_FLOAT: kr_json_put_double(out, strtod(v->s, NULL)); return;
    case KR_LIT_STR:
        if ((copy = kr_arena_copy(a, v->s, v->len)) != NULL)
            kr_json_put_string(out, copy);
        return;
    case KR_LIT_LIST:
    case KR_LIT_DICT: break;
    }
    kr_buf_puts(out, "[");
    for (const kr_lit *m = v->first; m != NULL; m = m->next) {
        put_value(m, a, out);
        if (m->next != NULL)
            kr_buf_puts(out, ",");
    }
    kr_buf_puts(out, "]");
}

static void parse_cell(const kr_lit *line, kr_arena *a, kr_buf *score, const char **why) {
    const kr_lit *text = kr_lit_get(line, "text");
    kr_lit *v = NULL;
    if (text == NULL || text->type != KR_LIT_STR)
        *why = "no \"text\"";
    else if (kr_lit_parse(KR_LIT_CELL, text->s, text->len, a, &v, NULL, NULL) != KR_OK)
        *why = "not a list";
    else
        put_value(v, a, score);
}

static const kr_line_scorer line_scorers[] = {
    {"longbench.dataset", "100 x mean over \"rows\" of \"dataset\" (\"variant\": thudm or kvpress)",
     longbench_dataset},
    {"longbench_e.dataset", "the same in three buckets of length", longbench_e_dataset},
    {"ruler.dataset_all", "100 x mean of string_match_all over \"rows\"", ruler_dataset_all},
    {"ruler.dataset_part", "100 x mean of string_match_part over \"rows\"", ruler_dataset_part},
    {"parse.numpy_str_list", "the list cell in \"text\"", parse_cell},
    {"parse.numpy_int", "the list cell in \"text\"", parse_cell},
    {"parse.python_list", "the list cell in \"text\"", parse_cell},
    {NULL, NULL, NULL},
};

const kr_line_scorer *kr_line_scorers(void) {
    return line_scorers;
}

/* --- lines ----------------------------------------------------------------------------------------------- */

kr_status kr_line_score_open(kr_line_score *s, const char *scorer, kr_error *err) {
    s->scorer = kr_scorer_find(scorer);
    s->line_scorer = NULL;
    for (size_t i = 0; line_scorers[i].name != NULL; i++)
        if (strcmp(line_scorers[i].name, scorer) == 0)
            s->line_scorer = &line_scorers[i];
    if (s->scorer == NULL && s->line_scorer == NULL)
        return kr_fail(err, KR_EINVAL, "no scorer is named '%s'; --list shows them", scorer);
    if (s->scorer != NULL && s->scorer->run == NULL)
        return kr_fail(err, KR_EFORMAT, "scorer '%s' is refused: %s", scorer, s->scorer->refused);
    return KR_OK;
}

static void score_line(kr_line_score *s, const kr_lit *line, kr_buf *score, const char **why) {
    if (s->line_scorer != NULL) {
        s->line_scorer->run(line, &s->arena, score, why);
        return;
    }
    kr_score_in in = input_of(line, &s->arena);
    const kr_lit *p = kr_lit_get(line, "prediction");
    in.rouge_limit = s->rouge_limit;
    in.coerce = s->coerce;
    if (p == NULL || p->type != KR_LIT_STR) {
        *why = "no \"prediction\" text";
        return;
    }
    kr_score r = kr_scorer_run(s->scorer, &in);
    *why = r.why;
    if (r.why == NULL)
        kr_score_json(s->scorer, &r, score);
}

/* The line's own text up to its last brace, without members named like those that are added. */
static void put_line(const char *line, const kr_lit *v, kr_arena *a, kr_buf *out) {
    bool first = true;
    kr_buf_puts(out, "{");
    for (const kr_lit *m = v->first; m != NULL; m = m->next) {
        bool ours = strcmp(m->key, "score") == 0 || strcmp(m->key, "error") == 0;
        char *key = kr_arena_copy(a, m->key, m->key_len);
        if (ours || key == NULL)
            continue;
        kr_buf_puts(out, first ? "" : ",");
        kr_json_put_string(out, key);
        kr_buf_puts(out, ":");
        kr_buf_add(out, line + m->from, m->to - m->from);
        first = false;
    }
    kr_buf_puts(out, first ? "" : ",");
}

kr_status kr_line_score_run(kr_line_score *s, const char *line, size_t len, const char *file,
                            size_t number, kr_buf *out, kr_error *err) {
    kr_lit *v = NULL;
    kr_error inner = {KR_OK, ""};
    kr_buf score = {0};
    const char *why = NULL;
    kr_arena_reset(&s->arena);
    kr_status st = kr_lit_parse(KR_LIT_JSON, line, len, &s->arena, &v, NULL, &inner);
    if (st != KR_OK)
        return kr_fail(err, st, "%s:%zu: not JSON: %s", file, number, inner.msg);
    if (v->type != KR_LIT_DICT)
        return kr_fail(err, KR_EFORMAT, "%s:%zu: a JSON object is expected", file, number);
    score_line(s, v, &score, &why);
    put_line(line, v, &s->arena, out);
    kr_buf_puts(out, "\"score\":");
    kr_buf_puts(out, why == NULL ? kr_buf_text(&score) : "null");
    if (why != NULL) {
        kr_buf_puts(out, ",\"error\":");
        kr_json_put_string(out, why);
    }
    kr_buf_puts(out, "}\n");
    bool failed = out->failed || score.failed;
    kr_buf_free(&score);
    return failed ? kr_fail(err, KR_ENOMEM, "out of memory") : KR_OK;
}

void kr_line_score_close(kr_line_score *s) {
    kr_arena_free(&s->arena);
}
