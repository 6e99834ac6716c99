/* What gives way where there is no room, and what the screens say of keys and commands. */
#include "helpers.h"

#include "base/buf.h"
#include "ui/keys.h"
#include "ui/widget.h"

static char dir[] = "/tmp/kvrisk-words-XXXXXX", file[64];

static int make_dir(void **state) {
    (void)state;
    bool made = mkdtemp(dir) != NULL;
    snprintf(file, sizeof file, "%s/set.jsonl", dir);
    return !made;
}

static int drop_dir(void **state) {
    (void)state;
    unlink(file);
    return rmdir(dir);
}

/* 90 requests that lose nothing under two methods. */
static void write_methods(const char *first, const char *second) {
    kr_buf b = {0};
    kr_buf_printf(&b,
                  "{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":1},\"contract\":"
                  "{\"tolerance\":0.1,\"risk\":0.05,\"confidence\":0.95},\"tasks\":[\"t\"],\"policies\":"
                  "[{\"method\":\"%s\",\"retention\":0.8},{\"method\":\"%s\",\"retention\":0.8}]}\n",
                  first, second);
    for (int i = 0; i < 90; i++)
        kr_buf_printf(&b, "{\"id\":\"r%d\",\"task\":\"t\",\"full\":1,\"utility\":[1,1]}\n", i);
    assert_int_equal(kr_file_write(file, b.s, b.len, true, NULL), KR_OK);
    kr_buf_free(&b);
}

static void repeat(char *out, size_t cap, const char *s, int n) {
    out[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(out + strlen(out), cap - strlen(out), "%s", s);
}

/* The row with the verdict's mark: whole, and no character of the name is cut in two. */
static void expect_verdict(kr_app *a, const char *mark, const char *verdict) {
    char *s = seen(a), *at = strstr(s, verdict);
    if (at == NULL)
        fail_msg("no '%s' on the screen:\n%s", verdict, s);
    while (at > s && at[-1] != '\n')
        at--;
    at[strcspn(at, "\n")] = '\0';
    expect_in(at, mark, true);
    expect_in(at, "?", false);
    free(s);
}

static void a_long_name_gives_way_to_its_verdict(void **state) {
    (void)state;
    static const char *const part[] = {"x", "缓存压缩", "é", "naïve_"};
    static const int count[] = {150, 15, 60, 20}, size[][2] = {{60, 16}, {80, 24}, {100, 30}, {120, 36}, {160, 48}};
    static const char *const screens[] = {"main", "policy", "tasks"};
    for (size_t p = 0; p < 4; p++) {
        char name[300], line[32];
        repeat(name, sizeof name, part[p], count[p]);
        write_methods(name, "b");
        for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
            kr_app *a = open_app(file, size[i][0], size[i][1]);
            kr_app_select_method(a, 0);
            for (int k = 0; k < 3; k++) {
                snprintf(line, sizeof line, ":screen %s\n", screens[k]);
                kr_app_type(a, ":reset\n");
                kr_app_type(a, line);
                expect_verdict(a, "✔", "CERTIFIED at 80 %");
                kr_app_type(a, ":tol 0.2\n");
                expect_verdict(a, "✔", "WHAT-IF: CERTIFIED at 80 %");
                kr_app_type(a, ":risk 0.5%\n");
                expect_verdict(a, "✘", "N TOO SMALL, full KV");
            }
            kr_app_free(a);
        }
    }
}

static void a_name_is_whole_where_there_is_room(void **state) {
    (void)state;
    write_methods("layer_defensivekv", "b");
    kr_app *a = open_app(file, 80, 24);
    kr_app_select_method(a, 0);
    kr_app_type(a, ":tol 0.2\n");
    expect_seen(a, "LAYER_DEFENSIVEKV  ✔ WHAT-IF: CERTIFIED at 80 %");
    expect_seen(a, "emp 80 %, no guarantee");
    kr_app_free(a);
}

/* --- notes, heads, lists ----------------------------------------------------------------------- */

static void expect_note(int w, const char *note, const char *shown) {
    kr_canvas *c = kr_canvas_new(w, 3, KR_LOOK_UTF8);
    kr_frame(c, kr_canvas_rect(c), "title", note);
    char *s = kr_canvas_dump(c);
    expect_in(s, shown, true);
    kr_canvas_free(c);
    free(s);
}

static void a_note_is_cut_between_its_words(void **state) {
    (void)state;
    expect_note(60, "rate  upper  risk", " rate  upper  risk ─╮");
    expect_note(30, "rate  upper  risk", " rate  upper ─╮");
    expect_note(30, "% of KV kept, by certified", " % of KV kept ─╮");
    expect_note(34, "simultaneous 95.0 % intervals", " simultaneous 95.0 … ─╮");
    expect_note(12, "no room", "╭─ title ──╮");
    expect_note(25, "incomprehensible", " incomprehe… ─╮");
    expect_note(25, "of incomprehensible", " of incompr… ─╮");
}

static void the_map_names_its_tolerances_at_every_size(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 60, 16);
    kr_app_type(a, "2");
    expect_seen(a, " .00 .02 .04 .06 .08 .10 .12 .15 .20 .25 .30");
    kr_app_resize(a, 80, 24);
    expect_seen(a, "0.00  0.02  0.04");
    kr_app_free(a);
}

static void a_list_without_colours_shows_where_it_is(void **state) {
    (void)state;
    kr_canvas *c = kr_canvas_new(1, 4, KR_LOOK_ASCII);
    kr_scrollbar(c, kr_canvas_rect(c), 8, 0);
    char *s = kr_canvas_dump(c);
    assert_string_equal(s, "#\n#\n|\n|\n");
    kr_canvas_free(c);
    free(s);
}

static void names_are_cut_between_characters(void **state) {
    (void)state;
    assert_string_equal(kr_text_short("缓存压缩", 12).s, "缓存压缩");
    assert_string_equal(kr_text_short("缓存压缩", 11).s, "缓存…");
    assert_string_equal(kr_text_short("layer_defensivekv", 10).s, "layer_d…");
    assert_int_equal(kr_text_whole("缓存压缩", 11), 9);
    assert_int_equal(kr_text_whole("ab", 11), 2);
    static const char *const screens[] = {"main",   "map",    "policy", "tasks",    "reeval", "points",
                                          "claims", "plan",   "simulate", "ledger", "requests"};
    char name[300], line[32];
    repeat(name, sizeof name, "x缓存压缩", 15);
    write_methods(name, "b");
    for (int wide = 0; wide < 2; wide++) {
        kr_app *a = open_app(file, wide ? 200 : 80, wide ? 60 : 24);
        kr_app_select_method(a, 0);
        kr_app_type(a, "a\n");
        for (size_t k = 0; k < sizeof screens / sizeof *screens; k++) {
            snprintf(line, sizeof line, ":screen %s\n", screens[k]);
            kr_app_type(a, line);
            char *s = seen(a), *help = strstr(s, "? help");
            assert_non_null(help);
            *help = ' ';
            if (strstr(s, "压缩?") != NULL || strstr(s, "存?") != NULL || strstr(s, "?…") != NULL ||
                strstr(s, "??") != NULL)
                fail_msg("%s cuts a character:\n%s", screens[k], s);
            free(s);
        }
        kr_app_free(a);
    }
}

static void points_show_names_before_they_show_blanks(void **state) {
    (void)state;
    write_methods("layer_defensivekv", "b");
    kr_app *a = open_app(file, 80, 24);
    kr_app_select_method(a, 0);
    kr_app_type(a, "anote one\n6");
    expect_seen(a, "  method             keeps  drop   risk   conf");
    expect_seen(a, "▸ layer_defensivekv  80 %   0.100  5.0 %  95.0 %");
    expect_seen(a, "note one");
    kr_app_free(a);
}

static void levels_of_one_method_are_compared_in_one_line(void **state) {
    (void)state;
    kr_app *a = open_app("data/samples/mini-ruler.jsonl", 80, 24);
    kr_app_type(a, ":method layer_defensivekv\n3");
    expect_seen(a, " against 45 %: only here 10, only there 2, McNemar p 0.039, -0.5 to +2.8 points\n");
    kr_app_type(a, "bp");
    expect_seen(a, " against layer_defensivekv 40 %: only here");
    kr_app_free(a);
}

static void reeval_offers_what_there_is(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, "5");
    expect_seen(a, "Enter what to run");
    expect_not_seen(a, "c cancel");
    expect_not_seen(a, "w write");
    kr_app_free(a);
}

/* --- keys and commands ------------------------------------------------------------------------- */

static bool listed(const kr_binding *t, size_t i, kr_screen s) {
    if ((t[i].screens & 1u << s) == 0 || kr_keys_action(t[i].keys[0], s) != t[i].act)
        return false;
    for (size_t k = 0; k < i; k++)
        if ((t[k].screens & 1u << s) != 0 && t[k].keys[0] == t[i].keys[0])
            return false;
    return true;
}

static void help_names_no_key_that_does_something_else(void **state) {
    (void)state;
    size_t n;
    const kr_binding *t = kr_keys_table(&n);
    for (int s = 0; s < KR_SCREEN_COUNT; s++)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < 5 && t[i].keys[k] != 0 && listed(t, i, (kr_screen)s); k++)
                if (kr_keys_action(t[i].keys[k], (kr_screen)s) != t[i].act)
                    fail_msg("help on %s: '%s' is not always: %s", kr_screen_name((kr_screen)s),
                             t[i].label, t[i].help);
    kr_app *a = open_app(sample, 80, 120);
    kr_app_type(a, "B?");
    expect_seen(a, "S-→        raise");
    kr_app_key(a, KR_KEY_ESC);
    kr_app_type(a, "5r?"); /* the form: arrows go through its fields */
    expect_seen(a, "S-Tab ↑ k  field before");
    expect_not_seen(a, "up in the list");
    kr_app_free(a);
}

static void keys_are_offered_where_they_act(void **state) {
    (void)state;
    kr_app *a = open_app("data/samples/mini-ruler.jsonl", 120, 36);
    kr_app_type(a, "B");
    free(seen(a));
    kr_app_settle(a);
    expect_seen(a, "Enter begin a ledger");
    expect_not_seen(a, "L lock");
    expect_not_seen(a, "x certificate");
    expect_seen(a, "of the 700 requests about 175"); /* 700 more are of the test split */
    kr_app_type(a, ":ledger start 100%\n");
    expect_seen(a, "some requests must stay closed");
    assert_int_equal(a->prompt.kind, KR_PROMPT_NONE);
    kr_app_type(a, "6");
    expect_not_seen(a, "e note");
    kr_app_type(a, "a\n");
    expect_seen(a, "e note");
    kr_app_free(a);
}

static void a_command_takes_no_word_that_means_nothing(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, ":family off\n");
    assert_false(kr_analysis_family(a->an));
    expect_seen(a, ":family takes nothing after it, and 'off' was typed");
    kr_app_type(a, ":tol 0.2\n:undo 3\n");
    expect_seen(a, ":undo takes nothing after it");
    kr_app_type(a, ":screen nine\n");
    expect_seen(a, "Tab after :screen lists them");
    kr_app_type(a, ":q! now\n");
    assert_false(kr_app_done(a));
    kr_app_type(a, ":quit\n");
    assert_true(kr_app_done(a));
    kr_app_free(a);
}

static void completions_that_do_not_fit_are_counted(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, ":\t");
    char *s = seen(a), *more = strstr(s, " more\n");
    assert_non_null(more);
    size_t left = 0, shown = 1;
    while (more > s && *more != '\n')
        more--;
    for (char *p = more + 2; *p != '\n'; p++)
        shown += strncmp(p, "  ", 2) == 0 && strncmp(p, "  and ", 6) != 0;
    sscanf(strstr(more, "  and ") + 6, "%zu", &left);
    assert_int_equal(shown + left, kr_command_count());
    free(s);
    kr_app_resize(a, 400, 24);
    kr_app_type(a, "\t");
    expect_seen(a, "help  q  quit  q!");
    kr_app_free(a);
}

static void the_map_names_what_its_cells_are(void **state) {
    (void)state;
    static const char *const shares[] = {"certified % of KV kept, ", "empirical % of KV kept, no guarantee, ",
                                         "points of KV that only the empirical rule drops, ",
                                         "jointly certified % of KV kept, "},
                      *const levels[] = {"certified threshold, ", "empirical threshold, no guarantee, ",
                                         "points of KV that only the empirical rule drops, ",
                                         "jointly certified threshold, "};
    for (int m = 0; m < 2; m++) {
        kr_app *a = open_app("data/samples/mini-ruler.jsonl", 80, 24);
        const char *name = m == 0 ? "layer_defensivekv" : "refreekv";
        char line[96];
        snprintf(line, sizeof line, ":method %s\n2", name);
        kr_app_type(a, line);
        for (int i = 0; i < 4; i++) {
            snprintf(line, sizeof line, "─ map: %s%s ─", (m == 0 ? shares : levels)[i], name);
            free(seen(a));
            expect_seen(a, line);
            kr_app_type(a, "m");
        }
        kr_app_free(a);
    }
}

static void it_is_always_said_whether_a_choice_is_covered(void **state) {
    (void)state;
    write_methods("a_method_with_a_rather_long_name", "b");
    char *s;
    size_t n;
    kr_buf b = {0};
    assert_int_equal(kr_file_read(file, 1 << 20, &s, &n, NULL), KR_OK);
    char *rest = strstr(s, "\"confidence\":0.95");
    assert_non_null(rest);
    kr_buf_printf(&b, "%.*s\"method\":\"a_method_with_a_rather_long_name\",%s", (int)(rest - s), s, rest);
    free(s);
    for (int wide = 0; wide < 3; wide++) {
        static const int size[3][2] = {{80, 24}, {120, 36}, {160, 48}};
        kr_app *a = open_app(file, size[wide][0], size[wide][1]);
        expect_seen(a, " each line alone; ");
        kr_app_type(a, "f");
        expect_seen(a, " a choice"); /* not declared: it explores */
        expect_seen(a, " explores ");
        kr_app_free(a);
    }
    assert_int_equal(kr_file_write(file, b.s, b.len, true, NULL), KR_OK);
    kr_buf_free(&b);
    for (int w = 80; w <= 160; w += 20) {
        kr_app *a = open_app(file, w, 36);
        expect_seen(a, " declared for a_method_");
        expect_seen(a, "; others explore ");
        kr_app_free(a);
    }
}

/* --- why ---------------------------------------------------------------------------------------- */

static void the_files_contract_without_guarantee_says_so(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    expect_seen(a, "file contract: at most");
    kr_analysis_disown(a->an, "These requests were opened before.");
    kr_facts_refresh(a);
    expect_seen(a, "file contract, WHAT-IF (i says why): at most 20 of 600 events");
    kr_app_type(a, "i");
    expect_seen(a, "These requests were opened before.");
    kr_app_free(a);
}

static void a_file_that_is_gone_is_noticed(void **state) {
    (void)state;
    write_methods("a", "b");
    kr_app *a = open_app(file, 80, 24);
    kr_app_tick(a);
    expect_not_seen(a, "gone");
    unlink(file);
    kr_app_tick(a);
    expect_seen(a, "the file is gone from disk");
    expect_seen(a, "[file changed]");
    kr_app_free(a);
}

int main(void) {
    setenv("XDG_STATE_HOME", "/nonexistent", 1); /* the ledgers of the user are not known here */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_name_gives_way_to_its_verdict),
        cmocka_unit_test(a_name_is_whole_where_there_is_room),
        cmocka_unit_test(a_note_is_cut_between_its_words),
        cmocka_unit_test(the_map_names_its_tolerances_at_every_size),
        cmocka_unit_test(a_list_without_colours_shows_where_it_is),
        cmocka_unit_test(names_are_cut_between_characters),
        cmocka_unit_test(points_show_names_before_they_show_blanks),
        cmocka_unit_test(levels_of_one_method_are_compared_in_one_line),
        cmocka_unit_test(reeval_offers_what_there_is),
        cmocka_unit_test(help_names_no_key_that_does_something_else),
        cmocka_unit_test(keys_are_offered_where_they_act),
        cmocka_unit_test(a_command_takes_no_word_that_means_nothing),
        cmocka_unit_test(completions_that_do_not_fit_are_counted),
        cmocka_unit_test(the_map_names_what_its_cells_are),
        cmocka_unit_test(it_is_always_said_whether_a_choice_is_covered),
        cmocka_unit_test(the_files_contract_without_guarantee_says_so),
        cmocka_unit_test(a_file_that_is_gone_is_noticed),
    };
    return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
