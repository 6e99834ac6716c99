/* eval.c - `kvrisk eval`: full KV and evicted caches side by side on requests. */
#include <getopt.h>
#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "sample/eval_json.h"

enum { MAX_ARMS = 4096, MAX_IDS = 4096, SHOW_HEADS = 4 };

static const char help[] =
    "usage: kvrisk eval --model FILE --requests FILE --policy METHOD:LEVEL[,PARAMETER=VALUE]...\n"
    "                   --protocol query_aware|query_agnostic [options]\n"
    "\n"
    "Answers each request with the full KV cache and with evicted ones, from one prefill, and\n"
    "compares. Requests are JSON Lines: id, task, context, question, answer_prefix (or one prompt),\n"
    "answers, scorer, max_tokens; RULER's validation.jsonl and LongBench's rows are read as they are.\n"
    "\n"
    "  --policy P             may be repeated: snapkv:0.50, adakv:50%,alpha=0.3, snapkv:512t (tokens\n"
    "                         per head), refreekv:0.01 (a threshold); --list shows all\n"
    "  --ladder HI:LO:STEP    levels of every --policy that names none, e.g. 0.80:0.20:0.05\n"
    "  --preset NAME          parameter values of a published evaluation; --list shows them\n"
    "  --protocol P           query_aware: evict with the question read; query_agnostic: before it\n"
    "  --first-token F        query_aware: step (the last prompt token is fed after eviction, in\n"
    "                         the full run too) or prefill (as the methods' own code; default step)\n"
    "  --id ID                this request alone; may be repeated, and gives the order\n"
    "  --limit N              the first N requests\n"
    "  --max-tokens N         longest answer, instead of the requests' own\n"
    "  --context N            longest prompt with answer (default: the trained context)\n"
    "  --threads N            threads (default: physical cores); results do not depend on it\n"
    "  --tolerance T          a drop above it is an event (default 0.10)\n"
    "  --json                 JSON Lines: start, progress, full, result, error, end (see README)\n"
    "  --detail               with --json, which prompt tokens are kept; else every head map\n"
    "  --list                 policies with their parameters, and presets\n"
    "\n"
    "exit status: 0 done, 1 error or a request failed, 2 usage\n";

typedef struct {
    const char *model, *requests, *preset_name, *ladder;
    const kr_evict_preset *preset;
    const char *policy[MAX_ARMS];
    const char *id[MAX_IDS];
    size_t n_policies, n_ids, limit;
    bool json, detail, have_protocol;
    kr_dec tolerance;
    kr_eval_options eval;
    kr_evict_spec *arm;
    size_t n_arms;
} options;

__attribute__((format(printf, 1, 2))) static int usage(const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return kr_cli_say("eval", KR_EXIT_USAGE, "%s (see kvrisk eval --help)", text);
}

/* ---- the list of policies ---- */

static void list_param(const kr_param *p) {
    char lo[KR_DEC_TEXT], hi[KR_DEC_TEXT], def[KR_DEC_TEXT];
    printf("    %-13s", p->name);
    if (p->kind == KR_PARAM_CHOICE) {
        for (size_t i = 0; p->choices[i] != NULL; i++)
            printf("%s%s", i > 0 ? "|" : "", p->choices[i]);
        printf(", default %s", p->choices[p->def.digits]);
    } else {
        printf("%s to %s, default %s", kr_dec_text(p->min, lo), kr_dec_text(p->max, hi),
               kr_dec_text(p->def, def));
    }
    printf("; %s\n", p->what);
}

static int list_all(void) {
    static const char *const scopes[] = {"per head", "per layer", "all layers together"};
    for (const kr_evictor *const *p = kr_evictors(); *p != NULL; p++) {
        printf("%s  %s (%s)\n    level: %s, budget %s\n", (*p)->name, (*p)->what, (*p)->paper,
               (*p)->threshold ? "threshold" : "retention or tokens", scopes[(*p)->scope]);
        for (size_t i = 0; i < (*p)->n_params; i++)
            list_param(&(*p)->params[i]);
    }
    puts("\npresets:");
    for (const kr_evict_preset *p = kr_evict_presets(); p->name != NULL; p++)
        printf("  %-10s %s\n             %s%s%s\n", p->name, p->what, p->values,
               p->protocol != NULL ? "; protocol " : "", p->protocol != NULL ? p->protocol : "");
    return KR_EXIT_OK;
}

/* ---- options ---- */

static bool number(const char *s, size_t *out) {
    char *end;
    unsigned long v = strtoul(s, &end, 10);
    if (*s < '0' || *s > '9' || *end != '\0' || v < 1 || v > (1ul << 30))
        return false;
    *out = v;
    return true;
}

static int take_number(const char *name, const char *value, size_t *out) {
    if (number(value, out))
        return KR_EXIT_OK;
    return kr_cli_say("eval", KR_EXIT_USAGE, "--%s is '%s', expected a number from 1", name, value);
}

enum { O_MODEL = OPT_OWN, O_REQUESTS, O_POLICY, O_LADDER, O_PRESET, O_PROTOCOL, O_FIRST, O_ID,
       O_LIMIT, O_TOKENS, O_CONTEXT, O_THREADS, O_DETAIL, O_LIST };

static int take_tolerance(options *o, const char *value) {
    kr_error e;
    if (kr_dec_parse_percent(value, &o->tolerance, &e) == KR_OK && o->tolerance.digits >= 0)
        return KR_EXIT_OK;
    return usage("--tolerance is '%.100s', expected a number from 0", value);
}

static int take_preset(options *o, const char *value) {
    o->preset_name = value;
    o->preset = kr_evict_preset_find(value);
    return o->preset != NULL ? KR_EXIT_OK
                             : usage("no preset '%.60s'; kvrisk eval --list shows them", value);
}

static int take_option(options *o, int c, const char *value) {
    switch (c) {
    case O_MODEL: o->model = value; return KR_EXIT_OK;
    case O_REQUESTS: o->requests = value; return KR_EXIT_OK;
    case O_LADDER: o->ladder = value; return KR_EXIT_OK;
    case O_PRESET: return take_preset(o, value);
    case O_LIMIT: return take_number("limit", value, &o->limit);
    case O_TOKENS: return take_number("max-tokens", value, &o->eval.max_tokens);
    case O_CONTEXT: return take_number("context", value, &o->eval.context);
    case O_THREADS:
        if (take_number("threads", value, &o->eval.threads) != KR_EXIT_OK)
            return KR_EXIT_USAGE;
        return o->eval.threads <= KR_POOL_MAX_THREADS ? KR_EXIT_OK
                                                      : usage("--threads %s is too many", value);
    case OPT_TOLERANCE: return take_tolerance(o, value);
    case OPT_JSON: o->json = true; return KR_EXIT_OK;
    case O_DETAIL: o->detail = true; return KR_EXIT_OK;
    case O_POLICY:
        if (o->n_policies == MAX_ARMS)
            return usage("%s: too many policies", value);
        o->policy[o->n_policies++] = value;
        return KR_EXIT_OK;
    case O_ID:
        if (o->n_ids == MAX_IDS)
            return usage("%s: too many ids", value);
        o->id[o->n_ids++] = value;
        return KR_EXIT_OK;
    case O_PROTOCOL:
        o->have_protocol = true;
        return kr_protocol_find(value, &o->eval.protocol)
                   ? KR_EXIT_OK
                   : usage("--protocol is '%.60s', expected query_aware or query_agnostic", value);
    case O_FIRST:
        return kr_first_token_find(value, &o->eval.first_token)
                   ? KR_EXIT_OK
                   : usage("--first-token is '%.60s', expected step or prefill", value);
    default: return KR_EXIT_USAGE; /* getopt has said why */
    }
}

/* ---- arms ---- */

static int add_arm(options *o, const kr_evict_spec *s) {
    if (o->n_arms == MAX_ARMS)
        return usage("more than %d policies at once", MAX_ARMS);
    kr_evict_spec *p = realloc(o->arm, (o->n_arms + 1) * sizeof *p);
    if (p == NULL)
        return kr_cli_say("eval", KR_EXIT_ERROR, "out of memory");
    o->arm = p;
    o->arm[o->n_arms++] = *s;
    return KR_EXIT_OK;
}

static bool read_ladder(const char *text, kr_dec v[3]) {
    for (int i = 0; i < 3; i++) {
        size_t n = strcspn(text, ":");
        char part[64];
        if (n >= sizeof part || (text[n] == ':') != (i < 2))
            return false;
        memcpy(part, text, n);
        part[n] = '\0';
        if (kr_dec_parse_percent(part, &v[i], NULL) != KR_OK)
            return false;
        text += n + 1;
    }
    kr_dec zero = kr_dec_make(0, 0), one = kr_dec_make(1, 0);
    return kr_dec_cmp(v[0], one) <= 0 && kr_dec_cmp(v[1], zero) > 0 &&
           kr_dec_cmp(v[2], zero) > 0 && kr_dec_cmp(v[0], v[1]) >= 0;
}

static int add_ladder(options *o, kr_evict_spec *s) {
    kr_dec v[3];
    if (!read_ladder(o->ladder, v))
        return usage("--ladder is '%.80s', expected HIGH:LOW:STEP with 1 >= HIGH >= LOW > 0",
                     o->ladder);
    for (kr_dec r = v[0]; kr_dec_cmp(r, v[1]) >= 0;) {
        s->level = (kr_evict_level){KR_EVICT_RATIO, r};
        int status = add_arm(o, s);
        if (status != KR_EXIT_OK || !kr_dec_sub(r, v[2], &r))
            return status;
    }
    return KR_EXIT_OK;
}

static int add_policy(options *o, const char *text) {
    kr_evict_spec s;
    kr_error e = {KR_OK, ""};
    size_t name = strcspn(text, ",");
    bool levelled = memchr(text, ':', name) != NULL;
    if (!levelled && o->ladder != NULL && strncmp(text, "full", name) != 0) {
        if (kr_evict_parse_params(text, o->preset, &s, &e) != KR_OK)
            return kr_cli_say("eval", KR_EXIT_USAGE, "%s", e.msg);
        if (s.policy->threshold)
            return usage("%.60s has thresholds, not retentions: name them, as in refreekv:0.01",
                         text);
        return add_ladder(o, &s);
    }
    if (kr_evict_parse(text, o->preset, &s, &e) != KR_OK)
        return kr_cli_say("eval", KR_EXIT_USAGE, "%s", e.msg);
    return add_arm(o, &s);
}

static int check_options(options *o) {
    if (o->model == NULL || o->requests == NULL || o->n_policies == 0)
        return usage("--model, --requests and --policy are needed");
    if (!o->have_protocol)
        return usage("--protocol is needed: query_aware or query_agnostic; results of the two must "
                     "not be mixed");
    if (o->preset != NULL && o->preset->protocol != NULL &&
        strcmp(o->preset->protocol, kr_protocol_name(o->eval.protocol)) != 0)
        kr_cli_say("eval", 0, "note: preset %s was published with %s", o->preset->name,
                   o->preset->protocol);
    for (size_t i = 0; i < o->n_policies; i++) {
        int status = add_policy(o, o->policy[i]);
        if (status != KR_EXIT_OK)
            return status;
    }
    o->eval.arm = o->arm;
    o->eval.n_arms = o->n_arms;
    o->eval.positions = o->detail && o->json;
    return KR_EXIT_OK;
}

/* ---- text output ---- */

static void put_quoted(const char *text, size_t len) {
    char safe[400];
    putchar('"');
    size_t n = len < 90 ? len : 90;
    while (n < len && n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--; /* not inside a character */
    for (size_t at = 0; at < n;) {
        const char *line = memchr(text + at, '\n', n - at);
        size_t part = line != NULL ? (size_t)(line - text) - at : n - at;
        kr_text_safe(safe, sizeof safe, text + at, part);
        fputs(safe, stdout);
        fputs(line != NULL ? "\\n" : "", stdout);
        at += part + (line != NULL);
    }
    fputs(n < len ? "...\"" : "\"", stdout);
}

static const char *shade(double share, bool utf8) {
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    if (!(share > 0))
        return " ";
    int i = (int)ceil(share * 8);
    i = i > 8 ? 8 : i;
    return utf8 ? blocks[i] : ascii[i];
}

/* One line per layer: share of the entries kept, share of the attention kept, error. */
static void put_heads(const kr_eval_result *r, const kr_arm_result *a) {
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    printf("    %-8s %-*s  %-*s  error of the output\n", "layer", (int)r->heads + 9, "kept",
           (int)r->heads + 9, "attention");
    for (size_t l = 0; l < r->layers; l++) {
        double kept = 0, mass = 0;
        printf("    %-8zu [", l);
        for (size_t h = 0; h < r->heads; h++) {
            double share = r->n > 0 ? (double)a->head_kept[l * r->heads + h] / (double)r->n : 1;
            kept += share / (double)r->heads;
            fputs(shade(share, utf8), stdout);
        }
        printf("] %5.1f%%  [", 100 * kept);
        for (size_t h = 0; h < r->heads; h++) {
            mass += (double)a->head_mass[l * r->heads + h] / (double)r->heads;
            fputs(shade((double)a->head_mass[l * r->heads + h], utf8), stdout);
        }
        printf("] %5.1f%%  %.3f\n", 100 * mass, (double)a->layer_error[l]);
    }
}

static void put_flags(unsigned flags) {
    if (flags & KR_BYPASS_SHORT)
        fputs("  BYPASS_SHORT (prompt not longer than what is protected)", stdout);
    if (flags & KR_WINDOW_TRUNC)
        fputs("  WINDOW_TRUNC (budget below what is protected)", stdout);
    if (flags & KR_FALLBACK_UNIFORM)
        fputs("  FALLBACK_UNIFORM (same budget in all layers)", stdout);
}

static void put_utility(const kr_arm_result *a) {
    if (isfinite(a->utility))
        printf("utility %.3f", a->utility);
    else
        printf("no utility (%s)", a->why != NULL ? a->why : "unknown");
}

static void put_arm(const options *o, const kr_eval_result *r, size_t i) {
    const kr_arm_result *a = &r->arm[i];
    kr_buf name = {0};
    kr_evict_text(&o->arm[i], false, &name);
    printf("  %-28s keeps %5.1f %%  %8.1f KB  ", kr_buf_text(&name), 100 * a->rho_ctx,
           (double)a->bytes / 1e3);
    put_utility(a);
    if (isfinite(a->drop))
        printf("  drop %.3f  %s", a->drop,
               kr_eval_event(&r->full, a, o->tolerance) ? "EVENT" : "no event");
    put_flags(a->flags);
    putchar('\n');
    if (a->parted) {
        fputs("    answer ", stdout);
        put_quoted(a->text, a->text_len);
        printf("\n    parts from full KV's at token %zu: that token leads by %.3f there, by %.3f "
               "here\n", a->parted_at + 1, (double)a->full_margin, (double)a->margin);
    }
    if (o->detail || o->n_arms <= SHOW_HEADS)
        put_heads(r, a);
    kr_buf_free(&name);
}

static void put_request(const options *o, const kr_sample_request *q, const kr_eval_result *r) {
    printf("request ");
    kr_cli_put_safe(q->id);
    printf(" (");
    kr_cli_put_safe(q->task);
    printf("): %zu tokens, %zu of them in the cache at eviction; prefill %.3f s, scoring %.3f s, "
           "%zu steps %.3f s\n", r->n_prompt, r->n, r->prefill_s, r->score_s, r->steps,
           r->decode_s);
    printf("  %-28s keeps 100.0 %%  %8.1f KB  ", "full KV", (double)r->full.bytes / 1e3);
    put_utility(&r->full);
    fputs("\n    answer ", stdout);
    put_quoted(r->full.text, r->full.text_len);
    putchar('\n');
    for (size_t i = 0; i < r->n_arms; i++)
        put_arm(o, r, i);
    putchar('\n');
    fflush(stdout);
}

/* ---- running ---- */

typedef struct {
    const options *o;
    kr_eval_job job;
    kr_eval *eval;
    const char *id; /* of the request at work */
    size_t at, failed;
    size_t events[MAX_ARMS];
    double last_tick;
    bool terminal, wrote_bad;
} session;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void send(session *s, kr_buf *b) {
    if (b->failed || fwrite(kr_buf_text(b), 1, b->len, stdout) != b->len || fflush(stdout) != 0)
        s->wrote_bad = true;
    kr_buf_free(b);
}

static bool on_progress(void *arg, kr_phase phase, size_t done, size_t total) {
    session *s = arg;
    double t = now();
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
            put_request(s->o, q, r);
    }
    send(s, &b);
}

static bool wanted(const options *o, const kr_sample_request *q) {
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

static void summary(const session *s, double seconds) {
    char t[KR_DEC_TEXT];
    printf("%zu requests, %zu failed, %.2f s; drop above %s:\n", s->job.n, s->failed, seconds,
           kr_dec_text(s->o->tolerance, t));
    for (size_t i = 0; i < s->o->n_arms; i++) {
        kr_buf name = {0};
        kr_evict_text(&s->o->arm[i], false, &name);
        printf("  %-28s %zu of %zu\n", kr_buf_text(&name), s->events[i], s->job.n - s->failed);
        kr_buf_free(&name);
    }
}

/* The i-th request: of the file, or of the ids in the order in which they were given, each once. */
static const kr_sample_request *pick(const options *o, const kr_sample_requests *all, size_t i) {
    if (o->n_ids == 0)
        return &all->item[i];
    for (size_t k = 0; k < i; k++)
        if (strcmp(o->id[k], o->id[i]) == 0)
            return NULL;
    return kr_sample_requests_find(all, o->id[i]);
}

static int run_all(session *s, const kr_sample_requests *all) {
    double start = now();
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
        kr_eval_json_end(s->at, s->failed, now() - start, peak_bytes(), &b);
        send(s, &b);
    } else {
        summary(s, now() - start);
    }
    return s->failed > 0 ? KR_EXIT_ERROR : KR_EXIT_OK;
}

static int check_ids(const options *o, const kr_sample_requests *all, size_t *n) {
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

static int evaluate(options *o) {
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
    if (kr_model_open(o->model, &m, &e) != KR_OK || kr_sample_requests_read(o->requests, &all, &e) != KR_OK)
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

int kr_cli_eval(int argc, char **argv) {
    static const struct option longs[] = {
        {"model", required_argument, NULL, O_MODEL},
        {"requests", required_argument, NULL, O_REQUESTS},
        {"policy", required_argument, NULL, O_POLICY},
        {"ladder", required_argument, NULL, O_LADDER},
        {"preset", required_argument, NULL, O_PRESET},
        {"protocol", required_argument, NULL, O_PROTOCOL},
        {"first-token", required_argument, NULL, O_FIRST},
        {"id", required_argument, NULL, O_ID},
        {"limit", required_argument, NULL, O_LIMIT},
        {"max-tokens", required_argument, NULL, O_TOKENS},
        {"context", required_argument, NULL, O_CONTEXT},
        {"threads", required_argument, NULL, O_THREADS},
        {"tolerance", required_argument, NULL, OPT_TOLERANCE},
        {"json", no_argument, NULL, OPT_JSON},
        {"detail", no_argument, NULL, O_DETAIL},
        {"list", no_argument, NULL, O_LIST},
        {"help", no_argument, NULL, OPT_HELP},
        {NULL, 0, NULL, 0},
    };
    options *o = calloc(1, sizeof *o);
    if (o == NULL)
        return kr_cli_say("eval", KR_EXIT_ERROR, "out of memory");
    o->tolerance = kr_dec_make(1, 1);
    int status = KR_EXIT_OK;
    bool shown = false;
    for (int c; status == KR_EXIT_OK && !shown &&
                (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        shown = c == OPT_HELP || c == O_LIST;
        if (c == OPT_HELP)
            fputs(help, stdout);
        else if (c == O_LIST)
            list_all();
        else
            status = take_option(o, c, optarg);
    }
    if (status == KR_EXIT_OK && !shown && optind != argc)
        status = usage("'%.80s' is not an option", argv[optind]);
    if (status == KR_EXIT_OK && !shown)
        status = check_options(o);
    if (status == KR_EXIT_OK && !shown)
        status = evaluate(o);
    free(o->arm);
    free(o);
    return kr_cli_done("eval", status);
}
