/* Request files: three shapes of rows, and what is wrong with a row said with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "sample/request.h"

static char path[128];

static kr_status read_text(const char *text, kr_sample_requests **out, kr_error *e) {
    assert_int_equal(kr_file_write(path, text, strlen(text), true, e), KR_OK);
    kr_status st = kr_sample_requests_read(path, out, e);
    unlink(path);
    return st;
}

static kr_sample_requests *good(const char *text) {
    kr_sample_requests *r = NULL;
    kr_error e;
    if (read_text(text, &r, &e) != KR_OK)
        fail_msg("%s", e.msg);
    return r;
}

static void bad(const char *text, const char *part) {
    kr_sample_requests *r = NULL;
    kr_error e = {KR_OK, ""};
    assert_int_equal(read_text(text, &r, &e), KR_EFORMAT);
    if (strstr(e.msg, part) == NULL)
        fail_msg("'%s' gives '%s', without '%s'", text, e.msg, part);
}

static double scored(const kr_sample_request *q, const char *answer) {
    kr_arena a = {0};
    const char *why;
    double u = kr_sample_score(q, answer, strlen(answer), &a, &why);
    kr_arena_free(&a);
    return u;
}

static void own_rows(void **state) {
    (void)state;
    kr_sample_requests *r = good(
        "\xef\xbb\xbf{\"id\":\"a\",\"task\":\"t\",\"context\":\"c \",\"question\":\"q?\",\"answer_prefix\":\" A:\","
        "\"answers\":[\"x\",\"y\"],\"scorer\":\"string_match_all\",\"max_tokens\":7,\"split\":\"test\",\"more\":{}}\r\n"
        "\n"
        "{\"id\":12,\"prompt\":\"p\",\"answer\":\"x y\",\"scorer\":\"qa_f1\"}\n"
        "{\"prompt\":\"p\",\"answers\":[\"x\"],\"scorer\":\"exact\"}");
    assert_int_equal(r->n, 3);
    const kr_sample_request *q = kr_sample_requests_find(r, "a");
    assert_string_equal(q->question, "q?");
    assert_string_equal(q->split, "test");
    assert_false(q->whole);
    assert_int_equal(q->max_tokens, 7);
    assert_float_equal(scored(q, "it is X"), 0.5, 0);
    q = kr_sample_requests_find(r, "12");
    assert_true(q->whole);
    assert_string_equal(q->context, "p");
    assert_float_equal(scored(q, "the x"), 2.0 / 3, 1e-12);
    q = kr_sample_requests_find(r, "line-4");
    assert_float_equal(scored(q, "x"), 1, 0);
    assert_float_equal(scored(q, "x."), 0, 0);
    assert_null(kr_sample_requests_find(r, "b"));
    assert_int_equal(strlen(r->sha256), 64);
    kr_sample_requests_free(r);
}

static void ruler_rows_take_their_task_from_the_directory(void **state) {
    (void)state;
    char dir[128], file[160];
    kr_error e;
    kr_sample_requests *r = NULL;
    snprintf(dir, sizeof dir, "/tmp/kvrisk-%ld", (long)getpid());
    mkdir(dir, 0700);
    static const char *const tasks[] = {"niah_single_1", "qa_1", "vt"};
    static const size_t tokens[] = {128, 32, 30};
    static const double one_of_two[] = {0.5, 1, 0.5};
    for (size_t i = 0; i < 3; i++) {
        char sub[160];
        snprintf(sub, sizeof sub, "%s/%s", dir, tasks[i]);
        mkdir(sub, 0700);
        snprintf(file, sizeof file, "%.140s/validation.jsonl", sub);
        const char *row = "{\"index\": 0, \"input\": \"text. The answer is\", \"outputs\": [\"12\", \"34\"], "
                          "\"length\": 40, \"answer_prefix\": \" The answer is\"}\n";
        assert_int_equal(kr_file_write(file, row, strlen(row), true, &e), KR_OK);
        if (kr_sample_requests_read(file, &r, &e) != KR_OK)
            fail_msg("%s", e.msg);
        assert_string_equal(r->item[0].task, tasks[i]);
        assert_string_equal(r->item[0].context, "text. The answer is"); /* prefix not twice */
        assert_true(r->item[0].whole);
        assert_int_equal(r->item[0].max_tokens, tokens[i]);
        assert_float_equal(scored(&r->item[0], " 34"), one_of_two[i], 0);
        kr_sample_requests_free(r);
        unlink(file);
        rmdir(sub);
    }
    rmdir(dir);
}

static void longbench_rows(void **state) {
    (void)state;
    kr_sample_requests *r = good(
        "{\"input\":\"Who?\",\"context\":\"Long.\",\"answers\":[\"Ann\"],\"length\":1,\"dataset\":\"hotpotqa\","
        "\"language\":\"en\",\"all_classes\":null,\"_id\":\"h1\"}\n"
        "{\"input\":\"Q\",\"context\":\"C\",\"answers\":[\"City\"],\"dataset\":\"trec\","
        "\"all_classes\":[\"City\",\"State\"],\"_id\":\"h2\"}\n");
    const kr_sample_request *q = kr_sample_requests_find(r, "h1");
    assert_false(q->whole);
    assert_string_equal(q->question, "\n\nWho?\n");
    assert_int_equal(q->max_tokens, 32);
    assert_float_equal(scored(q, "Ann"), 1, 0);
    q = kr_sample_requests_find(r, "h2");
    assert_float_equal(scored(q, "City\nState"), 1, 0); /* its first line counts */
    kr_sample_requests_free(r);
}

static void what_is_wrong_with_a_row_is_said_with_its_line(void **state) {
    (void)state;
    bad("", "holds no request");
    bad("\n\n", "holds no request");
    bad("{", ":1: ");
    bad("[]", "one JSON object per line");
    bad("{\"id\":\"a\"}", "\"answers\" is missing");
    bad("{\"prompt\":\"p\",\"answers\":[]}", "no list of texts");
    bad("{\"prompt\":\"p\",\"answers\":[1]}", "no list of texts");
    bad("{\"answers\":[\"x\"]}", "either \"prompt\" or \"context\"");
    bad("{\"prompt\":\"p\",\"context\":\"c\",\"answers\":[\"x\"]}", "either \"prompt\" or");
    bad("{\"prompt\":\"p\",\"question\":\"q\",\"answers\":[\"x\"]}", "whole prompt");
    bad("{\"prompt\":3,\"answers\":[\"x\"]}", "\"prompt\" is no text");
    bad("{\"prompt\":\"a\\u0000b\",\"answers\":[\"x\"]}", "without NUL");
    bad("{\"prompt\":\"p\",\"answers\":[\"x\"],\"scorer\":\"bleu\"}", "no scorer \"bleu\"");
    bad("{\"prompt\":\"p\",\"answers\":[\"x\"],\"scorer\":\"longbench.qa_f1_zh\"}", "jieba");
    bad("{\"prompt\":\"p\",\"answers\":[\"x\"],\"max_tokens\":0}", "from 1 to 65536");
    bad("{\"prompt\":\"p\",\"answers\":[\"x\"],\"max_tokens\":1.5}", "from 1 to 65536");
    bad("{\"prompt\":\"p\",\"answers\":[\"x\"],\"max_tokens\":99999999999999999999}", "from 1 to");
    bad("{\"prompt\":\"p\",\"answers\":[\"x\"],\"split\":\"dev\"}", "\"split\"");
    bad("{\"id\":\"\",\"prompt\":\"p\",\"answers\":[\"x\"]}", "\"id\" is empty");
    bad("{\"id\":\"a\",\"prompt\":\"p\",\"answers\":[\"x\"]}\n{\"id\":\"a\",\"prompt\":\"p\",\"answers\":[\"x\"]}",
        ":2: id \"a\" was used on line 1");
    bad("{\"input\":\"i\",\"context\":\"c\",\"answers\":[\"x\"],\"dataset\":\"nothing\"}", "cannot be scored");
    kr_sample_requests *r = NULL;
    kr_error e;
    assert_int_equal(kr_sample_requests_read("/nowhere/r.jsonl", &r, &e), KR_EIO);
    assert_int_equal(kr_sample_requests_read("/tmp", &r, &e), KR_EIO);
}

int main(void) {
    snprintf(path, sizeof path, "/tmp/kvrisk-requests-%ld.jsonl", (long)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_rows),
        cmocka_unit_test(ruler_rows_take_their_task_from_the_directory),
        cmocka_unit_test(longbench_rows),
        cmocka_unit_test(what_is_wrong_with_a_row_is_said_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
