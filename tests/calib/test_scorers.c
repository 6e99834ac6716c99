/* Every case of tests/fixtures/golden_scores.json, whose expected values were computed by running the
 * reference evaluations (versions in its "meta"). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "calib/literal.h"
#include "calib/scorer_lines.h"
#include "calib/scorer_text.h"

#define GOLDEN "tests/fixtures/golden_scores.json"
enum { MAX_SCORERS = 64 };

typedef struct {
    char *text;
    size_t len;
    kr_arena arena;
    const kr_lit *cases;
} golden;

static golden load(void) {
    golden g = {0};
    kr_lit *v = NULL;
    kr_error err = {0};
    assert_int_equal(kr_file_read(GOLDEN, 16 << 20, &g.text, &g.len, &err), KR_OK);
    if (kr_lit_parse(KR_LIT_JSON, g.text, g.len, &g.arena, &v, NULL, &err) != KR_OK)
        fail_msg("%s", err.msg);
    g.cases = kr_lit_get(v, "cases");
    assert_non_null(g.cases);
    return g;
}

static void unload(golden *g) {
    kr_arena_free(&g->arena);
    free(g->text);
}

static bool is_truth(const kr_lit *v, double *out) {
    if (v->type == KR_LIT_BOOL)
        *out = v->yes;
    return v->type == KR_LIT_BOOL || kr_lit_number(v, false, out);
}

static bool same(const kr_lit *got, const kr_lit *want) {
    double x, y;
    if (is_truth(want, &y))
        return is_truth(got, &x) && fabs(x - y) <= 1e-9;
    if (got->type != want->type || got->count != want->count)
        return false;
    if (want->type == KR_LIT_STR)
        return got->len == want->len && memcmp(got->s, want->s, got->len) == 0;
    const kr_lit *a = got->first, *b = want->first;
    for (; b != NULL; a = a->next, b = b->next)
        if (!same(want->type == KR_LIT_DICT ? kr_lit_get(got, b->key) : a, b))
            return false;
    return true;
}

/* Scores one case through the line interface, as `kvrisk score` does. */
static bool passes(const golden *g, const kr_lit *c, const char *scorer) {
    kr_line_score s = {.rouge_limit = KR_ROUGE_LIMIT};
    kr_buf out = {0};
    kr_error err = {0};
    kr_arena a = {0};
    kr_lit *v = NULL;
    const kr_lit *want = kr_lit_get(c, "expected");
    assert_int_equal(kr_line_score_open(&s, scorer, &err), KR_OK);
    if (kr_line_score_run(&s, g->text + c->from, c->to - c->from, "golden", 1, &out, &err) != KR_OK)
        fail_msg("%s", err.msg);
    if (kr_lit_parse(KR_LIT_JSON, out.s, out.len, &a, &v, NULL, &err) != KR_OK)
        fail_msg("%s", err.msg);
    const kr_lit *got = kr_lit_get(v, "score");
    bool raises = want->type == KR_LIT_DICT && kr_lit_get(want, "error") != NULL;
    bool ok = raises ? got->type == KR_LIT_NULL && kr_lit_get(v, "error") != NULL : same(got, want);
    kr_line_score_close(&s);
    kr_arena_free(&a);
    kr_buf_free(&out);
    return ok;
}

static bool refused(const char *scorer) {
    const kr_scorer *s = kr_scorer_find(scorer);
    return s != NULL && s->run == NULL;
}

static void golden_scores_equal_the_references(void **state) {
    (void)state;
    golden g = load();
    const char *names[MAX_SCORERS];
    size_t count[MAX_SCORERS] = {0}, n = 0, total = 0;
    for (const kr_lit *c = g.cases->first; c != NULL; c = c->next) {
        const char *scorer = kr_lit_get(c, "scorer")->s;
        size_t k = 0;
        while (k < n && strcmp(names[k], scorer) != 0)
            k++;
        assert_true(k < MAX_SCORERS);
        if (k == n)
            names[n++] = scorer;
        count[k]++;
        if (refused(scorer))
            continue;
        if (!passes(&g, c, scorer))
            fail_msg("%s", kr_lit_get(c, "id")->s);
        total++;
    }
    for (size_t k = 0; k < n; k++)
        printf("note: %-36s %3zu %s\n", names[k], count[k],
               refused(names[k]) ? kr_scorer_find(names[k])->refused : "cases equal the reference");
    printf("note: %zu golden scores equal\n", total);
    assert_true(total > 450);
    unload(&g);
}

static kr_score run(const char *scorer, const char *prediction, const char *answers, kr_arena *a) {
    kr_lit *v = NULL;
    kr_error err;
    assert_int_equal(kr_lit_parse(KR_LIT_JSON, answers, strlen(answers), a, &v, NULL, &err), KR_OK);
    kr_score_in in = {
        .prediction = prediction, .prediction_len = strlen(prediction), .answers = v, .arena = a};
    return kr_scorer_run(kr_scorer_find(scorer), &in);
}

static void a_sentence_pair_beyond_pythons_recursion_scores_zero_unless_unbounded(void **state) {
    (void)state;
    kr_arena a = {0};
    golden g = load();
    size_t seen = 0;
    for (const kr_lit *c = g.cases->first; c != NULL; c = c->next) {
        const kr_lit *free_value = kr_lit_get(c, "expected_unbounded");
        double want;
        if (free_value == NULL || !kr_lit_number(free_value, false, &want))
            continue;
        kr_score_in in = {.prediction = kr_lit_get(c, "prediction")->s,
                          .prediction_len = kr_lit_get(c, "prediction")->len,
                          .answers = kr_lit_get(c, "answers"),
                          .arena = &a};
        assert_true(fabs(kr_scorer_run(kr_scorer_find("longbench.rouge_l"), &in).value - want) <
                    1e-9);
        seen++;
    }
    assert_true(seen > 0);
    unload(&g);
    kr_arena_free(&a);
}

static void invalid_utf8_counts_as_a_replacement_character(void **state) {
    (void)state;
    kr_arena a = {0};
    assert_true(run("ruler.string_match_all",
                    "a\xff"
                    "b",
                    "[\"a\xef\xbf\xbd"
                    "b\"]",
                    &a)
                    .value == 1);
    assert_true(run("longbench.qa_f1", "\xc3(", "[\"\xef\xbf\xbd\"]", &a).value == 1);
    kr_arena_free(&a);
}

static void plain_scorers(void **state) {
    (void)state;
    kr_arena a = {0};
    assert_true(run("exact", "x", "[\"y\", \"x\"]", &a).value == 1);
    assert_true(run("exact", " x", "[\"x\"]", &a).value == 0);
    assert_true(run("exact_strip", " x\n", "[\"x\"]", &a).value == 1);
    assert_true(run("numeric", "so 1,234.50.", "[\"1234.5\"]", &a).value == 1);
    assert_true(run("numeric", "3 apples, 4", "[4]", &a).value == 1);
    assert_true(run("numeric", "-4", "[\"4\"]", &a).value == 0);
    assert_string_equal(run("numeric", "4", "[\"four\"]", &a).why, "the reference is no number");
    assert_string_equal(run("exact", "4", "[]", &a).why, "no reference answer");
    kr_arena_free(&a);
}

static void numbers_in_text_count_only_when_coerced(void **state) {
    (void)state;
    kr_arena a = {0};
    kr_lit *v = NULL;
    assert_int_equal(kr_lit_parse(KR_LIT_JSON, "[\"12\"]", 6, &a, &v, NULL, NULL), KR_OK);
    kr_score_in in = {.prediction = "12", .prediction_len = 2, .answers = v, .arena = &a};
    assert_true(kr_scorer_run(kr_scorer_find("infinitebench.code_run"), &in).value == 0);
    in.coerce = true;
    assert_true(kr_scorer_run(kr_scorer_find("infinitebench.code_run"), &in).value == 1);
    assert_true(kr_scorer_run(kr_scorer_find("infinitebench.math_find"), &in).value == 1);
    assert_true(kr_scorer_run(kr_scorer_find("infinitebench.math_calc"), &in).value == 1);
    kr_arena_free(&a);
}

static void python_white_space_and_word_characters(void **state) {
    (void)state;
    static const uint32_t space[] = {9,      13,     0x1c,   0x1f,   0x20,   0x85,   0xa0,  0x1680,
                                     0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000};
    static const uint32_t not_space[] = {8, 0x0e, 0x1b, 0x200b, 0xfeff, 0x180e};
    for (size_t i = 0; i < sizeof space / sizeof *space; i++)
        assert_true(kr_py_space(space[i]));
    for (size_t i = 0; i < sizeof not_space / sizeof *not_space; i++)
        assert_false(kr_py_space(not_space[i]));
    assert_true(kr_py_word('_') && kr_py_word(0x4e2d) && kr_py_word(0xbd) && kr_py_word(0x2160));
    assert_false(kr_py_word(0x301) || kr_py_word('-') || kr_py_word(0x2026));
    assert_true(kr_py_digit(0xff15) && kr_py_digit(0x663));
    assert_false(kr_py_digit(0xbd) || kr_py_digit(0x2160));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_scores_equal_the_references),
        cmocka_unit_test(a_sentence_pair_beyond_pythons_recursion_scores_zero_unless_unbounded),
        cmocka_unit_test(invalid_utf8_counts_as_a_replacement_character),
        cmocka_unit_test(plain_scorers),
        cmocka_unit_test(numbers_in_text_count_only_when_coerced),
        cmocka_unit_test(python_white_space_and_word_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
