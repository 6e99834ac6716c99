#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calib/literal.h"

static size_t show(const kr_lit *v, char *out, size_t n, size_t size) {
    static const char *const close[] = {[KR_LIT_LIST] = "]", [KR_LIT_DICT] = "}"};
    if (v->type == KR_LIT_NULL)
        return n + (size_t)snprintf(out + n, size - n, "null");
    if (v->type == KR_LIT_BOOL)
        return n + (size_t)snprintf(out + n, size - n, v->yes ? "true" : "false");
    if (v->type == KR_LIT_STR)
        return n + (size_t)snprintf(out + n, size - n, "<%.*s>", (int)v->len, v->s);
    if (v->type == KR_LIT_INT || v->type == KR_LIT_FLOAT)
        return n +
               (size_t)snprintf(out + n, size - n, "%s%s", v->type == KR_LIT_INT ? "i" : "f", v->s);
    n += (size_t)snprintf(out + n, size - n, v->type == KR_LIT_LIST ? "[" : "{");
    for (const kr_lit *m = v->first; m != NULL; m = m->next) {
        if (v->type == KR_LIT_DICT)
            n += (size_t)snprintf(out + n, size - n, "%s:", m->key);
        n = show(m, out, n, size);
        if (m->next != NULL)
            n += (size_t)snprintf(out + n, size - n, " ");
    }
    return n + (size_t)snprintf(out + n, size - n, "%s", close[v->type]);
}

static void reads(kr_lit_dialect d, const char *s, const char *want) {
    kr_arena a = {0};
    kr_lit *v = NULL;
    kr_error err = {0};
    char out[2048];
    kr_status st = kr_lit_parse(d, s, strlen(s), &a, &v, NULL, &err);
    if (st != KR_OK)
        fail_msg("%s: %s", s, err.msg);
    show(v, out, 0, sizeof out);
    assert_string_equal(out, want);
    kr_arena_free(&a);
}

static void refuses(kr_lit_dialect d, const char *s, const char *want) {
    kr_arena a = {0};
    kr_lit *v = NULL;
    kr_error err = {0};
    assert_int_equal(kr_lit_parse(d, s, strlen(s), &a, &v, NULL, &err), KR_EFORMAT);
    assert_null(v);
    assert_string_equal(err.msg, want);
    kr_arena_free(&a);
}

static void cells_in_the_three_spellings(void **state) {
    (void)state;
    reads(KR_LIT_CELL, "['alpha' 'beta' \"it's\"\n 'gamma']", "[<alpha> <beta> <it's> <gamma>]");
    reads(KR_LIT_CELL, "['a', 'b']", "[<a> <b>]");
    reads(KR_LIT_CELL, "[\"a\\/b\", \"\\u00e9\\ud83d\\ude00\"]",
          "[<a/b> <\xc3\xa9\xf0\x9f\x98\x80>]");
    reads(KR_LIT_CELL, "[]", "[]");
    reads(KR_LIT_CELL, " [ ] ", "[]");
    reads(KR_LIT_CELL, "['a''b']", "[<a> <b>]");
    reads(KR_LIT_CELL, "[1 2 3]", "[i1 i2 i3]");
    reads(KR_LIT_CELL, "[1. -2.5e-07]", "[f1. f-2.5e-07]");
    reads(KR_LIT_CELL, "[True False None nan]", "[true false null null]");
    reads(KR_LIT_CELL, "[['a' 'b']\n ['c']]", "[[<a> <b>] [<c>]]");
    reads(KR_LIT_CELL, "array(['a', 'b'], dtype=object)", "[<a> <b>]");
    reads(KR_LIT_CELL, "[np.str_('x'), np.int64(3)]", "[<x> i3]");
    reads(KR_LIT_CELL, "['a' 'b' ]", "[<a> <b>]");
    reads(KR_LIT_CELL, "['a', 'b', ]", "[<a> <b>]");
}

static void string_escapes(void **state) {
    (void)state;
    reads(KR_LIT_CELL, "['\\x41\\101\\n\\q\\\\']", "[<AA\n\\q\\>]");
    reads(KR_LIT_CELL, "['a\\\nb']", "[<ab>]");
    reads(KR_LIT_CELL, "['\\U0001F600\\xe9']", "[<\xf0\x9f\x98\x80\xc3\xa9>]");
    reads(KR_LIT_CELL, "['\\ud800x']", "[<\xef\xbf\xbdx>]");
    refuses(KR_LIT_CELL, "['\\x4']", "byte 3: broken hexadecimal escape");
    refuses(KR_LIT_JSON, "\"\\x41\"", "byte 2: unknown escape in a JSON string");
    refuses(KR_LIT_JSON, "\"\\u12\"", "byte 2: \\u needs four hexadecimal digits");
}

static void broken_cells_are_refused(void **state) {
    (void)state;
    refuses(KR_LIT_CELL, "['a' ... 'z']",
            "byte 6: shortened list: the writer left items out (`...`)");
    refuses(KR_LIT_CELL, "['a", "byte 2: the string opened here is not closed");
    refuses(KR_LIT_CELL, "['a'", "byte 5: expected a comma or the closing bracket");
    refuses(KR_LIT_CELL, "['a'] x", "byte 7: text after the end of the value");
    refuses(KR_LIT_CELL, "[sic]", "byte 2: unexpected character");
    refuses(KR_LIT_CELL, "[os.system('x')]", "byte 2: unknown function call in a list");
    refuses(KR_LIT_CELL, "[", "byte 2: the text ends too early");
    refuses(KR_LIT_CELL, "", "byte 1: the text ends too early");
}

static void python_literals_join_adjacent_strings(void **state) {
    (void)state;
    reads(KR_LIT_PYTHON, "{'a': 'x' 'y', \"b\": (1, 2)}", "{a:<xy> b:[i1 i2]}");
    reads(KR_LIT_PYTHON, "('a')", "<a>");
    reads(KR_LIT_PYTHON, "('a',)", "[<a>]");
    reads(KR_LIT_PYTHON, "()", "[]");
    refuses(KR_LIT_PYTHON, "{'a': null}", "byte 7: unexpected character");
    refuses(KR_LIT_PYTHON, "['a' b]", "byte 6: expected a comma or the closing bracket");
    refuses(KR_LIT_PYTHON, "not a dict", "byte 1: unexpected character");
}

static void json_rows(void **state) {
    (void)state;
    reads(KR_LIT_JSON, "{\"a\":[1,2.5,true,null],\"b\":{}}", "{a:[i1 f2.5 true null] b:{}}");
    reads(KR_LIT_JSON, "[NaN, Infinity, -Infinity]", "[null null null]");
    reads(KR_LIT_JSON, "12345678901234567890123", "i12345678901234567890123");
    refuses(KR_LIT_JSON, "[1,]", "byte 4: comma before the closing bracket");
    refuses(KR_LIT_JSON, "[01]", "byte 2: unexpected character");
    refuses(KR_LIT_JSON, "[1 2]", "byte 4: expected a comma or the closing bracket");
    refuses(KR_LIT_JSON, "{'a':1}", "byte 2: expected a quoted name");
    refuses(KR_LIT_JSON, "\"a\nb\"", "byte 3: control character inside a JSON string");
    refuses(KR_LIT_JSON, "[True]", "byte 2: unexpected character");
}

static void the_last_of_repeated_keys_wins_and_is_counted(void **state) {
    (void)state;
    kr_arena a = {0};
    kr_lit *v = NULL;
    kr_lit_notes notes = {0};
    const char *s = "{\"a\":1,\"b\":NaN,\"a\":3,\"c\":4}";
    assert_int_equal(kr_lit_parse(KR_LIT_JSON, s, strlen(s), &a, &v, &notes, NULL), KR_OK);
    assert_int_equal(notes.repeated_keys, 1);
    assert_int_equal(notes.not_a_number, 1);
    assert_string_equal(kr_lit_get(v, "a")->s, "3");
    assert_string_equal(kr_lit_get(v, "c")->s, "4");
    assert_int_equal(v->count, 3);
    reads(KR_LIT_JSON, "{\"a\":1,\"a\":2,\"b\":3}", "{a:i2 b:i3}");
    kr_arena_free(&a);
}

static void zero_bytes_survive(void **state) {
    (void)state;
    kr_arena a = {0};
    kr_lit *v = NULL;
    const char *s = "\"a\\u0000b\"";
    assert_int_equal(kr_lit_parse(KR_LIT_JSON, s, strlen(s), &a, &v, NULL, NULL), KR_OK);
    assert_int_equal(v->len, 3);
    assert_memory_equal(v->s, "a\0b", 3);
    kr_arena_free(&a);
}

static void nesting_is_bounded(void **state) {
    (void)state;
    enum { N = 100000 };
    char *s = malloc(N);
    assert_non_null(s);
    kr_arena a = {0};
    kr_lit *v = NULL;
    kr_error err;
    memset(s, '[', N);
    assert_int_equal(kr_lit_parse(KR_LIT_JSON, s, N, &a, &v, NULL, &err), KR_EFORMAT);
    assert_string_equal(err.msg, "byte 66: nested more than 64 levels deep");
    memset(s, ' ', N);
    memset(s, '[', 64);
    memset(s + 64, ']', 64);
    assert_int_equal(kr_lit_parse(KR_LIT_JSON, s, N, &a, &v, NULL, &err), KR_OK);
    kr_arena_free(&a);
    free(s);
}

static void paths_follow_dots(void **state) {
    (void)state;
    kr_arena a = {0};
    kr_lit *v = NULL;
    double x = 0;
    const char *s = "{\"doc\":{\"answers\":[1],\"x.y\":2},\"a.b\":\"3.5\"}";
    assert_int_equal(kr_lit_parse(KR_LIT_JSON, s, strlen(s), &a, &v, NULL, NULL), KR_OK);
    assert_int_equal(kr_lit_path(v, "doc.answers")->count, 1);
    assert_string_equal(kr_lit_path(v, "doc.x.y")->s, "2");
    assert_null(kr_lit_path(v, "doc.z"));
    assert_null(kr_lit_path(v, "nothing.z"));
    assert_false(kr_lit_number(kr_lit_path(v, "a.b"), false, &x));
    assert_true(kr_lit_number(kr_lit_path(v, "a.b"), true, &x));
    assert_true(x == 3.5);
    kr_arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_in_the_three_spellings),
        cmocka_unit_test(string_escapes),
        cmocka_unit_test(broken_cells_are_refused),
        cmocka_unit_test(python_literals_join_adjacent_strings),
        cmocka_unit_test(json_rows),
        cmocka_unit_test(the_last_of_repeated_keys_wins_and_is_counted),
        cmocka_unit_test(zero_bytes_survive),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(paths_follow_dots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
