/* How many requests: power over their number, the table, the price of choices after looking, and what
 * each method's next candidate waits for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "risk/binomial.h"
#include "ui/pages.h"
#include "ui/plot.h"
#include "verdict/planning.h"

enum { CURVES = 5, POINTS = 240, PRICED = 3, RISKS = 80 };
static const size_t curve_row[CURVES] = {1, 3, 5, 4, 0};  /* rows of the table, the plainest first */
static const size_t priced_row[PRICED] = {1, 3, 5};
static const double wanted_power = 0.8;

struct kr_plan_page {
    kr_contract contract; /* what it was counted for */
    bool family;
    size_t method;
    kr_status status;
    kr_error err;
    kr_level level;
    int64_t n, step, least;
    kr_planning_row rows[KR_PLANNING_ROWS];
    kr_planning_choice choice[KR_PLANNING_CHOICES];
    int64_t priced[KR_PLANNING_CHOICES][PRICED]; /* stable sizes */
    kr_planning_next *next; /* [methods] */
    size_t points;
    double x[POINTS], power[CURVES][POINTS];
    double risk[RISKS], now[RISKS], twice[RISKS]; /* power of what is there, and of twice as many */
};
typedef struct kr_plan_page page;

const char *kr_thousands(int64_t v, char out[32]) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)v), k = 0;
    for (int i = 0; i < n; i++) {
        out[k++] = digits[i];
        if ((n - i) % 3 == 1 && i + 1 < n && digits[i] != '-')
            out[k++] = ',';
    }
    out[k] = '\0';
    return out;
}

/* --- numbers ---------------------------------------------------------------------------------- */

void kr_plan_forget(kr_app *a) {
    if (a->plan != NULL)
        free(a->plan->next);
    free(a->plan);
    a->plan = NULL;
}

/* Past what 70 % of the target needs, and past what is there unless that is far more. */
static int64_t axis_end(const page *p) {
    int64_t need = p->rows[4].needed.stable, most = KR_BINOM_N_MAX / p->step * p->step;
    int64_t end = need > 0 ? need + need / 4 : p->least > 0 ? 8 * p->least : most;
    if (end < p->n + p->n / 2 && p->n <= 4 * end)
        end = p->n + p->n / 2;
    end = end / p->step * p->step;
    return end < 2 * p->step ? 2 * p->step : end > most ? most : end;
}

static void count_curves(page *p) {
    int64_t end = axis_end(p), last = 0;
    size_t want = end > 10000000 ? POINTS / 6 : POINTS; /* a tail takes longer there */
    p->points = 0;
    for (size_t i = 0; i < want; i++) {
        int64_t n = p->step + (int64_t)((double)(end - p->step) * (double)i / (double)(want - 1));
        n = n / p->step * p->step;
        if (n <= last)
            continue;
        last = n;
        int64_t kmax = kr_kmax(n, p->contract.risk, p->level);
        p->x[p->points] = (double)n;
        for (size_t k = 0; k < CURVES; k++)
            p->power[k][p->points] = kr_plan_power(n, kmax, p->rows[curve_row[k]].risk);
        p->points++;
    }
}

static void count_risks(page *p) {
    double end = 1.1 * kr_dec_double(p->contract.risk);
    int64_t twice = p->n <= KR_BINOM_N_MAX / 2 ? 2 * p->n : KR_BINOM_N_MAX;
    int64_t now_max = kr_kmax(p->n, p->contract.risk, p->level), twice_max = kr_kmax(twice, p->contract.risk, p->level);
    for (int i = 0; i < RISKS; i++) {
        p->risk[i] = end * i / (RISKS - 1);
        p->now[i] = kr_plan_power(p->n, now_max, p->risk[i]);
        p->twice[i] = kr_plan_power(twice, twice_max, p->risk[i]);
    }
}

static void count_all(kr_app *a, page *p) {
    p->level = kr_analysis_level(a->an);
    p->n = kr_analysis_n(a->an);
    p->step = kr_planning_step(a->an);
    p->least = kr_planning_least(p->contract.risk, p->level, p->step);
    p->status = kr_planning_table(p->contract.risk, p->level, p->n, p->step, wanted_power, p->rows, &p->err);
    if (p->status != KR_OK)
        return;
    kr_planning_choices(a->an, a->method, p->choice);
    for (size_t i = 0; i < KR_PLANNING_CHOICES; i++)
        for (size_t k = 0; k < PRICED; k++) {
            kr_plan_size s = {.stable = -1};
            kr_plan_needed(p->rows[priced_row[k]].risk, wanted_power, p->contract.risk, p->choice[i].level,
                           p->step, KR_BINOM_N_MAX, &s, NULL);
            p->priced[i][k] = s.stable;
        }
    for (size_t m = 0; m < kr_calib_methods(a->calib); m++) {
        p->next[m] = (kr_planning_next){-1, -1, 0};
        kr_planning_next_at(a->an, m, NULL, &p->next[m], NULL);
    }
    count_curves(p);
    count_risks(p);
}

static bool same(kr_dec x, kr_dec y) { return kr_dec_cmp(x, y) == 0; }

void kr_plan_refresh(kr_app *a) {
    kr_contract k = kr_analysis_contract(a->an);
    bool family = kr_analysis_family(a->an);
    if (a->screen != KR_SCREEN_PLAN)
        return;
    page *p = a->plan;
    if (p != NULL && p->method == a->method && p->family == family && same(k.tolerance, p->contract.tolerance) &&
        same(k.risk, p->contract.risk) && same(k.confidence, p->contract.confidence))
        return;
    kr_plan_forget(a);
    p = calloc(1, sizeof *p);
    if (p != NULL)
        p->next = calloc(kr_calib_methods(a->calib), sizeof *p->next);
    if (p == NULL || p->next == NULL) {
        free(p);
        return;
    }
    p->contract = k;
    p->family = family;
    p->method = a->method;
    count_all(a, p);
    a->plan = p;
}

/* --- text ------------------------------------------------------------------------------------- */

static void size_text(int64_t n, char out[32]) {
    if (n >= 0)
        kr_thousands(n, out);
    else
        snprintf(out, 32, "> 1e9");
}

static void risk_text(double risk, char out[32]) {
    char s[32];
    kr_number_text(100 * risk, risk < 1e-4 ? 6 : risk < 1e-3 ? 4 : 2, 8, s);
    snprintf(out, 32, "%.24s %%", s);
}

static void level_words(const kr_level l, char out[64]) {
    char num[KR_DEC_TEXT];
    if (l.den == 1)
        snprintf(out, 64, "%.40s", kr_dec_text(l.num, num));
    else
        snprintf(out, 64, "%.40s/%lld", kr_dec_text(l.num, num), (long long)l.den);
}

static void put(kr_view *v, kr_rect r, int x, int y, int w, kr_align align, kr_role role, const char *s) {
    kr_canvas_field(v->c, r, x, y, w, align, role, s);
}

/* --- the table -------------------------------------------------------------------------------- */

static void table_row(kr_view *v, kr_rect in, int y, const kr_planning_row *row) {
    char s[32];
    risk_text(row->risk, s);
    put(v, in, 0, y, 11, KR_RIGHT, KR_ROLE_VALUE, s);
    size_text(row->needed.first, s);
    put(v, in, 11, y, 12, KR_RIGHT, KR_ROLE_DIM, s);
    size_text(row->needed.stable, s);
    put(v, in, 23, y, 12, KR_RIGHT, KR_ROLE_TEXT, s);
    if (!isfinite(row->power_now))
        return;
    snprintf(s, sizeof s, "%5.1f %%", 100 * row->power_now);
    bool enough = row->power_now >= wanted_power;
    put(v, in, 37, y, 8, KR_RIGHT, enough ? KR_ROLE_CERT : KR_ROLE_TEXT, s);
    kr_bar(v->c, in, 47, y, in.w - 48 < 40 ? in.w - 48 : 40, row->power_now, enough ? KR_ROLE_CERT : KR_ROLE_CURVE);
}

static void draw_table(kr_view *v, kr_rect r, const page *p) {
    char note[96], s[240], least[32], n[32];
    kr_rect in = kr_view_pane(v, r, "requests needed", "to be certified with probability 80 %");
    snprintf(note, sizeof note, "with the %s there", kr_thousands(p->n, n));
    put(v, in, 0, 0, 11, KR_RIGHT, KR_ROLE_DIM, "true risk");
    put(v, in, 11, 0, 12, KR_RIGHT, KR_ROLE_DIM, "first n");
    put(v, in, 23, 0, 12, KR_RIGHT, KR_ROLE_DIM, "stable n");
    put(v, in, 38, 0, in.w - 38, KR_LEFT, KR_ROLE_DIM, note);
    for (int i = 0; i < KR_PLANNING_ROWS; i++)
        table_row(v, in, i + 1, &p->rows[i]);
    size_text(p->least, least);
    snprintf(s, sizeof s, "At least %s, with no event at all; in multiples of %lld. First: smallest that reaches "
                          "it; stable: from there on every one does. Unequal task risks can only help.",
             least, (long long)p->step);
    if (in.h > KR_PLANNING_ROWS + 1)
        kr_canvas_wrap(v->c, (kr_rect){in.x, in.y + KR_PLANNING_ROWS + 1 + (in.h > 11), in.w,
                                       in.h - KR_PLANNING_ROWS - 1 - (in.h > 11)}, KR_ROLE_DIM, s);
}

/* --- the curves ------------------------------------------------------------------------------- */

enum { AXIS = 7 }; /* columns left of a plot's area */

static int column_of(const page *p, kr_rect in, double n) {
    double span = p->x[p->points - 1] - p->x[0];
    return AXIS + (int)lround((n - p->x[0]) / span * (in.w - AXIS - 1));
}

static bool blank(kr_view *v, kr_rect in, int x, int y, int w) {
    for (int i = 0; i < w; i++) {
        const kr_cell *c = kr_canvas_at(v->c, in.x + x + i, in.y + y);
        if (x + i >= in.w || c == NULL || (c->cp != ' ' && c->cp != 0x254c && c->cp != '-'))
            return false;
    }
    return true;
}

/* Right of the curve, where nothing stands yet. */
static void label_curve(kr_view *v, kr_rect in, const page *p, size_t k) {
    static const double height[] = {0.55, 0.7, 0.4, 0.85, 0.25, 0.92};
    char s[32];
    int h = in.h - 2;
    risk_text(p->rows[curve_row[k]].risk, s);
    int w = kr_text_width(s);
    for (size_t t = 0; t < sizeof height / sizeof *height; t++) {
        size_t i = 0;
        while (i + 1 < p->points && p->power[k][i] < height[t])
            i++;
        int y = (int)lround((1 - p->power[k][i]) * (h - 1)), from = column_of(p, in, p->x[i]) + 2;
        for (int x = from; x < from + 9 && x + w < in.w && p->power[k][i] >= height[t]; x++)
            if (y > 0 && blank(v, in, x - 1, y, w + 2)) {
                kr_canvas_str(v->c, in, x, y, KR_ROLE_VALUE, s);
                return;
            }
    }
}

static void mark_present(kr_view *v, kr_rect in, const page *p) {
    char s[64], n[32];
    double at = (double)p->n;
    snprintf(s, sizeof s, "now %s", kr_thousands(p->n, n));
    if (at < p->x[0] || at > p->x[p->points - 1]) {
        if (at > 0)
            put(v, in, in.w - 32, in.h - 3, 32, KR_RIGHT, KR_ROLE_TITLE, strcat(s, " →"));
        return;
    }
    int x = column_of(p, in, at);
    for (int y = 0; y < in.h - 2; y++)
        if (blank(v, in, x, y, 1))
            kr_canvas_put(v->c, in, x, y, KR_ROLE_TITLE, 0x250a);
    int w = kr_text_width(s);
    if (blank(v, in, x + 1, in.h - 3, w + 1))
        kr_canvas_str(v->c, in, x + 1, in.h - 3, KR_ROLE_TITLE, s);
}

static void draw_curves(kr_view *v, kr_rect r, const page *p) {
    char note[96], level[64];
    level_words(p->level, level);
    snprintf(note, sizeof note, "by true risk, at error level %s", level);
    kr_rect in = kr_view_pane(v, r, "probability of being certified, by requests", note);
    size_t shown = in.w >= 80 && in.h >= 16 ? CURVES : 3;
    if (p->points < 2 || in.w < 30 || in.h < 7)
        return;
    for (size_t k = 0; k < shown; k++) {
        kr_plot plot = {.n = p->points, .x = p->x, .rate = p->power[k], .target = k == 0 ? wanted_power : 2,
                        .cert = NAN, .emp = NAN, .focus = NAN, .ymax = 1, .x_scale = 1};
        kr_plot_draw(v->c, in, &plot, v->a->set.alphabet);
    }
    mark_present(v, in, p);
    for (size_t k = 0; k < shown; k++)
        label_curve(v, in, p, k);
}

static void draw_risks(kr_view *v, kr_rect r, const page *p) {
    char title[64], n[32];
    snprintf(title, sizeof title, "power by true risk, with %s", kr_thousands(p->n, n));
    kr_rect in = kr_view_pane(v, r, title, "━ now  ┄ twice as many");
    kr_plot plot = {.n = RISKS, .x = p->risk, .rate = p->now, .upper = p->twice, .target = wanted_power, .cert = NAN,
                    .emp = NAN, .focus = NAN, .ymax = 1, .x_unit = "%", .x_scale = 100};
    kr_plot_draw(v->c, in, &plot, v->a->set.alphabet);
}

/* --- choices ---------------------------------------------------------------------------------- */

static void draw_choices(kr_view *v, kr_rect r, const page *p) {
    char s[96];
    kr_rect in = kr_view_pane(v, r, "the price of choosing after looking", "stable n, by true risk");
    int x = in.w >= 74 ? 34 : 28;
    put(v, in, 0, 0, x, KR_LEFT, KR_ROLE_DIM, "chosen afterwards");
    put(v, in, x, 0, 9, KR_RIGHT, KR_ROLE_DIM, "level");
    for (size_t k = 0; k < PRICED; k++) {
        risk_text(p->rows[priced_row[k]].risk, s);
        put(v, in, x + 9 + 11 * (int)k, 0, 11, KR_RIGHT, KR_ROLE_DIM, s);
    }
    for (int i = 0; i < KR_PLANNING_CHOICES; i++) {
        put(v, in, 0, i + 1, x, KR_LEFT, i == 0 ? KR_ROLE_VALUE : KR_ROLE_TEXT, p->choice[i].text);
        snprintf(s, sizeof s, "%.3g", kr_level_double(p->choice[i].level));
        put(v, in, x, i + 1, 9, KR_RIGHT, KR_ROLE_DIM, s);
        for (size_t k = 0; k < PRICED; k++) {
            size_text(p->priced[i][k], s);
            put(v, in, x + 9 + 11 * (int)k, i + 1, 11, KR_RIGHT, i == 0 ? KR_ROLE_VALUE : KR_ROLE_TEXT, s);
        }
    }
    snprintf(s, sizeof s, "for the sequence of %.40s", kr_text_short(kr_calib_method(v->a->calib, p->method)->name, 40).s);
    put(v, in, 0, KR_PLANNING_CHOICES + 1, in.w, KR_LEFT, KR_ROLE_DIM, s);
}

/* --- next candidates -------------------------------------------------------------------------- */

/* Where the columns of a row begin. */
typedef struct {
    int name, events; /* widths */
    int level, event, rate, more, bar;
} next_columns;

static next_columns fit_next(const page *p, int w) {
    char n[32];
    next_columns c = {.name = w >= 96 ? 22 : w >= 70 ? 17 : 8, .events = 2 * kr_text_width(kr_thousands(p->n, n)) + 5};
    c.events = c.events > 14 ? c.events : 14;
    c.level = c.name + 2;
    c.event = c.level + 10;
    c.rate = c.event + c.events;
    c.more = c.rate + 10;
    c.bar = c.more + 13;
    return c;
}

static void next_row(kr_view *v, kr_rect in, int y, const page *p, const next_columns *c, size_t m) {
    kr_app *a = v->a;
    const kr_planning_next *x = &p->next[m];
    char s[96], n[32], k[32], level[32];
    put(v, in, 0, y, 2, KR_LEFT, KR_ROLE_KEY, m == a->method ? "▸" : "");
    put(v, in, 2, y, c->name, KR_LEFT, KR_ROLE_TEXT, kr_calib_method(a->calib, m)->name);
    if (x->candidate < 0) {
        put(v, in, c->level + 1, y, in.w - c->level - 1, KR_LEFT, KR_ROLE_DIM,
            kr_analysis_line(a->an, m)->status == KR_ST_REFUSED ? "refused: requests depend on each other"
                                                                : "no candidate is waiting");
        return;
    }
    kr_level_label(a, m, x->candidate, level);
    put(v, in, c->level, y, 10, KR_RIGHT, KR_ROLE_VALUE, level);
    snprintf(s, sizeof s, "%s of %s", kr_thousands(x->events, k), kr_thousands(p->n, n));
    put(v, in, c->event, y, c->events, KR_RIGHT, KR_ROLE_TEXT, s);
    snprintf(s, sizeof s, "%.*f %%", p->n < 100000 ? 2 : 4, 100 * (double)x->events / (double)p->n);
    put(v, in, c->rate, y, 10, KR_RIGHT, x->more == KR_PLAN_NEVER ? KR_ROLE_FALL : KR_ROLE_TEXT, s);
    if (x->more < 0) {
        put(v, in, c->more + 2, y, in.w - c->more - 2, KR_LEFT, KR_ROLE_DIM,
            x->more == KR_PLAN_NEVER ? "not below the target" : "more than 1e9");
        return;
    }
    snprintf(s, sizeof s, "+%s", kr_thousands(x->more, n));
    put(v, in, c->more, y, 12, KR_RIGHT, KR_ROLE_VALUE, s);
    int bar = in.w - c->bar - 1 < 60 ? in.w - c->bar - 1 : 60;
    if (bar < 4)
        return;
    for (int i = 0; i < bar; i++)
        kr_canvas_put(v->c, in, c->bar + i, y, KR_ROLE_FRAME, 0xb7);
    kr_bar(v->c, in, c->bar, y, bar, (double)p->n / (double)(p->n + x->more), KR_ROLE_CERT);
}

static void draw_next(kr_view *v, kr_rect r, const page *p) {
    kr_app *a = v->a;
    kr_rect in = kr_view_pane(v, r, "next candidates, if the observed rate stays", "a guess, no claim");
    int methods = (int)kr_calib_methods(a->calib), rows = in.h - 1;
    next_columns c = fit_next(p, in.w);
    put(v, in, 2, 0, c.name, KR_LEFT, KR_ROLE_DIM, "method");
    put(v, in, c.level, 0, 10, KR_RIGHT, KR_ROLE_DIM, "level");
    put(v, in, c.event, 0, c.events, KR_RIGHT, KR_ROLE_DIM, "events");
    put(v, in, c.rate, 0, 10, KR_RIGHT, KR_ROLE_DIM, "rate");
    put(v, in, c.more, 0, 12, KR_RIGHT, KR_ROLE_DIM, "more");
    put(v, in, c.bar, 0, in.w - c.bar, KR_LEFT, KR_ROLE_DIM,
        in.w - c.bar >= 30 ? "what is there of what it needs" : "there of all");
    a->text.n = methods > rows ? (size_t)(methods - rows) : 0;
    if (a->text.at > (int)a->text.n)
        a->text.at = (int)a->text.n;
    kr_rect list = {in.x, in.y + 1, in.w, rows};
    for (int y = 0; y < rows && y + a->text.at < methods; y++)
        next_row(v, list, y, p, &c, (size_t)(y + a->text.at));
    kr_view_scroll(v, list, methods, a->text.at);
    kr_view_cursor(v, list, 0, 0);
}

/* --- the screen ------------------------------------------------------------------------------- */

static kr_rect cut_top(kr_rect *r, int h) {
    kr_rect t = {r->x, r->y, r->w, h};
    r->y += h, r->h -= h;
    return t;
}

static kr_rect cut_left(kr_rect *r, int w) {
    kr_rect t = {r->x, r->y, w, r->h};
    r->x += w, r->w -= w;
    return t;
}

void kr_draw_plan(kr_view *v, kr_rect r) {
    const page *p = v->a->plan;
    int methods = (int)kr_calib_methods(v->a->calib);
    if (p == NULL || p->status != KR_OK) {
        kr_rect in = kr_view_pane(v, r, "plan", NULL);
        kr_canvas_wrap(v->c, in, KR_ROLE_ERROR, p != NULL ? p->err.msg : "out of memory");
        return;
    }
    if (r.w >= 150 && r.h >= 36) { /* the curves beside both tables, the candidates below */
        int list = methods + 3 < r.h / 3 ? methods + 3 : r.h / 3;
        kr_rect top = cut_top(&r, r.h - list), left = cut_left(&top, top.w * 56 / 100);
        draw_curves(v, left, p);
        bool room = top.h >= 2 * KR_PLANNING_ROWS + KR_PLANNING_CHOICES + 4 + 8;
        draw_table(v, cut_top(&top, room ? KR_PLANNING_ROWS + 6 : top.h - KR_PLANNING_CHOICES - 4), p);
        if (room)
            draw_risks(v, cut_top(&top, top.h - KR_PLANNING_CHOICES - 4), p);
        draw_choices(v, top, p);
    } else if (r.w >= 100 && r.h >= KR_PLANNING_ROWS + 3 + 18) {
        int list = methods + 3 < r.h - 21 ? methods + 3 : r.h - 21 > 8 ? r.h - 21 : 8;
        kr_rect top = cut_top(&r, r.h - list), table = cut_top(&top, KR_PLANNING_ROWS + 3);
        draw_table(v, table, p);
        draw_curves(v, top, p);
    } else {
        draw_table(v, cut_top(&r, KR_PLANNING_ROWS + (v->a->lay.step == KR_STEP_SMALL ? 1 : 3)), p);
    }
    draw_next(v, r, p);
}
