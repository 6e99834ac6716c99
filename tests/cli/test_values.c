/* Numbers, ladders and lists of methods as options give them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cli/declare.h"
#include "cli/methods.h"

static void counts_are_digits_alone(void **state) {
    (void)state;
    static const char *const bad[] = {"", "0", "-1", "+1", " 1", "1x", "101",
                                      "99999999999999999999"};
    size_t n = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(kr_cli_count(bad[i], 100, &n));
        assert_int_equal(n, 7);
    }
    assert_true(kr_cli_count("100", 100, &n));
    assert_int_equal(n, 100);
}

static void a_ladder_ends_at_its_lowest_step(void **state) {
    (void)state;
    static const char *const bad[] = {"",          ":",         "0.8:0.2",   "0.8:0.2:0.1:1",
                                      "0.8:0.2:0", "0.2:0.8:1", "1.1:0.2:1", "0.8:0:0.1",
                                      "x:0.2:0.1"};
    kr_cli_ladder l;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(kr_cli_ladder_read(bad[i], &l));
    assert_true(kr_cli_ladder_read("80%:0.25:0.2", &l));
    static const char *const want[] = {"0.8", "0.6", "0.4"};
    char t[KR_DEC_TEXT];
    kr_dec r = l.high;
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(kr_dec_text(r, t), want[i]);
        assert_int_equal(kr_cli_ladder_next(&l, &r), i < 2);
    }
}

static void methods_bring_their_levels_or_take_the_ladder(void **state) {
    (void)state;
    kr_evict_spec *arm = calloc(KR_CLI_MAX_ARMS, sizeof *arm);
    kr_cli_ladder l;
    kr_error e;
    size_t n;
    assert_non_null(arm);
    assert_true(kr_cli_ladder_read("0.5:0.3:0.1", &l));
    assert_int_equal(kr_cli_methods_read("adakv,alpha=0.3,refreekv:0.001,0.01,snapkv", &l, NULL, arm,
                                         &n, &e), KR_OK);
    kr_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        kr_buf_puts(&b, i > 0 ? " " : "");
        kr_evict_text(&arm[i], false, &b);
    }
    assert_string_equal(kr_buf_text(&b),
                        "adakv:0.5,alpha=0.3 adakv:0.4,alpha=0.3 adakv:0.3,alpha=0.3 "
                        "refreekv:0.001 refreekv:0.01 snapkv:0.5 snapkv:0.4 snapkv:0.3");
    kr_buf_free(&b);
    static const char *const bad[][2] = {{"", "expected names"},
                                         {"0.5", "expected names"},
                                         {"snapkv,:0.5", "expected names"},
                                         {"full", "is what the others"},
                                         {"refreekv", "has thresholds"},
                                         {"snapkv,x=1", "no parameter"},
                                         {"snapkw,adakv", "no policy"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(kr_cli_methods_read(bad[i][0], &l, NULL, arm, &n, &e), KR_EINVAL);
        assert_non_null(strstr(e.msg, bad[i][1]));
    }
    assert_true(kr_cli_ladder_read("1:0.0001:0.0001", &l)); /* 10000 levels */
    assert_int_equal(kr_cli_methods_read("snapkv", &l, NULL, arm, &n, &e), KR_EINVAL);
    assert_non_null(strstr(e.msg, "more than 4096"));
    free(arm);
}

static void a_declared_contract_is_cut_at_commas(void **state) {
    (void)state;
    char full[] = "0.1,5%,95%,snapkv", three[] = "0.1,0.05,0.95", two[] = "0.1,5%", word[] = "0.1,x,1";
    char low[] = "0.1,5%,30%", all[] = "0.1,1,0.95";
    kr_contract k;
    kr_error e;
    const char *method = NULL;
    assert_int_equal(kr_cli_declare_read(full, &k, &method, &e), KR_OK);
    assert_string_equal(method, "snapkv");
    assert_int_equal(kr_dec_cmp(k.risk, kr_dec_make(5, 2)), 0);
    assert_int_equal(kr_dec_cmp(k.confidence, kr_dec_make(95, 2)), 0);
    assert_int_equal(kr_cli_declare_read(three, &k, &method, &e), KR_OK);
    assert_null(method);
    assert_int_equal(kr_cli_declare_read(two, &k, &method, &e), KR_EINVAL);
    assert_non_null(strstr(e.msg, "TOLERANCE,RISK,CONFIDENCE"));
    assert_int_equal(kr_cli_declare_read(word, &k, &method, &e), KR_EINVAL);
    assert_non_null(strstr(e.msg, "'x'"));
    assert_int_equal(kr_cli_declare_read(low, &k, &method, &e), KR_EINVAL);
    assert_int_equal(kr_cli_declare_read(all, &k, &method, &e), KR_EINVAL);
}

static void dates_are_of_the_calendar(void **state) {
    (void)state;
    char today[KR_CLI_DATE];
    assert_true(kr_cli_today(today));
    assert_true(kr_cli_is_date(today));
    assert_true(kr_cli_is_date("2024-02-29"));
    assert_true(kr_cli_is_date("2000-02-29"));
    static const char *const bad[] = {"",           "2023-02-29", "1900-02-29", "2024-13-01",
                                      "2024-00-01", "2024-04-31", "2024-4-01",  "2024-04-01x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(kr_cli_is_date(bad[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_digits_alone),
        cmocka_unit_test(a_ladder_ends_at_its_lowest_step),
        cmocka_unit_test(methods_bring_their_levels_or_take_the_ladder),
        cmocka_unit_test(a_declared_contract_is_cut_at_commas),
        cmocka_unit_test(dates_are_of_the_calendar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
