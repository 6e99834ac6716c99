/* eval.c - `kvrisk eval`: full KV and evicted caches side by side on requests. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "cli/eval.h"

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

__attribute__((format(printf, 1, 2))) static int usage(const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return kr_cli_say("eval", KR_EXIT_USAGE, "%s (see kvrisk eval --help)", text);
}

/* ---- options ---- */

static int take_number(const char *name, const char *value, size_t *out) {
    if (kr_cli_count(value, 1 << 30, out))
        return KR_EXIT_OK;
    return kr_cli_say("eval", KR_EXIT_USAGE, "--%s is '%s', expected a number from 1", name, value);
}

enum { O_MODEL = OPT_OWN, O_REQUESTS, O_POLICY, O_LADDER, O_PRESET, O_PROTOCOL, O_FIRST, O_ID,
       O_LIMIT, O_TOKENS, O_CONTEXT, O_THREADS, O_DETAIL, O_LIST };

static int take_tolerance(kr_cli_eval_args *o, const char *value) {
    kr_error e;
    if (kr_dec_parse_percent(value, &o->tolerance, &e) == KR_OK && o->tolerance.digits >= 0)
        return KR_EXIT_OK;
    return usage("--tolerance is '%.100s', expected a number from 0", value);
}

static int take_preset(kr_cli_eval_args *o, const char *value) {
    o->preset_name = value;
    o->preset = kr_evict_preset_find(value);
    return o->preset != NULL ? KR_EXIT_OK
                             : usage("no preset '%.60s'; kvrisk eval --list shows them", value);
}

static int take_option(kr_cli_eval_args *o, int c, const char *value) {
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
        if (o->n_policies == KR_CLI_MAX_ARMS)
            return usage("%s: too many policies", value);
        o->policy[o->n_policies++] = value;
        return KR_EXIT_OK;
    case O_ID:
        if (o->n_ids == KR_CLI_MAX_IDS)
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

static int add_arm(kr_cli_eval_args *o, const kr_evict_spec *s) {
    if (o->n_arms == KR_CLI_MAX_ARMS)
        return usage("more than %d policies at once", KR_CLI_MAX_ARMS);
    kr_evict_spec *p = realloc(o->arm, (o->n_arms + 1) * sizeof *p);
    if (p == NULL)
        return kr_cli_say("eval", KR_EXIT_ERROR, "out of memory");
    o->arm = p;
    o->arm[o->n_arms++] = *s;
    return KR_EXIT_OK;
}

static int add_ladder(kr_cli_eval_args *o, kr_evict_spec *s) {
    kr_cli_ladder l;
    if (!kr_cli_ladder_read(o->ladder, &l))
        return usage("--ladder is '%.80s', expected " KR_CLI_LADDER_FORM, o->ladder);
    kr_dec r = l.high;
    int status;
    do {
        s->level = (kr_evict_level){KR_EVICT_RATIO, r};
        status = add_arm(o, s);
    } while (status == KR_EXIT_OK && kr_cli_ladder_next(&l, &r));
    return status;
}

static int add_policy(kr_cli_eval_args *o, const char *text) {
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

static int check_options(kr_cli_eval_args *o) {
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
    kr_cli_eval_args *o = calloc(1, sizeof *o);
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
            kr_cli_eval_list();
        else
            status = take_option(o, c, optarg);
    }
    if (status == KR_EXIT_OK && !shown && optind != argc)
        status = usage("'%.80s' is not an option", argv[optind]);
    if (status == KR_EXIT_OK && !shown)
        status = check_options(o);
    if (status == KR_EXIT_OK && !shown)
        status = kr_cli_eval_run(o);
    free(o->arm);
    free(o);
    return kr_cli_done("eval", status);
}
