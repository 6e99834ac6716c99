/* import_build.c - the calibration set from the joined rows, and what is said about it. */
#include "calib/import_core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* What becomes of a task. */
typedef struct {
    size_t rows, scored, lacking; /* requests; with a full score; without some policy's row */
    bool compressed;              /* some compressed run has requests of the same run of full KV */
    size_t index; /* among the tasks kept */
} task_state;

typedef struct {
    kr_import *im;
    task_state *task; /* [n_tasks] */
    const char **names;
    size_t n_names;
    kr_policy *policy;
    kr_source *source;
    size_t n_source;
    kr_buf record; /* meta.extra */
} maker;

static void survey(maker *m) {
    const kr_import *im = m->im;
    for (size_t i = 0; i < im->n_reqs; i++) {
        const kr_req *q = &im->reqs[i];
        task_state *t = &m->task[q->row.task];
        t->rows++;
        t->scored += q->row.utility != KR_MISSING;
        t->compressed |= im->groups[q->group].joined > 0;
        t->lacking += q->matched < im->n_policies;
    }
}

static const char *unscored_reason(const kr_import *im, size_t task) {
    for (size_t i = 0; i < im->n_reqs; i++)
        if (im->reqs[i].row.task == task) {
            const kr_run *r = &im->runs[im->groups[im->reqs[i].group].full];
            return r->unscored_why != NULL ? r->unscored_why : "no score";
        }
    return "no score";
}

static void choose_tasks(maker *m) {
    kr_import *im = m->im;
    for (size_t t = 0; t < im->n_tasks; t++) {
        task_state *s = &m->task[t];
        const char **left_out = &im->task_left_out[t];
        if (s->rows == 0)
            *left_out = "no rows in the full-KV run";
        else if (s->scored == 0)
            *left_out = unscored_reason(im, t);
        else if (!s->compressed)
            *left_out = "none of its requests is in any compressed run";
        else if (im->opts.lack == KR_LACK_TASK && s->lacking > 0)
            *left_out = "some requests have no row in some run";
        if (*left_out != NULL) {
            kr_import_say(im, KR_NOTE_WARNING, "task %s is left out: %s (%zu requests).",
                          im->tasks[t], *left_out, s->rows);
            im->dropped += s->rows;
            continue;
        }
        s->index = m->n_names;
        m->names[m->n_names++] = im->tasks[t];
    }
}

/* Budgets are candidates in falling order; stored as thresholds because what they keep depends on
 * the request. A larger threshold must be the more aggressive one, hence the sign. */
static void fill_policy(maker *m, size_t i) {
    const kr_ipolicy *p = &m->im->policies[i];
    kr_policy *out = &m->policy[i];
    char level[KR_DEC_TEXT];
    *out = (kr_policy){.method = p->method, .events = -1, .test_events = -1};
    out->has_retention = p->kind == KR_LEVEL_RETENTION;
    out->retention = p->level;
    out->has_threshold = p->kind != KR_LEVEL_RETENTION && p->kind != KR_LEVEL_UNKNOWN;
    out->threshold = p->level;
    if (p->kind == KR_LEVEL_BUDGET) {
        kr_dec_sub(kr_dec_make(0, 0), p->level, &out->threshold);
        out->extra = kr_import_text(m->im, "\"budget_tokens\":%s", kr_dec_text(p->level, level));
    }
    if (p->retained_n > 0) {
        out->has_mean = true;
        out->mean_retained = kr_dec_from_double(p->retained_sum / (double)p->retained_n, 6);
    }
}

/* Means of what was kept, as the rows report it or as a token budget leaves of each prompt. */
static void realised(kr_import *im) {
    for (size_t i = 0; i < im->n_runs; i++) {
        const kr_run *r = &im->runs[i];
        if (r->left_out != NULL || r->full || r->policy == KR_NONE)
            continue;
        im->policies[r->policy].retained_sum += r->retained_sum;
        im->policies[r->policy].retained_n += r->retained_n;
    }
    for (size_t p = 0; p < im->n_policies; p++) {
        kr_ipolicy *q = &im->policies[p];
        if (q->kind != KR_LEVEL_BUDGET || q->retained_n > 0)
            continue;
        double budget = kr_dec_double(q->level);
        for (size_t i = 0; i < im->n_reqs; i++) {
            int32_t tokens = im->reqs[i].row.tokens;
            if (tokens <= 0 || q->utility[i] == KR_MISSING)
                continue;
            q->retained_sum += fmin(1, budget / tokens);
            q->retained_n++;
        }
    }
}

static void record_run(maker *m, const kr_run *r, bool first) {
    kr_buf *b = &m->record;
    char level[64];
    kr_buf_printf(b, "%s{\"path\":", first ? "" : ",");
    kr_json_put_string(b, r->path);
    kr_put_text(b, "role",
                r->left_out != NULL && r->sha256[0] == '\0' ? "left out"
                : r->full                                   ? "full"
                                                            : "compressed");
    kr_put_given(b, "why", r->left_out);
    if (r->method != NULL) {
        kr_put_text(b, "press", r->press);
        kr_put_text(b, "method", r->method);
        kr_put_text(b, "level", kr_import_level_text(r->level_kind, r->level, level));
        kr_put_text(b, "level_from", r->level_from);
    }
    if (r->sha256[0] != '\0') {
        kr_buf_printf(b, ",\"rows\":%zu,\"matched\":%zu,\"lacking\":%zu,\"surplus\":%zu", r->rows,
                      r->matched, r->lacking, r->surplus);
        kr_buf_printf(b, ",\"repeated\":%zu,\"unscored\":%zu", r->repeated, r->unscored);
        if (r->native_seen > 0)
            kr_buf_printf(b, ",\"native_scores\":%zu,\"native_differs\":%zu", r->native_seen,
                          r->native_differs);
        kr_put_given(b, "joined_by", r->joined_by);
    }
    kr_buf_puts(b, "}");
}

static void record(maker *m) {
    static const char *const lack[] = {
        [KR_LACK_EVENT] = "event", [KR_LACK_ROW] = "row", [KR_LACK_TASK] = "task"};
    kr_import *im = m->im;
    kr_buf *b = &m->record;
    kr_buf_puts(b, "\"import\":{\"kind\":");
    kr_json_put_string(b, im->importer->name);
    kr_put_text(b, "missing_rows", lack[im->opts.lack]);
    kr_buf_printf(b, ",\"requests\":%zu,\"left_out\":%zu,\"runs\":[", im->used, im->dropped);
    for (size_t i = 0; i < im->n_runs; i++)
        record_run(m, &im->runs[i], i == 0);
    kr_buf_puts(b, "]}");
}

static void list_sources(maker *m) {
    kr_import *im = m->im;
    for (size_t i = 0; i < im->n_runs; i++) {
        const kr_run *r = &im->runs[i];
        bool known = r->sha256[0] == '\0';
        for (size_t k = 0; k < m->n_source && !known; k++)
            known = strcmp(m->source[k].path, r->path) == 0;
        const char *role = r->second ? "full2" : r->full ? "full" : r->method;
        if (!known)
            m->source[m->n_source++] = (kr_source){r->path, r->sha256, role};
        for (size_t k = 0; k < r->n_parts && !known; k++)
            m->source[m->n_source++] = (kr_source){r->parts[k], r->part_sha256[k], role};
    }
}

static const char *scorer_name(maker *m) {
    const kr_import *im = m->im;
    const kr_run *r = &im->runs[im->groups[0].full];
    kr_rule first = {0};
    if (im->opts.scorer != NULL)
        return im->opts.scorer;
    for (size_t i = 0; i < m->n_names; i++) {
        kr_rule rule = kr_rule_for(r->family, r->dataset, m->names[i], im->opts.code_sim);
        if (rule.scorer == NULL)
            return r->native_seen > 0 ? "as given by the source" : NULL;
        if (i == 0)
            first = rule;
        else if (rule.scorer != first.scorer)
            return r->dataset != NULL ? kr_import_text(m->im, "by task (%s)", r->dataset)
                                      : "by task";
    }
    return first.scorer != NULL ? first.scorer->name : NULL;
}

static kr_calib_meta header(maker *m) {
    kr_import *im = m->im;
    const kr_run *r = &im->runs[im->groups[0].full];
    kr_calib_meta h = {.kind = KR_KIND_CALIBRATION};
    const char *set = r->dataset != NULL ? r->dataset : im->importer->name;
    const char *setting = r->setting[0] != '\0' ? r->setting : NULL;
    h.model = r->model;
    h.benchmark = setting != NULL ? kr_import_text(im, "%s, %s", set, setting) : set;
    h.name = kr_import_text(im, "%s%s%s", h.benchmark, r->model != NULL ? ", " : "",
                            r->model != NULL ? r->model : "");
    h.scorer = scorer_name(m);
    if (r->family == KR_FAMILY_KVPRESS)
        h.protocol = r->query_aware ? "query_aware" : "query_agnostic";
    h.utility_max = KR_NANO;
    h.has_contract = im->opts.has_contract;
    h.tolerance = im->opts.tolerance;
    h.risk = im->opts.risk;
    h.confidence = im->opts.confidence;
    if (im->opts.contract_method != NULL)
        h.contract_method = kr_import_method(im, im->opts.contract_method);
    h.contract_declared = im->opts.contract_declared;
    h.sources = m->source;
    h.n_sources = m->n_source;
    h.extra = kr_buf_text(&m->record);
    return h;
}

static bool kept(const kr_import *im, const kr_req *q) {
    return im->task_left_out[q->row.task] == NULL &&
           !(im->opts.lack == KR_LACK_ROW && q->matched < im->n_policies);
}

/* The id says task and place in the full-KV run, whatever was left out before it. */
static kr_status add_requests(maker *m, kr_builder *b, kr_error *err) {
    kr_import *im = m->im;
    size_t *place = calloc(im->n_tasks + 1, sizeof *place);
    int64_t *u = malloc((im->n_policies + 1) * sizeof *u);
    kr_buf extra = {0};
    kr_status st = place != NULL && u != NULL ? KR_OK : kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t i = 0; i < im->n_reqs && st == KR_OK; i++) {
        const kr_req *q = &im->reqs[i];
        char id[256];
        int n =
            snprintf(id, sizeof id, "%.200s-%05zu", im->tasks[q->row.task], place[q->row.task]++);
        if (!kept(im, q))
            continue;
        for (size_t p = 0; p < im->n_policies; p++)
            u[p] = im->policies[p].utility[i];
        extra.len = 0;
        if (q->row.id != 0) {
            kr_buf_puts(&extra, "\"source_id\":");
            kr_json_put_string(&extra, im->ids.s + q->row.id - 1);
        }
        kr_request r = {.id = id,
                        .id_len = (size_t)n,
                        .task = m->task[q->row.task].index,
                        .tokens = q->row.tokens,
                        .full = q->row.utility,
                        .full2 = q->full2,
                        .utility = u,
                        .extra = extra.len > 0 ? extra.s : NULL,
                        .extra_len = extra.len};
        st = kr_builder_add(b, &r, err);
    }
    im->used = kr_builder_count(b);
    free(place);
    free(u);
    kr_buf_free(&extra);
    return st;
}

static size_t count_kept(const maker *m) {
    size_t n = 0;
    for (size_t i = 0; i < m->im->n_reqs; i++)
        n += kept(m->im, &m->im->reqs[i]);
    return n;
}

static kr_status build(maker *m, kr_calib **out, kr_error *err) {
    kr_import *im = m->im;
    kr_builder *b = NULL;
    survey(m);
    choose_tasks(m);
    im->used = count_kept(m);
    im->dropped = im->n_reqs - im->used;
    if (im->used == 0)
        return kr_fail(err, KR_EFORMAT, "no request is left to import%s%s",
                       im->n_tasks > 0 && im->task_left_out[0] != NULL ? ": " : "",
                       im->n_tasks > 0 && im->task_left_out[0] != NULL ? im->task_left_out[0] : "");
    realised(im);
    for (size_t i = 0; i < im->n_policies; i++)
        fill_policy(m, i);
    list_sources(m);
    record(m);
    kr_calib_meta meta = header(m);
    kr_status st =
        kr_builder_new(&meta, m->names, m->n_names, m->policy, im->n_policies, NULL, &b, err);
    if (st != KR_OK)
        return st;
    st = add_requests(m, b, err);
    if (st != KR_OK) {
        kr_builder_free(b);
        return st;
    }
    return kr_builder_finish(b, out, err);
}

kr_status kr_import_build(kr_import *im, kr_calib **out, kr_error *err) {
    maker m = {.im = im};
    free(im->task_left_out);
    im->task_left_out = calloc(im->n_tasks + 1, sizeof *im->task_left_out);
    m.task = calloc(im->n_tasks + 1, sizeof *m.task);
    m.names = calloc(im->n_tasks + 1, sizeof *m.names);
    m.policy = calloc(im->n_policies + 1, sizeof *m.policy);
    size_t files = im->n_runs + 1;
    for (size_t i = 0; i < im->n_runs; i++)
        files += im->runs[i].n_parts;
    m.source = calloc(files, sizeof *m.source);
    kr_status st = KR_OK;
    if (im->task_left_out == NULL || m.task == NULL || m.names == NULL || m.policy == NULL ||
        m.source == NULL)
        st = kr_fail(err, KR_ENOMEM, "out of memory");
    else
        st = build(&m, out, err);
    free(m.task);
    free(m.names);
    free(m.policy);
    free(m.source);
    kr_buf_free(&m.record);
    return st;
}

/* --- words ------------------------------------------------------------------------------------------ */

void kr_import_explain(const kr_import *im, kr_buf *out) {
    char level[64];
    for (size_t i = 0; i < im->n_runs; i++) {
        const kr_run *r = &im->runs[i];
        kr_buf_printf(out, "%s%s%s\n", r->path, r->column != NULL ? " : " : "",
                      r->column != NULL ? r->column : "");
        kr_buf_printf(
            out, "  %s%s%s%s%s, model %s\n", r->dataset != NULL ? r->dataset : "data set unknown",
            r->subset != NULL ? " / " : "", r->subset != NULL ? r->subset : "",
            r->setting[0] != '\0' ? ", " : "", r->setting, r->model != NULL ? r->model : "unknown");
        if (r->full)
            kr_buf_puts(out, "  full KV");
        else
            kr_buf_printf(out, "  %s, %s%s%s%s", r->method,
                          kr_import_level_text(r->level_kind, r->level, level),
                          r->level_from != NULL ? " (" : "",
                          r->level_from != NULL ? r->level_from : "",
                          r->level_from != NULL ? ")" : "");
        kr_buf_printf(out, "%s%s\n", r->left_out != NULL ? "; not used: " : "",
                      r->left_out != NULL ? r->left_out : "");
    }
}

typedef struct {
    double sum;
    size_t scored, of; /* requests with a score, requests in the result */
} task_mean;

/* Means of the requests in the result; `utility` [n_reqs], NULL for full KV. */
static void task_means(const kr_import *im, kr_buf *out, const int64_t *utility) {
    task_mean *mean = calloc(im->n_tasks + 1, sizeof *mean);
    for (size_t i = 0; mean != NULL && i < im->n_reqs; i++) {
        const kr_req *q = &im->reqs[i];
        int64_t u = utility != NULL ? utility[i] : q->row.utility;
        task_mean *m = &mean[q->row.task];
        if (!kept(im, q))
            continue;
        m->of++;
        m->scored += u != KR_MISSING;
        m->sum += u != KR_MISSING ? (double)u / 1e9 : 0;
    }
    for (size_t t = 0; mean != NULL && t < im->n_tasks; t++) {
        if (mean[t].scored > 0)
            kr_buf_printf(out, " %s %.2f", im->tasks[t],
                          100 * mean[t].sum / (double)mean[t].scored);
        if (mean[t].scored > 0 && mean[t].scored < mean[t].of)
            kr_buf_printf(out, " (%zu of %zu)", mean[t].scored, mean[t].of);
    }
    kr_buf_puts(out, "\n");
    free(mean);
}

void kr_import_summary(const kr_import *im, kr_buf *out) {
    char level[64];
    size_t full = 0;
    for (size_t i = 0; i < im->n_groups; i++)
        full += im->groups[i].n;
    kr_buf_printf(out, "%zu requests, %zu policies; %zu requests of the full-KV run left out\n",
                  im->used, im->n_policies, full - im->used);
    kr_buf_puts(out, "means by task, of 100\n  full KV:");
    task_means(im, out, NULL);
    for (size_t p = 0; p < im->n_policies; p++) {
        kr_buf_printf(out, "  %s, %s:", im->policies[p].method,
                      kr_import_level_text(im->policies[p].kind, im->policies[p].level, level));
        task_means(im, out, im->policies[p].utility);
    }
}
