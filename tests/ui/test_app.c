#include "helpers.h"

#include <fcntl.h>
#include <time.h>

#include "ui/config.h"

static char dir[64];

static int make_dir(void **state) {
    (void)state;
    strcpy(dir, "/tmp/kvrisk-ui-XXXXXX"); /* nothing known of ledgers of the user's */
    return mkdtemp(dir) == NULL ? -1 : setenv("XDG_STATE_HOME", dir, 1);
}

static int drop_dir(void **state) {
    (void)state;
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

static void keys(kr_app *a, int key, int times) {
    for (int i = 0; i < times; i++)
        kr_app_key(a, key);
}

/* --- the sweep -------------------------------------------------------------------------------- */

static void the_first_screen_shows_the_declared_contract_and_every_method(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    expect_seen(a, "● LOCKED");
    expect_seen(a, "KEYDIFF  ✔ CERTIFIED at 30 %");
    expect_seen(a, "empirical 25 %, no guarantee");
    expect_seen(a, "snapkv              65%   55%    18   3.00%   4.42%  0.0113  60%: 24 > 20");
    expect_seen(a, "h2o                FULL   80%     -       -       -       -  80%: 25 > 20");
    expect_seen(a, "at most 20 of 600 events; 4 of 9 methods certified");
    expect_seen(a, "choosing among methods is not covered");
    expect_seen(a, "With probability at least 95 %");
    kr_app_free(a);
}

static void arrows_sweep_a_value_and_undo_takes_it_back(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, ":method snapkv\n\t");
    keys(a, KR_KEY_LEFT, 8); /* 5 % down to 1 % */
    expect_seen(a, "▸ 1.0 % ◂");
    expect_seen(a, "WHAT-IF");
    expect_seen(a, "SNAPKV  ✘ FALLBACK to full KV  WHAT-IF");
    kr_app_key(a, KR_KEY_LEFT); /* finer steps from here on */
    expect_seen(a, "▸ 0.9 % ◂");
    keys(a, 'u', 9);
    expect_seen(a, "▸ 5.0 % ◂");
    expect_seen(a, "● LOCKED");
    kr_app_key(a, 'u');
    expect_seen(a, "nothing to undo");
    keys(a, 'U', 9);
    expect_seen(a, "▸ 0.9 % ◂");
    kr_app_key(a, '0');
    expect_seen(a, "SNAPKV  ✔ CERTIFIED at 65 %");
    expect_not_seen(a, "WHAT-IF");
    kr_app_free(a);
}

static void undo_keeps_the_last_64_changes(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    for (int i = 0; i < 101; i++)
        kr_app_key(a, i == 100 ? 'f' : i % 2 == 0 ? KR_KEY_RIGHT : KR_KEY_LEFT);
    assert_int_equal(a->undo.n, KR_UNDO_MAX);
    keys(a, 'u', KR_UNDO_MAX);
    expect_not_seen(a, "nothing to undo");
    kr_app_key(a, 'u');
    expect_seen(a, "nothing to undo");
    kr_app_free(a);
}

static void the_choice_among_methods_is_covered_as_a_family_only(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    expect_seen(a, "choosing among methods is not covered");
    kr_app_type(a, "f");
    expect_seen(a, "one family, not declared before looking: a choice among methods explores");
    for (size_t m = 0; m < kr_calib_methods(a->calib); m++) {
        int together = kr_analysis_line(a->an, m)->certified;
        kr_point alone;
        kr_contract c = kr_analysis_contract(a->an);
        assert_int_equal(kr_analysis_at_mode(a->an, m, false, c, &alone, NULL), KR_OK);
        assert_true(together <= alone.certified); /* never more than alone */
    }
    kr_app_type(a, "afam\nu");
    expect_seen(a, "choosing among methods is not covered");
    expect_seen(a, "● LOCKED");
    kr_app_type(a, "6\n");
    expect_seen(a, "one family");
    kr_app_type(a, "0");
    expect_seen(a, "● LOCKED");
    kr_app_free(a);
}

static void ten_steps_are_one_undo_step_and_the_ends_hold(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_key(a, KR_KEY_SRIGHT);
    expect_seen(a, "▸ 0.200 ◂");
    kr_app_key(a, 'u');
    expect_seen(a, "▸ 0.100 ◂");
    keys(a, 'H', 5);
    expect_seen(a, "▸ 0.000 ◂");
    expect_seen(a, "end of the tolerance's range");
    kr_app_type(a, "\t\t");
    keys(a, 'L', 3);
    expect_seen(a, "▸ 99.9 % ◂");
    kr_app_free(a);
}

static void typed_values_are_exact_and_bad_ones_leave_the_value_alone(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, "=0.0725\n");
    expect_seen(a, "▸ 0.0725 ◂");
    kr_app_key(a, KR_KEY_RIGHT); /* back onto the grid */
    expect_seen(a, "▸ 0.080 ◂");
    kr_app_type(a, "\t=7.5%\n");
    expect_seen(a, "▸ 7.5 % ◂");
    kr_app_type(a, "=3 %\n");
    expect_seen(a, "▸ 3.0 % ◂");
    kr_app_type(a, "=0.04\n");
    expect_seen(a, "▸ 4.0 % ◂");
    static const char *const bad[] = {"=0\n", "=100\n", "=-1\n", "=nan\n", "=5x\n", "=1e999\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t before = a->n_messages;
        kr_app_type(a, bad[i]);
        assert_true(a->n_messages > before && a->messages[a->n_messages - 1].error);
        kr_app_key(a, '\t'), kr_app_key(a, KR_KEY_BACKTAB);
        expect_seen(a, "▸ 4.0 % ◂");
    }
    kr_app_type(a, "\t=99.5%\n");
    expect_seen(a, "▸ 99.5 % ◂");
    kr_app_free(a);
}

static void the_screen_agrees_with_the_analysis_along_a_sweep(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 120, 36);
    for (int i = 0; i < 60; i++) {
        kr_app_key(a, i % 7 == 3   ? 'p'
                      : i % 5 == 1 ? '\t'
                      : i % 3 == 0 ? KR_KEY_LEFT
                                   : KR_KEY_RIGHT);
        const kr_line *l = kr_analysis_line(a->an, a->method);
        kr_point p;
        assert_int_equal(kr_analysis_at(a->an, a->method, kr_analysis_contract(a->an), &p, NULL),
                         KR_OK);
        assert_int_equal(p.certified, l->certified);
        assert_int_equal(p.empirical, l->empirical);
        char label[32], want[80];
        kr_level_label(a, a->method, l->certified, label);
        snprintf(want, sizeof want, l->certified < 0 ? "full KV" : "CERTIFIED at %s", label);
        expect_seen(a, want);
    }
    kr_app_free(a);
}

/* --- screens ---------------------------------------------------------------------------------- */

static void escape_goes_back_and_never_quits(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, "\n");
    assert_int_equal(kr_app_screen(a), KR_SCREEN_POLICY);
    kr_app_type(a, "\n\n");
    assert_int_equal(kr_app_screen(a), KR_SCREEN_REQUESTS);
    static const kr_screen way[] = {KR_SCREEN_TASKS, KR_SCREEN_MAIN, KR_SCREEN_MAIN,
                                    KR_SCREEN_MAIN};
    for (size_t i = 0; i < 4; i++) {
        kr_app_key(a, KR_KEY_ESC);
        assert_int_equal(kr_app_screen(a), way[i]);
        assert_false(kr_app_done(a));
    }
    kr_app_type(a, "?");
    kr_app_key(a, KR_KEY_ESC);
    assert_int_equal(kr_app_screen(a), KR_SCREEN_MAIN);
    kr_app_key(a, 'q');
    assert_true(kr_app_done(a));
    kr_app_free(a);
}

static void quitting_asks_while_points_are_not_exported(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, "afirst\nq");
    assert_false(kr_app_done(a));
    expect_seen(a, "1 point is not exported. Quit anyway? y/N");
    kr_app_key(a, KR_KEY_ENTER); /* Enter is no */
    assert_false(kr_app_done(a));
    kr_app_type(a, "qx"); /* anything else keeps asking */
    expect_seen(a, "Quit anyway?");
    kr_app_key(a, 'y');
    assert_true(kr_app_done(a));
    kr_app_free(a);
    a = open_app(sample, 80, 24);
    kr_app_type(a, "a\n");
    kr_app_interrupt(a);
    assert_false(kr_app_done(a));
    kr_app_interrupt(a);
    assert_true(kr_app_done(a) && kr_app_interrupted(a));
    kr_app_free(a);
}

static void a_cell_of_the_map_becomes_the_contract(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, ":method snapkv\n2");
    expect_seen(a, "[  65]");
    keys(a, KR_KEY_DOWN, 2);
    expect_seen(a, "cell 0.100, 3.0 %: 80 %");
    kr_app_key(a, KR_KEY_ENTER);
    expect_seen(a, "WHAT-IF");
    expect_seen(a, " 3.0 %");
    kr_app_type(a, "1");
    expect_seen(a, "SNAPKV  ✔ WHAT-IF: CERTIFIED at 80 %");
    kr_app_type(a, "2m");
    expect_seen(a, "empirical % of KV kept, no guarantee");
    kr_app_type(a, "m");
    expect_seen(a, "points of KV");
    kr_app_type(a, "c");
    expect_seen(a, "99.0 %");
    kr_app_free(a);
}

static void every_cell_of_the_map_agrees_with_its_contract(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, ":method adakv\n2");
    for (int y = 0; y < a->f.map_rows; y++)
        for (int x = 0; x < a->f.map_cols; x++) {
            kr_contract c = kr_analysis_home(a->an);
            c.tolerance = a->f.map_tolerance[x];
            c.risk = a->f.map_risk[y];
            assert_int_equal(kr_analysis_set(a->an, c, NULL), KR_OK);
            assert_int_equal(kr_analysis_line(a->an, a->method)->certified,
                             a->f.map[y][x].point.certified);
        }
    kr_app_free(a);
}

static void lists_are_filtered_and_sorted(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, "/kv\n");
    assert_int_equal(a->methods.n, 3);
    kr_app_key(a, KR_KEY_ESC);
    assert_int_equal(a->methods.n, 9);
    kr_app_type(a, "/zzz");
    expect_seen(a, "/zzz");
    kr_app_key(a, KR_KEY_ENTER);
    expect_seen(a, "no method matches");
    kr_app_key(a, KR_KEY_ESC);
    kr_app_type(a, "ss"); /* by name */
    assert_string_equal(kr_calib_method(a->calib, a->methods.order[0])->name, "adakv");
    kr_app_type(a, "S");
    assert_string_equal(kr_calib_method(a->calib, a->methods.order[0])->name, "tova");
    kr_app_free(a);
}

static void requests_are_sorted_by_drop_and_counted_as_events(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, ":method snapkv\n:screen requests\n");
    assert_int_equal(a->f.n_requests, 600);
    for (size_t i = 1; i < a->f.n_requests; i++)
        assert_true(a->f.requests[i - 1].key >= a->f.requests[i].key);
    kr_app_type(a, "e");
    assert_int_equal(a->f.n_requests, 18); /* the events of the certified level */
    kr_app_type(a, "]");
    assert_int_equal(a->f.n_requests, 24);
    kr_app_type(a, "e/qa-0\n");
    for (size_t i = 0; i < a->f.n_requests; i++)
        assert_memory_equal(kr_calib_row(a->calib, a->f.requests[i].row).id, "qa-0", 4);
    kr_app_free(a);
}

static void tasks_add_up_to_the_whole(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, ":method snapkv\n4");
    long long events = 0, n = 0;
    for (size_t i = 0; i < a->f.n_tasks; i++) {
        events += a->f.tasks[i].events;
        n += a->f.tasks[i].n;
    }
    assert_int_equal(events, 18);
    assert_int_equal(n, 600);
    expect_seen(a, "all                 18/600");
    kr_app_free(a);
}

static void help_lists_every_key_and_command_and_scrolls(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    char all[200000] = "";
    kr_app_type(a, "?");
    for (int i = 0; i < 30; i++) {
        char *s = seen(a);
        strncat(all, s, sizeof all - strlen(all) - 1);
        free(s);
        kr_app_key(a, KR_KEY_PGDN);
    }
    size_t n;
    const kr_binding *t = kr_keys_table(&n);
    for (size_t i = 0; i < n; i++)
        if (kr_keys_action(t[i].keys[0], KR_SCREEN_MAIN) == t[i].act && (t[i].screens & 1u) != 0) {
            if (strstr(all, t[i].help) == NULL)
                print_error("not in the help: %s %s\n", t[i].label, t[i].help);
            assert_non_null(strstr(all, t[i].help));
        }
    for (size_t i = 0; i < kr_command_count(); i++) {
        char name[48];
        const char *help;
        kr_command_text(i, name, &help);
        assert_non_null(strstr(all, help));
    }
    kr_app_type(a, "/undo\n");
    expect_seen(a, ":undo");
    expect_not_seen(a, ":theme");
    kr_app_free(a);
}

static void keys_never_clash_on_a_screen(void **state) {
    (void)state;
    size_t n;
    const kr_binding *t = kr_keys_table(&n);
    for (int s = 0; s < KR_SCREEN_COUNT; s++) {
        assert_int_not_equal(kr_keys_action(KR_KEY_ESC, (kr_screen)s), KR_ACT_QUIT);
        assert_int_equal(kr_keys_action('q', (kr_screen)s), KR_ACT_QUIT);
        assert_int_equal(kr_keys_action('?', (kr_screen)s), KR_ACT_HELP);
        for (int k = 1; k <= 6; k++)
            assert_int_equal(kr_keys_action('0' + k, (kr_screen)s), KR_ACT_MAIN + k - 1);
    }
    for (size_t i = 0; i < n; i++) /* function keys only repeat what a letter does */
        assert_true(t[i].keys[0] < KR_KEY_F0);
}

static void the_statement_and_the_state_can_be_read_whole(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, "i");
    expect_seen(a, "The contract declared in the file.");
    expect_seen(a, "task-uniform mixture of 6 tasks");
    kr_app_key(a, KR_KEY_ESC);
    assert_int_equal(kr_app_screen(a), KR_SCREEN_MAIN);
    kr_app_free(a);
}

static void published_counts_say_what_they_lack(void **state) {
    (void)state;
    kr_app *a = open_app(published, 80, 24);
    expect_seen(a, "WHAT-IF");
    expect_not_seen(a, "● LOCKED");
    expect_seen(a, "fixed: published at this tolerance only");
    kr_app_key(a, KR_KEY_RIGHT);
    expect_seen(a, "published counts hold at their own tolerance only");
    kr_app_type(a, "4");
    expect_seen(a, "no single requests");
    kr_app_type(a, "2");
    expect_seen(a, "0.10");
    kr_app_free(a);
    a = open_app(adaptive, 80, 24);
    expect_seen(a, "CERTIFIED at thr 0.0005");
    kr_app_free(a);
}

static void unknown_keys_and_commands_say_so(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, "y");
    expect_seen(a, "y does nothing here");
    kr_app_type(a, ":frobnicate\n");
    expect_seen(a, "no command ':frobnicate'");
    kr_app_type(a, ":theme purple\n");
    expect_seen(a, "no theme 'purple'");
    kr_app_type(a, ":method nosuch\n");
    expect_seen(a, "no method 'nosuch'");
    kr_app_type(a, ":meth sna\t");
    assert_string_equal(a->prompt.text, "meth snapkv");
    kr_app_key(a, KR_KEY_ENTER);
    assert_string_equal(kr_calib_method(a->calib, a->method)->name, "snapkv");
    kr_app_type(a, ":ri\t2%\n");
    expect_seen(a, " 2.0 %");
    kr_app_type(a, ":");
    kr_app_key(a, KR_KEY_UP);
    assert_string_equal(a->prompt.text, "risk 2%");
    kr_app_key(a, KR_KEY_ESC);
    kr_app_type(a, "M");
    expect_seen(a, "no theme 'purple'");
    kr_app_free(a);
}

static void hostile_keys_never_crash(void **state) {
    (void)state;
    char copy[96], state_dir[96];
    char *text = NULL;
    size_t n;
    snprintf(copy, sizeof copy, "%s/hostile.jsonl", dir); /* a ledger may be begun on it */
    snprintf(state_dir, sizeof state_dir, "%s/state", dir);
    setenv("XDG_STATE_HOME", state_dir, 1);
    assert_int_equal(kr_file_read(sample, (size_t)64 << 20, &text, &n, NULL), KR_OK);
    assert_int_equal(kr_file_write(copy, text, n, true, NULL), KR_OK);
    free(text);
    kr_app *a = open_app(copy, 80, 24);
    unsigned seed = 12345;
    static const int special[] = {
        KR_KEY_UP,      KR_KEY_DOWN,   KR_KEY_LEFT,  KR_KEY_RIGHT,  KR_KEY_PGUP,      KR_KEY_PGDN,
        KR_KEY_HOME,    KR_KEY_END,    KR_KEY_ENTER, KR_KEY_ESC,    KR_KEY_BACKSPACE, '\t',
        KR_KEY_BACKTAB, KR_KEY_DELETE, KR_KEY_SLEFT, KR_KEY_SRIGHT, KR_KEY_F0 + 3};
    for (int i = 0; i < 6000; i++) {
        seed = seed * 1103515245u + 12345u;
        unsigned r = seed >> 8;
        int key = r % 3 == 0 ? special[r / 3 % (sizeof special / sizeof *special)]
                             : (int)(' ' + r / 3 % 96);
        if (key == 'x' || key == 'X' || key == 'w' || key == ':' || key == 'R')
            continue; /* no files in this test */
        kr_app_key(a, key);
        if (i % 50 == 0)
            kr_app_resize(a, (int)(r / 7 % 220), (int)(r / 11 % 70));
        if (i % 5 == 0)
            free(seen(a));
        if (i % 7 == 0 && kr_app_waiting(a))
            kr_app_settle(a);
        a->done = false;
    }
    kr_app_free(a);
    setenv("XDG_STATE_HOME", dir, 1);
}

static void every_screen_draws_at_every_size(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, "anote\n");
    for (int s = 0; s < KR_SCREEN_COUNT; s++)
        for (int w = 1; w <= 200; w += w < 60 ? 13 : 7)
            for (int h = 1; h <= 60; h += h < 16 ? 5 : 3) {
                a->set.look = (w + h) % 2 == 0 ? KR_LOOK_ASCII : KR_LOOK_UTF8;
                a->plot_on = w % 3 != 0;
                kr_app_resize(a, w, h);
                kr_app_show(a, (kr_screen)s);
                free(seen(a));
            }
    kr_app_free(a);
}

/* --- files ------------------------------------------------------------------------------------ */

static char *content(const char *path) {
    char *s = NULL;
    size_t n;
    assert_int_equal(kr_file_read(path, 1 << 20, &s, &n, NULL), KR_OK);
    return s;
}

static void exports_carry_state_and_hash_and_ask_before_replacing(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    char line[256], path[128];
    snprintf(path, sizeof path, "%s/p.json", dir);
    snprintf(line, sizeof line, ":w %s\n", path);
    kr_app_type(a, line);
    char *s = content(path);
    assert_non_null(strstr(s, "\"LOCKED\""));
    assert_non_null(strstr(s, kr_calib_sha256(a->calib)));
    free(s);
    kr_app_key(a, KR_KEY_RIGHT);
    kr_app_type(a, line);
    expect_seen(a, "exists. Replace it? y/N");
    kr_app_key(a, 'n');
    s = content(path);
    assert_non_null(strstr(s, "\"LOCKED\""));
    free(s);
    kr_app_type(a, line);
    kr_app_key(a, 'y');
    s = content(path);
    assert_non_null(strstr(s, "WHAT-IF"));
    free(s);
    kr_app_type(a, ":w /nonexistent/dir/p.json\n");
    assert_true(a->messages[a->n_messages - 1].error);
    snprintf(line, sizeof line, ":w %s\n", sample); /* refused, not asked */
    kr_app_type(a, line);
    assert_non_null(strstr(a->messages[a->n_messages - 1].text, "is what was read"));
    snprintf(line, sizeof line, ":w %s/x.ledger\n", dir);
    kr_app_type(a, line);
    assert_non_null(strstr(a->messages[a->n_messages - 1].text, "is the name of a ledger"));
    kr_app_free(a);
}

static void points_are_kept_noted_exported_and_gone_back_to(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    char line[256], path[128];
    kr_app_type(a, "adeclared\n:method snapkv\n");
    kr_app_type(a, ":tol 0.25\nalook, \"later\"\n6");
    assert_int_equal(a->n_saved, 2);
    expect_seen(a, "keydiff");
    expect_seen(a, "WHAT-IF");
    expect_seen(a, "note: look, \"later\"");
    kr_app_type(a, "0");
    kr_app_key(a, KR_KEY_UP);
    expect_seen(a, "note: declared");
    kr_app_key(a, KR_KEY_DOWN);
    kr_app_key(a, KR_KEY_ENTER);
    expect_seen(a, "0.250");
    snprintf(path, sizeof path, "%s/points.json", dir);
    snprintf(line, sizeof line, ":points %s\n", path);
    kr_app_type(a, line);
    char *s = content(path);
    assert_non_null(strstr(s, "declared"));
    assert_non_null(strstr(s, "look, \\\"later\\\""));
    assert_int_equal(s[0], '[');
    free(s);
    assert_int_equal(kr_points_unsaved(a), 0);
    snprintf(path, sizeof path, "%s/points.csv", dir);
    snprintf(line, sizeof line, ":csv %s\n", path);
    kr_app_type(a, line);
    s = content(path);
    int lines = 0;
    for (char *p = s; *p != '\0'; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 3);
    free(s);
    kr_app_type(a, "6");
    kr_app_type(a, "d");
    assert_int_equal(a->n_saved, 1);
    kr_app_type(a, "e again\n");
    expect_seen(a, "note: declared again");
    kr_app_free(a);
}

static void screens_and_maps_are_written_as_files(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    char line[256], path[128];
    snprintf(path, sizeof path, "%s/main.txt", dir);
    snprintf(line, sizeof line, ":print %s\n", path);
    kr_app_type(a, line);
    char *s = content(path);
    assert_non_null(strstr(s, "KEYDIFF  ✔ CERTIFIED at 30 %"));
    free(s);
    snprintf(path, sizeof path, "%s/map.csv", dir);
    snprintf(line, sizeof line, "2:mapcsv %s\n", path);
    kr_app_type(a, line);
    s = content(path);
    assert_non_null(strstr(s, "0.1,0.05,0.95,keydiff,certified,0.3,,14,20,0.25,,LOCKED,"));
    free(s);
    kr_app_free(a);
}

static void reloading_keeps_the_contract_and_says_what_changed(void **state) {
    (void)state;
    char path[128], *s = content(sample);
    snprintf(path, sizeof path, "%s/set.jsonl", dir);
    assert_int_equal(kr_file_write(path, s, strlen(s), true, NULL), KR_OK);
    kr_app *a = open_app(path, 80, 24);
    kr_app_type(a, ":method snapkv\n:tol 0.2\n/kv\n");
    assert_false(kr_app_tick(a));
    size_t less = strlen(s) - 1; /* one request fewer: up to the last line's beginning */
    while (s[less - 1] != '\n')
        less--;
    assert_int_equal(kr_file_write(path, s, less, true, NULL), KR_OK);
    assert_true(kr_app_tick(a));
    expect_seen(a, "[file changed]");
    kr_app_type(a, "R");
    expect_seen(a, "599 requests (before 600)");
    expect_seen(a, "0.200");
    expect_not_seen(a, "[file changed]");
    assert_string_equal(kr_calib_method(a->calib, a->method)->name, "snapkv");
    assert_int_equal(a->methods.n, 3);
    assert_int_equal(kr_file_write(path, "{", 1, true, NULL), KR_OK);
    kr_app_type(a, "R"); /* a bad file leaves everything as it was */
    expect_seen(a, "set.jsonl");
    assert_int_equal(kr_analysis_n(a->an), 599);
    kr_app_free(a);
    free(s);
}

static void settings_are_kept_with_lines_that_are_not_known(void **state) {
    (void)state;
    char path[128];
    kr_config c;
    snprintf(path, sizeof path, "%s/sub/config", dir);
    kr_config_read(path, &c);
    assert_int_equal(c.set.theme, KR_THEME_DEFAULT);
    c.set.theme = KR_THEME_LIGHT;
    c.set.alphabet = KR_PLOT_BRAILLE;
    assert_int_equal(kr_config_write(path, &c, NULL), KR_OK);
    kr_config_free(&c);
    char *s = content(path), more[512];
    snprintf(more, sizeof more, "# mine\nfuture = 7\n%s", s);
    free(s);
    assert_int_equal(kr_file_write(path, more, strlen(more), true, NULL), KR_OK);
    kr_config_read(path, &c);
    assert_int_equal(c.set.theme, KR_THEME_LIGHT);
    assert_int_equal(c.set.alphabet, KR_PLOT_BRAILLE);
    assert_string_equal(c.unknown, "future");
    assert_int_equal(kr_config_write(path, &c, NULL), KR_OK);
    kr_config_free(&c);
    s = content(path);
    assert_non_null(strstr(s, "# mine\nfuture = 7\n"));
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_screen_shows_the_declared_contract_and_every_method),
        cmocka_unit_test(arrows_sweep_a_value_and_undo_takes_it_back),
        cmocka_unit_test(undo_keeps_the_last_64_changes),
        cmocka_unit_test(the_choice_among_methods_is_covered_as_a_family_only),
        cmocka_unit_test(ten_steps_are_one_undo_step_and_the_ends_hold),
        cmocka_unit_test(typed_values_are_exact_and_bad_ones_leave_the_value_alone),
        cmocka_unit_test(the_screen_agrees_with_the_analysis_along_a_sweep),
        cmocka_unit_test(escape_goes_back_and_never_quits),
        cmocka_unit_test(quitting_asks_while_points_are_not_exported),
        cmocka_unit_test(a_cell_of_the_map_becomes_the_contract),
        cmocka_unit_test(every_cell_of_the_map_agrees_with_its_contract),
        cmocka_unit_test(lists_are_filtered_and_sorted),
        cmocka_unit_test(requests_are_sorted_by_drop_and_counted_as_events),
        cmocka_unit_test(tasks_add_up_to_the_whole),
        cmocka_unit_test(help_lists_every_key_and_command_and_scrolls),
        cmocka_unit_test(keys_never_clash_on_a_screen),
        cmocka_unit_test(the_statement_and_the_state_can_be_read_whole),
        cmocka_unit_test(published_counts_say_what_they_lack),
        cmocka_unit_test(unknown_keys_and_commands_say_so),
        cmocka_unit_test(hostile_keys_never_crash),
        cmocka_unit_test(every_screen_draws_at_every_size),
        cmocka_unit_test(exports_carry_state_and_hash_and_ask_before_replacing),
        cmocka_unit_test(points_are_kept_noted_exported_and_gone_back_to),
        cmocka_unit_test(screens_and_maps_are_written_as_files),
        cmocka_unit_test(reloading_keeps_the_contract_and_says_what_changed),
        cmocka_unit_test(settings_are_kept_with_lines_that_are_not_known),
    };
    return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
