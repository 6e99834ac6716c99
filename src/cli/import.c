/* import.c - `kvrisk import`: evaluation outputs to a calibration file. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "calib/import.h"
#include "cli/cli.h"

enum { MAX_LIST = 256 };

typedef struct {
    kr_import_opts opts;
    const char *levels[MAX_LIST], *methods[MAX_LIST], *only[MAX_LIST], *skip[MAX_LIST];
    const char *out;
    char declared[32], contract[256];
    bool explain, dry_run, force, quiet;
} request;

enum {
    OPT_DECLARE = 256,
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
    OPT_METHOD,
    OPT_SCALE,
    OPT_EXPLAIN,
    OPT_DRY,
    OPT_FORCE,
    OPT_HELP
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
    {"method", required_argument, NULL, OPT_METHOD},
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

static int complain(const char *what, const char *value) {
    fprintf(stderr, "kvrisk import: %s%s%s\n", what, value != NULL ? ": " : "",
            value != NULL ? value : "");
    return KR_EXIT_USAGE;
}

/* TOL,RISK,CONF[,METHOD] with today's date. */
static bool declare(request *r, const char *text) {
    char *part[4] = {NULL, NULL, NULL, NULL}, *rest = NULL;
    size_t n = 0;
    kr_dec zero = kr_dec_make(0, 0), one = kr_dec_make(1, 0);
    time_t now = time(NULL);
    struct tm utc;
    if (strlen(text) >= sizeof r->contract)
        return false;
    strcpy(r->contract, text);
    for (char *p = strtok_r(r->contract, ",", &rest); p != NULL && n < 4;
         p = strtok_r(NULL, ",", &rest))
        part[n++] = p;
    kr_import_opts *o = &r->opts;
    if (n < 3 || kr_dec_parse_percent(part[0], &o->tolerance, NULL) != KR_OK ||
        kr_dec_parse_percent(part[1], &o->risk, NULL) != KR_OK ||
        kr_dec_parse_percent(part[2], &o->confidence, NULL) != KR_OK)
        return false;
    if (kr_dec_cmp(o->tolerance, zero) < 0 || kr_dec_cmp(o->risk, zero) <= 0 ||
        kr_dec_cmp(o->risk, one) >= 0 || kr_dec_cmp(o->confidence, zero) <= 0 ||
        kr_dec_cmp(o->confidence, one) >= 0)
        return false;
    o->has_contract = true;
    o->contract_method = part[3];
    if (gmtime_r(&now, &utc) != NULL &&
        strftime(r->declared, sizeof r->declared, "%Y-%m-%d", &utc) > 0)
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
    return false;
}

static bool push(const char **list, size_t *n, const char *value) {
    if (*n == MAX_LIST)
        return false;
    list[(*n)++] = value;
    return true;
}

static bool one_of(const char *value, const char *a, const char *b) {
    return strcmp(value, a) == 0 || strcmp(value, b) == 0;
}

static bool is_meaning(const char *value) {
    static const char *const words[] = {"kept", "removed", "budget", "bits", "threshold"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i]) == 0)
            return true;
    return false;
}

/* false: the value is bad. */
static bool take_option(request *r, int c, const char *value) {
    kr_import_opts *o = &r->opts;
    switch (c) {
    case 'o': r->out = value; return true;
    case OPT_DECLARE: return declare(r, value);
    case OPT_LEVEL: return push(r->levels, &o->n_levels, value);
    case OPT_ONLY: return push(r->only, &o->n_only, value);
    case OPT_SKIP: return push(r->skip, &o->n_skip, value);
    case OPT_SECOND: o->second_full = value; return true;
    case OPT_MISSING: return missing_rule(r, value);
    case OPT_OCCURRENCE: o->by_occurrence = true; return true;
    case OPT_LENIENT: o->lenient = true; return true;
    case OPT_COL: o->columns = value; return true;
    case OPT_RATIO: o->ratio_means = value; return is_meaning(value);
    case OPT_FULL: o->full = value; return true;
    case OPT_SCORER: o->scorer = value; return true;
    case OPT_CODE_SIM: o->code_sim = value; return one_of(value, "levenshtein", "difflib");
    case OPT_DATASET: o->dataset = value; return one_of(value, "longbench", "longbench-e");
    case OPT_BITS: o->bits_of = strtod(value, NULL); return o->bits_of > 0 && o->bits_of <= 64;
    case OPT_COERCE: o->coerce = true; return true;
    case OPT_ORDER: o->order = value; return true;
    case OPT_METHOD: return push(r->methods, &o->n_methods, value);
    case OPT_SCALE: o->scale = strtod(value, NULL); return o->scale > 0 && o->scale <= 1e6;
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
            return complain(c == 'o' ? "bad output" : "bad value for an option", optarg);
    }
    if (argc - optind < 2)
        return usage(stderr);
    if (r.out == NULL && !r.dry_run)
        return complain("-o FILE is needed (or --dry-run)", NULL);
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
