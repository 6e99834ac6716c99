/* import_kvpress.c - output of NVIDIA kvpress's evaluation script, old and new layouts. */
#include "calib/import_core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib/csv.h"
#include "calib/yamlmap.h"

enum { PLAIN, CHANNELS };

/* Longest first: a name begins with one of them. */
static const char *const datasets[] = {
    "needle_in_haystack", "longbench-v2", "infinitebench", "zero_scrolls", "longbench-e",
    "longbench",          "math500",      "loogle",        "aime25",       "ruler"};

/* --- run names -------------------------------------------------------------------------------- */

enum { MAX_PARTS = 24 };

typedef struct {
    const char *part[MAX_PARTS];
    size_t n;
    const char *dataset, *data_dir, *model, *press, *strength;
    const char *fraction, *context; /* as the name spells them, or NULL */
    bool query_aware, channels;     /* channels of keys are removed (ThinK) */
} run_name;

static bool starts(const char *s, const char *prefix) {
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool ends(const char *s, const char *suffix) {
    size_t a = strlen(s), b = strlen(suffix);
    return a >= b && strcmp(s + a - b, suffix) == 0;
}

static bool is_number(const char *s) {
    kr_dec d;
    return kr_dec_parse(s, strlen(s), &d, NULL) == KR_OK;
}

static bool is_suffix_part(const char *s) {
    static const char *const known[] = {"fraction", "max_context", "key_channel_cr", "channel",
                                        "needle_depth"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (starts(s, known[i]))
            return true;
    return strcmp(s, "query_aware") == 0 || strcmp(s, "compressed_questions") == 0;
}

/* Splits at "__"; empty parts are kept (the old layout keeps an empty data_dir). A model that is a
 * local path begins with "--", which is no separator. */
static bool split_name(kr_import *im, const char *name, run_name *out) {
    char *p = kr_arena_copy(&im->arena, name, strlen(name));
    for (out->n = 0; p != NULL && out->n < MAX_PARTS;) {
        char *end = strstr(p, "__");
        out->part[out->n++] = p;
        if (end == NULL)
            return true;
        *end = '\0';
        p = end + 2;
    }
    return false;
}

static const char *slashes(kr_import *im, const char *model) {
    size_t len = strlen(model), n = 0;
    char *p = kr_arena_alloc(&im->arena, len + 1);
    if (p == NULL)
        return "";
    for (size_t i = 0; i < len; i++) {
        bool mark = model[i] == '-' && model[i + 1] == '-';
        p[n++] = mark ? '/' : model[i];
        i += mark;
    }
    p[n] = '\0';
    return p;
}

/* dataset [data_dir] model press strength [suffixes...]; false when the name is not of that form. */
static bool parse_name(kr_import *im, const char *name, run_name *out) {
    *out = (run_name){.n = 0};
    if (!split_name(im, name, out))
        return false;
    for (size_t i = 0; i < sizeof datasets / sizeof *datasets && out->dataset == NULL; i++)
        if (strcmp(out->part[0], datasets[i]) == 0)
            out->dataset = datasets[i];
    size_t n = out->n;
    while (n > 0 && is_suffix_part(out->part[n - 1])) {
        const char *s = out->part[--n];
        out->query_aware |= strcmp(s, "query_aware") == 0 || strcmp(s, "compressed_questions") == 0;
        out->channels |= starts(s, "key_channel_cr") || starts(s, "channel");
        if (starts(s, "fraction"))
            out->fraction = s + strlen("fraction");
        if (starts(s, "max_context"))
            out->context = s + strlen("max_context");
    }
    if (out->dataset == NULL || n < 4 || !is_number(out->part[n - 1]))
        return false;
    out->strength = out->part[n - 1];
    out->press = out->part[n - 2];
    out->model = slashes(im, out->part[n - 3]);
    for (size_t i = 1; i + 3 < n; i++)
        if (out->part[i][0] != '\0')
            out->data_dir = out->data_dir == NULL
                                ? out->part[i]
                                : kr_import_text(im, "%s__%s", out->data_dir, out->part[i]);
    return out->model[0] != '\0' && out->press[0] != '\0';
}

/* --- level ------------------------------------------------------------------------------------- */

static bool config_dec(const kr_yamlmap *cfg, const char *key, kr_dec *out) {
    const char *s = kr_yamlmap_get(cfg, key);
    return s != NULL && kr_dec_parse(s, strlen(s), out, NULL) == KR_OK;
}

static bool removed_to_kept(kr_dec removed, kr_dec *kept) {
    kr_dec one = kr_dec_make(1, 0), zero = kr_dec_make(0, 0);
    return kr_dec_sub(one, removed, kept) && kr_dec_cmp(*kept, zero) > 0 &&
           kr_dec_cmp(*kept, one) <= 0;
}

static void set_level(kr_run *r, kr_level_kind kind, kr_dec level, const char *from) {
    r->level_kind = kind;
    r->level = level;
    r->level_from = from;
}

/* The ratio beside a threshold, a head ratio or a target size is a stale default of older versions. */
static bool level_from_config(kr_run *r, const kr_yamlmap *cfg) {
    kr_dec x, kept;
    if (config_dec(cfg, "threshold", &x)) {
        set_level(r, KR_LEVEL_THRESHOLD, x, "config.yaml threshold");
    } else if (config_dec(cfg, "head_compression_ratio", &x)) {
        set_level(r, KR_LEVEL_THRESHOLD, x, "config.yaml head_compression_ratio");
    } else if (config_dec(cfg, "target_size", &x)) {
        set_level(r, KR_LEVEL_BUDGET, x, "config.yaml target_size");
    } else if (kr_yamlmap_get(cfg, "key_channel_compression_ratio") != NULL) {
        return false;
    } else if (config_dec(cfg, "compression_ratio", &x) && removed_to_kept(x, &kept)) {
        set_level(r, KR_LEVEL_RETENTION, kept, "1 - config.yaml compression_ratio");
    } else {
        return false;
    }
    return true;
}

/* The name rounds to two decimals, so it is the last resort. A share removed lies in [0, 1): what
 * does not is a threshold. */
static void level_from_name(kr_run *r, const run_name *name) {
    kr_dec x, kept, one = kr_dec_make(1, 0);
    if (name->strength == NULL ||
        kr_dec_parse(name->strength, strlen(name->strength), &x, NULL) != KR_OK)
        return;
    if (x.digits < 0 || kr_dec_cmp(x, one) >= 0)
        set_level(r, KR_LEVEL_THRESHOLD, x, "the threshold in the name (two decimals)");
    else if (removed_to_kept(x, &kept))
        set_level(r, KR_LEVEL_RETENTION, kept, "1 - the ratio in the name (two decimals)");
}

/* ThinK removes channels of keys only: what its rows report is the level. */
static void level_from_row(kr_run *r, const char *ratio) {
    kr_dec x, kept;
    if (ratio != NULL && kr_dec_parse(ratio, strlen(ratio), &x, NULL) == KR_OK &&
        removed_to_kept(x, &kept))
        set_level(r, KR_LEVEL_RETENTION, kept, "1 - compression_ratio of its rows");
}

/* --- finding runs --------------------------------------------------------------------------------- */

static bool digits_only(const char *s) {
    return *s != '\0' && strspn(s, "0123456789") == strlen(s) && strlen(s) < 6;
}

static bool has_file(const kr_tree *t, const char *dir, const char *name) {
    size_t n = strlen(dir);
    for (size_t i = 0; i < t->n; i++)
        if (starts(t->path[i], dir) && t->path[i][n] == '/' &&
            strcmp(t->path[i] + n + 1, name) == 0)
            return true;
    return false;
}

static kr_status read_config(kr_import *im, const char *dir, kr_yamlmap **out, kr_error *err) {
    const char *path = kr_import_text(im, "%s/config.yaml", dir);
    char *text = NULL;
    size_t len = 0;
    *out = NULL;
    if (!has_file(&im->tree, dir, "config.yaml"))
        return KR_OK;
    kr_status st = kr_file_read(path, 1 << 20, &text, &len, err);
    if (st == KR_OK)
        st = kr_yamlmap_parse(path, text, len, out, err);
    free(text);
    return st;
}

static const char *differ(kr_import *im, kr_run *r, const char *what, const char *from_config,
                          const char *from_name) {
    if (from_config == NULL)
        return from_name;
    if (from_name != NULL && strcmp(from_config, from_name) != 0)
        kr_import_say(im, KR_NOTE_WARNING,
                      "%s: config.yaml says %s '%s', the name says '%s'; config.yaml is believed.",
                      r->name, what, from_config, from_name);
    return kr_import_text(im, "%s", from_config);
}

static bool yes(const char *s) {
    return s != NULL && (strcmp(s, "true") == 0 || strcmp(s, "True") == 0);
}

/* A number in one spelling, so that 0.5 and 0.500 are the same setting. */
static const char *plain_number(kr_import *im, const char *s) {
    kr_dec d;
    char text[KR_DEC_TEXT];
    return kr_dec_parse(s, strlen(s), &d, NULL) == KR_OK
               ? kr_import_text(im, "%s", kr_dec_text(d, text))
               : s;
}

static void add_setting(kr_import *im, kr_run *r, const char *name, const char *value) {
    r->setting = kr_import_text(im, "%s%s%s%s%s", r->setting, *r->setting != '\0' ? ", " : "", name,
                                *value != '\0' ? " " : "", value);
}

/* Everything but the method and its strength that changes what the model is asked. */
static void settings_of(kr_import *im, kr_run *r, const kr_yamlmap *cfg, const run_name *name) {
    const char *fraction = cfg != NULL ? kr_yamlmap_get(cfg, "fraction") : name->fraction;
    const char *context = cfg != NULL ? kr_yamlmap_get(cfg, "max_context_length") : name->context;
    if (r->query_aware)
        add_setting(im, r, "query_aware", "");
    if (fraction != NULL && strtod(fraction, NULL) < 1)
        add_setting(im, r, "fraction", plain_number(im, fraction));
    if (context != NULL)
        add_setting(im, r, "max_context", plain_number(im, context));
    if (yes(kr_yamlmap_get(cfg, "fp8")))
        add_setting(im, r, "fp8", "");
}

static bool is_needle(const kr_run *r) {
    return r->dataset != NULL && strcmp(r->dataset, "needle_in_haystack") == 0;
}

/* RULER's data_dir is the length of the prompts: another length is another benchmark. The needle's
 * runs differ in length and depth by design: each is a part of the data. */
static void place_subset(kr_import *im, kr_run *r, const char *data_dir) {
    if (is_needle(r)) {
        r->subset = *r->setting != '\0' ? r->setting : data_dir;
        r->setting = r->query_aware ? "query_aware" : "";
    } else if (data_dir != NULL && r->dataset != NULL && strcmp(r->dataset, "ruler") == 0) {
        add_setting(im, r, "length", data_dir);
    } else {
        r->subset = data_dir;
    }
}

static void describe(kr_import *im, kr_run *r, const run_name *name, const kr_yamlmap *cfg) {
    r->family = KR_FAMILY_KVPRESS;
    r->dataset = differ(im, r, "dataset", kr_yamlmap_get(cfg, "dataset"), name->dataset);
    r->model = differ(im, r, "model", kr_yamlmap_get(cfg, "model"), name->model);
    r->press = differ(im, r, "press", kr_yamlmap_get(cfg, "press_name"), name->press);
    const char *data_dir =
        differ(im, r, "data_dir", kr_yamlmap_get(cfg, "data_dir"), name->data_dir);
    r->query_aware = cfg != NULL ? yes(kr_yamlmap_get(cfg, "query_aware")) ||
                                       yes(kr_yamlmap_get(cfg, "compress_questions"))
                                 : name->query_aware;
    settings_of(im, r, cfg, name);
    place_subset(im, r, data_dir);
    if (r->press == NULL || r->dataset == NULL) {
        r->left_out = "neither config.yaml nor the name tells data set and press";
        kr_import_say(im, KR_NOTE_WARNING, "%s is left out: %s.", r->name, r->left_out);
        return;
    }
    r->full = strcmp(r->press, "no_press") == 0;
    r->method = r->full ? NULL : kr_import_method(im, r->press);
    r->variant = name->channels || kr_yamlmap_get(cfg, "key_channel_compression_ratio") != NULL
                     ? CHANNELS
                     : PLAIN;
    if (!r->full && !level_from_config(r, cfg) && r->variant == PLAIN)
        level_from_name(r, name);
}

/* A quick look at header and first row: which columns there are, and ThinK's ratio. */
static kr_status peek(kr_import *im, kr_run *r, kr_error *err) {
    kr_source_file *f = NULL;
    kr_csv *c = NULL;
    bool got = false;
    kr_status st = kr_source_open(r->path, &f, err);
    if (st != KR_OK)
        return st;
    st = kr_csv_open(&(kr_csv_opts){.name = r->path, .lenient = true}, kr_source_read, f, &c, err);
    ptrdiff_t ratio = st == KR_OK ? kr_csv_find(c, "compression_ratio") : -1;
    if (ratio >= 0 && !r->full && r->level_kind == KR_LEVEL_UNKNOWN && r->variant == CHANNELS)
        st = kr_csv_next(c, &got, err);
    if (st == KR_OK && got) {
        kr_csv_field v = kr_csv_get(c, (size_t)ratio);
        level_from_row(r, kr_import_text(im, "%.*s", (int)v.len, v.s));
    }
    kr_csv_free(c);
    kr_source_close(f);
    return st;
}

/* The directory `dir` of predictions.csv: NAME, or NAME/2 for the third run of NAME. */
static kr_status add_new_layout(kr_import *im, const char *path, kr_error *err) {
    char *dir = kr_path_dir(path), *up = dir != NULL ? kr_path_dir(dir) : NULL;
    const char *base = dir != NULL ? kr_path_base(dir) : "";
    run_name name;
    kr_yamlmap *cfg = NULL;
    kr_status st = up != NULL ? KR_OK : kr_fail(err, KR_ENOMEM, "out of memory");
    if (st == KR_OK) {
        bool numbered = digits_only(base) && parse_name(im, kr_path_base(up), &name);
        const char *home = numbered ? up : dir;
        if (!numbered)
            parse_name(im, base, &name);
        st = read_config(im, dir, &cfg, err);
        kr_run *r =
            st == KR_OK
                ? kr_import_run_new(
                      im, path,
                      numbered ? kr_import_text(im, "%s/%s", kr_path_base(up), base) : base, err)
                : NULL;
        if (r != NULL) {
            r->rerun_of = kr_import_text(im, "%s", home);
            r->rerun = numbered ? (unsigned)strtoul(base, NULL, 10) : 0;
            r->complete = has_file(&im->tree, dir, "metrics.json");
            if (r->complete)
                r->metrics = kr_import_text(im, "%s/metrics.json", dir);
            describe(im, r, &name, cfg);
        } else if (st == KR_OK) {
            st = err->code;
        }
        if (st == KR_OK)
            st = peek(im, &im->runs[im->n_runs - 1], err);
    }
    kr_yamlmap_free(cfg);
    free(dir);
    free(up);
    return st;
}

/* results/NAME.csv with NAME.json beside it (versions before 0.2.9). */
static kr_status add_old_layout(kr_import *im, const char *path, const run_name *name,
                                kr_error *err) {
    const char *base = kr_path_base(path);
    kr_run *r = kr_import_run_new(im, path, base, err);
    if (r == NULL)
        return err->code;
    const char *json = kr_import_text(im, "%.*s.json", (int)(strlen(path) - 4), path);
    for (size_t i = 0; i < im->tree.n; i++)
        if (strcmp(im->tree.path[i], json) == 0)
            r->metrics = json;
    describe(im, r, name, NULL);
    return peek(im, r, err);
}

static bool old_name(kr_import *im, const char *path, run_name *name) {
    const char *base = kr_path_base(path);
    size_t len = strlen(base);
    if (!ends(base, ".csv") || strcmp(base, "predictions.csv") == 0)
        return false;
    return parse_name(im, kr_import_text(im, "%.*s", (int)(len - 4), base), name);
}

static kr_status discover(kr_import *im, kr_error *err) {
    run_name name;
    for (size_t i = 0; i < im->tree.n; i++) {
        const char *path = im->tree.path[i];
        kr_status st = KR_OK;
        if (strcmp(kr_path_base(path), "predictions.csv") == 0)
            st = add_new_layout(im, path, err);
        else if (old_name(im, path, &name))
            st = add_old_layout(im, path, &name, err);
        if (st != KR_OK)
            return st;
    }
    return KR_OK;
}

static int probe(const kr_tree *t, const char **why) {
    size_t runs = 0;
    for (size_t i = 0; i < t->n; i++)
        runs += strcmp(kr_path_base(t->path[i]), "predictions.csv") == 0 ||
                (ends(t->path[i], ".csv") && strstr(kr_path_base(t->path[i]), "__") != NULL);
    *why = "predictions.csv or CSV files with kvpress run names";
    return runs > 0 ? 90 : 0;
}

/* --- rows ------------------------------------------------------------------------------------------ */

typedef struct {
    ptrdiff_t predicted, answer, task, question, prefix, ratio, id, classes, depth;
    bool list_answers; /* the answer column holds printed lists */
} columns;

static kr_status find_columns(const kr_run *r, const kr_csv *c, columns *k, kr_error *err) {
    k->predicted = kr_csv_find(c, "predicted_answer");
    k->answer = kr_csv_find(c, "answers");
    if (k->answer < 0)
        k->answer =
            kr_csv_find(c, strcmp(r->dataset, "needle_in_haystack") == 0 ? "needle" : "answer");
    k->task = kr_csv_find(c, "task");
    k->question = kr_csv_find(c, "question");
    k->prefix = kr_csv_find(c, "answer_prefix");
    k->ratio = kr_csv_find(c, "compression_ratio");
    k->id = kr_csv_find(c, "_id");
    if (k->id < 0 && strcmp(r->dataset, "zero_scrolls") == 0)
        k->id = kr_csv_find(c, "id");
    k->classes = kr_csv_find(c, "all_classes");
    k->depth = kr_csv_find(c, "needle_depth");
    k->list_answers = strcmp(r->dataset, "ruler") == 0 || starts(r->dataset, "longbench") ||
                      strcmp(r->dataset, "infinitebench") == 0;
    if (k->predicted < 0)
        return kr_fail(err, KR_EFORMAT, "%s:1: no column 'predicted_answer'", r->path);
    if (k->answer < 0)
        return kr_fail(
            err, KR_EFORMAT,
            "%s:1: no column with reference answers (kvpress before 0.3 wrote predictions "
            "only), so its rows cannot be scored",
            r->path);
    return KR_OK;
}

static kr_csv_field field(const kr_csv *c, ptrdiff_t column) {
    return column >= 0 ? kr_csv_get(c, (size_t)column) : (kr_csv_field){"", 0};
}

/* A cell as a list: printed lists are parsed, any other text is one answer. */
static kr_status cell_list(kr_import *im, const kr_run *r, const kr_csv *c, ptrdiff_t column,
                           bool lists, const kr_lit **out, kr_error *err) {
    kr_csv_field f = field(c, column);
    size_t skip = 0;
    kr_lit *v = NULL;
    kr_error inner;
    while (skip < f.len && (f.s[skip] == ' ' || f.s[skip] == '\n'))
        skip++;
    bool is_list = lists && skip < f.len &&
                   (f.s[skip] == '[' || (f.len - skip > 6 && memcmp(f.s + skip, "array(", 6) == 0));
    if (is_list) {
        kr_status st = kr_lit_parse(KR_LIT_CELL, f.s, f.len, &im->row, &v, NULL, &inner);
        if (st != KR_OK)
            return kr_fail(err, st, "%s:%zu: record %zu, column '%s': %s", r->path, kr_csv_line(c),
                           kr_csv_record(c), kr_csv_name(c, (size_t)column), inner.msg);
        *out = v;
        return KR_OK;
    }
    kr_lit *list = kr_arena_alloc(&im->row, sizeof *list),
           *one = kr_arena_alloc(&im->row, sizeof *one);
    const char *text = kr_arena_copy(&im->row, f.s, f.len);
    if (list == NULL || one == NULL || text == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    *one = (kr_lit){.type = KR_LIT_STR, .s = text, .len = f.len};
    *list = (kr_lit){.type = KR_LIT_LIST, .first = one, .count = 1};
    *out = list;
    return KR_OK;
}

static kr_status take_row(kr_import *im, kr_run *r, const kr_csv *c, const columns *k,
                          kr_error *err) {
    kr_csv_field p = field(c, k->predicted), t = field(c, k->task), q = field(c, k->question);
    kr_csv_field pre = field(c, k->prefix), ratio = field(c, k->ratio), id = field(c, k->id);
    const char *fallback = r->subset != NULL && !is_needle(r) ? r->subset : r->dataset;
    kr_row_in in = {.prediction = p.s, .prediction_len = p.len, .line = kr_csv_line(c)};
    kr_status st = cell_list(im, r, c, k->answer, k->list_answers, &in.answers, err);
    if (st == KR_OK && k->classes >= 0 && field(c, k->classes).len > 0)
        st = cell_list(im, r, c, k->classes, true, &in.classes, err);
    if (st != KR_OK)
        return st;
    in.task = t.len > 0 ? t.s : fallback;
    in.task_len = t.len > 0 ? t.len : strlen(fallback);
    in.id = id.len > 0 ? id.s : NULL;
    in.id_len = id.len;
    in.key = kr_key_start();
    kr_key_add(&in.key, in.task, in.task_len);
    kr_key_add(&in.key, q.s, q.len);
    kr_key_add_answers(&in.key, in.answers);
    kr_key_add(&in.key, pre.s, pre.len);
    kr_key_add(&in.key, field(c, k->depth).s, field(c, k->depth).len);
    const char *text = kr_arena_copy(&im->row, ratio.s, ratio.len);
    char *end = NULL;
    double x = text != NULL && ratio.len > 0 ? strtod(text, &end) : NAN;
    in.has_retained = end != NULL && *end == '\0' && x >= 0 && x < 1;
    in.retained = 1 - x;
    return kr_run_row(im, r, &in, err);
}

static kr_status read_csv(kr_import *im, kr_run *r, kr_source_file *f, kr_error *err) {
    kr_csv *c = NULL;
    columns k = {0};
    bool got = true;
    kr_csv_opts o = {.name = r->path, .lenient = im->opts.lenient};
    kr_status st = kr_csv_open(&o, kr_source_read, f, &c, err);
    if (st == KR_OK)
        st = find_columns(r, c, &k, err);
    ptrdiff_t used[] = {k.predicted, k.answer, k.task,    k.question, k.prefix,
                        k.ratio,     k.id,     k.classes, k.depth};
    for (size_t i = 0; st == KR_OK && i < kr_csv_columns(c); i++) {
        bool wanted = false;
        for (size_t u = 0; u < sizeof used / sizeof *used; u++)
            wanted |= used[u] == (ptrdiff_t)i;
        if (!wanted)
            kr_csv_skip(c, i);
    }
    while (st == KR_OK && (st = kr_csv_next(c, &got, err)) == KR_OK && got) {
        kr_arena_reset(&im->row);
        st = take_row(im, r, c, &k, err);
    }
    if (st == KR_OK && kr_csv_ragged(c) > 0)
        kr_import_say(im, KR_NOTE_WARNING, "%s: %zu records with too few or too many fields.",
                      r->name, kr_csv_ragged(c));
    kr_csv_free(c);
    return st;
}

/* --- the run's own means ------------------------------------------------------------------------------ */

/* The reference rounds to two decimals (percent) or not at all. */
static void check_mean(kr_import *im, kr_run *r, const char *task, double stated, double scale) {
    for (size_t t = 0; t < r->n_sum && t < im->n_tasks; t++) {
        if (strcmp(im->tasks[t], task) != 0 || r->count[t] == 0)
            continue;
        double mean = scale * r->sum[t] / (double)r->count[t];
        if (fabs(mean - stated) > (scale > 1 ? 0.005 : 5e-5) + 1e-9)
            kr_import_say(im, KR_NOTE_WARNING,
                          "%s: task %s has mean %.4f here and %.4f in the run's own score file.",
                          r->name, task, mean, stated);
        return;
    }
}

static void check_metrics(kr_import *im, kr_run *r) {
    char *text = NULL;
    size_t len = 0;
    kr_lit *v = NULL;
    double x;
    if (r->metrics == NULL || kr_file_read(r->metrics, 16 << 20, &text, &len, NULL) != KR_OK)
        return;
    kr_arena_reset(&im->row);
    if (kr_lit_parse(KR_LIT_JSON, text, len, &im->row, &v, NULL, NULL) != KR_OK) {
        kr_import_say(im, KR_NOTE_WARNING, "%s is not JSON: its means are not compared.",
                      r->metrics);
    } else if (strcmp(r->dataset, "ruler") == 0 && v->type == KR_LIT_DICT) {
        for (const kr_lit *m = v->first; m != NULL; m = m->next)
            if (kr_lit_number(kr_lit_get(m, "string_match"), false, &x))
                check_mean(im, r, m->key, x, 100);
    } else if (strcmp(r->dataset, "longbench") == 0 && r->subset != NULL &&
               kr_lit_number(v, false, &x)) {
        check_mean(im, r, r->subset, x, 100);
    } else if (strcmp(r->dataset, "infinitebench") == 0 && r->subset != NULL &&
               kr_lit_number(v, false, &x)) {
        check_mean(im, r, r->subset, x, 1);
    }
    free(text);
}

/* Plain presses report their own setting; another figure means another setting. */
static void check_retained(kr_import *im, const kr_run *r) {
    char level[KR_DEC_TEXT];
    if (r->level_kind != KR_LEVEL_RETENTION || r->retained_n == 0)
        return;
    double mean = r->retained_sum / (double)r->retained_n;
    if (fabs(mean - kr_dec_double(r->level)) > 0.02)
        kr_import_say(im, KR_NOTE_WARNING,
                      "%s: its rows report that %.3f was kept on average, its setting says %s.",
                      r->name, mean, kr_dec_text(r->level, level));
}

/* The data on the Hub hold the numbers of these tasks as text, which the reference never equals. */
static void warn_of_text_numbers(kr_import *im, const kr_run *r) {
    static const char *const tasks[] = {"code_run", "math_calc", "math_find"};
    for (size_t i = 0; r->full && !im->opts.coerce && r->subset != NULL && i < 3; i++)
        if (strcmp(r->dataset, "infinitebench") == 0 && strcmp(r->subset, tasks[i]) == 0)
            kr_import_say(im, KR_NOTE_WARNING,
                          "%s: the references of %s are text, which kvpress never takes for the "
                          "right number; --infinitebench-coerce compares numbers.",
                          r->name, r->subset);
}

static kr_status read_run(kr_import *im, kr_run *r, kr_error *err) {
    kr_source_file *f = NULL;
    kr_status st = kr_source_open(r->path, &f, err);
    if (st != KR_OK)
        return st;
    st = read_csv(im, r, f, err);
    if (st != KR_OK) {
        kr_source_close(f);
        return st;
    }
    check_metrics(im, r);
    check_retained(im, r);
    warn_of_text_numbers(im, r);
    return kr_run_close(r, f, err);
}

const kr_importer kr_importer_kvpress = {
    "kvpress", "NVIDIA kvpress: one directory per run with predictions.csv, or NAME.csv",
    probe,     discover,
    read_run,  NULL,
};
