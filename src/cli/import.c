/* import.c - `kvrisk import`: evaluation outputs to a calibration file. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "calib/import.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "cli/declare.h"
#include "ledger/ledger.h"
#include "risk/contract.h"

enum { MAX_LIST = 256 };

typedef struct {
    kr_import_opts opts;
    const char *levels[MAX_LIST], *methods[MAX_LIST], *only[MAX_LIST], *skip[MAX_LIST];
    const char *out;
    char declared[KR_CLI_DATE], contract[256];
    bool explain, dry_run, force, quiet;
} request;

enum {
    OPT_DECLARE = OPT_OWN,
    OPT_LEVEL,
    OPT_SECOND,
    OPT_ONLY,
    OPT_SKIP,
    OPT_MISSING,
    OPT_OCCURRENCE,
    OPT_LENIENT,
    OPT_COL,
    OPT_RATIO,
    OPT_FULL,
    OPT_SCORER,
    OPT_CODE_SIM,
    OPT_DATASET,
    OPT_BITS,
    OPT_COERCE,
    OPT_ORDER,
    OPT_NAME,
    OPT_SCALE,
    OPT_EXPLAIN,
    OPT_DRY,
    OPT_FORCE
};

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"declare", required_argument, NULL, OPT_DECLARE},
    {"level", required_argument, NULL, OPT_LEVEL},
    {"second-full", required_argument, NULL, OPT_SECOND},
    {"only", required_argument, NULL, OPT_ONLY},
    {"skip", required_argument, NULL, OPT_SKIP},
    {"missing", required_argument, NULL, OPT_MISSING},
    {"by-occurrence", no_argument, NULL, OPT_OCCURRENCE},
    {"lenient", no_argument, NULL, OPT_LENIENT},
    {"col", required_argument, NULL, OPT_COL},
    {"ratio-means", required_argument, NULL, OPT_RATIO},
    {"full", required_argument, NULL, OPT_FULL},
    {"scorer", required_argument, NULL, OPT_SCORER},
    {"code-sim", required_argument, NULL, OPT_CODE_SIM},
    {"dataset", required_argument, NULL, OPT_DATASET},
    {"bits-of", required_argument, NULL, OPT_BITS},
    {"infinitebench-coerce", no_argument, NULL, OPT_COERCE},
    {"order", required_argument, NULL, OPT_ORDER},
    {"method", required_argument, NULL, OPT_NAME},
    {"scale", required_argument, NULL, OPT_SCALE},
    {"explain", no_argument, NULL, OPT_EXPLAIN},
    {"dry-run", no_argument, NULL, OPT_DRY},
    {"force", no_argument, NULL, OPT_FORCE},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static const char help_text[] =
    "usage: kvrisk import KIND PATH... -o FILE [options]\n"
    "\n"
    "Turns the outputs of an evaluation tool into a calibration file. KIND is `auto` or one of:\n";

static const char help_options[] =
    "\n"
    "options\n"
    "  -o, --output FILE       the calibration file to write\n"
    "      --explain           say how each file was understood\n"
    "      --dry-run           do everything but write the file\n"
    "      --force             replace FILE when it exists\n"
    "      --declare TOL,RISK,CONF[,METHOD]\n"
    "                          the contract, fixed before these results were looked at\n"
    "      --level METHOD[@TEXT]=R\n"
    "                          level of a method's runs (whose name holds TEXT): the share kept,\n"
    "                          threshold:X, budget:TOKENS or bits:N\n"
    "      --method TEXT=NAME  runs whose name holds TEXT are of method NAME\n"
    "      --second-full DIR   a second, independent full-KV run\n"
    "      --only PATTERN, --skip PATTERN\n"
    "                          choose runs by name (shell patterns, may be repeated)\n"
    "      --missing event|row|task\n"
    "                          requests without a row in some run count as degradation events\n"
    "                          (default), are left out, or take their whole task with them\n"
    "      --by-occurrence     join rows that cannot be told apart in their order of occurrence\n"
    "      --lenient           leave broken records out instead of stopping at the first\n"
    "      --scorer NAME       score all rows with this scorer (`kvrisk score --list`)\n"
    "      --code-sim levenshtein|difflib\n"
    "                          which fuzzywuzzy back end the code tasks of LongBench were scored "
    "with\n"
    "      --dataset NAME      longbench or longbench-e, where the folders do not tell\n"
    "      --full NAME         the full-KV run or method, where its name does not tell\n"
    "      --order A,B,...     runs of unknown level, from conservative to aggressive\n"
    "generic tables\n"
    "      --col ROLE=NAME,... columns (dots go into JSON objects). ROLE: id, task, question,\n"
    "                          prediction, answers, classes, score, tokens, method, level, full;\n"
    "                          scores (a nested map); or METHOD@LEVEL for a column per run\n"
    "      --ratio-means kept|removed|budget|bits|threshold\n"
    "                          what the level column says; --bits-of N (16) is the uncompressed "
    "width\n"
    "      --scale N           the best possible score, when it is not 1\n"
    "      --infinitebench-coerce\n"
    "                          compare numbers even where the references are text\n";

static int usage(FILE *to) {
    kr_import_kind kinds[32];
    kr_import_kinds(kinds, 32);
    fputs(help_text, to);
    for (size_t i = 0; kinds[i].name != NULL; i++)
        fprintf(to, "  %-15s %s\n", kinds[i].name, kinds[i].what);
    fputs(help_options, to);
    return to == stdout ? KR_EXIT_OK : KR_EXIT_USAGE;
}

/* false, after a message. */
static bool bad_value(const char *option, const char *value, const char *expected) {
    kr_cli_say("import", 0, "--%s %s: %s", option, value, expected);
    return false;
}

/* TOL,RISK,CONF[,METHOD] with today's date. */
static bool declare(request *r, const char *text) {
    kr_import_opts *o = &r->opts;
    kr_contract k;
    kr_error e;
    if (strlen(text) >= sizeof r->contract)
        return bad_value("declare", text, "it is too long");
    strcpy(r->contract, text);
    if (kr_cli_declare_read(r->contract, &k, &o->contract_method, &e) != KR_OK)
        return bad_value("declare", text, e.msg);
    o->tolerance = k.tolerance;
    o->risk = k.risk;
    o->confidence = k.confidence;
    o->has_contract = true;
    if (kr_cli_today(r->declared))
        o->contract_declared = r->declared;
    return true;
}

static bool missing_rule(request *r, const char *word) {
    static const char *const words[] = {
        [KR_LACK_EVENT] = "event", [KR_LACK_ROW] = "row", [KR_LACK_TASK] = "task"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            r->opts.lack = (kr_lack)i;
            return true;
        }
    return bad_value("missing", word, "event, row or task was expected");
}

static bool push(const char *option, const char **list, size_t *n, const char *value) {
    if (*n == MAX_LIST)
        return bad_value(option, value, "given more than 256 times");
    list[(*n)++] = value;
    return true;
}

static bool one_of(const char *option, const char *value, const char *const *words,
                   const char *expected) {
    for (size_t i = 0; words[i] != NULL; i++)
        if (strcmp(value, words[i]) == 0)
            return true;
    return bad_value(option, value, expected);
}

/* A number above 0 up to max. */
static bool number(const char *option, const char *value, double max, double *out) {
    char *end, expected[80];
    double x = strtod(value, &end);
    if (end != value && *end == '\0' && x > 0 && x <= max) {
        *out = x;
        return true;
    }
    snprintf(expected, sizeof expected, "a number above 0 and at most %.0f was expected", max);
    return bad_value(option, value, expected);
}

static const char *const meanings[] = {"kept", "removed", "budget", "bits", "threshold", NULL};
static const char *const similarities[] = {"levenshtein", "difflib", NULL};
static const char *const datasets[] = {"longbench", "longbench-e", NULL};

/* false: the value is bad, which was said. */
static bool take_option(request *r, int c, const char *v) {
    kr_import_opts *o = &r->opts;
    switch (c) {
    case 'o': r->out = v; return true;
    case OPT_DECLARE: return declare(r, v);
    case OPT_LEVEL: return push("level", r->levels, &o->n_levels, v);
    case OPT_ONLY: return push("only", r->only, &o->n_only, v);
    case OPT_SKIP: return push("skip", r->skip, &o->n_skip, v);
    case OPT_SECOND: o->second_full = v; return true;
    case OPT_MISSING: return missing_rule(r, v);
    case OPT_OCCURRENCE: o->by_occurrence = true; return true;
    case OPT_LENIENT: o->lenient = true; return true;
    case OPT_COL: o->columns = v; return true;
    case OPT_RATIO:
        o->ratio_means = v;
        return one_of("ratio-means", v, meanings,
                      "kept, removed, budget, bits or threshold was expected");
    case OPT_FULL: o->full = v; return true;
    case OPT_SCORER: o->scorer = v; return true;
    case OPT_CODE_SIM:
        o->code_sim = v;
        return one_of("code-sim", v, similarities, "levenshtein or difflib was expected");
    case OPT_DATASET:
        o->dataset = v;
        return one_of("dataset", v, datasets, "longbench or longbench-e was expected");
    case OPT_BITS: return number("bits-of", v, 64, &o->bits_of);
    case OPT_COERCE: o->coerce = true; return true;
    case OPT_ORDER: o->order = v; return true;
    case OPT_NAME: return push("method", r->methods, &o->n_methods, v);
    case OPT_SCALE: return number("scale", v, 1e6, &o->scale);
    case OPT_EXPLAIN: r->explain = true; return true;
    case OPT_DRY: r->dry_run = true; return true;
    case OPT_FORCE: r->force = true; return true;
    default: return false;
    }
}

/* One line on a terminal, rewritten for each run. */
static void show_progress(void *ctx, size_t done, size_t runs, const char *name) {
    (void)ctx;
    fprintf(stderr, "\r\033[Kreading %zu of %zu: %.60s", done + 1, runs, name);
}

/* Names come from files: nothing in them may reach the terminal as a control. */
static void print_safe(FILE *to, const char *text) {
    char line[4096];
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        for (size_t at = 0; at < n; at += 1000) {
            kr_text_safe(line, sizeof line - 1, text + at, n - at < 1000 ? n - at : 1000);
            fputs(line, to);
        }
        text += n;
        if (*text == '\n') {
            fputc('\n', to);
            text++;
        }
    }
}

static void print_notes(const kr_import *im, size_t *from) {
    for (; *from < kr_import_notes(im); ++*from) {
        const kr_note *n = kr_import_note(im, *from);
        fprintf(stderr, "kvrisk import: %s", n->level == KR_NOTE_WARNING ? "warning: " : "");
        print_safe(stderr, n->text);
        fputc('\n', stderr);
    }
}

static kr_status run(const request *r, kr_import **im, kr_calib **calib, size_t *notes,
                     kr_error *err) {
    kr_buf text = {0};
    struct stat sb;
    if (!r->dry_run && !r->force && stat(r->out, &sb) == 0)
        return kr_fail(err, KR_EIO, "%s exists; --force replaces it", r->out);
    for (size_t i = 0; !r->dry_run && i < r->opts.n_paths; i++)
        if (kr_ledger_spares(r->opts.paths[i], r->out, err) != KR_OK)
            return KR_EIO;
    kr_status st = kr_import_open(&r->opts, im, err);
    if (r->explain && *im != NULL) {
        kr_import_explain(*im, &text);
        print_safe(stdout, kr_buf_text(&text));
    }
    kr_buf_free(&text);
    if (*im != NULL)
        print_notes(*im, notes);
    if (st == KR_OK)
        st = kr_import_read(*im, err);
    if (r->opts.progress != NULL)
        fputs("\r\033[K", stderr);
    if (*im != NULL)
        print_notes(*im, notes);
    if (st == KR_OK)
        st = kr_import_build(*im, calib, err);
    if (*im != NULL)
        print_notes(*im, notes);
    if (st == KR_OK && !r->dry_run)
        st = kr_calib_save(*calib, r->out, r->force, err);
    return st;
}

static int import(const request *r) {
    kr_import *im = NULL;
    kr_calib *calib = NULL;
    kr_error err = {KR_OK, ""};
    size_t notes = 0;
    kr_buf text = {0};
    kr_status st = run(r, &im, &calib, &notes, &err);
    if (st == KR_OK) {
        kr_import_summary(im, &text);
        print_safe(stdout, kr_buf_text(&text));
        printf("%s%s\n", r->dry_run ? "nothing written" : "written: ", r->dry_run ? "" : r->out);
    } else {
        fputs("kvrisk import: ", stderr);
        print_safe(stderr, err.msg);
        fputs("\nkvrisk import: nothing was written\n", stderr);
    }
    kr_buf_free(&text);
    kr_calib_free(calib);
    kr_import_free(im);
    return st == KR_OK ? KR_EXIT_OK : st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR;
}

int kr_cli_import(int argc, char **argv) {
    request r = {.out = NULL};
    int c, at = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, "o:", options, &at)) != -1) {
        if (c == OPT_HELP)
            return usage(stdout);
        if (c == '?')
            return usage(stderr);
        if (!take_option(&r, c, optarg))
            return KR_EXIT_USAGE;
    }
    if (argc - optind < 2)
        return usage(stderr);
    if (r.out == NULL && !r.dry_run)
        return kr_cli_say("import", KR_EXIT_USAGE, "-o FILE is needed (or --dry-run)");
    r.opts.kind = argv[optind];
    r.opts.paths = (const char *const *)(argv + optind + 1);
    r.opts.n_paths = (size_t)(argc - optind - 1);
    r.opts.levels = r.levels;
    r.opts.methods = r.methods;
    r.opts.only = r.only;
    r.opts.skip = r.skip;
    if (isatty(STDERR_FILENO))
        r.opts.progress = show_progress;
    return import(&r);
}
