#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "ledger/study.h"

static const char help[] =
    "usage: kvrisk ledger start FILE [--explore SHARE] [--seed N] [--declared-split] [--budget D]\n"
    "       kvrisk ledger show FILE [--json]\n"
    "       kvrisk ledger verify FILE [--certificate EXPORT.json]\n"
    "\n"
    "FILE.ledger, append-only and hash-chained, keeps what was locked and confirmed on FILE. Once it is\n"
    "there, every other command and the screens show the exploration rows only.\n"
    "\n"
    "  --explore SHARE       share of every task to explore on (default 25%; clusters stay whole)\n"
    "  --seed N              of that choice (default 1)\n"
    "  --declared-split      explore the rows of split \"test\", confirm on those of \"cal\"\n"
    "  --budget D            error budget of all locks together (default 0.05)\n"
    "  --certificate FILE    also check that the entry this export names is in the ledger\n"
    "\n"
    "exit status: 0 done, 1 error (also a ledger that was edited, cut short or deleted), 2 usage\n";

enum { OPT_EXPLORE = OPT_OWN, OPT_SEED_, OPT_DECLARED, OPT_BUDGET, OPT_CERTIFICATE };

typedef struct {
    const char *explore, *seed, *budget, *certificate;
    bool declared, json;
} ledger_args;

static int usage(const char *what) { return kr_cli_say("ledger", KR_EXIT_USAGE, "%s", what); }

static int start(const ledger_args *x, const char *path) {
    kr_error e;
    kr_study s;
    kr_ledger_entry entry = {.share = kr_dec_make(25, 2), .seed = 1, .budget = kr_dec_make(5, 2),
                             .declared_split = x->declared};
    if (x->explore != NULL && kr_dec_parse_percent(x->explore, &entry.share, &e) != KR_OK)
        return usage(e.msg);
    if (x->budget != NULL && kr_dec_parse_percent(x->budget, &entry.budget, &e) != KR_OK)
        return usage(e.msg);
    char *end = NULL;
    if (x->seed != NULL) {
        entry.seed = strtoll(x->seed, &end, 10);
        if (*x->seed < '0' || *x->seed > '9' || *end != '\0')
            return usage("--seed must be a whole number");
    }
    if (kr_study_open(path, &s, &e) != KR_OK)
        return kr_cli_say("ledger", KR_EXIT_ERROR, "%s", e.msg);
    kr_status st = kr_study_start(&s, &entry, &e);
    int status = st == KR_OK ? KR_EXIT_OK : st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR;
    if (st != KR_OK) {
        kr_cli_say("ledger", status, "%s", e.msg);
    } else {
        size_t explore = 0, confirm = 0;
        for (size_t i = 0; i < kr_calib_rows(s.calib); i++)
            explore += s.explore[i], confirm += s.confirm[i];
        printf("%zu requests to explore, %zu to confirm on; nothing was opened under this ledger yet\n",
               explore, confirm);
    }
    kr_study_close(&s);
    return status;
}

static void show_entry(const kr_ledger_entry *e) {
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT], c[KR_DEC_TEXT];
    printf("%4lld  %s  %-8s ", (long long)e->number, e->time, kr_ledger_kind_name(e->kind));
    if (e->kind == KR_LEDGER_START && e->declared_split) {
        printf("budget %s, split as declared in the file", kr_dec_text(e->budget, a));
    } else if (e->kind == KR_LEDGER_START) {
        printf("budget %s, %s %% of every task to explore, seed %lld", kr_dec_text(e->budget, a),
               kr_dec_percent(e->share, 0, b), (long long)e->seed);
    } else if (e->kind == KR_LEDGER_LOCK) {
        kr_cli_put_safe(e->family ? "the family of all methods" : e->method);
        printf(", tolerance %s, risk %s %%, confidence %s %%", kr_dec_fixed(e->contract.tolerance, 2, a),
               kr_dec_percent(e->contract.risk, 0, b), kr_dec_percent(e->contract.confidence, 0, c));
        if (e->looks > 1)
            printf(", %lld looks", (long long)e->looks);
        if (e->n_tolerances > 0)
            printf(", joint table of %zu tolerances", e->n_tolerances);
    } else {
        printf("lock %lld on %lld requests: %s, ", (long long)e->lock, (long long)e->tested_rows,
               e->state);
        kr_cli_put_safe(e->result);
        printf(", spent %s", kr_dec_text(e->delta, a));
    }
    printf("  %.12s\n", e->hash);
}

static void show_text(const kr_study *s) {
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT], c[KR_DEC_TEXT], d[KR_DEC_TEXT];
    for (size_t i = 0; i < s->ledger.n; i++)
        show_entry(&s->ledger.entry[i]);
    kr_study_budget x = kr_study_budget_of(s);
    printf("budget %s: %s spent, %s held by open locks, %s left\n", kr_dec_text(x.budget, a),
           kr_dec_text(x.spent, b), kr_dec_text(x.held, c), kr_dec_text(x.left, d));
}

static void show_json(const kr_study *s) {
    kr_buf b = {0};
    kr_study_budget x = kr_study_budget_of(s);
    kr_buf_printf(&b, "{\"version\":1,\"entries\":%zu,\"head\":\"%s\",\"budget\":", s->ledger.n,
                  s->ledger.head);
    kr_json_put_dec(&b, x.budget);
    kr_buf_puts(&b, ",\"spent\":");
    kr_json_put_dec(&b, x.spent);
    kr_buf_puts(&b, ",\"held\":");
    kr_json_put_dec(&b, x.held);
    kr_buf_puts(&b, ",\"left\":");
    kr_json_put_dec(&b, x.left);
    kr_buf_puts(&b, "}\n");
    fwrite(kr_buf_text(&b), 1, b.len, stdout);
    kr_buf_free(&b);
}

static int verify(const kr_study *s, const char *path, const char *certificate) {
    kr_error e;
    int64_t entry = 0;
    if (certificate == NULL) {
        printf("%zu entries, the chain holds, and the rows of ", s->ledger.n);
        kr_cli_put_safe(path);
        printf(" are those it was written for\n");
        return KR_EXIT_OK;
    }
    if (kr_study_verify(s, certificate, &entry, &e) != KR_OK)
        return kr_cli_say("ledger", KR_EXIT_ERROR, "%s", e.msg);
    printf("verified: decision follows from the counts; counts follow from ");
    kr_cli_put_safe(path);
    printf("; entry %lld of ", (long long)entry);
    kr_cli_put_safe(s->path);
    printf("\nevery member was compared but input, kvrisk_version and ledger.rerun%s\n",
           (int64_t)kr_calib_rows(s->calib) > s->ledger.entry[entry - 1].file_rows
               ? "; the file has grown since, so neither input_sha256 nor the means of what was kept" : "");
    return KR_EXIT_OK;
}

static int show(const ledger_args *x, const char *path, bool verifying) {
    kr_error e;
    kr_study s;
    if (kr_study_open(path, &s, &e) != KR_OK)
        return kr_cli_say("ledger", KR_EXIT_ERROR, "%s", e.msg);
    int status = KR_EXIT_OK;
    if (s.ledger.n == 0)
        status = kr_cli_say("ledger", KR_EXIT_ERROR, "%s: this file has no ledger", path);
    else if (verifying)
        status = verify(&s, path, x->certificate);
    else if (x->json)
        show_json(&s);
    else
        show_text(&s);
    kr_study_close(&s);
    return status;
}

int kr_cli_ledger(int argc, char **argv) {
    static const struct option options[] = {{"explore", required_argument, NULL, OPT_EXPLORE},
                                            {"seed", required_argument, NULL, OPT_SEED_},
                                            {"declared-split", no_argument, NULL, OPT_DECLARED},
                                            {"budget", required_argument, NULL, OPT_BUDGET},
                                            {"certificate", required_argument, NULL, OPT_CERTIFICATE},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {"help", no_argument, NULL, OPT_HELP},
                                            {NULL, 0, NULL, 0}};
    ledger_args x = {0};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case OPT_HELP: fputs(help, stdout); return KR_EXIT_OK;
        case OPT_EXPLORE: x.explore = optarg; break;
        case OPT_SEED_: x.seed = optarg; break;
        case OPT_DECLARED: x.declared = true; break;
        case OPT_BUDGET: x.budget = optarg; break;
        case OPT_CERTIFICATE: x.certificate = optarg; break;
        case OPT_JSON: x.json = true; break;
        default: return KR_EXIT_USAGE;
        }
    }
    if (argc - optind != 2)
        return usage("expected start, show or verify and one FILE (see kvrisk ledger --help)");
    const char *verb = argv[optind], *path = argv[optind + 1];
    int status;
    if (strcmp(verb, "start") == 0)
        status = start(&x, path);
    else if (strcmp(verb, "show") == 0)
        status = show(&x, path, false);
    else if (strcmp(verb, "verify") == 0)
        status = show(&x, path, true);
    else
        return usage("expected start, show or verify (see kvrisk ledger --help)");
    return kr_cli_done("ledger", status);
}
