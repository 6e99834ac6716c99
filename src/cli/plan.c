#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "risk/binomial.h"
#include "verdict/planning.h"

static const char help[] =
    "usage: kvrisk plan [FILE] [--risk R] [--confidence C] [--power P] [--tasks H] [--methods M] [--json]\n"
    "\n"
    "How many requests a certificate needs, by the true risk of the policy; with FILE also the power of\n"
    "its number of requests, and how many more would let each method's next candidate pass if its\n"
    "observed rate stayed.\n"
    "\n" KR_CONTRACT_HELP
    "  --power P             probability of being certified (default 0.8)\n"
    "  --tasks H             requests in multiples of H (default: FILE's tasks, else 1)\n"
    "  --methods M           one error budget for the choice among M methods (as --family for FILE)\n"
    "\n"
    "exit status: 0 done, 1 error, 2 usage\n";

enum { OPT_POWER = OPT_OWN, OPT_TASKS, OPT_METHODS };

typedef struct {
    kr_cli_args args;
    const char *power, *tasks, *methods;
    kr_contract k;
    kr_level level;
    int64_t n, step;
    double p;
} plan;

static int say(int status, const char *text) { return kr_cli_say("plan", status, "%s", text); }

static bool whole(const char *text, int64_t max, int64_t *out) {
    char *end;
    long long v = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || v < 1 || v > max)
        return false;
    *out = v;
    return true;
}

static int read_numbers(plan *x) {
    kr_error e;
    kr_dec p = kr_dec_make(8, 1);
    int64_t methods = 1;
    if (x->args.risk != NULL && kr_dec_parse_percent(x->args.risk, &x->k.risk, &e) != KR_OK)
        return say(KR_EXIT_USAGE, e.msg);
    if (x->args.confidence != NULL &&
        kr_dec_parse_percent(x->args.confidence, &x->k.confidence, &e) != KR_OK)
        return say(KR_EXIT_USAGE, e.msg);
    if (kr_contract_check(&x->k, &e) != KR_OK)
        return say(KR_EXIT_USAGE, e.msg);
    if (x->power != NULL && kr_dec_parse_percent(x->power, &p, &e) != KR_OK)
        return say(KR_EXIT_USAGE, e.msg);
    x->p = kr_dec_double(p);
    if (!(x->p > 0 && x->p < 1))
        return say(KR_EXIT_USAGE, "--power must be above 0 and below 1");
    if (x->tasks != NULL && !whole(x->tasks, 4096, &x->step))
        return say(KR_EXIT_USAGE, "--tasks must be a whole number from 1 to 4096");
    if (x->methods != NULL && !whole(x->methods, 4096, &methods))
        return say(KR_EXIT_USAGE, "--methods must be a whole number from 1 to 4096");
    if (x->methods != NULL || x->level.den < 1)
        x->level = kr_contract_level(&x->k, methods);
    return KR_EXIT_OK;
}

static void put_number(int64_t v, int64_t beyond) {
    if (v >= 0)
        printf(" %9lld", (long long)v);
    else
        printf("  >%7lld", (long long)beyond);
}

static void print_least(const plan *x) {
    char r[KR_DEC_TEXT];
    int64_t least = kr_n_min(x->k.risk, x->level);
    printf("risk target %s %%, error level %.4g: ", kr_dec_percent(x->k.risk, 0, r),
           kr_level_double(x->level));
    if (least < 0)
        printf("needs more than %lld requests, the largest number planned for\n\n",
               (long long)KR_BINOM_N_MAX);
    else
        printf("at least %lld requests, with no event at all\n\n",
               (long long)((least + x->step - 1) / x->step * x->step));
}

/* Decimals that show two digits of the smallest percentage; at least three. */
static int decimals_of(double percent) {
    int d = 3;
    for (double x = percent * 1000; x < 9.5 && d < 24; x *= 10)
        d++;
    return d;
}

static void print_text(const plan *x, const kr_planning_row *rows, kr_analysis *a) {
    int decimals = decimals_of(100 * rows[0].risk);
    print_least(x);
    printf("%*s   first n  stable n   (certified with probability %.4g)%s\n", decimals + 8,
           "true risk", x->p, x->n > 0 ? "   power now" : "");
    for (size_t i = 0; i < KR_PLANNING_ROWS; i++) {
        printf("  %*.*f %%", decimals + 4, decimals, 100 * rows[i].risk);
        put_number(rows[i].needed.first, rows[i].needed.searched);
        put_number(rows[i].needed.stable, rows[i].needed.searched);
        if (isfinite(rows[i].power_now))
            printf("%*s%.3f", 42, "", rows[i].power_now);
        putchar('\n');
    }
    printf("\n  first: smallest number that reaches the power; stable: from there on every number does.\n"
           "  Equal task risks assumed; unequal ones can only raise the power.\n");
    for (size_t m = 0; a != NULL && m < kr_calib_methods(kr_analysis_calib(a)); m++) {
        kr_planning_next next = kr_planning_next_of(a, m, 10000000);
        kr_buf level = {0};
        if (m == 0)
            printf("\n  next candidate, if its observed rate stays\n");
        kr_level_text(kr_analysis_calib(a), m, next.candidate, &level);
        printf("  %-20.40s ", kr_calib_method(kr_analysis_calib(a), m)->name);
        if (next.candidate < 0)
            printf("none is waiting\n");
        else if (next.more < 0)
            printf("%6s  %lld of %lld: no number of requests would do\n", kr_buf_text(&level),
                   (long long)next.events, (long long)x->n);
        else
            printf("%6s  %lld of %lld: %lld more requests\n", kr_buf_text(&level), (long long)next.events,
                   (long long)x->n, (long long)next.more);
        kr_buf_free(&level);
    }
}

static void print_json(const plan *x, const kr_planning_row *rows, kr_analysis *a) {
    kr_buf b = {0};
    kr_buf_puts(&b, "{\"version\":1,\"risk\":");
    kr_json_put_dec(&b, x->k.risk);
    kr_buf_puts(&b, ",\"level\":");
    kr_json_put_double(&b, kr_level_double(x->level));
    kr_buf_printf(&b, ",\"n\":%lld,\"step\":%lld,\"minimum\":%lld,\"power\":", (long long)x->n,
                  (long long)x->step, (long long)kr_n_min(x->k.risk, x->level));
    kr_json_put_double(&b, x->p);
    kr_buf_puts(&b, ",\"needed\":[");
    for (size_t i = 0; i < KR_PLANNING_ROWS; i++) {
        kr_buf_puts(&b, i > 0 ? ",{\"risk\":" : "{\"risk\":");
        kr_json_put_double(&b, rows[i].risk);
        kr_buf_printf(&b, ",\"first\":%lld,\"stable\":%lld,\"power_now\":",
                      (long long)rows[i].needed.first, (long long)rows[i].needed.stable);
        kr_json_put_double(&b, rows[i].power_now);
        kr_buf_puts(&b, "}");
    }
    kr_buf_puts(&b, "],\"next\":[");
    for (size_t m = 0; a != NULL && m < kr_calib_methods(kr_analysis_calib(a)); m++) {
        kr_planning_next next = kr_planning_next_of(a, m, 10000000);
        kr_buf_puts(&b, m > 0 ? ",{\"method\":" : "{\"method\":");
        kr_json_put_string(&b, kr_calib_method(kr_analysis_calib(a), m)->name);
        kr_buf_printf(&b, ",\"candidate\":%d,\"events\":%lld,\"more\":%lld}", next.candidate,
                      (long long)next.events, (long long)next.more);
    }
    kr_buf_puts(&b, "]}\n");
    fwrite(kr_buf_text(&b), 1, b.len, stdout);
    kr_buf_free(&b);
}

static int with_file(plan *x, const char *path, kr_calib **c, kr_analysis **a) {
    if (path == NULL)
        return KR_EXIT_OK;
    int status = kr_cli_open(&x->args, path, c, a);
    if (status != KR_EXIT_OK)
        return status;
    x->k = kr_analysis_contract(*a);
    x->level = kr_analysis_level(*a);
    x->n = kr_analysis_n(*a);
    if (kr_calib_tasks(*c) > 0 && kr_calib_task_uniform(*c, x->args.options.split))
        x->step = (int64_t)kr_calib_tasks(*c);
    return KR_EXIT_OK;
}

static int run(plan *x, const char *path) {
    kr_calib *c = NULL;
    kr_analysis *a = NULL;
    kr_planning_row rows[KR_PLANNING_ROWS];
    kr_error e;
    int status = with_file(x, path, &c, &a);
    if (status == KR_EXIT_OK)
        status = read_numbers(x);
    if (status == KR_EXIT_OK &&
        kr_planning_table(x->k.risk, x->level, x->n, x->step, x->p, rows, &e) != KR_OK)
        status = say(KR_EXIT_USAGE, e.msg);
    if (status == KR_EXIT_OK)
        (x->args.json ? print_json : print_text)(x, rows, a);
    kr_analysis_free(a);
    kr_calib_free(c);
    return status;
}

int kr_cli_plan(int argc, char **argv) {
    static const struct option options[] = {KR_CONTRACT_OPTIONS,
                                            {"power", required_argument, NULL, OPT_POWER},
                                            {"tasks", required_argument, NULL, OPT_TASKS},
                                            {"methods", required_argument, NULL, OPT_METHODS},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {NULL, 0, NULL, 0}};
    plan x = {.args = {.name = "plan"}, .step = 1,
              .k = {kr_dec_make(10, 2), kr_dec_make(5, 2), kr_dec_make(95, 2)}};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case OPT_HELP: fputs(help, stdout); return KR_EXIT_OK;
        case OPT_POWER: x.power = optarg; break;
        case OPT_TASKS: x.tasks = optarg; break;
        case OPT_METHODS: x.methods = optarg; break;
        default:
            if (!kr_cli_contract_option(&x.args, o, optarg) || x.args.usage_error)
                return KR_EXIT_USAGE;
        }
    }
    if (argc - optind > 1)
        return say(KR_EXIT_USAGE, "expected at most one FILE (see kvrisk plan --help)");
    return kr_cli_done("plan", run(&x, argc > optind ? argv[optind] : NULL));
}
