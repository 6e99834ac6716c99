/* Lines of the evaluator read back, and lines that only look like them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ui/eval_line.h"

static const char result[] =
    "{\"event\":\"result\",\"id\":\"vt-1\",\"request\":2,\"of\":9,\"task\":\"vt\",\"index\":3,"
    "\"policy\":\"snapkv:0.5\",\"answer\":\"a\\nb\",\"tokens\":[1,2,3],\"utility\":0.25,"
    "\"why\":null,\"stop\":\"token\",\"bytes\":154440,\"full_utility\":1,\"drop\":0.75,"
    "\"retained\":0.5,\"flags\":[],\"parted\":2,\"full_margin\":1.5,\"margin\":-0.5,"
    "\"heads_kept\":[[99,98],[97,96]],\"heads_mass\":[[0.9,0.8],[0.7,null]],"
    "\"layer_error\":[0.007,1e-3],\"positions\":[4,0,1]}";

static kr_status read_line(const char *s, kr_eval_line *l) {
    /* in memory of exactly that size, so that a sanitizer sees every byte too many */
    size_t n = strlen(s);
    char *copy = malloc(n + 1);
    memcpy(copy, s, n + 1);
    kr_status st = kr_eval_line_read(copy, n, l, NULL);
    free(copy);
    return st;
}

static void a_result_is_read_whole(void **state) {
    (void)state;
    kr_eval_line l;
    assert_int_equal(read_line(result, &l), KR_OK);
    assert_int_equal(l.event, KR_EVAL_LINE_RESULT);
    assert_string_equal(l.id, "vt-1");
    assert_string_equal(l.answer, "a\nb");
    assert_int_equal(l.request, 2);
    assert_int_equal(l.of, 9);
    assert_int_equal(l.index, 3);
    assert_int_equal(l.n_tokens, 3);
    assert_int_equal(l.utility, 250000000);
    assert_int_equal(l.full_utility, 1000000000);
    assert_int_equal(l.parted, 2);
    assert_true(l.full_margin == 1.5 && l.margin == -0.5 && l.retained == 0.5);
    assert_int_equal(l.heads.layers, 2);
    assert_int_equal(l.heads.heads, 2);
    assert_true(l.heads.kept[3] == 96 && l.heads.mass[1] == 0.8 && isnan(l.heads.mass[3]));
    assert_true(l.heads.error[1] == 1e-3);
    assert_int_equal(l.heads.n_positions, 3);
    assert_int_equal(l.heads.position[0], 4);
    kr_eval_line_free(&l);
}

static void the_other_events_are_told_apart(void **state) {
    (void)state;
    static const struct {
        const char *line;
        kr_eval_line_event event;
    } known[] = {
        {"{\"event\":\"start\",\"version\":1,\"requests\":4,\"heads\":4,\"policies\":[{}]}",
         KR_EVAL_LINE_START},
        {"{\"event\":\"progress\",\"id\":\"a\",\"request\":1,\"of\":2,\"phase\":\"prefill\","
         "\"done\":0,\"total\":9}",
         KR_EVAL_LINE_PROGRESS},
        {"{\"event\":\"full\",\"id\":\"a\",\"request\":1,\"utility\":null,\"n\":8}",
         KR_EVAL_LINE_FULL},
        {"{\"event\":\"error\",\"id\":\"a\",\"request\":1,\"message\":\"too long\"}",
         KR_EVAL_LINE_ERROR},
        {"{\"event\":\"end\",\"requests\":4,\"failed\":1,\"seconds\":0.5,\"peak_bytes\":7}",
         KR_EVAL_LINE_END},
        {"{\"event\":\"something new\",\"x\":[{}]}", KR_EVAL_LINE_OTHER},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kr_eval_line l;
        assert_int_equal(read_line(known[i].line, &l), KR_OK);
        assert_int_equal(l.event, known[i].event);
        kr_eval_line_free(&l);
    }
    kr_eval_line l;
    assert_int_equal(read_line("{\"event\":\"prompt\",\"id\":\"a\",\"request\":1,"
                               "\"pieces\":[\"<s>\",\" the\",\"\",\"\\u00e9\"]}",
                               &l),
                     KR_OK);
    assert_int_equal(l.n_pieces, 4);
    assert_string_equal(l.pieces + l.piece_at[1], " the");
    assert_string_equal(l.pieces + l.piece_at[2], "");
    assert_string_equal(l.pieces + l.piece_at[3], "é");
    kr_eval_line_free(&l);
}

static void what_is_no_event_is_refused_and_leaves_nothing(void **state) {
    (void)state;
    static const char *const bad[] = {
        "", "{", "[]", "null", "{}", "{\"event\":7}", "{\"event\":\"end\"} x", "{\"event\":\"end\"",
        "{\"event\":\"end\",\"event\":\"end\"}", "{\"event\":\"end\",\"requests\":01}",
        "{\"event\":\"full\",\"n\":-1}", "{\"event\":\"full\",\"n\":1.5}",
        "{\"event\":\"full\",\"n\":99999999999999999999}", "{\"event\":\"full\",\"answer\":7}",
        "{\"event\":\"full\",\"utility\":\"1\"}", "{\"event\":\"result\"}",
        "{\"event\":\"result\",\"heads_kept\":[[1]],\"heads_mass\":[[1]]}",
        "{\"event\":\"result\",\"heads_kept\":[[1],[1,2]],\"heads_mass\":[[1]],\"layer_error\":[0]}",
        "{\"event\":\"result\",\"heads_kept\":[[1]],\"heads_mass\":[[1],[2]],\"layer_error\":[0]}",
        "{\"event\":\"result\",\"heads_kept\":[[1]],\"heads_mass\":[[1]],\"layer_error\":[0,1]}",
        "{\"event\":\"result\",\"heads_kept\":[[]],\"heads_mass\":[[]],\"layer_error\":[0]}",
        "{\"event\":\"result\",\"positions\":[65536]}", "{\"event\":\"result\",\"positions\":[-1]}",
        "{\"event\":\"prompt\",\"pieces\":[1]}", "{\"event\":\"end\",\"x\":\"\xff\"}",
        "{\"event\":\"end\",\"x\":\"\\u0000\"}",
        "{\"event\":\"end\",\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kr_eval_line l = {.request = 7};
        if (read_line(bad[i], &l) == KR_OK && strstr(bad[i], "\\u0000") == NULL)
            fail_msg("taken: %s", bad[i]);
        kr_eval_line_free(&l);
    }
}

static void every_cut_and_every_changed_byte_is_survived(void **state) {
    (void)state;
    char s[sizeof result];
    for (size_t n = 0; n < sizeof result - 1; n++) {
        kr_eval_line l;
        memcpy(s, result, n);
        s[n] = '\0';
        assert_int_equal(read_line(s, &l), KR_EFORMAT);
        kr_eval_line_free(&l);
    }
    static const char other[] = "0{}[]\",:x\\\x80-.";
    for (size_t n = 0; n < sizeof result - 1; n++)
        for (size_t k = 0; k < sizeof other - 1; k++) {
            kr_eval_line l;
            memcpy(s, result, sizeof result);
            s[n] = other[k];
            read_line(s, &l);
            kr_eval_line_free(&l);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_is_read_whole),
        cmocka_unit_test(the_other_events_are_told_apart),
        cmocka_unit_test(what_is_no_event_is_refused_and_leaves_nothing),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
