/* import_kvcache.c - results of KVCache-Factory: SAVE/MODEL_CAP/DATASET/METHOD.json for LongBench,
 * SAVE/MODEL_CAP/LENGTH/TASK/METHOD.json for RULER, and one small file per needle position. */
#include "calib/import_core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib/csv.h"

enum { LONGBENCH, RULER, NEEDLE };

/* The last `n` parts of a path, from the end: part[0] is the file. */
static bool split_path(kr_import *im, const char *path, const char **part, size_t n) {
    char *p = kr_arena_copy(&im->arena, path, strlen(path));
    for (size_t i = 0; p != NULL && i < n; i++) {
        char *slash = strrchr(p, '/');
        part[i] = slash != NULL ? slash + 1 : p;
        if (slash == NULL)
            return i + 1 == n;
        *slash = '\0';
    }
    return p != NULL;
}

static bool digits_only(const char *s) {
    return *s != '\0' && strspn(s, "0123456789") == strlen(s);
}

static bool is_result_file(const char *base) {
    static const char *const others[] = {"metrics.json", "run_meta.json", "result.json",
                                         "results.json", "list_result.json"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(base, others[i]) == 0)
            return false;
    return kr_ends(base, ".json") || kr_ends(base, ".jsonl");
}

/* What the file's first row shows: prediction and references as this tool writes them. */
static bool has_rows(kr_import *im, const char *path, bool *extended) {
    kr_arena_reset(&im->row);
    const kr_lit *row = kr_json_first(path, &im->row);
    const kr_lit *set = kr_lit_get(row, "dataset");
    *extended = set != NULL && set->type == KR_LIT_STR && kr_ends(set->s, "_e");
    /* a file that cannot be read is a run that will be refused, not one to pass over */
    return row == NULL || (kr_lit_get(row, "pred") != NULL && kr_lit_get(row, "answers") != NULL);
}

/* MODEL_CAP: tokens kept per head, -1 when a ratio was given instead, nothing in old versions. */
static const char *model_and_budget(kr_import *im, kr_run *r, const char *dir) {
    const char *mark = strrchr(dir, '_');
    bool number =
        mark != NULL && mark != dir && (digits_only(mark + 1) || strcmp(mark + 1, "-1") == 0);
    if (!number)
        return kr_import_text(im, "%s", dir);
    long cap = strtol(mark + 1, NULL, 10);
    if (cap > 0 && !r->full) {
        r->level_kind = KR_LEVEL_BUDGET;
        r->level = kr_dec_make(cap, 0);
        r->level_from = "max_capacity_prompts in the folder's name";
    }
    return kr_import_text(im, "%.*s", (int)(mark - dir), dir);
}

/* run_meta.json holds the options of the run; the ratio there is the share kept. */
static void ratio_from_meta(kr_import *im, kr_run *r, const char *dir) {
    const char *path = kr_import_text(im, "%s/run_meta.json", dir);
    kr_dec x, zero = kr_dec_make(0, 0), one = kr_dec_make(1, 0);
    if (r->full || r->level_kind != KR_LEVEL_UNKNOWN)
        return;
    kr_arena_reset(&im->row);
    const kr_lit *v = kr_lit_path(kr_json_first(path, &im->row), "args.max_capacity_prompts_ratio");
    if (v == NULL || kr_dec_parse(v->s, v->len, &x, NULL) != KR_OK || kr_dec_cmp(x, zero) <= 0 ||
        kr_dec_cmp(x, one) > 0)
        return;
    r->level_kind = KR_LEVEL_RETENTION;
    r->level = x;
    r->level_from = "max_capacity_prompts_ratio in run_meta.json";
}

static kr_status add_run(kr_import *im, const char *path, const char **part, bool ruler,
                         bool extended, kr_error *err) {
    const char *base = part[0], *dot = strrchr(base, '.');
    const char *method = kr_import_text(im, "%.*s", (int)(dot - base), base);
    const char *name = kr_import_text(im, "%s/%s/%s", part[2], part[1], method);
    kr_run *r = kr_import_run_new(im, path, name, err);
    if (r == NULL)
        return err->code;
    r->variant = ruler ? RULER : LONGBENCH;
    r->family = ruler ? KR_FAMILY_RAW_RULER : KR_FAMILY_LONGBENCH;
    r->dataset = ruler ? "ruler" : extended ? "longbench-e" : "longbench";
    r->subset = kr_import_text(im, "%s", part[1]);
    r->press = method;
    r->full = im->opts.full != NULL ? strcmp(im->opts.full, method) == 0 : kr_names_full(method);
    r->method = r->full ? NULL : kr_import_method(im, method);
    if (ruler)
        r->setting = kr_import_text(im, "length %s", part[2]);
    r->model = model_and_budget(im, r, part[ruler ? 3 : 2]);
    char *dir = kr_path_dir(path), *up = dir != NULL ? kr_path_dir(dir) : NULL;
    char *top = up != NULL && ruler ? kr_path_dir(up) : NULL;
    if (up != NULL)
        ratio_from_meta(im, r, ruler && top != NULL ? top : up);
    free(dir);
    free(up);
    free(top);
    if (r->full) /* repeated under every budget, on which it does not depend */
        r->rerun_of = kr_import_text(im, "full %s %s", r->subset, r->setting);
    r->rerun = r->full ? (unsigned)im->n_runs : 0;
    return KR_OK;
}

/* --- needle: VERSION/VERSION_len_L_depth_D_results.json ------------------------------------------- */

static bool needle_name(const char *base) {
    return kr_ends(base, "_results.json") && strstr(base, "_len_") != NULL &&
           strstr(base, "_depth_") != NULL;
}

static kr_status add_needle(kr_import *im, size_t first, size_t *next, kr_error *err) {
    char *dir = kr_path_dir(im->tree.path[first]);
    size_t n = strlen(dir != NULL ? dir : ""), last = first + 1;
    while (dir != NULL && last < im->tree.n && kr_starts(im->tree.path[last], dir) &&
           im->tree.path[last][n] == '/' && needle_name(kr_path_base(im->tree.path[last])))
        last++;
    *next = last;
    kr_run *r =
        kr_import_run_new(im, im->tree.path[first], kr_path_base(dir != NULL ? dir : ""), err);
    free(dir);
    if (r == NULL)
        return err->code;
    r->variant = NEEDLE;
    r->dataset = "needle_in_haystack";
    r->press = r->name;
    r->full = im->opts.full != NULL ? strcmp(im->opts.full, r->name) == 0 : kr_names_full(r->name);
    r->method = r->full ? NULL : kr_import_method(im, r->name);
    r->n_parts = last - first - 1;
    r->parts = kr_arena_alloc(&im->arena, (r->n_parts + 1) * sizeof *r->parts);
    for (size_t i = 0; r->parts != NULL && i < r->n_parts; i++)
        r->parts[i] = im->tree.path[first + 1 + i];
    return r->parts != NULL ? KR_OK : kr_fail(err, KR_ENOMEM, "out of memory");
}

/* A data set's folder that has scores but no predictions. */
static void name_empty_folders(kr_import *im) {
    for (size_t i = 0; i < im->tree.n; i++) {
        if (strcmp(kr_path_base(im->tree.path[i]), "metrics.json") != 0)
            continue;
        char *dir = kr_path_dir(im->tree.path[i]);
        bool found = false;
        for (size_t k = 0; dir != NULL && k < im->n_runs && !found; k++)
            found = kr_starts(im->runs[k].path, dir) && im->runs[k].path[strlen(dir)] == '/';
        if (dir != NULL && !found)
            kr_import_say(im, KR_NOTE_WARNING,
                          "%s has a metrics.json but no predictions: left out (a mean without rows "
                          "cannot be used).",
                          kr_path_base(dir));
        free(dir);
    }
}

static kr_status discover(kr_import *im, kr_error *err) {
    kr_status st = KR_OK;
    for (size_t i = 0; i < im->tree.n && st == KR_OK; i++) {
        const char *path = im->tree.path[i], *part[4];
        bool extended = false;
        if (needle_name(kr_path_base(path))) {
            size_t next = i + 1;
            st = add_needle(im, i, &next, err);
            i = next - 1;
            continue;
        }
        if (!is_result_file(kr_path_base(path)) || !split_path(im, path, part, 3))
            continue;
        bool longbench = kr_longbench_task(part[1]);
        bool ruler = !longbench && kr_ruler_task(part[1]) && digits_only(part[2]) &&
                     split_path(im, path, part, 4);
        if ((longbench || ruler) && has_rows(im, path, &extended))
            st = add_run(im, path, part, ruler, extended, err);
    }
    if (st == KR_OK)
        name_empty_folders(im);
    return st;
}

static int probe(const kr_tree *t, const char **why) {
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        char *dir = kr_path_dir(t->path[i]);
        const char *base = kr_path_base(t->path[i]);
        n += needle_name(base) ||
             (dir != NULL && kr_ends(base, ".json") && is_result_file(base) &&
              (kr_longbench_task(kr_path_base(dir)) || kr_ruler_task(kr_path_base(dir))));
        free(dir);
    }
    *why = "folders of LongBench or RULER data sets with one METHOD.json each";
    return n > 0 ? 80 : 0;
}

/* --- rows --------------------------------------------------------------------------------------------- */

static kr_status needle_row(kr_import *im, kr_run *run, const kr_lit *row, size_t line,
                            kr_error *err) {
    const kr_lit *length = kr_lit_get(row, "context_length"),
                 *depth = kr_lit_get(row, "depth_percent");
    const kr_lit *score = kr_lit_get(row, "score"), *text = kr_lit_get(row, "model_response");
    double x = 0;
    char id[128];
    if (length == NULL || depth == NULL || !kr_lit_number(score, false, &x))
        return kr_fail(err, KR_EFORMAT, "%s: no context_length, depth_percent and score",
                       run->path);
    snprintf(id, sizeof id, "%.60s/%.60s", length->s, depth->s);
    kr_row_in in = {.task = "needle",
                    .task_len = 6,
                    .id = id,
                    .id_len = strlen(id),
                    .line = line,
                    .has_native = true,
                    .native_only = true,
                    .native = x / 10};
    in.key = kr_key_start();
    kr_key_add(&in.key, id, in.id_len);
    in.prediction = text != NULL && text->type == KR_LIT_STR ? text->s : "";
    in.prediction_len = text != NULL && text->type == KR_LIT_STR ? text->len : 0;
    return kr_run_row(im, run, &in, err);
}

static kr_status ruler_row(kr_import *im, kr_run *run, const kr_lit *row, size_t line,
                           kr_error *err) {
    const kr_lit *pred = kr_lit_get(row, "pred"), *input = kr_lit_get(row, "input");
    const kr_lit *tokens = kr_lit_get(row, "length");
    double x = 0;
    kr_row_in in = {.task = run->subset, .task_len = strlen(run->subset), .line = line};
    if (pred == NULL || pred->type != KR_LIT_STR)
        return kr_fail(err, KR_EFORMAT, "%s:%zu: no \"pred\" text", run->path, line);
    in.prediction = pred->s;
    in.prediction_len = pred->len;
    in.answers = kr_lit_as_list(&im->row, kr_lit_get(row, "answers"));
    in.key = kr_key_start();
    if (input != NULL)
        kr_key_add(&in.key, input->s, input->len);
    kr_key_add_answers(&in.key, in.answers);
    if (kr_lit_number(tokens, false, &x) && x > 0 && x < 1e9)
        in.tokens = (int32_t)x;
    return kr_run_row(im, run, &in, err);
}

static kr_status take_row(kr_import *im, kr_run *run, const kr_lit *row, const char *text,
                          size_t line, kr_error *err) {
    (void)text;
    if (run->variant == NEEDLE)
        return needle_row(im, run, row, line, err);
    if (run->variant == RULER)
        return ruler_row(im, run, row, line, err);
    return kr_longbench_row(im, run, run->subset, row, line, err);
}

static kr_status read_run(kr_import *im, kr_run *run, kr_error *err) {
    return kr_import_json(im, run, take_row, err);
}

/* --- results.csv: never used, but checked against the means found ---------------------------------- */

static const kr_run *find_run(const kr_import *im, const char *press, const char *subset) {
    for (size_t i = 0; i < im->n_runs; i++) {
        const kr_run *r = &im->runs[i];
        if (r->left_out == NULL && r->subset != NULL && strcmp(r->press, press) == 0 &&
            strcmp(r->subset, subset) == 0)
            return r;
    }
    return NULL;
}

static bool run_mean(const kr_import *im, const kr_run *r, double *mean) {
    double sum = 0;
    size_t n = 0;
    for (size_t t = 0; t < r->n_sum && t < im->n_tasks; t++) {
        sum += r->sum[t];
        n += r->count[t];
    }
    *mean = n > 0 ? 100 * sum / (double)n : 0;
    return n > 0;
}

/* Columns of the present record that equal the means of `press`, of those that can be compared. */
static size_t columns_equal(const kr_import *im, const kr_csv *c, const char *press,
                            size_t *compared) {
    size_t equal = 0;
    *compared = 0;
    for (size_t k = 1; k < kr_csv_columns(c); k++) {
        const kr_run *r = find_run(im, press, kr_csv_name(c, k));
        kr_csv_field f = kr_csv_get(c, k);
        char text[64];
        double mean;
        if (r == NULL || f.len == 0 || f.len >= sizeof text || !run_mean(im, r, &mean))
            continue;
        memcpy(text, f.s, f.len);
        text[f.len] = '\0';
        ++*compared;
        equal += fabs(strtod(text, NULL) - mean) < 0.0051;
    }
    return equal;
}

/* The method whose means a record holds, whatever its label; NULL when it is none's. */
static const char *true_owner(const kr_import *im, const kr_csv *c) {
    const char *best = NULL;
    size_t most = 1;
    for (size_t i = 0; i < im->n_runs; i++) {
        size_t compared, equal;
        if (im->runs[i].left_out != NULL)
            continue;
        equal = columns_equal(im, c, im->runs[i].press, &compared);
        if (equal > most && 2 * equal > compared) {
            most = equal;
            best = im->runs[i].press;
        }
    }
    return best;
}

static void compare_table(kr_import *im, const char *path) {
    kr_source_file *f = NULL;
    kr_csv *c = NULL;
    bool got = true;
    kr_buf wrong = {0};
    if (kr_source_open(path, &f, NULL) != KR_OK)
        return;
    if (kr_csv_open(&(kr_csv_opts){.name = path, .lenient = true}, kr_source_read, f, &c, NULL) ==
        KR_OK)
        while (kr_csv_next(c, &got, NULL) == KR_OK && got) {
            kr_csv_field label = kr_csv_get(c, 0);
            const char *owner = true_owner(im, c);
            if (owner != NULL &&
                (strlen(owner) != label.len || memcmp(owner, label.s, label.len) != 0))
                kr_buf_printf(&wrong, "%sits row '%.*s' holds the means of %s",
                              wrong.len > 0 ? ", " : "", (int)(label.len < 40 ? label.len : 40),
                              label.s, owner);
        }
    if (wrong.len > 0)
        kr_import_say(im, KR_NOTE_WARNING, "%s is not used: its labels are wrong (%s).",
                      kr_path_base(path), kr_buf_text(&wrong));
    else
        kr_import_say(im, KR_NOTE_INFO, "%s is not used: scores come from the predictions.",
                      kr_path_base(path));
    kr_buf_free(&wrong);
    kr_csv_free(c);
    kr_source_close(f);
}

static void finish(kr_import *im) {
    for (size_t i = 0; i < im->tree.n; i++)
        if (strcmp(kr_path_base(im->tree.path[i]), "results.csv") == 0)
            compare_table(im, im->tree.path[i]);
}

const kr_importer kr_importer_kvcache_factory = {
    "kvcache-factory",
    "KVCache-Factory: MODEL_CAP/DATASET/METHOD.json (LongBench, RULER, needle)",
    probe,
    discover,
    read_run,
    finish,
};
