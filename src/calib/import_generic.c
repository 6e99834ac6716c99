/* import_generic.c - tables of one's own: CSV, TSV, JSON or JSON Lines with declared columns.
 *
 * Three shapes. Long: a column names each row's method (and level). Wide: each run has its own
 * column of scores ("METHOD@LEVEL=column"), or a nested map of them ("scores=path"). Otherwise one
 * file per run, named after its method. */
#include "calib/import_core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib/csv.h"

typedef enum {
    ROLE_ID,
    ROLE_TASK,
    ROLE_QUESTION,
    ROLE_PREDICTION,
    ROLE_ANSWERS,
    ROLE_CLASSES,
    ROLE_SCORE,
    ROLE_TOKENS,
    ROLE_METHOD,
    ROLE_LEVEL,
    ROLE_FULL,
    ROLE_SCORES,
    N_ROLES
} role;

enum { SHAPE_FILES, SHAPE_LONG, SHAPE_WIDE, MAX_WIDE = 256, MAX_LEVELS = 64 };

typedef struct {
    const char *name;     /* in --col */
    const char *usual[9]; /* column names tried in order, ended by NULL */
} role_info;

static const role_info roles[N_ROLES] = {
    [ROLE_ID] = {"id", {"id", "_id", "doc_id", "index", "qid", "request_id", NULL}},
    [ROLE_TASK] = {"task", {"task", "dataset", "category", NULL}},
    [ROLE_QUESTION] = {"question", {"question", "input", "prompt", NULL}},
    [ROLE_PREDICTION] = {"prediction",
                         {"predicted_answer", "prediction", "pred", "response", "output",
                          "model_response", "completion", NULL}},
    [ROLE_ANSWERS] = {"answers",
                      {"answers", "answer", "outputs", "references", "ground_truth", "label",
                       "target", NULL}},
    [ROLE_CLASSES] = {"classes", {"all_classes", "classes", NULL}},
    [ROLE_SCORE] = {"score", {"score", "utility", NULL}},
    [ROLE_TOKENS] = {"tokens", {"tokens", "prompt_tokens", NULL}},
    [ROLE_METHOD] = {"method", {"method", "press", "run", NULL}},
    [ROLE_LEVEL] = {"level",
                    {"retention", "keep_ratio", "kept", "compression_ratio", "level", NULL}},
    [ROLE_FULL] = {"full", {NULL}},
    [ROLE_SCORES] = {"scores", {NULL}},
};

typedef struct {
    const char *role[N_ROLES];                        /* column or path; NULL: none */
    const char *wide[MAX_WIDE], *wide_name[MAX_WIDE]; /* column, METHOD@LEVEL */
    size_t n_wide;
} mapping;

/* --- one row, from either kind of file -------------------------------------------------------------- */

typedef struct {
    const kr_csv *csv;    /* or NULL */
    const kr_lit *object; /* or NULL */
    kr_arena *arena;
    size_t line;
} row_t;

static const kr_lit *cell(const row_t *r, const char *column) {
    if (column == NULL)
        return NULL;
    if (r->object != NULL)
        return kr_lit_path(r->object, column);
    ptrdiff_t k = kr_csv_find(r->csv, column);
    if (k < 0)
        return NULL;
    kr_csv_field f = kr_csv_get(r->csv, (size_t)k);
    kr_lit *v = kr_arena_alloc(r->arena, sizeof *v);
    char *text = kr_arena_copy(r->arena, f.s, f.len);
    if (v == NULL || text == NULL)
        return NULL;
    *v = (kr_lit){.type = KR_LIT_STR, .s = text, .len = f.len};
    return v;
}

/* Scalars as text; "" for null, absent, lists. */
static const char *text_of(const kr_lit *v) {
    if (v == NULL || v->type == KR_LIT_NULL || v->type == KR_LIT_LIST || v->type == KR_LIT_DICT)
        return "";
    return v->type == KR_LIT_BOOL ? v->yes ? "true" : "false" : v->s;
}

typedef kr_status each_row(kr_import *im, kr_run *run, const row_t *r, void *ctx, kr_error *err);

typedef struct {
    each_row *each;
    void *ctx;
} visitor;

/* --- files ------------------------------------------------------------------------------------------------ */

static bool is_table(const char *path) {
    return kr_ends(path, ".csv") || kr_ends(path, ".tsv");
}

static bool is_json(const char *path) {
    return kr_ends(path, ".json") || kr_ends(path, ".jsonl") || kr_ends(path, ".ndjson");
}

static kr_status visit_table(kr_import *im, kr_run *run, const visitor *v, kr_error *err) {
    kr_source_file *f = NULL;
    kr_csv *c = NULL;
    bool got = true;
    kr_csv_opts o = {.name = run->path,
                     .lenient = im->opts.lenient,
                     .delimiter = kr_ends(run->path, ".tsv") ? '\t' : ','};
    kr_status st = kr_source_open(run->path, &f, err);
    if (st != KR_OK)
        return st;
    st = kr_csv_open(&o, kr_source_read, f, &c, err);
    while (st == KR_OK && (st = kr_csv_next(c, &got, err)) == KR_OK && got) {
        kr_arena_reset(&im->row);
        row_t r = {.csv = c, .arena = &im->row, .line = kr_csv_line(c)};
        st = v->each(im, run, &r, v->ctx, err);
    }
    if (st == KR_OK && kr_csv_ragged(c) > 0)
        kr_import_say(im, KR_NOTE_WARNING, "%s: %zu records with too few or too many fields.",
                      run->name, kr_csv_ragged(c));
    kr_csv_free(c);
    if (st == KR_OK)
        return kr_run_close(run, f, err);
    kr_source_close(f);
    return st;
}

/* kr_import_json has no room for a context: the visitor travels in the run. */
static kr_status json_row(kr_import *im, kr_run *run, const kr_lit *row, const char *text,
                          size_t line, kr_error *err) {
    const visitor *v = run->visitor;
    row_t r = {.object = row, .arena = &im->row, .line = line};
    (void)text;
    return v->each(im, run, &r, v->ctx, err);
}

static kr_status visit(kr_import *im, kr_run *run, each_row *each, void *ctx, kr_error *err) {
    visitor v = {each, ctx};
    if (is_table(run->path))
        return visit_table(im, run, &v, err);
    run->visitor = &v;
    kr_status st = kr_import_json(im, run, json_row, err);
    run->visitor = NULL;
    return st;
}

/* --- columns ----------------------------------------------------------------------------------------------- */

static kr_status map_column(kr_import *im, mapping *m, const char *name, const char *column,
                            kr_error *err) {
    for (size_t i = 0; i < N_ROLES; i++)
        if (strcmp(roles[i].name, name) == 0) {
            m->role[i] = column;
            return KR_OK;
        }
    (void)im;
    if (m->n_wide == MAX_WIDE)
        return kr_fail(err, KR_EINVAL, "more than %d columns of runs in --col", MAX_WIDE);
    m->wide[m->n_wide] = column;
    m->wide_name[m->n_wide++] = name;
    return KR_OK;
}

static kr_status parse_columns(kr_import *im, mapping *m, kr_error *err) {
    *m = (mapping){.n_wide = 0};
    for (const char *p = im->opts.columns != NULL ? im->opts.columns : ""; *p != '\0';) {
        size_t n = strcspn(p, ",");
        const char *item = kr_import_text(im, "%.*s", (int)n, p), *eq = strchr(item, '=');
        if (eq == NULL || eq == item || eq[1] == '\0')
            return kr_fail(err, KR_EINVAL, "--col '%s': ROLE=NAME is expected", item);
        kr_status st =
            map_column(im, m, kr_import_text(im, "%.*s", (int)(eq - item), item), eq + 1, err);
        if (st != KR_OK)
            return st;
        p += n + (p[n] == ',');
    }
    return KR_OK;
}

/* Roles that --col does not name get the usual columns where those exist. */
static void fill_usual(mapping *m, const row_t *first) {
    for (size_t i = 0; i < N_ROLES; i++)
        for (size_t k = 0; m->role[i] == NULL && roles[i].usual[k] != NULL; k++)
            if (cell(first, roles[i].usual[k]) != NULL)
                m->role[i] = roles[i].usual[k];
}

/* A run that keeps everything is full KV even where its method has a name. */
static bool is_full(const kr_import *im, const char *method, const char *whole) {
    if (im->opts.full != NULL)
        return strcmp(im->opts.full, method) == 0 || strcmp(im->opts.full, whole) == 0;
    return kr_names_full(method) || strcmp(method, "none") == 0;
}

/* What --col names and no row has shown so far. */
typedef struct {
    mapping *m;
    const char *missing[N_ROLES + MAX_WIDE];
    size_t n_missing;
    kr_buf there; /* columns of the first row */
    bool seen;
} first_look;

/* A file that is full KV by its name has nothing to say about the level. */
static bool needs_level(kr_import *im, const mapping *m, const char *path) {
    const char *base = kr_path_base(path), *dot = strrchr(base, '.');
    const char *name = kr_import_text(im, "%.*s", (int)(dot - base), base);
    return m->role[ROLE_METHOD] != NULL || !is_full(im, name, name);
}

static void list_declared(kr_import *im, first_look *l, const char *path) {
    const mapping *m = l->m;
    for (size_t i = 0; i < N_ROLES; i++)
        if (m->role[i] != NULL && (i != ROLE_LEVEL || needs_level(im, m, path)))
            l->missing[l->n_missing++] = m->role[i];
    for (size_t i = 0; i < m->n_wide; i++)
        l->missing[l->n_missing++] = m->wide[i];
}

static void strike_found(first_look *l, const row_t *r) {
    size_t kept = 0;
    for (size_t i = 0; i < l->n_missing; i++)
        if (cell(r, l->missing[i]) == NULL)
            l->missing[kept++] = l->missing[i];
    l->n_missing = kept;
}

static void list_columns(kr_buf *b, const row_t *r) {
    const char *comma = "";
    for (size_t k = 0; r->csv != NULL && k < kr_csv_columns(r->csv) && b->len < 400; k++) {
        kr_buf_printf(b, "%s%s", comma, kr_csv_name(r->csv, k));
        comma = ", ";
    }
    for (const kr_lit *v = r->object != NULL ? r->object->first : NULL; v != NULL && b->len < 400;
         v = v->next) {
        kr_buf_printf(b, "%s%s", comma, v->key);
        comma = ", ";
    }
}

/* The header of a table tells all; rows of JSON may leave members out, so all of them are asked. */
static kr_status take_first(kr_import *im, kr_run *run, const row_t *r, void *ctx, kr_error *err) {
    first_look *l = ctx;
    if (!l->seen && cell(r, "kvrisk") != NULL)
        return kr_fail(err, KR_EFORMAT, "%s: a calibration file already; kvrisk opens it as it is",
                       run->path);
    if (!l->seen) {
        list_declared(im, l, run->path);
        list_columns(&l->there, r);
        fill_usual(l->m, r);
        l->seen = true;
    }
    strike_found(l, r);
    return l->n_missing == 0 || r->csv != NULL ? kr_fail(err, KR_ECANCELED, "seen enough") : KR_OK;
}

/* The mapping for one file: declared columns, then what its first row offers. */
static kr_status map_file(kr_import *im, const char *path, mapping *m, kr_error *err) {
    kr_run probe = {.path = path, .name = path, .setting = ""};
    kr_error inner = {KR_OK, ""};
    kr_status st = parse_columns(im, m, err);
    if (st != KR_OK)
        return st;
    first_look *l = calloc(1, sizeof *l);
    if (l == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    l->m = m;
    st = visit(im, &probe, take_first, l, &inner);
    if (st != KR_OK && st != KR_ECANCELED)
        kr_fail(err, st, "%s", inner.msg);
    else if (!l->seen)
        st = kr_fail(err, KR_EFORMAT, "%s: no rows", path);
    else if (l->n_missing > 0)
        st = kr_fail(err, KR_EINVAL, "%s: no column '%.100s'; there are %s", path, l->missing[0],
                     kr_buf_text(&l->there));
    else
        st = KR_OK;
    kr_buf_free(&l->there);
    free(l);
    return st;
}

/* --- levels ------------------------------------------------------------------------------------------------- */

static const char *meaning_of(const kr_import *im, const mapping *m) {
    const char *column = m->role[ROLE_LEVEL];
    if (im->opts.ratio_means != NULL)
        return im->opts.ratio_means;
    if (column != NULL && (strcmp(column, "retention") == 0 || strcmp(column, "keep_ratio") == 0 ||
                           strcmp(column, "kept") == 0))
        return "kept";
    return NULL;
}

static kr_status set_level(kr_import *im, kr_run *r, const char *text, const char *meaning,
                           kr_error *err) {
    kr_dec x, one = kr_dec_make(1, 0), zero = kr_dec_make(0, 0);
    if (*text == '\0')
        return KR_OK;
    if (kr_dec_parse_percent(text, &x, NULL) != KR_OK)
        return KR_OK; /* a name such as int4: --order or --level places it */
    if (meaning == NULL)
        return kr_fail(
            err, KR_EINVAL,
            "%s: level '%s' may be the share kept or the share removed; --ratio-means says "
            "which (kept, removed, budget, bits or threshold)",
            r->name, text);
    r->level_from = kr_import_text(im, "level column, %s", meaning);
    r->level = x;
    r->level_kind = KR_LEVEL_RETENTION;
    if (strcmp(meaning, "threshold") == 0)
        r->level_kind = KR_LEVEL_THRESHOLD;
    else if (strcmp(meaning, "budget") == 0)
        r->level_kind = KR_LEVEL_BUDGET;
    else if (strcmp(meaning, "bits") == 0)
        r->level = kr_dec_from_double(
            kr_dec_double(x) / (im->opts.bits_of > 0 ? im->opts.bits_of : 16), 9);
    else if (strcmp(meaning, "removed") == 0 && !kr_dec_sub(one, x, &r->level))
        return kr_fail(err, KR_EFORMAT, "%s: level '%s' is no share", r->name, text);
    if (r->level_kind == KR_LEVEL_RETENTION &&
        (kr_dec_cmp(r->level, zero) <= 0 || kr_dec_cmp(r->level, one) > 0))
        return kr_fail(err, KR_EFORMAT, "%s: level '%s' (%s) leaves a share outside (0, 1]",
                       r->name, text, meaning);
    return KR_OK;
}

/* --- runs ---------------------------------------------------------------------------------------------------- */

static kr_run *new_run(kr_import *im, const char *path, const char *method, const char *level,
                       const char *column, int shape, kr_error *err) {
    const char *name = *level != '\0' ? kr_import_text(im, "%s@%s", method, level) : method;
    kr_run *r = kr_import_run_new(im, path, name, err);
    if (r == NULL)
        return NULL;
    r->variant = shape;
    r->press = kr_import_text(im, "%s", method);
    r->full = is_full(im, method, name);
    r->method = r->full ? NULL : kr_import_method(im, method);
    r->column = column;
    return r;
}

static kr_status add_wide(kr_import *im, const char *path, const char *name, const char *column,
                          const char *meaning, kr_error *err) {
    const char *at = strchr(name, '@');
    const char *method = at != NULL ? kr_import_text(im, "%.*s", (int)(at - name), name) : name;
    kr_run *r = new_run(im, path, method, at != NULL ? at + 1 : "", column, SHAPE_WIDE, err);
    if (r == NULL)
        return err->code;
    return r->full ? KR_OK : set_level(im, r, at != NULL ? at + 1 : "", meaning, err);
}

/* {"full": 1, "snapkv": {"0.5": 0.8}}: each leaf is a run. */
static kr_status add_nested(kr_import *im, const char *path, const char *where, const kr_lit *map,
                            const char *meaning, kr_error *err) {
    kr_status st = KR_OK;
    for (const kr_lit *m = map != NULL ? map->first : NULL; m != NULL && st == KR_OK; m = m->next) {
        const char *column = kr_import_text(im, "%s.%s", where, m->key);
        if (m->type != KR_LIT_DICT) {
            st = add_wide(im, path, kr_import_text(im, "%s", m->key), column, meaning, err);
            continue;
        }
        for (const kr_lit *n = m->first; n != NULL && st == KR_OK; n = n->next)
            st = add_wide(im, path, kr_import_text(im, "%s@%s", m->key, n->key),
                          kr_import_text(im, "%s.%s", column, n->key), meaning, err);
    }
    return st;
}

typedef struct {
    const mapping *m;
    const char *path;
    size_t first; /* run */
} scan;

/* Long shape: every (method, level) that occurs is a run. */
static kr_status note_pair(kr_import *im, kr_run *run, const row_t *r, void *ctx, kr_error *err) {
    const scan *s = ctx;
    const char *method = text_of(cell(r, s->m->role[ROLE_METHOD]));
    const char *level = text_of(cell(r, s->m->role[ROLE_LEVEL]));
    size_t levels = 0;
    (void)run;
    if (*method == '\0')
        return kr_fail(err, KR_EFORMAT, "%s:%zu: no method in column '%s'", s->path, r->line,
                       s->m->role[ROLE_METHOD]);
    if (is_full(im, method, method))
        level = "";
    for (size_t i = s->first; i < im->n_runs; i++) {
        if (strcmp(im->runs[i].press, method) != 0)
            continue;
        levels++;
        if (strcmp(im->runs[i].column, level) == 0)
            return KR_OK;
    }
    if (levels >= MAX_LEVELS)
        return kr_fail(
            err, KR_EFORMAT,
            "%s:%zu: method %s has more than %d levels: column '%s' seems to hold what was "
            "measured, not what was set",
            s->path, r->line, method, MAX_LEVELS, s->m->role[ROLE_LEVEL]);
    kr_run *n =
        new_run(im, s->path, method, level, kr_import_text(im, "%s", level), SHAPE_LONG, err);
    if (n == NULL)
        return err->code;
    return n->full ? KR_OK : set_level(im, n, level, meaning_of(im, s->m), err);
}

static kr_status add_long(kr_import *im, const char *path, const mapping *m, kr_error *err) {
    scan s = {m, path, im->n_runs};
    kr_run probe = {.path = path, .name = path, .setting = ""};
    kr_status st = visit(im, &probe, note_pair, &s, err);
    return st;
}

static kr_status take_map(kr_import *im, kr_run *run, const row_t *r, void *ctx, kr_error *err) {
    const mapping *m = ctx;
    const char *where = m->role[ROLE_SCORES];
    kr_status st = add_nested(im, run->path, where, cell(r, where), meaning_of(im, m), err);
    return st == KR_OK ? kr_fail(err, KR_ECANCELED, "seen enough") : st;
}

static kr_status add_columns(kr_import *im, const char *path, const mapping *m, kr_error *err) {
    kr_status st = KR_OK;
    if (m->role[ROLE_FULL] != NULL)
        st = new_run(im, path, "full", "", m->role[ROLE_FULL], SHAPE_WIDE, err) != NULL ? KR_OK
                                                                                        : err->code;
    if (m->role[ROLE_FULL] != NULL && st == KR_OK) {
        im->runs[im->n_runs - 1].full = true;
        im->runs[im->n_runs - 1].method = NULL;
    }
    for (size_t i = 0; i < m->n_wide && st == KR_OK; i++)
        st = add_wide(im, path, m->wide_name[i], m->wide[i], meaning_of(im, m), err);
    if (st == KR_OK && m->role[ROLE_SCORES] != NULL) {
        kr_run probe = {.path = path, .name = path, .setting = ""};
        st = visit(im, &probe, take_map, (void *)(uintptr_t)m, err);
        st = st == KR_ECANCELED ? KR_OK : st;
    }
    return st;
}

static kr_status take_level(kr_import *im, kr_run *run, const row_t *r, void *ctx, kr_error *err) {
    const mapping *m = ctx;
    run->column = kr_import_text(im, "%s", text_of(cell(r, m->role[ROLE_LEVEL])));
    return kr_fail(err, KR_ECANCELED, "seen enough");
}

/* One file per run: the method is the file's name; a level column gives the level of all its rows. */
static kr_status add_file_run(kr_import *im, const char *path, const mapping *m, kr_error *err) {
    const char *base = kr_path_base(path), *dot = strrchr(base, '.');
    kr_run probe = {.path = path, .name = path, .setting = ""};
    kr_error ignored = {KR_OK, ""};
    if (m->role[ROLE_LEVEL] != NULL)
        visit(im, &probe, take_level, (void *)(uintptr_t)m, &ignored);
    const char *level = probe.column != NULL ? probe.column : "";
    kr_run *r = new_run(im, path, kr_import_text(im, "%.*s", (int)(dot - base), base), "", NULL,
                        SHAPE_FILES, err);
    if (r == NULL)
        return err->code;
    return r->full ? KR_OK : set_level(im, r, level, meaning_of(im, m), err);
}

static kr_status discover(kr_import *im, kr_error *err) {
    kr_status st = KR_OK;
    for (size_t i = 0; i < im->tree.n && st == KR_OK; i++) {
        const char *path = im->tree.path[i];
        mapping *m = kr_arena_alloc(&im->arena, sizeof *m);
        if (!is_table(path) && !is_json(path))
            continue;
        if (m == NULL)
            return kr_fail(err, KR_ENOMEM, "out of memory");
        if ((st = map_file(im, path, m, err)) != KR_OK)
            return st;
        size_t first = im->n_runs;
        if (m->n_wide > 0 || m->role[ROLE_SCORES] != NULL || m->role[ROLE_FULL] != NULL)
            st = add_columns(im, path, m, err);
        else if (m->role[ROLE_METHOD] != NULL)
            st = add_long(im, path, m, err);
        else
            st = add_file_run(im, path, m, err);
        for (size_t k = first; k < im->n_runs; k++)
            im->runs[k].mapping = m;
    }
    return st;
}

static int probe(const kr_tree *t, const char **why) {
    *why = "tables or rows with columns of their own";
    for (size_t i = 0; i < t->n; i++)
        if (is_table(t->path[i]) || is_json(t->path[i]))
            return 1;
    return 0;
}

/* --- rows ------------------------------------------------------------------------------------------------------ */

/* "0.87", 0.87, true, "87%"; blank and null are no score. */
static kr_status score_of(kr_import *im, const kr_run *run, const row_t *r, const kr_lit *v,
                          kr_row_in *in, kr_error *err) {
    double scale = im->opts.scale > 0 ? im->opts.scale : 1, x;
    const char *text = text_of(v);
    kr_dec d;
    if (text[strspn(text, " ")] == '\0' || strcmp(text, "nan") == 0 || strcmp(text, "NaN") == 0)
        return KR_OK;
    if (v->type == KR_LIT_BOOL || strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
        x = v->type == KR_LIT_BOOL ? v->yes : text[0] == 'T';
    } else if (strchr(text, '%') != NULL && kr_dec_parse_percent(text, &d, NULL) == KR_OK) {
        x = kr_dec_double(d);
    } else {
        char *end;
        x = strtod(text, &end) / scale;
        if (end == text || end[strspn(end, " ")] != '\0')
            return kr_fail(err, KR_EFORMAT, "%s:%zu: score '%.60s' is no number", run->path,
                           r->line, text);
    }
    if (!(x >= 0 && x <= 1))
        return kr_fail(
            err, KR_EFORMAT, "%s:%zu: score '%.60s' is outside 0 to 1%s", run->path, r->line, text,
            im->opts.scale > 0 ? " after --scale" : "; --scale says what the best score is");
    in->has_native = true;
    in->native = x;
    return KR_OK;
}

static const kr_lit *list_of(kr_import *im, const kr_lit *v) {
    kr_lit *list = NULL;
    if (v != NULL && v->type == KR_LIT_STR && v->len > 1 && v->s[0] == '[' &&
        kr_lit_parse(KR_LIT_CELL, v->s, v->len, &im->row, &list, NULL, NULL) == KR_OK)
        return list;
    return kr_lit_as_list(&im->row, v);
}

static bool of_this_run(const kr_run *run, const row_t *r, const mapping *m) {
    if (run->variant != SHAPE_LONG)
        return true;
    return strcmp(text_of(cell(r, m->role[ROLE_METHOD])), run->press) == 0 &&
           (run->full || strcmp(text_of(cell(r, m->role[ROLE_LEVEL])), run->column) == 0);
}

static void add_texts(kr_import *im, kr_row_in *in, const row_t *r, const mapping *m) {
    const kr_lit *id = cell(r, m->role[ROLE_ID]), *q = cell(r, m->role[ROLE_QUESTION]);
    double tokens;
    if (*text_of(id) != '\0') {
        in->id = text_of(id);
        in->id_len = strlen(in->id);
    }
    in->task = text_of(cell(r, m->role[ROLE_TASK]));
    if (*in->task == '\0')
        in->task = "all";
    in->task_len = strlen(in->task);
    in->answers = list_of(im, cell(r, m->role[ROLE_ANSWERS]));
    in->classes = list_of(im, cell(r, m->role[ROLE_CLASSES]));
    in->key = kr_key_start();
    kr_key_add(&in->key, in->task, in->task_len);
    if (q != NULL)
        kr_key_add(&in->key, text_of(q), strlen(text_of(q)));
    kr_key_add_answers(&in->key, in->answers);
    if (kr_lit_number(cell(r, m->role[ROLE_TOKENS]), true, &tokens) && tokens > 0 && tokens < 1e9)
        in->tokens = (int32_t)tokens;
}

static kr_status take_row(kr_import *im, kr_run *run, const row_t *r, void *ctx, kr_error *err) {
    const mapping *m = run->mapping;
    bool column_is_text = run->variant == SHAPE_WIDE && im->opts.scorer != NULL;
    const char *prediction = run->variant == SHAPE_WIDE ? run->column : m->role[ROLE_PREDICTION];
    const char *score = run->variant == SHAPE_WIDE ? run->column : m->role[ROLE_SCORE];
    (void)ctx;
    if (!of_this_run(run, r, m))
        return KR_OK;
    kr_row_in in = {.line = r->line, .prediction = ""};
    add_texts(im, &in, r, m);
    const kr_lit *p = column_is_text || run->variant != SHAPE_WIDE ? cell(r, prediction) : NULL;
    if (p != NULL) {
        in.prediction = text_of(p);
        in.prediction_len = strlen(in.prediction);
        if (p->type == KR_LIT_STR)
            in.prediction_len = p->len;
    }
    in.native_only = im->opts.scorer == NULL;
    kr_status st = column_is_text ? KR_OK : score_of(im, run, r, cell(r, score), &in, err);
    return st == KR_OK ? kr_run_row(im, run, &in, err) : st;
}

static kr_status read_run(kr_import *im, kr_run *run, kr_error *err) {
    const mapping *m = run->mapping;
    if (run->variant != SHAPE_WIDE && m->role[ROLE_SCORE] == NULL && im->opts.scorer == NULL)
        return kr_fail(
            err, KR_EFORMAT,
            "%s: no column of scores; --col score=NAME names it, or --scorer NAME scores the "
            "predictions",
            run->path);
    return visit(im, run, take_row, NULL, err);
}

const kr_importer kr_importer_generic = {
    "generic", "CSV, TSV, JSON, JSON Lines with columns of one's own (--col)",
    probe,     discover,
    read_run,  NULL,
};
