/* eval_run.c - the requests of `kvrisk eval`, one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "cli/eval.h"

typedef struct {
    const kr_cli_eval_args *o;
    kr_eval_job job;
    kr_eval *eval;
    const char *id; /* of the request at work */
    size_t at, failed;
    size_t events[KR_CLI_MAX_ARMS];
    double last_tick;
    bool terminal, wrote_bad;
} session;

static void send(session *s, kr_buf *b) {
    if (b->failed || fwrite(kr_buf_text(b), 1, b->len, stdout) != b->len || fflush(stdout) != 0)
        s->wrote_bad = true;
    kr_buf_free(b);
}

static bool on_progress(void *arg, kr_phase phase, size_t done, size_t total) {
    session *s = arg;
    double t = kr_clock();
    if ((!s->o->json && !s->terminal) || t - s->last_tick < 0.1)
        return !s->wrote_bad;
    s->last_tick = t;
    if (s->terminal)
        fprintf(stderr, "\r%zu of %zu: %-8s %3zu %%", s->at, s->job.n, kr_phase_name(phase),
                total > 0 ? 100 * done / total : 0);
    if (s->o->json) {
        kr_buf b = {0};
        kr_eval_json_progress(&s->job, s->id, s->at, phase, done, total, &b);
        send(s, &b);
    }
    return !s->wrote_bad; /* nobody reads: stop */
}

static void report(session *s, const kr_sample_request *q, kr_status st, const kr_eval_result *r,
                   const kr_error *e) {
    kr_buf b = {0};
    if (s->terminal)
        fputs("\r                              \r", stderr);
    if (st != KR_OK) {
        s->failed++;
        kr_cli_say("eval", 0, "request %s: %s", q->id, e->msg);
        if (s->o->json)
            kr_eval_json_error(&s->job, q->id, s->at, e->msg, &b);
    } else {
        for (size_t i = 0; i < r->n_arms; i++)
            s->events[i] += kr_eval_event(&r->full, &r->arm[i], s->o->tolerance);
        if (s->o->json)
            kr_eval_json_result(&s->job, q, s->at, r, &b);
        else
            kr_cli_eval_request(s->o, q, r);
    }
    send(s, &b);
}

static bool wanted(const kr_cli_eval_args *o, const kr_sample_request *q) {
    for (size_t i = 0; i < o->n_ids; i++)
        if (strcmp(o->id[i], q->id) == 0)
            return true;
    return o->n_ids == 0;
}

static size_t peak_bytes(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (size_t)u.ru_maxrss * 1024;
}

/* The i-th request: of the file, or of the ids in the order in which they were given, each once. */
static const kr_sample_request *pick(const kr_cli_eval_args *o, const kr_sample_requests *all,
                                     size_t i) {
    if (o->n_ids == 0)
        return &all->item[i];
    for (size_t k = 0; k < i; k++)
        if (strcmp(o->id[k], o->id[i]) == 0)
            return NULL;
    return kr_sample_requests_find(all, o->id[i]);
}

static int run_all(session *s, const kr_sample_requests *all) {
    double start = kr_clock();
    kr_buf b = {0};
    if (s->o->json)
        kr_eval_json_start(&s->job, &b);
    send(s, &b);
    size_t n = s->o->n_ids > 0 ? s->o->n_ids : all->n;
    for (size_t i = 0; i < n && s->at < s->job.n && !s->wrote_bad; i++) {
        const kr_sample_request *q = pick(s->o, all, i);
        kr_error e = {KR_OK, ""};
        kr_eval_result *r = NULL;
        if (q == NULL)
            continue;
        s->at++;
        s->id = q->id;
        kr_status st = kr_eval_request(s->eval, q, &r, &e);
        if (!s->wrote_bad)
            report(s, q, st, r, &e);
        kr_eval_result_free(r);
        if (st == KR_ENOMEM)
            break;
    }
    if (s->wrote_bad)
        return kr_cli_say("eval", KR_EXIT_ERROR, "cannot write the output");
    if (s->o->json) {
        kr_eval_json_end(s->at, s->failed, kr_clock() - start, peak_bytes(), &b);
        send(s, &b);
    } else {
        kr_cli_eval_summary(s->o, s->job.n, s->failed, s->events, kr_clock() - start);
    }
    return s->failed > 0 ? KR_EXIT_ERROR : KR_EXIT_OK;
}

static int check_ids(const kr_cli_eval_args *o, const kr_sample_requests *all, size_t *n) {
    *n = o->n_ids > 0 ? 0 : all->n;
    for (size_t i = 0; i < o->n_ids; i++)
        if (kr_sample_requests_find(all, o->id[i]) == NULL)
            return kr_cli_say("eval", KR_EXIT_USAGE, "no request '%s' in %s", o->id[i],
                              o->requests);
    for (size_t i = 0; o->n_ids > 0 && i < all->n; i++)
        *n += wanted(o, &all->item[i]);
    if (o->limit > 0 && *n > o->limit)
        *n = o->limit;
    return KR_EXIT_OK;
}

int kr_cli_eval_run(kr_cli_eval_args *o) {
    kr_error e = {KR_OK, ""};
    kr_model *m = NULL;
    kr_sample_requests *all = NULL;
    int status = KR_EXIT_ERROR;
    session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return kr_cli_say("eval", KR_EXIT_ERROR, "out of memory");
    *s = (session){.o = o, .terminal = isatty(STDERR_FILENO) != 0};
    if (o->json)
        kr_cli_end_with_reader();
    o->eval.progress = on_progress;
    o->eval.progress_arg = s;
    if (kr_model_open(o->model, &m, &e) != KR_OK ||
        kr_sample_requests_read(o->requests, &all, &e) != KR_OK)
        kr_cli_say("eval", 0, "%s", e.msg);
    else if (kr_eval_new(m, &o->eval, &s->eval, &e) != KR_OK)
        status = kr_cli_say("eval", e.code == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR, "%s",
                            e.msg);
    else {
        s->job = (kr_eval_job){o->model, o->requests, m, all, 0, o->preset_name, &o->eval,
                               kr_eval_threads(s->eval), o->tolerance, o->detail};
        status = check_ids(o, all, &s->job.n);
        if (status == KR_EXIT_OK)
            status = run_all(s, all);
    }
    kr_eval_free(s->eval);
    kr_sample_requests_free(all);
    kr_model_close(m);
    free(s);
    return status;
}
