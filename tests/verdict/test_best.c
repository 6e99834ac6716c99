#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "verdict/best.h"

typedef struct {
    kr_calib *c;
    kr_analysis *a;
} opened;

static opened open_file(const char *path, bool family) {
    opened x = {NULL, NULL};
    kr_error e = {0};
    kr_analysis_options o = {.split = KR_SPLIT_CAL, .family = family};
    if (kr_calib_load(path, &x.c, &e) != KR_OK || kr_analysis_new(x.c, o, &x.a, &e) != KR_OK)
        fail_msg("%s", e.msg);
    return x;
}

static void close_file(opened x) {
    kr_analysis_free(x.a);
    kr_calib_free(x.c);
}

static double kept(const opened *x, const char *method) {
    size_t m = (size_t)kr_calib_find_method(x->c, method);
    return kr_share_kept(x->c, m, kr_analysis_line(x->a, m)->certified);
}

#define SAMPLE "tests/fixtures/prototype/mini-ruler.jsonl"
#define PUBLISHED "data/samples/published-llama31-8b-longbench.json"

static void a_family_shares_the_error_level_among_its_methods(void **state) {
    (void)state;
    opened x = open_file(SAMPLE, true);
    assert_int_equal(kr_analysis_max_events(x.a), 16);
    assert_float_equal(kept(&x, "keydiff"), 0.30, 1e-12);
    assert_float_equal(kept(&x, "snapkv"), 0.70, 1e-12);
    assert_float_equal(kept(&x, "adakv"), 0.70, 1e-12);
    assert_float_equal(kept(&x, "h2o"), 1, 1e-12);
    assert_int_equal(kr_analysis_state(x.a), KR_STATE_LOCKED);
    assert_int_equal(kr_analysis_set_family(x.a, false, NULL), KR_OK);
    assert_float_equal(kept(&x, "snapkv"), 0.65, 1e-12);
    close_file(x);
}

static void the_published_counts_lose_one_certificate_to_the_choice(void **state) {
    (void)state;
    opened x = open_file(PUBLISHED, true);
    assert_int_equal(kr_analysis_max_events(x.a), 43);
    assert_int_equal(kr_analysis_certified_count(x.a), 3);
    assert_float_equal(kept(&x, "defensivekv"), 1, 1e-12);
    assert_float_equal(kept(&x, "layer_defensivekv"), 0.35, 1e-12);
    close_file(x);
}

static void the_best_of_lines_alone_is_never_locked_and_has_its_price(void **state) {
    (void)state;
    opened x = open_file(SAMPLE, false);
    kr_best b;
    assert_int_equal(kr_best_overall(x.a, false, &b, NULL), KR_OK);
    assert_true(b.any && !b.covered);
    assert_int_equal(b.state, KR_STATE_WHAT_IF);
    assert_true(b.error > 0.2 && b.error < 0.38);
    kr_buf t = {0};
    kr_best_sentence(x.a, &b, &t);
    assert_ptr_equal(strstr(kr_buf_text(&t), "WHAT-IF"), kr_buf_text(&t));
    kr_buf_free(&t);
    assert_int_equal(kr_best_overall(x.a, true, &b, NULL), KR_OK);
    assert_true(b.any && b.covered);
    assert_int_equal(b.state, KR_STATE_WHAT_IF); /* the file does not declare a family */
    assert_float_equal(b.error, 0.05, 1e-12);
    kr_best_sentence(x.a, &b, &t);
    assert_non_null(strstr(kr_buf_text(&t), "had the family been declared before looking"));
    kr_buf_free(&t);
    assert_false(kr_analysis_family(x.a));
    close_file(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_shares_the_error_level_among_its_methods),
        cmocka_unit_test(the_published_counts_lose_one_certificate_to_the_choice),
        cmocka_unit_test(the_best_of_lines_alone_is_never_locked_and_has_its_price),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
