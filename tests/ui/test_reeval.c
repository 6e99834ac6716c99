/* Re-evaluation with a child that repeats what the evaluator once said, and with children that do
 * what none should. KR_GOLDEN_UPDATE=1 writes the screens anew; look at the difference. */
#include "helpers.h"

#include <time.h>

#define DIR "tests/fixtures/reeval/"

static kr_app *open_small(int w, int h, kr_look look, const char *child) {
    kr_app *a = open_with(DIR "small.jsonl", w, h, look);
    if (child != NULL)
        setenv("REEVAL_CHILD", child, 1);
    else
        unsetenv("REEVAL_CHILD");
    const char *program = getenv("REEVAL_PROGRAM"); /* for recording anew */
    snprintf(a->re->program, sizeof a->re->program, "%s",
             program != NULL ? program : DIR "child.sh");
    snprintf(a->re->model, sizeof a->re->model, "data/samples/mini-llama.gguf");
    a->re->threads = 1;
    a->re->clock = 1;
    kr_app_type(a, ":method snapkv\n:level 60\n");
    return a;
}

static void press(kr_app *a, const char *keys) {
    for (; *keys != '\0'; keys++) {
        kr_app_type(a, (char[]){*keys, '\0'});
        kr_app_wait(a);
    }
}

/* --- screens ---------------------------------------------------------------------------------- */

typedef struct {
    const char *name, *keys;
    int w, h;
    kr_look look;
    bool colored, roles;
} shot;

static const shot shots[] = {
    {"reeval-done-80x24", "r", 80, 24, KR_LOOK_UTF8, false, false},
    {"reeval-done-80x24-ascii", "r", 80, 24, KR_LOOK_ASCII, false, false},
    {"reeval-done-160x48", "r", 160, 48, KR_LOOK_UTF8, false, false},
    {"reeval-done-60x16", "r", 60, 16, KR_LOOK_UTF8, false, false},
    {"reeval-form-80x24", "5r", 80, 24, KR_LOOK_UTF8, false, false},
    {"reeval-form-60x16-ascii", "5r", 60, 16, KR_LOOK_ASCII, false, false},
    {"reeval-times-80x24", "rv", 80, 24, KR_LOOK_UTF8, false, false},
    {"reeval-log-80x24-ascii", "rvv", 80, 24, KR_LOOK_ASCII, false, false},
    {"request-80x24", "r\nl", 80, 24, KR_LOOK_UTF8, false, false},
    {"request-80x24-ascii", "r\nl", 80, 24, KR_LOOK_ASCII, false, false},
    {"request-80x24-roles", "r\nl", 80, 24, KR_LOOK_UTF8, true, true},
    {"request-heads-80x24-ascii", "r\nlv", 80, 24, KR_LOOK_ASCII, false, false},
    {"request-160x48", "r\nll", 160, 48, KR_LOOK_UTF8, false, false},
    {"request-100x30", "r\nl", 100, 30, KR_LOOK_UTF8, false, false},
    {"request-60x16", "r\nl", 60, 16, KR_LOOK_UTF8, false, false},
};

static void check(const shot *s) {
    char path[160], *want = NULL;
    size_t n;
    kr_app *a = open_small(s->w, s->h, s->look, NULL);
    kr_app_set_colored(a, s->colored);
    press(a, s->keys);
    char *got = seen_as(a, s->roles);
    snprintf(path, sizeof path, "tests/ui/golden/%s.txt", s->name);
    if (getenv("KR_GOLDEN_UPDATE") != NULL)
        assert_int_equal(kr_file_write(path, got, strlen(got), true, NULL), KR_OK);
    assert_int_equal(kr_file_read(path, 1 << 20, &want, &n, NULL), KR_OK);
    if (strcmp(want, got) != 0)
        fail_msg("%s differs; wanted:\n%s\ngot:\n%s", path, want, got);
    for (const char *p = got; s->look == KR_LOOK_ASCII && *p != '\0'; p++)
        assert_true(*p == '\n' || (*p >= ' ' && *p <= '~'));
    free(want);
    free(got);
    kr_app_free(a);
}

static void screens_look_as_they_did(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shots / sizeof *shots; i++)
        check(&shots[i]);
}

static void no_size_breaks_the_screens(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "r\n");
    for (int w = 1; w <= 170; w += 7)
        for (int h = 1; h <= 50; h += 3)
            for (int k = 0; k < 4; k++) {
                kr_app_resize(a, w, h);
                kr_app_show(a, k < 2 ? KR_SCREEN_REQUEST : KR_SCREEN_REEVAL);
                kr_app_type(a, "v");
                kr_app_set_colored(a, k % 2 != 0);
                free(seen(a));
            }
    kr_app_free(a);
}

/* --- results ---------------------------------------------------------------------------------- */

static void results_stand_beside_the_stored_ones_and_can_be_kept(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    char path[] = "/tmp/kvrisk-test-XXXXXX";
    press(a, "r");
    expect_seen(a, "same utilities 12 of 12");
    press(a, "e");
    expect_seen(a, "no result differs");
    a->re->m[3].utility = 123456789; /* as if another machine had given something else */
    expect_seen(a, "same utilities 11 of 12");
    expect_seen(a, "1 that differ");
    press(a, "e");
    close(mkstemp(path));
    unlink(path);
    char command[80];
    snprintf(command, sizeof command, ":results %s\n", path);
    press(a, command);
    expect_seen(a, "results written to");
    kr_calib *c = NULL;
    kr_error err = {.msg = ""};
    if (kr_calib_load(path, &c, &err) != KR_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(kr_calib_rows(c), 12);
    assert_int_equal(kr_calib_policies(c), 1);
    assert_int_equal(kr_calib_utility(c, 3, 0), 123456789);
    assert_false(kr_calib_meta_of(c)->has_contract); /* nothing was declared beforehand */
    kr_calib_free(c);
    unlink(path);
    kr_app_free(a);
}

/* --- the files that were evaluated -------------------------------------------------------------- */

/* What :results writes. The caller frees it. */
static char *written(kr_app *a) {
    char path[] = "/tmp/kvrisk-test-XXXXXX", command[80], *text = NULL;
    size_t n;
    close(mkstemp(path));
    unlink(path);
    snprintf(command, sizeof command, ":results %s\n", path);
    press(a, command);
    assert_int_equal(kr_file_read(path, 1 << 20, &text, &n, NULL), KR_OK);
    kr_calib *c = NULL;
    assert_int_equal(kr_calib_load(path, &c, NULL), KR_OK);
    kr_calib_free(c);
    unlink(path);
    return text;
}

static void expect_written(kr_app *a, const char *part) {
    char *text = written(a);
    if (strstr(text, part) == NULL)
        fail_msg("not written: %s\n%.1200s", part, text);
    free(text);
}

/* A copy of the requests that differs in one blank at its end: every text is the same, the hash not. */
static void other_requests(char path[]) {
    char *text = NULL;
    size_t n;
    assert_int_equal(kr_file_read(DIR "small-requests.jsonl", 1 << 20, &text, &n, NULL), KR_OK);
    text[n - 1] = ' '; /* the last line feed */
    close(mkstemp(path));
    assert_int_equal(kr_file_write(path, text, n, true, NULL), KR_OK);
    free(text);
}

static void files_that_were_measured_are_compared(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "5");
    expect_seen(a, "12 of 12 rows can be re-evaluated  the requests measured, same model");
    press(a, "r\n");
    expect_seen(a, "same utilities 12 of 12");
    expect_written(a, "\"comparable\":true,\"job\":\"done\"");
    kr_app_free(a);
}

static void other_requests_are_not_comparable(void **state) {
    (void)state;
    char path[] = "/tmp/kvrisk-test-XXXXXX", command[80];
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    other_requests(path);
    snprintf(command, sizeof command, "5:eval requests %s\n", path);
    press(a, command);
    expect_seen(a, "12 of 12 rows can be re-evaluated  NOT COMPARABLE");
    expect_seen(a, "is not the file these results were measured on");
    press(a, "r");
    expect_seen(a, "not the one measured"); /* and before it is run */
    press(a, "\n");
    expect_seen(a, "not comparable with the stored utilities");
    expect(a, "results; the stored utilities are not comparable", true);
    expect_not_seen(a, "same utilities");
    expect_not_seen(a, "differs");
    expect_written(a, "\"comparable\":false,\"comparable_why\":\"");
    expect_written(a, "is not the file these results were measured on");
    kr_app_free(a);
    unlink(path);
}

static void another_model_is_not_comparable(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "5:eval model " DIR "child.sh\n");
    expect_seen(a, "child.sh is not the model these results were measured on");
    press(a, "r\n");
    expect_written(a, "\"comparable\":false,\"comparable_why\":\"child.sh is not the model");
    kr_app_free(a);
}

static void another_protocol_is_not_comparable(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "5:eval protocol query_agnostic\n");
    expect_seen(a, "query_agnostic now, these results were measured query_aware");
    kr_app_free(a);
}

/* The child reads the requests after this process did. */
static void requests_that_changed_in_between_are_noticed(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, "swapped");
    press(a, "r");
    expect_seen(a, "was changed before the job read it");
    kr_app_free(a);
}

static void without_a_hash_ids_alone_match(void **state) {
    (void)state;
    kr_app *a = NULL;
    assert_int_equal(kr_app_open("tests/fixtures/prototype/mini-ruler.jsonl",
                                 (kr_app_settings){.look = KR_LOOK_UTF8}, &a, NULL),
                     KR_OK);
    kr_app_resize(a, 120, 40);
    press(a, "5:eval requests " DIR "small-requests.jsonl\n");
    expect_seen(a, "0 of 600 rows can be re-evaluated");
    expect_seen(a, "no hash of its");
    kr_app_free(a);
}

static void a_request_without_text_says_how_many_there_are(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    char path[] = "/tmp/kvrisk-test-XXXXXX", *text = NULL, command[80];
    size_t n;
    assert_int_equal(kr_file_read(DIR "small-requests.jsonl", 1 << 20, &text, &n, NULL), KR_OK);
    n = (size_t)(strchr(text, '\n') + 1 - text);
    close(mkstemp(path));
    assert_int_equal(kr_file_write(path, text, n, true, NULL), KR_OK);
    snprintf(command, sizeof command, "5:eval requests %s\n", path);
    press(a, command);
    expect_seen(a, "1 of 12 rows can be re-evaluated");
    press(a, ":screen requests\nGr");
    expect_seen(a, "1 of 12 rows have a text, not this one; :eval requests FILE");
    free(text);
    unlink(path);
    kr_app_free(a);
}

/* --- results, again ----------------------------------------------------------------------------- */

static void the_tolerance_of_the_moment_decides_on_events(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "r");
    const kr_re_run *u = kr_reeval_shown(a);
    size_t strict = kr_reeval_sums(a, u).events;
    press(a, ":tol 1\n");
    assert_true(strict > 0);
    assert_int_equal(kr_reeval_sums(a, u).events, 0);
    kr_app_free(a);
}

static void earlier_jobs_can_be_shown_again(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "r:level 40\nr\n");
    expect_seen(a, "job 2: snapkv at 40 %");
    press(a, "n");
    expect_seen(a, "job 1: snapkv at 60 %");
    press(a, "n");
    expect_seen(a, "no job before this one");
    press(a, "NN");
    expect_seen(a, "no job after this one");
    expect_seen(a, "job 2: snapkv at 40 %");
    kr_app_free(a);
}

static void reading_the_file_again_keeps_results_that_still_belong_to_it(void **state) {
    (void)state;
    char path[] = "/tmp/kvrisk-test-XXXXXX", *text = NULL, command[100];
    size_t n;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "rR");
    expect_seen(a, "read again: the file is the same");
    expect_seen(a, "12/12");
    assert_int_equal(kr_file_read(DIR "small.jsonl", 1 << 20, &text, &n, NULL), KR_OK);
    close(mkstemp(path));
    assert_int_equal(kr_file_write(path, text, n, true, NULL), KR_OK);
    snprintf(command, sizeof command, ":open %s\ny:eval model data/samples/mini-llama.gguf\n", path);
    press(a, command);
    press(a, ":eval requests " DIR "small-requests.jsonl\n:method snapkv\n:level 60\nr");
    expect_seen(a, "12/12");
    text[n - 2] = ' '; /* its last brace: no file that can be read */
    assert_int_equal(kr_file_write(path, text, n, true, NULL), KR_OK);
    press(a, "R");
    expect_seen(a, "The file changed; results that are not written would go. Read it? y/N");
    press(a, "y"); /* refused, and nothing is lost */
    expect_seen(a, "12/12");
    text[n - 2] = '}';
    assert_int_equal(kr_file_write(path, text, n - 1, true, NULL), KR_OK);
    press(a, "Ry");
    expect_seen(a, "no job yet");
    free(text);
    unlink(path);
    kr_app_free(a);
}

/* --- times, log, heads -------------------------------------------------------------------------- */

static void times_of_a_job_are_means_over_its_requests(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "r");
    const kr_re_run *u = kr_reeval_shown(a);
    double prefill = 0, bytes = 0;
    for (size_t i = 0; i < u->n_want; i++)
        prefill += a->re->full[u->want[i]].prefill_s;
    for (size_t i = 0; i < u->n_result; i++)
        bytes += (double)a->re->m[u->result[i]].bytes;
    assert_int_equal(u->n_full, 12);
    assert_true(prefill > 0 && u->prefill_s > 0.999 * prefill && u->prefill_s < 1.001 * prefill);
    assert_true(bytes > 0 && u->bytes > bytes - 0.5 && u->bytes < bytes + 0.5);
    kr_app_free(a);
}

static void w_writes_the_log_where_it_is_shown(void **state) {
    (void)state;
    char path[] = "/tmp/kvrisk-test-XXXXXX", *text = NULL;
    size_t n;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "rw");
    expect_seen(a, "write the results to");
    kr_app_key(a, KR_KEY_ESC);
    press(a, "vvw");
    expect_seen(a, "write the log to kvrisk-reeval");
    kr_app_key(a, KR_CTRL('u'));
    close(mkstemp(path));
    unlink(path);
    press(a, path);
    press(a, "\n");
    assert_int_equal(kr_file_read(path, 1 << 20, &text, &n, NULL), KR_OK);
    assert_non_null(strstr(text, "00:00:01 kvrisk eval --json --model=data/samples/mini-llama.gguf"));
    assert_non_null(strstr(text, "\n00:00:01 12 of 12: "));
    assert_non_null(strstr(text, "\n00:00:01 done (exit status 0)\n"));
    free(text);
    unlink(path);
    kr_app_free(a);
}

static void the_log_follows_until_one_looks_up(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "rvv");
    expect_seen(a, "F follows");
    expect_seen(a, "done (exit status 0)");
    press(a, "kkkkkkkk");
    expect_seen(a, "F stays");
    expect_not_seen(a, "done (exit status 0)");
    press(a, "F");
    expect_seen(a, "done (exit status 0)");
    press(a, "gG");
    expect_seen(a, "F follows");
    kr_app_free(a);
}

static void a_child_that_fails_says_why(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, "reason");
    press(a, "r");
    expect_seen(a, "it says: kvrisk eval: model.gguf: tensor blk.0.attn_q.weight is missing");
    press(a, "vv");
    expect_seen(a, "failed (exit status 1): kvrisk eval: model.gguf: tensor blk.0.attn");
    kr_app_free(a);
}

/* Only the newest lines of a talkative child are kept, and how many are not is said. */
static void a_log_is_bounded(void **state) {
    (void)state;
    kr_log l = {.n = 0};
    char text[40];
    for (int i = 0; i < KR_LOG_LINES + 5; i++) {
        snprintf(text, sizeof text, "line %d \033[31m", i);
        kr_log_add(&l, 0, text, strlen(text));
    }
    assert_int_equal(l.n, KR_LOG_LINES);
    assert_int_equal(l.lost, 5);
    assert_string_equal(l.line[0].text, "line 5 ?[31m");
    kr_log_free(&l);
}

/* As of a model with 40 layers of 20 heads. */
static void many_heads(kr_app *a) {
    kr_measure *m = (kr_measure *)kr_reeval_find(a, a->re->view_q, kr_app_policy(a), true);
    enum { L = 40, H = 20 };
    assert_non_null(m);
    free(m->heads.kept);
    free(m->heads.mass);
    free(m->heads.error);
    m->heads.layers = L;
    m->heads.heads = H;
    m->heads.kept = calloc(L * H, sizeof(double));
    m->heads.mass = calloc(L * H, sizeof(double));
    m->heads.error = calloc(L, sizeof(double));
    for (size_t i = 0; i < L * H; i++)
        m->heads.mass[i] = (double)(i % H) / 100; /* a head's number in percent */
    for (size_t i = 0; i < L; i++)
        m->heads.error[i] = (double)i / 1000;
}

static void heads_scroll_both_ways(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "r\nv");
    many_heads(a);
    expect_seen(a, "layers 1-6 of 40, heads 1-7 of 20");
    press(a, "jjL");
    expect_seen(a, "layers 3-8 of 40, heads 2-8 of 20");
    press(a, "G");
    expect_seen(a, "layers 35-40 of 40");
    expect_seen(a, "0.039");
    press(a, "LLLLLLLLLLLLLLLLLL");
    expect_seen(a, "heads 14-20 of 20");
    expect_seen(a, "19");
    press(a, "gHk");
    expect_seen(a, "layers 1-6 of 40, heads 13-19 of 20");
    kr_app_resize(a, 160, 48); /* beside the prompt, and v says which of them scrolls */
    press(a, "jjj");
    expect_seen(a, "layers 4-");
    press(a, "vj");
    expect_seen(a, "layers 4-");
    kr_app_free(a);
}

/* --- the form before a job ---------------------------------------------------------------------- */

static void r_on_reeval_shows_what_will_be_run(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "5r");
    assert_int_equal(kr_app_screen(a), KR_SCREEN_RUN);
    assert_null(kr_reeval_shown(a)); /* nothing has begun */
    expect(a, "12 of 12 rows can be re-evaluated; this takes 12 requests", true);
    kr_app_key(a, KR_KEY_ESC);
    assert_int_equal(kr_app_screen(a), KR_SCREEN_REEVAL);
    press(a, "\n"); /* no results yet: Enter shows it, too */
    assert_int_equal(kr_app_screen(a), KR_SCREEN_RUN);
    press(a, "r");
    assert_int_equal(kr_app_screen(a), KR_SCREEN_REEVAL);
    assert_int_equal(kr_reeval_shown(a)->n_result, 12);
    press(a, "\n"); /* now it opens the result */
    assert_int_equal(kr_app_screen(a), KR_SCREEN_REQUEST);
    kr_app_free(a);
}

static void fields_of_the_form_are_changed_in_place(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "5r");
    press(a, "h"); /* a method of two */
    expect_seen(a, "▸ streaming_llm ◂");
    press(a, "l\tl");
    expect_seen(a, "▸ 60 % ◂");
    press(a, "l");
    expect_seen(a, "▸ 40 % ◂");
    press(a, "\tl");
    assert_int_equal(a->re->samples, 110);
    press(a, "=5\n");
    assert_int_equal(a->re->samples, 5);
    expect_seen(a, "this takes 5 requests");
    press(a, "h");
    assert_int_equal(a->re->samples, 1);
    press(a, "h");
    expect_seen(a, "samples is at the end of its range, 1 to 4000");
    press(a, "\t=99\n");
    assert_int_equal(a->re->seed, 99);
    press(a, "\tll");
    expect_seen(a, "▸ niah_multikey ◂");
    press(a, "=vt\n");
    assert_string_equal(a->re->task, "vt");
    press(a, "\tl");
    assert_string_equal(a->re->protocol, "query_agnostic");
    expect_seen(a, "not comparable with the stored utilities: query_agnostic now");
    press(a, "h\tl\tl");
    assert_int_equal(a->re->threads, 2);
    assert_int_equal((int)a->re->max_seconds, 660);
    press(a, "\t=" DIR "child.sh\n");
    expect_seen(a, "not the one measured");
    assert_int_equal(a->re->field, KR_RE_MODEL);
    press(a, "\t\t");
    assert_int_equal(a->re->field, KR_RE_METHOD); /* around */
    kr_app_free(a);
}

static void what_is_out_of_range_is_refused_and_the_value_stays(void **state) {
    (void)state;
    static const struct {
        int field;
        const char *typed, *said;
    } wrong[] = {
        {KR_RE_SAMPLES_FIELD, "4001", "samples wants a whole number from 1 to 4000"},
        {KR_RE_SAMPLES_FIELD, "99999999999999999999", "samples wants a whole number from 1 to 4000"},
        {KR_RE_SAMPLES_FIELD, "-1", "samples wants a whole number from 1 to 4000"},
        {KR_RE_SEED, "x", "seed wants a whole number from 0 to"},
        {KR_RE_THREADS, "0", "threads wants a whole number from 1 to 256"},
        {KR_RE_SECONDS, "0", "seconds wants a whole number from 1 to 1000000"},
        {KR_RE_TASK, "none such", "no task 'none such'"},
        {KR_RE_PROTOCOL, "aware", "protocol wants query_aware or query_agnostic, not 'aware'"},
        {KR_RE_METHOD, "none", "no method 'none'"},
        {KR_RE_LEVEL, "61", "no level '61' of snapkv"},
        {KR_RE_MODEL, "/nonexistent", "cannot read '/nonexistent'"},
        {KR_RE_REQUESTS, "/tmp", "/tmp is a directory"},
    };
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "5r");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char before[KR_RE_TEXT], after[KR_RE_TEXT];
        a->re->field = wrong[i].field;
        kr_reeval_field_text(a, (kr_re_field)wrong[i].field, before);
        press(a, "=");
        press(a, wrong[i].typed);
        press(a, "\n");
        expect_seen(a, wrong[i].said);
        kr_reeval_field_text(a, (kr_re_field)wrong[i].field, after);
        assert_string_equal(before, after);
    }
    kr_app_free(a);
}

static void results_that_are_not_written_are_asked_about(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    press(a, "r:eval protocol query_agnostic\n");
    expect_seen(a, "The results of 1 job are not written and would go. Go on? y/N");
    press(a, "n");
    assert_string_equal(a->re->protocol, "query_aware");
    assert_int_equal(kr_reeval_shown(a)->n_result, 12);
    press(a, ":eval protocol query_agnostic\ny");
    assert_string_equal(a->re->protocol, "query_agnostic");
    assert_null(kr_reeval_shown(a));
    press(a, ":eval protocol query_aware\nr\n");
    free(written(a));
    press(a, ":eval protocol query_agnostic\n"); /* in a file: nothing is asked */
    assert_string_equal(a->re->protocol, "query_agnostic");
    kr_app_free(a);
}

/* --- another file --------------------------------------------------------------------------------- */

static void what_w_wrote_can_be_opened_from_inside(void **state) {
    (void)state;
    char path[] = "/tmp/kvrisk-test-XXXXXX", command[80];
    kr_app *a = open_small(100, 30, KR_LOOK_ASCII, NULL);
    close(mkstemp(path));
    unlink(path);
    press(a, ":eval samples 7\n:tol 0.2\nr");
    snprintf(command, sizeof command, ":results %s\n", path);
    press(a, command);
    snprintf(command, sizeof command, ":open %s\n", path); /* written: nothing is asked */
    press(a, command);
    expect_seen(a, ": 7 requests");
    assert_string_equal(a->path, path);
    assert_int_equal(kr_calib_rows(a->calib), 7);
    assert_int_equal(kr_app_screen(a), KR_SCREEN_MAIN);
    assert_int_equal(a->w, 100);
    assert_int_equal(kr_app_settings_of(a).look, KR_LOOK_ASCII);
    assert_int_equal(a->re->samples, 7);
    assert_null(kr_reeval_shown(a));
    press(a, "u");
    expect_seen(a, "nothing to undo");
    press(a, "5"); /* it names what it was measured on, so that it can be re-evaluated */
    expect_seen(a, "7 of 7 rows can be re-evaluated  the requests measured, same model");
    for (int s = 0; s < KR_SCREEN_COUNT; s++) {
        kr_app_show(a, (kr_screen)s);
        free(seen(a));
    }
    kr_app_free(a);
    unlink(path);
}

static void opening_asks_before_anything_is_lost(void **state) {
    (void)state;
    kr_app *a = open_small(100, 30, KR_LOOK_UTF8, NULL);
    press(a, ":open /nonexistent\n");
    expect_seen(a, "/nonexistent");
    assert_string_equal(a->path, DIR "small.jsonl");
    press(a, ":open\n");
    expect_seen(a, "no file named");
    press(a, "amine\n:open data/samples/published-llama31-8b-ruler32k.json\n");
    expect_seen(a, "1 point is not exported and will be of another file. Open anyway? y/N");
    press(a, "n5r\n:open data/samples/published-llama31-8b-ruler32k.json\n");
    expect_seen(a, "The results of 1 job are not written and would go. Open anyway? y/N");
    press(a, "n");
    assert_int_equal(kr_reeval_shown(a)->n_result, 12);
    press(a, ":open data/samples/published-llama31-8b-ruler32k.json\ny");
    assert_string_equal(a->path, "data/samples/published-llama31-8b-ruler32k.json");
    expect_seen(a, "the 1 point of before stays");
    for (int s = 0; s < KR_SCREEN_COUNT; s++) {
        kr_app_show(a, (kr_screen)s);
        free(seen(a));
    }
    kr_app_free(a);
    a = open_small(100, 30, KR_LOOK_UTF8, "silent");
    kr_app_type(a, "r:open " DIR "small.jsonl\n");
    expect_seen(a, "A job is at work and would end. Open anyway? y/N");
    kr_app_type(a, "y");
    assert_false(kr_reeval_busy(a));
    kr_app_free(a);
}

/* --- children that misbehave ------------------------------------------------------------------ */

static void a_child_that_ends_early_is_told_of_and_its_results_are_kept(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, "dies");
    press(a, "r");
    expect_seen(a, "failed (signal 9) after 2 of 12");
    expect_seen(a, "partial: 2 of 12");
    kr_app_free(a);
    a = open_small(80, 24, KR_LOOK_UTF8, "short"); /* says that all is well */
    press(a, "r");
    expect_seen(a, "failed (exit status 0) after 2 of 12");
    kr_app_free(a);
}

static void garbage_is_counted_and_never_becomes_a_result(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, "garbage");
    press(a, "r");
    const kr_re_run *u = kr_reeval_shown(a);
    assert_int_equal(u->n_result, 0);
    assert_true(u->odd >= 2);
    assert_int_equal(u->state, KR_JOB_FAILED);
    expect_seen(a, "were not understood");
    press(a, "1");
    expect_seen(a, "1 Main");
    kr_app_free(a);
}

static void a_flood_of_lines_does_not_hide_the_results(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, "flood");
    press(a, "r");
    const kr_re_run *u = kr_reeval_shown(a);
    assert_int_equal(u->n_result, 12);
    assert_int_equal(u->odd, 300000);
    kr_app_free(a);
}

static void a_silent_child_leaves_the_screens_alive_and_can_be_canceled(void **state) {
    (void)state;
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, "silent");
    kr_app_type(a, "r");
    kr_app_tick(a);
    expect_seen(a, "job 1   0 %");
    kr_app_type(a, "1l");
    expect_seen(a, "0.110");
    kr_app_type(a, "q");
    expect_seen(a, "A job is at work and would end. Quit anyway?");
    kr_app_type(a, "n");
    assert_false(kr_app_done(a));
    kr_app_type(a, "5r");
    expect_seen(a, "job 1 is at work");
    kr_app_type(a, "c");
    kr_app_wait(a);
    expect(a, "canceled; 0 of 12", true);
    kr_app_type(a, "q");
    assert_true(kr_app_done(a));
    kr_app_free(a);
    a = open_small(80, 24, KR_LOOK_UTF8, "silent"); /* freed while it is at work */
    kr_app_type(a, "r");
    kr_app_free(a);
}

static void what_is_missing_is_said(void **state) {
    (void)state;
    kr_app *a = NULL;
    assert_int_equal(kr_app_open("tests/fixtures/prototype/mini-ruler.jsonl",
                                 (kr_app_settings){.look = KR_LOOK_UTF8}, &a, NULL),
                     KR_OK);
    kr_app_type(a, "r");
    expect(a, "no requests that belong to this file; :eval requests FILE", true);
    kr_app_type(a, ":eval requests /nonexistent\n");
    expect_seen(a, "cannot read '/nonexistent'");
    kr_app_type(a, ":eval samples 0\n");
    expect_seen(a, "samples wants a whole number from 1 to 4000");
    kr_app_type(a, ":eval nonsense\n");
    expect_seen(a, ":eval NAME VALUE: model requests task");
    kr_app_free(a);
}

static void numbers_of_jobs_are_remembered(void **state) {
    (void)state;
    char path[] = "/tmp/kvrisk-test-XXXXXX", *text = NULL;
    size_t n;
    close(mkstemp(path));
    kr_app *a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    kr_app_remember(a, path);
    press(a, ":eval samples 7\n:eval seed 99\n");
    kr_app_free(a);
    assert_int_equal(kr_file_read(path, 4096, &text, &n, NULL), KR_OK);
    assert_non_null(strstr(text, "samples = 7\nseed = 99\n"));
    free(text);
    a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    kr_app_remember(a, path);
    press(a, "5");
    expect_seen(a, "sample 7 of all tasks   seed 99");
    kr_app_free(a);
    static const char odd[] = "samples = 0\nseed = -1\nthreads = x\nseconds\n= 5\nnoise\n";
    assert_int_equal(kr_file_write(path, odd, sizeof odd - 1, true, NULL), KR_OK);
    a = open_small(80, 24, KR_LOOK_UTF8, NULL);
    kr_app_remember(a, path);
    press(a, "5");
    expect_seen(a, "sample 100 of all tasks   seed 1   threads 1   limit 600 s");
    kr_app_free(a);
    unlink(path);
}

int main(void) {
    setenv("XDG_STATE_HOME", "/nonexistent", 1); /* the ledgers of the user are not known here */
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens_look_as_they_did),
        cmocka_unit_test(no_size_breaks_the_screens),
        cmocka_unit_test(results_stand_beside_the_stored_ones_and_can_be_kept),
        cmocka_unit_test(files_that_were_measured_are_compared),
        cmocka_unit_test(other_requests_are_not_comparable),
        cmocka_unit_test(another_model_is_not_comparable),
        cmocka_unit_test(another_protocol_is_not_comparable),
        cmocka_unit_test(requests_that_changed_in_between_are_noticed),
        cmocka_unit_test(without_a_hash_ids_alone_match),
        cmocka_unit_test(a_request_without_text_says_how_many_there_are),
        cmocka_unit_test(the_tolerance_of_the_moment_decides_on_events),
        cmocka_unit_test(earlier_jobs_can_be_shown_again),
        cmocka_unit_test(reading_the_file_again_keeps_results_that_still_belong_to_it),
        cmocka_unit_test(times_of_a_job_are_means_over_its_requests),
        cmocka_unit_test(w_writes_the_log_where_it_is_shown),
        cmocka_unit_test(the_log_follows_until_one_looks_up),
        cmocka_unit_test(a_child_that_fails_says_why),
        cmocka_unit_test(a_log_is_bounded),
        cmocka_unit_test(heads_scroll_both_ways),
        cmocka_unit_test(r_on_reeval_shows_what_will_be_run),
        cmocka_unit_test(fields_of_the_form_are_changed_in_place),
        cmocka_unit_test(what_is_out_of_range_is_refused_and_the_value_stays),
        cmocka_unit_test(results_that_are_not_written_are_asked_about),
        cmocka_unit_test(what_w_wrote_can_be_opened_from_inside),
        cmocka_unit_test(opening_asks_before_anything_is_lost),
        cmocka_unit_test(a_child_that_ends_early_is_told_of_and_its_results_are_kept),
        cmocka_unit_test(garbage_is_counted_and_never_becomes_a_result),
        cmocka_unit_test(a_flood_of_lines_does_not_hide_the_results),
        cmocka_unit_test(a_silent_child_leaves_the_screens_alive_and_can_be_canceled),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(numbers_of_jobs_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
