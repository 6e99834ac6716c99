/* calibrate.c - `kvrisk calibrate`: measure a calibration file with a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "cli/declare.h"
#include "cli/methods.h"
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

typedef struct {
    const char *model, *requests, *methods, *ladder, *out, *declare;
    kr_cli_ladder steps;
    const kr_evict_preset *preset;
    kr_calibrate_contract contract;
    char *contract_text, date[KR_CLI_DATE];
    kr_calibrate_options c;
    kr_evict_spec *arm; /* [KR_CLI_MAX_ARMS] */
    size_t n_arms, limit;
    bool has_protocol;
    double began, shown;
} options;

#define usage(...) kr_cli_say("calibrate", KR_EXIT_USAGE, __VA_ARGS__)

/* --- the contract ---------------------------------------------------------------------------- */

static bool read_contract(options *o, kr_error *err) {
    kr_calibrate_contract *c = &o->contract;
    kr_contract k;
    o->contract_text = strdup(o->declare);
    if (o->contract_text == NULL) {
        kr_fail(err, KR_ENOMEM, "out of memory");
        return false;
    }
    if (kr_cli_declare_read(o->contract_text, &k, &c->method, err) != KR_OK)
        return false;
    c->tolerance = k.tolerance;
    c->risk = k.risk;
    c->confidence = k.confidence;
    o->c.contract = c;
    return true;
}

/* The date in the header of an unfinished file, so that the work may go on after midnight. */
static bool date_of(const char *path, char date[KR_CLI_DATE]) {
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
            snprintf(date, KR_CLI_DATE, "%.10s", at + sizeof key - 1);
        fclose(f);
    }
    return found;
}

static void set_date(options *o) {
    if (o->contract.declared != NULL || o->c.contract == NULL)
        return;
    if (!date_of(o->out, o->date))
        kr_cli_today(o->date);
    o->contract.declared = o->date;
}

/* --- options --------------------------------------------------------------------------------- */

static int take_number(options *o, int c, const char *value) {
    size_t *to = c == OPT_LIMIT     ? &o->limit
                 : c == OPT_CONTEXT ? &o->c.eval.context
                                    : &o->c.eval.threads;
    return kr_cli_count(value, 1 << 30, to) ? KR_EXIT_OK
                                            : usage("'%.80s' is no whole number from 1", value);
}

static int take_shard(options *o, const char *value) {
    char a[32];
    size_t n = strcspn(value, "/");
    snprintf(a, sizeof a, "%.*s", (int)(n < 31 ? n : 31), value);
    if (value[n] != '/' || !kr_cli_count(a, 1 << 30, &o->c.shard) ||
        !kr_cli_count(value + n + 1, 1 << 30, &o->c.shards) || o->c.shard > o->c.shards)
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
        return kr_cli_is_date(value) ? KR_EXIT_OK
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
    if (!kr_cli_ladder_read(o->ladder, &o->steps))
        return usage("--ladder is '%.80s', expected " KR_CLI_LADDER_FORM, o->ladder);
    kr_error e;
    if (o->declare != NULL && !read_contract(o, &e))
        return usage("--declare %.80s: %s", o->declare, e.msg);
    if (o->contract.declared != NULL && o->declare == NULL)
        return usage("--declared is the date of a contract: --declare is needed with it");
    set_date(o);
    if (kr_cli_methods_read(o->methods, &o->steps, o->preset, o->arm, &o->n_arms, &e) != KR_OK)
        return usage("%s", e.msg);
    return check_declared_method(o);
}

/* --- running --------------------------------------------------------------------------------- */

static bool on_progress(void *arg, size_t done, size_t total, size_t found) {
    options *o = arg;
    double t = kr_clock(), rate = done > found ? (double)(done - found) / (t - o->began) : 0;
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
        o->began = kr_clock();
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
            kr_clock() - o->began, (double)u.ru_maxrss / 1e3);
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
    kr_evict_spec *arm = calloc(KR_CLI_MAX_ARMS, sizeof *arm);
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
