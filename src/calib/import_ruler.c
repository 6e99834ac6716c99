/* import_ruler.c - predictions of NVIDIA RULER: ROOT/MODEL/BENCHMARK/LENGTH/pred/TASK.jsonl, before
 * its evaluation also in chunks TASK-0.jsonl, TASK-1.jsonl. */
#include "calib/import_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/csv.h"

/* TASK of TASK.jsonl or TASK-3.jsonl; *chunk tells which. */
static const char *task_of(kr_import *im, const char *base, bool *chunk) {
    size_t n = strlen(base) - 6;
    const char *dash = NULL;
    for (size_t i = 0; i < n; i++)
        if (base[i] == '-')
            dash = base + i;
    *chunk = dash != NULL && strspn(dash + 1, "0123456789") == (size_t)(base + n - dash - 1) &&
             dash + 1 < base + n;
    return kr_import_text(im, "%.*s", *chunk ? (int)(dash - base) : (int)n, base);
}

static bool digits_only(const char *s) {
    return *s != '\0' && strspn(s, "0123456789") == strlen(s);
}

/* A file directly below LENGTH/pred. */
static bool is_prediction(const char *path) {
    char *dir = kr_path_dir(path), *up = dir != NULL ? kr_path_dir(dir) : NULL;
    bool yes = up != NULL && kr_ends(path, ".jsonl") && strcmp(kr_path_base(dir), "pred") == 0 &&
               digits_only(kr_path_base(up));
    free(dir);
    free(up);
    return yes;
}

static kr_run *find_run(kr_import *im, const char *dir, const char *task) {
    for (size_t i = 0; i < im->n_runs; i++)
        if (strcmp(im->runs[i].subset, task) == 0 && strcmp(im->runs[i].rerun_of, dir) == 0)
            return &im->runs[i];
    return NULL;
}

static kr_status add_part(kr_import *im, kr_run *r, const char *path, kr_error *err) {
    const char **p = kr_arena_alloc(&im->arena, (r->n_parts + 1) * sizeof *p);
    if (p == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    if (r->n_parts > 0)
        memcpy(p, r->parts, r->n_parts * sizeof *p);
    p[r->n_parts++] = path;
    r->parts = p;
    return KR_OK;
}

/* The merged file, written by the evaluation, makes the chunks beside it superfluous. */
static bool merged_exists(const kr_import *im, const char *dir, const char *task) {
    size_t n = strlen(dir), t = strlen(task);
    for (size_t i = 0; i < im->tree.n; i++) {
        const char *p = im->tree.path[i];
        if (kr_starts(p, dir) && p[n] == '/' && kr_starts(p + n + 1, task) &&
            strcmp(p + n + 1 + t, ".jsonl") == 0)
            return true;
    }
    return false;
}

static kr_status add_file(kr_import *im, const char *path, kr_error *err) {
    bool chunk;
    const char *task = task_of(im, kr_path_base(path), &chunk);
    char *d = kr_path_dir(path), *u = d != NULL ? kr_path_dir(d) : NULL;
    const char *dir = kr_import_text(im, "%s", d != NULL ? d : "");
    const char *length = kr_import_text(im, "%s", u != NULL ? kr_path_base(u) : "");
    char *top = u != NULL ? kr_path_dir(u) : NULL;
    const char *label = kr_import_text(im, "%s", top != NULL ? top : "");
    free(d);
    free(u);
    free(top);
    if (chunk && merged_exists(im, dir, task))
        return KR_OK;
    kr_run *r = chunk ? find_run(im, dir, task) : NULL;
    if (r != NULL)
        return add_part(im, r, path, err);
    r = kr_import_run_new(im, path, kr_import_text(im, "%s %s", label, task), err);
    if (r == NULL)
        return err->code;
    r->family = KR_FAMILY_RULER;
    r->dataset = "ruler";
    r->subset = task;
    r->setting = kr_import_text(im, "length %s", length);
    r->press = label;
    r->rerun_of = dir;
    return KR_OK;
}

static kr_status discover(kr_import *im, kr_error *err) {
    kr_status st = KR_OK;
    for (size_t i = 0; i < im->tree.n && st == KR_OK; i++)
        if (is_prediction(im->tree.path[i]))
            st = add_file(im, im->tree.path[i], err);
    for (size_t i = 0; i < im->n_runs; i++)
        im->runs[i].rerun_of = NULL;
    kr_runs_by_difference(im, true);
    return st;
}

static int probe(const kr_tree *t, const char **why) {
    *why = "LENGTH/pred/TASK.jsonl files";
    for (size_t i = 0; i < t->n; i++)
        if (is_prediction(t->path[i]))
            return 85;
    return 0;
}

/* `index` is no identity: niah tasks since 2025 store an offset there. */
static kr_status take_row(kr_import *im, kr_run *run, const kr_lit *row, const char *text,
                          size_t line, kr_error *err) {
    const kr_lit *pred = kr_lit_get(row, "pred"), *input = kr_lit_get(row, "input");
    const kr_lit *outputs = kr_lit_get(row, "outputs"), *length = kr_lit_get(row, "length");
    double x = 0;
    (void)text;
    if (pred == NULL || pred->type != KR_LIT_STR)
        return kr_fail(err, KR_EFORMAT, "%s:%zu: no \"pred\" text", run->path, line);
    if (outputs == NULL)
        outputs = kr_lit_get(row, "output");
    kr_row_in in = {.task = run->subset,
                    .task_len = strlen(run->subset),
                    .line = line,
                    .prediction = pred->s,
                    .prediction_len = pred->len};
    in.answers = kr_lit_as_list(&im->row, outputs);
    in.key = kr_key_start();
    if (input != NULL)
        kr_key_add(&in.key, input->s, input->len);
    kr_key_add_answers(&in.key, in.answers);
    if (kr_lit_number(length, false, &x) && x > 0 && x < 1e9)
        in.tokens = (int32_t)x;
    return kr_run_row(im, run, &in, err);
}

/* --- summary.csv beside the predictions: one column per task, rows Tasks, Score, Nulls ---------- */

static void keep_record(kr_import *im, const kr_csv *c, const char **cells, size_t max) {
    for (size_t k = 1; k < kr_csv_columns(c) && k < max; k++) {
        kr_csv_field f = kr_csv_get(c, k);
        cells[k] = kr_import_text(im, "%.*s", (int)(f.len < 200 ? f.len : 200), f.s);
    }
}

enum { MAX_SUMMARY = 64 };

/* Finds the score of a task in one summary; false when it is not there. */
static bool summary_score(kr_import *im, const char *path, const char *task, double *out) {
    const char *tasks[MAX_SUMMARY] = {NULL}, *scores[MAX_SUMMARY] = {NULL};
    kr_source_file *f = NULL;
    kr_csv *c = NULL;
    bool got = true, found = false;
    if (kr_source_open(path, &f, NULL) != KR_OK)
        return false;
    kr_csv_opts o = {.name = path, .max_field = 4096, .lenient = true};
    if (kr_csv_open(&o, kr_source_read, f, &c, NULL) == KR_OK)
        while (kr_csv_next(c, &got, NULL) == KR_OK && got) {
            kr_csv_field label = kr_csv_get(c, 0);
            if (label.len == 5 && memcmp(label.s, "Tasks", 5) == 0)
                keep_record(im, c, tasks, MAX_SUMMARY);
            if (label.len == 5 && memcmp(label.s, "Score", 5) == 0)
                keep_record(im, c, scores, MAX_SUMMARY);
        }
    for (size_t k = 1; k < MAX_SUMMARY && !found; k++) {
        found = tasks[k] != NULL && scores[k] != NULL && strcmp(tasks[k], task) == 0;
        *out = found ? strtod(scores[k], NULL) : 0;
    }
    kr_csv_free(c);
    kr_source_close(f);
    return found;
}

static void compare_summary(kr_import *im, const kr_run *run) {
    char *dir = kr_path_dir(run->path);
    double sum = 0, stated = 0;
    size_t n = 0, len = dir != NULL ? strlen(dir) : 0;
    for (size_t t = 0; t < run->n_sum; t++) {
        sum += run->sum[t];
        n += run->count[t];
    }
    for (size_t i = 0; dir != NULL && n > 0 && i < im->tree.n; i++) {
        const char *p = im->tree.path[i];
        if (!kr_starts(p, dir) || !kr_starts(p + len, "/summary") || !kr_ends(p, ".csv") ||
            !summary_score(im, p, run->subset, &stated))
            continue;
        if (fabs(100 * sum / (double)n - stated) > 0.005 + 1e-9)
            kr_import_say(im, KR_NOTE_WARNING, "%s: mean %.4f here and %.4f in %s.", run->name,
                          100 * sum / (double)n, stated, kr_path_base(p));
    }
    free(dir);
}

static kr_status read_run(kr_import *im, kr_run *run, kr_error *err) {
    kr_status st = kr_import_json(im, run, take_row, err);
    if (st == KR_OK)
        compare_summary(im, run);
    return st;
}

const kr_importer kr_importer_ruler = {
    "ruler", "NVIDIA RULER: MODEL/BENCHMARK/LENGTH/pred/TASK.jsonl", probe, discover, read_run,
    NULL,
};
