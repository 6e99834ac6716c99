#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "export/points.h"
#include "export/certificate.h"
#include "verdict/grid.h"

static const char help[] =
    "usage: kvrisk sweep FILE --over tolerance|risk|confidence --from A --to B --steps N [options]\n"
    "\n"
    "What every method is certified at while one value of the contract moves from A to B in N\n"
    "evenly spaced points, ends included. Exploration: no point of a sweep carries a guarantee\n"
    "unless it is the contract that was declared beforehand.\n"
    "\n" KR_CONTRACT_HELP
    "  --method M            this method alone\n"
    "  --csv, --json         as a table for programs\n"
    "\n"
    "exit status: 0 done, 1 error, 2 usage\n";

typedef struct {
    kr_cli_args args;
    const char *over, *from, *to, *steps;
    kr_dec a, b;
    size_t n;
} sweep;

enum { OPT_OVER = OPT_OWN, OPT_FROM, OPT_TO, OPT_STEPS };

static bool check(sweep *s) {
    static const char *const names[] = {"over", "from", "to", "steps"};
    const char *const values[] = {s->over, s->from, s->to, s->steps};
    kr_error e;
    for (size_t i = 0; i < 4; i++)
        if (values[i] == NULL)
            return kr_cli_say("sweep", 0, "--%s is needed (see kvrisk sweep --help)", names[i]), false;
    if (strcmp(s->over, "tolerance") != 0 && strcmp(s->over, "risk") != 0 &&
        strcmp(s->over, "confidence") != 0)
        return kr_cli_say("sweep", 0, "--over is '%s', expected tolerance, risk or confidence",
                          s->over), false;
    if (kr_dec_parse_percent(s->from, &s->a, &e) != KR_OK ||
        kr_dec_parse_percent(s->to, &s->b, &e) != KR_OK)
        return kr_cli_say("sweep", 0, "--from/--to: %s", e.msg), false;
    char *end;
    errno = 0;
    long n = strtol(s->steps, &end, 10);
    if (*end != '\0' || errno != 0 || n < 1 || n > 100000 || end == s->steps)
        return kr_cli_say("sweep", 0, "--steps is '%s', expected a whole number from 1 to 100000",
                          s->steps), false;
    s->n = (size_t)n;
    if (n == 1 && kr_dec_cmp(s->a, s->b) != 0)
        return kr_cli_say("sweep", 0, "one step has one value: --from and --to must be equal"), false;
    const char *fixed = strcmp(s->over, "tolerance") == 0 ? s->args.tolerance
                        : strcmp(s->over, "risk") == 0    ? s->args.risk
                                                          : s->args.confidence;
    if (fixed != NULL)
        return kr_cli_say("sweep", 0, "--over %s moves it, so --%s cannot be given", s->over, s->over),
               false;
    return true;
}

static kr_contract contract_at(const sweep *s, kr_contract k, size_t i) {
    kr_dec v = kr_grid_step(s->a, s->b, i, s->n);
    if (strcmp(s->over, "tolerance") == 0)
        k.tolerance = v;
    else if (strcmp(s->over, "risk") == 0)
        k.risk = v;
    else
        k.confidence = v;
    return k;
}

static void put_level(const kr_calib *c, size_t method, int index, kr_buf *b) {
    kr_buf t = {0};
    kr_level_text(c, method, index, &t);
    kr_buf_printf(b, " %10s", kr_buf_text(&t));
    kr_buf_free(&t);
}

static void put_text_row(const kr_calib *c, const kr_export_cell *p, kr_buf *b) {
    kr_buf_printf(b, "  %-20.40s", kr_calib_method(c, p->method)->name);
    put_level(c, p->method, p->point.certified, b);
    put_level(c, p->method, p->joint.certified, b);
    put_level(c, p->method, p->point.empirical, b);
    if (p->point.certified >= 0)
        kr_buf_printf(b, " %8lld", (long long)p->point.certified_events);
    else
        kr_buf_puts(b, "        -");
    kr_buf_printf(b, " %10lld\n", (long long)p->point.max_events);
}

static void put_point(const sweep *s, const kr_calib *c, const kr_export_cell *p, bool first,
                      kr_buf *b) {
    char t[KR_DEC_TEXT];
    if (s->args.json) {
        kr_buf_puts(b, first ? "" : ",");
        kr_export_cell_json(c, p, b);
    } else if (s->args.csv) {
        kr_export_cell_csv(c, p, b);
    } else {
        kr_dec v = strcmp(s->over, "tolerance") == 0 ? p->k.tolerance
                   : strcmp(s->over, "risk") == 0    ? p->k.risk
                                                     : p->k.confidence;
        kr_buf_printf(b, "%12s", kr_dec_text(v, t));
        put_text_row(c, p, b);
    }
}

static kr_mode_kind joint_kind(const sweep *s) {
    return strcmp(s->over, "tolerance") == 0 ? KR_MODE_TOLERANCES
           : strcmp(s->over, "risk") == 0    ? KR_MODE_RISKS
                                             : KR_MODE_CONFIDENCE;
}

static void put_head(const sweep *s, kr_buf *b) {
    if (s->args.json)
        kr_buf_printf(b, "{\"version\":1,\"state\":\"WHAT-IF\",\"over\":\"%s\",\"points\":[", s->over);
    else if (s->args.csv)
        kr_buf_puts(b, KR_EXPORT_CELL_COLUMNS "\n");
    else
        kr_buf_printf(b, "%12s  %-20s %10s %10s %10s %8s %10s\n", s->over, "method", "certified",
                      "joint**", "empirical*", "events", "max events");
}

static void put_tail(const sweep *s, kr_analysis *a, size_t method, kr_buf *b) {
    if (s->args.json) {
        kr_buf_puts(b, "],\"joint_statement\":");
        kr_buf t = {0};
        kr_joint_sentence(a, joint_kind(s), method, &t);
        kr_json_put_string(b, kr_buf_text(&t));
        kr_buf_free(&t);
        kr_buf_puts(b, "}\n");
    } else if (!s->args.csv) {
        kr_buf_puts(b, "\n  share of KV kept in %; * without guarantee. WHAT-IF: a sweep is "
                       "exploration.\n  ** ");
        kr_joint_sentence(a, joint_kind(s), method, b);
        kr_buf_puts(b, "\n");
    }
}

static int run(const sweep *s, kr_analysis *a) {
    const kr_calib *c = kr_analysis_calib(a);
    size_t method;
    kr_buf b = {0};
    kr_error e;
    if (!kr_cli_method(&s->args, c, &method))
        return KR_EXIT_USAGE;
    put_head(s, &b);
    for (size_t i = 0, shown = 0; i < s->n; i++)
        for (size_t m = 0; m < kr_calib_methods(c); m++) {
            kr_export_cell p;
            if (method != KR_ALL_METHODS && method != m)
                continue;
            kr_contract k = contract_at(s, kr_analysis_contract(a), i);
            if (kr_export_cell_make(a, joint_kind(s), m, k, &p, &e) != KR_OK) {
                kr_buf_free(&b);
                return kr_cli_say("sweep", KR_EXIT_USAGE, "%s", e.msg);
            }
            put_point(s, c, &p, shown++ == 0, &b);
        }
    put_tail(s, a, method == KR_ALL_METHODS ? 0 : method, &b);
    if (b.failed)
        return kr_cli_say("sweep", KR_EXIT_ERROR, "out of memory");
    fwrite(b.s, 1, b.len, stdout);
    kr_buf_free(&b);
    return KR_EXIT_OK;
}

int kr_cli_sweep(int argc, char **argv) {
    static const struct option options[] = {
        KR_CONTRACT_OPTIONS,
        {"method", required_argument, NULL, OPT_METHOD},
        {"json", no_argument, NULL, OPT_JSON},
        {"csv", no_argument, NULL, OPT_CSV},
        {"over", required_argument, NULL, OPT_OVER},
        {"from", required_argument, NULL, OPT_FROM},
        {"to", required_argument, NULL, OPT_TO},
        {"steps", required_argument, NULL, OPT_STEPS},
        {NULL, 0, NULL, 0}};
    sweep s = {.args = {.name = "sweep"}};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case OPT_HELP: fputs(help, stdout); return KR_EXIT_OK;
        case OPT_OVER: s.over = optarg; break;
        case OPT_FROM: s.from = optarg; break;
        case OPT_TO: s.to = optarg; break;
        case OPT_STEPS: s.steps = optarg; break;
        default:
            if (!kr_cli_contract_option(&s.args, o, optarg) || s.args.usage_error)
                return KR_EXIT_USAGE;
        }
    }
    if (argc - optind != 1)
        return kr_cli_say("sweep", KR_EXIT_USAGE, "expected one FILE (see kvrisk sweep --help)");
    if (!check(&s))
        return KR_EXIT_USAGE;
    kr_calib *c;
    kr_analysis *a;
    int status = kr_cli_open(&s.args, argv[optind], &c, &a);
    if (status == KR_EXIT_OK)
        status = run(&s, a);
    kr_analysis_free(a);
    kr_calib_free(c);
    return kr_cli_done("sweep", status);
}
