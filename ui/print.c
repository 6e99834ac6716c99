#include "ui/print.h"

#include "ui/model.h"

#include <stdio.h>
#include <string.h>

bool kr_print_size(const char *s, int *w, int *h) {
    int x, y, used = 0;
    if (sscanf(s, "%4dx%4d%n", &x, &y, &used) != 2 || s[used] != '\0' || x < 1 || y < 1 ||
        x > 1000 || y > 1000)
        return false;
    *w = x;
    *h = y;
    return true;
}

static bool find_screen(const char *name, kr_screen *out) {
    for (int s = 0; s < KR_SCREEN_COUNT; s++)
        if (strcmp(kr_screen_name((kr_screen)s), name) == 0) {
            *out = (kr_screen)s;
            return true;
        }
    return false;
}

kr_status kr_print_screen(const char *path, const kr_print_options *o, char **out, kr_error *err) {
    kr_screen screen;
    kr_app *a = NULL;
    int cx, cy;
    if (!find_screen(o->screen, &screen))
        return kr_fail(
            err, KR_EINVAL,
            "no screen '%s'; there are main, map, policy, tasks, requests, reeval, points, claims, plan, "
            "simulate, ledger, help",
            o->screen);
    kr_app_settings set = {.look = o->ascii ? KR_LOOK_ASCII : KR_LOOK_UTF8,
                           .alphabet = o->alphabet};
    kr_status st = kr_app_open_with(path, o->analysis, set, &a, err);
    if (st != KR_OK)
        return st;
    kr_app_resize(a, o->w, o->h);
    kr_app_show(a, screen);
    if (kr_app_waiting(a))
        kr_app_settle(a);
    for (const char *k = o->keys; k != NULL && *k != '\0';) { /* each sees what the last one did */
        uint32_t cp;
        char one[8] = "";
        size_t n = (unsigned char)*k < 0x80 ? 1 : (size_t)kr_text_next(k, &cp);
        memcpy(one, k, n);
        kr_app_type(a, one);
        kr_app_wait(a);
        if (a->book.work != KR_BOOK_IDLE)
            kr_app_settle(a);
        k += n;
    }
    kr_app_wait(a); /* for what the screen itself has read */
    if (kr_app_waiting(a))
        kr_app_settle(a);
    kr_app_finish(a);
    kr_canvas *c = kr_canvas_new(o->w, o->h, kr_app_settings_of(a).look);
    if (c != NULL) {
        kr_app_view(a, c, &cx, &cy);
        *out = o->roles ? kr_canvas_dump_roles(c) : kr_canvas_dump(c);
    }
    st = c == NULL || *out == NULL ? kr_fail(err, KR_ENOMEM, "out of memory") : KR_OK;
    kr_canvas_free(c);
    kr_app_free(a);
    return st;
}
