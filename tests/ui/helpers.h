/* helpers.h - an app on a file, and what is on its screen. */
#ifndef KR_TESTS_UI_HELPERS_H
#define KR_TESTS_UI_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "ui/model.h"

static const char sample[] = "tests/fixtures/prototype/mini-ruler.jsonl";
static const char published[] = "data/samples/published-llama31-8b-longbench.json";
static const char adaptive[] = "data/samples/published-llama31-8b-longbench-refreekv.json";

static inline kr_app *open_with(const char *path, int w, int h, kr_look look) {
    kr_app *a = NULL;
    kr_error err = {.msg = ""};
    if (kr_app_open(path, (kr_app_settings){.look = look}, &a, &err) != KR_OK)
        fail_msg("%s", err.msg);
    assert_non_null(a);
    kr_app_resize(a, w, h);
    return a;
}

static inline kr_app *open_app(const char *path, int w, int h) {
    return open_with(path, w, h, KR_LOOK_UTF8);
}

/* The screen as text, or as letters of the roles; the cursor is always inside. The caller frees it. */
static inline char *seen_as(kr_app *a, bool roles) {
    int cx, cy;
    kr_canvas *c = kr_canvas_new(a->w, a->h, a->set.look);
    kr_app_view(a, c, &cx, &cy);
    assert_true(cx >= 0 && cy >= 0 && cx < a->w && cy < a->h);
    char *s = roles ? kr_canvas_dump_roles(c) : kr_canvas_dump(c);
    kr_canvas_free(c);
    return s;
}

static inline char *seen(kr_app *a) { return seen_as(a, false); }

static inline void expect_in(const char *screen, const char *part, bool wanted) {
    if ((strstr(screen, part) != NULL) != wanted)
        fail_msg("%s the screen: %s\n%s", wanted ? "not on" : "on", part, screen);
}

static inline void expect(kr_app *a, const char *part, bool wanted) {
    char *s = seen(a);
    expect_in(s, part, wanted);
    free(s);
}

static inline void expect_seen(kr_app *a, const char *part) { expect(a, part, true); }
static inline void expect_not_seen(kr_app *a, const char *part) { expect(a, part, false); }

#endif
