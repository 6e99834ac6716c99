#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "ledger/study.h"
#include "verdict/joint.h"

static const char help[] =
    "usage: kvrisk confirm FILE [--lock N] [-o OUT.json] [--force] [--json]\n"
    "\n"
    "Tests a locked contract on the requests of FILE that were not opened before it was locked, enters\n"
    "the result into FILE.ledger, and prints it: LOCKED, with the certified level or full KV and why, or\n"
    "exploratory (WHAT-IF) and why. Requests of a cluster or a prompt with an opened one count as opened.\n"
    "The same test again spends nothing. OUT can be checked with kvrisk ledger verify --certificate OUT.\n"
    "\n"
    "  --lock N              entry of the lock (default: the last lock)\n"
    "  -o, --output OUT      write the certificate as JSON\n"
    "  --force               replace OUT when it exists\n"
    "  --json                print it as JSON\n"
    "\n"
    "exit status: 0 certified, 3 full-KV fallback or exploratory, 1 error (also requests that another\n"
    "ledger opened), 2 usage\n";

enum { OPT_LOCK = OPT_OWN, OPT_FORCE };

/* "30 %", "threshold 0.1", "full KV". */
static void put_level(const kr_confirmation *c, int index, kr_buf *b) {
    const kr_policy *p =
        index < 0 ? NULL : kr_calib_policy(c->c, kr_calib_method(c->c, c->method)->first + (size_t)index);
    char t[KR_DEC_TEXT];
    if (p == NULL)
        kr_buf_puts(b, "full KV");
    else if (p->has_threshold)
        kr_buf_printf(b, "threshold %s", kr_dec_text(p->threshold, t));
    else
        kr_level_text(c->c, c->method, index, b);
    if (p != NULL && p->has_retention)
        kr_buf_puts(b, " %");
}

static void print_table(kr_confirmation *c) {
    kr_contract k = kr_analysis_contract(c->a);
    for (size_t i = 0; i < c->lock.n_tolerances; i++) {
        kr_point p;
        kr_buf level = {0};
        char t[KR_DEC_TEXT];
        k.tolerance = c->lock.tolerance[i];
        if (kr_joint_at(c->a, KR_MODE_TOLERANCES, c->method, k, &p, NULL) != KR_OK)
            continue;
        put_level(c, p.certified, &level);
        printf("  tolerance %-8s  %-16s %s", kr_dec_text(k.tolerance, t), kr_buf_text(&level),
               kr_state_name(kr_joint_state(c->a, KR_MODE_TOLERANCES, c->method, k)));
        if (p.certified >= 0)
            printf("  %lld events", (long long)p.certified_events);
        if (p.stopped >= 0)
            printf("  stopped at %lld, at most %lld allowed", (long long)p.stopped_events,
                   (long long)p.max_events);
        putchar('\n');
        kr_buf_free(&level);
    }
}

static void label(const char *name) { printf("%-12s ", name); }

/* The level and what it rests on; beside it what empirical thresholding would take. */
static void print_line(kr_confirmation *c) {
    const kr_line *l = kr_analysis_line(c->a, c->method);
    kr_buf b = {0};
    if (l->certified >= 0) {
        kr_candidate_row r = kr_analysis_candidate(c->a, c->method, (size_t)l->certified);
        label(c->exploratory ? "what if" : "certified");
        kr_cli_put_safe(kr_calib_method(c->c, c->method)->name);
        put_level(c, l->certified, &b);
        printf(" %s: %lld events of %lld, at most %lld allowed; p %.3g, upper limit %.2f %%\n",
               kr_buf_text(&b), (long long)r.events, (long long)r.n, (long long)l->max_events, r.p_value,
               100 * r.upper_bound);
    } else {
        label("fallback");
        kr_statement(c->a, c->method, &b);
        kr_cli_put_safe(kr_buf_text(&b));
        putchar('\n');
    }
    kr_buf_free(&b);
    put_level(c, l->empirical, &b);
    label("empirical");
    printf("%s, without guarantee", kr_buf_text(&b));
    if (l->empirical >= 0)
        printf(": %lld events, %s", (long long)l->empirical_events,
               l->empirical_certified ? "certified as well" : "not certified");
    putchar('\n');
    kr_buf_free(&b);
}

static void print_sums(const kr_confirmation *c) {
    kr_contract k = c->lock.contract;
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT], d[KR_DEC_TEXT], e[KR_DEC_TEXT];
    label("requests");
    printf("%lld tested, %lld with a missing result\n", (long long)c->entry.tested_rows,
           (long long)kr_analysis_missing(c->a));
    label("contract");
    printf("lock %lld: tolerance %s, risk %s %%, confidence %s %%", (long long)c->lock.number,
           c->lock.n_tolerances > 0 ? "any of these" : kr_dec_fixed(k.tolerance, 2, a),
           kr_dec_percent(k.risk, 0, b), kr_dec_percent(k.confidence, 0, d));
    if (c->lock.looks > 1)
        printf(", shared by %lld looks", (long long)c->lock.looks);
    putchar('\n');
    label("error level");
    printf("%s spent%s, %s by all locks on these requests together\n", kr_dec_text(c->entry.delta, a),
           c->rerun && !c->exploratory ? " when it was tested first" : "", kr_dec_text(c->delta_sum, b));
    label("budget");
    printf("%s: %s spent, %s held by locks, %s left\n", kr_dec_text(c->budget.budget, a),
           kr_dec_text(c->budget.spent, b), kr_dec_text(c->budget.held, d), kr_dec_text(c->budget.left, e));
    label("ledger");
    printf("entry %lld of %zu\n", (long long)c->entry.number, c->entries);
}

static void print_text(kr_confirmation *c) {
    bool table = c->lock.n_tolerances > 0;
    kr_buf t = {0};
    printf("%s: ", c->entry.state);
    kr_cli_put_safe(c->text);
    printf("%s\n\n", c->rerun ? " Tested before with the same rows and results; nothing spent again." : "");
    if (table)
        print_table(c);
    else
        print_line(c);
    print_sums(c);
    if (table)
        kr_joint_sentence(c->a, KR_MODE_TOLERANCES, c->method, &t);
    else if (kr_analysis_line(c->a, c->method)->certified >= 0)
        kr_statement(c->a, c->method, &t);
    if (t.len > 0) {
        t.s[0] = t.s[0] == 'w' ? 'W' : t.s[0];
        putchar('\n');
        kr_cli_put_safe(kr_buf_text(&t));
        putchar('\n');
    }
    kr_buf_free(&t);
}

/* Before anything is opened. */
static kr_status check_output(const char *file, const char *output, bool force, kr_error *err) {
    if (!force && access(output, F_OK) == 0)
        return kr_fail(err, KR_EIO, "%s exists already; --force replaces it", output);
    return kr_ledger_spares(file, output, err);
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
        case OPT_LOCK:
            if (!kr_cli_whole(optarg, 1, KR_LEDGER_ENTRIES_MAX, &lock))
                return kr_cli_say("confirm", KR_EXIT_USAGE, "--lock must be the number of an entry");
            break;
        case 'o': output = optarg; break;
        case OPT_FORCE: force = true; break;
        case OPT_JSON: json = true; break;
        default: return KR_EXIT_USAGE;
        }
    }
    if (argc - optind != 1)
        return kr_cli_say("confirm", KR_EXIT_USAGE, "expected one FILE (see kvrisk confirm --help)");
    kr_study s;
    kr_confirmation *c = NULL;
    if (output != NULL && check_output(argv[optind], output, force, &e) != KR_OK)
        return kr_cli_say("confirm", KR_EXIT_ERROR, "%s", e.msg);
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
