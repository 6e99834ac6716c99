/* One method level by level: the walk, its curve, and how the drops of one level are spread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/model.h"

/* --- levels ----------------------------------------------------------------------------------- */

typedef struct {
    int keep, k, rate, upper, p, word, smaller, test_k, test_rate, missing, bar;
} level_columns;

static bool any_test(const kr_facts *f) {
    for (size_t i = 0; i < f->n_levels; i++)
        if (f->levels[i].has_test)
            return true;
    return false;
}

static bool any_missing(const kr_facts *f) {
    for (size_t i = 0; i < f->n_levels; i++)
        if (f->levels[i].missing > 0)
            return true;
    return false;
}

/* w, or what a count with a blank before it takes. */
static int at_least(int w, int64_t count) {
    int need = snprintf(NULL, 0, "%lld", (long long)count) + 1;
    return need > w ? need : w;
}

static level_columns fit_levels(const kr_facts *f, int w, bool adaptive) {
    bool tight = w < 50;
    level_columns c = {
        .keep = adaptive ? 12 : 5, .k = 6, .rate = tight ? 7 : 8, .word = tight ? 10 : 12};
    int64_t most = 0, test = 0;
    for (size_t i = 0; i < f->n_levels; i++) {
        c.k = f->levels[i].events >= 10000 ? 8 : c.k;
        most = f->levels[i].events > most ? f->levels[i].events : most;
        test = f->levels[i].has_test && f->levels[i].test_events > test ? f->levels[i].test_events
                                                                        : test;
    }
    c.k -= tight ? 1 : 0;
    c.k = at_least(c.k, most);
    int room = w - 2 - c.keep - c.k - c.rate - c.word;
    struct {
        int *column, need;
        bool wanted;
    } more[] = {{&c.upper, tight ? 7 : 8, true},
                {&c.p, tight ? 7 : 9, true},
                {&c.missing, at_least(8, most), any_missing(f)},
                {&c.test_k, at_least(8, test), any_test(f)},
                {&c.test_rate, 8, any_test(f)},
                {&c.smaller, 7, true},
                {&c.bar, 12, true}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (more[i].wanted && room >= more[i].need) {
            *more[i].column = more[i].need;
            room -= more[i].need;
        }
    if (c.bar > 0)
        c.bar += room;
    return c;
}

static int put_right(kr_view *v, kr_rect in, int x, int y, int w, kr_role role, const char *s) {
    kr_canvas_field(v->c, in, x, y, w, KR_RIGHT, role, s);
    return x + w;
}

static void levels_header(kr_view *v, kr_rect in, const level_columns *c) {
    int x = 2;
    const struct {
        int w;
        const char *s;
    } heads[] = {{c->keep, "keep"},       {c->smaller, "KV"},    {c->k, "k"},
                 {c->rate, "rate"},       {c->upper, "upper"},   {c->p, "p"},
                 {c->missing, "missing"}, {c->test_k, "test k"}, {c->test_rate, "test"}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        x = put_right(v, in, x, 0, heads[i].w, KR_ROLE_DIM, heads[i].s);
    kr_canvas_field(v->c, in, x + (c->word < 12 ? 1 : 2), 0, c->word - 2, KR_LEFT, KR_ROLE_DIM,
                    "walk");
    if (c->bar > 0)
        kr_canvas_field(v->c, in, x + c->word, 0, c->bar, KR_LEFT, KR_ROLE_DIM, "rate ╎ risk");
}

/* Rate as a bar, with the target's place marked on the same scale. */
static void level_bar(kr_view *v, kr_rect in, int x, int y, int w, const kr_candidate_row *k,
                      double risk) {
    double top = 3 * risk < 1 ? 3 * risk : 1;
    kr_bar(v->c, in, x, y, w, k->rate / top, k->rate > risk ? KR_ROLE_FALL : KR_ROLE_CURVE);
    kr_canvas_put(v->c, in, x + (int)lround(risk / top * (w - 1)), y, KR_ROLE_TARGET, 0x254e);
}

static void level_numbers(kr_view *v, kr_rect in, int y, int i, const level_columns *c,
                          kr_role role) {
    const kr_app *a = v->a;
    const kr_candidate_row *k = &a->f.levels[i];
    double share = a->f.level_share[i];
    char s[32];
    int x = 2 + c->keep;
    snprintf(s, sizeof s, isfinite(share) ? "%.1f×" : "-", 1 / share);
    x = put_right(v, in, x, y, c->smaller, role, s);
    snprintf(s, sizeof s, k->events < 0 ? "-" : "%lld", (long long)k->events);
    x = put_right(v, in, x, y, c->k, role, s);
    snprintf(s, sizeof s, isfinite(k->rate) && k->events >= 0 ? "%.2f%%" : "-", 100 * k->rate);
    x = put_right(v, in, x, y, c->rate, role, s);
    snprintf(s, sizeof s, isfinite(k->upper_bound) ? "%.2f%%" : "-", 100 * k->upper_bound);
    x = put_right(v, in, x, y, c->upper, role, s);
    kr_p_text(k->verdict == KR_VERDICT_UNTESTED ? NAN : k->p_value, s);
    x = put_right(v, in, x, y, c->p, role, s);
    snprintf(s, sizeof s, "%lld", (long long)k->missing);
    x = put_right(v, in, x, y, c->missing, role, s);
    snprintf(s, sizeof s, k->has_test ? "%lld" : "-", (long long)k->test_events);
    x = put_right(v, in, x, y, c->test_k, role, s);
    snprintf(s, sizeof s, k->has_test ? "%.2f%%" : "-", 100 * k->test_rate);
    put_right(v, in, x, y, c->test_rate, role, s);
}

static void level_row(kr_view *v, kr_rect in, int y, int i, const level_columns *c) {
    const kr_app *a = v->a;
    const kr_line *l = kr_analysis_line(a->an, a->method);
    const kr_candidate_row *k = &a->f.levels[i];
    bool untested = k->verdict == KR_VERDICT_UNTESTED;
    char label[32], word[32];
    kr_level_label(a, a->method, i, label);
    char *unit = strstr(label, " %");
    if (unit != NULL)
        strcpy(unit, "%");
    kr_canvas_field(v->c, in, 0, y, 2, KR_LEFT, KR_ROLE_KEY, i == a->level ? "▸" : "");
    put_right(v, in, 2, y, c->keep, untested ? KR_ROLE_DIM : KR_ROLE_VALUE, label);
    level_numbers(v, in, y, i, c, untested ? KR_ROLE_DIM : KR_ROLE_TEXT);
    int x = 2 + c->keep + c->smaller + c->k + c->rate + c->upper + c->p + c->missing + c->test_k +
            c->test_rate + (c->word < 12 ? 1 : 2);
    snprintf(word, sizeof word, "%s",
             k->verdict == KR_VERDICT_PASS   ? "pass"
             : k->verdict == KR_VERDICT_STOP ? "STOP"
                                             : "not run");
    kr_canvas_str(v->c, in, x, y,
                  k->verdict == KR_VERDICT_PASS ? KR_ROLE_CERT
                  : untested                    ? KR_ROLE_DIM
                                                : KR_ROLE_FALL,
                  word);
    x += untested ? 8 : 5;
    if (i == l->certified)
        kr_canvas_put(v->c, in, x, y, KR_ROLE_CERT, 'C');
    if (i == l->empirical)
        kr_canvas_put(v->c, in, x + (untested ? 0 : 1), y, KR_ROLE_EMP, 'E');
    if (c->bar > 4 && k->events >= 0)
        level_bar(v, in, in.w - c->bar, y, c->bar - 1, k,
                  kr_dec_double(kr_analysis_contract(a->an).risk));
}

void kr_draw_levels(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    if (a->screen == KR_SCREEN_TASKS) {
        kr_draw_task_levels(v, r);
        return;
    }
    char title[160];
    snprintf(title, sizeof title, "%s level by level", kr_calib_method(a->calib, a->method)->name);
    bool beside = a->lay.box.w > 0 && a->lay.pane[KR_PANE_PLOT].w > 0;
    kr_rect in =
        kr_view_pane(v, r, title, beside ? NULL : "C certified  E empirical, no guarantee");
    for (int y = 0; beside && y < r.h + 2; y++) {
        const kr_cell *under = kr_canvas_at(v->c, r.x + r.w + 1, a->lay.box.y + y);
        bool edge = y == 0 || y == r.h + 1; /* a text on the frame's line is never cut by it */
        if (edge && (under == NULL || under->role != KR_ROLE_FRAME || under->cp == ' '))
            continue;
        kr_canvas_put(v->c, a->lay.box, r.x + r.w + 1 - a->lay.box.x, y, KR_ROLE_FRAME,
                      y == 0 ? 0x252c : edge ? 0x2534 : 0x2502);
    }
    const kr_policy *p = kr_calib_policy(a->calib, kr_calib_method(a->calib, a->method)->first);
    level_columns c = fit_levels(&a->f, in.w, p->has_threshold || !p->has_retention);
    levels_header(v, in, &c);
    kr_rect list = {in.x, in.y + 1, in.w, in.h - 1};
    int pitch = a->f.n_levels > 0 && list.h >= 2 * (int)a->f.n_levels ? 2 : 1;
    int top = kr_list_top((int)a->f.n_levels, list.h, a->level, a->level - list.h / 2);
    for (int i = top; i < (int)a->f.n_levels && (i - top) * pitch < list.h; i++) {
        int y = (i - top) * pitch;
        level_row(v, list, y, i, &c);
        if (i != a->level)
            continue;
        kr_canvas_pick(v->c, (kr_rect){list.x, list.y + y, list.w, 1});
        if (a->screen == KR_SCREEN_POLICY)
            kr_view_cursor(v, list, 0, y);
    }
    kr_view_scroll(v, list, (int)a->f.n_levels, top);
}

/* --- plot ------------------------------------------------------------------------------------- */

/* Shares when they fall all the way, else the number of the candidate. */
static bool shares_fall(const kr_facts *f) {
    for (size_t i = 0; i < f->n_levels; i++)
        if (!isfinite(f->level_share[i]) || (i > 0 && f->level_share[i] >= f->level_share[i - 1]))
            return false;
    return true;
}

/* Candidates have whole numbers, so ticks stand at them. */
static double whole_step(size_t n, int w) {
    return n < 2 ? 1 : ceil(kr_round_step((double)(n - 1), w / 9 + 1));
}

void kr_draw_plot(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    const kr_facts *f = &a->f;
    const kr_line *l = kr_analysis_line(a->an, a->method);
    char title[160], tolerance[40];
    bool by_share = shares_fall(f);
    kr_field_text(a, KR_FIELD_TOLERANCE, tolerance);
    bool ascii = kr_canvas_look(v->c) == KR_LOOK_ASCII || a->set.alphabet == KR_PLOT_ASCII;
    const char *legend = r.w >= 72 ? ascii ? "* rate  ' upper  - risk" : "━ rate  ┄ upper  ╌ risk"
                         : r.w >= 60 ? ascii ? "' upper  - risk" : "┄ upper  ╌ risk"
                                     : NULL;
    snprintf(title, sizeof title, r.w >= 60 ? "P(drop > %s) by %s, %s" : "P(drop > %s)", tolerance,
             by_share ? "share kept" : "level", kr_calib_method(a->calib, a->method)->name);
    kr_rect in;
    if (a->lay.box.w > 0) {
        kr_frame_divider(v->c, (kr_rect){r.x, a->lay.box.y, r.w, a->lay.box.h}, 0, NULL, title);
        in = (kr_rect){r.x, r.y, r.w, r.h};
    } else {
        in = kr_view_pane(v, r, title, legend);
    }
    double *buf = calloc(3 * f->n_levels + 1, sizeof *buf);
    if (buf == NULL)
        return;
    double *x = buf, *rate = buf + f->n_levels, *upper = rate + f->n_levels;
    for (size_t i = 0; i < f->n_levels; i++) {
        x[i] = by_share ? f->level_share[i] : (double)(i + 1);
        rate[i] = f->levels[i].events < 0 ? NAN : f->levels[i].rate;
        upper[i] = f->levels[i].upper_bound;
    }
    kr_plot p = {.n = f->n_levels,
                 .x = x,
                 .rate = rate,
                 .upper = upper,
                 .target = kr_dec_double(kr_analysis_contract(a->an).risk),
                 .cert = l->certified >= 0 ? x[l->certified] : NAN,
                 .emp = l->empirical >= 0 ? x[l->empirical] : NAN,
                 .focus = a->screen == KR_SCREEN_POLICY && a->level >= 0 ? x[a->level] : NAN,
                 .x_step = by_share ? 0 : whole_step(f->n_levels, in.w),
                  .x_scale = by_share ? 100 : 1,
                 .x_unit = by_share ? "%" : NULL};
    size_t gaps = kr_plot_draw(v->c, in, &p, a->set.alphabet);
    if (gaps > 0)
        kr_canvas_text(v->c, in, 8, 0, KR_ROLE_WARN, "%zu levels not measured", gaps);
    free(buf);
}

/* --- drops ------------------------------------------------------------------------------------ */

static void drop_label(const kr_app *a, int bin, char out[64]) {
    double lo = (double)a->f.bin_from[bin] / (double)KR_NANO,
           hi = (double)a->f.bin_from[bin + 1] / (double)KR_NANO;
    if (bin == 0)
        snprintf(out, 64, "no drop");
    else if (bin == KR_DROP_BINS - 1)
        snprintf(out, 64, "over %.3g", lo);
    else
        snprintf(out, 64, "to %.3g", hi);
}

void kr_draw_drops(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    char title[160], level[32], tolerance[40], s[64];
    kr_level_label(a, a->method, a->level, level);
    kr_field_text(a, KR_FIELD_TOLERANCE, tolerance);
    snprintf(title, sizeof title, "drops at %s, %s", level,
             kr_calib_method(a->calib, a->method)->name);
    snprintf(s, sizeof s, "tolerance %s", tolerance);
    kr_rect in = kr_view_pane(v, r, title, s);
    if (kr_calib_meta_of(a->calib)->kind == KR_KIND_COUNTS) {
        kr_canvas_str(v->c, in, 0, 0, KR_ROLE_DIM, "published counts have no single requests");
        return;
    }
    int64_t most = 1, missing = a->f.levels[a->level].missing, limit = 0;
    kr_dec_nano(kr_analysis_contract(a->an).tolerance, &limit);
    for (int i = 0; i < KR_DROP_BINS; i++)
        most = a->f.bins[i] > most ? a->f.bins[i] : most;
    for (int i = 0; i < KR_DROP_BINS && i < in.h; i++) {
        bool event = a->f.bin_from[i] >= limit && i > 0;
        drop_label(a, i, s);
        kr_canvas_field(v->c, in, 0, i, 11, KR_LEFT, KR_ROLE_DIM, s);
        snprintf(s, sizeof s, "%lld", (long long)a->f.bins[i]);
        kr_canvas_field(v->c, in, 11, i, 8, KR_RIGHT, event ? KR_ROLE_FALL : KR_ROLE_TEXT, s);
        kr_bar(v->c, in, 20, i, in.w - 28, (double)a->f.bins[i] / (double)most,
               event ? KR_ROLE_FALL : KR_ROLE_CURVE);
        if (event && a->f.bins[i] > 0)
            kr_canvas_str(v->c, in, in.w - 6, i, KR_ROLE_FALL, "event");
    }
    if (missing > 0 && in.h > KR_DROP_BINS)
        kr_canvas_text(v->c, in, 0, KR_DROP_BINS, KR_ROLE_WARN,
                       "missing %11lld   counted as events", (long long)missing);
}
