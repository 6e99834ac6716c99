#include "sample/request.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { MAX_LINE = 64 << 20, DEFAULT_TOKENS = 32, MAX_REQUESTS = 1 << 22 };

/* A row being read. */
typedef struct {
    const char *file;
    size_t line;
    const char *dir; /* name of the file's directory: RULER's task */
    kr_lit *row;
    kr_sample_requests *all;
    kr_error *err;
} reader;

static kr_status bad(const reader *r, const char *what) {
    return kr_fail(r->err, KR_EFORMAT, "%.200s:%zu: %s", r->file, r->line, what);
}

/* A string member, or `def` when it is not there or null. NULL after an error. */
static const char *text(const reader *r, const char *key, const char *def, kr_status *st) {
    const kr_lit *v = kr_lit_get(r->row, key);
    if (v == NULL || v->type == KR_LIT_NULL)
        return def;
    char what[120];
    if (v->type == KR_LIT_STR && strlen(v->s) == v->len)
        return v->s;
    if (v->type == KR_LIT_INT && (strcmp(key, "id") == 0 || strcmp(key, "_id") == 0))
        return v->s;
    snprintf(what, sizeof what, "\"%s\" is no text, expected a string without NUL", key);
    *st = bad(r, what);
    return NULL;
}

static bool has(const reader *r, const char *key) {
    const kr_lit *v = kr_lit_get(r->row, key);
    return v != NULL && v->type != KR_LIT_NULL;
}

/* A list of strings; one string alone counts as a list of one. */
static kr_status list(const reader *r, const char *key, bool needed, const kr_lit **out) {
    kr_lit *v = kr_lit_get(r->row, key);
    char what[120];
    *out = NULL;
    if (v == NULL || v->type == KR_LIT_NULL) {
        if (!needed)
            return KR_OK;
        snprintf(what, sizeof what, "\"%s\" is missing, expected a list of texts", key);
        return bad(r, what);
    }
    if (v->type == KR_LIT_STR) {
        kr_lit *one = kr_arena_alloc(&r->all->arena, sizeof *one);
        if (one == NULL)
            return kr_fail(r->err, KR_ENOMEM, "out of memory for requests");
        *one = (kr_lit){.type = KR_LIT_LIST, .first = v, .count = 1};
        v->next = NULL;
        *out = one;
        return KR_OK;
    }
    bool ok = v->type == KR_LIT_LIST;
    for (const kr_lit *i = ok ? v->first : NULL; i != NULL; i = i->next)
        ok = ok && i->type == KR_LIT_STR;
    if (!ok || (needed && v->count == 0)) {
        snprintf(what, sizeof what, "\"%s\" is no list of texts", key);
        return bad(r, what);
    }
    *out = v;
    return KR_OK;
}

static kr_status count(const reader *r, const char *key, size_t def, size_t *out) {
    const kr_lit *v = kr_lit_get(r->row, key);
    *out = def;
    if (v == NULL || v->type == KR_LIT_NULL)
        return KR_OK;
    double x;
    if (v->type != KR_LIT_INT || !kr_lit_number(v, false, &x) || x < 1 ||
        x > KR_REQUEST_MAX_TOKENS) {
        char what[120];
        snprintf(what, sizeof what, "\"%s\" is no whole number from 1 to %d", key,
                 KR_REQUEST_MAX_TOKENS);
        return bad(r, what);
    }
    *out = (size_t)x;
    return KR_OK;
}

static kr_status join(const reader *r, const char *a, const char *b, const char *c,
                      const char **out) {
    size_t la = strlen(a), lb = strlen(b), lc = strlen(c);
    char *s = kr_arena_alloc(&r->all->arena, la + lb + lc + 1);
    if (s == NULL)
        return kr_fail(r->err, KR_ENOMEM, "out of memory for requests");
    memcpy(s, a, la);
    memcpy(s + la, b, lb);
    memcpy(s + la + lb, c, lc + 1);
    *out = s;
    return KR_OK;
}

/* ---- scorers ---- */

/* Short names for what the tasks here mostly use. */
static const struct {
    const char *name, *full;
} aliases[] = {
    {"string_match_all", "ruler.string_match_all"},
    {"string_match_part", "ruler.string_match_part"},
    {"qa_f1", "longbench.qa_f1"},
    {NULL, NULL},
};

static kr_status find_scorer(const reader *r, const char *name, kr_sample_request *q) {
    const char *full = name;
    for (size_t i = 0; aliases[i].name != NULL; i++)
        if (strcmp(aliases[i].name, name) == 0)
            full = aliases[i].full;
    q->scorer = kr_scorer_find(full);
    char what[400];
    if (q->scorer == NULL) {
        snprintf(what, sizeof what, "no scorer \"%.60s\"; `kvrisk score --list` shows them", name);
        return bad(r, what);
    }
    if (q->scorer->run == NULL) {
        snprintf(what, sizeof what, "scorer %.60s: %.300s", name, q->scorer->refused);
        return bad(r, what);
    }
    return KR_OK;
}

static kr_status benchmark_scorer(const reader *r, kr_family family, kr_sample_request *q) {
    kr_rule rule = kr_rule_for(family, q->task, q->task, "levenshtein");
    if (rule.scorer == NULL || rule.scorer->run == NULL) {
        char what[400];
        snprintf(what, sizeof what, "task \"%.60s\" cannot be scored: %.250s", q->task,
                 rule.scorer != NULL ? rule.scorer->refused
                                     : rule.why != NULL ? rule.why : "unknown");
        return bad(r, what);
    }
    q->scorer = rule.scorer;
    q->prep = rule.prep;
    return KR_OK;
}

/* Longest answers as the benchmarks set them, by the beginning of the task's name. */
static const struct {
    const char *prefix;
    size_t tokens;
} lengths[] = {
    {"niah", 128},       {"vt", 30},          {"cwe", 120},        {"fwe", 50},
    {"qa_", 32},         {"narrativeqa", 128}, {"qasper", 128},    {"multifieldqa", 64},
    {"dureader", 128},   {"gov_report", 512}, {"qmsum", 512},      {"multi_news", 512},
    {"vcsum", 512},      {"trec", 64},        {"samsum", 128},     {"lsht", 64},
    {"lcc", 64},         {"repobench", 64},   {NULL, DEFAULT_TOKENS},
};

static size_t usual_length(const char *task) {
    size_t i = 0;
    while (lengths[i].prefix != NULL &&
           strncmp(task, lengths[i].prefix, strlen(lengths[i].prefix)) != 0)
        i++;
    return lengths[i].tokens;
}

/* ---- the three shapes ---- */

static kr_status read_own(const reader *r, kr_sample_request *q) {
    kr_status st = KR_OK;
    const char *prompt = text(r, "prompt", NULL, &st);
    q->context = text(r, "context", NULL, &st);
    q->question = text(r, "question", "", &st);
    q->prefix = text(r, "answer_prefix", "", &st);
    q->task = text(r, "task", "task", &st);
    q->cluster = text(r, "cluster", NULL, &st);
    const char *scorer = text(r, "scorer", "string_match_all", &st);
    if (st == KR_OK)
        st = count(r, "max_tokens", DEFAULT_TOKENS, &q->max_tokens);
    if (st == KR_OK)
        st = list(r, has(r, "answer") && !has(r, "answers") ? "answer" : "answers", true,
                  &q->answers);
    if (st == KR_OK)
        st = list(r, "all_classes", false, &q->classes);
    if (st != KR_OK)
        return st;
    if ((prompt != NULL) == (q->context != NULL))
        return bad(r, "expected either \"prompt\" or \"context\" with \"question\"");
    if (prompt != NULL && (*q->question != '\0' || *q->prefix != '\0'))
        return bad(r, "\"prompt\" is the whole prompt; \"question\" and \"answer_prefix\" go with "
                   "\"context\"");
    q->whole = prompt != NULL;
    q->context = prompt != NULL ? prompt : q->context;
    return find_scorer(r, scorer, q);
}

static bool ends_with(const char *s, const char *tail) {
    size_t n = strlen(s), m = strlen(tail);
    return n >= m && memcmp(s + n - m, tail, m) == 0;
}

static kr_status read_ruler(const reader *r, kr_sample_request *q) {
    kr_status st = KR_OK;
    const char *input = text(r, "input", NULL, &st);
    const char *prefix = text(r, "answer_prefix", "", &st);
    q->task = text(r, "task", r->dir, &st);
    if (st == KR_OK)
        st = list(r, "outputs", true, &q->answers);
    if (st == KR_OK)
        st = count(r, "max_tokens", usual_length(q->task), &q->max_tokens);
    if (st == KR_OK)
        st = join(r, input, ends_with(input, prefix) ? "" : prefix, "", &q->context);
    if (st != KR_OK)
        return st;
    q->question = q->prefix = "";
    q->whole = true;
    return benchmark_scorer(r, KR_FAMILY_RULER, q);
}

static kr_status read_longbench(const reader *r, kr_sample_request *q) {
    kr_status st = KR_OK;
    const char *input = text(r, "input", "", &st);
    q->context = text(r, "context", NULL, &st);
    q->task = text(r, "dataset", r->dir, &st);
    if (st == KR_OK)
        st = list(r, "answers", true, &q->answers);
    if (st == KR_OK)
        st = list(r, "all_classes", false, &q->classes);
    if (st == KR_OK)
        st = count(r, "max_tokens", usual_length(q->task), &q->max_tokens);
    if (st == KR_OK)
        st = join(r, "\n\n", input, "\n", &q->question);
    if (st != KR_OK)
        return st;
    q->prefix = "Answer:";
    return benchmark_scorer(r, KR_FAMILY_LONGBENCH, q);
}

static kr_status read_id(const reader *r, kr_sample_request *q) {
    kr_status st = KR_OK;
    const char *id = text(r, has(r, "id") ? "id" : "_id", NULL, &st);
    if (st != KR_OK)
        return st;
    if (id == NULL) {
        char made[32];
        int n = snprintf(made, sizeof made, "line-%zu", r->line);
        id = kr_arena_copy(&r->all->arena, made, (size_t)n);
        if (id == NULL)
            return kr_fail(r->err, KR_ENOMEM, "out of memory for requests");
    }
    q->id = id;
    q->split = text(r, "split", "cal", &st);
    if (st != KR_OK)
        return st;
    if (strcmp(q->split, "cal") != 0 && strcmp(q->split, "test") != 0)
        return bad(r, "\"split\" is neither \"cal\" nor \"test\"");
    return *id != '\0' ? KR_OK : bad(r, "\"id\" is empty");
}

static kr_status read_row(reader *r, const char *line, size_t len, kr_sample_request *q) {
    kr_error e = {KR_OK, ""};
    const char *copy = kr_arena_copy(&r->all->arena, line, len);
    if (copy == NULL)
        return kr_fail(r->err, KR_ENOMEM, "out of memory for requests");
    if (kr_lit_parse(KR_LIT_JSON, copy, len, &r->all->arena, &r->row, NULL, &e) != KR_OK)
        return e.code == KR_ENOMEM ? kr_fail(r->err, KR_ENOMEM, "out of memory for requests")
                                   : bad(r, e.msg);
    if (r->row->type != KR_LIT_DICT)
        return bad(r, "expected one JSON object per line");
    q->line = r->line;
    kr_status st = read_id(r, q);
    if (st != KR_OK)
        return st;
    if (has(r, "input") && has(r, "outputs"))
        return read_ruler(r, q);
    return has(r, "input") && has(r, "context") ? read_longbench(r, q) : read_own(r, q);
}

/* ---- files ---- */

static int by_id(const void *a, const void *b) {
    const kr_sample_request *const *x = a, *const *y = b;
    int c = strcmp((*x)->id, (*y)->id);
    return c != 0 ? c : (*x)->line < (*y)->line ? -1 : 1;
}

static kr_status check_ids(const reader *r, const kr_sample_requests *all) {
    const kr_sample_request **p = malloc((all->n + 1) * sizeof *p);
    if (p == NULL)
        return kr_fail(r->err, KR_ENOMEM, "out of memory for requests");
    for (size_t i = 0; i < all->n; i++)
        p[i] = &all->item[i];
    qsort(p, all->n, sizeof *p, by_id);
    kr_status st = KR_OK;
    for (size_t i = 1; i < all->n && st == KR_OK; i++)
        if (strcmp(p[i]->id, p[i - 1]->id) == 0)
            st = kr_fail(r->err, KR_EFORMAT, "%.200s:%zu: id \"%.80s\" was used on line %zu",
                         r->file, p[i]->line, p[i]->id, p[i - 1]->line);
    free(p);
    return st;
}

/* Name of the directory that holds the file. */
static const char *directory(const char *path, char *buf, size_t cap) {
    const char *end = strrchr(path, '/');
    const char *from = end;
    while (from != NULL && from > path && from[-1] != '/')
        from--;
    snprintf(buf, cap, "%.*s", from != NULL ? (int)(end - from) : 0, from != NULL ? from : "");
    return *buf != '\0' ? buf : "task";
}

static kr_status add(reader *r, const char *line, size_t len, size_t *cap) {
    kr_sample_requests *all = r->all;
    if (all->n == MAX_REQUESTS)
        return bad(r, "too many requests in one file");
    if (all->n == *cap) {
        size_t more = *cap == 0 ? 64 : 2 * *cap;
        kr_sample_request *p = realloc(all->item, more * sizeof *p);
        if (p == NULL)
            return kr_fail(r->err, KR_ENOMEM, "out of memory for requests");
        all->item = p;
        *cap = more;
    }
    kr_sample_request q = {0};
    kr_status st = read_row(r, line, len, &q);
    if (st == KR_OK)
        all->item[all->n++] = q;
    return st;
}

static kr_status read_lines(reader *r, kr_lines *in) {
    const char *line;
    size_t len, cap = 0;
    for (;;) {
        kr_status st = kr_lines_next(in, &line, &len, r->err);
        if (st != KR_OK || line == NULL)
            return st;
        r->line = kr_lines_number(in);
        size_t blank = 0;
        while (blank < len && strchr(" \t\r\n", line[blank]) != NULL && line[blank] != '\0')
            blank++;
        if (blank < len && (st = add(r, line, len, &cap)) != KR_OK)
            return st;
    }
}

kr_status kr_sample_requests_read(const char *path, kr_sample_requests **out, kr_error *err) {
    char dir[128];
    kr_lines *in = NULL;
    kr_sample_requests *all = calloc(1, sizeof *all);
    if (all == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for requests");
    const char *task = directory(path, dir, sizeof dir);
    const char *kept = kr_arena_copy(&all->arena, task, strlen(task));
    reader r = {.file = path, .all = all, .err = err, .dir = kept};
    kr_status st = kept == NULL ? kr_fail(err, KR_ENOMEM, "out of memory for requests")
                                : kr_lines_open(path, MAX_LINE, &in, err);
    if (st == KR_OK)
        st = read_lines(&r, in);
    if (st == KR_OK && all->n == 0)
        st = kr_fail(err, KR_EFORMAT, "%.200s: holds no request", path);
    if (st == KR_OK)
        st = check_ids(&r, all);
    if (st == KR_OK)
        snprintf(all->sha256, sizeof all->sha256, "%s", kr_lines_sha256(in));
    kr_lines_close(in);
    if (st == KR_OK)
        *out = all;
    else
        kr_sample_requests_free(all);
    return st;
}

void kr_sample_requests_free(kr_sample_requests *r) {
    if (r == NULL)
        return;
    free(r->item);
    kr_arena_free(&r->arena);
    free(r);
}

const kr_sample_request *kr_sample_requests_find(const kr_sample_requests *r, const char *id) {
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->item[i].id, id) == 0)
            return &r->item[i];
    return NULL;
}

double kr_sample_score(const kr_sample_request *r, const char *answer, size_t len, kr_arena *scratch,
                        const char **why) {
    kr_str s = kr_rule_prepare(r->prep, (kr_str){answer, len});
    kr_arena_reset(scratch);
    kr_score_in in = {.prediction = s.s, .prediction_len = s.len, .answers = r->answers,
                      .classes = r->classes, .arena = scratch, .rouge_limit = KR_ROUGE_LIMIT};
    kr_score got = kr_scorer_run(r->scorer, &in);
    *why = got.why;
    if (got.why == NULL && !isfinite(got.value))
        *why = "the score is not finite";
    return *why == NULL ? got.value : (double)NAN;
}
