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
    "there, every other command and the screens show the requests to explore on only. The state directory\n"
    "(XDG_STATE_HOME, else ~/.local/state) remembers the ledger's last entry and its requests: in a copy\n"
    "of FILE, also one with rows in another order, taken out or renamed, they count as opened.\n"
    "\n"
    "start sets requests aside for exploring and begins the ledger\n"
    "  --explore SHARE       share of every task to explore on (default 25%; clusters stay whole)\n"
    "  --seed N              of that choice (default 1)\n"
    "  --declared-split      explore the requests of split \"test\", confirm on those of \"cal\"\n"
    "  --budget D            error budget of all locks together (default 0.05)\n"
    "\n"
    "show lists the entries, and what is spent, held by locks and left of the budget\n"
    "  --json                as JSON\n"
    "\n"
    "verify checks that the chain holds, that its last entry is the one remembered, and that the file has\n"
    "the requests it was written for\n"
    "  --certificate EXPORT  and that this output of kvrisk confirm is what the ledger and the file give,\n"
    "                        member by member\n"
    "\n"
    "exit status: 0 done, 1 error (also a ledger that was edited, cut short or deleted, a certificate that\n"
    "differs, and requests that another ledger opened), 2 usage\n";

enum { OPT_EXPLORE = OPT_OWN, OPT_SEED_, OPT_DECLARED, OPT_BUDGET, OPT_CERTIFICATE };

typedef struct {
    const char *explore, *seed, *budget, *certificate;
    bool declared, json;
} ledger_args;

static int usage(const char *what) { return kr_cli_say("ledger", KR_EXIT_USAGE, "%s", what); }

typedef struct {
    size_t explore, confirm;
} sizes;

static sizes count_rows(const kr_study *s) {
    sizes n = {0, 0};
    for (size_t i = 0; i < kr_calib_rows(s->calib); i++)
        n.explore += s->explore[i], n.confirm += s->confirm[i];
    return n;
}

static int start(const ledger_args *x, const char *path) {
    kr_error e;
    kr_study s;
    kr_ledger_entry entry = {.share = kr_dec_make(25, 2), .seed = 1, .budget = kr_dec_make(5, 2),
                             .declared_split = x->declared};
    if (x->explore != NULL && kr_dec_parse_percent(x->explore, &entry.share, &e) != KR_OK)
        return usage(e.msg);
    if (x->budget != NULL && kr_dec_parse_percent(x->budget, &entry.budget, &e) != KR_OK)
        return usage(e.msg);
    if (x->seed != NULL && !kr_cli_whole(x->seed, 0, INT64_MAX, &entry.seed))
        return usage("--seed must be a whole number");
    if (kr_study_open(path, &s, &e) != KR_OK)
        return kr_cli_say("ledger", KR_EXIT_ERROR, "%s", e.msg);
    kr_status st = kr_study_start(&s, &entry, &e);
    int status = st == KR_OK ? KR_EXIT_OK : st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR;
    if (st != KR_OK) {
        kr_cli_say("ledger", status, "%s", e.msg);
    } else {
        sizes n = count_rows(&s);
        printf("%zu requests to explore, %zu to confirm on; nothing was opened under this ledger yet\n",
               n.explore, n.confirm);
    }
    kr_study_close(&s);
    return status;
}

/* --- show --------------------------------------------------------------------------------------- */

static void show_start(const kr_ledger_entry *e) {
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT];
    printf("%lld requests, ", (long long)e->base_rows);
    if (e->declared_split)
        printf("those of split test to explore");
    else
        printf("%s %% of every task to explore (seed %lld)", kr_dec_percent(e->share, 0, b),
               (long long)e->seed);
    printf(", budget %s", kr_dec_text(e->budget, a));
}

static const char *fate(const kr_ledger_entry *lock, const kr_lock_use *u) {
    if (u->looks == lock->looks)
        return "confirmed";
    return u->looks > 0 ? "looks left" : u->entry > 0 ? "explored" : "open";
}

static void show_lock(const kr_study *s, const kr_ledger_entry *e) {
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT], c[KR_DEC_TEXT], d[KR_DEC_TEXT];
    kr_lock_use u = kr_study_use_of(s, e);
    kr_cli_put_safe(e->family ? "all methods as a family" : e->method);
    if (e->n_tolerances > 0) {
        printf(", tolerance one of");
        for (size_t i = 0; i < e->n_tolerances; i++)
            printf("%s%s", i > 0 ? ", " : " ", kr_dec_text(e->tolerance[i], a));
    } else {
        printf(", tolerance %s", kr_dec_fixed(e->contract.tolerance, 2, a));
    }
    printf(", risk %s %%, confidence %s %%", kr_dec_percent(e->contract.risk, 0, b),
           kr_dec_percent(e->contract.confidence, 0, c));
    if (e->n_sizes > 0)
        printf(", %lld of %lld looks taken, at", (long long)u.looks, (long long)e->looks);
    for (size_t i = 0; i < e->n_sizes; i++)
        printf("%s%lld%s", i > 0 ? ", " : " ", (long long)e->size[i], i + 1 == e->n_sizes ? " requests" : "");
    printf(": %s, error level %s", fate(e, &u), kr_dec_text(kr_contract_delta(&e->contract), d));
}

static void show_confirm(const kr_ledger_entry *e) {
    char a[KR_DEC_TEXT];
    printf("lock %lld on %lld requests: ", (long long)e->lock, (long long)e->tested_rows);
    kr_cli_put_safe(e->state);
    printf(", ");
    kr_cli_put_safe(e->result);
    if (e->look == 0)
        printf(", exploratory, nothing spent");
    else
        printf(", %s spent", kr_dec_text(e->delta, a));
}

static void show_text(const kr_study *s) {
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT], c[KR_DEC_TEXT], d[KR_DEC_TEXT];
    for (size_t i = 0; i < s->ledger.n; i++) {
        const kr_ledger_entry *e = &s->ledger.entry[i];
        printf("%4lld  %-20s  %-8s ", (long long)e->number, e->time, kr_ledger_kind_name(e->kind));
        switch (e->kind) {
        case KR_LEDGER_START: show_start(e); break;
        case KR_LEDGER_LOCK: show_lock(s, e); break;
        default: show_confirm(e);
        }
        putchar('\n');
    }
    kr_study_budget x = kr_study_budget_of(s);
    sizes n = count_rows(s);
    printf("\nbudget %s: %s spent, %s held by locks, %s left\n", kr_dec_text(x.budget, a),
           kr_dec_text(x.spent, b), kr_dec_text(x.held, c), kr_dec_text(x.left, d));
    printf("requests: %zu to explore, %zu to confirm on\nhead: %s\n", n.explore, n.confirm, s->ledger.head);
}

static void json_lock(const kr_study *s, const kr_ledger_entry *e, kr_buf *b) {
    kr_lock_use u = kr_study_use_of(s, e);
    kr_buf_puts(b, ",\"method\":");
    if (e->family)
        kr_buf_puts(b, "null");
    else
        kr_json_put_string(b, e->method);
    kr_put_dec(b, "tolerance", e->contract.tolerance);
    kr_put_dec(b, "risk", e->contract.risk);
    kr_put_dec(b, "confidence", e->contract.confidence);
    kr_buf_printf(b, ",\"family\":%s,\"tolerances\":[", e->family ? "true" : "false");
    for (size_t i = 0; i < e->n_tolerances; i++) {
        kr_buf_puts(b, i > 0 ? "," : "");
        kr_json_put_dec(b, e->tolerance[i]);
    }
    kr_buf_printf(b, "],\"looks\":%lld,\"looks_taken\":%lld,\"look_sizes\":[", (long long)e->looks,
                  (long long)u.looks);
    for (size_t i = 0; i < e->n_sizes; i++)
        kr_buf_printf(b, "%s%lld", i > 0 ? "," : "", (long long)e->size[i]);
    kr_buf_puts(b, "]");
    kr_put_text(b, "fate", fate(e, &u));
    kr_put_dec(b, "delta", kr_contract_delta(&e->contract));
    kr_put_dec(b, "spent", u.spent);
}

static void json_entry(const kr_study *s, const kr_ledger_entry *e, kr_buf *b) {
    kr_buf_printf(b, "{\"entry\":%lld,\"kind\":\"%s\"", (long long)e->number,
                  kr_ledger_kind_name(e->kind));
    kr_put_text(b, "time", e->time);
    kr_put_text(b, "hash", e->hash);
    if (e->kind == KR_LEDGER_START) {
        kr_put_dec(b, "budget", e->budget);
        kr_buf_printf(b, ",\"rows\":%lld,\"declared_split\":%s", (long long)e->base_rows,
                      e->declared_split ? "true" : "false");
        kr_put_dec(b, "share", e->share);
        kr_buf_printf(b, ",\"seed\":%lld", (long long)e->seed);
    } else if (e->kind == KR_LEDGER_LOCK) {
        json_lock(s, e, b);
    } else {
        kr_buf_printf(b, ",\"lock\":%lld,\"look\":%lld,\"rows\":%lld,\"file_rows\":%lld",
                      (long long)e->lock, (long long)e->look, (long long)e->tested_rows,
                      (long long)e->file_rows);
        kr_put_dec(b, "delta", e->delta);
        kr_put_text(b, "state", e->state);
        kr_put_text(b, "result", e->result);
    }
    kr_buf_puts(b, "}");
}

static void show_json(const kr_study *s) {
    kr_buf b = {0};
    kr_study_budget x = kr_study_budget_of(s);
    sizes n = count_rows(s);
    kr_buf_printf(&b, "{\"version\":1,\"entries\":%zu,\"head\":\"%s\"", s->ledger.n, s->ledger.head);
    kr_put_dec(&b, "budget", x.budget);
    kr_put_dec(&b, "spent", x.spent);
    kr_put_dec(&b, "held", x.held);
    kr_put_dec(&b, "left", x.left);
    kr_buf_printf(&b, ",\"explore\":%zu,\"confirm\":%zu,\"list\":[", n.explore, n.confirm);
    for (size_t i = 0; i < s->ledger.n; i++) {
        kr_buf_puts(&b, i > 0 ? "," : "");
        json_entry(s, &s->ledger.entry[i], &b);
    }
    kr_buf_puts(&b, "]}\n");
    fwrite(kr_buf_text(&b), 1, b.len, stdout);
    kr_buf_free(&b);
}

/* --- verify ------------------------------------------------------------------------------------- */

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
