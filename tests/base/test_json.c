#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static void accepts_json(void **state) {
    (void)state;
    static const char *const good[] = {
        "null", "true", "false", "0", "-0", "-1.5e+10", "\"\"", "[]", "{}", " [ 1 , 2 ] ",
        "{\"a\":{\"a\":1},\"b\":[{\"a\":1}]}", "\"\\u00e9\\ud83d\\ude00\\n\"", "\"\xC3\xA9\"",
        "[[[[[[[[[[]]]]]]]]]]", "1e999",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        kr_error e = {0};
        kr_json j = kr_json_open(good[i], strlen(good[i]), "f", 1, &e);
        if (!kr_json_skip(&j, NULL) || kr_json_peek(&j) != KR_JSON_END)
            fail_msg("%s: %s", good[i], e.msg);
    }
}

static void refuses_what_is_not_json_and_says_where(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"01", "f:7:1: a number may not start with 0"},
        {"1.", "f:7:1: a number needs a digit after the point"},
        {"[1e]", "f:7:2: a number needs a digit in its exponent"},
        {"[NaN]", "f:7:2: found NaN, expected a value"},
        {"[-Infinity]", "f:7:2: found -Infinity, expected a number"},
        {"nul", "f:7:1: found 'n', expected a value"},
        {"[1,]", "f:7:4: found ']', expected a value"},
        {"[1 2]", "f:7:4: found a number, expected ',' or ']'"},
        {"{\"a\":1,}", "f:7:8: found '}', expected a key in quotes"},
        {"{\"a\" 1}", "f:7:6: found a number, expected ':'"},
        {"{a:1}", "f:7:2: found 'a', expected a key in quotes"},
        {"{\"a\":1,\"a\":2}", "f:7:8: the key \"a\" appears twice"},
        {"{\"a\":1,\"\\u0061\":2}", "f:7:8: the key \"\\u0061\" appears twice"},
        {"[\n1,\n{\"x\":1,\"x\":1}]", "f:9:8: the key \"x\" appears twice"},
        {"\"\\u0000\"", "f:7:2: \\u0000 is not accepted in a string"},
        {"\"\\ud800\"", "f:7:2: a high surrogate without a low one"},
        {"\"\\q\"", "f:7:2: unknown escape in a string"},
        {"\"a\tb\"", "f:7:3: a raw control character (0x09) in a string"},
        {"\"\xC3\x28\"", "f:7:2: invalid UTF-8 (byte 0xc3)"},
        {"\"\xED\xA0\x80\"", "f:7:2: invalid UTF-8 (byte 0xed)"},
        {"\"abc", "f:7:1: the string that starts here is not closed"},
        {"[1", "f:7:3: found the end of the text, expected ',' or ']'"},
        {"", "f:7:1: found the end of the text, expected a value"},
        {"+1", "f:7:1: found '+', expected a value"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kr_error e = {0};
        kr_json j = kr_json_open(bad[i].text, strlen(bad[i].text), "f", 7, &e);
        assert_false(kr_json_skip(&j, NULL));
        assert_string_equal(e.msg, bad[i].message);
    }
}

static void nesting_has_a_limit(void **state) {
    (void)state;
    char *bomb = malloc(200000);
    memset(bomb, '[', 200000);
    kr_error e = {0};
    kr_json j = kr_json_open(bomb, 200000, "f", 1, &e);
    assert_false(kr_json_skip(&j, NULL));
    assert_string_equal(e.msg, "f:1:65: nested deeper than 64 levels, the limit");
    free(bomb);
}

static void many_keys_are_compared_quickly(void **state) {
    (void)state;
    kr_buf b = {0};
    kr_buf_puts(&b, "{");
    for (int i = 0; i < 100000; i++)
        kr_buf_printf(&b, "%s\"k%d\":%d", i ? "," : "", i, i);
    kr_json j = kr_json_open(b.s, b.len, "f", 1, NULL);
    assert_false(kr_json_skip(&j, NULL)); /* not closed */
    kr_buf_puts(&b, ",\"k77\":1}");
    kr_error e = {0};
    j = kr_json_open(b.s, b.len, "f", 1, &e);
    assert_false(kr_json_skip(&j, NULL));
    assert_non_null(strstr(e.msg, "the key \"k77\" appears twice"));
    kr_buf_free(&b);
}

static void hands_out_members_and_elements(void **state) {
    (void)state;
    const char *text = "{\"id\":\"a\\\"b\",\"n\":12,\"d\":0.050,\"u\":[1,0.5,null],\"x\":{\"y\":[]}}";
    kr_error e = {0};
    kr_json j = kr_json_open(text, strlen(text), "f", 1, &e);
    kr_span key, extra = {NULL, 0};
    char *id = NULL;
    int64_t n = 0, sum = 0, v;
    kr_dec d = {0, 0};
    int nulls = 0;
    for (kr_json_iter it = kr_json_enter(&j, '{'); kr_json_member(&j, &it, &key);) {
        if (kr_span_is(key, "id"))
            id = kr_json_string_copy(&j);
        else if (kr_span_is(key, "n"))
            kr_json_int(&j, 0, 100, &n);
        else if (kr_span_is(key, "d"))
            kr_json_dec(&j, &d);
        else if (kr_span_is(key, "u"))
            for (kr_json_iter a = kr_json_enter(&j, '['); kr_json_element(&j, &a);) {
                if (kr_json_peek(&j) == KR_JSON_NULL)
                    nulls += kr_json_null(&j);
                else if (kr_json_nano(&j, &v))
                    sum += v;
            }
        else
            kr_json_skip(&j, &extra);
    }
    assert_false(j.failed);
    assert_int_equal(kr_json_peek(&j), KR_JSON_END);
    assert_string_equal(id, "a\"b");
    assert_int_equal(n, 12);
    assert_int_equal(d.digits * 100 + d.scale, 502);
    assert_int_equal(sum, 1500000000);
    assert_int_equal(nulls, 1);
    assert_int_equal(extra.len, 8);
    free(id);
}

static void whole_numbers_have_a_range(void **state) {
    (void)state;
    static const char *const bad[] = {"1.5", "101", "-1", "\"3\"", "1e400"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t v = 42;
        kr_json j = kr_json_open(bad[i], strlen(bad[i]), "f", 1, NULL);
        assert_false(kr_json_int(&j, 0, 100, &v));
        assert_int_equal(v, 42);
    }
}

static void written_text_reads_back(void **state) {
    (void)state;
    kr_buf b = {0};
    kr_json_put_string(&b, "a\"b\\c\n\x7f \xC3\xA9 \xFF");
    assert_string_equal(kr_buf_text(&b), "\"a\\\"b\\\\c\\u000a\\u007f \xC3\xA9 \xEF\xBF\xBD\"");
    kr_json j = kr_json_open(b.s, b.len, "f", 1, NULL);
    char *s = kr_json_string_copy(&j);
    assert_string_equal(s, "a\"b\\c\n\x7f \xC3\xA9 \xEF\xBF\xBD");
    free(s);
    kr_buf_free(&b);
    kr_json_put_double(&b, 0.1);
    kr_json_put_double(&b, -1.0 / 0.0);
    kr_json_put_double(&b, 0.04505743472189248);
    assert_string_equal(kr_buf_text(&b), "0.1null0.04505743472189248");
    kr_buf_free(&b);
}

static void members_have_a_comma_before_all_but_the_first(void **state) {
    (void)state;
    kr_buf b = {0};
    kr_buf_puts(&b, "{");
    kr_put_text(&b, "a{", "{");
    kr_put_text(&b, "none", NULL);
    kr_put_given(&b, "left out", NULL);
    kr_put_given(&b, "given", "");
    kr_put_count(&b, "n", 0);
    kr_put_count(&b, "unknown", -1);
    kr_put_key(&b, "inner");
    kr_buf_puts(&b, "{");
    kr_put_bool(&b, "x", true);
    kr_put_bool(&b, "y", false);
    kr_buf_puts(&b, "}");
    kr_put_int(&b, "i", INT64_MIN);
    kr_put_size(&b, "z", SIZE_MAX);
    kr_put_dec(&b, "d", (kr_dec){5, 2});
    kr_put_double(&b, "r", 0.25);
    kr_buf_puts(&b, "}");
    assert_string_equal(kr_buf_text(&b),
                        "{\"a{\":\"{\",\"none\":null,\"given\":\"\",\"n\":0,\"unknown\":null,"
                        "\"inner\":{\"x\":true,\"y\":false},\"i\":-9223372036854775808,"
                        "\"z\":18446744073709551615,"
                        "\"d\":0.05,\"r\":0.25}");
    kr_buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_json),
        cmocka_unit_test(refuses_what_is_not_json_and_says_where),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(many_keys_are_compared_quickly),
        cmocka_unit_test(hands_out_members_and_elements),
        cmocka_unit_test(whole_numbers_have_a_range),
        cmocka_unit_test(written_text_reads_back),
        cmocka_unit_test(members_have_a_comma_before_all_but_the_first),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
