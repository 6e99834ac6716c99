#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

static kr_dec dec(const char *s) {
    kr_dec d = {0, 0};
    kr_error e = {0};
    if (kr_dec_parse(s, strlen(s), &d, &e) != KR_OK)
        fail_msg("%s", e.msg);
    return d;
}

static void reads_exact_decimals(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t digits;
        int scale;
    } rows[] = {
        {"0", 0, 0},       {"0.05", 5, 2},   {"5e-2", 5, 2},
        {"0.0500", 5, 2},  {"-3", -3, 0},    {".5", 5, 1},
        {"1e3", 1000, 0},  {"100", 100, 0},  {"1.50e1", 15, 0},
        {"0e999", 0, 0},   {"-0.0", 0, 0},   {"10.010", 1001, 2},
        {"1e-18", 1, 18},  {"0.999999999999999999", 999999999999999999, 18},
        {"123456789012345678", 123456789012345678, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kr_dec d = dec(rows[i].text);
        assert_int_equal(d.digits, rows[i].digits);
        assert_int_equal(d.scale, rows[i].scale);
    }
}

static void refuses_what_is_not_exactly_representable(void **state) {
    (void)state;
    static const char *const bad[] = {"",      "-",    ".",    "e5",
                                      "1e",    "1e+",  "0x5",  "nan",
                                      "inf",   "1 ",   " 1",   "1e-19",
                                      "1e18",  "5%",   "1..2", "--1",
                                      "1234567890123456789",   "0.0000000000000000001",
                                      "1e99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kr_dec d = {7, 7};
        kr_error e;
        assert_int_equal(kr_dec_parse(bad[i], strlen(bad[i]), &d, &e), KR_EINVAL);
        assert_int_equal(d.digits, 7);
    }
}

static void percent_divides_exactly(void **state) {
    (void)state;
    kr_dec d;
    assert_int_equal(kr_dec_parse_percent("5%", &d, NULL), KR_OK);
    assert_int_equal(kr_dec_cmp(d, dec("0.05")), 0);
    assert_int_equal(kr_dec_parse_percent(" 99.5 % ", &d, NULL), KR_OK);
    assert_int_equal(kr_dec_cmp(d, dec("0.995")), 0);
    assert_int_equal(kr_dec_parse_percent("0.2", &d, NULL), KR_OK);
    assert_int_equal(kr_dec_cmp(d, dec("0.2")), 0);
    assert_int_equal(kr_dec_parse_percent("%", &d, NULL), KR_EINVAL);
}

static void one_minus_confidence_is_exact(void **state) {
    (void)state;
    kr_dec delta;
    assert_true(kr_dec_sub(dec("1"), dec("0.95"), &delta));
    assert_int_equal(kr_dec_cmp(delta, dec("0.05")), 0);
    assert_true(kr_dec_double(delta) == 0.05);
    assert_true(1 - 0.95 > 0.05); /* the trap this avoids */
    assert_true(kr_dec_add(dec("0.1"), dec("0.2"), &delta));
    assert_int_equal(kr_dec_cmp(delta, dec("0.3")), 0);
}

static void doubles_are_the_nearest(void **state) {
    (void)state;
    static const char *const rows[] = {"0.05", "0.1", "0.3", "0.999999999999999999", "-0.7",
                                       "123456789012345678", "0.000000000000000001"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(kr_dec_double(dec(rows[i])) == strtod(rows[i], NULL));
}

static void prints_and_reads_back(void **state) {
    (void)state;
    char b[KR_DEC_TEXT];
    assert_string_equal(kr_dec_text(dec("0.0500"), b), "0.05");
    assert_string_equal(kr_dec_text(dec("-12.5"), b), "-12.5");
    assert_string_equal(kr_dec_fixed(dec("0.1"), 3, b), "0.100");
    assert_string_equal(kr_dec_fixed(dec("2"), 1, b), "2.0");
    assert_string_equal(kr_dec_fixed(dec("0.12345"), 3, b), "0.12345");
    assert_string_equal(kr_dec_percent(dec("0.05"), 1, b), "5.0");
    assert_string_equal(kr_dec_percent(dec("0.9975"), 1, b), "99.75");
    assert_string_equal(kr_dec_percent(dec("1"), 0, b), "100");
    assert_string_equal(kr_dec_text(dec("-0.999999999999999999"), b), "-0.999999999999999999");
}

static void nano_units_round_half_to_even(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t nano;
    } rows[] = {
        {"0.1", 100000000},
        {"1", 1000000000},
        {"-0.5", -500000000},
        {"0.6999999999", 700000000},
        {"0.0000000005", 0},
        {"0.0000000015", 2},
        {"0.00000000050000000000000000000000000001", 1},
        {"1e-9", 1},
        {"1e-400", 0},
        {"4e9", INT64_C(4000000000000000000)},
        {"0.1000000000000000055511151231257827", 100000000},
        {"100", INT64_C(100000000000)},
        {"12345678901234567890e-19", 1234567890},
        {"0e999", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t v;
        size_t used;
        if (!kr_nano_scan(rows[i].text, strlen(rows[i].text), &v, &used) || v != rows[i].nano)
            fail_msg("%s", rows[i].text);
        assert_int_equal(used, strlen(rows[i].text));
    }
}

static void nano_scan_keeps_json_grammar(void **state) {
    (void)state;
    static const char *const bad[] = {"",  "01",  "1.",    ".5",   "+1",
                                      "-", "nan", "4.1e9", "1e99", "-01"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t v;
        size_t used;
        if (kr_nano_scan(bad[i], strlen(bad[i]), &v, &used))
            fail_msg("'%s' was accepted", bad[i]);
    }
}

static void a_drop_equal_to_the_tolerance_is_no_event(void **state) {
    (void)state;
    static const struct {
        const char *full, *kept, *tol;
        int event;
    } rows[] = {{"0.8", "0.7", "0.1", 0},   {"0.9", "0.8", "0.1", 0},
                {"0.4", "0.3", "0.1", 0},   {"1", "0.95", "0.05", 0},
                {"1", "0.9", "0.0999", 1},  {"0.8", "0.6999999999", "0.1", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t a, b, t;
        size_t u;
        assert_true(kr_nano_scan(rows[i].full, strlen(rows[i].full), &a, &u));
        assert_true(kr_nano_scan(rows[i].kept, strlen(rows[i].kept), &b, &u));
        assert_true(kr_dec_nano(dec(rows[i].tol), &t));
        assert_int_equal(a - b > t, rows[i].event);
    }
}

static void nano_and_decimal_agree_on_random_numbers(void **state) {
    (void)state;
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        char b[64], c[KR_DEC_TEXT];
        snprintf(b, sizeof b, "%s%u.%09u", x & 1 ? "-" : "", (unsigned)(x >> 40),
                 (unsigned)(x >> 8) % 1000000000u);
        int64_t v, w;
        size_t used;
        assert_true(kr_nano_scan(b, strlen(b), &v, &used));
        kr_dec d = kr_nano_dec(v);
        assert_true(kr_dec_nano(d, &w));
        assert_int_equal(v, w);
        kr_dec_text(d, c);
        assert_true(kr_nano_scan(c, strlen(c), &w, &used));
        assert_int_equal(v, w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_exact_decimals),
        cmocka_unit_test(refuses_what_is_not_exactly_representable),
        cmocka_unit_test(percent_divides_exactly),
        cmocka_unit_test(one_minus_confidence_is_exact),
        cmocka_unit_test(doubles_are_the_nearest),
        cmocka_unit_test(prints_and_reads_back),
        cmocka_unit_test(nano_units_round_half_to_even),
        cmocka_unit_test(nano_scan_keeps_json_grammar),
        cmocka_unit_test(a_drop_equal_to_the_tolerance_is_no_event),
        cmocka_unit_test(nano_and_decimal_agree_on_random_numbers),
    };
    return cmocka_run_group_tests_name("decimal", tests, NULL, NULL);
}
