/* The contract with its strips, the verdict, the statement, the table of methods. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/model.h"

/* --- contract --------------------------------------------------------------------------------- */

enum { VALUE_X = 12, STRIP_X = 29 };

static void draw_value(kr_view *v, kr_rect r, int x, int y, kr_field f) {
    char text[40];
    bool focused = (int)f == v->a->field;
    kr_value_fit(f, kr_field_get(v->a, f), kr_value_room(v->a), text);
    if (focused) {
        kr_canvas_str(v->c, r, x, y, KR_ROLE_KEY, "▸");
        if (v->a->on_field)
            kr_view_cursor(v, r, x + 2, y);
    }
    int w = kr_canvas_str(v->c, r, x + 2, y, focused ? KR_ROLE_FOCUS : KR_ROLE_VALUE, text);
    if (focused)
        kr_canvas_str(v->c, r, x + 3 + w, y, KR_ROLE_KEY, "◂");
}

static void strip_ends(kr_view *v, kr_rect r, int y, kr_field f, int n) {
    char lo[40], hi[40];
    double scale = f == KR_FIELD_TOLERANCE ? 1 : 100;
    snprintf(lo, sizeof lo, "%g", scale * kr_dec_double(kr_field_strip_value(v->a, f, 0, n)));
    snprintf(hi, sizeof hi, "%g", scale * kr_dec_double(kr_field_strip_value(v->a, f, n - 1, n)));
    kr_canvas_field(v->c, r, STRIP_X - 5, y, 4, KR_RIGHT, KR_ROLE_DIM, lo);
    kr_canvas_str(v->c, r, STRIP_X + n + 1, y, KR_ROLE_DIM, hi);
}

/* What the strips show: heights where shares are known, levels where they are not. */
static void strip_words(kr_view *v, char *out, size_t cap) {
    const kr_facts *f = &v->a->f;
    const char *method = kr_calib_method(v->a->calib, v->a->method)->name;
    bool ascii = kr_canvas_look(v->c) == KR_LOOK_ASCII, levels = false, shares = false;
    for (int i = 0; i < KR_FIELDS; i++)
        for (int x = 0; x < f->strip_n; x++) {
            const kr_strip_cell *k = &f->strip[i][x];
            levels |= k->known && !k->full && !isfinite(k->share);
            shares |= k->known && !k->full && isfinite(k->share);
        }
    if (levels && !shares)
        snprintf(out, cap, ascii ? "strip: + certified level of %s, F full KV"
                                 : "strip: ▒ certified level of %s, █ full KV", method);
    else
        snprintf(out, cap, ascii ? "strip: tens of %% kept by %s, F full KV%s%s"
                                 : "strip: share kept by %s%s%s", method,
                 v->a->joint ? ", jointly" : "",
                 !levels ? "" : ascii ? ", + level" : ", ▒ level");
}

void kr_draw_contract(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    const kr_facts *f = &a->f;
    bool counts = kr_calib_meta_of(a->calib)->kind == KR_KIND_COUNTS;
    char note[160];
    strip_words(v, note, sizeof note);
    kr_rect in = kr_view_pane(v, r, "contract", f->strip_n > 0 ? note : NULL);
    for (int i = 0; i < KR_FIELDS; i++) {
        kr_canvas_str(v->c, in, 0, i, i == a->field ? KR_ROLE_TITLE : KR_ROLE_DIM,
                      kr_field_name((kr_field)i));
        draw_value(v, in, VALUE_X - 1, i, (kr_field)i);
        if (f->strip_n == 0)
            continue;
        if (counts && i == KR_FIELD_TOLERANCE) {
            kr_canvas_str(v->c, in, STRIP_X, i, KR_ROLE_DIM,
                          "fixed: published at this tolerance only");
            continue;
        }
        strip_ends(v, in, i, (kr_field)i, f->strip_n);
        kr_strip(v->c, in, STRIP_X, i, f->strip_n, f->strip[i], f->strip_mark[i], i == a->field);
    }
    if (in.h > KR_FIELDS + 1) {
        char summary[256];
        kr_contract_summary(a, summary, sizeof summary);
        kr_canvas_field(v->c, in, 0, in.h - 1, in.w, KR_LEFT, KR_ROLE_DIM, summary);
    }
}

void kr_draw_line(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    int x = 1;
    for (int i = 0; i < KR_FIELDS; i++) {
        char text[40];
        bool focused = i == a->field;
        kr_value_fit((kr_field)i, kr_field_get(a, (kr_field)i), kr_value_room(a), text);
        x += kr_canvas_text(v->c, r, x, 0, focused ? KR_ROLE_TITLE : KR_ROLE_DIM, "%s ",
                            kr_field_name((kr_field)i));
        kr_canvas_str(v->c, r, x, 0, KR_ROLE_KEY, focused ? "▸" : " ");
        if (focused && a->on_field && a->screen != KR_SCREEN_MAP)
            kr_view_cursor(v, r, x + 1, 0);
        x += 1 + kr_canvas_str(v->c, r, x + 1, 0, focused ? KR_ROLE_FOCUS : KR_ROLE_VALUE, text);
        kr_canvas_str(v->c, r, x, 0, KR_ROLE_KEY, focused ? "◂" : " ");
        x += r.w >= 76 ? 3 : 2;
    }
    char most[64];
    long long k = kr_analysis_max_events(a->an), n = kr_analysis_n(a->an);
    if (a->screen == KR_SCREEN_CLAIMS) /* every claim has its own count; whose they are is said here */
        snprintf(most, sizeof most, "%.40s", kr_text_short(kr_calib_method(a->calib, a->method)->name, 40).s);
    else
        snprintf(most, sizeof most, k < 0 ? "n=%lld is too small" : "at most %lld of %lld",
                 k < 0 ? n : k, n);
    int w = kr_text_width(most);
    if (x + w < r.w)
        kr_canvas_str(v->c, r, r.w - 1 - w, 0, KR_ROLE_DIM, most);
}

/* --- verdict ---------------------------------------------------------------------------------- */

static const kr_line *line_of(const kr_app *a) { return kr_analysis_line(a->an, a->method); }

static const char *status_words(const kr_line *l) {
    switch (l->status) {
    case KR_ST_CANNOT_CERTIFY: return "N TOO SMALL, full KV";
    case KR_ST_UNDECIDED: return "UNDECIDED, full KV";
    case KR_ST_REFUSED: return "REFUSED, full KV";
    case KR_ST_OK: break;
    }
    return "FALLBACK to full KV";
}

/* The method's name in capitals, cut to `room` columns. */
static void capital_name(const kr_app *a, int room, char out[160]) {
    const char *s = kr_calib_method(a->calib, a->method)->name;
    bool whole = kr_text_width(s) <= room;
    size_t at = 0;
    int used = 0;
    while (*s != '\0' && at < 120) {
        char part[32];
        uint32_t cp;
        int n = kr_text_next(s, &cp);
        snprintf(part, sizeof part, "%.*s", n, s);
        if (!whole && used + kr_text_width(part) > room - 1)
            break;
        used += kr_text_width(part);
        at += (size_t)snprintf(out + at, 160 - at, "%s", part);
        s += n;
    }
    for (size_t i = 0; i < at; i++)
        out[i] = (char)toupper((unsigned char)out[i]);
    snprintf(out + at, 160 - at, "%s", *s != '\0' ? "…" : "");
}

void kr_headline(const kr_app *a, int room, char *out, size_t cap, kr_role *role) {
    enum { SHORTEST_NAME = 4 };
    const kr_line *l = line_of(a);
    char level[32], name[160], verdict[96];
    bool what_if = kr_analysis_line_state(a->an, a->method) == KR_STATE_WHAT_IF;
    kr_level_label(a, a->method, l->certified, level);
    if (l->certified >= 0)
        snprintf(verdict, sizeof verdict, "  ✔ %sCERTIFIED at %s", what_if ? "WHAT-IF: " : "", level);
    else
        snprintf(verdict, sizeof verdict, "  ✘ %s%s", status_words(l), what_if ? "  WHAT-IF" : "");
    room -= kr_text_width(verdict);
    capital_name(a, room > SHORTEST_NAME ? room : SHORTEST_NAME, name);
    snprintf(out, cap, "%s%s", name, verdict);
    *role = l->certified >= 0 ? KR_ROLE_CERT : KR_ROLE_FALL;
}

static void empirical_words(const kr_app *a, char *out, size_t cap) {
    char level[32];
    kr_level_label(a, a->method, line_of(a)->empirical, level);
    snprintf(out, cap, "empirical %s, no guarantee", line_of(a)->empirical < 0 ? "full KV" : level);
}

static void empirical_short(const kr_app *a, char *out, size_t cap) {
    char level[32];
    kr_level_label(a, a->method, line_of(a)->empirical, level);
    snprintf(out, cap, "emp %s, no guarantee", level);
}

/* "stops at 60 %: 24 events, at most 20 pass". */
static void stop_words(const kr_app *a, char *out, size_t cap) {
    const kr_line *l = line_of(a);
    char level[32];
    long long most = l->max_events;
    if (l->stopped < 0) {
        snprintf(out, cap, l->status == KR_ST_OK ? "every level passed" : "no level was tested");
        return;
    }
    kr_level_label(a, a->method, l->stopped, level);
    if (l->stopped_events < 0)
        snprintf(out, cap, "stops at %s", level);
    else if (most < 0)
        snprintf(out, cap, "stops at %s: no count passes at this n", level);
    else
        snprintf(out, cap, "stops at %s: %lld events > %lld", level, (long long)l->stopped_events,
                 most);
}

static void keep_words(const kr_app *a, char *out, size_t cap, int room) {
    const kr_line *l = line_of(a);
    double share = kr_share_kept(a->calib, a->method, l->certified), mean, lo, hi;
    if (l->certified < 0 || !isfinite(share)) {
        stop_words(a, out, cap);
        return;
    }
    size_t policy = kr_calib_method(a->calib, a->method)->first + (size_t)l->certified;
    const kr_policy *p = kr_calib_policy(a->calib, policy);
    int used = snprintf(out, cap, "keeps %.4g %% of KV, %.1f× smaller", 100 * share, 1 / share);
    char more[80] = "";
    if (kr_calib_realised(a->calib, policy, &mean, &lo, &hi))
        snprintf(more, sizeof more, "; realised %.1f %%, %.1f to %.1f", 100 * mean, 100 * lo,
                 100 * hi);
    else if (p->has_mean)
        snprintf(more, sizeof more, "; mean %.1f %%", 100 * kr_dec_double(p->mean_retained));
    if (kr_text_width(out) + kr_text_width(more) <= room)
        snprintf(out + used, cap - (size_t)used, "%s", more);
}

static void draw_headline(kr_view *v, kr_rect r, int x, int y) {
    char head[KR_HEADLINE];
    kr_role role;
    kr_headline(v->a, r.w - x, head, sizeof head, &role);
    kr_canvas_field(v->c, r, x, y, r.w - x, KR_LEFT, role, head);
}

void kr_draw_verdict(kr_view *v, kr_rect r) {
    char text[200];
    if (r.h == 1) {
        char head[KR_HEADLINE];
        kr_role role;
        kr_headline(v->a, r.w - 2, head, sizeof head, &role);
        int w = kr_canvas_str(v->c, r, 1, 0, role, head);
        empirical_words(v->a, text, sizeof text);
        if (w + 4 + kr_text_width(text) < r.w)
            kr_canvas_str(v->c, r, w + 4, 0, KR_ROLE_EMP, text);
        return;
    }
    kr_rect in = kr_view_pane(v, r, "verdict",
                              kr_state_name(kr_analysis_line_state(v->a->an, v->a->method)));
    draw_headline(v, in, 0, 0);
    keep_words(v->a, text, sizeof text, in.w);
    kr_canvas_field(v->c, in, 0, 1, in.w, KR_LEFT, KR_ROLE_VALUE, text);
    empirical_words(v->a, text, sizeof text);
    kr_canvas_field(v->c, in, 0, 2, in.w, KR_LEFT, KR_ROLE_EMP, text);
}

/* "= 0.0113", "< 1e-4". */
static void p_words(double p, char out[24]) {
    char s[16];
    kr_p_text(p, s);
    snprintf(out, 24, "%s %s", s[0] == '<' ? "<" : "=", s[0] == '<' ? s + 1 : s);
}

static void draw_p_line(kr_view *v, kr_rect in, int y) {
    const kr_line *l = line_of(v->a);
    const kr_candidate_row *k = &v->a->f.method_rows[v->a->method];
    char p[24], text[200], stop[100];
    if (y >= in.h || (l->certified < 0 && l->stopped < 0))
        return;
    stop_words(v->a, stop, sizeof stop);
    if (l->certified < 0) {
        kr_canvas_field(v->c, in, 0, y, in.w, KR_LEFT, KR_ROLE_DIM, stop);
        return;
    }
    p_words(k->p_value, p);
    snprintf(text, sizeof text, "k = %lld   p %s   upper %.2f %% (pointwise)   %s",
             (long long)k->events, p, 100 * k->upper_bound, stop);
    if (kr_text_width(text) > in.w)
        snprintf(text, sizeof text, "p %s   upper %.1f %% (pointwise)", p, 100 * k->upper_bound);
    kr_canvas_field(v->c, in, 0, y, in.w, KR_LEFT, KR_ROLE_DIM, text);
}

/* The headline and the empirical level beside it as a title and note of a frame of w columns: the
 * note is shortened first, then the name, then the note goes. */
static kr_role title_words(const kr_app *a, int w, char head[KR_HEADLINE], char emp[100]) {
    enum { FRAME = 6, GAP = 3, NAME = 8 };
    kr_role role;
    int room = w - FRAME;
    kr_headline(a, 1000, head, KR_HEADLINE, &role);
    empirical_words(a, emp, 100);
    if (kr_text_width(head) + GAP + kr_text_width(emp) > room)
        empirical_short(a, emp, 100);
    int name = kr_text_width(kr_calib_method(a->calib, a->method)->name);
    int left = room - GAP - kr_text_width(emp) - kr_text_width(head) + name;
    if (left < (name < NAME ? name : NAME))
        emp[0] = '\0';
    kr_headline(a, emp[0] != '\0' ? room - GAP - kr_text_width(emp) : room, head, KR_HEADLINE, &role);
    return role;
}

static void draw_point(kr_view *v, kr_rect r) {
    const kr_saved_point *p = &v->a->saved[v->a->points.at];
    kr_rect in = kr_view_pane(v, r, "the point", kr_state_name(p->state));
    int used = kr_canvas_wrap(v->c, in, KR_ROLE_TEXT, p->statement);
    kr_canvas_text(v->c, in, 0, used, KR_ROLE_DIM, "note: %s",
                   p->note[0] != '\0' ? p->note : "none; e writes one");
}

/* Where there is no pane for the verdict, its headline is this pane's title. */
void kr_draw_statement(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    const kr_layout *l = &a->lay;
    char head[KR_HEADLINE], emp[100];
    bool alone = l->pane[KR_PANE_VERDICT].w == 0;
    const char *text = kr_buf_text(&a->f.statement);
    if (a->screen == KR_SCREEN_POINTS) {
        draw_point(v, r);
        return;
    }
    kr_role role = title_words(a, l->box.w > 0 ? l->box.w : r.w, head, emp);
    kr_rect in = kr_view_pane(v, r, alone ? head : "statement", alone && emp[0] != '\0' ? emp : NULL);
    if (alone && l->step > KR_STEP_SMALL) {
        int y = l->box.w > 0 ? in.y - 1 : r.y, x = (l->box.w > 0 ? l->box.x : r.x) + 3;
        kr_canvas_role(v->c, (kr_rect){x, y, kr_text_width(head), 1}, role);
    }
    int used = kr_canvas_wrap(v->c, in, KR_ROLE_TEXT, text);
    if (used > in.h)
        kr_canvas_str(v->c, in, in.w - 5, in.h - 1, KR_ROLE_KEY, " … i");
    draw_p_line(v, in, used);
}

/* --- methods ---------------------------------------------------------------------------------- */

/* "65%", "thr 0.0005", and where that is too wide "t5e-4". */
static void level_short(const kr_app *a, size_t m, int candidate, bool brief, char out[32]) {
    kr_level_label(a, m, candidate, out);
    char *unit = strstr(out, " %"), power[40];
    if (unit != NULL)
        strcpy(unit, "%");
    if (!brief || strncmp(out, "thr ", 4) != 0)
        return;
    size_t policy = kr_calib_method(a->calib, m)->first + (size_t)candidate;
    kr_power_text(kr_calib_policy(a->calib, policy)->threshold, power);
    snprintf(out, 32, "t%.28s", power);
}

/* "60%: 24 > 20"; brief: "60%: 24>20". */
static void stopped_text(const kr_app *a, size_t m, bool brief, char out[48]) {
    const kr_line *l = kr_analysis_line(a->an, m);
    char level[32], counts[48];
    if (l->status == KR_ST_REFUSED || l->status == KR_ST_CANNOT_CERTIFY) {
        snprintf(out, 48, l->status == KR_ST_REFUSED ? "refused" : "n too small");
        return;
    }
    if (l->stopped < 0) {
        snprintf(out, 48, "no, all pass");
        return;
    }
    level_short(a, m, l->stopped, brief, level);
    if (l->status == KR_ST_UNDECIDED)
        snprintf(out, 48, "%s: undecided", level);
    else if (l->stopped_events < 0)
        snprintf(out, 48, "%s: no count", level);
    else {
        snprintf(counts, sizeof counts, brief ? "%lld>%lld" : "%lld > %lld",
                 (long long)l->stopped_events, (long long)l->max_events);
        snprintf(out, 48, "%.14s: %.31s", level, counts);
    }
}

typedef struct {
    int name, cert, emp, k, rate, upper, p, bar, stop; /* columns; 0: not shown */
    bool brief; /* levels and counts in their shortest form */
} method_columns;

static int longer(int w, const char *s, int gap) {
    int n = kr_text_width(s) + gap;
    return n > w ? n : w;
}

/* Digits of the largest count of events that is shown. */
static int longest_count(const kr_app *a) {
    int64_t most = 0;
    for (size_t m = 0; m < kr_calib_methods(a->calib); m++)
        if (kr_analysis_line(a->an, m)->certified >= 0 && a->f.method_rows[m].events > most)
            most = a->f.method_rows[m].events;
    return snprintf(NULL, 0, "%lld", (long long)most);
}

/* What the levels and the reasons need. */
static method_columns level_columns(const kr_app *a, int w, bool brief) {
    method_columns c = {.cert = 5, .emp = 5, .stop = 12, .brief = brief};
    for (size_t m = 0; m < kr_calib_methods(a->calib); m++) {
        char s[48];
        stopped_text(a, m, brief, s);
        c.stop = longer(c.stop, s, 2);
        level_short(a, m, kr_analysis_line(a->an, m)->certified, brief, s);
        c.cert = longer(c.cert, s, 1);
        level_short(a, m, kr_analysis_line(a->an, m)->empirical, brief, s);
        c.emp = longer(c.emp, s, 1);
    }
    if (w >= 70) {
        c.cert++;
        c.emp++;
    }
    return c;
}

static method_columns fit_methods(const kr_app *a, int w) {
    enum { SHORTEST_NAME = 15 };
    int longest = 6;
    for (size_t m = 0; m < kr_calib_methods(a->calib); m++) {
        int n = kr_text_width(kr_calib_method(a->calib, m)->name);
        longest = n > longest ? n : longest;
    }
    longest = longest > 28 ? 28 : longest + 1;
    method_columns c = level_columns(a, w, false);
    if (w - 2 - longest - c.cert - c.emp < c.stop)
        c = level_columns(a, w, true);
    int name = w - 2 - c.cert - c.emp - c.stop; /* a cut name is less lost than the reason */
    if (name < longest && name >= SHORTEST_NAME)
        longest = name;
    if (name < longest)
        c.stop = 0;
    int room = w - 2 - longest - c.cert - c.emp - c.stop;
    int *const more[] = {&c.k, &c.p, &c.rate, &c.upper, &c.bar};
    const int need[] = {longest_count(a) > 4 ? longest_count(a) + 2 : 6, 8, 8, 8, 12};
    for (size_t i = 0; i < 5 && room >= need[i]; i++) {
        *more[i] = need[i];
        room -= need[i];
    }
    if (c.bar > 0 && room > 0)
        c.bar += room > 28 ? 28 : room;
    c.name = w - 2 - c.cert - c.emp - c.stop - c.k - c.rate - c.upper - c.p - c.bar;
    if (c.name > longest + 3)
        c.name = longest + 3;
    return c;
}

static void methods_header(kr_view *v, kr_rect in, const method_columns *c) {
    int x = kr_view_head(v, in, 2, c->name, KR_LEFT, "method");
    const struct {
        int w;
        const char *s;
    } right[] = {{c->cert, "cert"}, {c->emp, "emp"},     {c->k, "k"},
                 {c->rate, "rate"}, {c->upper, "upper"}, {c->p, "p"}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        x = kr_view_head(v, in, x, right[i].w, KR_RIGHT, right[i].s);
    x = kr_view_head(v, in, x + 2, c->stop - 2, KR_LEFT, "stopped at");
    kr_view_head(v, in, x + 1, c->bar, KR_LEFT, "share kept");
}

static int number(kr_view *v, kr_rect in, int x, int y, int w, kr_role role, const char *fmt,
                  double value) {
    char s[32];
    if (w > 0) {
        snprintf(s, sizeof s, "%.*f%s", fmt[0] - '0', value, fmt + 1);
        kr_canvas_field(v->c, in, x, y, w, KR_RIGHT, role, isfinite(value) ? s : "-");
    }
    return x + w;
}

static void method_row(kr_view *v, kr_rect in, int y, size_t m, const method_columns *c) {
    kr_app *a = v->a;
    const kr_line *l = kr_analysis_line(a->an, m);
    const kr_candidate_row *k = &a->f.method_rows[m];
    bool good = l->certified >= 0; /* numbers of the candidate that is used; full KV has none */
    kr_role role = good ? KR_ROLE_CERT : KR_ROLE_FALL, plain = good ? KR_ROLE_TEXT : KR_ROLE_DIM;
    char s[48], p[16];
    int x = 2;
    kr_canvas_field(v->c, in, 0, y, 2, KR_LEFT, KR_ROLE_KEY, m == a->method ? "▸" : "");
    kr_canvas_field(v->c, in, x, y, c->name - 1, KR_LEFT,
                    m == a->method ? KR_ROLE_TITLE : KR_ROLE_TEXT,
                    kr_calib_method(a->calib, m)->name);
    x += c->name;
    level_short(a, m, l->certified, c->brief, s);
    kr_canvas_field(v->c, in, x, y, c->cert, KR_RIGHT, role, s);
    x += c->cert;
    level_short(a, m, l->empirical, c->brief, s);
    kr_canvas_field(v->c, in, x, y, c->emp, KR_RIGHT, KR_ROLE_EMP, s);
    x += c->emp;
    x = number(v, in, x, y, c->k, plain, "0", good ? (double)k->events : NAN);
    x = number(v, in, x, y, c->rate, plain, "2%", good ? 100 * k->rate : NAN);
    x = number(v, in, x, y, c->upper, plain, "2%", good ? 100 * k->upper_bound : NAN);
    kr_p_text(good ? k->p_value : NAN, p);
    kr_canvas_field(v->c, in, x, y, c->p, KR_RIGHT, plain, p);
    x += c->p;
    stopped_text(a, m, c->brief, s);
    kr_canvas_field(v->c, in, x + 2, y, c->stop - 2, KR_LEFT, KR_ROLE_DIM, s);
    if (c->bar > 2)
        kr_bar(v->c, in, x + c->stop + 1, y, c->bar - 2, kr_share_kept(a->calib, m, l->certified),
               role);
}

/* On the lower edge of the frame, so that it is never scrolled away. */
static void choice_note(kr_view *v, kr_rect r) {
    const kr_app *a = v->a;
    const kr_calib_meta *m = kr_calib_meta_of(a->calib);
    kr_rect frame = a->lay.box.w > 0 ? a->lay.box : r;
    char s[128];
    if (kr_calib_methods(a->calib) < 2 || a->lay.step == KR_STEP_SMALL)
        return;
    if (kr_analysis_family(a->an) && kr_analysis_home_info(a->an)->family)
        snprintf(s, sizeof s, "%s", frame.w >= 64 ? " one family: choosing among methods is covered "
                                                  : " one family: choice covered ");
    else if (kr_analysis_family(a->an))
        snprintf(s, sizeof s, "%s",
                 frame.w >= 76 ? " one family, not declared before looking: a choice among methods explores "
                               : " undeclared family: a choice explores ");
    else if (m->contract_method != NULL)
        snprintf(s, sizeof s, " declared for %.40s; others explore ",
                 kr_text_short(m->contract_method, frame.w < 76 ? 12 : 40).s);
    else
        snprintf(s, sizeof s, "%s",
                 frame.w >= 64 ? " each line alone; choosing among methods is not covered "
                               : " each line alone; choice not covered ");
    if (kr_text_width(s) + 6 <= frame.w)
        kr_canvas_str(v->c, frame, 2, frame.h - 1, KR_ROLE_DIM, s);
}

void kr_draw_methods(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    static const char *const sorts[] = {"certified", "file", "name", "empirical", "rate"};
    char title[200], note[80];
    snprintf(title, sizeof title, "methods%s%s", a->methods.filter[0] != '\0' ? " with " : "",
             a->methods.filter);
    snprintf(note, sizeof note, "%% of KV kept, by %s%s", sorts[a->methods.sort],
             a->methods.reverse ? ", reversed" : "");
    /* In a shared frame the heads stand on its line, which leaves a row more for methods. */
    bool shared = a->lay.box.w > 0;
    kr_rect in = kr_view_pane(v, r, shared ? NULL : title, shared ? NULL : note);
    choice_note(v, r);
    method_columns c = fit_methods(a, in.w);
    kr_rect list = shared ? in : (kr_rect){in.x, in.y + 1, in.w, in.h - 1};
    methods_header(v, (kr_rect){list.x, list.y - 1, list.w, 1}, &c);
    if (list.h < 1)
        return;
    if (a->methods.n == 0)
        kr_canvas_str(v->c, list, 2, 0, KR_ROLE_DIM, "no method matches the filter; Esc clears it");
    a->methods.top = kr_list_top((int)a->methods.n, list.h, a->methods.at, a->methods.top);
    for (int y = 0; y < list.h && a->methods.top + y < (int)a->methods.n; y++) {
        size_t m = a->methods.order[a->methods.top + y];
        method_row(v, list, y, m, &c);
        if (m == a->method) {
            kr_canvas_pick(v->c, (kr_rect){list.x, list.y + y, list.w, 1});
            if (a->screen == KR_SCREEN_MAIN)
                kr_view_cursor(v, list, 0, y);
        }
    }
    kr_view_scroll(v, list, (int)a->methods.n, a->methods.top);
}
