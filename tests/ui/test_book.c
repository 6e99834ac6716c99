/* The ledger on its screen: start, lock, confirm, refusals; and a ledger that another program touches. */
#include "helpers.h"

#include <ctype.h>

#include "ui/print.h"

static char dir[64], path[96], ledger[112];

/* A fresh copy of the fixture, and a state directory that knows nothing. */
static int fresh(void **state) {
    (void)state;
    char *text = NULL, cmd[160];
    size_t n;
    strcpy(dir, "/tmp/kvrisk-book-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/mini-ruler.jsonl", dir);
    snprintf(ledger, sizeof ledger, "%s.ledger", path);
    snprintf(cmd, sizeof cmd, "%s/state", dir);
    setenv("XDG_STATE_HOME", cmd, 1);
    assert_int_equal(kr_file_read(sample, (size_t)64 << 20, &text, &n, NULL), KR_OK);
    assert_int_equal(kr_file_write(path, text, n, true, NULL), KR_OK);
    free(text);
    return 0;
}

static int drop(void **state) {
    (void)state;
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

static void settle(kr_app *a) {
    kr_app_wait(a);
    while (kr_app_waiting(a))
        kr_app_settle(a);
}

/* Each key after what the one before it set going. */
static void type(kr_app *a, const char *keys) {
    char one[2] = "";
    for (; *keys != '\0'; keys++) {
        one[0] = *keys;
        kr_app_type(a, one);
        settle(a);
    }
}

static size_t entries(void) {
    char *text = NULL;
    size_t n, lines = 0;
    if (kr_file_read(ledger, 1 << 20, &text, &n, NULL) != KR_OK)
        return 0;
    for (char *p = text; *p != '\0'; p++)
        lines += *p == '\n';
    free(text);
    return lines;
}

/* What another program does, through the same room. */
static void elsewhere_start(void) {
    kr_study s;
    kr_error err = {.msg = ""};
    kr_ledger_entry start = {.share = kr_dec_make(25, 2), .seed = 1, .budget = kr_dec_make(5, 2)};
    assert_int_equal(kr_study_open(path, &s, &err), KR_OK);
    assert_int_equal(kr_study_start(&s, &start, &err), KR_OK);
    kr_study_close(&s);
}

static void elsewhere_lock(const char *method) {
    kr_study s;
    kr_error err = {.msg = ""};
    kr_ledger_entry lock = {.looks = 1, .contract = {kr_dec_make(10, 2), kr_dec_make(5, 2), kr_dec_make(95, 2)}};
    snprintf(lock.method, sizeof lock.method, "%s", method);
    assert_int_equal(kr_study_open(path, &s, &err), KR_OK);
    assert_int_equal(kr_study_lock(&s, &lock, &err), KR_OK);
    kr_study_close(&s);
}

static void a_contract_is_explored_locked_and_confirmed(void **state) {
    (void)state;
    kr_app *a = open_app(path, 120, 36);
    type(a, "B");
    expect_seen(a, "This file has no ledger");
    expect_seen(a, "● LOCKED"); /* nothing is begun yet */
    type(a, "L");
    expect_seen(a, "this file has no ledger; :ledger start begins one");
    type(a, "\n"); /* the command to be changed */
    assert_string_equal(a->prompt.text, "ledger start 25% seed 1 budget 0.05");
    kr_app_key(a, KR_KEY_ESC);
    type(a, ":ledger start 25% seed 3 budget 0.1\n");
    expect_seen(a, "Start: explore 25 %, budget 0.1; cannot be undone. y/N");
    type(a, "n");
    assert_int_equal(entries(), 0);
    type(a, ":ledger start 25% seed 3 budget 0.1\ny");
    assert_int_equal(entries(), 1);
    expect_seen(a, "ledger started: 150 requests to explore, 450 to confirm on");
    expect_seen(a, "n=150");
    expect_seen(a, "○ WHAT-IF");
    expect_not_seen(a, "LOCKED");
    expect_seen(a, "0 spent, 0 held, 0.1 left of 0.1");
    expect_seen(a, "0 opened, 150 exploring, 450 closed");
    type(a, "C");
    expect_seen(a, "nothing is locked");
    type(a, "1:method keydiff\nBL");
    expect_seen(a, "Lock keydiff: holds 0.05, then 0.05 left; cannot be undone. y/N");
    type(a, "\n"); /* no is the answer unless y is pressed */
    assert_int_equal(entries(), 1);
    type(a, "Ly");
    assert_int_equal(entries(), 2);
    expect_seen(a, "0 spent, 0.05 held, 0.05 left of 0.1");
    expect_seen(a, "Open: C tests it on 450 requests");
    type(a, "u"); /* nothing in the ledger is undone */
    assert_int_equal(entries(), 2);
    type(a, "C");
    expect_seen(a, "Confirm lock 2: opens 450 requests, spends 0.05; cannot be undone. y/N");
    kr_app_key(a, KR_KEY_ESC);
    assert_int_equal(entries(), 2);
    type(a, "Cy");
    assert_int_equal(entries(), 3);
    expect_seen(a, "LOCKED: KEYDIFF  ✔ CERTIFIED at 30 %");
    expect_seen(a, "keydiff keeping 30 % of the KV cache");
    expect_seen(a, "450 opened, 150 exploring, 0 closed");
    expect_seen(a, "0.05 spent, 0 held, 0.05 left of 0.1");
    expect_seen(a, "○ WHAT-IF"); /* the screens still explore */
    type(a, "1");
    expect_seen(a, "WHAT-IF: CERTIFIED");
    expect_not_seen(a, "LOCKED");
    type(a, "BC"); /* the same again */
    expect_seen(a, "again: the same requests, spends nothing");
    type(a, "y");
    assert_int_equal(entries(), 3);
    expect_seen(a, "nothing is spent again");
    kr_app_free(a);
}

static void a_second_look_is_exploratory_and_the_budget_ends(void **state) {
    (void)state;
    kr_app *a = open_app(path, 120, 36);
    type(a, ":ledger start 25% seed 3 budget 0.1\ny:method keydiff\nLyCy:method snapkv\nL");
    expect_seen(a, "Lock snapkv: only exploratory, all is opened; holds 0.05, 0 left. y/N");
    type(a, "y");
    expect_seen(a, "too late");
    type(a, "C");
    expect_seen(a, "locked after its requests were opened, exploratory. y/N");
    type(a, "y");
    expect_seen(a, "WHAT-IF: SNAPKV");
    expect_seen(a, "no guarantee");
    expect_not_seen(a, "CERTIFIED");
    type(a, ":method adakv\nL");
    expect_seen(a, "the error budget is exhausted: this lock needs 0.05, 0 is left");
    assert_int_equal(a->prompt.kind, KR_PROMPT_NONE);
    assert_int_equal(entries(), 5);
    type(a, "k"); /* the first certificate's entry is listed, not shown as the second's */
    type(a, "k");
    expect_not_seen(a, "SNAPKV  ");
    kr_app_free(a);
}

static void a_family_is_locked_where_the_screens_show_one(void **state) {
    (void)state;
    kr_app *a = open_app(path, 120, 36);
    type(a, ":ledger start 20% budget 0.2\ny:tol 0.25\nfL");
    expect_seen(a, "Lock the family: holds 0.05, then 0.15 left");
    kr_app_type(a, "y");
    settle(a);
    type(a, "Cy");
    expect_seen(a, "CERTIFIED at");
    expect_seen(a, "more than 0.25 utility");
    type(a, "x");
    char file[160];
    snprintf(file, sizeof file, "%s/c.json", dir);
    kr_app_key(a, KR_CTRL('u'));
    kr_app_type(a, file);
    type(a, "\n");
    expect_seen(a, "certificate written to");
    char *text = NULL;
    size_t n;
    assert_int_equal(kr_file_read(file, 1 << 22, &text, &n, NULL), KR_OK);
    assert_non_null(strstr(text, "\"ledger\""));
    assert_non_null(strstr(text, "LOCKED"));
    kr_study s;
    kr_error err = {.msg = ""};
    assert_int_equal(kr_study_open(path, &s, &err), KR_OK);
    assert_int_equal(kr_study_verify(&s, file, NULL, &err), KR_OK);
    kr_study_close(&s);
    free(text);
    kr_app_free(a);
}

static void mistaken_commands_say_what_is_wanted(void **state) {
    (void)state;
    kr_app *a = open_app(path, 120, 36);
    static const struct {
        const char *keys, *said;
    } wrong[] = {{":ledger stop\n", ":ledger start 25% seed 1 budget 0.05 begins one"},
                 {":ledger start seed x\n", "the seed 'x' is no whole number"},
                 {":ledger start budget\n", "budget needs a value"},
                 {":ledger start 0%\n", "the screens need some requests to explore"},
                 {":ledger start many\n", "many"},
                 {":ledger start 120%\n", "a share below 100%"},
                 {":ledger start 25% budget 0.9\ny", "at most 0.5"},
                 {":confirm two\n", "the number of a lock"},
                 {":confirm 3\n", "this file has no ledger"},
                 {":lock\n", "this file has no ledger"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        type(a, wrong[i].keys);
        expect_seen(a, wrong[i].said);
        assert_int_equal(entries(), 0);
    }
    type(a, ":ledger start declared-split\ny"); /* every request is of split cal */
    expect_seen(a, "split \"test\"");
    expect_seen(a, "● LOCKED");
    type(a, ":ledger start 10%\ny:confirm 1\n");
    expect_seen(a, "entry 1 of the ledger is not a lock");
    type(a, ":ledger start 10%\n");
    expect_seen(a, "has a ledger already");
    kr_app_free(a);
}

/* --- another program --------------------------------------------------------------------------- */

static void a_ledger_started_elsewhere_ends_locked_at_once(void **state) {
    (void)state;
    kr_app *a = open_app(path, 120, 36);
    expect_seen(a, "● LOCKED");
    assert_false(kr_app_tick(a));
    elsewhere_start();
    assert_true(kr_app_tick(a));
    expect_seen(a, "[ledger changed]");
    expect_seen(a, "the ledger was started by another program; R reads it again");
    expect_not_seen(a, "● LOCKED");
    expect_seen(a, "○ WHAT-IF");
    assert_false(kr_app_tick(a)); /* said once */
    type(a, ":tol 0.2\nu");
    expect_not_seen(a, "● LOCKED");
    type(a, "0");
    expect_not_seen(a, "● LOCKED");
    type(a, "7");
    expect_not_seen(a, " LOCKED");
    type(a, "BL"); /* what is on the screens was seen on all rows: nothing is locked from there */
    expect_seen(a, "the ledger changed since it was read; R reads it again first");
    assert_int_equal(entries(), 1);
    type(a, "R");
    expect_not_seen(a, "[ledger changed]");
    expect_seen(a, "n=150");
    type(a, "L");
    expect_seen(a, "Lock ");
    kr_app_free(a);
}

/* A key comes before the next tick. */
static void a_key_notices_it_as_well(void **state) {
    (void)state;
    kr_app *a = open_app(path, 120, 36);
    elsewhere_start();
    type(a, "j");
    expect_not_seen(a, "● LOCKED");
    expect_seen(a, "[ledger changed]");
    kr_app_free(a);
}

static void a_ledger_changed_or_deleted_elsewhere_is_noticed(void **state) {
    (void)state;
    elsewhere_start();
    kr_app *a = open_app(path, 120, 36);
    type(a, "BL");
    elsewhere_lock("h2o"); /* while the question stands */
    type(a, "y");
    assert_int_equal(entries(), 2);
    expect_seen(a, "[ledger changed]");
    type(a, "R");
    expect_not_seen(a, "[ledger changed]");
    expect_seen(a, "h2o");
    unlink(ledger);
    assert_true(kr_app_tick(a));
    expect_seen(a, "the ledger was taken away by another program");
    type(a, "R");
    expect_seen(a, "is gone: 2 entries were written for these rows");
    expect_not_seen(a, "● LOCKED");
    type(a, "LC");
    expect_seen(a, "is gone");
    assert_int_equal(entries(), 0);
    kr_app_free(a);
}

static void an_edited_ledger_is_said_to_be_damaged(void **state) {
    (void)state;
    kr_app *a = open_app(path, 120, 36);
    type(a, ":ledger start 25% seed 3 budget 0.1\ny:method keydiff\nLy");
    char *text = NULL;
    size_t n;
    assert_int_equal(kr_file_read(ledger, 1 << 20, &text, &n, NULL), KR_OK);
    char *at = strstr(text, "keydiff");
    memcpy(at, "keydifg", 7);
    assert_int_equal(kr_file_write(ledger, text, n, true, NULL), KR_OK);
    assert_true(kr_app_tick(a));
    settle(a);
    expect_seen(a, "damaged");
    expect_seen(a, "was changed after it was written");
    type(a, "R");
    expect_seen(a, "was changed after it was written");
    type(a, "C");
    assert_int_equal(a->prompt.kind, KR_PROMPT_NONE);
    expect_not_seen(a, "● LOCKED");
    memcpy(at, "keydiff", 7); /* mended */
    assert_int_equal(kr_file_write(ledger, text, n, true, NULL), KR_OK);
    type(a, "RC");
    expect_seen(a, "Confirm lock 2: opens 450 requests");
    free(text);
    kr_app_free(a);
}

/* Nothing asked for is done before the frame that announces it. */
static void work_is_announced_before_it_is_done(void **state) {
    (void)state;
    kr_app *a = open_app(path, 80, 24);
    kr_app_type(a, "B");
    assert_true(kr_app_waiting(a) || kr_app_busy(a));
    expect_seen(a, "Reading the ledger ...");
    settle(a);
    type(a, ":ledger start 25% seed 3 budget 0.1\ny:method keydiff\nL");
    kr_app_type(a, "y");
    expect_seen(a, "locking ...");
    assert_int_equal(entries(), 1);
    settle(a);
    assert_int_equal(entries(), 2);
    kr_app_type(a, "Cy");
    expect_seen(a, "testing lock 2");
    settle(a);
    expect_seen(a, "CERTIFIED at 30 %");
    kr_app_free(a);
}

/* --- how it looks ------------------------------------------------------------------------------ */

/* Times differ from run to run: digits next to ':' or '-' or 'T', and the blank between the two. */
static void mask_times(char *s) {
    static const char *const forms[] = {"dddd-dd-ddTdd:dd:ddZ", "dddd-dd-dd dd:dd:dd", "dd-dd dd:dd",
                                        " dd:dd "};
    for (char *p = s; *p != '\0'; p++)
        for (size_t f = 0; f < 4; f++) {
            size_t n = strlen(forms[f]), i = 0;
            while (i < n && (forms[f][i] == 'd' ? isdigit((unsigned char)p[i]) != 0 : p[i] == forms[f][i]))
                i++;
            for (size_t k = 0; i == n && k < n; k++)
                p[k] = forms[f][k] == 'd' ? '0' : p[k];
        }
}

static void ledgers_look_as_they_did(void **state) {
    (void)state;
    static const char explored[] = ":ledger start 25% seed 3 budget 0.1\ny";
    static const char confirmed[] = ":ledger start 25% seed 3 budget 0.1\ny:method keydiff\nLyCy";
    static const struct {
        const char *name, *keys;
        int w, h;
        bool ascii;
    } shots[] = {{"ledger-none-80x24", "", 80, 24, false},
                 {"ledger-60x16", explored, 60, 16, false},
                 {"ledger-80x24", confirmed, 80, 24, false},
                 {"ledger-80x24-ascii", confirmed, 80, 24, true},
                 {"ledger-160x48", confirmed, 160, 48, false},
                 {"ledger-160x48-ascii", confirmed, 160, 48, true}};
    for (size_t i = 0; i < sizeof shots / sizeof *shots; i++) {
        char name[160], *want = NULL, *got = NULL;
        size_t n;
        kr_error err = {.msg = ""};
        if (i > 0) {
            drop(NULL);
            assert_int_equal(fresh(NULL), 0);
        }
        kr_print_options o = {.screen = "ledger", .w = shots[i].w, .h = shots[i].h, .keys = shots[i].keys,
                              .ascii = shots[i].ascii};
        assert_int_equal(kr_print_screen(path, &o, &got, &err), KR_OK);
        mask_times(got);
        for (char *p = got; shots[i].ascii && *p != '\0'; p++)
            assert_true(*p == '\n' || (*p >= ' ' && *p <= '~'));
        snprintf(name, sizeof name, "tests/ui/golden/%s.txt", shots[i].name);
        if (getenv("KR_GOLDEN_UPDATE") != NULL)
            assert_int_equal(kr_file_write(name, got, strlen(got), true, NULL), KR_OK);
        assert_int_equal(kr_file_read(name, 1 << 20, &want, &n, &err), KR_OK);
        if (strcmp(want, got) != 0)
            print_error("%s differs; wanted:\n%s\ngot:\n%s", name, want, got);
        assert_string_equal(want, got);
        free(want);
        free(got);
    }
}

static void every_size_shows_a_ledger_without_breaking(void **state) {
    (void)state;
    kr_app *a = open_app(path, 80, 24);
    type(a, ":ledger start 25% seed 3 budget 0.2\ny:method layer_defensivekv\nLy:method keydiff\nLyCy");
    for (int w = 1; w <= 200; w += w < 60 ? 13 : 3)
        for (int h = 1; h <= 60; h += h < 16 ? 5 : 2) {
            a->set.look = (w + h) % 2 == 0 ? KR_LOOK_ASCII : KR_LOOK_UTF8;
            kr_app_resize(a, w, h);
            char *s = seen(a), *save = NULL;
            if (w >= KR_MIN_W && h >= KR_MIN_H)
                assert_non_null(strstr(s, " spent, "));
            for (char *l = strtok_r(s, "\n", &save); l != NULL; l = strtok_r(NULL, "\n", &save))
                assert_true(kr_text_width(l) <= w);
            free(s);
        }
    kr_app_free(a);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, fresh, drop)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_contract_is_explored_locked_and_confirmed),
        CASE(a_second_look_is_exploratory_and_the_budget_ends),
        CASE(a_family_is_locked_where_the_screens_show_one),
        CASE(mistaken_commands_say_what_is_wanted),
        CASE(a_ledger_started_elsewhere_ends_locked_at_once),
        CASE(a_key_notices_it_as_well),
        CASE(a_ledger_changed_or_deleted_elsewhere_is_noticed),
        CASE(an_edited_ledger_is_said_to_be_damaged),
        CASE(work_is_announced_before_it_is_done),
        CASE(ledgers_look_as_they_did),
        CASE(every_size_shows_a_ledger_without_breaking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
