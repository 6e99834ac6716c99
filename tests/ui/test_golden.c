/* Whole screens against stored text: characters, and role letters. After a change that is meant,
 * `KR_GOLDEN_UPDATE=1 build/.../test_golden` writes them anew; look at the difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "ui/print.h"

typedef struct {
    const char *name;
    kr_print_options o;
    const char *file;
} shot;

#define RULER "tests/fixtures/prototype/mini-ruler.jsonl"
#define COUNTS "data/samples/published-llama31-8b-longbench.json"
#define SNAP ":method snapkv\n"

static const shot shots[] = {
    {"main-80x24", {.screen = "main", .w = 80, .h = 24}, RULER},
    {"main-80x24-ascii", {.screen = "main", .w = 80, .h = 24, .ascii = true}, RULER},
    {"main-80x24-roles", {.screen = "main", .w = 80, .h = 24, .roles = true}, RULER},
    {"main-160x48", {.screen = "main", .w = 160, .h = 48, .keys = SNAP}, RULER},
    {"main-160x48-ascii",
     {.screen = "main", .w = 160, .h = 48, .keys = SNAP, .ascii = true},
     RULER},
    {"main-160x48-roles",
     {.screen = "main", .w = 160, .h = 48, .keys = SNAP, .roles = true},
     RULER},
    {"main-120x36-braille",
     {.screen = "main", .w = 120, .h = 36, .keys = SNAP, .alphabet = KR_PLOT_BRAILLE},
     RULER},
    {"main-100x30", {.screen = "main", .w = 100, .h = 30, .keys = SNAP}, RULER},
    {"main-60x16", {.screen = "main", .w = 60, .h = 16, .keys = SNAP}, RULER},
    {"main-50x10", {.screen = "main", .w = 50, .h = 10}, RULER},
    {"main-whatif-80x24", {.screen = "main", .w = 80, .h = 24, .keys = SNAP ":risk 1%\n"}, RULER},
    {"main-counts-80x24", {.screen = "main", .w = 80, .h = 24}, COUNTS},
    {"map-80x24", {.screen = "map", .w = 80, .h = 24, .keys = SNAP}, RULER},
    {"map-80x24-ascii", {.screen = "map", .w = 80, .h = 24, .keys = SNAP, .ascii = true}, RULER},
    {"map-160x48", {.screen = "map", .w = 160, .h = 48, .keys = SNAP}, RULER},
    {"map-160x48-ascii", {.screen = "map", .w = 160, .h = 48, .keys = SNAP, .ascii = true}, RULER},
    {"policy-80x24", {.screen = "policy", .w = 80, .h = 24, .keys = SNAP}, RULER},
    {"policy-80x24-ascii",
     {.screen = "policy", .w = 80, .h = 24, .keys = SNAP, .ascii = true},
     RULER},
    {"policy-160x48", {.screen = "policy", .w = 160, .h = 48, .keys = SNAP}, RULER},
    {"tasks-80x24", {.screen = "tasks", .w = 80, .h = 24, .keys = SNAP}, RULER},
    {"tasks-80x24-ascii",
     {.screen = "tasks", .w = 80, .h = 24, .keys = SNAP, .ascii = true},
     RULER},
    {"tasks-160x48", {.screen = "tasks", .w = 160, .h = 48, .keys = SNAP}, RULER},
    {"requests-80x24", {.screen = "requests", .w = 80, .h = 24, .keys = SNAP "e"}, RULER},
    {"points-80x24",
     {.screen = "points", .w = 80, .h = 24, .keys = SNAP "adeclared one\n:tol 0.25\na\n"},
     RULER},
    {"reeval-80x24", {.screen = "reeval", .w = 80, .h = 24}, RULER},
    {"claims-80x24", {.screen = "claims", .w = 80, .h = 24, .keys = SNAP}, RULER},
    {"claims-80x24-ascii",
     {.screen = "claims", .w = 80, .h = 24, .keys = SNAP "j", .ascii = true},
     RULER},
    {"claims-60x16", {.screen = "claims", .w = 60, .h = 16, .keys = SNAP}, RULER},
    {"claims-160x48",
     {.screen = "claims", .w = 160, .h = 48, .keys = SNAP ":mixture qa=1 niah_single=5\n"},
     RULER},
    {"claims-160x48-ascii",
     {.screen = "claims", .w = 160, .h = 48, .keys = SNAP "G", .ascii = true},
     RULER},
    {"help-80x24", {.screen = "help", .w = 80, .h = 24}, RULER},
};

static void check(const shot *s) {
    char path[160], *want = NULL, *got = NULL;
    size_t n;
    kr_error err = {.msg = ""};
    snprintf(path, sizeof path, "tests/ui/golden/%s.txt", s->name);
    if (kr_print_screen(s->file, &s->o, &got, &err) != KR_OK)
        fail_msg("%s: %s", s->name, err.msg);
    if (getenv("KR_GOLDEN_UPDATE") != NULL)
        assert_int_equal(kr_file_write(path, got, strlen(got), true, NULL), KR_OK);
    if (kr_file_read(path, 1 << 20, &want, &n, &err) != KR_OK)
        fail_msg("%s", err.msg);
    if (strcmp(want, got) != 0)
        print_error("%s differs; wanted:\n%s\ngot:\n%s", path, want, got);
    assert_string_equal(want, got);
    free(want);
    free(got);
}

static void screens_look_as_they_did(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shots / sizeof *shots; i++)
        check(&shots[i]);
    printf("note: %zu screens compared\n", sizeof shots / sizeof *shots);
}

static void no_line_is_wider_than_the_screen(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shots / sizeof *shots; i++) {
        char *got = NULL;
        int lines = 0;
        assert_int_equal(kr_print_screen(shots[i].file, &shots[i].o, &got, NULL), KR_OK);
        for (char *line = got, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, lines++) {
            *end = '\0';
            assert_true(kr_text_width(line) <= shots[i].o.w);
            for (char *p = line; shots[i].o.ascii && *p != '\0'; p++)
                assert_true(*p >= ' ' && *p <= '~');
        }
        assert_int_equal(lines, shots[i].o.h);
        free(got);
    }
}

static void sizes_are_read_strictly(void **state) {
    (void)state;
    int w = 0, h = 0;
    assert_true(kr_print_size("120x36", &w, &h));
    assert_int_equal(w * 1000 + h, 120036);
    static const char *const bad[] = {"",     "120",     "x36",    "120x",   "0x10",
                                      "10x0", "1001x10", "80x24x", "80 x24", "-8x24"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(kr_print_size(bad[i], &w, &h));
}

int main(void) {
    setenv("XDG_STATE_HOME", "/nonexistent", 1); /* the ledgers of the user are not known here */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens_look_as_they_did),
        cmocka_unit_test(no_line_is_wider_than_the_screen),
        cmocka_unit_test(sizes_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
