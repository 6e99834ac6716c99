/* Every claim about the selected method as a table, with the selected one's sentence in full; and two
 * policies compared. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/model.h"
#include "ui/pages.h"
#include "verdict/pair.h"

static const struct {
    const char *title, *free; /* what it is about; what may be chosen after looking */
} words[KR_CLAIMS] = {
    [KR_MODE_EVENTS] = {"the contract as it stands", "nothing"},
    [KR_MODE_TOLERANCES] = {"a tolerance picked after looking", "tolerance"},
    [KR_MODE_RISKS] = {"a risk target picked after looking", "risk target"},
    [KR_MODE_MAP] = {"tolerance and risk target picked after looking", "tol. and risk"},
    [KR_MODE_CONFIDENCE] = {"a confidence picked after looking", "confidence"},
    [KR_MODE_MIXTURE] = {"another mixture of tasks, by weights", "nothing"},
    [KR_MODE_SUBSAMPLE] = {"another mixture of tasks, drawn from the requests", "nothing"},
    [KR_MODE_WORST_TASK] = {"every single task", "nothing"},
    [KR_MODE_CLUSTER_ONE] = {"one request of each cluster", "nothing"},
    [KR_MODE_CLUSTER_MEAN] = {"the mean over each cluster", "nothing"},
    [KR_MODE_CLUSTER_MAX] = {"any request of a cluster", "nothing"},
    [KR_MODE_MEAN_DROP] = {"the mean drop instead of events", "nothing"},
    [KR_CLAIM_FAMILY] = {"lowest retention of all methods, choice paid for", "method"},
    [KR_CLAIM_ALONE] = {"lowest retention of all methods, choice not paid for",
                        "method, unpaid"},
    [KR_CLAIM_NOISE] = {"full KV against itself", ""},
};

/* --- the table -------------------------------------------------------------------------------- */

typedef struct {
    int name, free, level, most, kept, state;
} columns;

static columns fit(int w) {
    columns c = {.name = 13, .level = w < 70 ? 7 : 9, .most = 12, .kept = 11, .state = 13};
    int room = w - 2 - c.name - c.level - c.most - c.kept - c.state;
    if (room >= 14) {
        c.free = room > 20 ? 20 : room;
        room -= c.free;
    }
    if (room > 6) {
        c.most += 3;
        c.kept += 3;
    }
    return c;
}

static void draw_header(kr_view *v, kr_rect in, const columns *c) {
    int x = 2;
    kr_view_head(v, in, x, c->name, KR_LEFT, "claim");
    kr_view_head(v, in, x += c->name, c->free, KR_LEFT, "free to choose");
    kr_view_head(v, in, x += c->free, c->level, KR_RIGHT, "level");
    kr_view_head(v, in, x += c->level, c->most, KR_RIGHT, "at most");
    kr_view_head(v, in, x += c->most, c->kept, KR_RIGHT, "certified");
    kr_view_head(v, in, x + c->kept + 2, c->state - 2, KR_LEFT, "state");
}

/* What stands in the columns; "" where there is nothing to say. */
typedef struct {
    char level[24], most[48], kept[64];
    const char *state;
    kr_role kept_role, state_role;
} cells;

static kr_role state_role(kr_state s, bool certified) {
    return s == KR_STATE_LOCKED    ? certified ? KR_ROLE_CERT : KR_ROLE_FALL
           : s == KR_STATE_WHAT_IF ? KR_ROLE_WARN
                                   : KR_ROLE_ERROR;
}

static void mode_cells(const kr_app *a, const kr_mode_line *l, bool brief, cells *out) {
    if (l->inapplicable != NULL) {
        snprintf(out->kept, sizeof out->kept, "-");
        out->state = "not here";
        out->state_role = out->kept_role = KR_ROLE_DIM;
        return;
    }
    kr_level_label(a, a->method, l->certified, out->kept);
    if (l->certified < 0)
        snprintf(out->kept, sizeof out->kept, "full KV");
    snprintf(out->level, sizeof out->level, "%.*g", brief ? 2 : 3, l->level);
    if (l->max_events >= 0)
        snprintf(out->most, sizeof out->most, "%lld of %lld", (long long)l->max_events,
                 (long long)l->n);
    else
        snprintf(out->most, sizeof out->most, "-");
}

static void best_cells(const kr_app *a, const kr_best *b, bool brief, cells *out) {
    snprintf(out->level, sizeof out->level, "%.*g", brief ? 2 : 3, kr_level_double(b->level));
    if (b->max_events >= 0)
        snprintf(out->most, sizeof out->most, "%lld of %lld", (long long)b->max_events,
                 (long long)kr_analysis_n(a->an));
    else
        snprintf(out->most, sizeof out->most, "none");
    snprintf(out->kept, sizeof out->kept, "full KV");
    if (b->any)
        kr_level_label(a, b->method, b->candidate, out->kept);
}

static void noise_cells(const kr_noise *f, cells *out) {
    if (f->known)
        snprintf(out->most, sizeof out->most, "%lld of %lld", (long long)f->events, (long long)f->n);
    snprintf(out->kept, sizeof out->kept, "-");
    out->state = f->hopeless ? "too high" : f->known ? "measured" : "not there";
    out->state_role = f->hopeless ? KR_ROLE_WARN : KR_ROLE_DIM;
    out->kept_role = KR_ROLE_DIM;
}

static void fill_cells(const kr_app *a, int claim, bool brief, cells *out) {
    const kr_claim *x = &a->claims.at[claim];
    bool good = kr_claim_certified(x, claim);
    *out = (cells){.state = "", .kept_role = good ? KR_ROLE_CERT : KR_ROLE_FALL};
    if (x->status != KR_CLAIM_KNOWN) {
        static const char *const why[] = {[KR_CLAIM_WAITS] = "counting...",
                                          [KR_CLAIM_ON_ENTER] = "press Enter",
                                          [KR_CLAIM_FAILED] = "failed"};
        out->state = why[x->status];
        out->state_role = x->status == KR_CLAIM_FAILED ? KR_ROLE_ERROR : KR_ROLE_DIM;
        return;
    }
    if (claim == KR_CLAIM_NOISE) {
        noise_cells(&x->noise, out);
        return;
    }
    out->state = kr_state_name(kr_claim_state(x, claim));
    out->state_role = state_role(kr_claim_state(x, claim), good);
    if (claim < KR_MODES)
        mode_cells(a, &x->line, brief, out);
    else
        best_cells(a, &x->best, brief, out);
}

static void draw_row(kr_view *v, kr_rect in, int y, int claim, bool selected, const columns *c) {
    cells s;
    int x = 2;
    fill_cells(v->a, claim, c->level < 9, &s);
    kr_canvas_field(v->c, in, 0, y, 2, KR_LEFT, KR_ROLE_KEY, selected ? "▸" : "");
    kr_canvas_field(v->c, in, x, y, c->name - 1, KR_LEFT, selected ? KR_ROLE_TITLE : KR_ROLE_TEXT,
                    kr_claim_name(claim));
    if (c->free > 0)
        kr_canvas_field(v->c, in, x + c->name, y, c->free, KR_LEFT, KR_ROLE_DIM,
                        words[claim].free);
    x += c->name + c->free;
    kr_canvas_field(v->c, in, x, y, c->level, KR_RIGHT, KR_ROLE_TEXT, s.level);
    kr_canvas_field(v->c, in, x += c->level, y, c->most, KR_RIGHT, KR_ROLE_TEXT, s.most);
    kr_canvas_field(v->c, in, x += c->most, y, c->kept, KR_RIGHT, s.kept_role, s.kept);
    kr_canvas_field(v->c, in, x + c->kept + 2, y, c->state - 2, KR_LEFT, s.state_role, s.state);
}

void kr_draw_claims(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    kr_claims *k = &a->claims;
    char title[128];
    snprintf(title, sizeof title, "claims on %.60s",
             kr_text_short(kr_calib_method(a->calib, a->method)->name, 60).s);
    bool shared = a->lay.box.w > 0; /* the heads then stand on the frame's own line */
    kr_rect in = kr_view_pane(v, r, shared ? NULL : title, NULL);
    kr_rect list = shared ? in : (kr_rect){in.x, in.y + 1, in.w, in.h - 1};
    columns c = fit(list.w);
    draw_header(v, (kr_rect){list.x, list.y - 1, list.w, 1}, &c);
    if (list.h < 1)
        return;
    k->top = kr_list_top(k->n, list.h, k->selected, k->top);
    for (int y = 0; y < list.h && k->top + y < k->n; y++) {
        bool selected = k->top + y == k->selected;
        draw_row(v, list, y, k->row[k->top + y], selected, &c);
        if (selected) {
            kr_canvas_pick(v->c, (kr_rect){list.x, list.y + y, list.w, 1});
            kr_view_cursor(v, list, 0, y);
        }
    }
    kr_view_scroll(v, list, k->n, k->top);
}

/* --- the selected one ------------------------------------------------------------------------- */

const char *kr_claim_text(const kr_app *a) {
    const kr_claim *x = &a->claims.at[kr_claims_selected(a)];
    return x->status == KR_CLAIM_WAITS      ? "Counting over all requests ..."
           : x->status == KR_CLAIM_ON_ENTER ? "This claim looks at every request; with so many of them "
                                              "Enter counts it, which takes some seconds."
                                            : kr_buf_text(&x->text);
}

const char *kr_claim_title(const kr_app *a) { return words[kr_claims_selected(a)].title; }

void kr_draw_claim(kr_view *v, kr_rect r) {
    const kr_app *a = v->a;
    int claim = kr_claims_selected(a), y = 0;
    const kr_claim *x = &a->claims.at[claim];
    char title[128];
    snprintf(title, sizeof title, "%s: %s", kr_claim_name(claim), kr_claim_title(a));
    bool state = x->status == KR_CLAIM_KNOWN && claim != KR_CLAIM_NOISE &&
                 (claim >= KR_MODES || x->line.inapplicable == NULL);
    kr_rect in = kr_view_pane(v, r, title, state ? kr_state_name(kr_claim_state(x, claim)) : NULL);
    kr_role role = kr_claim_certified(x, claim) && kr_claim_state(x, claim) == KR_STATE_LOCKED
                       ? KR_ROLE_CERT : KR_ROLE_TEXT;
    for (const char *p = kr_claim_text(a); *p != '\0' && y <= in.h;) {
        char line[2048];
        size_t len = strcspn(p, "\n");
        snprintf(line, sizeof line, "%.*s", (int)len, p);
        y += kr_canvas_wrap(v->c, (kr_rect){in.x, in.y + y, in.w, in.h - y}, y == 0 ? role : KR_ROLE_DIM,
                            line);
        p += len + (p[len] == '\n');
    }
    if (y > in.h)
        kr_canvas_str(v->c, in, in.w - 4, in.h - 1, KR_ROLE_KEY, " … i");
}

/* Beyond this many requests two policies are not compared at every key. */
enum { MANY_ROWS = 30000 };

/* --- two policies ----------------------------------------------------------------------------- */

void kr_pair_mark(kr_app *a) {
    char level[32];
    a->pair_base = (int)kr_app_policy(a);
    kr_level_label(a, a->method, a->level, level);
    kr_app_say(a, false, "%s at %s is what the selected level is compared with",
               kr_calib_method(a->calib, a->method)->name, level);
}

/* "45 %", with its method's name where that is another one. */
static void base_name(const kr_app *a, size_t policy, char out[256]) {
    for (size_t m = 0; m < kr_calib_methods(a->calib); m++) {
        const kr_method *x = kr_calib_method(a->calib, m);
        char level[32];
        if (policy < x->first || policy >= x->first + x->count)
            continue;
        kr_level_label(a, m, (int)(policy - x->first), level);
        snprintf(out, 256, "%s%s%s", m == a->method ? "" : x->name, m == a->method ? "" : " ", level);
    }
}

void kr_pair_words(kr_app *a, char *out, size_t cap) {
    size_t policy = kr_app_policy(a);
    size_t base = a->pair_base >= 0 ? (size_t)a->pair_base : policy - (a->level > 0);
    kr_pair p;
    char name[256] = "";
    out[0] = '\0';
    if (base == policy || base >= kr_calib_policies(a->calib) ||
        kr_calib_rows(a->calib) > MANY_ROWS ||
        kr_pair_compare(a->an, policy, base, &p, NULL) != KR_OK)
        return;
    base_name(a, base, name);
    snprintf(out, cap, "against %s: only here %lld, only there %lld, McNemar p %.2g, %+.1f to %+.1f points",
             name, (long long)p.only_a, (long long)p.only_b, p.test.two_sided, 100 * p.test.lower,
             100 * p.test.upper);
}
