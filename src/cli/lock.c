#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "ledger/study.h"
#include "verdict/grid.h"

static const char help[] =
    "usage: kvrisk lock FILE --method M | --family [--tolerance T] [--risk R] [--confidence C]\n"
    "                   [--tolerances LIST] [--looks SIZES]\n"
    "\n"
    "Enters a contract into the ledger of FILE before the requests it will be tested on are opened.\n"
    "Values that are not given are the file's, else 0.10, 5% and 95%. Its error level is held in the\n"
    "budget from now on, whether it is confirmed or not.\n"
    "\n"
    "  --method M            the claim is about this method's candidates\n"
    "  --family              it is about all methods, so that the best may be picked\n"
    "  --tolerance T         largest acceptable drop in utility\n"
    "  --risk R              how often the drop may exceed it, 0.05 or 5%\n"
    "  --confidence C        0.95 or 95%\n"
    "  --tolerances LIST     the claim is a joint table: any of these may be picked afterwards\n"
    "  --looks SIZES         the file will grow: it is tested when it has these numbers of requests, such\n"
    "                        as 700,1400,2100, each at an equal part of the error level\n"
    "\n"
    "exit status: 0 locked, 1 error (also requests that another ledger opened), 2 usage or not enough\n"
    "budget\n";

enum { OPT_TABLE = OPT_OWN, OPT_LOOKS };

static int say(int status, const char *text) { return kr_cli_say("lock", status, "%s", text); }

static int set_values(const kr_cli_args *a, const kr_study *s, kr_contract *k) {
    const kr_calib_meta *m = kr_calib_meta_of(s->calib);
    kr_error e;
    *k = (kr_contract){kr_dec_make(10, 2), kr_dec_make(5, 2), kr_dec_make(95, 2)};
    if (m->has_contract)
        *k = (kr_contract){m->tolerance, m->risk, m->confidence};
    if ((a->tolerance != NULL && kr_dec_parse_percent(a->tolerance, &k->tolerance, &e) != KR_OK) ||
        (a->risk != NULL && kr_dec_parse_percent(a->risk, &k->risk, &e) != KR_OK) ||
        (a->confidence != NULL && kr_dec_parse_percent(a->confidence, &k->confidence, &e) != KR_OK))
        return say(KR_EXIT_USAGE, e.msg);
    return KR_EXIT_OK;
}

static bool take_sizes(const char *list, kr_ledger_entry *lock) {
    char one[24];
    lock->n_sizes = 0;
    for (bool more = true; more; list += more) {
        size_t len = strcspn(list, ",");
        if (len >= sizeof one || lock->n_sizes == KR_LEDGER_LOOKS_MAX)
            return false;
        memcpy(one, list, len);
        one[len] = '\0';
        if (!kr_cli_whole(one, 1, INT64_MAX, &lock->size[lock->n_sizes++]))
            return false;
        list += len;
        more = *list == ',';
    }
    lock->looks = (int64_t)lock->n_sizes;
    return true;
}

/* What was entered, and what it will be tested on as the file is. */
static void report(const kr_study *s) {
    char left[KR_DEC_TEXT];
    size_t rows;
    printf("lock %zu entered; %s of the error budget is left\n", s->ledger.n,
           kr_dec_text(kr_study_budget_of(s).left, left));
    if (kr_study_fresh(s, &rows, NULL) == KR_OK && rows > 0)
        printf("it will be tested on %zu requests that were not opened\n", rows);
    else
        printf("no request is left that was not opened: it will be exploratory until the file grows\n");
}

static int run(const kr_cli_args *a, kr_ledger_entry *lock, const char *path) {
    kr_error e;
    kr_study s;
    if (kr_study_open(path, &s, &e) != KR_OK)
        return say(KR_EXIT_ERROR, e.msg);
    int status = set_values(a, &s, &lock->contract);
    if (status == KR_EXIT_OK) {
        kr_status st = kr_study_lock(&s, lock, &e);
        if (st != KR_OK)
            status = say(st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR, e.msg);
    }
    if (status == KR_EXIT_OK)
        report(&s);
    kr_study_close(&s);
    return status;
}

int kr_cli_lock(int argc, char **argv) {
    static const struct option options[] = {KR_CONTRACT_OPTIONS,
                                            {"method", required_argument, NULL, OPT_METHOD},
                                            {"tolerances", required_argument, NULL, OPT_TABLE},
                                            {"looks", required_argument, NULL, OPT_LOOKS},
                                            {NULL, 0, NULL, 0}};
    kr_cli_args a = {.name = "lock"};
    kr_ledger_entry lock = {.looks = 1};
    kr_error e;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case OPT_HELP: fputs(help, stdout); return KR_EXIT_OK;
        case OPT_LOOKS:
            if (!take_sizes(optarg, &lock))
                return say(KR_EXIT_USAGE, "--looks: expected the numbers of requests that the file will have, "
                                          "rising, such as 700,1400,2100");
            break;
        case OPT_TABLE:
            if (kr_grid_parse(optarg, lock.tolerance, KR_LEDGER_TABLE_MAX, &lock.n_tolerances, &e) !=
                KR_OK)
                return say(KR_EXIT_USAGE, e.msg);
            break;
        default:
            if (!kr_cli_contract_option(&a, o, optarg) || a.usage_error)
                return KR_EXIT_USAGE;
        }
    }
    lock.family = a.options.family;
    if (argc - optind != 1 || lock.family == (a.method != NULL))
        return say(KR_EXIT_USAGE, "expected FILE and either --method or --family (see kvrisk lock --help)");
    if (a.method != NULL && strlen(a.method) >= sizeof lock.method)
        return say(KR_EXIT_USAGE, "the name of the method is too long");
    if (a.method != NULL)
        memcpy(lock.method, a.method, strlen(a.method) + 1);
    return kr_cli_done("lock", run(&a, &lock, argv[optind]));
}
