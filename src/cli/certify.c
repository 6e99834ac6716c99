#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "cli/modes.h"
#include "export/certificate.h"
#include "verdict/best.h"
#include "verdict/noise.h"

static const char help[] =
    "usage: kvrisk certify FILE [options]\n"
    "\n"
    "Certifies each method's lowest retention that meets the contract, or falls back to full KV.\n"
    "\n" KR_CONTRACT_HELP
    "  --method M            this method alone\n"
    "  --best                the lowest retention over all methods; implies --family\n"
    KR_MODE_HELP
    "  --json                one JSON object (fields: README)\n"
    "\n"
    "exit status: 0 at least one method certified, 3 full-KV fallback for every method asked,\n"
    "1 error, 2 usage\n";

enum { OPT_BEST = OPT_OWN };

static void put_level(const kr_calib *c, size_t method, int index, int width) {
    kr_buf t = {0};
    kr_level_text(c, method, index, &t);
    const char *s = kr_buf_text(&t);
    if (index >= 0 && s[0] >= '0' && s[0] <= '9')
        kr_buf_puts(&t, " %");
    printf(" %*s", width, kr_buf_text(&t));
    kr_buf_free(&t);
}

static void put_row(const kr_analysis *a, size_t method) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_line *l = kr_analysis_line(a, method);
    char name[64];
    snprintf(name, sizeof name, "%.40s", kr_calib_method(c, method)->name);
    printf("  ");
    kr_cli_put_safe(name);
    printf("%*s", (int)(strlen(name) < 20 ? 20 - strlen(name) : 0), "");
    put_level(c, method, l->certified, 10);
    put_level(c, method, l->empirical, 10);
    if (l->certified >= 0) {
        kr_candidate_row r = kr_analysis_candidate(a, method, (size_t)l->certified);
        printf(" %7lld %7.2f%% %7.2f%% %9.2g  CERTIFIED%s", (long long)r.events, 100 * r.rate,
               100 * r.upper_bound, r.p_value,
               kr_analysis_line_state(a, method) == KR_STATE_LOCKED ? "" : " (WHAT-IF)");
    } else {
        printf(" %7s %8s %8s %9s  %s", "-", "-", "-", "-",
               l->status == KR_ST_REFUSED ? "REFUSED, full KV" : "FALLBACK, full KV");
    }
    if (l->stopped >= 0 && l->stopped_events >= 0 && l->max_events >= 0) {
        kr_buf t = {0};
        kr_level_text(c, method, l->stopped, &t);
        printf("  stopped at %s: %lld > %lld", kr_buf_text(&t), (long long)l->stopped_events,
               (long long)l->max_events);
        kr_buf_free(&t);
    }
    putchar('\n');
}

static void put_best(kr_analysis *a) {
    kr_best best;
    kr_buf t = {0};
    if (kr_best_overall(a, kr_analysis_family(a), &best, NULL) == KR_OK)
        kr_best_sentence(a, &best, &t);
    if (t.len > 0) {
        kr_cli_put_safe(kr_buf_text(&t));
        printf("\n");
    }
    kr_buf_free(&t);
}

static void put_noise(const kr_analysis *a) {
    kr_noise f = kr_noise_floor(a);
    kr_buf t = {0};
    kr_noise_sentence(a, &f, &t);
    if (t.len > 0)
        printf("%s\n", kr_buf_text(&t));
    kr_buf_free(&t);
}

static void print_text(kr_analysis *a, size_t method) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_buf t = {0};
    if (method == KR_ALL_METHODS)
        kr_overall_statement(a, &t);
    else
        kr_line_overall_statement(a, method, &t);
    kr_cli_put_safe(kr_buf_text(&t));
    printf("\n\n  %-20s %10s %10s %7s %8s %8s %9s\n", "method", "certified", "empirical*", "events",
           "rate", "upper**", "p");
    for (size_t i = 0; i < kr_calib_methods(c); i++)
        if (method == KR_ALL_METHODS || method == i)
            put_row(a, i);
    printf("\n  * empirical thresholding: longest run with rate <= risk, without guarantee\n"
           "  ** upper confidence limit of that candidate alone (pointwise)\n");
    if (kr_analysis_missing(a) > 0)
        printf("  %lld requests with a missing utility count as degradation events\n",
               (long long)kr_analysis_missing(a));
    putchar('\n');
    if (method == KR_ALL_METHODS)
        put_best(a);
    put_noise(a);
    for (size_t i = 0; i < kr_calib_methods(c); i++) {
        if (method != KR_ALL_METHODS && method != i)
            continue;
        t.len = 0;
        kr_statement(a, i, &t);
        kr_cli_put_safe(kr_buf_text(&t));
        putchar('\n');
    }
    kr_buf_free(&t);
}

static bool any_certified(const kr_analysis *a, size_t method) {
    for (size_t i = 0; i < kr_calib_methods(kr_analysis_calib(a)); i++)
        if ((method == KR_ALL_METHODS || method == i) && kr_analysis_line(a, i)->certified >= 0)
            return true;
    return false;
}

/* The one line that --best asks for. */
static bool best_method(kr_analysis *a, size_t *method) {
    kr_best best;
    if (kr_best_overall(a, true, &best, NULL) != KR_OK || !best.any)
        return false;
    *method = best.method;
    return true;
}

static int run(const kr_cli_args *args, const kr_mode_args *mode, bool best, kr_analysis *a) {
    size_t method;
    if (!kr_cli_method(args, kr_analysis_calib(a), &method))
        return KR_EXIT_USAGE;
    if (kr_cli_mode_asked(mode, a))
        return kr_cli_modes(args, mode, a, method);
    if (best && !args->json)
        put_best(a);
    if (best && !best_method(a, &method) && !args->json)
        return KR_EXIT_FALLBACK;
    if (args->json) {
        kr_buf b = {0};
        kr_export_certify(a, method, &b);
        if (b.failed)
            return kr_cli_say("certify", KR_EXIT_ERROR, "out of memory");
        fwrite(b.s, 1, b.len, stdout);
        kr_buf_free(&b);
    } else {
        print_text(a, method);
    }
    return any_certified(a, method) ? KR_EXIT_OK : KR_EXIT_FALLBACK;
}

int kr_cli_certify(int argc, char **argv) {
    static const struct option options[] = {KR_CONTRACT_OPTIONS,
                                            {"method", required_argument, NULL, OPT_METHOD},
                                            KR_MODE_OPTIONS,
                                            {"best", no_argument, NULL, OPT_BEST},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {NULL, 0, NULL, 0}};
    kr_cli_args args = {.name = "certify"};
    kr_mode_args mode = {0};
    bool best = false;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == OPT_HELP) {
            fputs(help, stdout);
            return KR_EXIT_OK;
        }
        if (o == OPT_BEST)
            best = args.options.family = true;
        else if (kr_cli_mode_option(&args, &mode, o, optarg))
            continue;
        else if (!kr_cli_contract_option(&args, o, optarg) || args.usage_error)
            return KR_EXIT_USAGE;
    }
    if (argc - optind != 1)
        return kr_cli_say("certify", KR_EXIT_USAGE, "expected one FILE (see kvrisk certify --help)");
    kr_calib *c;
    kr_analysis *a;
    int status = kr_cli_open(&args, argv[optind], &c, &a);
    if (status == KR_EXIT_OK)
        status = run(&args, &mode, best, a);
    kr_analysis_free(a);
    kr_calib_free(c);
    return kr_cli_done("certify", status);
}
