#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "export/certificate.h"
#include "verdict/simrun.h"

static const char help[] =
    "usage: kvrisk simulate FILE [options]\n"
    "\n"
    "Takes the loaded requests as the population, draws calibration sets from it again and again, and\n"
    "counts how often each rule's choice breaks the contract on the population: certified selection,\n"
    "empirical thresholding, the best of all methods uncorrected and as a family.\n"
    "\n" KR_CONTRACT_HELP
    "  --method M            this method alone\n"
    "  --draws N             calibration sets (default 20000)\n"
    "  --n N                 requests in each (default: as many as FILE has)\n"
    "  --seed N              (default 1)\n"
    "  --threads N           (default: as many as the machine has)\n"
    "  --json                one JSON object\n"
    "\n"
    "exit status: 0 done, 1 error or interrupted, 2 usage\n";

enum { OPT_DRAWS = OPT_OWN, OPT_N, OPT_SIM_SEED, OPT_THREADS };

static int say(int status, const char *text) { return kr_cli_say("simulate", status, "%s", text); }

static void put_json_rule(kr_buf *b, const char *rule, const char *method, const kr_sim_rule *r,
                          int64_t draws, bool first) {
    kr_sim_row x = kr_sim_row_of(r, draws);
    kr_buf_printf(b, "%s{\"rule\":\"%s\",\"method\":", first ? "" : ",", rule);
    if (method != NULL)
        kr_json_put_string(b, method);
    else
        kr_buf_puts(b, "null");
    const struct {
        const char *key;
        double value;
    } f[] = {{"broken", x.broken},       {"broken_lower", x.lower},        {"broken_upper", x.upper},
             {"retention", x.retention}, {"retention_se", x.retention_se}, {"fallback", x.fallback}};
    for (size_t i = 0; i < sizeof f / sizeof *f; i++) {
        kr_buf_printf(b, ",\"%s\":", f[i].key);
        kr_json_put_double(b, f[i].value);
    }
    kr_buf_puts(b, "}");
}

static void put_text_rule(kr_buf *b, const char *rule, const char *method, const kr_sim_rule *r,
                          int64_t draws, double delta) {
    static const char stars[] = "########################################";
    kr_sim_row x = kr_sim_row_of(r, draws);
    int bar = (int)lround(40 * (x.broken < 1 ? x.broken : 1));
    kr_buf_printf(b, "  %-22s %-18.40s %7.4f [%.4f, %.4f]  %6.4f  %5.3f  %.*s%s\n", rule, method, x.broken,
                  x.lower, x.upper, x.retention, x.fallback, bar, stars,
                  x.lower > delta ? " more than allowed" : "");
}

static void put_rules(const kr_analysis *a, size_t only, const kr_sim_tally *t, bool json,
                      kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_contract k = kr_analysis_contract(a);
    double delta = kr_level_double(kr_contract_level(&k, 1));
    bool first = true;
    for (size_t m = 0; m < kr_calib_methods(c); m++) {
        const char *name = kr_calib_method(c, m)->name;
        if (only != KR_ALL_METHODS && only != m)
            continue;
        if (json) {
            put_json_rule(b, "certified", name, &t->certified[m], t->draws, first);
            put_json_rule(b, "empirical", name, &t->empirical[m], t->draws, false);
        } else {
            put_text_rule(b, "certified", name, &t->certified[m], t->draws, delta);
            put_text_rule(b, "empirical", name, &t->empirical[m], t->draws, delta);
        }
        first = false;
    }
    const struct {
        const char *rule, *text;
        const kr_sim_rule *r;
    } best[] = {{"best_family", "best, family", &t->best_family},
                {"best_uncorrected", "best, uncorrected", &t->best_naive},
                {"best_empirical", "best, empirical", &t->best_empirical}};
    for (size_t i = 0; only == KR_ALL_METHODS && i < 3; i++) {
        if (json)
            put_json_rule(b, best[i].rule, NULL, best[i].r, t->draws, false);
        else
            put_text_rule(b, best[i].text, "(all methods)", best[i].r, t->draws, delta);
    }
}

static void print(const kr_analysis *a, size_t method, const kr_simrun *run, const kr_sim_tally *t,
                  bool json) {
    kr_simrun_options o = kr_simrun_options_of(run);
    kr_contract k = kr_analysis_contract(a);
    kr_buf b = {0};
    char tol[KR_DEC_TEXT], r[KR_DEC_TEXT], conf[KR_DEC_TEXT];
    if (json) {
        kr_buf_printf(&b, "{\"version\":1,\"draws\":%lld,\"n\":%lld,\"seed\":%llu,\"contract\":{\"tolerance\":",
                      (long long)t->draws, (long long)o.n, (unsigned long long)o.seed);
        kr_json_put_dec(&b, k.tolerance);
        kr_buf_puts(&b, ",\"risk\":");
        kr_json_put_dec(&b, k.risk);
        kr_buf_puts(&b, ",\"confidence\":");
        kr_json_put_dec(&b, k.confidence);
        kr_buf_puts(&b, "},\"rules\":[");
    } else {
        kr_buf_printf(&b, "%lld draws of %lld requests, seed %llu; tolerance %s, risk target %s %%, "
                          "confidence %s %%\n\n  %-22s %-18s %-24s %7s %8s\n",
                      (long long)t->draws, (long long)o.n, (unsigned long long)o.seed,
                      kr_dec_fixed(k.tolerance, 2, tol), kr_dec_percent(k.risk, 0, r),
                      kr_dec_percent(k.confidence, 0, conf), "rule", "method",
                      "breaks the contract", "keeps", "full KV");
    }
    put_rules(a, method, t, json, &b);
    kr_buf_puts(&b, json ? "]}\n"
                         : "\n  breaks: share of draws whose choice has a population risk above the target, "
                           "with its 95 % interval\n");
    fwrite(kr_buf_text(&b), 1, b.len, stdout);
    kr_buf_free(&b);
}

static volatile sig_atomic_t interrupted;
static void on_interrupt(int sig) {
    (void)sig;
    interrupted = 1;
}

/* Waits for the end; shows how far it is where somebody can see it. */
static const kr_sim_tally *wait_for(kr_simrun *run, int64_t draws) {
    const struct timespec tick = {0, 20 * 1000 * 1000};
    bool ended = false, seen = isatty(STDERR_FILENO);
    const kr_sim_tally *t = kr_simrun_poll(run, &ended);
    while (!ended) {
        nanosleep(&tick, NULL);
        if (interrupted)
            kr_simrun_cancel(run);
        t = kr_simrun_poll(run, &ended);
        if (seen)
            fprintf(stderr, "\r%lld of %lld draws ", (long long)t->draws, (long long)draws);
    }
    if (seen)
        fprintf(stderr, "\r%*s\r", 40, "");
    return t;
}

static int run(const kr_cli_args *args, kr_simrun_options o, const kr_analysis *a) {
    kr_simrun *r;
    kr_error e;
    size_t method;
    if (!kr_cli_method(args, kr_analysis_calib(a), &method))
        return KR_EXIT_USAGE;
    kr_status st = kr_simrun_start(a, o, &r, &e);
    if (st != KR_OK)
        return say(st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR, e.msg);
    struct sigaction act = {.sa_handler = on_interrupt}, old;
    sigaction(SIGINT, &act, &old);
    const kr_sim_tally *t = wait_for(r, o.draws);
    sigaction(SIGINT, &old, NULL);
    int status = KR_EXIT_OK;
    st = kr_simrun_status(r);
    if (st == KR_OK || (st == KR_ECANCELED && t->draws > 0))
        print(a, method, r, t, args->json);
    if (st != KR_OK)
        status = say(KR_EXIT_ERROR, st == KR_ECANCELED ? "interrupted; fewer draws than asked for"
                                                       : "out of memory");
    kr_simrun_free(r);
    return status;
}

static bool whole(const char *text, int64_t max, int64_t *out) {
    char *end;
    long long v = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || v < 1 || v > max)
        return false;
    *out = v;
    return true;
}

int kr_cli_simulate(int argc, char **argv) {
    static const struct option options[] = {KR_CONTRACT_OPTIONS,
                                            {"method", required_argument, NULL, OPT_METHOD},
                                            {"draws", required_argument, NULL, OPT_DRAWS},
                                            {"n", required_argument, NULL, OPT_N},
                                            {"seed", required_argument, NULL, OPT_SIM_SEED},
                                            {"threads", required_argument, NULL, OPT_THREADS},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {NULL, 0, NULL, 0}};
    kr_cli_args args = {.name = "simulate"};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t draws = 20000, n = 0, seed = 1, threads = cores > 0 ? cores : 1;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        bool ok = true;
        switch (o) {
        case OPT_HELP: fputs(help, stdout); return KR_EXIT_OK;
        case OPT_DRAWS: ok = whole(optarg, 1000000000, &draws); break;
        case OPT_N: ok = whole(optarg, 1000000000, &n); break;
        case OPT_SIM_SEED: ok = whole(optarg, INT64_MAX, &seed); break;
        case OPT_THREADS: ok = whole(optarg, 64, &threads); break;
        default:
            if (!kr_cli_contract_option(&args, o, optarg) || args.usage_error)
                return KR_EXIT_USAGE;
        }
        if (!ok)
            return say(KR_EXIT_USAGE, "--draws, --n, --seed and --threads take whole numbers from 1");
    }
    if (argc - optind != 1)
        return say(KR_EXIT_USAGE, "expected one FILE (see kvrisk simulate --help)");
    kr_calib *c;
    kr_analysis *a;
    int status = kr_cli_open(&args, argv[optind], &c, &a);
    kr_simrun_options o = {.draws = draws, .n = n, .threads = (int)threads, .seed = (uint64_t)seed};
    if (status == KR_EXIT_OK)
        status = run(&args, o, a);
    kr_analysis_free(a);
    kr_calib_free(c);
    return kr_cli_done("simulate", status);
}
