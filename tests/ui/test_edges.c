/* What a stranger tries: windows that are too small, values in every notation, odd files. */
#include "helpers.h"

#include "ui/print.h"

/* --- windows that are too small --------------------------------------------------------------- */

static void a_window_that_is_too_small_changes_nothing_unseen(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_resize(a, 40, 12);
    kr_app_type(a, "2j\nlll\n\t+++a\n:tol 0.3\n=0.2\n/x\nM?");
    kr_app_mouse(a, KR_KEY_CLICK, 12, 1);
    assert_int_equal(a->screen, KR_SCREEN_MAIN);
    assert_int_equal(a->n_saved, 0);
    assert_int_equal(a->undo.n, 0);
    assert_int_equal(a->prompt.kind, KR_PROMPT_NONE);
    kr_app_key(a, KR_CTRL('l'));
    assert_true(kr_app_wants_redraw(a));
    kr_app_resize(a, 80, 24);
    expect_seen(a, "● LOCKED");
    kr_app_type(a, "?");
    kr_app_resize(a, 59, 16); /* q leaves help elsewhere; here it leaves */
    kr_app_type(a, "q");
    assert_true(kr_app_done(a));
    kr_app_free(a);
}

static void leaving_a_small_window_asks_and_keeps_an_open_prompt(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, "a\n:tol 0.");
    kr_app_resize(a, 50, 1);
    kr_app_type(a, "25\n");
    assert_string_equal(a->prompt.text, "tol 0.");
    kr_app_type(a, "q");
    expect_seen(a, "not exported");
    kr_app_type(a, "nq");
    assert_false(kr_app_done(a));
    kr_app_type(a, "y");
    assert_true(kr_app_done(a));
    kr_app_free(a);
}

/* Every walk through sizes and screens leaves each cursor on something that is there. */
static void cursors_stay_inside_at_every_size(void **state) {
    (void)state;
    static const char *const files[] = {sample, published, adaptive};
    static const int sizes[][2] = {{40, 12}, {60, 16}, {80, 24}, {59, 40}, {120, 36},
                                   {200, 60}, {160, 15}, {100, 30}, {1, 1}};
    static const char pressed[] = "2jkhlgG\n3jG\n4jGe\n5j6jG\n1jG0mcR";
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        kr_app *a = open_app(files[f], 40, 12);
        unsigned seed = 7;
        for (int i = 0; i < 600; i++) {
            seed = seed * 1103515245u + 12345u;
            const int *size = sizes[seed >> 16 & 7];
            if (i % 5 == 0)
                kr_app_resize(a, size[0], size[1]);
            seed = seed * 1103515245u + 12345u;
            char one[2] = {pressed[(seed >> 16) % (sizeof pressed - 1)], '\0'};
            kr_app_type(a, one);
            assert_true(a->map_x >= 0 && a->map_x < a->f.map_cols);
            assert_true(a->map_y >= 0 && a->map_y < a->f.map_rows);
            assert_true(a->level >= 0 && a->level < (int)a->f.n_levels);
            assert_true(a->tasks.at >= 0 && a->methods.at >= 0 && a->requests.at >= 0);
            free(seen(a));
        }
        kr_app_free(a);
    }
}

static void the_map_after_a_small_window_is_counted(void **state) {
    (void)state;
    kr_print_options o = {.screen = "main", .w = 40, .h = 12, .keys = "2j\n"};
    char *s = NULL;
    assert_int_equal(kr_print_screen(sample, &o, &s, NULL), KR_OK);
    assert_non_null(strstr(s, "needs 60x16"));
    free(s);
    kr_app *a = open_app(sample, 40, 12);
    kr_app_show(a, KR_SCREEN_MAP);
    kr_app_type(a, "j\n");
    assert_null(kr_map_cursor(a));
    kr_app_resize(a, 80, 24);
    expect_seen(a, "cell 0.100, 5.0 %: 30 %, 14 of at most 20 events");
    expect_seen(a, "● LOCKED");
    kr_app_free(a);
}

/* --- typed values ----------------------------------------------------------------------------- */

static void a_typed_value_means_one_thing(void **state) {
    (void)state;
    static const struct {
        const char *keys, *shown;
    } good[] = {{":risk 0.04\n", "4.0 %"},   {":risk 4%\n", "4.0 %"},   {":risk 0.5%\n", "0.5 %"},
                {":risk 4 %\n", "4.0 %"},    {":conf 0.9\n", "90.0 %"}, {":conf 99%\n", "99.0 %"},
                {":tol 8%\n", "0.080"},      {":tol 1\n", "1.000"},     {"\t=0.5\n", "50.0 %"}};
    static const struct {
        const char *keys, *why;
    } bad[] = {{":risk 1\n", "type 1% or 0.01"},       {":risk 5\n", "type 5% or 0.05"},
               {":risk 2.5\n", "type 2.5% or 0.025"},  {":risk 400\n", "type 5% or 0.05"},
               {":conf 95\n", "type 95% or 0.95"},     {":conf 100\n", "type 95% or 0.95"},
               {"\t=5\n", "type 5% or 0.05"},          {":conf 0.4\n", "below 0.5"},
               {":risk 100%\n", "out of range"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        kr_app *a = open_app(sample, 80, 24);
        kr_app_type(a, good[i].keys);
        expect_seen(a, good[i].shown);
        kr_app_free(a);
    }
    kr_app *a = open_app(sample, 80, 24);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kr_app_type(a, bad[i].keys);
        expect_seen(a, bad[i].why);
        expect_seen(a, "● LOCKED");
    }
    kr_app_type(a, "=");
    expect_seen(a, "risk (now 5.0 %; 0.05 or 5%) =");
    kr_app_free(a);
}

/* --- fallback ---------------------------------------------------------------------------------- */

static void full_kv_has_no_counts_of_its_own(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    expect_seen(a, "h2o                FULL   80%     -       -       -       -  80%: 25 > 20");
    kr_app_type(a, ":method h2o\n");
    expect_not_seen(a, "upper 5");
    expect_seen(a, "25 events");
    kr_app_free(a);
}

/* --- commands ---------------------------------------------------------------------------------- */

static void an_ambiguous_command_lists_what_it_may_be(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, ":t\n");
    expect_seen(a, "':t' may be tol");
    kr_app_type(a, ":re\n");
    expect_seen(a, "':re' may be redo, reset");
    kr_app_type(a, ":m\n"); /* three begin so: none of them is run */
    assert_int_equal(a->screen, KR_SCREEN_MAIN);
    kr_app_type(a, ":q!!\n");
    assert_false(kr_app_done(a));
    kr_app_free(a);
}

/* --- the map as a table ------------------------------------------------------------------------ */

static char dir[] = "/tmp/kvrisk-edges-XXXXXX";

static int make_dir(void **state) {
    (void)state;
    return mkdtemp(dir) == NULL;
}

static int drop_dir(void **state) {
    (void)state;
    char path[64];
    static const char *const names[] = {"set.jsonl", "map.csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

/* A small file: n requests of one task, two to a cluster or each alone. */
static void write_set(char path[64], const char *head, int n, bool clustered) {
    kr_buf b = {0};
    kr_buf_printf(&b, "%s\n", head);
    for (int i = 0; i < n; i++) {
        kr_buf_printf(&b, "{\"id\":\"r%d\",\"task\":\"t\",", i);
        if (clustered)
            kr_buf_printf(&b, "\"cluster\":\"c%d\",", i / 2);
        kr_buf_puts(&b, "\"split\":\"cal\",\"full\":1,\"utility\":[1]}\n");
    }
    snprintf(path, 64, "%s/set.jsonl", dir);
    assert_int_equal(kr_file_write(path, b.s, b.len, true, NULL), KR_OK);
    kr_buf_free(&b);
}

static const char header[] =
    "{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":1},"
    "\"tasks\":[\"t\"],\"policies\":[{\"method\":\"a\",\"retention\":0.8}]}";

static char *exported_map(const char *path) {
    char line[96], csv[64], *s = NULL;
    size_t n;
    kr_app *a = open_app(path, 80, 24); /* from Main: the map was never on the screen */
    snprintf(csv, sizeof csv, "%s/map.csv", dir);
    snprintf(line, sizeof line, ":mapcsv %s\n", csv);
    unlink(csv);
    kr_app_type(a, line);
    assert_int_equal(kr_file_read(csv, 1 << 20, &s, &n, NULL), KR_OK);
    assert_non_null(strstr(s, kr_calib_sha256(a->calib)));
    kr_app_free(a);
    return s;
}

static void an_exported_map_says_what_is_refused_or_too_small(void **state) {
    (void)state;
    char path[64], *s = exported_map(sample);
    assert_non_null(strstr(s, "tolerance,risk,confidence,method,decision,"));
    assert_non_null(strstr(s, "0.1,0.05,0.95,keydiff,certified,0.3,,14,20,0.25,,LOCKED,"));
    assert_non_null(strstr(s, "0.1,0.06,0.95,keydiff,certified,"));
    assert_non_null(strstr(s, ",WHAT-IF,"));
    free(s);
    write_set(path, header, 200, true);
    s = exported_map(path);
    assert_non_null(strstr(s, ",REFUSED,"));
    assert_null(strstr(s, ",WHAT-IF,"));
    free(s);
    write_set(path, header, 30, false);
    s = exported_map(path);
    assert_non_null(strstr(s, "0,0.05,0.95,a,fallback,1.0,,,-1,0.8,,N TOO SMALL,"));
    free(s);
}

/* --- levels without shares, long values -------------------------------------------------------- */

static char *shot(const char *path, const char *screen, int w, int h, const char *pressed,
                  bool ascii) {
    char *s = NULL;
    kr_print_options o = {.screen = screen, .w = w, .h = h, .keys = pressed, .ascii = ascii};
    kr_error err = {.msg = ""};
    if (kr_print_screen(path, &o, &s, &err) != KR_OK)
        fail_msg("%s", err.msg);
    return s;
}

static int count(const char *s, const char *part) {
    int n = 0;
    for (; (s = strstr(s, part)) != NULL; s += strlen(part))
        n++;
    return n;
}

static void levels_without_shares_are_shown_as_levels(void **state) {
    (void)state;
    char *s = shot(adaptive, "main", 80, 24, NULL, false);
    assert_int_equal(count(s, "fixed: published at this tolerance only"), 1);
    expect_in(s, "share kept by refreekv, ▒ level", true);
    expect_in(s, "50 ▒▒▒▒", true);
    free(s);
    s = shot(adaptive, "main", 80, 24, NULL, true);
    expect_in(s, "50 ++++", true);
    free(s);
    s = shot(adaptive, "map", 80, 24, NULL, false);
    expect_in(s, " 6.0%    thr 0.001 ", true);
    expect_in(s, "[ thr 0.0005 ]", true);
    expect_in(s, "?   ", false);
    free(s);
    s = shot(adaptive, "map", 80, 24, "m", true);
    expect_in(s, "nan", false);
    free(s);
    s = shot(adaptive, "map", 80, 24, "mm", true);
    expect_in(s, "nan", false);
    free(s);
    s = shot(adaptive, "policy", 80, 24, NULL, false);
    expect_in(s, "WHAT-IF: CERTIFIED at thr 0.0005 ─", true);
    expect_in(s, "1.5  ", false); /* candidates are whole */
    free(s);
}

/* Thresholds without mean_retained in a file of requests: every tolerance moves the verdict. */
static void thresholds_of_requests_have_strips_too(void **state) {
    (void)state;
    char path[64];
    write_set(path,
              "{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":1},"
              "\"tasks\":[\"t\"],\"policies\":[{\"method\":\"a\",\"threshold\":0.0005}]}",
              100, false);
    char *s = shot(path, "main", 80, 24, NULL, false);
    expect_in(s, "fixed: published", false);
    expect_in(s, "▒ certified level of a, █ full KV", true);
    assert_true(count(s, "▒▒▒▒▒▒▒▒") >= 3);
    free(s);
    s = shot(path, "map", 80, 24, NULL, false); /* eleven columns: four characters each */
    expect_in(s, "5e-4", true);
    free(s);
    s = shot(path, "map", 160, 48, NULL, false);
    expect_in(s, ".0005", true);
    free(s);
}

static void long_values_are_cut_with_a_mark_and_said_exactly(void **state) {
    (void)state;
    static const struct {
        kr_field f;
        kr_dec v;
        int room;
        const char *text;
    } values[] = {
        {KR_FIELD_TOLERANCE, {1, 1}, 8, "0.100"},
        {KR_FIELD_TOLERANCE, {0, 0}, 7, "0.000"},
        {KR_FIELD_TOLERANCE, {1000000000, 0}, 8, "1e9"},
        {KR_FIELD_TOLERANCE, {1234567891, 0}, 8, "1.234…e9"},
        {KR_FIELD_TOLERANCE, {123456789, 9}, 8, "0.12345…"},
        {KR_FIELD_TOLERANCE, {1, 11}, 8, "1e-11"},
        {KR_FIELD_RISK, {1, 11}, 8, "1e-9 %"},
        {KR_FIELD_RISK, {123456789, 10}, 8, "1.234… %"},
        {KR_FIELD_CONFIDENCE, {99999999999, 11}, 8, "99.99… %"},
        {KR_FIELD_CONFIDENCE, {5, 1}, 7, "50.0 %"},
        {KR_FIELD_CONFIDENCE, {999, 3}, 7, "99.9 %"},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char s[40];
        kr_value_fit(values[i].f, values[i].v, values[i].room, s);
        assert_string_equal(s, values[i].text);
        assert_true(kr_text_width(s) <= values[i].room);
    }
    static const int sizes[][2] = {{60, 16}, {80, 24}, {120, 36}, {200, 60}};
    for (size_t i = 0; i < 4; i++) {
        char *s = shot(sample, "main", sizes[i][0], sizes[i][1],
                       ":conf 0.99999999999\n:tol 1000000000\n", false);
        expect_in(s, "exactly: tolerance 1000000000", true);
        expect_in(s, "1e9", true);
        expect_in(s, "… %", true);
        free(s);
    }
}

static void counts_of_a_thousand_million_keep_their_distance(void **state) {
    (void)state;
    static const char text[] =
        "{\"kvrisk\":1,\"kind\":\"counts\",\"name\":\"big\",\"tolerance\":0.1,\"n\":1000000000,"
        "\"test_n\":1000000000,\"tasks\":12,\"policies\":[{\"method\":\"snapkv\",\"retention\":0.8,"
        "\"events\":39000000,\"test_events\":42000000},{\"method\":\"snapkv\",\"retention\":0.5,"
        "\"events\":49000000,\"test_events\":51000000},{\"method\":\"snapkv\",\"retention\":0.3,"
        "\"events\":590000000,\"test_events\":610000000}]}";
    static const int sizes[][2] = {{60, 16}, {80, 24}, {120, 36}, {200, 60}};
    char path[64];
    snprintf(path, sizeof path, "%s/set.jsonl", dir);
    assert_int_equal(kr_file_write(path, text, sizeof text - 1, true, NULL), KR_OK);
    for (size_t i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            static const char *const names[] = {"main", "policy", "points"};
            char *s = shot(path, names[k], sizes[i][0], sizes[i][1], "a\n", false);
            expect_in(s, "%4", false);
            expect_in(s, "49000…", false);
            expect_in(s, "<1e-45", false);
            if (k < 2) /* beside the plot there is room for the reason only */
                expect_in(s, k == 0 && i == 2 ? "30%: 590000000>" : " 49000000 ", true);
            free(s);
        }
}

/* --- pasted text -------------------------------------------------------------------------------- */

static void paste(kr_app *a, const char *text) {
    kr_app_key(a, KR_KEY_PASTE_ON);
    for (; *text != '\0'; text++)
        kr_app_key(a, *text == '\n' ? KR_KEY_ENTER : (unsigned char)*text);
    kr_app_key(a, KR_KEY_PASTE_OFF);
}

static void pasted_text_is_text_and_never_keys(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    paste(a, "2j\nq:q!\n");
    assert_false(kr_app_done(a));
    assert_int_equal(a->screen, KR_SCREEN_MAIN);
    expect_seen(a, "pasted text is not taken as keys");
    expect_seen(a, "● LOCKED");
    kr_app_type(a, ":");
    paste(a, "tol 0.2\x1b\x01\n");
    assert_string_equal(a->prompt.text, "tol 0.2");
    kr_app_key(a, KR_KEY_ENTER);
    expect_seen(a, "0.200");
    kr_app_type(a, "/");
    paste(a, "snap\n");
    assert_string_equal(a->methods.filter, "snap");
    assert_int_equal(a->methods.n, 1);
    kr_app_key(a, KR_KEY_ESC);
    kr_app_type(a, "a\nq");
    paste(a, "y"); /* no answer to a question */
    assert_false(kr_app_done(a));
    kr_app_type(a, "n");
    kr_app_key(a, KR_KEY_PASTE_ON); /* its end is lost: a second later keys are keys again */
    kr_app_type(a, "2");
    assert_int_equal(a->screen, KR_SCREEN_MAIN);
    kr_app_tick(a);
    kr_app_type(a, "2");
    assert_int_equal(a->screen, KR_SCREEN_MAIN);
    a->pasted_at -= 3;
    kr_app_tick(a);
    kr_app_type(a, "2");
    assert_int_equal(a->screen, KR_SCREEN_MAP);
    kr_app_free(a);
}

static void pasted_text_that_does_not_fit_is_said(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    char text[400];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    kr_app_type(a, ":");
    paste(a, text);
    assert_int_equal(a->prompt.len, 255);
    expect_seen(a, "the last 144 characters did not fit and are not there");
    kr_app_type(a, "y"); /* nor does what is typed */
    assert_int_equal(a->prompt.len, 255);
    expect_seen(a, "a line has at most 255 bytes");
    kr_app_key(a, KR_KEY_BACKSPACE);
    expect_not_seen(a, "at most 255 bytes");
    kr_app_key(a, KR_KEY_ESC);
    kr_app_type(a, ":");
    paste(a, text + 144); /* just fits */
    expect_not_seen(a, "did not fit");
    kr_app_key(a, KR_KEY_ESC);
    kr_app_type(a, ":screen r");
    kr_app_key(a, '\t'); /* what is said while something is typed can be read */
    expect_seen(a, "requests");
    kr_app_free(a);
}

/* --- tabs --------------------------------------------------------------------------------------- */

static void the_open_tab_is_always_shown_and_clicked_where_it_is(void **state) {
    (void)state;
    static const struct {
        kr_screen screen;
        const char *tab;
    } all[] = {{KR_SCREEN_MAIN, "▐1 Main▌"},     {KR_SCREEN_MAP, "▐2 Map▌"},
               {KR_SCREEN_POLICY, "▐3 Policy▌"}, {KR_SCREEN_TASKS, "▐4 Tasks▌"},
               {KR_SCREEN_REEVAL, "▐5 Re-eval▌"}, {KR_SCREEN_POINTS, "▐6 Points▌"},
               {KR_SCREEN_CLAIMS, "▐7 Claims▌"}, {KR_SCREEN_PLAN, "▐8 Plan▌"}};
    kr_app *a = open_app(sample, 80, 24);
    for (int w = KR_MIN_W; w <= 160; w++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            kr_app_resize(a, w, 24);
            kr_app_show(a, all[i].screen);
            expect_seen(a, all[i].tab);
            if (w >= 100)
                expect_seen(a, "9 Simulate");
            int found = 0;
            for (int x = 0; x < w; x++)
                found += kr_tab_at(a, x) == (int)all[i].screen;
            assert_int_equal(found, kr_text_width(all[i].tab) - 1);
        }
    kr_app_free(a);
}

static void thresholds_leave_room_for_the_reason(void **state) {
    (void)state;
    static const int sizes[][2] = {{80, 24}, {100, 30}, {116, 32}, {120, 36}, {160, 48}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        kr_app *a = open_app("data/samples/mini-ruler.jsonl", sizes[i][0], sizes[i][1]);
        expect_seen(a, "stopped at");
        expect_seen(a, "refreekv");
        kr_app_free(a);
    }
}

/* A utility that runs to 100 is no share: a percentage of it could mean two things. */
static void a_tolerance_in_units_of_utility_takes_no_percent(void **state) {
    (void)state;
    char path[64];
    write_set(path,
              "{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":100},"
              "\"tasks\":[\"t\"],\"policies\":[{\"method\":\"a\",\"retention\":0.5}]}",
              100, false);
    kr_app *a = open_app(path, 60, 16);
    kr_app_type(a, ":tol 5%\n");
    expect_seen(a, "units of utility, no share here");
    kr_app_type(a, "=");
    expect_seen(a, "tolerance (now 10.000; in units of utility) =");
    kr_app_type(a, "5\n");
    expect_seen(a, "▸5.000◂");
    kr_app_type(a, "=2 %\n");
    expect_seen(a, "▸5.000◂");
    kr_app_type(a, ":risk 4%\n");
    expect_seen(a, " 4.0 %");
    kr_app_free(a);
}

static void large_utilities_keep_their_distance(void **state) {
    (void)state;
    static const struct {
        double v;
        const char *text;
    } numbers[] = {{0.5, "0.5000"},  {100, "100.000"},     {-100, "-100.00"}, {12345.678, "12345.7"},
                   {4e9, "4e+09"},   {-1234567, "-1.2e+06"}, {0, "0.0000"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char s[32];
        kr_number_text(numbers[i].v, 4, i == 5 ? 8 : 7, s);
        if (i != 5)
            assert_string_equal(s, numbers[i].text);
        assert_true(strlen(s) <= 8);
    }
    kr_buf b = {0};
    char path[64];
    kr_buf_puts(&b, "{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":100},"
                    "\"tasks\":[\"t\"],\"policies\":[{\"method\":\"a\",\"retention\":0.5}]}\n");
    for (int i = 0; i < 80; i++)
        kr_buf_printf(&b, "{\"id\":\"r%d\",\"task\":\"t\",\"full\":100,\"utility\":[%d]}\n", i,
                      i % 2 == 0 ? 100 : 0);
    snprintf(path, sizeof path, "%s/set.jsonl", dir);
    assert_int_equal(kr_file_write(path, b.s, b.len, true, NULL), KR_OK);
    kr_buf_free(&b);
    char *s = shot(path, "requests", 80, 24, NULL, false);
    expect_in(s, " 100.000  0.0000 100.000", true);
    free(s);
}

int main(void) {
    setenv("XDG_STATE_HOME", "/nonexistent", 1); /* the ledgers of the user are not known here */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_that_is_too_small_changes_nothing_unseen),
        cmocka_unit_test(leaving_a_small_window_asks_and_keeps_an_open_prompt),
        cmocka_unit_test(cursors_stay_inside_at_every_size),
        cmocka_unit_test(the_map_after_a_small_window_is_counted),
        cmocka_unit_test(a_typed_value_means_one_thing),
        cmocka_unit_test(full_kv_has_no_counts_of_its_own),
        cmocka_unit_test(an_ambiguous_command_lists_what_it_may_be),
        cmocka_unit_test(an_exported_map_says_what_is_refused_or_too_small),
        cmocka_unit_test(levels_without_shares_are_shown_as_levels),
        cmocka_unit_test(thresholds_of_requests_have_strips_too),
        cmocka_unit_test(long_values_are_cut_with_a_mark_and_said_exactly),
        cmocka_unit_test(counts_of_a_thousand_million_keep_their_distance),
        cmocka_unit_test(pasted_text_is_text_and_never_keys),
        cmocka_unit_test(pasted_text_that_does_not_fit_is_said),
        cmocka_unit_test(the_open_tab_is_always_shown_and_clicked_where_it_is),
        cmocka_unit_test(thresholds_leave_room_for_the_reason),
        cmocka_unit_test(a_tolerance_in_units_of_utility_takes_no_percent),
        cmocka_unit_test(large_utilities_keep_their_distance),
    };
    return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
