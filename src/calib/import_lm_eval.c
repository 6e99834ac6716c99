/* import_lm_eval.c - sample logs of EleutherAI's lm-evaluation-harness: samples_TASK_DATE.jsonl beside
 * results_DATE.json, or MODELARGS_TASK.jsonl with one array (before 0.4.3). */
#include "calib/import_core.h"

#include <stdlib.h>
#include <string.h>

static bool is_samples(const char *path) {
    const char *base = kr_path_base(path);
    return kr_starts(base, "samples_") && kr_ends(base, ".jsonl");
}

/* TASK and DATE of samples_TASK_DATE.jsonl; a task may contain underscores, a date does not. */
static void new_name(kr_import *im, const char *base, const char **task, const char **date) {
    const char *s = kr_import_text(im, "%.*s", (int)(strlen(base) - 14), base + 8);
    const char *mark = strrchr(s, '_');
    *date = mark != NULL ? mark + 1 : "";
    *task = mark != NULL ? kr_import_text(im, "%.*s", (int)(mark - s), s) : s;
}

/* MODELARGS_TASK.jsonl: the task follows the first single `_` after the last `=`. */
static const char *old_task(kr_import *im, const char *base) {
    const char *s = kr_import_text(im, "%.*s", (int)(strrchr(base, '.') - base), base);
    const char *p = strrchr(s, '=');
    for (p = p != NULL ? p : s; (p = strchr(p, '_')) != NULL; p += strspn(p, "_"))
        if (p[1] != '_' && p[1] != '\0')
            return p + 1;
    return s;
}

static bool old_samples(kr_import *im, const char *path) {
    const char *base = kr_path_base(path);
    if ((!kr_ends(base, ".jsonl") && !kr_ends(base, ".json")) || strchr(base, '_') == NULL)
        return false;
    kr_arena_reset(&im->row);
    const kr_lit *row = kr_json_first(path, &im->row);
    return kr_lit_get(row, "doc_id") != NULL && kr_lit_get(row, "resps") != NULL;
}

static kr_status add_run(kr_import *im, const char *path, bool old, kr_error *err) {
    const char *base = kr_path_base(path), *task = base, *date = "";
    char *d = kr_path_dir(path);
    const char *dir = kr_import_text(im, "%s", d != NULL ? d : "");
    free(d);
    if (old)
        task = old_task(im, base);
    else
        new_name(im, base, &task, &date);
    kr_run *r = kr_import_run_new(im, path, kr_import_text(im, "%s/%s", dir, base), err);
    if (r == NULL)
        return err->code;
    r->family = KR_FAMILY_LM_EVAL;
    r->dataset = "lm-eval";
    r->subset = task;
    r->press = dir;
    r->rerun_of = kr_import_text(im, "%s %s", dir, task);
    r->column = date;
    return KR_OK;
}

/* A rerun has a later date in the same folder, and the newest counts: rank 0 is the latest. */
static void rank_by_date(kr_import *im) {
    for (size_t i = 0; i < im->n_runs; i++)
        for (size_t k = 0; k < im->n_runs; k++)
            im->runs[i].rerun += strcmp(im->runs[i].rerun_of, im->runs[k].rerun_of) == 0 &&
                                 strcmp(im->runs[k].column, im->runs[i].column) > 0;
    for (size_t i = 0; i < im->n_runs; i++)
        im->runs[i].column = NULL;
}

static kr_status discover(kr_import *im, kr_error *err) {
    kr_status st = KR_OK;
    for (size_t i = 0; i < im->tree.n && st == KR_OK; i++) {
        const char *path = im->tree.path[i];
        if (is_samples(path))
            st = add_run(im, path, false, err);
        else if (old_samples(im, path))
            st = add_run(im, path, true, err);
    }
    rank_by_date(im);
    kr_runs_by_difference(im, true);
    return st;
}

static int probe(const kr_tree *t, const char **why) {
    *why = "samples_TASK_DATE.jsonl files";
    for (size_t i = 0; i < t->n; i++)
        if (is_samples(t->path[i]))
            return 88;
    *why = "rows with doc_id and resps";
    kr_arena a = {0};
    int fit = 0;
    for (size_t i = 0; i < t->n && i < 64 && fit == 0; i++)
        if (kr_ends(t->path[i], ".jsonl") || kr_ends(t->path[i], ".json")) {
            const kr_lit *row = kr_json_first(t->path[i], &a);
            fit = kr_lit_get(row, "doc_id") != NULL && kr_lit_get(row, "resps") != NULL ? 70 : 0;
        }
    kr_arena_free(&a);
    return fit;
}

/* --- rows ------------------------------------------------------------------------------------------ */

static const kr_lit *first_item(const kr_lit *v) {
    while (v != NULL && v->type == KR_LIT_LIST)
        v = v->first;
    return v;
}

/* A list of references may have become its Python text in `target`. */
static const kr_lit *answers_of(kr_import *im, const kr_lit *row) {
    static const char *const places[] = {"doc.answers", "doc.outputs", "doc.answer", "doc.target",
                                         "target"};
    const kr_lit *v = NULL;
    kr_lit *list = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && v == NULL; i++)
        v = kr_lit_path(row, places[i]);
    if (v != NULL && v->type == KR_LIT_STR && v->len > 1 && v->s[0] == '[' &&
        kr_lit_parse(KR_LIT_CELL, v->s, v->len, &im->row, &list, NULL, NULL) == KR_OK)
        v = list;
    return kr_lit_as_list(&im->row, v);
}

/* The row's score is under its first metric's name; RULER writes -1 under all lengths but the row's. */
static bool native_score(const kr_lit *row, double *out) {
    const kr_lit *metrics = kr_lit_get(row, "metrics");
    for (const kr_lit *m = metrics != NULL ? metrics->first : NULL; m != NULL; m = m->next) {
        double x;
        if (m->type != KR_LIT_STR || !kr_lit_number(kr_lit_get(row, m->s), false, &x) || x == -1)
            continue;
        *out = x;
        return true;
    }
    return false;
}

/* One filter is kept: the first in the file. Before 0.4.7 filters are not named and the rows of all
 * follow one another, so that doc_id begins again at its first value. */
static bool other_filter(kr_import *im, kr_run *run, const kr_lit *row, const kr_lit *id) {
    const kr_lit *filter = kr_lit_get(row, "filter");
    const char *name = filter != NULL && filter->type == KR_LIT_STR ? filter->s : NULL;
    if (run->rows == 0) {
        run->column = kr_import_text(im, "%s", name != NULL ? name : "");
        run->variant = 0;
    }
    if (name != NULL)
        return strcmp(name, run->column) != 0;
    kr_key k = kr_key_start();
    kr_key_add(&k, run->subset, strlen(run->subset));
    kr_key_add(&k, id->s, id->len);
    run->variant |= run->rows > 0 && (k.a | 1) == im->rows[0].id_key;
    return run->variant != 0;
}

static uint64_t hash_of(const kr_lit *v) {
    kr_key k = kr_key_start();
    if (v == NULL)
        return 0;
    kr_key_add(&k, v->s, v->len);
    return k.a | 1;
}

/* doc_hash tells versions of the data apart, prompt_hash what the model was asked. */
static void take_hashes(kr_row_in *in, const kr_lit *row, const kr_lit *id) {
    in->key = kr_key_start();
    kr_key_add(&in->key, id->s, id->len);
    in->data = hash_of(kr_lit_get(row, "doc_hash"));
    in->prompt = hash_of(kr_lit_get(row, "prompt_hash"));
}

static kr_status take_row(kr_import *im, kr_run *run, const kr_lit *row, const char *text,
                          size_t line, kr_error *err) {
    const kr_lit *id = kr_lit_get(row, "doc_id");
    const kr_lit *p = first_item(kr_lit_get(row, "filtered_resps"));
    double x = 0;
    (void)text;
    if (id == NULL || id->type != KR_LIT_INT)
        return kr_fail(err, KR_EFORMAT, "%s:%zu: no whole number \"doc_id\"", run->path, line);
    if (other_filter(im, run, row, id)) {
        run->surplus++;
        return KR_OK;
    }
    if (p == NULL)
        p = first_item(kr_lit_get(row, "resps"));
    kr_row_in in = {.task = run->subset,
                    .task_len = strlen(run->subset),
                    .line = line,
                    .id = id->s,
                    .id_len = id->len,
                    .prediction = ""};
    if (p != NULL && p->type == KR_LIT_STR) {
        in.prediction = p->s;
        in.prediction_len = p->len;
    }
    in.answers = answers_of(im, row);
    in.has_native = native_score(row, &x);
    in.native = x;
    in.native_only = kr_rule_for(KR_FAMILY_LM_EVAL, NULL, run->subset, NULL).why != NULL;
    if (in.has_native && !(x >= 0 && x <= 1))
        return kr_fail(err, KR_EFORMAT,
                       "%s:%zu: the score %g is outside 0 to 1; kvrisk needs a utility", run->path,
                       line, x);
    take_hashes(&in, row, id);
    return kr_run_row(im, run, &in, err);
}

static kr_status read_run(kr_import *im, kr_run *run, kr_error *err) {
    kr_status st = kr_import_json(im, run, take_row, err);
    if (st == KR_OK && run->surplus > 0)
        kr_import_say(im, KR_NOTE_INFO, "%s: %zu rows of other filters than '%s' are not counted.",
                      run->name, run->surplus,
                      run->column != NULL && *run->column ? run->column : "the first");
    run->surplus = 0;
    return st;
}

const kr_importer kr_importer_lm_eval = {
    "lm-eval", "lm-evaluation-harness: samples_TASK_DATE.jsonl", probe, discover, read_run, NULL,
};
