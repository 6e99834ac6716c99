#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "export/points.h"
#include "export/certificate.h"
#include "verdict/grid.h"

static const char help[] =
    "usage: kvrisk map FILE [options]\n"
    "\n"
    "Certified retention over tolerance and risk target, method by method. Exploration: a cell\n"
    "carries no guarantee unless it is the contract that was declared beforehand.\n"
    "\n" KR_CONTRACT_HELP
    "  --method M            this method alone (text: the first by default)\n"
    "  --tolerances LIST     comma-separated; default 0 to 0.30\n"
    "  --risks LIST          comma-separated; default 20% to 0.5%\n"
    "  --csv, --json         every method, as a table for programs\n"
    "\n"
    "exit status: 0 done, 1 error, 2 usage\n";

typedef struct {
    kr_cli_args args;
    const char *tolerances, *risks;
    kr_dec tolerance[KR_GRID_MAX], risk[KR_GRID_MAX];
    size_t n_tolerance, n_risk;
} map;

enum { OPT_TOLERANCES = OPT_OWN, OPT_RISKS };

static bool grid(map *m, const kr_analysis *a) {
    kr_error e;
    const kr_calib *c = kr_analysis_calib(a);
    m->n_tolerance = kr_grid_tolerances(c, false, m->tolerance);
    m->n_risk = kr_grid_risks(m->risk);
    if (m->tolerances == NULL && kr_calib_meta_of(c)->kind == KR_KIND_COUNTS) {
        m->tolerance[0] = kr_analysis_contract(a).tolerance; /* the only one that was published */
        m->n_tolerance = 1;
    }
    if (m->tolerances != NULL &&
        kr_grid_parse(m->tolerances, m->tolerance, KR_GRID_MAX, &m->n_tolerance, &e) != KR_OK)
        return kr_cli_say("map", 0, "--tolerances: %s", e.msg), false;
    if (m->risks != NULL && kr_grid_parse(m->risks, m->risk, KR_GRID_MAX, &m->n_risk, &e) != KR_OK)
        return kr_cli_say("map", 0, "--risks: %s", e.msg), false;
    return true;
}

static kr_status cell(const map *m, kr_analysis *a, size_t method, size_t r, size_t t,
                      kr_export_cell *p, kr_error *e) {
    kr_contract k = kr_analysis_contract(a);
    k.tolerance = m->tolerance[t];
    k.risk = m->risk[r];
    return kr_export_cell_make(a, KR_MODE_MAP, method, k, p, e);
}

static kr_status put_table(const map *m, kr_analysis *a, size_t only, kr_buf *b, kr_error *e) {
    const kr_calib *c = kr_analysis_calib(a);
    bool first = true;
    kr_buf_puts(b, m->args.json ? "{\"version\":1,\"state\":\"WHAT-IF\",\"cells\":["
                                : KR_EXPORT_CELL_COLUMNS "\n");
    for (size_t i = 0; i < kr_calib_methods(c); i++) {
        if (only != KR_ALL_METHODS && only != i)
            continue;
        for (size_t r = 0; r < m->n_risk; r++)
            for (size_t t = 0; t < m->n_tolerance; t++) {
                kr_export_cell p;
                kr_status st = cell(m, a, i, r, t, &p, e);
                if (st != KR_OK)
                    return st;
                if (m->args.json) {
                    kr_buf_puts(b, first ? "" : ",");
                    kr_export_cell_json(c, &p, b);
                } else {
                    kr_export_cell_csv(c, &p, b);
                }
                first = false;
            }
    }
    if (m->args.json) {
        kr_buf t = {0};
        kr_joint_sentence(a, KR_MODE_MAP, only == KR_ALL_METHODS ? 0 : only, &t);
        kr_buf_puts(b, "],\"joint_statement\":");
        kr_json_put_string(b, kr_buf_text(&t));
        kr_buf_puts(b, "}\n");
        kr_buf_free(&t);
    }
    return KR_OK;
}

static kr_status put_grid(const map *m, kr_analysis *a, size_t method, bool joint, kr_buf *b,
                          kr_error *e) {
    const kr_calib *c = kr_analysis_calib(a);
    char t[KR_DEC_TEXT];
    kr_buf_printf(b, "%s %% of KV kept, %s, confidence %s %%\n\n   risk | tolerance\n        |",
                  joint ? "jointly certified" : "certified", kr_calib_method(c, method)->name,
                  kr_dec_percent(kr_analysis_contract(a).confidence, 1, t));
    for (size_t i = 0; i < m->n_tolerance; i++)
        kr_buf_printf(b, " %6s", kr_dec_fixed(m->tolerance[i], 2, t));
    kr_buf_puts(b, "\n");
    for (size_t r = 0; r < m->n_risk; r++) {
        kr_buf_printf(b, "%6s%% |", kr_dec_percent(m->risk[r], 1, t));
        for (size_t i = 0; i < m->n_tolerance; i++) {
            kr_export_cell p;
            kr_buf level = {0};
            kr_status st = cell(m, a, method, r, i, &p, e);
            if (st != KR_OK)
                return st;
            kr_level_text(c, method, joint ? p.joint.certified : p.point.certified, &level);
            kr_buf_printf(b, " %6s", kr_buf_text(&level));
            kr_buf_free(&level);
        }
        kr_buf_puts(b, "\n");
    }
    return KR_OK;
}

static kr_status put_text(const map *m, kr_analysis *a, size_t method, kr_buf *b, kr_error *e) {
    kr_status st = put_grid(m, a, method, false, b, e);
    if (st == KR_OK) {
        kr_buf_puts(b, "\n");
        st = put_grid(m, a, method, true, b, e);
    }
    if (st != KR_OK)
        return st;
    kr_buf_puts(b, "\nJointly: ");
    kr_joint_sentence(a, KR_MODE_MAP, method, b);
    kr_buf_puts(b, "\nFULL: full-KV fallback. WHAT-IF: a map is exploration; choosing a cell after "
                   "looking at it is not covered by the confidence.\n");
    return KR_OK;
}

static int run(map *m, kr_analysis *a) {
    size_t method;
    kr_buf b = {0};
    kr_error e;
    if (!kr_cli_method(&m->args, kr_analysis_calib(a), &method) || !grid(m, a))
        return KR_EXIT_USAGE;
    kr_status st = m->args.json || m->args.csv
                       ? put_table(m, a, method, &b, &e)
                       : put_text(m, a, method == KR_ALL_METHODS ? 0 : method, &b, &e);
    int status = KR_EXIT_OK;
    if (st != KR_OK)
        status = kr_cli_say("map", KR_EXIT_USAGE, "%s", e.msg);
    else if (b.failed)
        status = kr_cli_say("map", KR_EXIT_ERROR, "out of memory");
    else
        fwrite(b.s, 1, b.len, stdout);
    kr_buf_free(&b);
    return status;
}

static int with_options(int argc, char **argv, map *m) {
    static const struct option options[] = {KR_CONTRACT_OPTIONS,
                                            {"method", required_argument, NULL, OPT_METHOD},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {"csv", no_argument, NULL, OPT_CSV},
                                            {"tolerances", required_argument, NULL, OPT_TOLERANCES},
                                            {"risks", required_argument, NULL, OPT_RISKS},
                                            {NULL, 0, NULL, 0}};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case OPT_HELP: fputs(help, stdout); return KR_EXIT_OK;
        case OPT_TOLERANCES: m->tolerances = optarg; break;
        case OPT_RISKS: m->risks = optarg; break;
        default:
            if (!kr_cli_contract_option(&m->args, o, optarg) || m->args.usage_error)
                return KR_EXIT_USAGE;
        }
    }
    if (argc - optind != 1)
        return kr_cli_say("map", KR_EXIT_USAGE, "expected one FILE (see kvrisk map --help)");
    kr_calib *c;
    kr_analysis *a;
    int status = kr_cli_open(&m->args, argv[optind], &c, &a);
    if (status == KR_EXIT_OK)
        status = run(m, a);
    kr_analysis_free(a);
    kr_calib_free(c);
    return kr_cli_done("map", status);
}

int kr_cli_map(int argc, char **argv) {
    map *m = calloc(1, sizeof *m);
    if (m == NULL)
        return kr_cli_say("map", KR_EXIT_ERROR, "out of memory");
    m->args.name = "map";
    int status = with_options(argc, argv, m);
    free(m);
    return status;
}
