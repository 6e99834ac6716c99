/* Operating points that were put aside. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/model.h"

typedef struct {
    int method, level, contract, state, events, p, note;
} point_columns;

static int wider(int w, const char *s, int gap) {
    int n = kr_text_width(s) + gap;
    return n > w ? n : w;
}

/* "0.100  5.0 %  95.0 %", below "drop   risk   conf". */
static void contract_text(const kr_saved_point *p, char out[128]) {
    char tol[40], risk[40], conf[40];
    kr_value_fit(KR_FIELD_TOLERANCE, p->contract.tolerance, 6, tol);
    kr_value_fit(KR_FIELD_RISK, p->contract.risk, 6, risk);
    kr_value_fit(KR_FIELD_CONFIDENCE, p->contract.confidence, 7, conf);
    snprintf(out, 128, "%-5s  %-5s  %s", tol, risk, conf);
}

static void events_text(const kr_saved_point *p, char out[48]) {
    snprintf(out, 48, p->events < 0 ? "-" : "%lld/%lld", (long long)p->events, (long long)p->n);
}

static point_columns fit_points(const kr_app *a, int w) {
    enum { METHOD = 17, NOTE = 8 };
    point_columns c = {.level = 7, .contract = 20, .events = 8};
    int longest = 8;
    for (size_t i = 0; i < a->n_saved; i++) {
        char s[128];
        events_text(&a->saved[i], s);
        c.events = wider(c.events, s, 1);
        c.level = wider(c.level, a->saved[i].level, 2);
        contract_text(&a->saved[i], s);
        c.contract = wider(c.contract, s, 1);
        longest = wider(longest, a->saved[i].method_name, 2);
    }
    longest = longest > 30 ? 30 : longest;
    c.method = longest < METHOD ? longest : METHOD;
    int room = w - 2 - c.method - c.level - c.contract - c.events;
    if (room < (c.events > 10 ? 9 : 0)) { /* the state goes before a long count */
        room += c.events;
        c.events = 0;
    }
    if (room >= 9) {
        c.state = 9;
        room -= 9;
    }
    int more = room - NOTE < longest - c.method ? room - NOTE : longest - c.method;
    if (more > 0) {
        c.method += more;
        room -= more;
    }
    if (room >= 28) {
        c.p = 9;
        room -= 9;
    }
    c.note = room > 3 ? room : 0;
    return c;
}

static void point_row(kr_view *v, kr_rect in, int y, const kr_saved_point *p,
                      const point_columns *c, bool here) {
    char s[128];
    int x = 2;
    kr_canvas_field(v->c, in, 0, y, 2, KR_LEFT, KR_ROLE_KEY, here ? "▸" : "");
    kr_canvas_field(v->c, in, x, y, c->method - 1, KR_LEFT, KR_ROLE_TEXT, p->method_name);
    x += c->method;
    kr_canvas_field(v->c, in, x, y, c->level - 1, KR_LEFT,
                    p->candidate < 0 ? KR_ROLE_FALL : KR_ROLE_CERT, p->level);
    x += c->level;
    contract_text(p, s);
    kr_canvas_field(v->c, in, x, y, c->contract - 1, KR_LEFT, KR_ROLE_TEXT, s);
    x += c->contract;
    events_text(p, s);
    kr_canvas_field(v->c, in, x, y, c->events, KR_RIGHT, KR_ROLE_TEXT, s);
    x += c->events;
    kr_p_text(p->events < 0 ? NAN : p->p_value, s);
    kr_canvas_field(v->c, in, x, y, c->p, KR_RIGHT, KR_ROLE_TEXT, s);
    x += c->p + 1;
    kr_canvas_field(v->c, in, x, y, c->state - 1, KR_LEFT,
                    p->state == KR_STATE_LOCKED ? KR_ROLE_CERT : KR_ROLE_WARN,
                    kr_state_name(p->state));
    x += c->state;
    kr_canvas_field(v->c, in, x, y, c->note - 2, KR_LEFT, KR_ROLE_DIM, p->note);
}

static void points_header(kr_view *v, kr_rect in, const point_columns *c) {
    int x = 2;
    kr_canvas_field(v->c, in, x, 0, c->method, KR_LEFT, KR_ROLE_DIM, "method");
    x += c->method;
    kr_canvas_field(v->c, in, x, 0, c->level, KR_LEFT, KR_ROLE_DIM, "keeps");
    x += c->level;
    kr_canvas_field(v->c, in, x, 0, c->contract, KR_LEFT, KR_ROLE_DIM, "drop   risk   conf");
    x += c->contract;
    kr_canvas_field(v->c, in, x, 0, c->events, KR_RIGHT, KR_ROLE_DIM, "events");
    x += c->events;
    kr_canvas_field(v->c, in, x, 0, c->p, KR_RIGHT, KR_ROLE_DIM, "p");
    x += c->p + 1;
    kr_canvas_field(v->c, in, x, 0, c->state, KR_LEFT, KR_ROLE_DIM, "state");
    kr_canvas_field(v->c, in, x + c->state, 0, c->note, KR_LEFT, KR_ROLE_DIM, "note");
}

static const char empty_text[] =
    "No points yet.\n"
    "On any screen, a puts the selected method's operating point aside with its contract and a "
    "note. "
    "Here, Enter goes back to a point, e changes its note, d deletes it, x writes all of them as "
    "JSON "
    "and X as CSV. Points taken after looking at several contracts are marked WHAT-IF: they "
    "explore and "
    "carry no guarantee.";

void kr_draw_points(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    char note[64];
    snprintf(note, sizeof note, "%zu, %zu not exported", a->n_saved, kr_points_unsaved(a));
    kr_rect in = kr_view_pane(v, r, "operating points", a->n_saved > 0 ? note : NULL);
    if (a->n_saved == 0) {
        kr_canvas_wrap(v->c, in, KR_ROLE_DIM, empty_text);
        return;
    }
    point_columns c = fit_points(a, in.w);
    points_header(v, in, &c);
    kr_rect list = {in.x, in.y + 1, in.w, in.h - 1};
    a->points.top = kr_list_top((int)a->n_saved, list.h, a->points.at, a->points.top);
    for (int y = 0; y < list.h && a->points.top + y < (int)a->n_saved; y++) {
        bool here = a->points.top + y == a->points.at;
        point_row(v, list, y, &a->saved[a->points.top + y], &c, here);
        if (!here)
            continue;
        kr_canvas_pick(v->c, (kr_rect){list.x, list.y + y, list.w, 1});
        kr_view_cursor(v, list, 0, y);
    }
    kr_view_scroll(v, list, (int)a->n_saved, a->points.top);
}
