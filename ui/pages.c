/* pages.c - pages of text: filled after an event, drawn with wrapping and scrolling. */
#include "ui/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict/simrun.h"

bool kr_page_screen(kr_screen s) {
    return s == KR_SCREEN_PLAN || s == KR_SCREEN_SIMULATE;
}

static bool same(kr_dec x, kr_dec y) { return kr_dec_cmp(x, y) == 0; }

void kr_page_refresh(kr_app *a) {
    kr_contract k = kr_analysis_contract(a->an);
    if (!kr_page_screen(a->screen))
        return;
    if (a->screen != KR_SCREEN_SIMULATE && a->page_known && a->page_screen == a->screen &&
        a->page_method == a->method && a->page_family == kr_analysis_family(a->an) &&
        same(k.tolerance, a->page_at.tolerance) && same(k.risk, a->page_at.risk) &&
        same(k.confidence, a->page_at.confidence))
        return;
    a->page_known = true;
    a->page_screen = a->screen;
    a->page_method = a->method;
    a->page_family = kr_analysis_family(a->an);
    a->page_at = k;
    a->page.len = 0;
    if (a->screen == KR_SCREEN_PLAN)
        kr_page_plan(a, &a->page);
    else
        kr_page_simulate(a, &a->page);
}

static kr_role role_of(char c) {
    switch (c) {
    case '#': return KR_ROLE_TITLE;
    case '+': return KR_ROLE_CERT;
    case '!': return KR_ROLE_WARN;
    case '-': return KR_ROLE_DIM;
    default: return KR_ROLE_TEXT;
    }
}

/* Draws the lines from `top` on; returns how many there are. */
static int draw_lines(kr_view *v, kr_rect in, const char *text, int top) {
    int line = 0;
    for (const char *p = text; *p != '\0';) {
        size_t len = strcspn(p, "\n");
        char *s = strndup(p + 1, len > 0 ? len - 1 : 0);
        kr_rect w = {in.x, in.y, in.w - 1, in.h};
        if (s == NULL)
            return line;
        int n = *p == '=' || len < 2 ? 1 : kr_canvas_wrap(NULL, w, KR_ROLE_TEXT, s), y = line - top;
        if (y >= 0 && y < in.h && *p == '=')
            kr_canvas_field(v->c, w, 0, y, w.w, KR_LEFT, KR_ROLE_TEXT, s);
        else if (y >= 0 && y < in.h)
            kr_canvas_wrap(v->c, (kr_rect){w.x, w.y + y, w.w, w.h - y}, role_of(*p), s);
        line += n > 0 ? n : 1;
        free(s);
        p += len + (p[len] == '\n');
    }
    return line;
}

void kr_draw_page(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    kr_rect in = kr_view_pane(v, r, a->screen == KR_SCREEN_PLAN ? "plan" : "simulation",
                              a->screen == KR_SCREEN_SIMULATE ? "Enter again, c stop" : NULL);
    const char *text = kr_buf_text(&a->page);
    int n = draw_lines(v, in, text, 1 << 20);
    a->text.n = n > in.h ? (size_t)(n - in.h) : 0;
    if (a->text.at > (int)a->text.n)
        a->text.at = (int)a->text.n;
    draw_lines(v, in, text, a->text.at);
    kr_view_scroll(v, in, n, a->text.at);
    kr_view_cursor(v, in, 0, 0);
}
