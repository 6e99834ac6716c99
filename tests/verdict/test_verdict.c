#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/certificate.h"
#include "verdict/grid.h"
#include "verdict/verdict.h"

static kr_dec dec(const char *s) {
    kr_dec d;
    assert_int_equal(kr_dec_parse(s, strlen(s), &d, NULL), KR_OK);
    return d;
}

static kr_contract contract(const char *tolerance, const char *risk, const char *confidence) {
    return (kr_contract){dec(tolerance), dec(risk), dec(confidence)};
}

typedef struct {
    kr_calib *c;
    kr_analysis *a;
} opened;

static opened open_with(const char *path, kr_analysis_options o) {
    opened x = {NULL, NULL};
    kr_error e = {0};
    if (kr_calib_load(path, &x.c, &e) != KR_OK || kr_analysis_new(x.c, o, &x.a, &e) != KR_OK)
        fail_msg("%s", e.msg);
    return x;
}

static opened open_file(const char *path) {
    return open_with(path, (kr_analysis_options){.split = KR_SPLIT_CAL});
}

/* A calibration set from text, in a file that is gone again. */
static opened open_text(const char *text, kr_analysis_options o) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/kvrisk-verdict-%ld", (long)getpid());
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
    opened x = open_with(path, o);
    unlink(path);
    return x;
}

static void close_file(opened x) {
    kr_analysis_free(x.a);
    kr_calib_free(x.c);
}

static size_t method(const opened *x, const char *name) {
    int i = kr_calib_find_method(x->c, name);
    assert_true(i >= 0);
    return (size_t)i;
}

static const char *level(const opened *x, const char *name, bool empirical) {
    static kr_buf b;
    const kr_line *l = kr_analysis_line(x->a, method(x, name));
    b.len = 0;
    kr_level_text(x->c, l->method, empirical ? l->empirical : l->certified, &b);
    return kr_buf_text(&b);
}

static const char *sentence(const opened *x, const char *name) {
    static kr_buf b;
    b.len = 0;
    kr_statement(x->a, method(x, name), &b);
    return kr_buf_text(&b);
}

static void assert_has(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, text);
}

static void assert_lacks(const char *text, const char *part) {
    if (strstr(text, part) != NULL)
        fail_msg("'%s' is in '%s'", part, text);
}

static void the_bundled_sample_is_certified_as_measured(void **state) {
    (void)state;
    static const struct {
        const char *method, *certified, *empirical;
        int stop_events; /* 0: not asserted */
    } rows[] = {{"keydiff", "30", "25", 29},          {"snapkv", "65", "55", 24},
                {"adakv", "65", "60", 30},            {"defensivekv_like", "75", "70", 24},
                {"h2o", "FULL", "80", 25},            {"random", "FULL", "FULL", 155},
                {"streaming_llm", "FULL", "FULL", 186}, {"tova", "FULL", "FULL", 362},
                {"knorm", "FULL", "FULL", 572}};
    opened x = open_file("tests/fixtures/prototype/mini-ruler.jsonl");
    assert_int_equal(kr_analysis_max_events(x.a), 20);
    assert_int_equal(kr_analysis_state(x.a), KR_STATE_LOCKED);
    assert_int_equal(kr_analysis_certified_count(x.a), 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(level(&x, rows[i].method, false), rows[i].certified);
        assert_string_equal(level(&x, rows[i].method, true), rows[i].empirical);
        assert_int_equal(kr_analysis_line(x.a, method(&x, rows[i].method))->stopped_events,
                         rows[i].stop_events);
    }
    assert_has(sentence(&x, "snapkv"), "With probability at least 95 % over the draw of the 600");
    assert_has(sentence(&x, "snapkv"), "task-uniform mixture of 6 tasks");
    assert_has(sentence(&x, "h2o"), "25 events of 600, at most 20 allowed");
    close_file(x);
}

static void published_counts_are_judged_as_published(void **state) {
    (void)state;
    opened x = open_file("data/samples/published-llama31-8b-longbench.json");
    assert_int_equal(kr_analysis_max_events(x.a), 47);
    assert_int_equal(kr_analysis_state(x.a), KR_STATE_WHAT_IF);
    assert_int_equal(kr_analysis_certified_count(x.a), 4);
    assert_string_equal(level(&x, "layer_defensivekv", false), "35");
    assert_has(sentence(&x, "snapkv"), "If every earlier candidate passed, as published");
    kr_error e;
    assert_int_equal(kr_analysis_set(x.a, contract("0.2", "0.05", "0.95"), &e), KR_EINVAL);
    assert_has(e.msg, "published at tolerance 0.10");
    assert_int_equal(kr_analysis_set(x.a, contract("0.1", "0.03", "0.95"), &e), KR_OK);
    close_file(x);
    x = open_file("data/samples/published-llama31-8b-ruler32k.json");
    assert_int_equal(kr_analysis_max_events(x.a), 51);
    assert_string_equal(level(&x, "snapkv", false), "FULL");
    assert_int_equal(kr_analysis_line(x.a, method(&x, "layer_defensivekv"))->certified_events, 51);
    close_file(x);
    x = open_file("data/samples/published-llama31-8b-longbench-refreekv.json");
    assert_string_equal(level(&x, "refreekv", false), "thr 0.0005");
    assert_string_equal(level(&x, "refreekv", true), "thr 0.001");
    assert_int_equal(kr_analysis_line(x.a, 0)->stopped, 1);
    assert_false(kr_analysis_line(x.a, 0)->empirical_certified);
    close_file(x);
}

static void any_other_contract_is_what_if_until_it_is_back(void **state) {
    (void)state;
    opened x = open_file("tests/fixtures/prototype/mini-ruler.jsonl");
    kr_error e;
    assert_int_equal(kr_analysis_set(x.a, contract("0.11", "0.05", "0.95"), &e), KR_OK);
    assert_int_equal(kr_analysis_state(x.a), KR_STATE_WHAT_IF);
    assert_int_equal(kr_analysis_contract_source(x.a), KR_FROM_USER);
    assert_has(sentence(&x, "keydiff"), "What-if, no guarantee");
    assert_int_equal(kr_analysis_set(x.a, contract("0.100", "0.050", "0.950"), &e), KR_OK);
    assert_int_equal(kr_analysis_state(x.a), KR_STATE_LOCKED);
    assert_int_equal(kr_analysis_contract_source(x.a), KR_FROM_FILE);
    assert_lacks(sentence(&x, "keydiff"), "What-if");
    close_file(x);
}

static void a_contract_out_of_its_domain_changes_nothing(void **state) {
    (void)state;
    static const char *const bad[][3] = {{"-0.1", "0.05", "0.95"}, {"0.1", "0", "0.95"},
                                         {"0.1", "1", "0.95"},     {"0.1", "0.05", "1"},
                                         {"0.1", "0.05", "0.4"},   {"0.1", "1.5", "0.95"},
                                         {"99999999999", "0.05", "0.95"}};
    opened x = open_file("tests/fixtures/prototype/mini-ruler.jsonl");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kr_error e = {0};
        assert_int_equal(kr_analysis_set(x.a, contract(bad[i][0], bad[i][1], bad[i][2]), &e),
                         KR_EINVAL);
        assert_true(strlen(e.msg) > 10);
        assert_string_equal(level(&x, "snapkv", false), "65");
        assert_int_equal(kr_analysis_state(x.a), KR_STATE_LOCKED);
    }
    close_file(x);
}

static void too_few_requests_are_said_to_be_too_few(void **state) {
    (void)state;
    opened x = open_file("tests/fixtures/prototype/mini-ruler.jsonl");
    kr_error e;
    kr_buf b = {0};
    assert_int_equal(kr_analysis_set(x.a, contract("0.1", "0.001", "0.95"), &e), KR_OK);
    assert_int_equal(kr_analysis_max_events(x.a), -1);
    assert_int_equal(kr_analysis_state(x.a), KR_STATE_N_TOO_SMALL);
    assert_int_equal(kr_analysis_certified_count(x.a), 0);
    kr_analysis_state_sentence(x.a, &b);
    assert_has(kr_buf_text(&b), "it needs at least 2995"); /* ceil(ln .05 / ln .999) */
    assert_has(sentence(&x, "keydiff"), "too few");
    kr_buf_free(&b);
    close_file(x);
}

#define HEAD(extra)                                                                                \
    "{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":1},\"tasks\":[\"a\",\"b\"]," \
    extra "\"policies\":[{\"method\":\"m\",\"retention\":0.8},{\"method\":\"k\",\"retention\":0.5}]}\n"
#define CONTRACT(more) "\"contract\":{\"tolerance\":0.1,\"risk\":0.05,\"confidence\":0.95" more "},"

/* n requests without any drop; the first `clustered` share one cluster. */
static char *rows(const char *head, int n, int clustered, bool uneven) {
    kr_buf b = {0};
    kr_buf_puts(&b, head);
    for (int i = 0; i < n; i++)
        kr_buf_printf(&b, "{\"id\":\"%d\",\"task\":\"%c\",%s\"full\":1,\"utility\":[1,1]}\n", i,
                      uneven ? (i == 0 ? 'a' : 'b') : "ab"[i % 2],
                      i < clustered ? "\"cluster\":\"c\"," : "");
    return kr_buf_take(&b);
}

static const kr_analysis_options plain = {.split = KR_SPLIT_CAL},
                                 assume = {.split = KR_SPLIT_CAL, .assume_independent = true};

static void shared_clusters_refuse_the_binomial_test(void **state) {
    (void)state;
    char *text = rows(HEAD(CONTRACT("")), 100, 2, false);
    opened x = open_text(text, plain);
    kr_buf b = {0};
    assert_int_equal(kr_analysis_state(x.a), KR_STATE_REFUSED);
    assert_int_equal(kr_analysis_line(x.a, 0)->certified, -1);
    assert_int_equal(kr_analysis_candidate(x.a, 0, 0).verdict, KR_VERDICT_UNTESTED);
    assert_has(sentence(&x, "m"), "not independent");
    kr_point p;
    assert_int_equal(kr_analysis_at(x.a, 0, contract("0.1", "0.05", "0.95"), &p, NULL), KR_OK);
    assert_int_equal(p.certified, -1);
    close_file(x);
    x = open_text(text, assume);
    assert_int_equal(kr_analysis_line(x.a, 0)->certified, 0);
    assert_has(sentence(&x, "m"), "Assuming that requests of one cluster are independent");
    kr_analysis_state_sentence(x.a, &b);
    assert_has(kr_buf_text(&b), "assumed independent");
    kr_buf_free(&b);
    close_file(x);
    free(text);
}

static void unequal_strata_never_claim_the_task_uniform_mixture(void **state) {
    (void)state;
    char *text = rows(HEAD(CONTRACT("")), 100, 0, true);
    opened x = open_text(text, plain);
    assert_has(sentence(&x, "m"), "as-sampled mixture of 2 tasks (unequal numbers");
    assert_lacks(sentence(&x, "m"), "of the task-uniform mixture");
    close_file(x);
    free(text);
}

static void a_task_without_requests_is_in_no_claim(void **state) {
    (void)state;
    kr_buf b = {0};
    kr_buf_puts(&b, HEAD(CONTRACT("")));
    for (int i = 0; i < 100; i++)
        kr_buf_printf(&b, "{\"id\":\"%d\",\"task\":\"a\",\"full\":1,\"utility\":[1,1]}\n", i);
    opened x = open_text(b.s, plain);
    assert_has(sentence(&x, "m"), "as-sampled mixture of 1 of the 2 tasks (the others have no requests)");
    close_file(x);
    kr_buf_free(&b);
}

static void percent_scales_have_a_tolerance_in_their_unit(void **state) {
    (void)state;
    opened x = open_text("{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":100},"
                         "\"tasks\":[\"a\"],\"policies\":[{\"method\":\"m\",\"retention\":0.8}]}\n"
                         "{\"id\":\"1\",\"task\":\"a\",\"full\":90,\"utility\":[81]}\n", plain);
    assert_int_equal(kr_dec_cmp(kr_analysis_contract(x.a).tolerance, dec("10")), 0);
    assert_int_equal(kr_analysis_candidate(x.a, 0, 0).events, 0);
    close_file(x);
}

static void a_declared_method_covers_its_line_only(void **state) {
    (void)state;
    char *text = rows(HEAD(CONTRACT(",\"method\":\"k\"")), 100, 0, false);
    opened x = open_text(text, plain);
    assert_int_equal(kr_analysis_line_state(x.a, method(&x, "k")), KR_STATE_LOCKED);
    assert_int_equal(kr_analysis_line_state(x.a, method(&x, "m")), KR_STATE_WHAT_IF);
    close_file(x);
    free(text);
}

static void a_declared_family_shares_the_error_level(void **state) {
    (void)state;
    char *text = rows(HEAD(CONTRACT(",\"family\":true")), 60, 0, false);
    opened x = open_text(text, plain);
    /* 0 of 60 events certify at delta = 0.05 (0.95^60 = 0.046) but not at 0.025 */
    assert_int_equal(kr_analysis_max_events(x.a), -1);
    assert_int_equal(kr_analysis_level(x.a).den, 2);
    close_file(x);
    free(text);
    text = rows(HEAD(CONTRACT("")), 60, 0, false);
    x = open_text(text, plain);
    assert_int_equal(kr_analysis_max_events(x.a), 0);
    close_file(x);
    free(text);
}

static void without_a_declared_contract_everything_is_what_if(void **state) {
    (void)state;
    char *text = rows(HEAD(""), 100, 0, false);
    opened x = open_text(text, plain);
    assert_int_equal(kr_analysis_state(x.a), KR_STATE_WHAT_IF);
    assert_int_equal(kr_analysis_contract_source(x.a), KR_FROM_DEFAULT);
    close_file(x);
    free(text);
}

static void a_point_elsewhere_equals_setting_the_contract(void **state) {
    (void)state;
    opened x = open_file("tests/fixtures/prototype/mini-ruler.jsonl");
    kr_error e;
    for (int i = 0; i < 300; i++) {
        kr_contract k = {kr_dec_make(i % 7 * 5, 2), kr_dec_make(1 + i % 19, 2),
                         kr_dec_make(50 + i % 50, 2)};
        kr_point p[9];
        for (size_t m = 0; m < 9; m++)
            assert_int_equal(kr_analysis_at(x.a, m, k, &p[m], &e), KR_OK);
        assert_int_equal(kr_analysis_set(x.a, k, &e), KR_OK);
        for (size_t m = 0; m < 9; m++) {
            const kr_line *l = kr_analysis_line(x.a, m);
            assert_int_equal(l->certified, p[m].certified);
            assert_int_equal(l->empirical, p[m].empirical);
            assert_int_equal(l->stopped_events, p[m].stopped_events);
            /* The candidates tell the same story. */
            for (size_t j = 0; j < kr_calib_method(x.c, m)->count; j++) {
                kr_candidate_row r = kr_analysis_candidate(x.a, m, j);
                double delta = kr_level_double(kr_analysis_level(x.a));
                if ((int)j <= l->certified)
                    assert_true(r.p_value <= delta && r.upper_bound <= kr_dec_double(k.risk) + 1e-12);
                if ((int)j == l->stopped)
                    assert_true(r.p_value > delta);
            }
        }
    }
    close_file(x);
}

static void task_rows_add_up_and_flag_what_they_show(void **state) {
    (void)state;
    opened x = open_file("tests/fixtures/prototype/mini-ruler.jsonl");
    kr_task_row rows6[6];
    kr_error e;
    size_t m = method(&x, "snapkv");
    for (size_t j = 0; j < 13; j++) {
        size_t policy = kr_calib_method(x.c, m)->first + j;
        assert_int_equal(kr_analysis_tasks(x.a, policy, rows6, &e), KR_OK);
        int64_t sum = 0;
        for (size_t t = 0; t < 6; t++) {
            sum += rows6[t].events;
            assert_int_equal(rows6[t].n, 100);
            assert_true(rows6[t].lower <= rows6[t].rate && rows6[t].rate <= rows6[t].upper);
            kr_task_flag want = rows6[t].lower > 0.05   ? KR_TASK_VIOLATES
                                : rows6[t].upper > 0.05 ? KR_TASK_NOT_SHOWN
                                                        : KR_TASK_OK;
            assert_int_equal(rows6[t].flag, want);
        }
        assert_int_equal(sum, kr_analysis_candidate(x.a, m, j).events);
    }
    close_file(x);
    x = open_file("data/samples/published-llama31-8b-longbench.json");
    assert_int_equal(kr_analysis_tasks(x.a, 0, rows6, &e), KR_EINVAL);
    close_file(x);
}

static void grids_have_exact_steps(void **state) {
    (void)state;
    char t[KR_DEC_TEXT];
    kr_dec v[3];
    size_t n;
    assert_string_equal(kr_dec_text(kr_grid_step(dec("0"), dec("0.5"), 1, 11), t), "0.05");
    assert_string_equal(kr_dec_text(kr_grid_step(dec("0.01"), dec("0.1"), 1, 4), t), "0.04");
    assert_string_equal(kr_dec_text(kr_grid_step(dec("0"), dec("1"), 1, 4), t), "0.333333333");
    assert_string_equal(kr_dec_text(kr_grid_step(dec("1"), dec("0"), 2, 4), t), "0.333333333");
    assert_string_equal(kr_dec_text(kr_grid_step(dec("0.2"), dec("0.1"), 3, 4), t), "0.1");
    assert_int_equal(kr_grid_parse("0.1,5%,1", v, 3, &n, NULL), KR_OK);
    assert_int_equal(n, 3);
    assert_int_equal(kr_grid_parse("0.1,", v, 3, &n, NULL), KR_EINVAL);
    assert_int_equal(kr_grid_parse("1,2,3,4", v, 3, &n, NULL), KR_EINVAL);
}

static void exports_carry_the_state_and_the_hash(void **state) {
    (void)state;
    opened x = open_file("tests/fixtures/prototype/mini-ruler.jsonl");
    kr_buf b = {0};
    kr_export_point(x.a, method(&x, "snapkv"), "for \"server\" 7", &b);
    assert_has(b.s, "\"state\":\"LOCKED\"");
    assert_has(b.s, kr_calib_sha256(x.c));
    assert_has(b.s, "\"note\":\"for \\\"server\\\" 7\"");
    assert_has(b.s, "\"retention\":0.65");
    b.len = 0;
    kr_export_point_csv(x.a, method(&x, "h2o"), "=cmd()", &b);
    assert_has(b.s, "h2o,fallback,LOCKED,1,");
    assert_has(b.s, "\"'=cmd()\"");
    kr_buf_free(&b);
    close_file(x);
}

static void a_csv_of_points_grows_by_rows(void **state) {
    (void)state;
    opened x = open_file("tests/fixtures/prototype/mini-ruler.jsonl");
    char path[64];
    kr_error e;
    snprintf(path, sizeof path, "/tmp/kvrisk-points-%ld.csv", (long)getpid());
    for (int i = 0; i < 3; i++)
        assert_int_equal(kr_export_point_append(x.a, (size_t)i, NULL, path, &e), KR_OK);
    char *text;
    size_t len, lines = 0;
    assert_int_equal(kr_file_read(path, 100000, &text, &len, &e), KR_OK);
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, 4);
    free(text);
    assert_int_equal(kr_file_write(path, "other\n", 6, true, &e), KR_OK);
    assert_int_equal(kr_export_point_append(x.a, 0, NULL, path, &e), KR_EFORMAT);
    unlink(path);
    close_file(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bundled_sample_is_certified_as_measured),
        cmocka_unit_test(published_counts_are_judged_as_published),
        cmocka_unit_test(any_other_contract_is_what_if_until_it_is_back),
        cmocka_unit_test(a_contract_out_of_its_domain_changes_nothing),
        cmocka_unit_test(too_few_requests_are_said_to_be_too_few),
        cmocka_unit_test(shared_clusters_refuse_the_binomial_test),
        cmocka_unit_test(unequal_strata_never_claim_the_task_uniform_mixture),
        cmocka_unit_test(a_task_without_requests_is_in_no_claim),
        cmocka_unit_test(percent_scales_have_a_tolerance_in_their_unit),
        cmocka_unit_test(a_declared_method_covers_its_line_only),
        cmocka_unit_test(a_declared_family_shares_the_error_level),
        cmocka_unit_test(without_a_declared_contract_everything_is_what_if),
        cmocka_unit_test(a_point_elsewhere_equals_setting_the_contract),
        cmocka_unit_test(task_rows_add_up_and_flag_what_they_show),
        cmocka_unit_test(grids_have_exact_steps),
        cmocka_unit_test(exports_carry_the_state_and_the_hash),
        cmocka_unit_test(a_csv_of_points_grows_by_rows),
    };
    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
