/* What is asked for, and the children that work on it; what they say is read in reeval_read.c. */
#include "ui/reeval.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "risk/anytime.h"
#include "risk/random.h"
#include "ui/model.h"
#include "ui/reeval_impl.h"

enum { USUAL_SAMPLES = 100 };

/* --- beginning and end -------------------------------------------------------------------------- */

void kr_reeval_keep_settings(kr_reeval *r, const kr_reeval *other) {
    memcpy(r->program, other->program, sizeof r->program);
    memcpy(r->state_path, other->state_path, sizeof r->state_path);
    r->samples = other->samples;
    r->threads = other->threads;
    r->seed = other->seed;
    r->max_seconds = other->max_seconds;
    r->max_bytes = other->max_bytes;
    r->below = other->below;
    r->view_heads = other->view_heads;
    r->clock = other->clock;
}

kr_reeval *kr_reeval_new(const char *path, const kr_calib *calib) {
    kr_reeval *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    const char *protocol = kr_calib_meta_of(calib)->protocol;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(r->program, sizeof r->program, "/proc/self/exe");
    snprintf(r->protocol, sizeof r->protocol, "%s",
             protocol != NULL && strcmp(protocol, "query_agnostic") == 0 ? "query_agnostic"
                                                                        : "query_aware");
    r->samples = USUAL_SAMPLES;
    r->seed = 1;
    r->threads = cores > 2 ? (size_t)cores - 1 : 1;
    r->max_seconds = 600;
    r->max_bytes = (size_t)4 << 30;
    kr_re_find_requests(path, calib, r->requests);
    kr_re_find_model(path, calib, r->requests, r->model);
    return r;
}

/* --- forgetting ------------------------------------------------------------------------------- */

static void free_run(kr_re_run *u) {
    kr_job_free(u->job);
    kr_log_free(&u->log);
    free(u->want);
    free(u->policies);
    free(u->result);
    *u = (kr_re_run){.number = 0};
}

static void free_measures(kr_reeval *r) {
    for (size_t i = 0; i < r->n_m; i++) {
        free(r->m[i].answer);
        kr_eval_heads_free(&r->m[i].heads);
    }
    free(r->m);
    r->m = NULL;
    r->n_m = r->cap_m = 0;
}

static void forget(kr_reeval *r) {
    for (size_t i = 0; i < r->n_runs; i++)
        free_run(&r->run[i]);
    free_run(&r->one);
    r->n_runs = r->shown = 0;
    r->one_again = false;
    free_measures(r);
    kr_re_free_files(r);
}

void kr_reeval_free(kr_reeval *r) {
    if (r == NULL)
        return;
    forget(r);
    free(r);
}

void kr_reeval_forget(kr_app *a) {
    forget(a->re);
    if (a->screen == KR_SCREEN_REQUEST)
        a->screen = KR_SCREEN_REEVAL;
    kr_reeval_look(a);
}

/* --- drawing requests -------------------------------------------------------------------------- */

static bool rows_known(const kr_reeval *r) {
    for (size_t i = 0; i < r->file->n; i++)
        if (r->row[i] != KR_RE_NO_ROW)
            return true;
    return false;
}

/* `known`: some requests have stored results, and then only those are drawn. */
static bool fits(const kr_app *a, size_t q, bool known, const char *task) {
    size_t row = a->re->row[q];
    return (!known || row != KR_RE_NO_ROW) && kr_re_in_split(a, row) &&
           (task == NULL || strcmp(a->re->file->item[q].task, task) == 0);
}

size_t kr_reeval_fitting(kr_app *a) {
    kr_reeval *r = a->re;
    if (r->file == NULL)
        return 0;
    if (r->fit.known && strcmp(r->fit.task, r->task) == 0)
        return r->fit.n;
    bool known = rows_known(r);
    r->fit.known = true;
    r->fit.n = 0;
    memcpy(r->fit.task, r->task, sizeof r->fit.task);
    for (size_t q = 0; q < r->file->n; q++)
        r->fit.n += fits(a, q, known, r->task[0] != '\0' ? r->task : NULL);
    return r->fit.n;
}

/* Requests of a task (NULL: of all) in a random order, those with stored results if there are any;
 * only events of the policy where `events`. Returns how many, *out is the caller's. */
static size_t draw(const kr_app *a, const char *task, bool events, size_t **out) {
    const kr_reeval *r = a->re;
    int64_t tolerance = 0;
    size_t n = 0;
    bool known = false;
    kr_dec_nano(kr_analysis_contract(a->an).tolerance, &tolerance);
    size_t *q = calloc(r->file->n + 1, sizeof *q);
    *out = q;
    known = rows_known(r);
    for (size_t i = 0; q != NULL && i < r->file->n; i++) {
        size_t row = r->row[i];
        bool wanted = fits(a, i, known, task);
        if (events)
            wanted = wanted && row != KR_RE_NO_ROW &&
                     kr_calib_row_drop(a->calib, row, kr_app_policy(a)) > tolerance;
        if (wanted)
            q[n++] = i;
    }
    kr_random g = kr_random_start(r->seed, 0);
    kr_random_shuffle(&g, q, n);
    return n;
}

/* --- the child -------------------------------------------------------------------------------- */

/* "snapkv:0.5,window=32": as the calibration file says it was measured, else method and level. */
static void policy_text(const kr_app *a, size_t policy, kr_buf *out) {
    const kr_policy *p = kr_calib_policy(a->calib, policy);
    char level[KR_DEC_TEXT];
    if (p->extra != NULL) {
        kr_buf object = {0};
        kr_buf_printf(&object, "{%s}", p->extra);
        kr_json j = kr_json_open(kr_buf_text(&object), object.len, "", 1, NULL);
        kr_span key;
        for (kr_json_iter it = kr_json_enter(&j, '{'); kr_json_member(&j, &it, &key);) {
            bool spec = kr_span_is(key, "spec") && kr_json_peek(&j) == KR_JSON_STRING;
            char *s = spec ? kr_json_string_copy(&j) : NULL;
            if (!spec)
                kr_json_skip(&j, NULL);
            if (s != NULL && out->len == 0)
                kr_buf_puts(out, s);
            free(s);
        }
        kr_buf_free(&object);
    }
    if (out->len == 0)
        kr_buf_printf(out, "%s:%s", p->method,
                      kr_dec_text(p->has_threshold ? p->threshold : p->retention, level));
}

typedef struct {
    char **v;
    size_t n;
    bool failed;
} args;

__attribute__((format(printf, 2, 3))) static void arg(args *g, const char *fmt, ...) {
    va_list ap;
    char text[1024];
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    g->v[g->n] = n >= 0 && (size_t)n < sizeof text ? strdup(text) : NULL;
    g->failed |= g->v[g->n] == NULL;
    g->n += g->v[g->n] != NULL ? 1 : 0;
}

static bool prefill_first(const kr_app *a) {
    const char *extra = kr_calib_meta_of(a->calib)->extra;
    return extra != NULL && strstr(extra, "\"first_token\":\"prefill\"") != NULL;
}

static void make_args(const kr_app *a, const kr_re_run *u, bool detail, args *g) {
    const kr_reeval *r = a->re;
    char tolerance[KR_DEC_TEXT];
    arg(g, "kvrisk");
    arg(g, "eval");
    arg(g, "--json");
    arg(g, "--model=%s", r->model);
    arg(g, "--requests=%s", r->requests);
    arg(g, "--protocol=%s", r->protocol);
    arg(g, "--threads=%zu", r->threads);
    arg(g, "--tolerance=%s", kr_dec_text(kr_analysis_contract(a->an).tolerance, tolerance));
    if (prefill_first(a) && strcmp(r->protocol, "query_aware") == 0)
        arg(g, "--first-token=prefill");
    if (detail)
        arg(g, "--detail");
    for (size_t i = 0; i < u->n_policies; i++) {
        kr_buf spec = {0};
        policy_text(a, u->policies[i], &spec);
        arg(g, "--policy=%s", kr_buf_text(&spec));
        kr_buf_free(&spec);
    }
    for (size_t i = 0; i < u->n_want; i++)
        arg(g, "--id=%s", r->file->item[u->want[i]].id);
}

/* The command as it can be typed; the requests, of which there may be thousands, by their number. */
static void log_command(const kr_app *a, kr_re_run *u, const args *g) {
    kr_buf b = {0};
    for (size_t i = 0; i < g->n; i++)
        if (strncmp(g->v[i], "--id=", 5) != 0)
            kr_buf_printf(&b, "%s%s", i > 0 ? " " : "", g->v[i]);
    kr_reeval_log(a, u, "%s (%zu request%s)", kr_buf_text(&b), u->n_want, u->n_want == 1 ? "" : "s");
    kr_buf_free(&b);
}

/* Takes the run over, or frees it. */
static bool start(kr_app *a, kr_re_run u, bool detail, kr_re_run *into) {
    kr_reeval *r = a->re;
    kr_error err = {KR_OK, "out of memory"};
    args g = {calloc(u.n_want + u.n_policies + 16, sizeof *g.v), 0, false};
    u.result = calloc(u.n_want * u.n_policies + 1, sizeof *u.result);
    bool ok = g.v != NULL && u.result != NULL;
    if (ok)
        make_args(a, &u, detail, &g);
    kr_job_limits limits = {KR_RE_NICE, r->max_seconds, r->max_bytes};
    ok = ok && !g.failed && kr_job_start(r->program, g.v, limits, &u.job, &err) == KR_OK;
    if (ok)
        log_command(a, &u, &g);
    for (size_t i = 0; i < g.n; i++)
        free(g.v[i]);
    free(g.v);
    if (!ok) {
        kr_app_say(a, true, "%s", err.msg);
        free_run(&u);
        return false;
    }
    *into = u;
    return true;
}

static bool known_level(kr_app *a) {
    const kr_policy *p = kr_calib_policy(a->calib, kr_app_policy(a));
    if (!p->has_retention && !p->has_threshold)
        kr_app_say(a, true, "the level of %s is not known, so it cannot be evaluated", p->method);
    return p->has_retention || p->has_threshold;
}

static kr_re_run *next_slot(kr_reeval *r) {
    if (r->n_runs == KR_RE_RUNS) {
        free_run(&r->run[0]);
        memmove(r->run, r->run + 1, (KR_RE_RUNS - 1) * sizeof *r->run);
        r->run[--r->n_runs] = (kr_re_run){.number = 0};
    }
    return &r->run[r->n_runs];
}

const kr_re_run *kr_re_running(const kr_reeval *r) {
    return r->n_runs > 0 && r->run[r->n_runs - 1].job != NULL ? &r->run[r->n_runs - 1] : NULL;
}

/* `want` is taken over. */
static void start_sample(kr_app *a, size_t *want, size_t n, bool random, const char *what) {
    kr_reeval *r = a->re;
    kr_re_run u = {.method = a->method, .want = want, .n_policies = 1, .random = random};
    u.n_want = n > KR_RE_SAMPLES ? KR_RE_SAMPLES : n;
    u.policies = calloc(1, sizeof *u.policies);
    if (u.policies == NULL) {
        free_run(&u);
        return;
    }
    u.policies[0] = kr_app_policy(a);
    snprintf(u.what, sizeof u.what, "%s", what);
    u.number = r->numbers + 1;
    if (!start(a, u, false, next_slot(r)))
        return;
    r->numbers++;
    r->shown = r->n_runs++;
    a->results = (kr_list){.at = 0};
    r->differing = false;
    kr_app_show(a, KR_SCREEN_REEVAL);
}

static void sample_here(kr_app *a, const char *task, bool events) {
    kr_reeval *r = a->re;
    size_t *want = NULL, n = draw(a, task, events, &want);
    char what[96];
    if (n == 0) {
        free(want);
        kr_app_say(a, true, events ? "none of the requests in %s is an event of this policy"
                                   : "no request in %s fits",
                   kr_file_name(r->requests));
        return;
    }
    n = n > r->samples ? r->samples : n;
    if (events)
        snprintf(what, sizeof what, "%zu event%s of %.60s", n, n == 1 ? "" : "s", kr_text_short(task, 60).s);
    else
        snprintf(what, sizeof what, "%zu of %.60s, seed %llu", n, task != NULL ? kr_text_short(task, 60).s : "all tasks",
                 (unsigned long long)r->seed);
    start_sample(a, want, n, !events, what);
}

/* The request of the calibration set's row, -1 when the requests file lacks it. */
static long request_of(const kr_reeval *r, size_t row) {
    for (size_t q = 0; q < r->file->n; q++)
        if (r->row[q] == row)
            return (long)q;
    return -1;
}

static void open_row(kr_app *a) {
    if (a->f.n_requests == 0)
        return;
    long q = request_of(a->re, a->f.requests[a->requests.at].row);
    if (q < 0)
        kr_app_say(a, true,
                   "%zu of %lld rows have a text, not this one; :eval requests FILE takes others",
                   kr_reeval_rows(a), (long long)kr_analysis_n(a->an));
    else
        kr_reeval_open(a, (size_t)q);
}

void kr_reeval_start_here(kr_app *a) {
    kr_reeval *r = a->re;
    if (a->screen != KR_SCREEN_REQUEST && a->screen != KR_SCREEN_REQUESTS && kr_re_running(r) != NULL) {
        kr_app_say(a, false, "job %d is at work; c on Re-eval (5) cancels it", kr_re_running(r)->number);
        return;
    }
    if (!kr_re_have_requests(a) || !known_level(a)) {
        if (a->screen != KR_SCREEN_REEVAL)
            kr_app_show(a, KR_SCREEN_REEVAL);
        return;
    }
    if (a->screen == KR_SCREEN_REQUESTS)
        open_row(a);
    else if (a->screen == KR_SCREEN_REQUEST)
        kr_reeval_need(a);
    else if (a->screen == KR_SCREEN_TASKS && a->tasks.n > 0)
        sample_here(a, kr_calib_task(a->calib, a->tasks.order[a->tasks.at]), true);
    else
        sample_here(a, r->task[0] != '\0' ? r->task : NULL, false);
}

void kr_reeval_cancel(kr_app *a) {
    kr_reeval *r = a->re;
    const kr_re_run *u = kr_re_running(r);
    kr_job *job = a->screen == KR_SCREEN_REQUEST && r->one.job != NULL ? r->one.job
                  : u != NULL                                          ? u->job
                                                                       : r->one.job;
    if (job != NULL)
        kr_job_cancel(job);
    kr_app_say(a, false, job != NULL ? "canceling; what is done is kept" : "no job is at work");
}

bool kr_reeval_busy(const kr_app *a) {
    return kr_re_running(a->re) != NULL || a->re->one.job != NULL;
}

bool kr_reeval_sampling(const kr_app *a) { return kr_re_running(a->re) != NULL; }

void kr_reeval_wait(kr_app *a) {
    while (kr_reeval_busy(a) || kr_reeval_reading(a)) {
        kr_reeval_poll(a);
        nanosleep(&(struct timespec){.tv_nsec = 2 * 1000 * 1000}, NULL);
    }
}

/* --- one request at all levels of a method ---------------------------------------------------- */

const kr_measure *kr_reeval_find(const kr_app *a, size_t q, size_t policy, bool whole) {
    const kr_reeval *r = a->re;
    for (size_t i = r->n_m; i-- > 0;)
        if (r->m[i].q == q && r->m[i].policy == policy &&
            (!whole || r->m[i].heads.position != NULL))
            return &r->m[i];
    return NULL;
}

void kr_reeval_need(kr_app *a) {
    kr_reeval *r = a->re;
    if (r->file == NULL || kr_reeval_find(a, r->view_q, kr_app_policy(a), true) != NULL)
        return;
    if (r->one.job != NULL) {
        if (r->one.method == a->method && r->one.want[0] == r->view_q)
            return;
        kr_job_cancel(r->one.job); /* the next one begins when it has ended */
        r->one_again = true;
        return;
    }
    const kr_method *m = kr_calib_method(a->calib, a->method);
    if (!known_level(a))
        return;
    kr_re_run u = {.method = a->method, .n_want = 1, .n_policies = m->count};
    u.want = calloc(1, sizeof *u.want);
    u.policies = calloc(m->count, sizeof *u.policies);
    if (u.want == NULL || u.policies == NULL) {
        free_run(&u);
        return;
    }
    u.want[0] = r->view_q;
    for (size_t i = 0; i < m->count; i++)
        u.policies[i] = m->first + i;
    free_run(&r->one);
    start(a, u, true, &r->one);
}

void kr_reeval_open(kr_app *a, size_t q) {
    a->re->view_q = q;
    if (a->screen != KR_SCREEN_REQUEST)
        a->re_back = a->screen;
    a->text = (kr_list){.at = 0};
    a->level_pinned = true;
    kr_app_show(a, KR_SCREEN_REQUEST);
    kr_reeval_need(a);
}

/* --- what is shown ---------------------------------------------------------------------------- */

const kr_re_run *kr_reeval_shown(const kr_app *a) {
    const kr_reeval *r = a->re;
    return r->n_runs > 0 ? &r->run[r->shown < r->n_runs ? r->shown : r->n_runs - 1] : NULL;
}

void kr_reeval_show_other(kr_app *a, int by) {
    kr_reeval *r = a->re;
    long to = (long)r->shown + by;
    if (to < 0 || to >= (long)r->n_runs) {
        kr_app_say(a, false, by < 0 ? "no job before this one" : "no job after this one");
        return;
    }
    r->shown = (size_t)to;
    a->results = (kr_list){.at = 0};
}

void kr_reeval_title(const kr_app *a, char out[40]) {
    const kr_reeval *r = a->re;
    const kr_re_run *u = r->n_runs > 0 ? &r->run[r->n_runs - 1] : NULL;
    if (u == NULL && r->one.job == NULL)
        snprintf(out, 40, "no job");
    else if (u == NULL || (u->job == NULL && r->one.job != NULL))
        snprintf(out, 40, "1 request");
    else if (u->job != NULL)
        snprintf(out, 40, "job %d %3d %%", u->number,
                 (int)(100 * (u->n_result + u->failed) / (u->n_want > 0 ? u->n_want : 1)));
    else
        snprintf(out, 40, "job %d %s", u->number, kr_job_state_name(u->state));
}

bool kr_reeval_agrees(const kr_app *a, const kr_measure *m) {
    size_t row = a->re->row[m->q];
    return row != KR_RE_NO_ROW && kr_calib_utility(a->calib, row, m->policy) == m->utility &&
           kr_calib_row(a->calib, row).full == m->full;
}

static int64_t distance(int64_t x, int64_t y) {
    if (x == y)
        return 0;
    return x == KR_MISSING || y == KR_MISSING ? INT64_MAX : x > y ? x - y : y - x;
}

static bool is_event(const kr_measure *m, int64_t tolerance) {
    return m->full == KR_MISSING || m->utility == KR_MISSING || m->full - m->utility > tolerance;
}

kr_re_sums kr_reeval_sums(const kr_app *a, const kr_re_run *u) {
    kr_re_sums s = {.lo = NAN, .hi = NAN};
    kr_contract c = kr_analysis_contract(a->an);
    int64_t tolerance = 0;
    kr_dec_nano(c.tolerance, &tolerance);
    for (size_t i = 0; i < u->n_result; i++) {
        const kr_measure *m = &a->re->m[u->result[i]];
        size_t row = a->re->row[m->q];
        s.n++;
        s.events += is_event(m, tolerance);
        if (row == KR_RE_NO_ROW)
            continue;
        int64_t d = distance(kr_calib_utility(a->calib, row, m->policy), m->utility);
        int64_t e = distance(kr_calib_row(a->calib, row).full, m->full);
        s.stored_n++;
        s.stored_events += kr_calib_row_drop(a->calib, row, m->policy) > tolerance;
        s.agree += d == 0 && e == 0;
        d = d > e ? d : e;
        s.differ_most = d > s.differ_most ? d : s.differ_most;
    }
    if (u->random)
        kr_anytime_interval((int64_t)s.events, (int64_t)s.n, kr_level_double(kr_contract_level(&c, 1)),
                            &s.lo, &s.hi, NULL);
    return s;
}

const kr_measure *kr_reeval_listed(const kr_app *a, size_t n) {
    const kr_re_run *u = kr_reeval_shown(a);
    for (size_t i = 0; u != NULL && i < u->n_result; i++) {
        const kr_measure *m = &a->re->m[u->result[i]];
        if (a->re->differing && kr_reeval_agrees(a, m))
            continue;
        if (n-- == 0)
            return m;
    }
    return NULL;
}

size_t kr_reeval_listed_count(const kr_app *a) {
    const kr_re_run *u = kr_reeval_shown(a);
    size_t n = 0;
    for (size_t i = 0; u != NULL && i < u->n_result; i++)
        n += !a->re->differing || !kr_reeval_agrees(a, &a->re->m[u->result[i]]);
    return n;
}
