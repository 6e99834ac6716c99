/* import_longbench.c - predictions of LongBench's own script and of the forks that keep its layout:
 * LongBench v1, E and v2, SnapKV, AdaKV. None of them records method or level in its rows, so names
 * of folders and files are all there is, and what they do not tell must be given. */
#include "calib/import_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS, V2 };

/* --- rows ---------------------------------------------------------------------------------------- */

kr_status kr_longbench_row(kr_import *im, kr_run *run, const char *task, const kr_lit *row,
                           size_t line, kr_error *err) {
    const kr_lit *pred = kr_lit_get(row, "pred"), *id = kr_lit_get(row, "_id");
    const kr_lit *length = kr_lit_get(row, "length");
    kr_row_in in = {.task = task, .task_len = strlen(task), .line = line, .prediction = ""};
    if (pred == NULL || (pred->type != KR_LIT_STR && pred->type != KR_LIT_NULL))
        return kr_fail(err, KR_EFORMAT, "%s:%zu: no \"pred\" text", run->path, line);
    if (pred->type == KR_LIT_STR) {
        in.prediction = pred->s;
        in.prediction_len = pred->len;
    }
    in.answers = kr_lit_as_list(&im->row, kr_lit_get(row, "answers"));
    in.classes = kr_lit_as_list(&im->row, kr_lit_get(row, "all_classes"));
    if (id != NULL && (id->type == KR_LIT_STR || id->type == KR_LIT_INT)) {
        in.id = id->s;
        in.id_len = id->len;
    }
    in.key = kr_key_start();
    kr_key_add_answers(&in.key, in.answers);
    kr_key_add_answers(&in.key, in.classes);
    if (length != NULL)
        kr_key_add(&in.key, length->s, length->len);
    return kr_run_row(im, run, &in, err);
}

static kr_status v2_row(kr_import *im, kr_run *run, const kr_lit *row, size_t line, kr_error *err) {
    const kr_lit *id = kr_lit_get(row, "_id"), *text = kr_lit_get(row, "response");
    const kr_lit *answer = kr_lit_get(row, "answer"), *judge = kr_lit_get(row, "judge");
    kr_row_in in = {.task = "longbench-v2", .task_len = 12, .line = line, .prediction = ""};
    if (id == NULL || id->type != KR_LIT_STR || answer == NULL)
        return kr_fail(err, KR_EFORMAT, "%s:%zu: no \"_id\" and \"answer\"", run->path, line);
    in.id = id->s;
    in.id_len = id->len;
    in.answers = kr_lit_as_list(&im->row, answer);
    if (text != NULL && text->type == KR_LIT_STR) {
        in.prediction = text->s;
        in.prediction_len = text->len;
    }
    in.native_only = text == NULL || text->type != KR_LIT_STR;
    in.has_native = judge != NULL && judge->type == KR_LIT_BOOL;
    in.native = in.has_native && judge->yes ? 1 : 0;
    in.key = kr_key_start();
    kr_key_add(&in.key, id->s, id->len);
    return kr_run_row(im, run, &in, err);
}

/* --- AdaKV's list_result.json: {dataset: [score per row]} ------------------------------------------- */

static const kr_lit *row_scores(kr_import *im, const kr_run *run, kr_arena *arena) {
    char *dir = kr_path_dir(run->path);
    const char *path = dir != NULL ? kr_import_text(im, "%s/list_result.json", dir) : "";
    const kr_lit *list = NULL;
    bool there = false;
    for (size_t i = 0; i < im->tree.n && !there; i++)
        there = strcmp(im->tree.path[i], path) == 0;
    if (there)
        list = kr_lit_get(kr_json_first(path, arena), run->subset);
    free(dir);
    return list != NULL && list->type == KR_LIT_LIST ? list : NULL;
}

/* The rows' own scores come in row order; they count only when there is one for each row. */
static void take_row_scores(kr_import *im, kr_run *run) {
    kr_arena a = {0};
    const kr_lit *list = row_scores(im, run, &a);
    if (list != NULL && list->count == im->n_rows) {
        size_t i = 0;
        for (const kr_lit *v = list->first; v != NULL; v = v->next, i++) {
            double x;
            if (!kr_lit_number(v, false, &x) || x < 0 || x > 1)
                continue;
            int64_t own = im->rows[i].utility, theirs = (int64_t)(x * 1e9 + 0.5);
            run->native_seen++;
            run->native_differs += own != KR_MISSING && llabs(own - theirs) > 1000;
            if (own != KR_MISSING)
                run->sum[im->rows[i].task] += x - (double)own / 1e9;
            im->rows[i].utility = theirs;
        }
    } else if (list != NULL) {
        kr_import_say(im, KR_NOTE_WARNING,
                      "%s: list_result.json has %zu scores for %zu rows and is not used.",
                      run->name, list->count, im->n_rows);
    }
    kr_arena_free(&a);
}

/* result.json: {dataset: mean}, in percent and rounded to two decimals. */
static void check_mean(kr_import *im, const kr_run *run) {
    kr_arena a = {0};
    char *dir = kr_path_dir(run->path);
    const char *path = dir != NULL ? kr_import_text(im, "%s/result.json", dir) : "";
    double stated, sum = 0;
    size_t n = 0;
    for (size_t t = 0; t < run->n_sum; t++) {
        sum += run->sum[t];
        n += run->count[t];
    }
    bool there = false;
    for (size_t i = 0; i < im->tree.n && !there; i++)
        there = strcmp(im->tree.path[i], path) == 0;
    if (there && n > 0 &&
        kr_lit_number(kr_lit_get(kr_json_first(path, &a), run->subset), false, &stated) &&
        fabs(100 * sum / (double)n - stated) > 0.005 + 1e-9)
        kr_import_say(im, KR_NOTE_WARNING, "%s: mean %.4f here and %.4f in result.json beside it.",
                      run->name, 100 * sum / (double)n, stated);
    kr_arena_free(&a);
    free(dir);
}

static kr_status take_row(kr_import *im, kr_run *run, const kr_lit *row, const char *text,
                          size_t line, kr_error *err) {
    (void)text;
    return run->variant == V2 ? v2_row(im, run, row, line, err)
                              : kr_longbench_row(im, run, run->subset, row, line, err);
}

static kr_status read_run(kr_import *im, kr_run *run, kr_error *err) {
    kr_status st = kr_import_json(im, run, take_row, err);
    if (st == KR_OK && run->variant != V2)
        take_row_scores(im, run);
    if (st == KR_OK && run->variant != V2)
        check_mean(im, run);
    return st;
}

/* --- names ---------------------------------------------------------------------------------------------- */

/* FOLDER/DATASET.jsonl, or a flat PREFIX_DATASET.jsonl; `label` is the folder or the prefix. */
static bool understand(kr_import *im, const char *path, const char **label, const char **task,
                       bool *flat) {
    const char *base = kr_path_base(path);
    *flat = false;
    if (!kr_ends(base, ".jsonl"))
        return false;
    const char *stem = kr_import_text(im, "%.*s", (int)(strlen(base) - 6), base);
    char *dir = kr_path_dir(path);
    *label = kr_import_text(im, "%s", dir != NULL ? kr_path_base(dir) : "");
    *task = stem;
    free(dir);
    if (kr_longbench_task(stem))
        return true;
    for (const char *p = strchr(stem, '_'); p != NULL; p = strchr(p + 1, '_'))
        if (p > stem && kr_longbench_task(p + 1)) {
            *label = kr_import_text(im, "%.*s", (int)(p - stem), stem);
            *task = p + 1;
            *flat = true;
            return true;
        }
    return false;
}

/* In pred_e the same file names hold LongBench-E; SnapKV's code writes both there (a known slip). */
static const char *which_set(kr_import *im, const char *path, bool snapkv) {
    char *dir = kr_path_dir(path), *up = dir != NULL ? kr_path_dir(dir) : NULL;
    bool e = up != NULL && strcmp(kr_path_base(up), "pred_e") == 0;
    free(dir);
    free(up);
    if (im->opts.dataset != NULL)
        return im->opts.dataset;
    return e && !snapkv ? "longbench-e" : "longbench";
}

static kr_status add_run(kr_import *im, const char *path, bool snapkv, kr_error *err) {
    const char *label, *task;
    bool flat;
    if (!understand(im, path, &label, &task, &flat))
        return KR_OK;
    kr_arena_reset(&im->row);
    const kr_lit *first =
        kr_json_first(path, &im->row); /* a broken file is a run that will be refused */
    if (first != NULL && kr_lit_get(first, "pred") == NULL)
        return KR_OK;
    kr_run *r = kr_import_run_new(im, path, kr_import_text(im, "%s/%s", label, task), err);
    if (r == NULL)
        return err->code;
    r->variant = ROWS;
    r->family = KR_FAMILY_LONGBENCH;
    r->dataset = which_set(im, path, snapkv);
    r->subset = task;
    r->press = label;
    r->model = flat ? "" : NULL; /* a file's prefix may be an experiment's name */
    return KR_OK;
}

static kr_status discover_rows(kr_import *im, kr_error *err) {
    kr_status st = KR_OK;
    for (size_t i = 0; i < im->tree.n && st == KR_OK; i++)
        st = add_run(im, im->tree.path[i], false, err);
    return st;
}

/* --- LongBench v2: MODEL.jsonl, MODEL_cot.jsonl, ... ------------------------------------------------------ */

static kr_status add_v2(kr_import *im, const char *path, kr_error *err) {
    static const char *const settings[] = {"_cot", "_no_context"};
    const char *base = kr_path_base(path);
    if (!kr_ends(base, ".jsonl") && !kr_ends(base, ".json"))
        return KR_OK;
    kr_arena_reset(&im->row);
    const kr_lit *row = kr_json_first(path, &im->row);
    if (kr_lit_get(row, "choice_A") == NULL || kr_lit_get(row, "judge") == NULL)
        return KR_OK;
    const char *stem = kr_import_text(im, "%.*s", (int)(strrchr(base, '.') - base), base);
    kr_run *r = kr_import_run_new(im, path, stem, err);
    if (r == NULL)
        return err->code;
    r->variant = V2;
    r->family = KR_FAMILY_LONGBENCH;
    r->dataset = "longbench-v2";
    r->press = stem;
    for (size_t i = 0; i < 2; i++)
        if (kr_ends(stem, settings[i])) {
            r->setting = settings[i] + 1;
            r->press = kr_import_text(im, "%.*s", (int)(strlen(stem) - strlen(settings[i])), stem);
        }
    const char *rag = strstr(stem, "_rag_");
    if (rag != NULL) {
        r->setting = kr_import_text(im, "%s", rag + 1);
        r->press = kr_import_text(im, "%.*s", (int)(rag - stem), stem);
    }
    return KR_OK;
}

static kr_status discover_longbench(kr_import *im, kr_error *err) {
    kr_status st = discover_rows(im, err);
    for (size_t i = 0; i < im->tree.n && st == KR_OK; i++)
        st = add_v2(im, im->tree.path[i], err);
    kr_runs_by_difference(im, false);
    return st;
}

/* --- SnapKV: the stem of a config file is glued to the model's name ------------------------------------- */

/* Where `[ablation_]c4096_w32_k7...` begins, or NULL; *budget is the number after c. */
static const char *config_part(const char *label, long *budget) {
    for (const char *p = label; (p = strchr(p, 'c')) != NULL; p++) {
        char *end;
        long n = strtol(p + 1, &end, 10);
        if (end == p + 1 || n <= 0 || end[0] != '_' || end[1] != 'w' ||
            strspn(end + 2, "0123456789") == 0)
            continue;
        *budget = n;
        static const char lead[] = "ablation_";
        size_t k = sizeof lead - 1;
        return (size_t)(p - label) >= k && memcmp(p - k, lead, k) == 0 ? p - k : p;
    }
    return NULL;
}

static void settle_glued(kr_import *im, const char *method) {
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        long budget = 0;
        const char *args = config_part(r->press, &budget);
        bool full = im->opts.full != NULL ? strcmp(r->press, im->opts.full) == 0 : args == NULL;
        size_t n = args != NULL ? (size_t)(args - r->press) : strlen(r->press);
        while (n > 1 && strchr("_-", r->press[n - 1]) != NULL)
            n--;
        r->full = full;
        r->model = kr_import_text(im, "%.*s", (int)n, r->press);
        if (full)
            continue;
        r->method = method;
        if (args == NULL)
            continue;
        r->level_kind = KR_LEVEL_BUDGET;
        r->level = kr_dec_make(budget, 0);
        r->level_from = "c in the folder's name";
    }
}

static kr_status discover_snapkv(kr_import *im, kr_error *err) {
    kr_status st = KR_OK;
    bool pred_e = false;
    for (size_t i = 0; i < im->tree.n && st == KR_OK; i++) {
        st = add_run(im, im->tree.path[i], true, err);
        pred_e |= strstr(im->tree.path[i], "pred_e/") != NULL;
    }
    if (pred_e && im->opts.dataset == NULL)
        kr_import_say(im, KR_NOTE_WARNING,
                      "SnapKV writes LongBench and LongBench-E to pred_e alike; taken as LongBench "
                      "(--dataset longbench-e says otherwise).");
    settle_glued(im, "snapkv");
    return st;
}

static bool label_is_full(const kr_import *im, const char *label) {
    return im->opts.full != NULL ? strcmp(label, im->opts.full) == 0 : kr_names_full(label);
}

/* --- AdaKV: OUT_NAME is free; NAME_NUMBER of a known method in it is a budget ----------------------------- */

static bool named_budget(kr_import *im, kr_run *r) {
    static const char *const known[] = {"ada",          "adakv",      "snap",         "snapkv",
                                        "pyramid",      "pyramidkv",  "h2o",          "slm",
                                        "streamingllm", "ada_snapkv", "ada_pyramidkv"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i]);
        for (const char *p = r->press; (p = strstr(p, known[i])) != NULL; p++) {
            char *end;
            if ((p != r->press && p[-1] != '_') || p[n] != '_')
                continue;
            long budget = strtol(p + n + 1, &end, 10);
            if (end == p + n + 1 || budget <= 0 || (*end != '_' && *end != '\0'))
                continue;
            r->method = kr_import_method(im, known[i]);
            r->level_kind = KR_LEVEL_BUDGET;
            r->level = kr_dec_make(budget, 0);
            r->level_from = "METHOD_BUDGET in the folder's name";
            r->model = *end == '_' ? kr_import_text(im, "%s", end + 1) : NULL;
            return true;
        }
    }
    return false;
}

static kr_status discover_adakv(kr_import *im, kr_error *err) {
    kr_status st = discover_rows(im, err);
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        long budget = 0;
        if (label_is_full(im, r->press) || named_budget(im, r))
            continue;
        if (config_part(r->press, &budget) == NULL)
            continue;
        r->method = strstr(r->press, "adaptiveFalse") != NULL ? "snapkv" : "adakv";
        r->level_kind = KR_LEVEL_BUDGET;
        r->level = kr_dec_make(budget, 0);
        r->level_from = "c in the folder's name";
    }
    bool named = false;
    for (size_t i = 0; i < im->n_runs; i++)
        named |= im->runs[i].method != NULL;
    if (!named) {
        kr_runs_by_difference(im, false);
        return st;
    }
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        r->full = label_is_full(im, r->press);
        if (!r->full && r->method == NULL)
            r->method = kr_import_method(im, r->press);
    }
    return st;
}

/* --- which of them ------------------------------------------------------------------------------------------- */

static size_t count_files(const kr_tree *t, const char *needle) {
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const char *base = kr_path_base(t->path[i]);
        char stem[64];
        size_t len = strlen(base);
        if (!kr_ends(base, ".jsonl") || len - 6 >= sizeof stem ||
            (needle != NULL && strstr(t->path[i], needle) == NULL))
            continue;
        memcpy(stem, base, len - 6);
        stem[len - 6] = '\0';
        bool hit = kr_longbench_task(stem);
        for (const char *p = strchr(stem, '_'); p != NULL && !hit; p = strchr(p + 1, '_'))
            hit = kr_longbench_task(p + 1);
        n += hit;
    }
    return n;
}

static bool any_v2(const kr_tree *t) {
    kr_arena a = {0};
    bool found = false;
    for (size_t i = 0; i < t->n && i < 64 && !found; i++)
        if (kr_ends(t->path[i], ".jsonl") || kr_ends(t->path[i], ".json"))
            found = kr_lit_get(kr_json_first(t->path[i], &a), "choice_A") != NULL;
    kr_arena_free(&a);
    return found;
}

static int probe_longbench(const kr_tree *t, const char **why) {
    *why = "DATASET.jsonl files of LongBench";
    if (count_files(t, NULL) > 0)
        return 60;
    *why = "rows of LongBench v2";
    return any_v2(t) ? 60 : 0;
}

static int probe_snapkv(const kr_tree *t, const char **why) {
    long budget;
    *why = "LongBench files below folders with SnapKV's configuration names";
    for (size_t i = 0; i < t->n; i++)
        if (strstr(t->path[i], "pred_e/") != NULL && config_part(t->path[i], &budget) != NULL)
            return 70;
    return 0;
}

static int probe_adakv(const kr_tree *t, const char **why) {
    *why = "LongBench files beside a list_result.json";
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(kr_path_base(t->path[i]), "list_result.json") == 0 && count_files(t, NULL) > 0)
            return 75;
    return 0;
}

const kr_importer kr_importer_longbench = {
    "longbench",     "LongBench v1, E, v2: pred/MODEL/DATASET.jsonl, results/MODEL.jsonl",
    probe_longbench, discover_longbench,
    read_run,        NULL,
};
const kr_importer kr_importer_snapkv = {
    "snapkv", "SnapKV: pred_e/MODEL[CONFIG]/DATASET.jsonl", probe_snapkv, discover_snapkv, read_run,
    NULL,
};
const kr_importer kr_importer_adakv = {
    "adakv",     "AdaKV: pred/NAME/DATASET.jsonl with list_result.json",
    probe_adakv, discover_adakv,
    read_run,    NULL,
};
