#include "cli/common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "export/certificate.h"
#include "ledger/study.h"

int kr_cli_say(const char *name, int status, const char *fmt, ...) {
    char raw[1200], text[1300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    kr_text_safe(text, sizeof text, raw, strlen(raw));
    fprintf(stderr, "kvrisk %s: %s\n", name, text);
    return status;
}

bool kr_cli_contract_option(kr_cli_args *a, int option, const char *value) {
    switch (option) {
    case OPT_TOLERANCE: a->tolerance = value; return true;
    case OPT_RISK: a->risk = value; return true;
    case OPT_CONFIDENCE: a->confidence = value; return true;
    case OPT_METHOD: a->method = value; return true;
    case OPT_ASSUME: a->options.assume_independent = true; return true;
    case OPT_FAMILY: a->options.family = true; return true;
    case OPT_JSON:
    case OPT_CSV:
        a->json = a->json || option == OPT_JSON;
        a->csv = a->csv || option == OPT_CSV;
        if (a->json && a->csv) {
            kr_cli_say(a->name, 0, "--json and --csv exclude each other");
            a->usage_error = true;
        }
        return true;
    case OPT_SPLIT:
        if (strcmp(value, "cal") == 0)
            a->options.split = KR_SPLIT_CAL;
        else if (strcmp(value, "test") == 0)
            a->options.split = KR_SPLIT_TEST;
        else {
            kr_cli_say(a->name, 0, "--split is '%s', expected cal or test", value);
            a->usage_error = true;
        }
        return true;
    default: return false;
    }
}

static bool take(const kr_cli_args *a, const char *option, const char *text, kr_dec *out) {
    kr_error e;
    if (text == NULL || kr_dec_parse_percent(text, out, &e) == KR_OK)
        return true;
    kr_cli_say(a->name, 0, "--%s: %s", option, e.msg);
    return false;
}

/* "5%" of a utility that runs to 100 could mean 5 or 0.05: nobody should have to guess. */
static bool plain_tolerance(const kr_cli_args *a, const kr_calib *c) {
    if (a->tolerance == NULL || strchr(a->tolerance, '%') == NULL || kr_tolerance_unit(c) == 1)
        return true;
    kr_cli_say(a->name, 0, "--tolerance is in units of utility, which is no share here; give it without %%");
    return false;
}

static int set_contract(const kr_cli_args *a, kr_analysis *an) {
    kr_contract k = kr_analysis_contract(an);
    kr_error e;
    if (!plain_tolerance(a, kr_analysis_calib(an)) ||
        !take(a, "tolerance", a->tolerance, &k.tolerance) || !take(a, "risk", a->risk, &k.risk) ||
        !take(a, "confidence", a->confidence, &k.confidence))
        return KR_EXIT_USAGE;
    kr_status st = kr_analysis_set(an, k, &e);
    if (st != KR_OK)
        return kr_cli_say(a->name, st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR, "%s", e.msg);
    return KR_EXIT_OK;
}

int kr_cli_open(const kr_cli_args *a, const char *path, kr_calib **c, kr_analysis **an) {
    kr_error e;
    *c = NULL;
    *an = NULL;
    kr_analysis_options o = a->options;
    if (kr_study_look(path, c, &o, &e) != KR_OK)
        return kr_cli_say(a->name, KR_EXIT_ERROR, "%s", e.msg);
    if (kr_analysis_new(*c, o, an, &e) != KR_OK)
        return kr_cli_say(a->name, KR_EXIT_ERROR, "%s", e.msg);
    return set_contract(a, *an);
}

bool kr_cli_method(const kr_cli_args *a, const kr_calib *c, size_t *method) {
    *method = KR_ALL_METHODS;
    if (a->method == NULL)
        return true;
    int i = kr_calib_find_method(c, a->method);
    if (i >= 0) {
        *method = (size_t)i;
        return true;
    }
    kr_buf names = {0};
    for (size_t k = 0; k < kr_calib_methods(c); k++)
        kr_buf_printf(&names, "%s%s", k > 0 ? ", " : "", kr_calib_method(c, k)->name);
    kr_cli_say(a->name, 0, "no method '%s' in this file; it has %.700s", a->method,
               kr_buf_text(&names));
    kr_buf_free(&names);
    return false;
}

void kr_cli_put_safe(const char *text) {
    char safe[2048];
    size_t len = strlen(text);
    while (len > 0) {
        size_t n = len < sizeof safe / 2 ? len : sizeof safe / 2;
        while (n < len && ((unsigned char)text[n] & 0xC0) == 0x80 && n > sizeof safe / 2 - 4)
            n--; /* do not cut a code point */
        kr_text_safe(safe, sizeof safe, text, n);
        fputs(safe, stdout);
        text += n;
        len -= n;
    }
}

bool kr_cli_whole(const char *text, int64_t min, int64_t max, int64_t *out) {
    char *end = NULL;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || v < min || v > max)
        return false;
    *out = v;
    return true;
}

int kr_cli_done(const char *name, int status) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    return kr_cli_say(name, KR_EXIT_ERROR, "cannot write the output: %s", strerror(errno));
}
