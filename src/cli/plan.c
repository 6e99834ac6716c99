#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "export/certificate.h"
#include "risk/binomial.h"
#include "verdict/planning.h"
#include "verdict/simrun.h"

static const char help[] =
    "usage: kvrisk plan [FILE] [options]\n"
    "\n"
    "How many requests a certificate needs, by the true risk of the policy; with FILE also the power of\n"
    "its number of requests, and how many more would let each method's next candidate pass if its\n"
    "observed rate stayed.\n"
    "\n" KR_CONTRACT_HELP
    "  --power P             probability of being certified (default 0.8)\n"
    "  --tasks H             requests in multiples of H (default: FILE's tasks where they are equally\n"
    "                        large, else 1)\n"
    "  --methods M           one error budget for the choice among M methods: level (1 - C)/M\n"
    "  --level L             another error level, such as 0.05/12 for a joint table of 12 claims\n"
    "  --choose WHAT         FILE's level for what is picked after looking: nothing, method, tolerance,\n"
    "                        risk or map (see certify --mode)\n"
    "  --method M            this method alone\n"
    "  --walks DRAWS         also what retention whole calibrations of half, once, twice and four times\n"
    "                        FILE's number of requests reach: each walk simulated DRAWS times with\n"
    "                        FILE's requests as the population\n"
    "  --json                one JSON object\n"
    "\n"
    "exit status: 0 done, 1 error, 2 usage\n";

enum { OPT_POWER = OPT_OWN, OPT_TASKS, OPT_METHODS, OPT_LEVEL, OPT_CHOOSE, OPT_WALKS };
enum { SIZES = 4 };

typedef struct {
    kr_cli_args args;
    const char *power, *tasks, *methods, *level_text, *choose, *walks;
    kr_contract k;
    kr_level level;
    int64_t n, step, draws;
    double p;
    size_t only; /* method, or KR_ALL_METHODS */
    kr_analysis *a; /* NULL without FILE */
    bool own_level; /* the lines' own levels do not count */
    kr_planning_row rows[KR_PLANNING_ROWS];
    kr_simrun *walk[SIZES]; /* NULL: not asked for */
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

static bool asked(const plan *x, size_t method) { return x->only == KR_ALL_METHODS || x->only == method; }

/* --- options ---------------------------------------------------------------------------------- */

/* "0.05" or "0.05/12". */
static int read_level(plan *x) {
    char text[64];
    size_t len = strcspn(x->level_text, "/");
    int64_t share = 1;
    kr_dec d;
    kr_error e;
    if (len >= sizeof text || (x->level_text[len] == '/' && !whole(x->level_text + len + 1, 1000000000, &share)))
        return say(KR_EXIT_USAGE, "--level is a share such as 0.05, or a part of one such as 0.05/12");
    memcpy(text, x->level_text, len);
    text[len] = '\0';
    if (kr_dec_parse_percent(text, &d, &e) != KR_OK)
        return say(KR_EXIT_USAGE, e.msg);
    x->level = kr_level_make(d, share);
    if (!(kr_level_double(x->level) > 0 && kr_dec_cmp(d, kr_dec_make(5, 1)) <= 0))
        return say(KR_EXIT_USAGE, "--level must be above 0 and at most 0.5");
    return KR_EXIT_OK;
}

static kr_level choice_level(const plan *x, size_t method) {
    kr_planning_choice c[KR_PLANNING_CHOICES];
    size_t i = 0;
    kr_planning_choices(x->a, method, c);
    while (i < KR_PLANNING_CHOICES && strcmp(c[i].name, x->choose) != 0)
        i++;
    return i < KR_PLANNING_CHOICES ? c[i].level : kr_level_make(kr_dec_make(0, 0), 0);
}

/* The level of the method asked for, else the strictest of all. */
static int read_choice(plan *x) {
    if (x->a == NULL)
        return say(KR_EXIT_USAGE, "--choose needs a FILE, whose candidates decide on the level; --level gives one");
    for (size_t m = 0; m < kr_calib_methods(kr_analysis_calib(x->a)); m++) {
        kr_level l = choice_level(x, m);
        if (l.den < 1)
            return say(KR_EXIT_USAGE, "--choose is one of nothing, method, tolerance, risk, map");
        if (asked(x, m) && (x->level.den < 1 || kr_level_double(l) < kr_level_double(x->level)))
            x->level = l;
    }
    return KR_EXIT_OK;
}

static int find_level(plan *x) {
    int64_t methods = 1, given = (x->methods != NULL) + (x->level_text != NULL) + (x->choose != NULL);
    if (given > 1 || (given == 1 && x->args.options.family))
        return say(KR_EXIT_USAGE, "--methods, --level, --choose and --family exclude each other");
    if (x->methods != NULL && !whole(x->methods, 4096, &methods))
        return say(KR_EXIT_USAGE, "--methods must be a whole number from 1 to 4096");
    x->own_level = given > 0;
    if (x->level_text != NULL)
        return read_level(x);
    if (x->choose != NULL)
        return read_choice(x);
    x->level = x->methods == NULL && x->a != NULL ? kr_analysis_level(x->a) : kr_contract_level(&x->k, methods);
    return KR_EXIT_OK;
}

static int read_numbers(plan *x) {
    kr_error e;
    kr_dec p = kr_dec_make(8, 1);
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
    if (x->walks != NULL && !whole(x->walks, 1000000, &x->draws))
        return say(KR_EXIT_USAGE, "--walks is a number of draws, from 1 to 1000000");
    if (x->walks != NULL && x->a == NULL)
        return say(KR_EXIT_USAGE, "--walks needs a FILE to draw from");
    return find_level(x);
}

/* --- text ------------------------------------------------------------------------------------- */

static bool blocks(void) { return strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

/* 20 columns for one. */
static void put_bar(double share) {
    for (int i = 0; i < (int)lround(20 * share); i++)
        fputs(blocks() ? "\xe2\x96\x88" : "#", stdout);
}

static void put_number(int64_t v) {
    if (v >= 0)
        printf(" %11lld", (long long)v);
    else
        printf(" >%lld", (long long)KR_BINOM_N_MAX);
}

static void put_level(kr_level l) {
    char num[KR_DEC_TEXT];
    if (l.den == 1)
        printf("%s", kr_dec_text(l.num, num));
    else
        printf("%s/%lld", kr_dec_text(l.num, num), (long long)l.den);
}

static void print_least(const plan *x) {
    char r[KR_DEC_TEXT];
    int64_t least = kr_planning_least(x->k.risk, x->level, x->step);
    printf("risk target %s %%, error level ", kr_dec_percent(x->k.risk, 0, r));
    put_level(x->level);
    if (least < 0)
        printf(": needs more than %lld requests, the largest number planned for\n", (long long)KR_BINOM_N_MAX);
    else
        printf(": at least %lld requests, with no event at all\n", (long long)least);
    if (x->a != NULL)
        printf("the file has %lld; more come in multiples of %lld\n", (long long)x->n, (long long)x->step);
    putchar('\n');
}

/* Decimals that show two digits of the smallest percentage; at least three. */
static int decimals_of(double percent) {
    int d = 3;
    for (double x = percent * 1000; x < 9.5 && d < 24; x *= 10)
        d++;
    return d;
}

static void print_table(const plan *x) {
    int decimals = decimals_of(100 * x->rows[0].risk);
    bool beyond = false;
    printf("%*s     first n    stable n   (certified with probability %.4g)%s\n", decimals + 8, "true risk",
           x->p, x->n > 0 ? "  power of what is there" : "");
    for (size_t i = 0; i < KR_PLANNING_ROWS; i++) {
        const kr_planning_row *r = &x->rows[i];
        printf("  %*.*f %%", decimals + 4, decimals, 100 * r->risk);
        put_number(r->needed.first);
        put_number(r->needed.stable);
        beyond |= r->needed.stable < 0;
        if (isfinite(r->power_now)) {
            printf("%38s%.3f ", "", r->power_now);
            put_bar(r->power_now);
        }
        putchar('\n');
    }
    printf("\n  first: smallest number that reaches the power; stable: from there on every number does.\n"
           "  Equal task risks assumed; unequal ones can only raise the power.\n");
    if (beyond)
        printf("  >%lld: more requests than that, the largest number planned for.\n", (long long)KR_BINOM_N_MAX);
}

static void print_choices(const plan *x) {
    kr_planning_choice c[KR_PLANNING_CHOICES];
    size_t method = x->only == KR_ALL_METHODS ? 0 : x->only;
    char name[80];
    kr_planning_choices(x->a, method, c);
    snprintf(name, sizeof name, "%s", kr_calib_method(kr_analysis_calib(x->a), method)->name);
    printf("\n  what may be picked after looking      level  stable n at a true risk of %.4g %%, %.4g %%, %.4g %% "
           "(sequence of %s)\n", 100 * x->rows[1].risk, 100 * x->rows[3].risk, 100 * x->rows[5].risk, name);
    for (size_t i = 0; i < KR_PLANNING_CHOICES; i++) {
        printf("  %-33s %9.3g ", c[i].text, kr_level_double(c[i].level));
        for (size_t r = 1; r <= 5; r += 2) {
            kr_plan_size s = {.stable = -1};
            kr_plan_needed(x->rows[r].risk, x->p, x->k.risk, c[i].level, x->step, KR_BINOM_N_MAX, &s, NULL);
            put_number(s.stable);
        }
        putchar('\n');
    }
}

static void put_next(const plan *x, size_t m, const kr_planning_next *next) {
    const kr_calib *c = kr_analysis_calib(x->a);
    kr_buf level = {0};
    kr_level_text(c, m, next->candidate, &level);
    if (kr_buf_text(&level)[0] >= '0' && kr_buf_text(&level)[0] <= '9')
        kr_buf_puts(&level, " %");
    printf("  %-20.40s ", kr_calib_method(c, m)->name);
    if (kr_analysis_line(x->a, m)->status == KR_ST_REFUSED)
        printf("refused: requests depend on each other\n");
    else if (next->candidate < 0)
        printf("none is waiting\n");
    else if (next->more == KR_PLAN_NEVER)
        printf("%10s  %lld of %lld: not below the target, no number of requests would do\n",
               kr_buf_text(&level), (long long)next->events, (long long)x->n);
    else if (next->more == KR_PLAN_BEYOND)
        printf("%10s  %lld of %lld: more than %lld requests\n", kr_buf_text(&level), (long long)next->events,
               (long long)x->n, (long long)KR_BINOM_N_MAX);
    else
        printf("%10s  %lld of %lld: %lld more requests\n", kr_buf_text(&level), (long long)next->events,
               (long long)x->n, (long long)next->more);
    kr_buf_free(&level);
}

static kr_planning_next next_of(const plan *x, size_t m) {
    kr_planning_next next = {-1, -1, 0};
    kr_level l = x->choose != NULL ? choice_level(x, m) : x->level;
    kr_planning_next_at(x->a, m, x->own_level ? &l : NULL, &next, NULL);
    return next;
}

static void print_walks(const plan *x) {
    const kr_calib *c = kr_analysis_calib(x->a);
    bool ended;
    printf("\n  whole walks, %lld draws each from the file's requests: mean share kept, %% (full KV, %% of draws)\n"
           "  %-20s", (long long)x->draws, "");
    for (size_t i = 0; i < SIZES; i++)
        printf("  %14lld", (long long)kr_simrun_options_of(x->walk[i]).n);
    printf(" requests\n");
    for (size_t m = 0; m < kr_calib_methods(c); m++) {
        if (!asked(x, m))
            continue;
        printf("  %-20.40s", kr_calib_method(c, m)->name);
        for (size_t i = 0; i < SIZES; i++) {
            kr_sim_row r = kr_sim_row_of(kr_simrun_sim(x->walk[i]), kr_simrun_poll(x->walk[i], &ended),
                                         KR_SIM_CERTIFIED, m);
            printf("  %6.1f (%5.1f)", 100 * r.of.mean, 100 * r.fallback);
        }
        putchar('\n');
    }
}

static void print_text(const plan *x) {
    print_least(x);
    print_table(x);
    if (x->a == NULL)
        return;
    print_choices(x);
    printf("\n  next candidate, if its observed rate stays (a guess about the next sample, no claim)\n");
    for (size_t m = 0; m < kr_calib_methods(kr_analysis_calib(x->a)); m++) {
        kr_planning_next next = next_of(x, m);
        if (asked(x, m))
            put_next(x, m, &next);
    }
    if (x->walk[0] != NULL)
        print_walks(x);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_count(kr_buf *b, const char *key, int64_t v) {
    kr_buf_printf(b, ",\"%s\":", key);
    if (v >= 0)
        kr_buf_printf(b, "%lld", (long long)v);
    else
        kr_buf_puts(b, "null");
}

static void put_double(kr_buf *b, const char *key, double v) {
    kr_buf_printf(b, ",\"%s\":", key);
    kr_json_put_double(b, v);
}

static void put_json_choices(const plan *x, kr_buf *b) {
    kr_planning_choice c[KR_PLANNING_CHOICES];
    kr_buf_puts(b, "],\"choices\":[");
    if (x->a == NULL)
        return;
    kr_planning_choices(x->a, x->only == KR_ALL_METHODS ? 0 : x->only, c);
    for (size_t i = 0; i < KR_PLANNING_CHOICES; i++) {
        kr_buf_printf(b, "%s{\"choose\":\"%s\"", i > 0 ? "," : "", c[i].name);
        put_double(b, "level", kr_level_double(c[i].level));
        kr_buf_puts(b, ",\"needed\":[");
        for (size_t r = 0; r < KR_PLANNING_ROWS; r++) {
            kr_plan_size s = {.first = -1, .stable = -1};
            kr_plan_needed(x->rows[r].risk, x->p, x->k.risk, c[i].level, x->step, KR_BINOM_N_MAX, &s, NULL);
            kr_buf_puts(b, r > 0 ? ",{\"risk\":" : "{\"risk\":");
            kr_json_put_double(b, x->rows[r].risk);
            put_count(b, "first", s.first);
            put_count(b, "stable", s.stable);
            kr_buf_puts(b, "}");
        }
        kr_buf_puts(b, "]}");
    }
}

static void put_json_next(const plan *x, kr_buf *b) {
    bool some = false;
    kr_buf_puts(b, "],\"next\":[");
    for (size_t m = 0; x->a != NULL && m < kr_calib_methods(kr_analysis_calib(x->a)); m++) {
        kr_planning_next next = next_of(x, m);
        if (!asked(x, m))
            continue;
        kr_buf_puts(b, some ? ",{\"method\":" : "{\"method\":");
        kr_json_put_string(b, kr_calib_method(kr_analysis_calib(x->a), m)->name);
        put_count(b, "candidate", next.candidate);
        put_count(b, "events", next.events);
        put_count(b, "more", next.candidate < 0 ? -1 : next.more);
        bool refused = kr_analysis_line(x->a, m)->status == KR_ST_REFUSED;
        kr_buf_printf(b, ",\"outlook\":\"%s\"}", refused                       ? "refused"
                                                 : next.candidate < 0          ? "none_waiting"
                                                 : next.more == KR_PLAN_NEVER  ? "never"
                                                 : next.more == KR_PLAN_BEYOND ? "beyond"
                                                                               : "more");
        some = true;
    }
}

static void put_json_walks(const plan *x, kr_buf *b) {
    bool ended;
    kr_buf_puts(b, "],\"walks\":[");
    for (size_t i = 0; i < SIZES && x->walk[i] != NULL; i++) {
        const kr_sim_tally *t = kr_simrun_poll(x->walk[i], &ended);
        bool some = false;
        kr_buf_printf(b, "%s{\"n\":%lld,\"draws\":%lld,\"methods\":[", i > 0 ? "," : "",
                      (long long)kr_simrun_options_of(x->walk[i]).n, (long long)t->draws);
        for (size_t m = 0; m < kr_calib_methods(kr_analysis_calib(x->a)); m++) {
            kr_sim_row r = kr_sim_row_of(kr_simrun_sim(x->walk[i]), t, KR_SIM_CERTIFIED, m);
            if (!asked(x, m))
                continue;
            kr_buf_puts(b, some ? ",{\"method\":" : "{\"method\":");
            kr_json_put_string(b, kr_calib_method(kr_analysis_calib(x->a), m)->name);
            put_double(b, "retention", r.of.mean);
            put_double(b, "retention_lower", r.mean_lower);
            put_double(b, "retention_upper", r.mean_upper);
            put_double(b, "fallback", r.fallback);
            kr_buf_puts(b, "}");
            some = true;
        }
        kr_buf_puts(b, "]}");
    }
}

static void print_json(const plan *x) {
    kr_buf b = {0};
    kr_buf_puts(&b, "{\"version\":1,\"risk\":");
    kr_json_put_dec(&b, x->k.risk);
    put_double(&b, "level", kr_level_double(x->level));
    kr_buf_printf(&b, ",\"n\":%lld,\"step\":%lld", (long long)x->n, (long long)x->step);
    put_count(&b, "minimum", kr_planning_least(x->k.risk, x->level, x->step));
    put_count(&b, "searched", KR_BINOM_N_MAX / x->step * x->step);
    put_double(&b, "power", x->p);
    kr_buf_puts(&b, ",\"needed\":[");
    for (size_t i = 0; i < KR_PLANNING_ROWS; i++) {
        kr_buf_puts(&b, i > 0 ? ",{\"risk\":" : "{\"risk\":");
        kr_json_put_double(&b, x->rows[i].risk);
        put_count(&b, "first", x->rows[i].needed.first);
        put_count(&b, "stable", x->rows[i].needed.stable);
        put_double(&b, "power_now", x->rows[i].power_now);
        kr_buf_puts(&b, "}");
    }
    put_json_choices(x, &b);
    put_json_next(x, &b);
    put_json_walks(x, &b);
    kr_buf_puts(&b, "]}\n");
    fwrite(kr_buf_text(&b), 1, b.len, stdout);
    kr_buf_free(&b);
}

/* --- work ------------------------------------------------------------------------------------- */

static int with_file(plan *x, const char *path, kr_calib **c) {
    if (path == NULL)
        return KR_EXIT_OK;
    int status = kr_cli_open(&x->args, path, c, &x->a);
    if (status != KR_EXIT_OK)
        return status;
    x->k = kr_analysis_contract(x->a);
    x->n = kr_analysis_n(x->a);
    x->step = kr_planning_step(x->a);
    return kr_cli_method(&x->args, *c, &x->only) ? KR_EXIT_OK : KR_EXIT_USAGE;
}

/* Sizes are multiples of the file's tasks, whatever --tasks plans for. */
static int make_walks(plan *x) {
    const struct timespec tick = {0, 2 * 1000 * 1000};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t step = kr_planning_step(x->a);
    kr_error e;
    for (size_t i = 0; i < SIZES; i++) {
        int64_t n = (x->n << i) / 2 / step * step;
        kr_simrun_options o = {.draws = x->draws, .n = n > step ? n : step, .seed = 1, .level = x->level,
                               .threads = cores > 0 ? (int)cores : 1};
        kr_status st = kr_simrun_start(x->a, o, &x->walk[i], &e);
        if (st != KR_OK)
            return say(st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR, e.msg);
        for (bool ended = false; !ended; nanosleep(&tick, NULL))
            kr_simrun_poll(x->walk[i], &ended);
        if (kr_simrun_status(x->walk[i]) != KR_OK)
            return say(KR_EXIT_ERROR, "out of memory");
    }
    return KR_EXIT_OK;
}

static int run(plan *x, const char *path) {
    kr_calib *c = NULL;
    kr_error e;
    int status = with_file(x, path, &c);
    if (status == KR_EXIT_OK)
        status = read_numbers(x);
    if (status == KR_EXIT_OK &&
        kr_planning_table(x->k.risk, x->level, x->n, x->step, x->p, x->rows, &e) != KR_OK)
        status = say(KR_EXIT_USAGE, e.msg);
    if (status == KR_EXIT_OK && x->draws > 0)
        status = make_walks(x);
    if (status == KR_EXIT_OK)
        (x->args.json ? print_json : print_text)(x);
    for (size_t i = 0; i < SIZES; i++)
        kr_simrun_free(x->walk[i]);
    kr_analysis_free(x->a);
    kr_calib_free(c);
    return status;
}

int kr_cli_plan(int argc, char **argv) {
    static const struct option options[] = {KR_CONTRACT_OPTIONS,
                                            {"power", required_argument, NULL, OPT_POWER},
                                            {"tasks", required_argument, NULL, OPT_TASKS},
                                            {"methods", required_argument, NULL, OPT_METHODS},
                                            {"level", required_argument, NULL, OPT_LEVEL},
                                            {"choose", required_argument, NULL, OPT_CHOOSE},
                                            {"walks", required_argument, NULL, OPT_WALKS},
                                            {"method", required_argument, NULL, OPT_METHOD},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {NULL, 0, NULL, 0}};
    plan x = {.args = {.name = "plan"}, .step = 1, .only = KR_ALL_METHODS,
              .k = {kr_dec_make(10, 2), kr_dec_make(5, 2), kr_dec_make(95, 2)}};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case OPT_HELP: fputs(help, stdout); return KR_EXIT_OK;
        case OPT_POWER: x.power = optarg; break;
        case OPT_TASKS: x.tasks = optarg; break;
        case OPT_METHODS: x.methods = optarg; break;
        case OPT_LEVEL: x.level_text = optarg; break;
        case OPT_CHOOSE: x.choose = optarg; break;
        case OPT_WALKS: x.walks = optarg; break;
        default:
            if (!kr_cli_contract_option(&x.args, o, optarg) || x.args.usage_error)
                return KR_EXIT_USAGE;
        }
    }
    if (argc - optind > 1)
        return say(KR_EXIT_USAGE, "expected at most one FILE (see kvrisk plan --help)");
    return kr_cli_done("plan", run(&x, argc > optind ? argv[optind] : NULL));
}
