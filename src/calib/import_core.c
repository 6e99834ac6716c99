#include "calib/import_core.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 100000, MAX_NOTES = 2000, MAX_TASKS = 4096 };

static const kr_importer *const importers[] = {
    &kr_importer_kvpress,         &kr_importer_longbench, &kr_importer_ruler, &kr_importer_lm_eval,
    &kr_importer_kvcache_factory, &kr_importer_snapkv,    &kr_importer_adakv, &kr_importer_generic,
};
enum { N_IMPORTERS = sizeof importers / sizeof *importers };

size_t kr_import_kinds(kr_import_kind *out, size_t max) {
    size_t n = 0;
    for (; n < N_IMPORTERS && n + 1 < max; n++)
        out[n] = (kr_import_kind){importers[n]->name, importers[n]->what};
    out[n] = (kr_import_kind){NULL, NULL};
    return n;
}

/* --- keys: two lanes of multiply-rotate over 8-byte words, a length and a mark per field ------ */

kr_key kr_key_start(void) {
    return (kr_key){UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f)};
}

static uint64_t rotate(uint64_t x, int n) {
    return x << n | x >> (64 - n);
}

static void mix(kr_key *k, uint64_t w) {
    k->a = rotate(k->a ^ w, 29) * UINT64_C(0xbf58476d1ce4e5b9);
    k->b = rotate(k->b + w, 31) * UINT64_C(0x94d049bb133111eb) ^ (k->a >> 32);
}

void kr_key_add(kr_key *k, const char *s, size_t len) {
    uint64_t w;
    size_t i = 0;
    for (; len - i >= 8; i += 8) {
        memcpy(&w, s + i, 8);
        mix(k, w);
    }
    w = 0;
    if (len > i)
        memcpy(&w, s + i, len - i);
    mix(k, w);
    mix(k, (uint64_t)len ^ UINT64_C(0x1f1f1f1f00000000));
}

void kr_key_add_answers(kr_key *k, const kr_lit *answers) {
    if (answers == NULL) {
        mix(k, UINT64_C(0x6e6f6e65));
        return;
    }
    for (const kr_lit *v = answers->first; v != NULL; v = v->next)
        kr_key_add(k, v->s, v->len);
    mix(k, answers->count);
}

bool kr_key_equal(kr_key a, kr_key b) {
    return a.a == b.a && a.b == b.b;
}

/* --- notes, texts, runs ----------------------------------------------------------------------- */

void kr_import_say(kr_import *im, kr_note_level level, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    if (im->n_notes == MAX_NOTES)
        return;
    if (im->n_notes == im->cap_notes) {
        size_t cap = im->cap_notes == 0 ? 16 : 2 * im->cap_notes;
        kr_note *p = realloc(im->notes, cap * sizeof *p);
        if (p == NULL)
            return;
        im->notes = p;
        im->cap_notes = cap;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    char *copy = strdup(text);
    if (copy != NULL)
        im->notes[im->n_notes++] = (kr_note){level, copy};
}

const char *kr_import_text(kr_import *im, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = n >= 0 ? kr_arena_alloc(&im->arena, (size_t)n + 1) : NULL;
    if (p != NULL)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p != NULL ? p : "";
}

const char *kr_import_method(kr_import *im, const char *press) {
    size_t len = strlen(press), n = 0;
    char *p = kr_arena_alloc(&im->arena, len + 8);
    if (p == NULL)
        return "";
    for (size_t i = 0; i < len; i++) {
        char c = press[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c + ('a' - 'A'));
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain)
            p[n++] = c;
        else if (n > 0 && p[n - 1] != '_')
            p[n++] = '_';
    }
    while (n > 0 && p[n - 1] == '_')
        n--;
    memcpy(p + n, "method", n == 0 ? 7 : 0);
    p[n == 0 ? 6 : n] = '\0';
    return p;
}

kr_run *kr_import_run_new(kr_import *im, const char *path, const char *name, kr_error *err) {
    if (im->n_runs == MAX_RUNS) {
        kr_fail(err, KR_EFORMAT, "more than %d runs", MAX_RUNS);
        return NULL;
    }
    if (im->n_runs == im->cap_runs) {
        size_t cap = im->cap_runs == 0 ? 16 : 2 * im->cap_runs;
        kr_run *p = realloc(im->runs, cap * sizeof *p);
        if (p == NULL) {
            kr_fail(err, KR_ENOMEM, "out of memory for the list of runs");
            return NULL;
        }
        im->runs = p;
        im->cap_runs = cap;
    }
    kr_run *r = &im->runs[im->n_runs++];
    *r = (kr_run){.group = KR_NONE, .policy = KR_NONE, .setting = "", .complete = true};
    r->path = kr_import_text(im, "%s", path);
    r->name = kr_import_text(im, "%s", name);
    return r;
}

size_t kr_import_task(kr_import *im, const char *name, size_t len, kr_error *err) {
    size_t last = im->last_task;
    if (last < im->n_tasks && strlen(im->tasks[last]) == len &&
        memcmp(im->tasks[last], name, len) == 0)
        return last;
    for (size_t i = 0; i < im->n_tasks; i++)
        if (strlen(im->tasks[i]) == len && memcmp(im->tasks[i], name, len) == 0)
            return im->last_task = i;
    if (im->n_tasks == MAX_TASKS || len == 0 || memchr(name, '\0', len) != NULL) {
        kr_fail(err, KR_EFORMAT,
                len == 0 ? "a row has an empty task name"
                         : "more than %d task names, or a name with a zero byte",
                MAX_TASKS);
        return KR_NONE;
    }
    if (im->n_tasks == im->cap_tasks) {
        size_t cap = im->cap_tasks == 0 ? 32 : 2 * im->cap_tasks;
        const char **p = realloc(im->tasks, cap * sizeof *p);
        if (p == NULL) {
            kr_fail(err, KR_ENOMEM, "out of memory for the tasks");
            return KR_NONE;
        }
        im->tasks = p;
        im->cap_tasks = cap;
    }
    const char *copy = kr_arena_copy(&im->arena, name, len);
    if (copy == NULL) {
        kr_fail(err, KR_ENOMEM, "out of memory for the tasks");
        return KR_NONE;
    }
    im->tasks[im->n_tasks] = copy;
    return im->last_task = im->n_tasks++;
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool grow_rows(kr_import *im) {
    if (im->n_rows < im->cap_rows)
        return true;
    size_t cap = im->cap_rows == 0 ? 1024 : im->cap_rows + im->cap_rows / 2;
    kr_irow *p = realloc(im->rows, cap * sizeof *p);
    if (p == NULL)
        return false;
    im->rows = p;
    im->cap_rows = cap;
    return true;
}

static bool add_total(kr_run *run, size_t task, double score) {
    if (task >= run->n_sum) {
        size_t n = task + 16;
        double *s = realloc(run->sum, n * sizeof *s);
        if (s == NULL)
            return false;
        run->sum = s;
        size_t *c = realloc(run->count, n * sizeof *c);
        if (c == NULL)
            return false;
        run->count = c;
        for (; run->n_sum < n; run->n_sum++) {
            run->sum[run->n_sum] = 0;
            run->count[run->n_sum] = 0;
        }
    }
    run->sum[task] += score;
    run->count[task]++;
    return true;
}

static kr_rule rule_of(const kr_import *im, const kr_run *run, const char *task) {
    if (im->opts.scorer == NULL)
        return kr_rule_for(run->family, run->dataset, task, im->opts.code_sim);
    const kr_scorer *s = kr_scorer_find(im->opts.scorer);
    return (kr_rule){s, KR_PREP_NONE,
                     s == NULL        ? "unknown scorer"
                     : s->run == NULL ? s->refused
                                      : NULL};
}

/* The score by our own scorer; `why` of the result when there is none. */
static kr_score own_score(kr_import *im, const kr_run *run, const char *task, const kr_row_in *in) {
    kr_rule rule = rule_of(im, run, task);
    if (rule.why != NULL)
        return (kr_score){.why = rule.why};
    kr_str p = kr_str_valid(&im->row, in->prediction, in->prediction_len);
    p = kr_rule_prepare(rule.prep, p);
    kr_score_in s = {.prediction = p.s,
                     .prediction_len = p.len,
                     .answers = in->answers,
                     .classes = in->classes,
                     .arena = &im->row,
                     .rouge_limit = KR_ROUGE_LIMIT,
                     .coerce = im->opts.coerce};
    return kr_scorer_run(rule.scorer, &s);
}

static double utility_of(kr_import *im, kr_run *run, const char *task, const kr_row_in *in,
                         const char **why) {
    kr_score own = {.why = "no score in the source"};
    if (!in->native_only)
        own = own_score(im, run, task, in);
    if (in->has_native) {
        run->native_seen++;
        if (own.why == NULL && fabs(own.value - in->native) > 1e-6)
            run->native_differs++;
        return in->native;
    }
    *why = own.why;
    return own.value;
}

/* A native id is kept as text to be written into the result; 0 for none. */
static uint32_t keep_id(kr_import *im, const kr_row_in *in) {
    if (in->id == NULL || im->ids.len > UINT32_MAX - in->id_len - 2)
        return 0;
    size_t at = im->ids.len;
    if (!kr_buf_add(&im->ids, in->id, in->id_len) || !kr_buf_add(&im->ids, "", 1))
        return 0;
    return (uint32_t)(at + 1);
}

kr_status kr_run_row(kr_import *im, kr_run *run, const kr_row_in *in, kr_error *err) {
    size_t task = kr_import_task(im, in->task, in->task_len, err);
    if (task == KR_NONE)
        return err->code;
    if (im->n_rows >= UINT32_MAX / 2 || !grow_rows(im))
        return kr_fail(err, KR_ENOMEM, "out of memory for the rows of %s", run->path);
    const char *why = NULL;
    double u = utility_of(im, run, im->tasks[task], in, &why);
    kr_key answers = kr_key_start(), prediction = answers, id = answers;
    kr_key_add_answers(&answers, in->answers);
    kr_key_add(&prediction, in->prediction, in->prediction_len);
    kr_irow *r = &im->rows[im->n_rows++];
    *r = (kr_irow){.key = in->key,
                   .answers = answers.a ^ in->data,
                   .prediction = prediction.a,
                   .prompt = in->prompt};
    if (in->id != NULL) {
        kr_key_add(&id, im->tasks[task], strlen(im->tasks[task]));
        kr_key_add(&id, in->id, in->id_len);
        r->id_key = id.a | 1;
        r->id = run->full ? keep_id(im, in) : 0;
    }
    r->task = (uint32_t)task;
    r->line = in->line < UINT32_MAX ? (uint32_t)in->line : UINT32_MAX;
    r->tokens = in->tokens > 0 ? in->tokens : -1;
    r->utility = why == NULL && fabs(u) <= 4e9 ? (int64_t)llrint(u * 1e9) : KR_MISSING;
    run->rows++;
    if (r->utility == KR_MISSING) {
        run->unscored++;
        if (run->unscored_why == NULL)
            run->unscored_why = kr_import_text(im, "%s", why != NULL ? why : "score out of range");
    } else if (!add_total(run, task, u)) {
        return kr_fail(err, KR_ENOMEM, "out of memory");
    }
    if (in->has_retained) {
        run->retained_sum += in->retained;
        run->retained_n++;
    }
    return KR_OK;
}

kr_status kr_run_close(kr_run *run, kr_source_file *f, kr_error *err) {
    kr_status st = kr_source_finish(f, run->sha256, err);
    run->bytes = kr_source_bytes(f);
    kr_source_close(f);
    return st;
}

/* --- open, read, free ------------------------------------------------------------------------- */

static kr_status choose_importer(kr_import *im, kr_error *err) {
    const char *kind = im->opts.kind;
    if (kind != NULL && strcmp(kind, "auto") != 0) {
        for (size_t i = 0; i < N_IMPORTERS; i++)
            if (strcmp(importers[i]->name, kind) == 0)
                im->importer = importers[i];
        return im->importer != NULL ? KR_OK : kr_fail(err, KR_EINVAL, "unknown kind '%s'", kind);
    }
    int best = 0;
    const char *best_why = "";
    for (size_t i = 0; i < N_IMPORTERS; i++) {
        const char *why = "";
        int fit = importers[i]->probe(&im->tree, &why);
        if (fit > best) {
            best = fit;
            best_why = why;
            im->importer = importers[i];
        }
    }
    if (best == 0)
        return kr_fail(err, KR_EFORMAT,
                       "%s: no known evaluation output found; name the kind (kvpress, longbench, "
                       "ruler, lm-eval, kvcache-factory, snapkv, adakv, generic)",
                       im->opts.paths[0]);
    kr_import_say(im, KR_NOTE_INFO, "read as %s: %s.", im->importer->name, best_why);
    return KR_OK;
}

/* Whether the second full-KV run is found anyway below the paths given. */
static bool below_paths(const kr_import_opts *o) {
    for (size_t i = 0; i < o->n_paths; i++) {
        size_t n = strlen(o->paths[i]);
        while (n > 1 && o->paths[i][n - 1] == '/')
            n--;
        if (strncmp(o->second_full, o->paths[i], n) == 0 &&
            (o->second_full[n] == '/' || o->second_full[n] == '\0'))
            return true;
    }
    return false;
}

kr_status kr_import_open(const kr_import_opts *opts, kr_import **out, kr_error *err) {
    kr_import *im = calloc(1, sizeof *im);
    *out = NULL;
    if (im == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    im->opts = *opts;
    kr_status st = KR_OK;
    for (size_t i = 0; st == KR_OK && i < opts->n_paths; i++)
        st = kr_tree_walk(opts->paths[i], &im->tree, err);
    if (st == KR_OK && opts->second_full != NULL && !below_paths(opts))
        st = kr_tree_walk(opts->second_full, &im->tree, err);
    if (st == KR_OK)
        st = choose_importer(im, err);
    if (st == KR_OK)
        st = im->importer->discover(im, err);
    if (st == KR_OK)
        st = kr_import_plan(im, err);
    *out = im; /* also on failure: what was understood can be explained */
    return st;
}

static void drop_rows(kr_import *im) {
    free(im->rows);
    im->rows = NULL;
    im->n_rows = im->cap_rows = 0;
}

/* Rows of a run into im->rows. */
static kr_status read_run(kr_import *im, kr_run *run, kr_error *err) {
    im->n_rows = 0;
    if (im->opts.progress != NULL)
        im->opts.progress(im->opts.progress_ctx, im->runs_read, im->n_runs, run->name);
    im->runs_read++;
    kr_status st = im->importer->read(im, run, err);
    kr_arena_reset(&im->row);
    if (st == KR_OK && run->rows == 0)
        kr_import_say(im, KR_NOTE_WARNING, "%s has no rows.", run->name);
    return st;
}

static kr_status read_full_runs(kr_import *im, kr_error *err) {
    for (size_t i = 0; i < im->n_groups; i++) {
        kr_group *g = &im->groups[i];
        kr_status st = read_run(im, &im->runs[g->full], err);
        if (st == KR_OK)
            st = kr_import_join_full(im, g, &im->runs[g->full], err);
        if (st != KR_OK)
            return st;
    }
    return KR_OK;
}

/* Reads one run of the second pass; u [n_reqs] holds what is known of it so far. */
static kr_status read_second(kr_import *im, kr_run *run, int64_t *u, kr_error *err) {
    kr_status st = read_run(im, run, err);
    if (st == KR_OK)
        st = kr_import_join_run(im, &im->groups[run->group], run, u, err);
    if (st == KR_OK && strcmp(run->sha256, im->runs[im->groups[run->group].full].sha256) == 0)
        kr_import_say(im, KR_NOTE_WARNING,
                      "%s holds the same bytes as the first full-KV run: it proves nothing about "
                      "run-to-run noise.",
                      run->name);
    return st;
}

static kr_status read_second_runs(kr_import *im, kr_error *err) {
    int64_t *u = malloc((im->n_reqs + 1) * sizeof *u);
    kr_status st = u != NULL ? KR_OK : kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t i = 0; i < im->n_reqs && st == KR_OK; i++)
        u[i] = KR_NO_RUN;
    for (size_t i = 0; i < im->n_runs && st == KR_OK; i++)
        if (im->runs[i].second)
            st = read_second(im, &im->runs[i], u, err);
    for (size_t i = 0; i < im->n_reqs && st == KR_OK; i++)
        im->reqs[i].full2 = u[i];
    free(u);
    return st;
}

kr_status kr_import_read(kr_import *im, kr_error *err) {
    kr_status st = read_full_runs(im, err);
    for (size_t p = 0; st == KR_OK && p < im->n_policies; p++) {
        int64_t *u = malloc((im->n_reqs + 1) * sizeof *u);
        if (u == NULL)
            return kr_fail(err, KR_ENOMEM, "out of memory for %zu requests", im->n_reqs);
        for (size_t i = 0; i < im->n_reqs; i++)
            u[i] = KR_MISSING;
        im->policies[p].utility = u;
    }
    for (size_t i = 0; st == KR_OK && i < im->n_runs; i++) {
        kr_run *run = &im->runs[i];
        if (run->left_out != NULL || run->full)
            continue;
        st = read_run(im, run, err);
        if (st == KR_OK)
            st = kr_import_join_run(im, &im->groups[run->group], run,
                                    im->policies[run->policy].utility, err);
    }
    if (st == KR_OK && im->opts.second_full != NULL)
        st = read_second_runs(im, err);
    if (st == KR_OK && im->importer->finish != NULL)
        im->importer->finish(im);
    drop_rows(im);
    return st;
}

void kr_import_free(kr_import *im) {
    if (im == NULL)
        return;
    for (size_t i = 0; i < im->n_runs; i++) {
        free(im->runs[i].sum);
        free(im->runs[i].count);
    }
    for (size_t i = 0; i < im->n_policies; i++)
        free(im->policies[i].utility);
    for (size_t i = 0; i < im->n_notes; i++)
        free(im->notes[i].text);
    free(im->runs);
    free(im->groups);
    free(im->policies);
    free(im->notes);
    free(im->tasks);
    free(im->task_left_out);
    free(im->reqs);
    free(im->rows);
    kr_buf_free(&im->ids);
    kr_tree_free(&im->tree);
    kr_arena_free(&im->arena);
    kr_arena_free(&im->row);
    free(im);
}

size_t kr_import_notes(const kr_import *im) {
    return im->n_notes;
}

const kr_note *kr_import_note(const kr_import *im, size_t i) {
    return i < im->n_notes ? &im->notes[i] : NULL;
}

const char *kr_import_level_text(kr_level_kind kind, kr_dec level, char buf[64]) {
    char d[KR_DEC_TEXT];
    static const char *const forms[] = {[KR_LEVEL_UNKNOWN] = "level unknown",
                                        [KR_LEVEL_RETENTION] = "keeps %s",
                                        [KR_LEVEL_THRESHOLD] = "threshold %s",
                                        [KR_LEVEL_BUDGET] = "budget %s tokens",
                                        [KR_LEVEL_RANK] = "place %s in the order given"};
    const char *f = forms[kind], *at = strstr(f, "%s");
    if (at == NULL)
        snprintf(buf, 64, "%s", f);
    else
        snprintf(buf, 64, "%.*s%s%s", (int)(at - f), f, kr_dec_text(level, d), at + 2);
    return buf;
}
