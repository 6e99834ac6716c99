#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "calib/calib.h"
#include "calib/sortdrops.h"

static char path[64], path2[64];

static int make_paths(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/kvrisk-native-%ld", (long)getpid());
    snprintf(path2, sizeof path2, "/tmp/kvrisk-native2-%ld", (long)getpid());
    return 0;
}

static int remove_paths(void **state) {
    (void)state;
    unlink(path);
    unlink(path2);
    return 0;
}

static kr_status load_bytes(const char *text, size_t len, kr_calib **c, kr_error *e) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fwrite(text, 1, len, f);
    fclose(f);
    return kr_calib_load(path, c, e);
}

static kr_calib *load_ok(const char *text) {
    kr_calib *c = NULL;
    kr_error e = {0};
    if (load_bytes(text, strlen(text), &c, &e) != KR_OK)
        fail_msg("%s", e.msg);
    return c;
}

/* The message without the file's name in front. */
static const char *message(const char *text) {
    static kr_error e;
    kr_calib *c = NULL;
    if (load_bytes(text, strlen(text), &c, &e) == KR_OK) {
        kr_calib_free(c);
        return "accepted";
    }
    return strncmp(e.msg, path, strlen(path)) == 0 ? e.msg + strlen(path) : e.msg;
}

#define HEAD                                                                                      \
    "{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":1},"                   \
    "\"tasks\":[\"a\",\"b\"],\"policies\":[{\"method\":\"m\",\"retention\":0.8},"                 \
    "{\"method\":\"m\",\"retention\":0.5}]}\n"
#define ROW1 "{\"id\":\"r1\",\"task\":\"a\",\"full\":1,\"utility\":[1,0.9]}\n"
#define ROW2 "{\"id\":\"r2\",\"task\":\"b\",\"full\":0.8,\"utility\":[0.7,null]}\n"

static void counts_drops_exactly(void **state) {
    (void)state;
    kr_calib *c = load_ok(HEAD ROW1 ROW2);
    assert_int_equal(kr_calib_n(c, KR_SPLIT_CAL), 2);
    assert_int_equal(kr_calib_n(c, KR_SPLIT_TEST), 0);
    assert_int_equal(kr_calib_methods(c), 1);
    assert_int_equal(kr_calib_method(c, 0)->count, 2);
    /* drops: policy 0: 0 and 0.1; policy 1: 0.1 and missing */
    assert_int_equal(kr_calib_events(c, 0, KR_SPLIT_CAL, 100000000), 0);
    assert_int_equal(kr_calib_events(c, 0, KR_SPLIT_CAL, 99999999), 1);
    assert_int_equal(kr_calib_events(c, 0, KR_SPLIT_CAL, 0), 1);
    assert_int_equal(kr_calib_events(c, 1, KR_SPLIT_CAL, 100000000), 1);
    assert_int_equal(kr_calib_events(c, 1, KR_SPLIT_CAL, KR_NANO_MAX), 1);
    assert_int_equal(kr_calib_missing(c, 1, KR_SPLIT_CAL), 1);
    assert_int_equal(kr_calib_drop(c, 1, KR_SPLIT_CAL, 0), 100000000);
    assert_true(kr_calib_drop(c, 1, KR_SPLIT_CAL, 1) == INT64_MAX);
    assert_true(kr_calib_row_drop(c, 1, 1) == INT64_MAX);
    assert_true(kr_calib_utility(c, 1, 1) == KR_MISSING);
    assert_true(kr_calib_task_uniform(c, KR_SPLIT_CAL));
    kr_calib_free(c);
}

static void accepts_other_spellings(void **state) {
    (void)state;
    static const char *const good[] = {
        "\xEF\xBB\xBF" HEAD ROW1,
        "\n\n" HEAD "\n" ROW1 "\n",
        "[" "{\"kvrisk\":1,\"kind\":\"calibration\",\n\"utility\":{\"min\":0,\"max\":1},"
        "\"tasks\":[\"a\"],\"policies\":[{\"method\":\"m\",\"retention\":0.8},{\"method\":\"m\","
        "\"retention\":0.5}]},\n" ROW1 "]",
        "{\"kvrisk\":1,\n\"requests\":[" ROW1 "],\"kind\":\"calibration\",\"utility\":{\"min\":0,"
        "\"max\":1},\"tasks\":[\"a\"],\"policies\":[{\"method\":\"m\",\"retention\":0.8},"
        "{\"method\":\"m\",\"retention\":0.5}]}",
        "{\"kvrisk\":1,\"kind\":\"calibration\",\r\n\"utility\":{\"min\":0,\"max\":1},\"tasks\":["
        "\"a\"],\r\n\"policies\":[{\"method\":\"m\",\"retention\":0.8},{\"method\":\"m\","
        "\"retention\":0.5}]}\r\n" ROW1,
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        kr_calib *c = load_ok(good[i]);
        assert_int_equal(kr_calib_n(c, KR_SPLIT_CAL), 1);
        assert_int_equal(kr_calib_events(c, 1, KR_SPLIT_CAL, 0), 1);
        assert_int_equal(strlen(kr_calib_sha256(c)), 64);
        kr_calib_free(c);
    }
    kr_buf crlf = {0};
    for (const char *p = HEAD ROW1 ROW2; *p; p++) {
        if (*p == '\n')
            kr_buf_puts(&crlf, "\r");
        kr_buf_add(&crlf, p, 1);
    }
    kr_calib *c = load_ok(crlf.s);
    assert_int_equal(kr_calib_n(c, KR_SPLIT_CAL), 2);
    kr_calib_free(c);
    kr_buf_free(&crlf);
}

#define BAD_POLICIES(p)                                                                           \
    "{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":1},\"tasks\":[\"a\"],"  \
    "\"policies\":[" p "]}\n"

static void refuses_with_a_place_and_a_sentence(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", ":1:1: the file is empty, expected a header object"},
        {"hello", ":1:1: found 'h', expected an object"},
        {"[]", ":1:1: the file is empty, expected a header object"},
        {"{\"a\":1}", ":1:1: no \"kvrisk\" key: not a kvrisk file (kvrisk import reads other formats)"},
        {"{\"kvrisk\":2,\"kind\":\"calibration\"}", ":1:11: format version 2, expected 1"},
        {"{\"kvrisk\":1,\"kind\":\"x\"}",
         ":1:20: kind is \"x\", expected \"calibration\" or \"counts\""},
        {"{\"kvrisk\":1}", ":1:1: the header needs \"kind\""},
        {"{\"kvrisk\":1,\"kind\":\"calibration\"}", ":1:1: the header needs \"utility\""},
        {HEAD, ":1:1: there is no request, expected at least one"},
        {HEAD ROW1 ROW1, ":3:7: request id \"r1\" appears twice"},
        {HEAD "{\"id\":\"x\",\"task\":\"z\",\"full\":1,\"utility\":[1,1]}",
         ":2:18: task \"z\" is not among the header's tasks"},
        {HEAD "{\"id\":\"x\",\"task\":\"a\",\"full\":1,\"utility\":[1]}",
         ":2:41: \"utility\" has 1 values, expected 2, one per policy"},
        {HEAD "{\"id\":\"x\",\"task\":\"a\",\"full\":1,\"utility\":[1,1,1]}",
         ":2:46: \"utility\" has more than 2 values, one per policy"},
        {HEAD "{\"id\":\"x\",\"task\":\"a\",\"full\":1,\"utility\":[1,1,]}",
         ":2:46: found ']', expected a value"},
        {"{\"kvrisk\":1,\"kind\":\"calibration\",\"n\":3,\"utility\":{\"min\":0,\"max\":1},\"tasks\":["
         "\"a\"],\"policies\":[{\"method\":\"m\",\"retention\":0.8},{\"method\":\"m\",\"retention\":0.5}]}\n"
         ROW1,
         ": the header announces 3 requests, found 1: the file is cut or has grown"},
        {"{\"kvrisk\":1,\"kind\":\"calibration\",\"contract\":{\"tolerance\":0.1,\"risk\":0.05,"
         "\"confidence\":0.4}}",
         ":1:45: the declared confidence must be at least 0.5 and below 1"},
        {HEAD "{\"id\":\"x\",\"task\":\"a\",\"full\":1,\"utility\":[1,1.5]}",
         ":2:44: utility 1.5 is outside the declared range 0 to 1"},
        {HEAD "{\"id\":\"x\",\"task\":\"a\",\"full\":-0.1,\"utility\":[1,1]}",
         ":2:29: utility -0.1 is outside the declared range 0 to 1"},
        {HEAD "{\"id\":\"x\",\"task\":\"a\",\"full\":1,\"utility\":[1,NaN]}",
         ":2:44: found NaN, expected a number"},
        {HEAD "{\"id\":\"x\",\"task\":\"a\",\"full\":1,\"utility\":[1,1e999]}",
         ":2:44: 1e999 is out of range"},
        {HEAD "{\"id\":\"x\",\"task\":\"a\",\"full\":1,\"utility\":[1,01]}",
         ":2:44: a number may not start with 0"},
        {HEAD "{\"id\":\"x\",\"task\":\"a\",\"full\":1}", ":2:1: a request needs \"utility\""},
        {HEAD "{\"id\":\"\",\"task\":\"a\",\"full\":1,\"utility\":[1,1]}",
         ":2:7: a request id must have 1 to 4096 bytes"},
        {HEAD "{\"id\":\"x\",\"id\":\"y\"}", ":2:11: the key \"id\" appears twice"},
        {HEAD "{\"id\":\"x\",\"task\":\"a\",\"split\":\"dev\",\"full\":1,\"utility\":[1,1]}",
         ":2:30: split \"dev\", expected \"cal\" or \"test\""},
        {HEAD ROW1 "{\"id\":\"x\"", ":3:10: found the end of the text, expected ',' or '}'"},
        {HEAD ROW1 "{} {}", ":3:1: a request needs \"id\""},
        {BAD_POLICIES(""), ":1:1: there is no policy, expected at least one"},
        {BAD_POLICIES("{\"method\":\"m\",\"retention\":0}"),
         ":1:1: policy 0 (m) has retention 0, expected a share in (0, 1]"},
        {BAD_POLICIES("{\"method\":\"m\",\"retention\":1.01}"),
         ":1:1: policy 0 (m) has retention 1.01, expected a share in (0, 1]"},
        {BAD_POLICIES("{\"method\":\"m\",\"retention\":0.5},{\"method\":\"m\",\"retention\":0.5}"),
         ":1:1: policy 1 (m) has retention 0.5 after 0.5; a candidate sequence must fall strictly, "
         "most conservative first"},
        {BAD_POLICIES("{\"method\":\"m\",\"threshold\":0.5},{\"method\":\"m\",\"threshold\":0.4}"),
         ":1:1: policy 1 (m) has threshold 0.4 after 0.5; thresholds must rise strictly, most "
         "conservative first"},
        {BAD_POLICIES("{\"method\":\"m\",\"retention\":0.5},{\"method\":\"k\"},{\"method\":\"m\","
                      "\"retention\":0.4}"),
         ":1:1: the policies of method m are not next to each other"},
        {BAD_POLICIES("{\"method\":\"m\",\"retention\":null},{\"method\":\"m\",\"retention\":0.4}"),
         ":1:1: policy 1 (m): a method with several candidates needs a retention for each, or a "
         "threshold for each"},
        {BAD_POLICIES("{\"retention\":0.5}"), ":1:88: a policy needs a \"method\""},
        {"{\"kvrisk\":1,\"kind\":\"counts\",\"tolerance\":0.1,\"n\":10,\"policies\":[{\"method\":"
         "\"m\",\"retention\":0.5,\"events\":11}]}",
         ":1:1: policy 0 has 11 events among 10 requests"},
        {"{\"kvrisk\":1,\"kind\":\"counts\",\"tolerance\":0.1,\"n\":10,\"policies\":[{\"method\":"
         "\"m\",\"retention\":0.5}]}",
         ":1:64: a policy of published counts needs \"events\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(message(rows[i].text), rows[i].message);
}

static void a_nesting_bomb_is_refused(void **state) {
    (void)state;
    kr_buf b = {0};
    kr_buf_puts(&b, HEAD "{\"id\":\"x\",\"extra\":");
    for (int i = 0; i < 100000; i++)
        kr_buf_puts(&b, "[");
    assert_non_null(strstr(message(b.s), "nested deeper than 64 levels"));
    kr_buf_free(&b);
}

static void missing_full_utility_is_an_event_of_every_policy(void **state) {
    (void)state;
    kr_calib *c = load_ok(HEAD "{\"id\":\"x\",\"task\":\"a\",\"full\":null,\"utility\":[1,1]}");
    assert_int_equal(kr_calib_events(c, 0, KR_SPLIT_CAL, KR_NANO), 1);
    assert_int_equal(kr_calib_missing(c, 1, KR_SPLIT_CAL), 1);
    assert_int_equal(kr_calib_utility(c, 0, 1), KR_NANO);
    kr_calib_free(c);
}

static void saving_keeps_everything(void **state) {
    (void)state;
    const char *text =
        "{\"kvrisk\":1,\"kind\":\"calibration\",\"name\":\"n \\u00e9 \\\"q\\\"\",\"x\":{\"deep\":[1]},"
        "\"utility\":{\"min\":-0.5,\"max\":100},\"kv\":{\"layers\":2,\"kv_heads\":1,\"head_dim\":4,"
        "\"bytes\":2},\"contract\":{\"tolerance\":0.10,\"risk\":0.05,\"confidence\":0.95,\"method\":"
        "\"m\",\"declared\":\"2026-01-01\",\"family\":true},\"tasks\":[\"a\",\"b\"],\"policies\":["
        "{\"method\":\"m\",\"retention\":0.875,\"mean_retained\":0.8751,\"tag\":\"t\"},{\"method\":"
        "\"r\",\"threshold\":0.0005}],\"sources\":[{\"path\":\"p\",\"sha256\":\"ab\"}]}\n"
        "{\"id\":\"\\\"q\\\"\",\"task\":\"b\",\"split\":\"test\",\"tokens\":12,\"cluster\":\"c\","
        "\"full\":99.123456789,\"full2\":3,\"utility\":[-0.5,null],\"retained\":[0.87,0.5],"
        "\"note\":{\"k\":1}}\n{\"id\":\"z\",\"task\":\"a\",\"full\":1,\"utility\":[0,1e-9]}\n";
    kr_calib *c = load_ok(text);
    kr_error e = {0};
    assert_int_equal(kr_calib_save(c, path2, true, &e), KR_OK);
    kr_calib *d = NULL;
    if (kr_calib_load(path2, &d, &e) != KR_OK)
        fail_msg("%s", e.msg);
    assert_int_equal(kr_calib_save(d, path, true, &e), KR_OK);
    char *x, *y;
    size_t n, m;
    assert_int_equal(kr_file_read(path, 100000, &x, &n, &e), KR_OK);
    assert_int_equal(kr_file_read(path2, 100000, &y, &m, &e), KR_OK);
    assert_string_equal(x, y);
    static const char *const kept[] = {"\"x\":{\"deep\":[1]}", "\"tag\":\"t\"", "\"note\":{\"k\":1}",
                                       "\"retained\":[0.87,0.5]", "\"family\":true", "99.123456789",
                                       "0.000000001", "\"cluster\":\"c\"", "\"full2\":3"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strstr(x, kept[i]) == NULL)
            fail_msg("lost: %s", kept[i]);
    double mean, lo, hi;
    assert_true(kr_calib_realised(d, 1, &mean, &lo, &hi));
    assert_true(mean == 0.5);
    assert_true(kr_calib_meta_of(d)->contract_family);
    free(x);
    free(y);
    kr_calib_free(c);
    kr_calib_free(d);
}

static void clusters_are_counted_per_split(void **state) {
    (void)state;
    kr_calib *c = load_ok(
        HEAD "{\"id\":\"1\",\"task\":\"a\",\"cluster\":\"d\",\"full\":1,\"utility\":[1,1]}\n"
             "{\"id\":\"2\",\"task\":\"a\",\"cluster\":\"d\",\"full\":1,\"utility\":[1,1]}\n"
             "{\"id\":\"3\",\"task\":\"a\",\"cluster\":\"e\",\"full\":1,\"utility\":[1,1]}\n"
             "{\"id\":\"4\",\"task\":\"a\",\"cluster\":7,\"split\":\"test\",\"full\":1,\"utility\":[1,1]}\n");
    assert_int_equal(kr_calib_cluster_repeats(c, KR_SPLIT_CAL), 1);
    assert_int_equal(kr_calib_cluster_repeats(c, KR_SPLIT_TEST), 0);
    assert_false(kr_calib_task_uniform(c, KR_SPLIT_CAL));
    kr_calib_free(c);
}

static uint64_t rng = 1;
static uint64_t next(void) {
    rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
    return rng;
}

static int cmp64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sorts_as_qsort_does(void **state) {
    (void)state;
    enum { N = 5000 };
    static int64_t a[N], b[N], s[N];
    static int32_t c[N], t[N];
    for (int round = 0; round < 40; round++) {
        size_t n = round < 20 ? (size_t)round * 7 : N;
        for (size_t i = 0; i < n; i++) {
            uint64_t v = next();
            a[i] = b[i] = round % 2 ? (int64_t)v : (int64_t)(v % 7) - 3;
            c[i] = round % 2 ? (int32_t)(uint32_t)v : (int32_t)a[i];
        }
        qsort(b, n, sizeof *b, cmp64);
        kr_sort_i64(a, n, s);
        kr_sort_i32(c, n, t);
        for (size_t i = 0; i < n; i++) {
            assert_true(a[i] == b[i]);
            if (i > 0)
                assert_true(c[i - 1] <= c[i]);
        }
    }
}

static void counts_agree_with_a_plain_loop(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        kr_buf b = {0};
        kr_buf_printf(&b, "{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":%d},"
                          "\"tasks\":[\"a\",\"b\",\"c\"],\"policies\":[{\"method\":\"m\","
                          "\"retention\":0.5}]}\n", wide ? 100 : 1);
        enum { N = 2500 };
        static int64_t drop[N];
        static int task[N];
        for (int i = 0; i < N; i++) {
            int64_t full = (int64_t)(next() % 1001), u = (int64_t)(next() % 1001);
            task[i] = (int)(next() % 3);
            drop[i] = (full - u) * 1000000;
            bool miss = next() % 50 == 0;
            kr_buf_printf(&b, "{\"id\":\"%d\",\"task\":\"%c\",\"full\":%d.%03d,\"utility\":[", i,
                          "abc"[task[i]], (int)full / 1000, (int)full % 1000);
            if (miss) {
                drop[i] = INT64_MAX;
                kr_buf_puts(&b, "null]}\n");
            } else {
                kr_buf_printf(&b, "%d.%03d]}\n", (int)u / 1000, (int)u % 1000);
            }
        }
        kr_calib *c = load_ok(b.s);
        kr_task_drops *t = kr_task_drops_new(c, 0, KR_SPLIT_CAL);
        for (int64_t tol = -2000000; tol < 1100000000; tol += 9700000) {
            int64_t all = 0, by[3] = {0};
            for (int i = 0; i < N; i++)
                if (drop[i] > tol) {
                    all++;
                    by[task[i]]++;
                }
            assert_int_equal(kr_calib_events(c, 0, KR_SPLIT_CAL, tol), all);
            for (size_t k = 0; k < 3; k++)
                assert_int_equal(kr_task_drops_events(t, k, tol), by[k]);
        }
        kr_task_drops_free(t);
        kr_calib_free(c);
        kr_buf_free(&b);
    }
}

static void the_bundled_samples_load(void **state) {
    (void)state;
    kr_error e = {0};
    kr_calib *c;
    if (kr_calib_load("tests/fixtures/prototype/mini-ruler.jsonl", &c, &e) != KR_OK)
        fail_msg("%s", e.msg);
    assert_int_equal(kr_calib_n(c, KR_SPLIT_CAL), 600);
    assert_int_equal(kr_calib_policies(c), 117);
    assert_int_equal(kr_calib_methods(c), 9);
    assert_int_equal(kr_calib_tasks(c), 6);
    assert_true(kr_calib_meta_of(c)->has_contract);
    kr_calib_free(c);
    static const char *const counts[] = {"longbench", "ruler32k", "longbench-refreekv"};
    for (size_t i = 0; i < 3; i++) {
        char p[100];
        snprintf(p, sizeof p, "data/samples/published-llama31-8b-%s.json", counts[i]);
        if (kr_calib_load(p, &c, &e) != KR_OK)
            fail_msg("%s", e.msg);
        assert_int_equal(kr_calib_meta_of(c)->kind, KR_KIND_COUNTS);
        assert_true(kr_calib_meta_of(c)->partial);
        assert_true(kr_calib_events(c, 0, KR_SPLIT_CAL, 0) > 0);
        assert_int_equal(kr_calib_save(c, path2, true, &e), KR_OK);
        kr_calib_free(c);
        if (kr_calib_load(path2, &c, &e) != KR_OK)
            fail_msg("%s", e.msg);
        kr_calib_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_drops_exactly),
        cmocka_unit_test(accepts_other_spellings),
        cmocka_unit_test(refuses_with_a_place_and_a_sentence),
        cmocka_unit_test(a_nesting_bomb_is_refused),
        cmocka_unit_test(missing_full_utility_is_an_event_of_every_policy),
        cmocka_unit_test(saving_keeps_everything),
        cmocka_unit_test(clusters_are_counted_per_split),
        cmocka_unit_test(sorts_as_qsort_does),
        cmocka_unit_test(counts_agree_with_a_plain_loop),
        cmocka_unit_test(the_bundled_samples_load),
    };
    return cmocka_run_group_tests_name("native", tests, make_paths, remove_paths);
}
