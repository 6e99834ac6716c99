#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calib/csv.h"

/* Hands the text out `step` bytes at a time, so that every boundary falls everywhere. */
typedef struct {
    const char *s;
    size_t len, pos, step;
} text;

static ptrdiff_t text_read(void *ctx, char *buf, size_t n) {
    text *t = ctx;
    size_t left = t->len - t->pos, take = t->step < left ? t->step : left;
    take = take < n ? take : n;
    memcpy(buf, t->s + t->pos, take);
    t->pos += take;
    return (ptrdiff_t)take;
}

/* All records as `a|b;c|d;`, with the header first. */
static kr_status dump(const char *s, size_t len, size_t step, kr_csv_opts o, char *out, size_t size,
                      kr_error *err) {
    text t = {s, len, 0, step};
    kr_csv *c = NULL;
    bool got = true;
    size_t n = 0;
    o.name = "t.csv";
    kr_status st = kr_csv_open(&o, text_read, &t, &c, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < kr_csv_columns(c); i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? "|" : "", kr_csv_name(c, i));
    n += (size_t)snprintf(out + n, size - n, ";");
    while ((st = kr_csv_next(c, &got, err)) == KR_OK && got) {
        for (size_t i = 0; i < kr_csv_columns(c); i++) {
            kr_csv_field f = kr_csv_get(c, i);
            n += (size_t)snprintf(out + n, size - n, "%s%.*s", i ? "|" : "", (int)f.len, f.s);
        }
        n += (size_t)snprintf(out + n, size - n, ";");
    }
    kr_csv_free(c);
    return st;
}

static void check(const char *s, const char *want) {
    char out[4096];
    kr_error err;
    for (size_t step = 1; step < 9; step++) {
        out[0] = '\0';
        assert_int_equal(dump(s, strlen(s), step, (kr_csv_opts){0}, out, sizeof out, &err), KR_OK);
        assert_string_equal(out, want);
    }
}

static void check_error(const char *s, kr_csv_opts o, const char *want) {
    char out[4096];
    for (size_t step = 1; step < 9; step++) {
        kr_error err = {0};
        assert_int_equal(dump(s, strlen(s), step, o, out, sizeof out, &err), KR_EFORMAT);
        assert_string_equal(err.msg, want);
    }
}

static void reads_plain_and_quoted_fields(void **state) {
    (void)state;
    check("a,b\n1,2\n", "a|b;1|2;");
    check("a,b\n\"1,5\",\"say \"\"hi\"\"\"\n", "a|b;1,5|say \"hi\";");
    check("a,b\n\"x\ny\",\"\"\n", "a|b;x\ny|;");
    check("a,b\n\"x\r\n\r\ny\",z\n", "a|b;x\r\n\r\ny|z;");
}

static void blanks_and_stray_quotes_are_data(void **state) {
    (void)state;
    check("a,b\n  x , \"y\" \n", "a|b;  x | \"y\" ;");
    check("a,b\nit\"s,5\"\n", "a|b;it\"s|5\";");
    check("a,b\n\"x\"y,\"z\" w\n", "a|b;xy|z w;");
}

static void only_a_line_feed_ends_a_record(void **state) {
    (void)state;
    check("a,b\r\n1,2\r\n", "a|b;1|2;");
    check("a,b\n1\r2,3\r4\n", "a|b;1\r2|3\r4;");
    check("a,b\n1,\r\n", "a|b;1|;");
    check("a,b\n1,\"\r\"\n", "a|b;1|\r;");
    check("a,b\n1,\"x\"\r\n", "a|b;1|x;");
}

static void empty_lines_are_no_records_but_an_empty_quoted_field_is(void **state) {
    (void)state;
    check("p\n\n\"\"\n\r\nx\n", "p;;x;");
    check("\n\nname\nv", "name;v;");
}

static void byte_order_mark_and_missing_last_line_end_are_accepted(void **state) {
    (void)state;
    check("\xef\xbb\xbf"
          "a,b\n1,2",
          "a|b;1|2;");
    check("a,b\n1,\"2\"", "a|b;1|2;");
    check("a,b\n1,", "a|b;1|;");
}

static void literal_nan_none_and_null_are_text(void **state) {
    (void)state;
    check("a,b,c\nnan,None,null\n", "a|b|c;nan|None|null;");
}

static void refuses_with_place_and_reason(void **state) {
    (void)state;
    kr_csv_opts o = {0};
    check_error("", o, "t.csv: the file is empty; a header line is expected");
    check_error("a,a\n", o, "t.csv:1: columns 1 and 2 are both named 'a'");
    check_error("a,b\n1,2\n3\n", o, "t.csv:3: record 3 has 1 fields, the header has 2");
    check_error("a,b\n\"x\ny\",2\n3,4,5\n", o, "t.csv:4: record 3 has 3 fields, the header has 2");
    check_error(
        "a,b\n1,2\n3,\"open\nand on\n", o,
        "t.csv:3: the file ends inside the quoted field opened here (record 3, column 'b')");
    o.max_field = 4;
    check_error("a,b\n1,12345\n", o, "t.csv:2: record 2, column 'b': field longer than 4 bytes");
}

static void utf16_is_named(void **state) {
    (void)state;
    char out[64];
    kr_error err = {0};
    assert_int_equal(dump("\xff\xfe"
                          "a\0",
                          4, 8, (kr_csv_opts){0}, out, sizeof out, &err),
                     KR_EFORMAT);
    assert_string_equal(err.msg, "t.csv: the text is UTF-16; UTF-8 is expected");
}

static void lenient_pads_and_cuts(void **state) {
    (void)state;
    char out[256];
    kr_error err;
    const char *s = "a,b\n1\n1,2,3\n4,5\n";
    assert_int_equal(dump(s, strlen(s), 3, (kr_csv_opts){.lenient = true}, out, sizeof out, &err),
                     KR_OK);
    assert_string_equal(out, "a|b;1|;1|2;4|5;");
}

static void tab_delimited_text(void **state) {
    (void)state;
    char out[256];
    kr_error err;
    const char *s = "a\tb\n1,5\t2\n";
    assert_int_equal(dump(s, strlen(s), 2, (kr_csv_opts){.delimiter = '\t'}, out, sizeof out, &err),
                     KR_OK);
    assert_string_equal(out, "a|b;1,5|2;");
}

static void huge_fields_and_skipped_columns(void **state) {
    (void)state;
    size_t big = (size_t)3 << 20, n = 0;
    char *s = malloc(2 * big + 64);
    assert_non_null(s);
    n += (size_t)sprintf(s, "id,prompt\nr1,\"");
    memset(s + n, 'x', big);
    s[n + 77] = '\n';
    n += big;
    n += (size_t)sprintf(s + n, "\"\nr2,y\n");
    text t = {s, n, 0, 70000};
    kr_csv *c = NULL;
    bool got = false;
    assert_int_equal(kr_csv_open(&(kr_csv_opts){.name = "big"}, text_read, &t, &c, NULL), KR_OK);
    assert_int_equal(kr_csv_next(c, &got, NULL), KR_OK);
    assert_int_equal(kr_csv_get(c, 1).len, big);
    kr_csv_free(c);
    t.pos = 0;
    assert_int_equal(kr_csv_open(&(kr_csv_opts){.name = "big"}, text_read, &t, &c, NULL), KR_OK);
    kr_csv_skip(c, 1);
    assert_int_equal(kr_csv_next(c, &got, NULL), KR_OK);
    assert_int_equal(kr_csv_get(c, 1).len, 0);
    assert_int_equal(kr_csv_next(c, &got, NULL), KR_OK);
    assert_memory_equal(kr_csv_get(c, 0).s, "r2", 2);
    assert_int_equal(kr_csv_line(c), 4);
    kr_csv_free(c);
    free(s);
}

/* What a minimal-quoting writer puts out comes back, whatever the fields hold. */
static void random_tables_come_back(void **state) {
    (void)state;
    static const char alphabet[] = "ab,\"\n\r ;";
    uint32_t seed = 7;
    for (int round = 0; round < 400; round++) {
        char cells[6][9], csv[1024], want[1024], out[1024];
        size_t n = (size_t)sprintf(csv, "c0,c1\n"), w = (size_t)sprintf(want, "c0|c1;");
        for (int i = 0; i < 6; i++) {
            size_t len = (seed = seed * 1664525 + 1013904223) >> 29;
            for (size_t k = 0; k < len; k++)
                cells[i][k] = alphabet[(seed = seed * 1664525 + 1013904223) >> 29];
            cells[i][len] = '\0';
            csv[n++] = '"';
            for (size_t k = 0; k < len; k++) {
                if (cells[i][k] == '"')
                    csv[n++] = '"';
                csv[n++] = cells[i][k];
            }
            csv[n++] = '"';
            csv[n++] = i % 2 ? '\n' : ',';
            w += (size_t)sprintf(want + w, "%s%s", cells[i], i % 2 ? ";" : "|");
        }
        kr_error err;
        assert_int_equal(dump(csv, n, 1 + seed % 7, (kr_csv_opts){0}, out, sizeof out, &err),
                         KR_OK);
        assert_string_equal(out, want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_plain_and_quoted_fields),
        cmocka_unit_test(blanks_and_stray_quotes_are_data),
        cmocka_unit_test(only_a_line_feed_ends_a_record),
        cmocka_unit_test(empty_lines_are_no_records_but_an_empty_quoted_field_is),
        cmocka_unit_test(byte_order_mark_and_missing_last_line_end_are_accepted),
        cmocka_unit_test(literal_nan_none_and_null_are_text),
        cmocka_unit_test(refuses_with_place_and_reason),
        cmocka_unit_test(utf16_is_named),
        cmocka_unit_test(lenient_pads_and_cuts),
        cmocka_unit_test(tab_delimited_text),
        cmocka_unit_test(huge_fields_and_skipped_columns),
        cmocka_unit_test(random_tables_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
