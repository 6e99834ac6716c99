#include "cli/modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "export/certificate.h"
#include "export/modes.h"
#include "verdict/joint.h"

bool kr_cli_mode_option(const kr_cli_args *args, kr_mode_args *m, int option, const char *value) {
    switch (option) {
    case OPT_MODE: m->mode = value; return true;
    case OPT_MEAN: m->mean = value; return true;
    case OPT_WEIGHTS: m->weights = value; return true;
    case OPT_SEED: m->seed = value; return true;
    case OPT_LOSS:
        m->mean_loss = strcmp(value, "mean") == 0;
        if (m->mean_loss || strcmp(value, "event") == 0)
            return true;
        kr_cli_say(args->name, 0, "--loss is '%s', expected event or mean", value);
        return false;
    default: return false;
    }
}

bool kr_cli_mode_asked(const kr_mode_args *m, const kr_analysis *a) {
    return m->mode != NULL || m->mean_loss || m->weights != NULL ||
           kr_analysis_declared(a)->mode != KR_MODE_EVENTS;
}

typedef struct {
    bool all;
    kr_mode mode;
    kr_ratio *weight;
} asked;

static int complain(const kr_cli_args *args, const char *text) {
    return kr_cli_say(args->name, KR_EXIT_USAGE, "%s", text);
}

static int parse(const kr_cli_args *args, const kr_mode_args *m, const kr_analysis *a, asked *x) {
    kr_mode_kind kind = kr_analysis_declared(a)->mode;
    kr_error e;
    x->all = m->mode != NULL && strcmp(m->mode, "all") == 0;
    if (m->mode != NULL && !x->all && !kr_mode_find(m->mode, strlen(m->mode), &kind))
        return complain(args, "unknown --mode (see kvrisk certify --help)");
    if (m->mode == NULL && (m->mean_loss || m->weights != NULL))
        kind = m->mean_loss ? KR_MODE_MEAN_DROP : KR_MODE_MIXTURE;
    x->mode = kr_mode_default(a, kind);
    if (m->mean != NULL && !kr_mean_find(m->mean, strlen(m->mean), &x->mode.mean))
        return complain(args, "--mean must be wsr, hb or bernstein");
    if (m->seed != NULL) {
        char *end;
        x->mode.seed = strtoull(m->seed, &end, 10);
        if (*m->seed < '0' || *m->seed > '9' || *end != '\0')
            return complain(args, "--seed must be a whole number");
    }
    if (m->weights == NULL)
        return KR_EXIT_OK;
    if (kr_weights_parse(kr_analysis_calib(a), m->weights, &x->weight, &e) != KR_OK)
        return kr_cli_say(args->name, KR_EXIT_USAGE, "--weights: %s", e.msg);
    x->mode.weight = x->weight;
    return KR_EXIT_OK;
}

static void print_room(kr_analysis *a, const kr_mode *mode, size_t method) {
    kr_buf t = {0};
    kr_mode_room_sentence(a, mode, method, &t);
    if (t.len > 0) {
        printf("    ");
        kr_cli_put_safe(kr_buf_text(&t));
        putchar('\n');
    }
    kr_buf_free(&t);
}

static void print_line(kr_analysis *a, const kr_mode *mode, size_t method, const kr_mode_line *l) {
    kr_buf level = {0}, text = {0};
    kr_level_text(kr_analysis_calib(a), method, l->certified, &level);
    kr_mode_sentence(a, mode, method, l, &text);
    char name[64];
    snprintf(name, sizeof name, "%.40s", kr_calib_method(kr_analysis_calib(a), method)->name);
    printf("  %-13s ", kr_mode_name(mode->kind));
    kr_cli_put_safe(name);
    printf("%*s %8s  level %.3g", (int)(strlen(name) < 20 ? 20 - strlen(name) : 0), "",
           l->inapplicable != NULL ? "-" : kr_buf_text(&level), l->level);
    if (l->max_events >= 0)
        printf(", at most %lld of %lld", (long long)l->max_events, (long long)l->n);
    printf("\n    ");
    kr_cli_put_safe(kr_buf_text(&text));
    putchar('\n');
    kr_buf_free(&level);
    kr_buf_free(&text);
}

/* The curve that is free for one policy declared beforehand. */
static void joint_tolerances(kr_analysis *a, size_t method) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_dec t;
    char text[KR_DEC_TEXT];
    bool first = true;
    for (size_t i = 0; i < kr_calib_method(c, method)->count; i++)
        if (kr_joint_tolerance(a, method, i, &t)) {
            kr_buf level = {0};
            kr_level_text(c, method, (int)i, &level);
            printf("%s %s:%s", first ? "    smallest certified tolerance of each level, had it been "
                                       "declared alone (what-if):" : ",",
                   kr_buf_text(&level), kr_dec_text(t, text));
            kr_buf_free(&level);
            first = false;
        }
    if (!first)
        putchar('\n');
}

static int one_mode(const kr_cli_args *args, kr_analysis *a, const kr_mode *mode, size_t method,
                    kr_buf *json, bool *any) {
    kr_mode_line l;
    kr_error e;
    if (args->json && json->len > 0 && json->s[json->len - 1] == '}')
        kr_buf_puts(json, ",");
    kr_status st = args->json ? kr_export_mode(a, mode, method, &l, json, &e)
                              : kr_mode_walk(a, mode, method, &l, &e);
    if (st != KR_OK)
        return kr_cli_say(args->name, st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR, "%s", e.msg);
    *any = *any || l.certified >= 0;
    if (args->json)
        return KR_EXIT_OK;
    print_line(a, mode, method, &l);
    if (l.certified >= 0)
        print_room(a, mode, method);
    if (mode->kind == KR_MODE_TOLERANCES)
        joint_tolerances(a, method);
    return KR_EXIT_OK;
}

int kr_cli_modes(const kr_cli_args *args, const kr_mode_args *m, kr_analysis *a, size_t method) {
    asked x = {0};
    kr_buf json = {0};
    bool any = false;
    int status = parse(args, m, a, &x);
    if (args->json)
        kr_buf_puts(&json, "{\"version\":1,\"claims\":[");
    for (size_t i = 0; i < kr_calib_methods(kr_analysis_calib(a)); i++)
        for (int k = 0; k < KR_MODES && status == KR_EXIT_OK; k++) {
            kr_mode mode = x.mode;
            if (x.all)
                mode.kind = (kr_mode_kind)k;
            else if ((kr_mode_kind)k != mode.kind)
                continue;
            if (method == KR_ALL_METHODS || method == i)
                status = one_mode(args, a, &mode, i, &json, &any);
        }
    if (args->json && status == KR_EXIT_OK) {
        kr_buf_puts(&json, "]}\n");
        fwrite(kr_buf_text(&json), 1, json.len, stdout);
    }
    kr_buf_free(&json);
    free(x.weight);
    return status != KR_EXIT_OK ? status : any ? KR_EXIT_OK : KR_EXIT_FALLBACK;
}
