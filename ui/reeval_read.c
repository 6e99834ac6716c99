/* What the children say. A child may say anything; only results that were asked for, in the order
 * in which they were asked for, are taken. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "ui/model.h"
#include "ui/reeval_impl.h"

typedef struct {
    kr_app *a;
    kr_re_run *u;
    bool news;
} hearing;

void kr_re_full_free(kr_full_run *f) {
    free(f->answer);
    free(f->pieces);
    free(f->piece_at);
    *f = (kr_full_run){.known = false};
}

/* --- the log ---------------------------------------------------------------------------------- */

static time_t clock_of(const kr_app *a) { return a->re->clock != 0 ? a->re->clock : time(NULL); }

void kr_reeval_log(const kr_app *a, kr_re_run *u, const char *fmt, ...) {
    char text[KR_LOG_LINE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kr_log_add(&u->log, clock_of(a), text, strlen(text));
}

kr_status kr_reeval_log_text(const kr_app *a, kr_buf *out, kr_error *err) {
    const kr_re_run *u = kr_reeval_shown(a);
    if (u == NULL)
        return kr_fail(err, KR_EINVAL, "there is no log to write; r starts a job");
    if (u->log.lost > 0)
        kr_buf_printf(out, "(%zu earlier lines are not kept)\n", u->log.lost);
    for (size_t i = 0; i < u->log.n; i++) {
        char when[16] = "";
        struct tm tm;
        if (localtime_r(&u->log.line[i].when, &tm) != NULL)
            strftime(when, sizeof when, "%H:%M:%S", &tm);
        kr_buf_printf(out, "%s %s\n", when, u->log.line[i].text);
    }
    return out->failed ? kr_fail(err, KR_ENOMEM, "out of memory") : KR_OK;
}

/* --- events ----------------------------------------------------------------------------------- */

static void note(hearing *h, const char *text) {
    kr_text_safe(h->u->message, sizeof h->u->message, text, strlen(text));
}

/* Whether the line is about the request that is at work. */
static bool at_work(const hearing *h, const kr_eval_line *l) {
    const kr_re_run *u = h->u;
    size_t done = u->n_result / u->n_policies + u->failed;
    return l->id != NULL && done < u->n_want && l->request == (int64_t)done + 1 &&
           strcmp(l->id, h->a->re->file->item[u->want[done]].id) == 0;
}

static size_t asked(const kr_re_run *u, const kr_eval_line *l) {
    return u->want[l->request - 1];
}

static void on_progress(hearing *h, const kr_eval_line *l) {
    kr_re_run *u = h->u;
    u->at = l->request;
    kr_text_safe(u->phase, sizeof u->phase, l->phase != NULL ? l->phase : "",
                 l->phase != NULL ? strlen(l->phase) : 0);
}

static void on_prompt(hearing *h, kr_eval_line *l) {
    kr_full_run *f = &h->a->re->full[asked(h->u, l)];
    free(f->pieces);
    free(f->piece_at);
    f->pieces = l->pieces;
    f->piece_at = l->piece_at;
    f->n_pieces = l->n_pieces;
    l->pieces = NULL;
    l->piece_at = NULL;
}

static double seconds_or_none(double s) { return s > 0 ? s : 0; }

static void add_times(kr_re_run *u, const kr_eval_line *l) {
    u->prefill_s += seconds_or_none(l->prefill_s);
    u->score_s += seconds_or_none(l->score_s);
    u->decode_s += seconds_or_none(l->decode_s);
    u->steps += l->steps > 0 && l->steps < INT32_MAX ? l->steps : 0;
    u->full_bytes += l->bytes > 0 ? (double)l->bytes : 0;
    u->n_full++;
}

static void on_full(hearing *h, kr_eval_line *l) {
    kr_re_run *u = h->u;
    kr_full_run *f = &h->a->re->full[asked(u, l)];
    free(f->answer);
    f->known = true;
    f->answer = l->answer;
    l->answer = NULL;
    f->n = l->n;
    f->bytes = l->bytes;
    f->steps = l->steps;
    f->prefill_s = l->prefill_s;
    f->score_s = l->score_s;
    f->decode_s = l->decode_s;
    add_times(u, l);
    u->tokens += l->prompt_tokens > 0 ? l->prompt_tokens : 0;
    u->tokens += l->n_tokens > 0 ? l->n_tokens : 0;
}

/* The place of a (request, policy) pair: where it was before, or a new one. */
static size_t place(kr_reeval *r, size_t q, size_t policy, bool whole) {
    for (size_t i = r->n_m; i-- > 0;)
        if (r->m[i].q == q && r->m[i].policy == policy &&
            (r->m[i].heads.position != NULL) == whole)
            return i;
    if (r->n_m == r->cap_m) {
        size_t cap = r->cap_m == 0 ? 256 : 2 * r->cap_m;
        kr_measure *more = realloc(r->m, cap * sizeof *more);
        if (more == NULL)
            return SIZE_MAX;
        r->m = more;
        r->cap_m = cap;
    }
    r->m[r->n_m] = (kr_measure){.q = q, .policy = policy};
    return r->n_m++;
}

static bool on_result(hearing *h, kr_eval_line *l) {
    kr_re_run *u = h->u;
    kr_reeval *r = h->a->re;
    if (l->index < 0 || (size_t)l->index != u->n_result % u->n_policies)
        return false;
    size_t q = asked(u, l), policy = u->policies[l->index];
    size_t i = place(r, q, policy, l->heads.position != NULL);
    if (i == SIZE_MAX)
        return false;
    kr_measure *m = &r->m[i];
    free(m->answer);
    kr_eval_heads_free(&m->heads);
    *m = (kr_measure){q, policy, l->utility, l->full_utility, l->answer, l->retained, l->margin,
                      l->full_margin, l->bytes, l->parted, l->heads};
    l->answer = NULL;
    l->heads = (kr_eval_heads){.layers = 0};
    u->result[u->n_result++] = i;
    u->bytes += m->bytes > 0 ? (double)m->bytes : 0;
    u->retained += m->retained > 0 ? m->retained : 0;
    if (u->n_result % u->n_policies == 0)
        kr_reeval_log(h->a, u, "%zu of %zu: %s", u->n_result / u->n_policies + u->failed, u->n_want,
                      h->a->re->file->item[q].id);
    u->tokens += l->n_tokens > 0 ? l->n_tokens : 0;
    if (u->first_s <= 0)
        u->first_s = kr_job_seconds(u->job);
    return true;
}

static bool on_error(hearing *h, const kr_eval_line *l) {
    h->u->failed++;
    kr_reeval_log(h->a, h->u, "no result: %s", l->message != NULL ? l->message : "a request failed");
    note(h, l->message != NULL ? l->message : "a request failed");
    return true;
}

/* The child reads the requests after this process did, and may have met others. */
static void on_start(hearing *h, const kr_eval_line *l) {
    const char *mine = h->a->re->file->sha256;
    h->u->others = l->requests_sha256 != NULL && strcmp(l->requests_sha256, mine) != 0;
}

static bool take_event(hearing *h, kr_eval_line *l) {
    kr_re_run *u = h->u;
    bool about_request = l->event >= KR_EVAL_LINE_PROGRESS && l->event <= KR_EVAL_LINE_ERROR;
    if (about_request && !at_work(h, l))
        return false;
    switch (l->event) {
    case KR_EVAL_LINE_PROGRESS: on_progress(h, l); return true;
    case KR_EVAL_LINE_PROMPT: on_prompt(h, l); return true;
    case KR_EVAL_LINE_FULL: on_full(h, l); return true;
    case KR_EVAL_LINE_RESULT: return on_result(h, l);
    case KR_EVAL_LINE_ERROR: return on_error(h, l);
    case KR_EVAL_LINE_END:
        u->seconds = l->seconds;
        u->peak = l->peak_bytes;
        return true;
    case KR_EVAL_LINE_START: on_start(h, l); return true;
    case KR_EVAL_LINE_OTHER: return true;
    }
    return true;
}

/* The first of them are kept, so that a flood does not push out what matters. */
static void odd_line(hearing *h, const char *why, const char *line) {
    enum { KEPT = 20 };
    if (h->u->odd++ < KEPT)
        kr_reeval_log(h->a, h->u, "not understood (%.100s): %.300s", why, line);
}

static void on_line(void *arg, char *line, size_t len, bool cut) {
    hearing *h = arg;
    kr_eval_line l;
    h->news = true;
    if (len == 0)
        return;
    if (line[0] != '{') { /* a message for a person */
        kr_log_add(&h->u->log, clock_of(h->a), line, len);
        kr_text_safe(h->u->message, sizeof h->u->message, line, len);
        return;
    }
    kr_error err = {KR_OK, "the line is not whole"};
    if (cut || kr_eval_line_read(line, len, &l, &err) != KR_OK) {
        odd_line(h, err.msg, line);
        return;
    }
    if (!take_event(h, &l))
        odd_line(h, "out of turn", line);
    kr_eval_line_free(&l);
}

/* --- the end of a child ----------------------------------------------------------------------- */

static void tell_end(kr_app *a, const kr_re_run *u) {
    size_t done = u->n_result / u->n_policies;
    bool bad = u->state != KR_JOB_DONE && u->state != KR_JOB_CANCELED;
    char name[40] = "the request";
    if (u->number > 0)
        snprintf(name, sizeof name, "job %d", u->number);
    if (u->state == KR_JOB_DONE && u->number > 0)
        kr_app_say(a, false, "%s done: %zu of %zu requests", name, done, u->n_want);
    else if (u->state == KR_JOB_CANCELED && u->number > 0)
        kr_app_say(a, false, "%s canceled; %zu of %zu requests are kept", name, done, u->n_want);
    else if (bad)
        kr_app_say(a, true, "%s %s (%s) after %zu of %zu requests%s%s", name,
                   kr_job_state_name(u->state), u->end, done, u->n_want,
                   u->message[0] != '\0' ? ": " : "", u->message);
}

/* A child may say all is well and yet have left something out. */
static kr_job_state truth(const kr_re_run *u, kr_job_state s) {
    bool whole = u->n_result / u->n_policies + u->failed == u->n_want;
    return s == KR_JOB_DONE && !whole ? KR_JOB_FAILED : s;
}

static bool poll_one(kr_app *a, kr_re_run *u) {
    hearing h = {.a = a, .u = u};
    if (u->job == NULL)
        return false;
    kr_job_state s = kr_job_poll(u->job, on_line, &h);
    if (s == KR_JOB_RUNNING)
        return h.news;
    u->state = truth(u, s);
    if (!(u->seconds > 0))
        u->seconds = kr_job_seconds(u->job);
    snprintf(u->end, sizeof u->end, "%s", kr_job_end(u->job));
    kr_job_free(u->job);
    u->job = NULL;
    kr_reeval_log(a, u, "%s (%s)%s%.200s", kr_job_state_name(u->state), u->end,
                  u->state == KR_JOB_FAILED && u->message[0] != '\0' ? ": " : "",
                  u->state == KR_JOB_FAILED ? u->message : "");
    tell_end(a, u);
    return true;
}

bool kr_reeval_poll(kr_app *a) {
    kr_reeval *r = a->re;
    bool news = kr_re_take_files(a);
    news |= r->n_runs > 0 && poll_one(a, &r->run[r->n_runs - 1]);
    news |= poll_one(a, &r->one);
    if (r->one_again && r->one.job == NULL) {
        r->one_again = false;
        if (a->screen == KR_SCREEN_REQUEST)
            kr_reeval_need(a);
    }
    return news;
}

/* --- saving ----------------------------------------------------------------------------------- */

static void put_nano(kr_buf *b, int64_t v) {
    if (v == KR_MISSING)
        kr_buf_puts(b, "null");
    else
        kr_json_put_dec(b, kr_dec_make(v, 9));
}

static void put_named(kr_buf *b, const char *name, const char *text) {
    if (text == NULL)
        return;
    kr_buf_printf(b, ",\"%s\":", name);
    kr_json_put_string(b, text);
}

/* Each task of the results once, in the order of their coming. */
static void put_tasks(const kr_app *a, const kr_re_run *u, kr_buf *b) {
    kr_buf_puts(b, ",\"tasks\":[");
    for (size_t i = 0, n = 0; i < u->n_result; i++) {
        const char *task = a->re->file->item[a->re->m[u->result[i]].q].task;
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(a->re->file->item[a->re->m[u->result[k]].q].task, task) == 0;
        if (seen)
            continue;
        kr_buf_puts(b, n++ > 0 ? "," : "");
        kr_json_put_string(b, task);
    }
    kr_buf_puts(b, "]");
}

/* What was evaluated, as `kvrisk calibrate` names it. */
static void put_sources(const kr_app *a, kr_buf *b) {
    const kr_reeval *r = a->re;
    kr_buf_puts(b, ",\"sources\":[{\"path\":");
    kr_json_put_string(b, r->model);
    if (r->model_known && r->model_sha256[0] != '\0')
        put_named(b, "sha256", r->model_sha256);
    kr_buf_puts(b, ",\"role\":\"model\"},{\"path\":");
    kr_json_put_string(b, r->requests);
    put_named(b, "sha256", r->file->sha256);
    kr_buf_puts(b, ",\"role\":\"requests\"}]");
}

/* Whether the stored utilities beside the results are of the same requests and the same model. */
static void put_comparison(const kr_app *a, const kr_re_run *u, kr_buf *b) {
    static const char *const words[] = {"true", "null", "false"};
    char why[KR_RE_WHY];
    kr_comparable c = kr_reeval_comparable(a, u, why);
    put_named(b, "calibration_sha256", kr_calib_sha256(a->calib));
    kr_buf_printf(b, ",\"comparable\":%s", words[c]);
    if (why[0] != '\0')
        put_named(b, "comparable_why", why);
}

static void put_header(const kr_app *a, const kr_re_run *u, kr_buf *b) {
    const kr_calib_meta *m = kr_calib_meta_of(a->calib);
    const kr_policy *p = kr_calib_policy(a->calib, u->policies[0]);
    bool counts = m->kind == KR_KIND_COUNTS;
    kr_buf_puts(b, "{\"kvrisk\":1,\"kind\":\"calibration\",\"name\":\"re-evaluation\"");
    put_named(b, "model", a->re->model);
    put_named(b, "benchmark", m->benchmark);
    put_named(b, "scorer", m->scorer);
    put_named(b, "protocol", a->re->protocol);
    kr_buf_puts(b, ",\"utility\":{\"min\":");
    put_nano(b, counts ? 0 : m->utility_min);
    kr_buf_puts(b, ",\"max\":");
    put_nano(b, counts ? (int64_t)1000000000 : m->utility_max);
    kr_buf_puts(b, "}");
    put_tasks(a, u, b);
    kr_buf_puts(b, ",\"policies\":[{\"method\":");
    kr_json_put_string(b, p->method);
    kr_buf_printf(b, ",\"%s\":", p->has_threshold ? "threshold" : "retention");
    kr_json_put_dec(b, p->has_threshold ? p->threshold : p->retention);
    kr_buf_printf(b, "}],\"note\":\"re-evaluated: %zu of %zu %s requests\"", u->n_result, u->n_want,
                  u->random ? "randomly drawn" : "chosen");
    put_sources(a, b);
    put_comparison(a, u, b);
    put_named(b, "job", kr_job_state_name(u->job != NULL ? KR_JOB_RUNNING : u->state));
    kr_buf_puts(b, "}\n");
}

static void put_result(const kr_app *a, const kr_measure *m, kr_buf *b) {
    const kr_sample_request *q = &a->re->file->item[m->q];
    const kr_full_run *f = &a->re->full[m->q];
    size_t row = a->re->row[m->q];
    kr_buf_puts(b, "{\"id\":");
    kr_json_put_string(b, q->id);
    put_named(b, "task", q->task);
    put_named(b, "split", q->split);
    put_named(b, "cluster", q->cluster);
    if (f->n_pieces > 0 || f->n > 0)
        kr_buf_printf(b, ",\"tokens\":%lld", (long long)f->n);
    kr_buf_puts(b, ",\"full\":");
    put_nano(b, m->full);
    kr_buf_puts(b, ",\"utility\":[");
    put_nano(b, m->utility);
    kr_buf_puts(b, "],\"retained\":[");
    kr_json_put_double(b, m->retained);
    kr_buf_puts(b, "]");
    put_named(b, "full_answer", f->answer);
    put_named(b, "answer", m->answer);
    if (row != KR_RE_NO_ROW) {
        kr_buf_puts(b, ",\"stored_full\":");
        put_nano(b, kr_calib_row(a->calib, row).full);
        kr_buf_puts(b, ",\"stored_utility\":");
        put_nano(b, kr_calib_utility(a->calib, row, m->policy));
    }
    kr_buf_puts(b, "}\n");
}

void kr_reeval_written(kr_app *a) {
    kr_reeval *r = a->re;
    kr_re_run *u = r->n_runs > 0 ? &r->run[r->shown < r->n_runs ? r->shown : r->n_runs - 1] : NULL;
    if (u != NULL && u->job == NULL)
        u->written = true;
}

kr_status kr_reeval_text(const kr_app *a, kr_buf *out, kr_error *err) {
    const kr_re_run *u = kr_reeval_shown(a);
    if (u == NULL || u->n_result == 0)
        return kr_fail(err, KR_EINVAL, "there are no results to write; r starts a job");
    put_header(a, u, out);
    for (size_t i = 0; i < u->n_result; i++)
        put_result(a, &a->re->m[u->result[i]], out);
    return out->failed ? kr_fail(err, KR_ENOMEM, "out of memory") : KR_OK;
}
