#include <stdio.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "verdict/pair.h"

static const char help[] =
    "usage: kvrisk compare FILE METHOD:LEVEL METHOD:LEVEL [options]\n"
    "\n"
    "Which of two policies is degraded less often on the same requests: exact McNemar test with an\n"
    "interval for the difference of risks. LEVEL is a retention (0.65 or 65%) or a threshold.\n"
    "\n" KR_CONTRACT_HELP
    "  --json                one JSON object\n"
    "\n"
    "exit status: 0 done, 1 error, 2 usage\n";

static void print_json(const kr_analysis *a, const size_t policy[2], const kr_pair *p) {
    kr_buf b = {0}, t = {0};
    kr_buf_printf(&b, "{\"version\":1,\"n\":%lld,\"both\":%lld,\"only_a\":%lld,\"only_b\":%lld",
                  (long long)p->n, (long long)p->both, (long long)p->only_a, (long long)p->only_b);
    const struct {
        const char *key;
        double value;
    } f[] = {{"p_two_sided", p->test.two_sided}, {"p_a_better", p->test.a_better},
             {"p_b_better", p->test.b_better},   {"p_mid", p->test.mid},
             {"difference_lower", p->test.lower}, {"difference_upper", p->test.upper}};
    for (size_t i = 0; i < sizeof f / sizeof *f; i++) {
        kr_buf_printf(&b, ",\"%s\":", f[i].key);
        kr_json_put_double(&b, f[i].value);
    }
    kr_pair_sentence(a, policy[0], policy[1], p, &t);
    kr_buf_puts(&b, ",\"statement\":");
    kr_json_put_string(&b, kr_buf_text(&t));
    kr_buf_puts(&b, "}\n");
    fwrite(kr_buf_text(&b), 1, b.len, stdout);
    kr_buf_free(&b);
    kr_buf_free(&t);
}

static int run(const kr_cli_args *args, const kr_analysis *a, char *const name[2]) {
    size_t policy[2];
    kr_pair p;
    kr_error e;
    for (int i = 0; i < 2; i++)
        if (kr_pair_find(kr_analysis_calib(a), name[i], &policy[i], &e) != KR_OK)
            return kr_cli_say("compare", KR_EXIT_USAGE, "%s", e.msg);
    kr_status st = kr_pair_compare(a, policy[0], policy[1], &p, &e);
    if (st != KR_OK)
        return kr_cli_say("compare", st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR, "%s", e.msg);
    if (args->json) {
        print_json(a, policy, &p);
        return KR_EXIT_OK;
    }
    kr_buf t = {0};
    kr_pair_sentence(a, policy[0], policy[1], &p, &t);
    kr_cli_put_safe(kr_buf_text(&t));
    putchar('\n');
    kr_buf_free(&t);
    return KR_EXIT_OK;
}

int kr_cli_compare(int argc, char **argv) {
    static const struct option options[] = {KR_CONTRACT_OPTIONS,
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {NULL, 0, NULL, 0}};
    kr_cli_args args = {.name = "compare"};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == OPT_HELP) {
            fputs(help, stdout);
            return KR_EXIT_OK;
        }
        if (!kr_cli_contract_option(&args, o, optarg) || args.usage_error)
            return KR_EXIT_USAGE;
    }
    if (argc - optind != 3)
        return kr_cli_say("compare", KR_EXIT_USAGE,
                          "expected FILE and two METHOD:LEVEL (see kvrisk compare --help)");
    kr_calib *c;
    kr_analysis *a;
    int status = kr_cli_open(&args, argv[optind], &c, &a);
    if (status == KR_EXIT_OK)
        status = run(&args, a, argv + optind + 1);
    kr_analysis_free(a);
    kr_calib_free(c);
    return kr_cli_done("compare", status);
}
