#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ui/canvas.h"
#include "ui/plot.h"
#include "ui/widget.h"

static char *drawn(int w, int h, kr_look look, const char *s) {
    kr_canvas *c = kr_canvas_new(w, h, look);
    kr_canvas_str(c, kr_canvas_rect(c), 0, 0, KR_ROLE_TEXT, s);
    char *out = kr_canvas_dump(c);
    kr_canvas_free(c);
    return out;
}

static void expect(int w, kr_look look, const char *s, const char *want) {
    char *got = drawn(w, 1, look, s);
    assert_string_equal(got, want);
    free(got);
}

static void unsafe_text_becomes_question_marks(void **state) {
    (void)state;
    expect(20, KR_LOOK_UTF8, "a\033[31mb", "a?[31mb\n");
    expect(20, KR_LOOK_UTF8,
           "a\x7f"
           "b\xc2\x9b"
           "c",
           "a?b?c\n"); /* DEL, C1 CSI */
    expect(20, KR_LOOK_UTF8,
           "a\xe2\x80\xae"
           "b\xe2\x81\xa6"
           "c",
           "a?b?c\n"); /* RLO, LRI */
    expect(20, KR_LOOK_UTF8,
           "a\xff"
           "b\xc0\xaf"
           "c",
           "a?b??c\n");                            /* invalid, overlong */
    expect(20, KR_LOOK_UTF8, "e\xcc\x81", "é\n"); /* combining mark */
    expect(20, KR_LOOK_UTF8, "x\xcc\x81\xcc\x82\xcc\x83y", "xy\n"); /* no character for them */
    expect(20, KR_LOOK_UTF8, "\xcc\x81\xcc\x82z", "?z\n");
    expect(20, KR_LOOK_ASCII, "e\xcc\x81\xcc\x82z", "?z\n");
    expect(20, KR_LOOK_UTF8, "tail \xe2\x94", "tail ??\n");
}

static void wide_characters_take_two_cells_and_are_cut_whole(void **state) {
    (void)state;
    assert_int_equal(kr_text_width("\xe6\xbc\xa2"
                                   "a"),
                     3);
    expect(4, KR_LOOK_UTF8, "\xe6\xbc\xa2\xe6\xbc\xa2", "\xe6\xbc\xa2\xe6\xbc\xa2\n");
    expect(3, KR_LOOK_UTF8, "\xe6\xbc\xa2\xe6\xbc\xa2", "\xe6\xbc\xa2?\n");
    kr_canvas *c = kr_canvas_new(4, 1, KR_LOOK_UTF8);
    kr_rect r = kr_canvas_rect(c);
    kr_canvas_str(c, r, 0, 0, KR_ROLE_TEXT,
                  "\xe6\xbc\xa2"
                  "b");
    kr_canvas_put(c, r, 1, 0, KR_ROLE_TEXT, 'x'); /* the left half must go as well */
    char *got = kr_canvas_dump(c);
    assert_string_equal(got, " xb\n");
    free(got);
    kr_canvas_free(c);
}

static void the_ascii_look_writes_ascii_only(void **state) {
    (void)state;
    expect(20, KR_LOOK_ASCII, "\u256d\u2500\u256e \u2264 \u00e9 \u25cf", "+-+ < ? *\n");
    kr_canvas *c = kr_canvas_new(120, 40, KR_LOOK_ASCII);
    for (uint32_t cp = 0; cp < 0x3000; cp++)
        kr_canvas_put(c, kr_canvas_rect(c), (int)(cp % 120), (int)(cp / 120 % 40), KR_ROLE_TEXT,
                      cp);
    char *got = kr_canvas_dump(c);
    for (const char *p = got; *p != '\0'; p++)
        assert_true((*p >= ' ' && *p <= '~') || *p == '\n');
    free(got);
    kr_canvas_free(c);
}

static void drawing_never_leaves_its_rectangle(void **state) {
    (void)state;
    static const double xs[] = {0.8, 0.6, 0.4, 0.2}, ys[] = {0.01, 0.02, 0.3, 1.0};
    static const double us[] = {0.02, 0.03, 0.4, 1.0};
    for (int w = 0; w <= 60; w++)
        for (int h = 0; h <= 20; h += 3) {
            kr_canvas *c = kr_canvas_new(70, 30, KR_LOOK_UTF8);
            kr_rect r = {5, 4, w, h};
            kr_rect in = kr_frame(c, r, "a title that is long", "and its note");
            kr_frame_divider(c, r, h / 2, "divider", "note");
            kr_plot p = {.n = 4,
                         .x = xs,
                         .rate = ys,
                         .upper = us,
                         .target = 0.05,
                         .cert = 0.6,
                         .emp = 0.4,
                         .focus = 0.4,
                         .x_scale = 100,
                         .x_unit = "%"};
            kr_plot_draw(c, in, &p, (kr_plot_alphabet)(w % KR_PLOT_ALPHABETS));
            kr_canvas_wrap(c, in, KR_ROLE_TEXT, "some words that do not fit into one line of it");
            kr_bar(c, in, 0, 0, 200, 0.99, KR_ROLE_CERT);
            kr_interval(c, in, 2, 1, 300, 0.1, 0.2, 0.9, 0.5, 0.6, KR_ROLE_FALL);
            for (int y = 0; y < 30; y++)
                for (int x = 0; x < 70; x++)
                    if (x < 5 || y < 4 || x >= 5 + w || y >= 4 + h)
                        assert_int_equal(kr_canvas_at(c, x, y)->cp, ' ');
            kr_canvas_free(c);
        }
}

static void fields_pad_and_cut_by_columns(void **state) {
    (void)state;
    kr_canvas *c = kr_canvas_new(30, 4, KR_LOOK_UTF8);
    kr_rect r = kr_canvas_rect(c);
    kr_canvas_field(c, r, 0, 0, 6, KR_RIGHT, KR_ROLE_TEXT, "12");
    kr_canvas_put(c, r, 6, 0, KR_ROLE_TEXT, '|');
    kr_canvas_field(c, r, 0, 1, 6, KR_LEFT, KR_ROLE_TEXT, "streaming");
    kr_canvas_put(c, r, 6, 1, KR_ROLE_TEXT, '|');
    kr_canvas_field(c, r, 0, 2, 6, KR_LEFT, KR_ROLE_TEXT,
                    "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2");
    kr_canvas_put(c, r, 6, 2, KR_ROLE_TEXT, '|');
    char *got = kr_canvas_dump(c);
    assert_string_equal(got, "    12|\nstrea\u2026|\n\xe6\xbc\xa2\xe6\xbc\xa2\u2026 |\n\n");
    free(got);
    kr_canvas_free(c);
}

static void text_wraps_at_blanks(void **state) {
    (void)state;
    kr_canvas *c = kr_canvas_new(12, 4, KR_LOOK_UTF8);
    assert_int_equal(kr_canvas_wrap(c, kr_canvas_rect(c), KR_ROLE_TEXT, "with at least 95 % of it"),
                     3);
    char *got = kr_canvas_dump(c);
    assert_string_equal(got, "with at\nleast 95 %\nof it\n\n");
    free(got);
    kr_canvas_free(c);
    assert_int_equal(kr_canvas_wrap(NULL, (kr_rect){0, 0, 5, 9}, KR_ROLE_TEXT, "abcdefghijkl"), 3);
}

static void axes_of_plots_have_round_ticks(void **state) {
    (void)state;
    assert_float_equal(kr_round_step(0.15, 4), 0.05, 1e-12);
    assert_float_equal(kr_round_step(0.20, 4), 0.05, 1e-12);
    assert_float_equal(kr_round_step(1, 5), 0.2, 1e-12);
    assert_float_equal(kr_round_step(0.003, 3), 0.001, 1e-12);
    static const double x[] = {0.8, 0.5, 0.2}, bad[] = {0.0, 0.0 / 0.0, 1.0 / 0.0};
    kr_plot p = {.n = 3,
                 .x = x,
                 .rate = bad,
                 .target = 0,
                 .cert = 0.0 / 0.0,
                 .emp = 1.0 / 0.0,
                 .focus = 0.0 / 0.0,
                 .x_scale = 100};
    kr_canvas *c = kr_canvas_new(60, 12, KR_LOOK_ASCII);
    assert_int_equal(kr_plot_draw(c, kr_canvas_rect(c), &p, KR_PLOT_BLOCK), 2);
    char *got = kr_canvas_dump(c);
    assert_non_null(strstr(got, "  100%+"));
    assert_non_null(strstr(got, "    0%+"));
    assert_non_null(strstr(got, "80"));
    free(got);
    kr_canvas_free(c);
}

static void strips_tell_fallback_from_every_share(void **state) {
    (void)state;
    kr_strip_cell k[4] = {
        {0.99, false, true}, {1, true, true}, {0.65, false, true}, {0.1, false, true}};
    kr_canvas *c = kr_canvas_new(6, 1, KR_LOOK_UTF8);
    kr_strip(c, kr_canvas_rect(c), 0, 0, 4, k, -1, false);
    char *got = kr_canvas_dump(c);
    assert_string_equal(got, "\u2587\u2588\u2585\u2581\n");
    free(got);
    kr_canvas_free(c);
    c = kr_canvas_new(6, 1, KR_LOOK_ASCII);
    kr_strip(c, kr_canvas_rect(c), 0, 0, 4, k, 3, true);
    got = kr_canvas_dump(c);
    assert_string_equal(got, "9F6|\n");
    free(got);
    kr_canvas_free(c);
}

static void lists_move_no_further_than_needed(void **state) {
    (void)state;
    assert_int_equal(kr_list_top(5, 10, 4, 3), 0);
    assert_int_equal(kr_list_top(50, 10, 12, 0), 3);
    assert_int_equal(kr_list_top(50, 10, 12, 5), 5);
    assert_int_equal(kr_list_top(50, 10, 2, 5), 2);
    assert_int_equal(kr_list_top(50, 10, 49, 45), 40);
}

static void every_role_is_readable_in_every_theme(void **state) {
    (void)state;
    double worst = 21;
    for (int t = 0; t < KR_THEME_COUNT; t++)
        for (int d = 0; d <= KR_DEPTH_256; d++)
            for (int r = 0; r < KR_ROLE_COUNT; r++)
                for (int picked = 0; picked < 2; picked++) {
                    kr_style s = kr_theme_style((kr_theme)t, (kr_depth)d, (kr_role)r, picked != 0);
                    assert_true(s.fg != s.bg || s.fg == -1);
                    if (d == KR_DEPTH_MONO || t == KR_THEME_MONO)
                        assert_true(s.fg == -1 && s.bg == -1);
                    if (d != KR_DEPTH_256 || s.fg < 0)
                        continue;
                    bool light = t == KR_THEME_LIGHT, both = t == KR_THEME_DEFAULT && s.bg < 0;
                    double on_white = kr_palette_contrast(s.fg, s.bg >= 0 ? s.bg : 231);
                    double on_black = kr_palette_contrast(s.fg, s.bg >= 0 ? s.bg : 16);
                    double k = both    ? (on_white < on_black ? on_white : on_black)
                               : light ? on_white
                                       : on_black;
                    if (r == KR_ROLE_FRAME && k > 1.5)
                        continue; /* lines only, no text */
                    if (k < 3)
                        print_error("theme %s role %c picked %d: contrast %.2f\n",
                                    kr_theme_name((kr_theme)t), kr_role_letter((kr_role)r), picked,
                                    k);
                    assert_true(k >= 3);
                    worst = k < worst ? k : worst;
                }
    printf("note: lowest contrast of text in the 256-colour themes %.2f\n", worst);
}

static void shades_fall_in_one_direction(void **state) {
    (void)state;
    for (int t = 0; t < KR_THEME_MONO; t++) {
        double sign = 0;
        for (int i = 1; i < 10; i++) {
            short a =
                kr_theme_style((kr_theme)t, KR_DEPTH_256, (kr_role)(KR_ROLE_HEAT0 + i - 1), false)
                    .bg;
            short b =
                kr_theme_style((kr_theme)t, KR_DEPTH_256, (kr_role)(KR_ROLE_HEAT0 + i), false).bg;
            double d = kr_palette_luminance(b) - kr_palette_luminance(a);
            if (i == 1)
                sign = d;
            if (!(d * sign > 0))
                print_error("theme %d step %d: %.3f\n", t, i, d);
            assert_true(d * sign > 0);
        }
    }
    assert_int_equal(kr_heat_step(0.95), 0);
    assert_int_equal(kr_heat_step(0.9), 1);
    assert_int_equal(kr_heat_step(0.7), 3);
    assert_int_equal(kr_heat_step(0.1), 9);
    assert_int_equal(kr_heat_step(0.05), 9);
}

static void certified_and_fallback_differ_without_red_and_green(void **state) {
    (void)state;
    for (int t = 0; t < KR_THEME_MONO; t++)
        for (int d = KR_DEPTH_8; d <= KR_DEPTH_256; d++) {
            short a = kr_theme_style((kr_theme)t, (kr_depth)d, KR_ROLE_CERT, false).fg;
            short b = kr_theme_style((kr_theme)t, (kr_depth)d, KR_ROLE_FALL, false).fg;
            assert_int_not_equal(a, b);
            assert_int_not_equal(a, 2); /* never plain green */
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsafe_text_becomes_question_marks),
        cmocka_unit_test(wide_characters_take_two_cells_and_are_cut_whole),
        cmocka_unit_test(the_ascii_look_writes_ascii_only),
        cmocka_unit_test(drawing_never_leaves_its_rectangle),
        cmocka_unit_test(fields_pad_and_cut_by_columns),
        cmocka_unit_test(text_wraps_at_blanks),
        cmocka_unit_test(axes_of_plots_have_round_ticks),
        cmocka_unit_test(strips_tell_fallback_from_every_share),
        cmocka_unit_test(lists_move_no_further_than_needed),
        cmocka_unit_test(every_role_is_readable_in_every_theme),
        cmocka_unit_test(shades_fall_in_one_direction),
        cmocka_unit_test(certified_and_fallback_differ_without_red_and_green),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
