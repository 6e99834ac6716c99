#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "ledger/study.h"
#include "verdict/joint.h"

static const char help[] =
    "usage: kvrisk confirm FILE [--lock N] [-o OUT.json] [--force] [--json]\n"
    "\n"
    "Tests a locked contract on the rows of FILE that were not opened before it was locked, enters the\n"
    "result into the ledger, and prints the certificate. The same test again spends nothing.\n"
    "\n"
    "  --lock N              entry of the lock (default: the last lock)\n"
    "  -o, --output OUT      write the certificate as JSON\n"
    "  --force               replace OUT when it exists\n"
    "  --json                print it as JSON\n"
    "\n"
    "exit status: 0 certified, 3 full-KV fallback or exploratory, 1 error, 2 usage\n";

enum { OPT_LOCK = OPT_OWN, OPT_FORCE };

static void print_table(kr_confirmation *c) {
    kr_contract k = kr_analysis_contract(c->a);
    for (size_t i = 0; i < c->lock.n_tolerances; i++) {
        kr_point p;
        kr_buf level = {0};
        char t[KR_DEC_TEXT];
        k.tolerance = c->lock.tolerance[i];
        if (kr_joint_at(c->a, KR_MODE_TOLERANCES, c->method, k, &p, NULL) != KR_OK)
            continue;
        kr_level_text(c->c, c->method, p.certified, &level);
        printf("  tolerance %-8s %s  %s\n", kr_dec_text(k.tolerance, t), kr_buf_text(&level),
               kr_state_name(kr_joint_state(c->a, KR_MODE_TOLERANCES, c->method, k)));
        kr_buf_free(&level);
    }
}

static void print_text(kr_confirmation *c) {
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT], d[KR_DEC_TEXT], e[KR_DEC_TEXT];
    kr_buf t = {0};
    printf("%s: ", c->entry.state);
    kr_cli_put_safe(c->text);
    printf("%s\n", c->rerun ? " Tested before with the same rows and results; nothing spent again." : "");
    if (c->lock.n_tolerances > 0) {
        kr_joint_sentence(c->a, KR_MODE_TOLERANCES, c->method, &t);
        print_table(c);
    } else {
        kr_statement(c->a, c->method, &t);
    }
    kr_cli_put_safe(kr_buf_text(&t));
    kr_buf_free(&t);
    printf("\nerror level spent %s; all locks on these rows together %s; budget %s, %s left\n",
           kr_dec_text(c->entry.delta, a), kr_dec_text(c->delta_sum, b),
           kr_dec_text(c->budget.budget, d), kr_dec_text(c->budget.left, e));
}

static int give_out(kr_confirmation *c, const char *output, bool force, bool json) {
    kr_buf b = {0};
    kr_error e;
    int status = c->found && !c->exploratory ? KR_EXIT_OK : KR_EXIT_FALLBACK;
    kr_confirmation_json(c, &b);
    if (json)
        fwrite(kr_buf_text(&b), 1, b.len, stdout);
    else
        print_text(c);
    if (output != NULL && kr_file_write(output, kr_buf_text(&b), b.len, force, &e) != KR_OK)
        status = kr_cli_say("confirm", KR_EXIT_ERROR, "%s", e.msg);
    kr_buf_free(&b);
    return status;
}

int kr_cli_confirm(int argc, char **argv) {
    static const struct option options[] = {{"lock", required_argument, NULL, OPT_LOCK},
                                            {"output", required_argument, NULL, 'o'},
                                            {"force", no_argument, NULL, OPT_FORCE},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {"help", no_argument, NULL, OPT_HELP},
                                            {NULL, 0, NULL, 0}};
    const char *output = NULL;
    bool force = false, json = false;
    int64_t lock = 0;
    kr_error e;
    for (int o; (o = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
        switch (o) {
        case OPT_HELP: fputs(help, stdout); return KR_EXIT_OK;
        case OPT_LOCK: lock = strtoll(optarg, NULL, 10); break;
        case 'o': output = optarg; break;
        case OPT_FORCE: force = true; break;
        case OPT_JSON: json = true; break;
        default: return KR_EXIT_USAGE;
        }
    }
    if (argc - optind != 1 || lock < 0)
        return kr_cli_say("confirm", KR_EXIT_USAGE, "expected one FILE (see kvrisk confirm --help)");
    kr_study s;
    kr_confirmation *c = NULL;
    if (kr_study_open(argv[optind], &s, &e) != KR_OK)
        return kr_cli_say("confirm", KR_EXIT_ERROR, "%s", e.msg);
    kr_status st = kr_study_confirm(&s, lock, &c, &e);
    int status = st != KR_OK ? kr_cli_say("confirm", st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR,
                                          "%s", e.msg)
                             : give_out(c, output, force, json);
    kr_confirmation_free(c);
    kr_study_close(&s);
    return kr_cli_done("confirm", status);
}
