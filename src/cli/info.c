#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "verdict/repeats.h"

static const char help[] =
    "usage: kvrisk info FILE [--json]\n"
    "\n"
    "What is in a calibration file, and what is odd about it.\n"
    "\n"
    "exit status: 0 done, 1 error, 2 usage\n";

static int64_t most_missing(const kr_calib *c, size_t *policy) {
    int64_t most = 0;
    for (size_t p = 0; p < kr_calib_policies(c); p++) {
        int64_t n = kr_calib_missing(c, p, KR_SPLIT_CAL);
        if (n > most) {
            most = n;
            *policy = p;
        }
    }
    return most;
}

/* One remark per odd thing; `put` receives each. */
static void remarks(const kr_calib *c, void (*put)(const char *text, void *to), void *to) {
    const kr_calib_meta *m = kr_calib_meta_of(c);
    kr_buf t = {0};
    size_t p = 0;
    int64_t missing = most_missing(c, &p);
    if (m->kind == KR_KIND_COUNTS)
        put("published counts at one tolerance: another tolerance needs the results of every request", to);
    if (m->partial)
        put("the candidate sequence is partial: earlier candidates exist but were not published", to);
    if (m->kind == KR_KIND_CALIBRATION && kr_tolerance_unit(c) != 1)
        put("utilities are not within 0 and 1: tolerances are in the same unit as utilities", to);
    if (m->has_contract && kr_tolerance_says_nothing(c, m->tolerance))
        put("the declared tolerance is the whole range of utilities or more: only missing results are events", to);
    if (!m->has_contract)
        put("no contract is declared: every verdict is exploration (WHAT-IF)", to);
    if (m->kind == KR_KIND_CALIBRATION && !kr_calib_task_uniform(c, KR_SPLIT_CAL))
        put("tasks have unequal numbers of calibration requests: verdicts are for the as-sampled "
            "mixture", to);
    if (missing > 0) {
        kr_buf_printf(&t, "%lld calibration requests have a missing utility somewhere (most: %lld "
                          "under policy %zu, %s); each counts as a degradation event",
                      (long long)kr_calib_any_missing(c, KR_SPLIT_CAL), (long long)missing, p,
                      kr_calib_policy(c, p)->method);
        put(kr_buf_text(&t), to);
    }
    int64_t repeats = kr_calib_cluster_repeats(c, KR_SPLIT_CAL);
    t.len = 0;
    if (repeats > 0) {
        kr_buf_printf(&t, "%lld calibration requests belong to the cluster of an earlier one: the binomial test "
                          "is refused unless --assume-independent is given", (long long)repeats);
        put(kr_buf_text(&t), to);
    }
    for (int s = KR_SPLIT_CAL; s <= KR_SPLIT_TEST; s++) {
        kr_repeats r;
        t.len = 0;
        if (kr_repeats_find(c, (kr_split)s, &r, NULL) != KR_OK || (r.repeats == 0 && !r.across))
            continue;
        if (r.repeats > 0)
            kr_buf_printf(&t, "%lld %s requests repeat the prompt of another (%.*s and %.*s, for example)",
                          (long long)r.repeats, s == KR_SPLIT_CAL ? "calibration" : "test",
                          (int)(r.first_len < 80 ? r.first_len : 80), r.first,
                          (int)(r.second_len < 80 ? r.second_len : 80), r.second);
        if (r.across && s == KR_SPLIT_CAL)
            kr_buf_printf(&t, "%sprompts of the calibration split are in the test split as well",
                          r.repeats > 0 ? "; " : "");
        if (t.len > 0)
            put(kr_buf_text(&t), to);
    }
    kr_buf_free(&t);
}

static void line(const char *label, const char *value) {
    if (value == NULL)
        return;
    printf("%-12s ", label);
    kr_cli_put_safe(value);
    putchar('\n');
}

static void say_remark(const char *text, void *to) {
    (void)to;
    line("note", text);
}

static void print_methods(const kr_calib *c) {
    printf("%-12s %zu, %zu policies\n", "methods", kr_calib_methods(c), kr_calib_policies(c));
    for (size_t i = 0; i < kr_calib_methods(c); i++) {
        const kr_method *m = kr_calib_method(c, i);
        kr_buf t = {0};
        for (size_t k = 0; k < m->count; k++) {
            kr_buf_puts(&t, k > 0 ? " " : "");
            kr_level_text(c, i, (int)k, &t);
        }
        printf("  ");
        kr_cli_put_safe(m->name);
        printf(": %s\n", kr_buf_text(&t));
        kr_buf_free(&t);
    }
}

static void print_tasks(const kr_calib *c) {
    printf("%-12s %zu\n", "tasks", kr_calib_tasks(c));
    for (size_t t = 0; t < kr_calib_tasks(c); t++) {
        printf("  ");
        kr_cli_put_safe(kr_calib_task(c, t));
        printf(": %lld cal, %lld test\n", (long long)kr_calib_task_n(c, KR_SPLIT_CAL, t),
               (long long)kr_calib_task_n(c, KR_SPLIT_TEST, t));
    }
}

static void print_text(const kr_calib *c) {
    const kr_calib_meta *m = kr_calib_meta_of(c);
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT], d[KR_DEC_TEXT];
    line("file", kr_calib_path(c));
    line("sha256", kr_calib_sha256(c));
    line("kind", m->kind == KR_KIND_COUNTS ? "counts" : "calibration");
    line("name", m->name);
    line("model", m->model);
    line("benchmark", m->benchmark);
    line("scorer", m->scorer);
    line("protocol", m->protocol);
    line("source", m->source);
    printf("%-12s %lld cal, %lld test\n", "requests", (long long)kr_calib_n(c, KR_SPLIT_CAL),
           (long long)kr_calib_n(c, KR_SPLIT_TEST));
    if (m->kind == KR_KIND_CALIBRATION)
        printf("%-12s %s to %s\n", "utility", kr_dec_text(kr_nano_dec(m->utility_min), a),
               kr_dec_text(kr_nano_dec(m->utility_max), b));
    if (m->has_contract)
        printf("%-12s tolerance %s, risk %s %%, confidence %s %%%s%s\n", "contract",
               kr_dec_fixed(m->tolerance, 2, a), kr_dec_percent(m->risk, 0, b),
               kr_dec_percent(m->confidence, 0, d), m->contract_method != NULL ? ", method " : "",
               m->contract_method != NULL ? m->contract_method : "");
    if (m->has_kv)
        printf("%-12s %lld layers, %lld KV heads, head dim %lld, %lld bytes: %lld bytes per token\n",
               "kv", (long long)m->kv_layers, (long long)m->kv_heads, (long long)m->kv_head_dim,
               (long long)m->kv_bytes,
               (long long)(2 * m->kv_layers * m->kv_heads * m->kv_head_dim * m->kv_bytes));
    print_tasks(c);
    print_methods(c);
    remarks(c, say_remark, NULL);
}

static void json_remark(const char *text, void *to) {
    kr_buf *b = to;
    kr_buf_puts(b, b->len > 0 && b->s[b->len - 1] == '[' ? "" : ",");
    kr_json_put_string(b, text);
}

static void json_text(kr_buf *b, const char *key, const char *value) {
    kr_buf_printf(b, ",\"%s\":", key);
    if (value == NULL)
        kr_buf_puts(b, "null");
    else
        kr_json_put_string(b, value);
}

static void print_json(const kr_calib *c) {
    const kr_calib_meta *m = kr_calib_meta_of(c);
    kr_buf b = {0};
    kr_buf_puts(&b, "{\"version\":1");
    json_text(&b, "file", kr_calib_path(c));
    json_text(&b, "sha256", kr_calib_sha256(c));
    json_text(&b, "kind", m->kind == KR_KIND_COUNTS ? "counts" : "calibration");
    json_text(&b, "name", m->name);
    json_text(&b, "model", m->model);
    json_text(&b, "benchmark", m->benchmark);
    json_text(&b, "scorer", m->scorer);
    json_text(&b, "protocol", m->protocol);
    kr_buf_printf(&b, ",\"requests\":{\"cal\":%lld,\"test\":%lld},\"policies\":%zu,\"tasks\":[",
                  (long long)kr_calib_n(c, KR_SPLIT_CAL), (long long)kr_calib_n(c, KR_SPLIT_TEST),
                  kr_calib_policies(c));
    for (size_t t = 0; t < kr_calib_tasks(c); t++) {
        kr_buf_puts(&b, t > 0 ? ",{\"task\":" : "{\"task\":");
        kr_json_put_string(&b, kr_calib_task(c, t));
        kr_buf_printf(&b, ",\"cal\":%lld,\"test\":%lld}",
                      (long long)kr_calib_task_n(c, KR_SPLIT_CAL, t),
                      (long long)kr_calib_task_n(c, KR_SPLIT_TEST, t));
    }
    kr_buf_puts(&b, "],\"methods\":[");
    for (size_t i = 0; i < kr_calib_methods(c); i++) {
        kr_buf_puts(&b, i > 0 ? ",{\"method\":" : "{\"method\":");
        kr_json_put_string(&b, kr_calib_method(c, i)->name);
        kr_buf_printf(&b, ",\"candidates\":%zu}", kr_calib_method(c, i)->count);
    }
    kr_buf_puts(&b, "],\"notes\":[");
    remarks(c, json_remark, &b);
    kr_buf_puts(&b, "]}\n");
    fwrite(kr_buf_text(&b), 1, b.len, stdout);
    kr_buf_free(&b);
}

int kr_cli_info(int argc, char **argv) {
    static const struct option options[] = {{"json", no_argument, NULL, OPT_JSON},
                                            {"help", no_argument, NULL, OPT_HELP},
                                            {NULL, 0, NULL, 0}};
    bool json = false;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == OPT_HELP) {
            fputs(help, stdout);
            return KR_EXIT_OK;
        }
        if (o != OPT_JSON)
            return KR_EXIT_USAGE;
        json = true;
    }
    if (argc - optind != 1)
        return kr_cli_say("info", KR_EXIT_USAGE, "expected one FILE (see kvrisk info --help)");
    kr_calib *c;
    kr_error e;
    if (kr_calib_load(argv[optind], &c, &e) != KR_OK)
        return kr_cli_say("info", KR_EXIT_ERROR, "%s", e.msg);
    if (json)
        print_json(c);
    else
        print_text(c);
    kr_calib_free(c);
    return kr_cli_done("info", KR_EXIT_OK);
}
