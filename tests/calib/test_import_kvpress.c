#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "calib/import.h"
#include "calib/literal.h"

#define REAL "../shared/real/kvpress-ruler4096-qwen3-8b"

static bool available(void) {
    struct stat sb;
    if (stat(REAL, &sb) == 0)
        return true;
    printf("skip: %s is not there\n", REAL);
    return false;
}

static kr_calib *load(kr_import **keep) {
    static const char *const paths[] = {REAL};
    kr_import_opts o = {.kind = "kvpress", .paths = paths, .n_paths = 1};
    kr_import *im = NULL;
    kr_calib *c = NULL;
    kr_error err = {0};
    if (kr_import_open(&o, &im, &err) != KR_OK || kr_import_read(im, &err) != KR_OK ||
        kr_import_build(im, &c, &err) != KR_OK)
        fail_msg("%s", err.msg);
    *keep = im;
    return c;
}

static void the_full_set_is_there_once(void **state) {
    (void)state;
    if (!available())
        skip();
    kr_import *im = NULL;
    kr_calib *c = load(&im);
    assert_int_equal(kr_calib_rows(c), 6500);
    assert_int_equal(kr_calib_tasks(c), 13);
    assert_int_equal(kr_calib_policies(c), 9);
    assert_int_equal(kr_calib_methods(c), 3);
    assert_true(kr_calib_task_uniform(c, KR_SPLIT_CAL));
    assert_int_equal(kr_import_notes(im), 1);
    assert_string_equal(
        kr_import_note(im, 0)->text,
        "ruler__4096__Qwen--Qwen3-8B__no_press__0.00/1 is a rerun of the same setting "
        "as ruler__4096__Qwen--Qwen3-8B__no_press__0.00: not counted.");
    kr_request r = kr_calib_row(c, 500);
    assert_int_equal(r.id_len, strlen("niah_multikey_2-00000"));
    assert_memory_equal(r.id, "niah_multikey_2-00000", r.id_len);
    kr_calib_free(c);
    kr_import_free(im);
}

/* Events at tau 0, 0.1, 0.25, 0.5 as counted independently of this program. */
static void events_equal_the_published_table(void **state) {
    (void)state;
    static const struct {
        const char *method;
        int kept, events[4];
    } table[] = {
        {"uniform_filtering_keydiff", 75, {4, 2, 1, 1}},
        {"uniform_filtering_keydiff", 50, {15, 10, 10, 9}},
        {"uniform_filtering_keydiff", 25, {179, 122, 91, 89}},
        {"filtering_zerofill_keydiff", 75, {24, 14, 14, 7}},
        {"filtering_zerofill_keydiff", 50, {121, 30, 23, 16}},
        {"filtering_zerofill_keydiff", 25, {661, 377, 167, 132}},
        {"filtering_stale_keydiff", 75, {32, 13, 13, 7}},
        {"filtering_stale_keydiff", 50, {69, 13, 10, 7}},
        {"filtering_stale_keydiff", 25, {92, 18, 9, 4}},
    };
    static const int64_t tau[] = {0, 100000000, 250000000, 500000000};
    if (!available())
        skip();
    kr_import *im = NULL;
    kr_calib *c = load(&im);
    size_t checked = 0;
    for (size_t p = 0; p < kr_calib_policies(c); p++)
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            const kr_policy *q = kr_calib_policy(c, p);
            if (strcmp(q->method, table[i].method) != 0 ||
                kr_dec_cmp(q->retention, kr_dec_make(table[i].kept, 2)) != 0)
                continue;
            for (size_t t = 0; t < 4; t++, checked++)
                assert_int_equal(kr_calib_events(c, p, KR_SPLIT_CAL, tau[t]), table[i].events[t]);
        }
    assert_int_equal(checked, 36);
    printf("note: %zu event counts equal the published table\n", checked);
    kr_calib_free(c);
    kr_import_free(im);
}

/* -1: the full-KV run. */
static double task_mean(const kr_calib *c, size_t task, int policy) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < kr_calib_rows(c); i++) {
        kr_request r = kr_calib_row(c, i);
        if (r.task != task)
            continue;
        sum += (double)(policy < 0 ? r.full : kr_calib_utility(c, i, (size_t)policy)) / 1e9;
        n++;
    }
    return sum / (double)n;
}

static size_t compare_run(const kr_calib *c, int policy, const char *dir) {
    char path[512];
    char *text = NULL;
    size_t len = 0, checked = 0;
    kr_arena a = {0};
    kr_lit *v = NULL;
    kr_error err;
    snprintf(path, sizeof path, REAL "/%s/metrics.json", dir);
    assert_int_equal(kr_file_read(path, 1 << 20, &text, &len, &err), KR_OK);
    assert_int_equal(kr_lit_parse(KR_LIT_JSON, text, len, &a, &v, NULL, &err), KR_OK);
    for (size_t t = 0; t < kr_calib_tasks(c); t++, checked++) {
        char mine[32], theirs[32];
        double x = 0;
        assert_true(kr_lit_number(kr_lit_get(kr_lit_get(v, kr_calib_task(c, t)), "string_match"),
                                  false, &x));
        snprintf(mine, sizeof mine, "%.2f", 100 * task_mean(c, t, policy));
        snprintf(theirs, sizeof theirs, "%.2f", x);
        assert_string_equal(mine, theirs);
    }
    kr_arena_free(&a);
    free(text);
    return checked;
}

static void task_means_equal_every_metrics_file(void **state) {
    (void)state;
    if (!available())
        skip();
    kr_import *im = NULL;
    kr_calib *c = load(&im);
    size_t checked = compare_run(c, -1, "ruler__4096__Qwen--Qwen3-8B__no_press__0.00");
    checked += compare_run(c, -1, "ruler__4096__Qwen--Qwen3-8B__no_press__0.00/1");
    for (size_t p = 0; p < kr_calib_policies(c); p++) {
        const kr_policy *q = kr_calib_policy(c, p);
        char dir[256], ratio[KR_DEC_TEXT];
        kr_dec removed;
        assert_true(kr_dec_sub(kr_dec_make(1, 0), q->retention, &removed));
        snprintf(dir, sizeof dir, "ruler__4096__Qwen--Qwen3-8B__%s__%s", q->method,
                 kr_dec_fixed(removed, 2, ratio));
        checked += compare_run(c, (int)p, dir);
    }
    printf("note: %zu task means equal metrics.json to two decimals\n", checked);
    assert_int_equal(checked, 11 * 13);
    kr_calib_free(c);
    kr_import_free(im);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_full_set_is_there_once),
        cmocka_unit_test(events_equal_the_published_table),
        cmocka_unit_test(task_means_equal_every_metrics_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
