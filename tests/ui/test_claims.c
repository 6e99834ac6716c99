/* The table of claims: rows that line up, every sentence within reach, a mixture typed in. */
#include "helpers.h"

static char dir[64];

static int make_dir(void **state) {
    (void)state;
    strcpy(dir, "/tmp/kvrisk-claims-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    return setenv("XDG_STATE_HOME", dir, 1);
}

static int drop_dir(void **state) {
    (void)state;
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

/* The fixture with something else after "contract": */
static const char *with_contract(const char *contract) {
    static char path[96];
    char *text = NULL;
    size_t n;
    kr_buf b = {0};
    assert_int_equal(kr_file_read(sample, (size_t)64 << 20, &text, &n, NULL), KR_OK);
    char *from = strstr(text, "\"contract\":{");
    kr_buf_add(&b, text, (size_t)(from - text));
    kr_buf_printf(&b, "\"contract\":%s", contract);
    kr_buf_puts(&b, strchr(from, '}') + 1);
    snprintf(path, sizeof path, "%s/f.jsonl", dir);
    assert_int_equal(kr_file_write(path, b.s, b.len, true, NULL), KR_OK);
    kr_buf_free(&b);
    free(text);
    return path;
}

/* Words of the row of a claim, blanks squeezed; "" when it is not on the screen. */
static void row_of(kr_app *a, const char *claim, char *out, size_t cap) {
    char *s = seen(a), *save = NULL;
    size_t n = 0, len = strlen(claim);
    out[0] = '\0';
    for (char *line = strtok_r(s, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        char *p = line + strspn(line, " ");
        p = strncmp(p, "│", 3) == 0 ? p + 3 : p;
        p += strspn(p, " ");
        p = strncmp(p, "▸", 3) == 0 ? p + 3 : p;
        p += strspn(p, " ");
        if (strncmp(p, claim, len) != 0 || p[len] != ' ')
            continue;
        for (; *p != '\0' && n + 1 < cap; p++)
            if (*p != ' ' || (n > 0 && out[n - 1] != ' '))
                out[n++] = *p;
        out[n] = '\0';
        break;
    }
    free(s);
}

static void expect_row(kr_app *a, const char *claim, const char *wanted) {
    char row[400];
    row_of(a, claim, row, sizeof row);
    if (strncmp(row, wanted, strlen(wanted)) != 0)
        print_error("wanted '%s', got '%s'\n", wanted, row);
    assert_int_equal(strncmp(row, wanted, strlen(wanted)), 0);
}

static void rows_say_what_is_certified_at_which_level(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 120, 36);
    kr_app_type(a, ":method snapkv\n7");
    expect_row(a, "events", "events nothing 0.05 20 of 600 65 % LOCKED");
    expect_row(a, "tolerances", "tolerances tolerance 0.00385 16 of 600 70 % WHAT-IF");
    expect_row(a, "subsample", "subsample nothing 0.05 20 of 600 65 % WHAT-IF");
    expect_row(a, "cluster_one", "cluster_one nothing - not here");
    expect_row(a, "best, alone", "best, alone method, unpaid 0.05");
    kr_app_type(a, ":risk 4%\n");
    expect_row(a, "events", "events nothing 0.05 15 of 600 70 % WHAT-IF");
    kr_app_type(a, "u");
    expect_row(a, "events", "events nothing 0.05 20 of 600 65 % LOCKED");
    kr_app_type(a, "p"); /* whose claims they are */
    expect_row(a, "events", "events");
    expect_not_seen(a, "claims on snapkv");
    kr_app_free(a);
}

/* Columns begin where their heads do, in every width; the sentence of each claim can be read. */
static void rows_line_up_and_every_sentence_is_within_reach(void **state) {
    (void)state;
    static const int sizes[][2] = {{60, 16}, {80, 24}, {100, 30}, {120, 36}, {160, 48}, {200, 60}};
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, ":method snapkv\n7");
    for (size_t i = 0; i < 6; i++) {
        kr_app_resize(a, sizes[i][0], sizes[i][1]);
        kr_app_type(a, "g");
        for (int k = 0; k < KR_CLAIMS; k++) {
            char *s = seen(a), *save = NULL;
            int claim = kr_claims_selected(a), state_at = -1, rows = 0;
            assert_int_equal(claim, k);
            if (sizes[i][0] >= 80)
                expect_seen(a, kr_claim_title(a));
            for (char *l = strtok_r(s, "\n", &save); l != NULL; l = strtok_r(NULL, "\n", &save)) {
                char *at = strstr(l, " state ");
                if (at == NULL && state_at < 0)
                    at = strlen(l) > 6 && strcmp(l + strlen(l) - 6, " state") == 0 ? l + strlen(l) - 6 : NULL;
                char part[400];
                if (at != NULL && state_at < 0 && strstr(l, "certified") != NULL) {
                    snprintf(part, sizeof part, "%.*s", (int)(at - l), l);
                    state_at = kr_text_width(part) + 1;
                    continue;
                }
                char *word = strstr(l, " % ") != NULL && strstr(l, " of 600 ") != NULL
                                 ? strstr(l, "WHAT-IF") : NULL;
                if (word == NULL || state_at < 0 || strstr(l, "WHAT-IF:") != NULL)
                    continue;
                snprintf(part, sizeof part, "%.*s", (int)(word - l), l);
                assert_int_equal(kr_text_width(part), state_at);
                rows++;
            }
            assert_true(state_at > 0 && (rows > 0 || sizes[i][1] < 24));
            free(s);
            const char *text = kr_claim_text(a);
            assert_true(strlen(text) > 20);
            kr_app_type(a, "i"); /* the first words and the last ones, wherever lines break */
            char all[20000] = "", first[24], last[24];
            snprintf(first, sizeof first, "%.20s", text);
            snprintf(last, sizeof last, "%s", strrchr(text, ' ') + 1);
            for (int page = 0; page < 4; page++) {
                char *t = seen(a);
                strncat(all, t, sizeof all - strlen(all) - 1);
                free(t);
                kr_app_key(a, KR_KEY_PGDN);
            }
            assert_non_null(strstr(all, first));
            if (strstr(all, last) == NULL)
                print_error("%s not in\n%s", last, all);
            assert_non_null(strstr(all, last));
            kr_app_key(a, KR_KEY_ESC);
            kr_app_type(a, "j");
        }
    }
    kr_app_free(a);
}

static void a_mixture_typed_in_is_what_if_unless_declared(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 120, 36);
    kr_app_type(a, ":method snapkv\n:mixture qa=2 vt=1\n");
    assert_int_equal(a->screen, KR_SCREEN_CLAIMS);
    assert_int_equal(kr_claims_selected(a), KR_MODE_MIXTURE);
    expect_row(a, "mixture", "mixture nothing 0.05 - ");
    expect_seen(a, "vt 33.33 %, qa 66.67 %");
    expect_not_seen(a, "Room for other mixtures"); /* nothing is */
    kr_app_type(a, ":mixture qa=1 niah_single=5\n");
    expect_seen(a, "Room for other mixtures");
    kr_app_type(a, ":mixture qa=2 vt=1\n");
    assert_int_equal(kr_claim_state(&a->claims.at[KR_MODE_MIXTURE], KR_MODE_MIXTURE), KR_STATE_WHAT_IF);
    kr_app_type(a, ":mixture\n");
    expect_seen(a, "mixture: vt 33.33 %, qa 66.67 %");
    kr_app_type(a, ":mixture qa=-1\n");
    expect_seen(a, "the weight of task 'qa' is negative");
    expect_row(a, "mixture", "mixture nothing 0.05 - ");
    kr_app_type(a, ":mixture nosuch=1\n");
    expect_seen(a, "nosuch");
    /* all tasks alike, by name: the exact test of the events themselves */
    kr_app_type(a, ":mixture niah_single=1,niah_multikey=1,vt=1,niah_multivalue=1,niah_multiquery=1,qa=1\n");
    expect_row(a, "mixture", "mixture nothing 0.05 - 65 % WHAT-IF");
    kr_app_type(a, "R"); /* is kept */
    assert_non_null(a->claims.weight);
    kr_app_type(a, ":mixture off\n");
    assert_null(a->claims.weight);
    kr_app_free(a);

    a = open_app(with_contract("{\"tolerance\":0.1,\"risk\":0.05,\"confidence\":0.95,\"method\":\"snapkv\","
                               "\"mode\":\"mixture\",\"weights\":{\"qa\":2,\"niah_single\":6}}"), 120, 36);
    kr_app_type(a, ":mode mixture\n");
    expect_row(a, "mixture", "mixture nothing 0.05 -");
    assert_int_equal(kr_claim_state(&a->claims.at[KR_MODE_MIXTURE], KR_MODE_MIXTURE), KR_STATE_LOCKED);
    kr_app_type(a, ":mixture qa=1 niah_single=3\n"); /* the same shares */
    assert_int_equal(kr_claim_state(&a->claims.at[KR_MODE_MIXTURE], KR_MODE_MIXTURE), KR_STATE_LOCKED);
    kr_app_type(a, ":mixture qa=1 niah_single=4\n");
    assert_int_equal(kr_claim_state(&a->claims.at[KR_MODE_MIXTURE], KR_MODE_MIXTURE), KR_STATE_WHAT_IF);
    kr_app_type(a, ":mixture off\n:method keydiff\n");
    assert_int_equal(kr_claim_state(&a->claims.at[KR_MODE_MIXTURE], KR_MODE_MIXTURE), KR_STATE_WHAT_IF);
    kr_app_free(a);

    a = open_app("data/samples/published-llama31-8b-longbench.json", 120, 36);
    kr_app_type(a, ":mixture qa=1\n");
    expect_seen(a, "published counts have no requests");
    kr_app_free(a);
}

static void names_of_tasks_and_claims_are_completed(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 80, 24);
    kr_app_type(a, ":mixture q");
    kr_app_key(a, '\t');
    assert_string_equal(a->prompt.text, "mixture qa=");
    kr_app_type(a, "2 v");
    kr_app_key(a, '\t');
    assert_string_equal(a->prompt.text, "mixture qa=2 vt=");
    kr_app_type(a, "1 niah_m");
    kr_app_key(a, '\t');
    assert_string_equal(a->prompt.text, "mixture qa=2 vt=1 niah_multi");
    expect_seen(a, "niah_multikey");
    kr_app_key(a, KR_KEY_ESC);
    kr_app_type(a, ":mode wor");
    kr_app_key(a, '\t');
    kr_app_key(a, KR_KEY_ENTER);
    assert_int_equal(kr_claims_selected(a), KR_MODE_WORST_TASK);
    expect_seen(a, "every single task");
    kr_app_type(a, ":mode nosuch\n");
    expect_seen(a, "no claim 'nosuch'");
    kr_app_free(a);
}

static void the_loss_and_its_bound_are_chosen(void **state) {
    (void)state;
    kr_app *a = open_app(sample, 120, 36);
    char row[3][400];
    static const char *const bounds[] = {"wsr", "hb", "bernstein"};
    kr_app_type(a, ":method snapkv\n");
    for (int i = 0; i < 3; i++) {
        char cmd[64];
        snprintf(cmd, sizeof cmd, ":loss mean %s\n", bounds[i]);
        kr_app_type(a, cmd);
        assert_int_equal(kr_claims_selected(a), KR_MODE_MEAN_DROP);
        row_of(a, "mean_drop", row[i], sizeof row[i]);
        assert_non_null(strstr(row[i], "WHAT-IF"));
    }
    assert_string_not_equal(row[0], row[2]); /* empirical Bernstein is far weaker there */
    kr_app_type(a, ":loss event\n");
    assert_int_equal(kr_claims_selected(a), KR_MODE_EVENTS);
    kr_app_type(a, ":loss mean exact\n");
    expect_seen(a, "no bound 'exact'");
    kr_app_type(a, ":loss median\n");
    expect_seen(a, ":loss event, or :loss mean");
    kr_app_free(a);
}

/* With many requests what looks at all of them comes after the frame, with very many when asked. */
static void costly_claims_are_put_off(void **state) {
    (void)state;
    static const int sizes[] = {4000, 40000};
    for (int big = 0; big < 2; big++) {
        char path[96];
        kr_buf b = {0};
        kr_buf_puts(&b, "{\"kvrisk\":1,\"kind\":\"calibration\",\"name\":\"big\",\"utility\":{\"min\":0,\"max\":1},"
                        "\"tasks\":[\"a\",\"b\"],\"policies\":[{\"method\":\"snapkv\",\"retention\":0.8},"
                        "{\"method\":\"snapkv\",\"retention\":0.5}]}\n");
        for (int i = 0; i < sizes[big]; i++)
            kr_buf_printf(&b, "{\"id\":\"r%d\",\"task\":\"%s\",\"full\":1,\"utility\":[1,%d]}\n", i,
                          i % 2 ? "b" : "a", i % 50 != 0);
        snprintf(path, sizeof path, "%s/big.jsonl", dir);
        assert_int_equal(kr_file_write(path, b.s, b.len, true, NULL), KR_OK);
        kr_buf_free(&b);
        kr_app *a = open_app(path, 120, 36);
        kr_app_type(a, "7");
        assert_int_equal(kr_app_waiting(a), big == 0);
        expect_row(a, "events", "events nothing 0.05");
        expect_row(a, "mixture", big == 0 ? "mixture nothing counting..." : "mixture nothing press Enter");
        kr_app_settle(a);
        expect_row(a, "mixture", big == 0 ? "mixture nothing 0.05 - 50 %" : "mixture nothing press Enter");
        kr_app_type(a, ":mode mixture\n\n");
        assert_int_equal(kr_app_waiting(a), big == 1);
        if (big == 1)
            expect_row(a, "mixture", "mixture nothing counting...");
        kr_app_settle(a);
        assert_false(kr_app_waiting(a));
        expect_row(a, "mixture", "mixture nothing 0.05 - 50 % WHAT-IF");
        expect_row(a, "worst_task", big == 0 ? "worst_task nothing 0.05" : "worst_task nothing press Enter");
        kr_app_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_say_what_is_certified_at_which_level),
        cmocka_unit_test(rows_line_up_and_every_sentence_is_within_reach),
        cmocka_unit_test(a_mixture_typed_in_is_what_if_unless_declared),
        cmocka_unit_test(names_of_tasks_and_claims_are_completed),
        cmocka_unit_test(the_loss_and_its_bound_are_chosen),
        cmocka_unit_test(costly_claims_are_put_off),
    };
    return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
