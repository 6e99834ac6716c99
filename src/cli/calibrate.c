/* calibrate.c - `kvrisk calibrate`: measure a calibration file with a model. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "sample/calibrate.h"

static const char help[] =
    "usage: kvrisk calibrate --model M --requests R --methods LIST --protocol P -o FILE [options]\n"
    "\n"
    "Answers every request with the full KV cache and with every policy, from one prefill\n"
    "each, and writes a calibration file. Killed at any moment, the same command continues\n"
    "from FILE.part and ends with the same bytes.\n"
    "\n"
    "  --model M             GGUF model\n"
    "  --requests R          JSON Lines, as for kvrisk eval; \"split\" cal or test is kept\n"
    "  --methods LIST        snapkv,adakv,alpha=0.3,refreekv:0.001,0.01: names, each with\n"
    "                        parameters and thresholds behind it (kvrisk eval --list)\n"
    "  --ladder HI:LO:STEP   retentions of the others (default 0.80:0.20:0.05)\n"
    "  --protocol P          query_aware or query_agnostic\n"
    "  --first-token F       step (default) or prefill\n"
    "  --preset NAME         parameter values of a published evaluation\n"
    "  --declare T,R,C[,M]   the contract, fixed before calibration: tolerance, risk,\n"
    "                        confidence, and the method if it is chosen beforehand\n"
    "  --declared DATE       date of the declaration, YYYY-MM-DD (default: today,\n"
    "                        UTC, or that of an unfinished FILE)\n"
    "  --name N, --benchmark B, --note TEXT\n"
    "                        as they shall stand in the file\n"
    "  --shard I/N           every N-th request from the I-th on; kvrisk merge joins shards\n"
    "                        (with more shards than requests some are empty)\n"
    "  --limit N             the first N requests\n"
    "  --context N           longest prompt with answer (default: the trained context)\n"
    "  --threads N           threads (default: physical cores); results do not depend on it\n"
    "  -o FILE               the result\n"
    "\n"
    "exit status: 0 done, 1 error, or requests failed (they are rows of nulls), 2 usage\n";

enum {
    OPT_MODEL = OPT_OWN,
    OPT_REQUESTS,
    OPT_METHODS,
    OPT_LADDER,
    OPT_PROTOCOL,
    OPT_FIRST,
    OPT_PRESET,
    OPT_DECLARE,
    OPT_DECLARED,
    OPT_NAME,
    OPT_BENCHMARK,
    OPT_NOTE,
    OPT_SHARD,
    OPT_LIMIT,
    OPT_CONTEXT,
    OPT_THREADS
};
enum { MAX_ARMS = 4096 };

typedef struct {
    const char *model, *requests, *methods, *ladder, *out, *declare;
    kr_dec high, low, fall;
    const kr_evict_preset *preset;
    kr_calibrate_contract contract;
    char *contract_text, date[16];
    kr_calibrate_options c;
    kr_evict_spec *arm; /* [MAX_ARMS] */
    size_t n_arms, limit;
    bool has_protocol;
    double began, shown;
} options;

#define usage(...) kr_cli_say("calibrate", KR_EXIT_USAGE, __VA_ARGS__)

/* --- methods ---------------------------------------------------------------------------------- */

static bool read_ladder(options *o) {
    kr_dec *v[3] = {&o->high, &o->low, &o->fall};
    const char *s = o->ladder;
    for (int i = 0; i < 3; i++) {
        char part[64];
        size_t n = strcspn(s, ":");
        if (n >= sizeof part || (s[n] == ':') != (i < 2))
            return false;
        memcpy(part, s, n);
        part[n] = '\0';
        if (kr_dec_parse_percent(part, v[i], NULL) != KR_OK)
            return false;
        s += n + 1;
    }
    kr_dec zero = kr_dec_make(0, 0);
    return kr_dec_cmp(o->high, kr_dec_make(1, 0)) <= 0 && kr_dec_cmp(o->low, zero) > 0 &&
           kr_dec_cmp(o->fall, zero) > 0 && kr_dec_cmp(o->high, o->low) >= 0;
}

static int add_arm(options *o, const kr_evict_spec *s) {
    if (o->n_arms == MAX_ARMS)
        return usage("more than %d policies", MAX_ARMS);
    o->arm[o->n_arms++] = *s;
    return KR_EXIT_OK;
}

/* A method that is complete: its name, ",name=value..." and its levels, empty for the ladder. */
static int add_method(options *o, const char *name, const char *params, const char *levels) {
    kr_evict_spec s;
    kr_error e = {KR_OK, ""};
    kr_buf text = {0};
    int status = KR_EXIT_OK;
    if (*levels == '\0') {
        kr_buf_printf(&text, "%s%s", name, params);
        if (kr_evict_parse_params(kr_buf_text(&text), o->preset, &s, &e) != KR_OK)
            status = usage("%s", e.msg);
        else if (s.policy->threshold || s.policy->score == NULL)
            status = usage(s.policy->threshold
                               ? "%s has thresholds: name them, as in refreekv:0.001,0.01"
                               : "%s is what the others are compared with",
                           name);
        kr_dec r = o->high;
        while (status == KR_EXIT_OK && kr_dec_cmp(r, o->low) >= 0) {
            s.level = (kr_evict_level){KR_EVICT_RATIO, r};
            status = add_arm(o, &s);
            if (!kr_dec_sub(r, o->fall, &r))
                break;
        }
    }
    for (const char *at = levels; *at != '\0' && status == KR_EXIT_OK;) {
        size_t n = strcspn(at, ",");
        text.len = 0;
        kr_buf_printf(&text, "%s:%.*s%s", name, (int)n, at, params);
        status = kr_evict_parse(kr_buf_text(&text), o->preset, &s, &e) == KR_OK
                     ? add_arm(o, &s)
                     : usage("%s", e.msg);
        at += n + (at[n] == ',');
    }
    kr_buf_free(&text);
    return status;
}

/* Items between commas: a name (perhaps with its first level), name=value, or another level. */
static int read_methods(options *o) {
    kr_buf name = {0}, params = {0}, levels = {0};
    int status = KR_EXIT_OK;
    for (const char *s = o->methods; *s != '\0' && status == KR_EXIT_OK;) {
        size_t n = strcspn(s, ","), level = strcspn(s, ":");
        if (memchr(s, '=', n) != NULL) {
            kr_buf_printf(&params, ",%.*s", (int)n, s);
        } else if (isdigit((unsigned char)s[0])) {
            kr_buf_printf(&levels, "%s%.*s", levels.len > 0 ? "," : "", (int)n, s);
        } else {
            if (name.len > 0)
                status = add_method(o, name.s, kr_buf_text(&params), kr_buf_text(&levels));
            kr_buf_free(&name), kr_buf_free(&params), kr_buf_free(&levels);
            kr_buf_add(&name, s, level < n ? level : n);
            if (level < n)
                kr_buf_add(&levels, s + level + 1, n - level - 1);
        }
        s += n + (s[n] == ',');
    }
    if (status == KR_EXIT_OK && name.len == 0)
        status = usage("--methods: expected names of policies (kvrisk eval --list)");
    if (status == KR_EXIT_OK)
        status = add_method(o, name.s, kr_buf_text(&params), kr_buf_text(&levels));
    kr_buf_free(&name), kr_buf_free(&params), kr_buf_free(&levels);
    return status;
}

/* --- the contract ---------------------------------------------------------------------------- */

static bool read_contract(options *o) {
    kr_calibrate_contract *c = &o->contract;
    kr_dec zero = kr_dec_make(0, 0), one = kr_dec_make(1, 0);
    char *part[4] = {NULL}, *rest = NULL;
    size_t n = 0;
    o->contract_text = strdup(o->declare);
    if (o->contract_text == NULL)
        return false;
    for (char *p = strtok_r(o->contract_text, ",", &rest); p != NULL && n < 4;
         p = strtok_r(NULL, ",", &rest))
        part[n++] = p;
    if (n < 3 || kr_dec_parse_percent(part[0], &c->tolerance, NULL) != KR_OK ||
        kr_dec_parse_percent(part[1], &c->risk, NULL) != KR_OK ||
        kr_dec_parse_percent(part[2], &c->confidence, NULL) != KR_OK)
        return false;
    c->method = part[3];
    o->c.contract = c;
    return kr_dec_cmp(c->tolerance, zero) >= 0 && kr_dec_cmp(c->risk, zero) > 0 &&
           kr_dec_cmp(c->risk, one) < 0 && kr_dec_cmp(c->confidence, zero) > 0 &&
           kr_dec_cmp(c->confidence, one) < 0;
}

/* The date in the header of an unfinished file, so that the work may go on after midnight. */
static bool date_of(const char *path, char date[16]) {
    char line[4096], name[4096];
    static const char key[] = "\"declared\":\"";
    bool found = false;
    for (int part = 1; part >= 0 && !found; part--) {
        if ((size_t)snprintf(name, sizeof name, "%s%s", path, part ? ".part" : "") >= sizeof name)
            return false;
        FILE *f = fopen(name, "r");
        if (f == NULL)
            continue;
        const char *at = fgets(line, sizeof line, f) != NULL ? strstr(line, key) : NULL;
        found = at != NULL && strlen(at) > sizeof key + 10;
        if (found)
            snprintf(date, 16, "%.10s", at + sizeof key - 1);
        fclose(f);
    }
    return found;
}

static void set_date(options *o) {
    time_t now = time(NULL);
    struct tm utc;
    if (o->contract.declared != NULL || o->c.contract == NULL)
        return;
    if (!date_of(o->out, o->date) && gmtime_r(&now, &utc) != NULL)
        strftime(o->date, sizeof o->date, "%Y-%m-%d", &utc);
    o->contract.declared = o->date;
}

static bool is_date(const char *s) {
    static const char form[] = "dddd-dd-dd";
    static const int longest[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 0, month = 0, day = 0;
    size_t i = 0;
    for (; form[i] != '\0'; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)s[i]) : s[i] != form[i])
            return false;
    if (s[i] != '\0' || sscanf(s, "%4d-%2d-%2d", &year, &month, &day) != 3)
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= longest[month - 1] &&
           (leap || month != 2 || day <= 28);
}

/* --- options --------------------------------------------------------------------------------- */

static bool read_count(const char *s, size_t *out) {
    char *end;
    unsigned long v = strtoul(s, &end, 10);
    *out = v;
    return isdigit((unsigned char)s[0]) && *end == '\0' && v >= 1 && v <= 1u << 30;
}

static int take_number(options *o, int c, const char *value) {
    size_t *to = c == OPT_LIMIT     ? &o->limit
                 : c == OPT_CONTEXT ? &o->c.eval.context
                                    : &o->c.eval.threads;
    return read_count(value, to) ? KR_EXIT_OK : usage("'%.80s' is no whole number from 1", value);
}

static int take_shard(options *o, const char *value) {
    char a[32];
    size_t n = strcspn(value, "/");
    snprintf(a, sizeof a, "%.*s", (int)(n < 31 ? n : 31), value);
    if (value[n] != '/' || !read_count(a, &o->c.shard) ||
        !read_count(value + n + 1, &o->c.shards) || o->c.shard > o->c.shards)
        return usage("--shard is '%.80s', expected I/N with 1 <= I <= N", value);
    return KR_EXIT_OK;
}

static int take_choice(options *o, int c, const char *value) {
    if (c == OPT_PROTOCOL) {
        o->has_protocol = kr_protocol_find(value, &o->c.eval.protocol);
        return o->has_protocol ? KR_EXIT_OK
                               : usage("no protocol '%.80s': query_aware or query_agnostic", value);
    }
    if (c == OPT_FIRST)
        return kr_first_token_find(value, &o->c.eval.first_token)
                   ? KR_EXIT_OK
                   : usage("--first-token is '%.80s', expected step or prefill", value);
    o->preset = kr_evict_preset_find(value);
    o->c.preset = value;
    return o->preset != NULL ? KR_EXIT_OK : usage("no preset '%.80s' (kvrisk eval --list)", value);
}

static int take_option(options *o, int c, const char *value) {
    switch (c) {
    case OPT_MODEL: o->model = value; return KR_EXIT_OK;
    case OPT_REQUESTS: o->requests = value; return KR_EXIT_OK;
    case OPT_METHODS: o->methods = value; return KR_EXIT_OK;
    case OPT_LADDER: o->ladder = value; return KR_EXIT_OK;
    case OPT_DECLARE: o->declare = value; return KR_EXIT_OK;
    case OPT_NAME: o->c.name = value; return KR_EXIT_OK;
    case OPT_BENCHMARK: o->c.benchmark = value; return KR_EXIT_OK;
    case OPT_NOTE: o->c.note = value; return KR_EXIT_OK;
    case 'o': o->out = value; return KR_EXIT_OK;
    case OPT_PROTOCOL:
    case OPT_FIRST:
    case OPT_PRESET: return take_choice(o, c, value);
    case OPT_SHARD: return take_shard(o, value);
    case OPT_LIMIT:
    case OPT_CONTEXT:
    case OPT_THREADS: return take_number(o, c, value);
    case OPT_DECLARED:
        o->contract.declared = value;
        return is_date(value) ? KR_EXIT_OK
                              : usage("--declared is '%.80s', expected a date as YYYY-MM-DD", value);
    default: return KR_EXIT_USAGE;
    }
}

/* A contract on a method that is not measured could never be met. */
static int check_declared_method(const options *o) {
    const char *method = o->contract.method;
    bool found = method == NULL;
    for (size_t i = 0; i < o->n_arms && !found; i++)
        found = strcmp(o->arm[i].policy->name, method) == 0;
    return found ? KR_EXIT_OK : usage("--declare names %.80s, which --methods does not", method);
}

static int check_options(options *o) {
    if (o->model == NULL || o->requests == NULL || o->methods == NULL || o->out == NULL)
        return usage(
            "--model, --requests, --methods and -o are needed (see kvrisk calibrate --help)");
    if (!o->has_protocol)
        return usage("--protocol is needed: query_aware or query_agnostic");
    if (!read_ladder(o))
        return usage("--ladder is '%.80s', expected HIGH:LOW:STEP with 1 >= HIGH >= LOW > 0",
                     o->ladder);
    if (o->declare != NULL && !read_contract(o))
        return usage("--declare is '%.80s', expected TOLERANCE,RISK,CONFIDENCE[,METHOD]",
                     o->declare);
    if (o->contract.declared != NULL && o->declare == NULL)
        return usage("--declared is the date of a contract: --declare is needed with it");
    set_date(o);
    int status = read_methods(o);
    return status == KR_EXIT_OK ? check_declared_method(o) : status;
}

/* --- running --------------------------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool on_progress(void *arg, size_t done, size_t total, size_t found) {
    options *o = arg;
    double t = now(), rate = done > found ? (double)(done - found) / (t - o->began) : 0;
    if (found > 0 && done == found)
        fprintf(stderr, "kvrisk calibrate: continuing after %zu of %zu requests\n", found, total);
    if (!isatty(STDERR_FILENO) || (done < total && t - o->shown < 0.2))
        return true;
    o->shown = t;
    if (rate > 0)
        fprintf(stderr, "\r%zu of %zu requests, %.2f a second, %.0f s left ", done, total, rate,
                (double)(total - done) / rate);
    if (done == total)
        fputc('\n', stderr);
    return true;
}

static int measure(options *o) {
    kr_error e = {KR_OK, ""};
    kr_model *m = NULL;
    kr_sample_requests *all = NULL;
    struct rusage u;
    size_t failed = 0, kept = 0;
    kr_status st = kr_model_open(o->model, &m, &e);
    if (st == KR_OK)
        st = kr_sample_requests_read(o->requests, &all, &e);
    if (st == KR_OK) {
        kept = all->n;
        all->n = o->limit > 0 && o->limit < all->n ? o->limit : all->n;
        o->c.model = m;
        o->c.requests = all;
        o->began = now();
        st = kr_calibrate(&o->c, o->out, &failed, &e);
        all->n = kept;
    }
    kr_sample_requests_free(all);
    kr_model_close(m);
    if (st != KR_OK)
        return kr_cli_say("calibrate", st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR, "%s",
                          e.msg);
    getrusage(RUSAGE_SELF, &u);
    fprintf(stderr, "kvrisk calibrate: %s is complete; %.1f s, at most %.1f MB\n", o->out,
            now() - o->began, (double)u.ru_maxrss / 1e3);
    if (failed > 0)
        return kr_cli_say("calibrate", KR_EXIT_ERROR, "%zu %s failed: rows with a \"reason\"", failed,
                          failed == 1 ? "request" : "requests");
    return KR_EXIT_OK;
}

static int run(options *o) {
    int status = check_options(o);
    if (status != KR_EXIT_OK)
        return status;
    o->c.model_path = o->model;
    o->c.requests_path = o->requests;
    o->c.eval.arm = o->arm;
    o->c.eval.n_arms = o->n_arms;
    o->c.progress = on_progress;
    o->c.progress_arg = o;
    return measure(o);
}

int kr_cli_calibrate(int argc, char **argv) {
    static const struct option longs[] = {{"model", required_argument, NULL, OPT_MODEL},
                                          {"requests", required_argument, NULL, OPT_REQUESTS},
                                          {"methods", required_argument, NULL, OPT_METHODS},
                                          {"ladder", required_argument, NULL, OPT_LADDER},
                                          {"protocol", required_argument, NULL, OPT_PROTOCOL},
                                          {"first-token", required_argument, NULL, OPT_FIRST},
                                          {"preset", required_argument, NULL, OPT_PRESET},
                                          {"declare", required_argument, NULL, OPT_DECLARE},
                                          {"declared", required_argument, NULL, OPT_DECLARED},
                                          {"name", required_argument, NULL, OPT_NAME},
                                          {"benchmark", required_argument, NULL, OPT_BENCHMARK},
                                          {"note", required_argument, NULL, OPT_NOTE},
                                          {"shard", required_argument, NULL, OPT_SHARD},
                                          {"limit", required_argument, NULL, OPT_LIMIT},
                                          {"context", required_argument, NULL, OPT_CONTEXT},
                                          {"threads", required_argument, NULL, OPT_THREADS},
                                          {"help", no_argument, NULL, OPT_HELP},
                                          {NULL, 0, NULL, 0}};
    options *o = calloc(1, sizeof *o);
    kr_evict_spec *arm = calloc(MAX_ARMS, sizeof *arm);
    int status = KR_EXIT_OK;
    bool shown = false;
    if (o == NULL || arm == NULL) {
        free(o);
        free(arm);
        return kr_cli_say("calibrate", KR_EXIT_ERROR, "out of memory");
    }
    *o = (options){.ladder = "0.80:0.20:0.05", .arm = arm, .c = {.shard = 1, .shards = 1}};
    for (int c; status == KR_EXIT_OK && !shown &&
                (c = getopt_long(argc, argv, "o:", longs, NULL)) != -1;) {
        shown = c == OPT_HELP;
        status = shown ? KR_EXIT_OK : take_option(o, c, optarg);
    }
    if (shown)
        fputs(help, stdout);
    else if (status == KR_EXIT_OK)
        status = optind < argc ? usage("unexpected argument %.80s", argv[optind]) : run(o);
    free(o->contract_text);
    free(o);
    free(arm);
    return kr_cli_done("calibrate", status);
}
