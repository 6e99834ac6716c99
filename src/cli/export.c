#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "export/certificate.h"
#include "ledger/ledger.h"

static const char help[] =
    "usage: kvrisk export FILE --method M -o OUT.json|OUT.csv [options]\n"
    "\n"
    "Writes one method's operating point: the fields of certify --json for the method, the file's\n"
    "SHA-256, the program's version and a note. Appears whole or not at all.\n"
    "\n" KR_CONTRACT_HELP
    "  --method M            the method (needed)\n"
    "  -o, --output OUT      file to write; CSV when it ends in .csv, else JSON (needed)\n"
    "  --note TEXT           kept in the export\n"
    "  --force               replace OUT when it exists\n"
    "  --append              add a row to OUT.csv\n"
    "\n"
    "exit status: 0 written, 1 error, 2 usage\n";

enum { OPT_NOTE = OPT_OWN, OPT_FORCE, OPT_APPEND };

typedef struct {
    kr_cli_args args;
    const char *output, *note;
    bool force, append;
} export_args;

static int run(const export_args *x, const char *path) {
    kr_calib *c;
    kr_analysis *a;
    kr_error e;
    size_t method = 0;
    if (kr_ledger_spares(path, x->output, &e) != KR_OK)
        return kr_cli_say("export", KR_EXIT_ERROR, "%s", e.msg);
    int status = kr_cli_open(&x->args, path, &c, &a);
    if (status == KR_EXIT_OK && !kr_cli_method(&x->args, c, &method))
        status = KR_EXIT_USAGE;
    if (status == KR_EXIT_OK) {
        kr_status st = x->append
                           ? kr_export_point_append(a, method, x->note, x->output, &e)
                           : kr_export_point_file(a, method, x->note, x->output, x->force, &e);
        if (st != KR_OK)
            status = kr_cli_say("export", KR_EXIT_ERROR, "%s", e.msg);
    }
    if (status == KR_EXIT_OK) {
        kr_buf t = {0};
        kr_statement(a, method, &t);
        fprintf(stderr, "kvrisk export: %s written. %s: ", x->output,
                kr_state_name(kr_analysis_line_state(a, method)));
        fprintf(stderr, "%s\n", kr_buf_text(&t));
        kr_buf_free(&t);
    }
    kr_analysis_free(a);
    kr_calib_free(c);
    return status;
}

int kr_cli_export(int argc, char **argv) {
    static const struct option options[] = {KR_CONTRACT_OPTIONS,
                                            {"method", required_argument, NULL, OPT_METHOD},
                                            {"output", required_argument, NULL, 'o'},
                                            {"note", required_argument, NULL, OPT_NOTE},
                                            {"force", no_argument, NULL, OPT_FORCE},
                                            {"append", no_argument, NULL, OPT_APPEND},
                                            {NULL, 0, NULL, 0}};
    export_args x = {.args = {.name = "export"}};
    for (int o; (o = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
        switch (o) {
        case OPT_HELP: fputs(help, stdout); return KR_EXIT_OK;
        case 'o': x.output = optarg; break;
        case OPT_NOTE: x.note = optarg; break;
        case OPT_FORCE: x.force = true; break;
        case OPT_APPEND: x.append = true; break;
        default:
            if (!kr_cli_contract_option(&x.args, o, optarg) || x.args.usage_error)
                return KR_EXIT_USAGE;
        }
    }
    if (argc - optind != 1 || x.args.method == NULL || x.output == NULL)
        return kr_cli_say("export", KR_EXIT_USAGE,
                          "expected FILE, --method and -o (see kvrisk export --help)");
    size_t len = strlen(x.output);
    if (strcmp(x.output, "-") == 0)
        return kr_cli_say("export", KR_EXIT_USAGE, "-o needs a file name, not -");
    if (x.append && (len < 4 || strcmp(x.output + len - 4, ".csv") != 0))
        return kr_cli_say("export", KR_EXIT_USAGE, "--append adds to a table: OUT must end in .csv");
    return run(&x, argv[optind]);
}
