#include <errno.h>
#include <langinfo.h>
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
    "Takes the loaded requests as the population, draws calibration sets from it again and again (with\n"
    "replacement; each task equally where FILE's tasks are equally large), and counts how often each\n"
    "rule's choice breaks the contract on the population, and what retention it gives: certified\n"
    "selection, empirical thresholding, the best of all methods uncorrected and as a family.\n"
    "\n" KR_CONTRACT_HELP
    "  --method M            this method alone\n"
    "  --draws N             calibration sets, 1 to 1000000000 (default 20000)\n"
    "  --n N                 requests in each, 1 to 10000000 (default: as many as FILE has)\n"
    "  --seed N              0 or more (default 1); same seed, same figures for any --threads\n"
    "  --threads N           1 to 64 (default: as many as the machine has)\n"
    "  --json                one JSON object\n"
    "\n"
    "Ctrl-C ends it early; the figures of the draws made so far are printed.\n"
    "\n"
    "exit status: 0 done, 1 error or interrupted, 2 usage\n";

enum { OPT_DRAWS = OPT_OWN, OPT_N, OPT_SIM_SEED, OPT_THREADS };

static int say(int status, const char *text) { return kr_cli_say("simulate", status, "%s", text); }

/* What is being printed. */
typedef struct {
    const kr_analysis *a;
    const kr_sim *sim;
    const kr_sim_tally *t;
    kr_simrun_options o;
    size_t only, tasks; /* method, or KR_ALL_METHODS */
    bool blocks;        /* the terminal can show block characters */
    double top;         /* end of the bars */
} report;

static void put_json_number(kr_buf *b, const char *key, double v) {
    kr_buf_printf(b, ",\"%s\":", key);
    kr_json_put_double(b, v);
}

/* Candidates that a rule chose at least once, in the file's order. */
static void put_json_chosen(const report *x, kr_buf *b, kr_sim_rule rule, size_t method) {
    const kr_calib *c = kr_analysis_calib(x->a);
    size_t from = 0, count = kr_calib_policies(c);
    bool some = false;
    if (rule <= KR_SIM_EMPIRICAL)
        count = kr_sim_length(x->sim, method, &from);
    kr_buf_puts(b, ",\"chosen\":[");
    for (size_t j = from; j < from + count; j++) {
        if (x->t->chosen[rule][j] == 0)
            continue;
        const kr_policy *p = kr_calib_policy(c, j);
        kr_buf_puts(b, some ? ",{\"method\":" : "{\"method\":");
        kr_json_put_string(b, p->method);
        put_json_number(b, "retention", kr_sim_level(x->sim, j));
        kr_buf_puts(b, ",\"threshold\":");
        if (p->has_threshold)
            kr_json_put_dec(b, p->threshold);
        else
            kr_buf_puts(b, "null");
        put_json_number(b, "risk", kr_sim_risk(x->sim, j));
        kr_buf_printf(b, ",\"breaks\":%s,\"draws\":%lld}", kr_sim_broken(x->sim, j) ? "true" : "false",
                      (long long)x->t->chosen[rule][j]);
        some = true;
    }
    kr_buf_puts(b, "]");
}

static void put_json_rule(const report *x, kr_buf *b, kr_sim_rule rule, size_t method, bool first) {
    kr_sim_row r = kr_sim_row_of(x->sim, x->t, rule, method);
    kr_buf_printf(b, "%s{\"rule\":\"%s\",\"method\":", first ? "" : ",", kr_sim_rule_name(rule));
    if (rule <= KR_SIM_EMPIRICAL)
        kr_json_put_string(b, kr_calib_method(kr_analysis_calib(x->a), method)->name);
    else
        kr_buf_puts(b, "null");
    const struct {
        const char *key;
        double value;
    } f[] = {{"broken", r.broken},
             {"broken_lower", r.lower},
             {"broken_upper", r.upper},
             {"retention", r.of.mean},
             {"retention_lower", r.mean_lower},
             {"retention_upper", r.mean_upper},
             {"retention_p10", r.of.low},
             {"retention_median", r.of.median},
             {"retention_p90", r.of.high},
             {"fallback", r.fallback}};
    for (size_t i = 0; i < sizeof f / sizeof *f; i++)
        put_json_number(b, f[i].key, f[i].value);
    put_json_chosen(x, b, rule, method);
    kr_buf_puts(b, "}");
}

/* One column of a bar that ends `eighths` of a column into it, with the upper limit's line behind it. */
static const char *bar_cell(const report *x, int eighths, bool line) {
    static const char *const part[] = {"", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d", "\xe2\x96\x8c",
                                       "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89", "\xe2\x96\x88"};
    if (eighths > 0)
        return !x->blocks ? "#" : part[eighths < 8 ? eighths : 8];
    return !line ? " " : x->blocks ? "\xe2\x94\x80" : "-";
}

/* The share of draws as a bar, a line up to its upper limit, the allowed error marked. */
static void put_bar(const report *x, kr_buf *b, kr_sim_row r, double delta) {
    enum { WIDTH = 26 };
    double scale = WIDTH / x->top;
    int eighths = (int)lround(8 * r.broken * scale), end = (int)ceil(r.upper * scale);
    if (r.of.broken > 0 && eighths == 0)
        eighths = 1;
    for (int i = 0; i < WIDTH; i++)
        kr_buf_puts(b, i == (int)(delta * scale) ? (x->blocks ? "\xe2\x95\x8e" : "|")
                                                 : bar_cell(x, eighths - 8 * i, r.of.broken > 0 && i < end));
}

static void put_percent(kr_buf *b, double v) {
    if (isfinite(v))
        kr_buf_printf(b, " %5.1f", 100 * v);
    else
        kr_buf_puts(b, "     ?");
}

static void put_text_rule(const report *x, kr_buf *b, const char *name, kr_sim_rule rule, size_t method) {
    kr_contract k = kr_analysis_contract(x->a);
    double delta = kr_level_double(kr_contract_level(&k, 1));
    kr_sim_row r = kr_sim_row_of(x->sim, x->t, rule, method);
    kr_buf_printf(b, "  %-18.40s %6.2f [%5.2f, %5.2f]  ", name, 100 * r.broken, 100 * r.lower, 100 * r.upper);
    put_bar(x, b, r, delta);
    put_percent(b, r.of.mean);
    kr_buf_puts(b, " [");
    put_percent(b, r.of.low);
    kr_buf_puts(b, " ..");
    put_percent(b, r.of.high);
    kr_buf_printf(b, "]  %5.1f%s\n", 100 * r.fallback, r.lower > delta ? "  too often" : "");
}

/* Each rule in turn, to whoever writes it. */
static void each_rule(const report *x, kr_buf *b, bool json) {
    static const char *const best[] = {"as a family", "uncorrected", "empirical"};
    const kr_calib *c = kr_analysis_calib(x->a);
    bool first = true;
    for (kr_sim_rule rule = KR_SIM_CERTIFIED; rule <= KR_SIM_EMPIRICAL; rule++) {
        if (!json)
            kr_buf_printf(b, " %s\n", rule == KR_SIM_CERTIFIED ? "certified, each method alone"
                                                               : "empirical thresholding, each method alone");
        for (size_t m = 0; m < kr_calib_methods(c); m++) {
            if (x->only != KR_ALL_METHODS && x->only != m)
                continue;
            if (json)
                put_json_rule(x, b, rule, m, first);
            else
                put_text_rule(x, b, kr_calib_method(c, m)->name, rule, m);
            first = false;
        }
    }
    if (x->only != KR_ALL_METHODS)
        return;
    if (!json)
        kr_buf_puts(b, " the lowest retention over all methods\n");
    for (kr_sim_rule rule = KR_SIM_FAMILY; rule < KR_SIM_RULES; rule++)
        if (json)
            put_json_rule(x, b, rule, 0, false);
        else
            put_text_rule(x, b, best[rule - KR_SIM_FAMILY], rule, 0);
}

static void put_json_head(const report *x, kr_buf *b) {
    kr_contract k = kr_analysis_contract(x->a);
    kr_buf_printf(b, "{\"version\":1,\"draws\":%lld,\"complete\":%s,\"n\":%lld,\"tasks\":%zu,\"seed\":%llu,"
                     "\"assume_independent\":%s,\"contract\":{\"tolerance\":",
                  (long long)x->t->draws, x->t->draws == x->o.draws ? "true" : "false", (long long)x->o.n,
                  x->tasks, (unsigned long long)x->o.seed,
                  kr_analysis_options_of(x->a).assume_independent ? "true" : "false");
    kr_json_put_dec(b, k.tolerance);
    kr_buf_puts(b, ",\"risk\":");
    kr_json_put_dec(b, k.risk);
    kr_buf_puts(b, ",\"confidence\":");
    kr_json_put_dec(b, k.confidence);
    kr_buf_puts(b, "},\"rules\":[");
}

static void put_text_head(const report *x, kr_buf *b) {
    kr_contract k = kr_analysis_contract(x->a);
    char tol[KR_DEC_TEXT], r[KR_DEC_TEXT], conf[KR_DEC_TEXT];
    kr_buf_printf(b, "%lld draws of %lld requests", (long long)x->t->draws, (long long)x->o.n);
    if (x->tasks > 1)
        kr_buf_printf(b, ", %lld of each of %zu tasks", (long long)x->o.n / (long long)x->tasks, x->tasks);
    kr_buf_printf(b, ", seed %llu; tolerance %s, risk target %s %%, confidence %s %%\n",
                  (unsigned long long)x->o.seed, kr_dec_fixed(k.tolerance, 2, tol),
                  kr_dec_percent(k.risk, 0, r), kr_dec_percent(k.confidence, 0, conf));
    if (kr_analysis_dependent(x->a))
        kr_buf_puts(b, "requests that depend on each other are drawn one by one, as if independent\n");
    kr_buf_printf(b, "\n  %-18s %-22s 0%*g%% %-23s %s\n", "", "breaks, % of draws", 24, 100 * x->top,
                  "  keeps, % [10 .. 90 %]", "full KV");
}

static void print(const report *x, bool json) {
    kr_buf b = {0};
    (json ? put_json_head : put_text_head)(x, &b);
    each_rule(x, &b, json);
    kr_buf_puts(&b, json ? "]}\n"
                         : "\n  breaks: draws whose choice has a population risk above the target, with a 95 % "
                           "interval; the\n  mark in the bars is the allowed error. keeps: mean retention, and "
                           "what a tenth and nine tenths of\n  the draws keep at most. The loaded requests are "
                           "the population: this judges the rules, not the policies.\n");
    fwrite(kr_buf_text(&b), 1, b.len, stdout);
    kr_buf_free(&b);
}

/* Round end of the bars that shows every rule. */
static double top_of(const report *x) {
    static const double ends[] = {0.1, 0.2, 0.4, 0.6, 1};
    double most = 0;
    for (kr_sim_rule rule = 0; rule < KR_SIM_RULES; rule++)
        for (size_t m = 0; m < (rule <= KR_SIM_EMPIRICAL ? kr_calib_methods(kr_analysis_calib(x->a)) : 1); m++)
            most = fmax(most, kr_sim_row_of(x->sim, x->t, rule, m).upper);
    size_t i = 0;
    while (ends[i] < most && ends[i] < 1)
        i++;
    return ends[i];
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
            fprintf(stderr, "\r%lld of %lld draws, %.0f %% (Ctrl-C ends it) ", (long long)t->draws,
                    (long long)draws, 100 * (double)t->draws / (double)draws);
    }
    if (seen)
        fprintf(stderr, "\r%*s\r", 70, "");
    return t;
}

static int say_end(kr_status st, int64_t draws, int64_t asked) {
    if (st == KR_ECANCELED && draws > 0)
        return kr_cli_say("simulate", KR_EXIT_ERROR, "interrupted: the figures are of %lld of the %lld draws",
                          (long long)draws, (long long)asked);
    return say(KR_EXIT_ERROR, st == KR_ECANCELED ? "interrupted before the first draw" : "out of memory");
}

static int run(const kr_cli_args *args, kr_simrun_options o, const kr_analysis *a) {
    kr_simrun *r;
    kr_error e;
    report x = {.a = a, .blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0};
    if (!kr_cli_method(args, kr_analysis_calib(a), &x.only))
        return KR_EXIT_USAGE;
    struct sigaction act = {.sa_handler = on_interrupt}, old;
    sigaction(SIGINT, &act, &old);
    kr_status st = kr_simrun_start(a, o, &r, &e);
    if (st != KR_OK)
        return say(st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR, e.msg);
    x.t = wait_for(r, o.draws);
    sigaction(SIGINT, &old, NULL);
    st = kr_simrun_status(r);
    x.sim = kr_simrun_sim(r);
    x.o = kr_simrun_options_of(r);
    x.tasks = kr_simrun_tasks(r);
    x.top = top_of(&x);
    if (st == KR_OK || (st == KR_ECANCELED && x.t->draws > 0))
        print(&x, args->json);
    int status = st == KR_OK ? KR_EXIT_OK : say_end(st, x.t->draws, x.o.draws);
    kr_simrun_free(r);
    return status;
}

static bool whole(const char *text, int64_t min, int64_t max, int64_t *out) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || v < min || v > max)
        return false;
    *out = v;
    return true;
}

static int not_whole(const char *option, const char *text, int64_t min, int64_t max) {
    return kr_cli_say("simulate", KR_EXIT_USAGE, "--%s is '%s', expected a whole number from %lld to %lld",
                      option, text, (long long)min, (long long)max);
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
    const struct {
        const char *name;
        int64_t min, max, *to;
    } numbers[] = {{"draws", 1, 1000000000, &draws}, {"n", 1, KR_SIM_N_MAX, &n}, {"seed", 0, INT64_MAX, &seed},
                   {"threads", 1, 64, &threads}};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == OPT_HELP) {
            fputs(help, stdout);
            return KR_EXIT_OK;
        }
        if (o >= OPT_DRAWS && o <= OPT_THREADS) {
            int i = o - OPT_DRAWS;
            if (!whole(optarg, numbers[i].min, numbers[i].max, numbers[i].to))
                return not_whole(numbers[i].name, optarg, numbers[i].min, numbers[i].max);
        } else if (!kr_cli_contract_option(&args, o, optarg) || args.usage_error) {
            return KR_EXIT_USAGE;
        }
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
