#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ui/layout.h"

static bool overlap(kr_rect a, kr_rect b) {
    return a.w > 0 && a.h > 0 && b.w > 0 && b.h > 0 && a.x < b.x + b.w && b.x < a.x + a.w &&
           a.y < b.y + b.h && b.y < a.y + a.h;
}

static void check(kr_screen s, int w, int h, const kr_layout_need *n) {
    kr_layout l = kr_layout_make(s, w, h, n);
    int shown = 0;
    for (int i = 0; i < KR_PANE_COUNT; i++) {
        kr_rect r = l.pane[i];
        bool inside =
            r.w == 0 || r.h == 0 || (r.x >= 0 && r.y >= 0 && r.x + r.w <= w && r.y + r.h <= h);
        if (!inside || r.w < 0 || r.h < 0)
            print_error("screen %d %dx%d pane %d: %d,%d %dx%d\n", s, w, h, i, r.x, r.y, r.w, r.h);
        assert_true(inside && r.w >= 0 && r.h >= 0);
        shown += r.w > 0 && r.h > 0;
        for (int k = 0; k < i; k++) {
            if (overlap(r, l.pane[k]))
                print_error("screen %d %dx%d panes %d and %d overlap\n", s, w, h, i, k);
            assert_false(overlap(r, l.pane[k]));
        }
    }
    assert_true(shown > 0);
    if (l.step == KR_STEP_REFUSE)
        return;
    assert_true(shown >= 5); /* title, tabs, message, keys and something to see */
}

static const char statement[] =
    "With probability at least 95 % over the draw of the 600 calibration requests, snapkv "
    "keeping 65 % of the KV "
    "cache loses more than 0.10 utility on at most 5 % of requests of the task-uniform mixture "
    "of 6 tasks.";

static const kr_layout_need nine_methods = {.methods = 9, .levels = 13, .tasks = 6, .map_rows = 13,
                                            .statement = statement, .plot = true, .claims = 15,
                                            .entries = 5};

static void panes_never_overlap_or_leave_the_screen_at_any_size(void **state) {
    (void)state;
    for (int many = 0; many < 3; many++) {
        kr_layout_need n = {.methods = many == 0 ? 1 : many == 1 ? 9 : 64,
                            .levels = many == 2 ? 40 : 13,
                            .tasks = many == 2 ? 64 : 6,
                            .points = many,
                            .map_rows = 13,
                            .statement = many == 0 ? "" : statement,
                            .plot = many != 2,
                            .heads = many == 1, .below = many % 3,
                            .claims = many == 0 ? 1 : 15,
                            .entries = many == 2 ? 200 : many};
        for (int s = 0; s < KR_SCREEN_COUNT; s++)
            for (int w = 1; w <= 200; w++)
                for (int h = 1; h <= 60; h++)
                    check((kr_screen)s, w, h, &n);
    }
}

static void the_statement_is_on_every_screen_that_shows_a_verdict(void **state) {
    (void)state;
    static const kr_screen screens[] = {KR_SCREEN_MAIN, KR_SCREEN_POLICY, KR_SCREEN_TASKS};
    kr_layout_need n = nine_methods;
    for (size_t s = 0; s < 3; s++)
        for (int w = KR_MIN_W; w <= 200; w += 3)
            for (int h = KR_MIN_H; h <= 60; h++) {
                kr_layout l = kr_layout_make(screens[s], w, h, &n);
                kr_rect r = l.pane[KR_PANE_STATEMENT];
                assert_true(r.w > 0 && r.h > 0);
            }
}

static void the_selected_claim_and_some_of_the_others_are_always_shown(void **state) {
    (void)state;
    for (int w = KR_MIN_W; w <= 200; w++)
        for (int h = KR_MIN_H; h <= 60; h++) {
            kr_layout l = kr_layout_make(KR_SCREEN_CLAIMS, w, h, &nine_methods);
            kr_rect all = l.pane[KR_PANE_CLAIMS], one = l.pane[KR_PANE_CLAIM];
            assert_true(all.w > 0 && all.h >= 4 && one.w > 0 && one.h >= 1);
        }
}

static void a_ledger_shows_its_budget_entries_and_the_selected_one(void **state) {
    (void)state;
    for (int w = KR_MIN_W; w <= 200; w++)
        for (int h = KR_MIN_H; h <= 60; h++) {
            kr_layout l = kr_layout_make(KR_SCREEN_LEDGER, w, h, &nine_methods);
            kr_rect budget = l.pane[KR_PANE_BUDGET], all = l.pane[KR_PANE_ENTRIES],
                    one = l.pane[KR_PANE_ENTRY];
            assert_true(budget.h >= 2 && all.w > 0 && all.h >= 4 && one.w > 0 && one.h >= 1);
            kr_layout_need none = nine_methods;
            none.entries = 0;
            l = kr_layout_make(KR_SCREEN_LEDGER, w, h, &none);
            assert_true(l.pane[KR_PANE_ENTRY].h >= 8 && l.pane[KR_PANE_ENTRIES].h == 0);
        }
}

static void panes_come_in_steps(void **state) {
    (void)state;
    kr_layout_need n = nine_methods;
    assert_int_equal(kr_layout_step(59, 40), KR_STEP_REFUSE);
    assert_int_equal(kr_layout_step(60, 16), KR_STEP_SMALL);
    assert_int_equal(kr_layout_step(80, 24), KR_STEP_ONE);
    assert_int_equal(kr_layout_step(100, 30), KR_STEP_TWO);
    assert_int_equal(kr_layout_step(116, 32), KR_STEP_DASHBOARD);
    assert_int_equal(kr_layout_step(160, 48), KR_STEP_WIDE);
    kr_layout l = kr_layout_make(KR_SCREEN_MAIN, 116, 32, &n);
    static const kr_pane six[] = {KR_PANE_CONTRACT, KR_PANE_VERDICT, KR_PANE_PLOT,
                                  KR_PANE_METHODS,  KR_PANE_TASKS,   KR_PANE_STATEMENT};
    for (size_t i = 0; i < 6; i++)
        assert_true(l.pane[six[i]].h > 0);
    assert_true(l.pane[KR_PANE_METHODS].h >= 9 + 3);
    assert_true(kr_layout_make(KR_SCREEN_MAIN, 160, 48, &n).pane[KR_PANE_MAP].h >= 13 + 3);
    assert_int_equal(kr_layout_make(KR_SCREEN_MAIN, 80, 24, &n).pane[KR_PANE_PLOT].h, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panes_never_overlap_or_leave_the_screen_at_any_size),
        cmocka_unit_test(the_statement_is_on_every_screen_that_shows_a_verdict),
        cmocka_unit_test(the_selected_claim_and_some_of_the_others_are_always_shown),
        cmocka_unit_test(a_ledger_shows_its_budget_entries_and_the_selected_one),
        cmocka_unit_test(panes_come_in_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
