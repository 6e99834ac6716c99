/* Repeated calibration drawn from the loaded requests, as a picture that grows while it runs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ui/pages.h"
#include "ui/plot.h"
#include "verdict/simrun.h"

enum { DRAWS = 20000, MANY_ROWS = 30000 };

/* --- running ---------------------------------------------------------------------------------- */

static void want_something(kr_app *a) {
    if (a->sim_want.draws == 0)
        a->sim_want.draws = DRAWS, a->sim_want.seed = 1;
}

static bool same_setting(const kr_app *a) {
    kr_contract k = kr_analysis_contract(a->an);
    return kr_dec_cmp(k.tolerance, a->sim_contract.tolerance) == 0 &&
           kr_dec_cmp(k.risk, a->sim_contract.risk) == 0 &&
           kr_dec_cmp(k.confidence, a->sim_contract.confidence) == 0 && a->sim_want.draws == a->sim_had.draws &&
           a->sim_want.n == a->sim_had.n && a->sim_want.seed == a->sim_had.seed;
}

void kr_sim_begin(kr_app *a) {
    kr_error err;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = a->sim_threads > 0 ? a->sim_threads : cores > 1 ? (int)cores - 1 : 1;
    want_something(a);
    kr_simrun_options o = {.draws = a->sim_want.draws, .n = a->sim_want.n, .seed = (uint64_t)a->sim_want.seed,
                           .threads = threads};
    kr_simrun_free(a->sim);
    a->sim = NULL;
    a->sim_contract = kr_analysis_contract(a->an);
    a->sim_had.draws = a->sim_want.draws, a->sim_had.n = a->sim_want.n, a->sim_had.seed = a->sim_want.seed;
    a->sim_ended = false;
    a->sim_failed[0] = '\0';
    if (kr_simrun_start(a->an, o, &a->sim, &err) != KR_OK) {
        a->sim = NULL;
        snprintf(a->sim_failed, sizeof a->sim_failed, "%s", err.msg);
    }
}

void kr_sim_stop(kr_app *a) {
    if (!kr_sim_running(a))
        return;
    kr_simrun_cancel(a->sim);
    kr_app_say(a, false, "the simulation is stopped, its draws so far stay; Enter begins it again");
}

bool kr_sim_running(const kr_app *a) { return a->sim != NULL && !a->sim_ended; }

/* Begun between keys, never by one, so that no key waits for the threads of the one before. */
bool kr_sim_wanted(const kr_app *a) {
    size_t rows = kr_calib_rows(a->calib);
    bool tried = a->sim != NULL || a->sim_failed[0] != '\0';
    return a->screen == KR_SCREEN_SIMULATE && rows > 0 && rows <= MANY_ROWS && (!tried || !same_setting(a));
}

bool kr_sim_tick(kr_app *a) {
    if (kr_sim_wanted(a))
        kr_sim_begin(a);
    if (!kr_sim_running(a))
        return false;
    kr_simrun_poll(a->sim, &a->sim_ended);
    return a->screen == KR_SCREEN_SIMULATE;
}

void kr_app_finish(kr_app *a) {
    const struct timespec tick = {0, 2 * 1000 * 1000};
    if (kr_sim_wanted(a))
        kr_sim_begin(a);
    while (kr_sim_running(a)) {
        nanosleep(&tick, NULL);
        kr_simrun_poll(a->sim, &a->sim_ended);
    }
}

void kr_sim_set(kr_app *a, const char *name, const char *value) {
    char *end = NULL;
    errno = 0;
    long long v = *value >= '0' && *value <= '9' ? strtoll(value, &end, 10) : -1;
    bool whole = end != NULL && *end == '\0' && errno == 0;
    int64_t threads = 0;
    want_something(a);
    const struct {
        const char *name;
        long long min, max;
        int64_t *to;
    } what[] = {{"draws", 1, 1000000000, &a->sim_want.draws},
                {"n", 1, KR_SIM_N_MAX, &a->sim_want.n},
                {"seed", 0, INT64_MAX, &a->sim_want.seed},
                {"threads", 1, 64, &threads}};
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        if (strcmp(what[i].name, name) != 0)
            continue;
        if (!whole || v < what[i].min || v > what[i].max) {
            kr_app_say(a, true, ":sim %s takes a whole number from %lld to %lld", name, what[i].min, what[i].max);
            return;
        }
        *what[i].to = v;
        a->sim_threads = threads > 0 ? (int)threads : a->sim_threads;
        if (a->screen != KR_SCREEN_SIMULATE)
            kr_app_show(a, KR_SCREEN_SIMULATE);
        return;
    }
    kr_app_say(a, true, ":sim draws N, :sim n N, :sim seed N, :sim threads N");
}

/* --- rules ------------------------------------------------------------------------------------ */

/* What is drawn, and where. */
typedef struct {
    kr_view *v;
    kr_app *a;
    const kr_sim *sim;
    const kr_sim_tally *t;
    kr_simrun_options o;
    double delta, top; /* the allowed error; the end of the bars */
} picture;

typedef struct {
    const char *text; /* a heading, or the name of the rule */
    int rule;         /* kr_sim_rule; -1: a heading */
    size_t method;
} line;

static void put(const picture *p, kr_rect r, int x, int y, int w, kr_align align, kr_role role, const char *s) {
    kr_canvas_field(p->v->c, r, x, y, w, align, role, s);
}

/* Columns of a rule's row for a pane so wide. */
typedef struct {
    int name, bar, numbers, keeps, kept; /* kept: the strip of what is kept, 0: none */
} columns;

static columns fit(int w) {
    columns c = {.name = 19, .numbers = 22, .keeps = 9};
    int room = w - c.name - c.numbers - c.keeps;
    c.kept = room >= 44 ? (room - 2) * 38 / 100 : 0;
    c.kept = c.kept > 34 ? 34 : c.kept;
    c.bar = room - c.kept - (c.kept > 0 ? 2 : 0) - 1;
    c.bar = c.bar > 60 ? 60 : c.bar;
    return c;
}

static void put_share(const picture *p, kr_rect in, int y, const columns *c, const kr_sim_row *x) {
    char s[64];
    bool bad = x->lower > p->delta;
    kr_role role = bad ? KR_ROLE_FALL : KR_ROLE_CERT;
    int from = c->name, end = from + (int)lround(x->broken / p->top * c->bar);
    int to = from + (int)lround(fmin(x->upper / p->top, 1) * c->bar);
    for (int i = end; i < to; i++) /* the upper limit of the share, as a whisker */
        kr_canvas_put(p->v->c, in, i, y, role, 0x2500);
    kr_bar(p->v->c, in, from, y, c->bar, x->broken / p->top, role);
    kr_canvas_put(p->v->c, in, from + (int)(p->delta / p->top * c->bar), y, KR_ROLE_TARGET, 0x254e);
    snprintf(s, sizeof s, "%5.2f [%5.2f,%5.2f]%s", 100 * x->broken, 100 * x->lower, 100 * x->upper, bad ? "!" : "");
    put(p, in, from + c->bar + 1, y, c->numbers, KR_LEFT, bad ? KR_ROLE_FALL : KR_ROLE_TEXT, s);
}

static void put_kept(const picture *p, kr_rect in, int y, const columns *c, const kr_sim_row *x) {
    char s[32];
    int at = c->name + c->bar + 1 + c->numbers;
    if (!isfinite(x->of.mean)) {
        put(p, in, at, y, c->keeps - 1, KR_RIGHT, KR_ROLE_DIM, "unknown");
        return;
    }
    snprintf(s, sizeof s, "%.1f %%", 100 * x->of.mean);
    put(p, in, at, y, c->keeps - 1, KR_RIGHT, KR_ROLE_VALUE, s);
    if (c->kept > 0)
        kr_interval(p->v->c, in, at + c->keeps + 1, y, c->kept, x->of.low, x->of.mean, x->of.high, 2, 1,
                    KR_ROLE_CURVE);
}

static void draw_rule(const picture *p, kr_rect in, int y, const columns *c, const line *l) {
    if (l->rule < 0) {
        put(p, in, 0, y, in.w, KR_LEFT, KR_ROLE_TITLE, l->text);
        return;
    }
    kr_sim_row x = kr_sim_row_of(p->sim, p->t, (kr_sim_rule)l->rule, l->method);
    put(p, in, 0, y, c->name - 1, KR_LEFT, KR_ROLE_TEXT, l->text);
    put_share(p, in, y, c, &x);
    put_kept(p, in, y, c, &x);
}

/* Rows of the list; NULL out of memory. */
static line *make_lines(const picture *p, size_t *n) {
    const kr_calib *c = p->a->calib;
    size_t m = kr_calib_methods(c), at = 0;
    line *l = calloc(2 * m + 10, sizeof *l);
    if (l == NULL)
        return NULL;
    l[at++] = (line){kr_calib_method(c, p->a->method)->name, -1, 0};
    l[at++] = (line){"  certified", KR_SIM_CERTIFIED, p->a->method};
    l[at++] = (line){"  empirical", KR_SIM_EMPIRICAL, p->a->method};
    l[at++] = (line){"lowest retention over all methods", -1, 0};
    l[at++] = (line){"  as a family", KR_SIM_FAMILY, 0};
    l[at++] = (line){"  uncorrected", KR_SIM_UNCORRECTED, 0};
    l[at++] = (line){"  empirical", KR_SIM_BEST_EMPIRICAL, 0};
    for (int rule = KR_SIM_EMPIRICAL; rule >= KR_SIM_CERTIFIED; rule--) {
        l[at++] = (line){rule == KR_SIM_CERTIFIED ? "each method certified alone"
                                                  : "each method by empirical thresholding", -1, 0};
        for (size_t k = 0; k < m; k++)
            l[at++] = (line){kr_calib_method(c, k)->name, rule, k};
    }
    *n = at;
    return l;
}

static void draw_head(const picture *p, kr_rect in, const columns *c) {
    char s[32];
    snprintf(s, sizeof s, "%g %%", 100 * p->top);
    put(p, in, 0, 0, c->name, KR_LEFT, KR_ROLE_DIM, "breaks, % of draws");
    put(p, in, c->name, 0, c->bar, KR_LEFT, KR_ROLE_DIM, "0");
    put(p, in, c->name + c->bar - 6, 0, 6, KR_RIGHT, KR_ROLE_DIM, s);
    int delta = c->name + (int)(p->delta / p->top * c->bar);
    kr_canvas_put(p->v->c, in, delta, 0, KR_ROLE_TARGET, 0x254e);
    if (delta + 9 < c->name + c->bar - 6)
        put(p, in, delta + 1, 0, 8, KR_LEFT, KR_ROLE_TARGET, "allowed");
    put(p, in, c->name + c->bar + 1, 0, c->numbers, KR_LEFT, KR_ROLE_DIM, "  %   95 % interval");
    int at = c->name + c->bar + 1 + c->numbers;
    put(p, in, at, 0, c->keeps - 1, KR_RIGHT, KR_ROLE_DIM, "keeps");
    if (c->kept > 0) {
        put(p, in, at + c->keeps + 1, 0, c->kept, KR_LEFT, KR_ROLE_DIM, "0   10..90 %");
        put(p, in, at + c->keeps + 1 + c->kept - 6, 0, 6, KR_RIGHT, KR_ROLE_DIM, "100 %");
    }
}

static void draw_rules(const picture *p, kr_rect r) {
    size_t n = 0;
    kr_app *a = p->a;
    kr_rect in = kr_view_pane(p->v, r, "how often each rule breaks the contract", "! too often");
    columns c = fit(in.w);
    line *l = make_lines(p, &n);
    if (l == NULL || in.h < 2 || c.bar < 6) {
        free(l);
        return;
    }
    draw_head(p, in, &c);
    kr_rect list = {in.x, in.y + 1, in.w, in.h - 1};
    a->text.n = (int)n > list.h ? n - (size_t)list.h : 0;
    if (a->text.at > (int)a->text.n)
        a->text.at = (int)a->text.n;
    for (int y = 0; y < list.h && y + a->text.at < (int)n; y++)
        draw_rule(p, list, y, &c, &l[y + a->text.at]);
    kr_view_scroll(p->v, list, (int)n, a->text.at);
    kr_view_cursor(p->v, list, 0, 0);
    free(l);
}

/* --- one method, level by level --------------------------------------------------------------- */

static int64_t beyond(const int64_t *chosen, size_t from, size_t to) {
    int64_t k = 0;
    for (size_t j = from; j < to; j++)
        k += chosen[j];
    return k;
}

/* Draws of the method that rule chose this candidate in; -1: full KV. */
static int64_t level_draws(const picture *p, int rule, int candidate, size_t first, size_t length) {
    const int64_t *chosen = p->t->chosen[rule];
    return candidate >= 0 ? chosen[first + (size_t)candidate] : p->t->draws - beyond(chosen, first, first + length);
}

static void level_row(const picture *p, kr_rect in, int y, int candidate, size_t first, size_t length,
                      int64_t most) {
    char s[48], level[32];
    kr_level_label(p->a, p->a->method, candidate, level);
    put(p, in, 0, y, 10, KR_RIGHT, KR_ROLE_VALUE, level);
    bool bad = candidate >= 0 && kr_sim_broken(p->sim, first + (size_t)candidate);
    if (candidate >= 0) {
        snprintf(s, sizeof s, "%.2f %%", 100 * kr_sim_risk(p->sim, first + (size_t)candidate));
        put(p, in, 10, y, 9, KR_RIGHT, bad ? KR_ROLE_FALL : KR_ROLE_TEXT, s);
        put(p, in, 20, y, 1, KR_LEFT, KR_ROLE_FALL, bad ? "!" : "");
    }
    int each = (in.w - 22) / 2;
    for (int k = 0; k < 2; k++) {
        int64_t draws = level_draws(p, k == 0 ? KR_SIM_CERTIFIED : KR_SIM_EMPIRICAL, candidate, first, length);
        double share = (double)draws / (double)p->t->draws;
        snprintf(s, sizeof s, share >= 0.9995 ? "%.0f %%" : "%.1f %%", 100 * share);
        put(p, in, 21 + k * each, y, 7, KR_RIGHT, draws > 0 ? KR_ROLE_TEXT : KR_ROLE_DIM, draws > 0 ? s : "-");
        kr_bar(p->v->c, in, 29 + k * each, y, each - 9, (double)draws / (double)most, bad ? KR_ROLE_FALL : k == 0 ? KR_ROLE_CERT : KR_ROLE_EMP);
    }
}

static void draw_levels(const picture *p, kr_rect r) {
    size_t first, length = kr_sim_length(p->sim, p->a->method, &first);
    char title[96];
    snprintf(title, sizeof title, "what %.40s gets", kr_text_short(kr_calib_method(p->a->calib, p->a->method)->name, 40).s);
    kr_rect in = kr_view_pane(p->v, r, title, "% of draws, p/P method");
    put(p, in, 0, 0, 10, KR_RIGHT, KR_ROLE_DIM, "keeps");
    put(p, in, 10, 0, 9, KR_RIGHT, KR_ROLE_DIM, "risk");
    put(p, in, 22, 0, 14, KR_LEFT, KR_ROLE_DIM, "certified");
    put(p, in, 22 + (in.w - 22) / 2, 0, 14, KR_LEFT, KR_ROLE_DIM, "empirical");
    int64_t most = 1; /* draws of the longest bar */
    for (int j = -1; j < (int)length; j++)
        for (int k = KR_SIM_CERTIFIED; k <= KR_SIM_EMPIRICAL; k++) {
            int64_t d = level_draws(p, k, j, first, length);
            most = d > most ? d : most;
        }
    /* Where they do not all fit, those that were chosen. */
    bool all = (int)length + 2 <= in.h;
    int y = 1;
    for (int j = -1; j < (int)length && y < in.h; j++) {
        size_t at = first + (size_t)(j < 0 ? 0 : j);
        bool chosen = j < 0 || p->t->chosen[KR_SIM_CERTIFIED][at] + p->t->chosen[KR_SIM_EMPIRICAL][at] > 0;
        if (all || chosen)
            level_row(p, in, y++, j, first, length, most);
    }
}

/* --- how far the walk gets --------------------------------------------------------------------- */

static void draw_reach(const picture *p, kr_rect r) {
    size_t first, length = kr_sim_length(p->sim, p->a->method, &first), bad = length;
    char title[96];
    snprintf(title, sizeof title, "how far %.32s gets", kr_text_short(kr_calib_method(p->a->calib, p->a->method)->name, 32).s);
    kr_rect in = kr_view_pane(p->v, r, title, "━ certified  ┄ empirical");
    double *x = calloc(3 * length + 1, sizeof *x), *cert = x + length, *emp = cert + length;
    bool falls = x != NULL && length >= 2;
    for (size_t j = 0; falls && j < length; j++) {
        x[j] = kr_sim_level(p->sim, first + j);
        falls = isfinite(x[j]) && (j == 0 || x[j] < x[j - 1]);
        cert[j] = (double)beyond(p->t->chosen[KR_SIM_CERTIFIED], first + j, first + length) / (double)p->t->draws;
        emp[j] = (double)beyond(p->t->chosen[KR_SIM_EMPIRICAL], first + j, first + length) / (double)p->t->draws;
        if (bad == length && kr_sim_broken(p->sim, first + j))
            bad = j;
    }
    if (falls) {
        kr_plot plot = {.n = length, .x = x, .rate = cert, .upper = emp, .target = p->delta, .cert = NAN, .emp = NAN,
                        .focus = NAN, .ymax = 1, .x_unit = "%", .x_scale = 100};
        kr_plot_draw(p->v->c, in, &plot, p->a->set.alphabet);
        int at = bad < length ? 7 + (int)lround((x[bad] - x[0]) / (x[length - 1] - x[0]) * (in.w - 8)) : in.w;
        for (int y = 1; y < in.h - 2 && at < in.w; y++) {
            const kr_cell *cell = kr_canvas_at(p->v->c, in.x + at, in.y + y);
            if (cell != NULL && cell->cp == ' ')
                kr_canvas_put(p->v->c, in, at, y, KR_ROLE_FALL, 0x250a);
        }
        if (at + 18 < in.w)
            put(p, in, at, 0, 18, KR_LEFT, KR_ROLE_FALL, "breaks from here");
        else if (at < in.w)
            put(p, in, at - 17, 0, 18, KR_RIGHT, KR_ROLE_FALL, "breaks from here");
    } else {
        put(p, in, 0, 0, in.w, KR_LEFT, KR_ROLE_DIM, "its levels have no shares that fall");
    }
    free(x);
}

/* --- the best of all methods ------------------------------------------------------------------ */

static int64_t best_draws(const picture *p, size_t j) {
    return p->t->chosen[KR_SIM_FAMILY][j] + p->t->chosen[KR_SIM_UNCORRECTED][j] + p->t->chosen[KR_SIM_BEST_EMPIRICAL][j];
}

static void winner_row(const picture *p, kr_rect in, int y, size_t j, size_t m) {
    char s[48], level[32];
    const kr_method *k = kr_calib_method(p->a->calib, m);
    bool bad = kr_sim_broken(p->sim, j);
    kr_level_label(p->a, m, (int)(j - k->first), level);
    put(p, in, 0, y, 19, KR_LEFT, KR_ROLE_TEXT, k->name);
    put(p, in, 19, y, 9, KR_RIGHT, bad ? KR_ROLE_FALL : KR_ROLE_VALUE, level);
    put(p, in, 29, y, 1, KR_LEFT, KR_ROLE_FALL, bad ? "!" : "");
    for (int i = 0; i < 3; i++) {
        int64_t draws = p->t->chosen[KR_SIM_FAMILY + i][j];
        snprintf(s, sizeof s, "%.1f %%", 100 * (double)draws / (double)p->t->draws);
        put(p, in, 30 + 12 * i, y, 12, KR_RIGHT, bad && draws > 0 ? KR_ROLE_FALL : KR_ROLE_TEXT, draws > 0 ? s : "-");
    }
}

static void draw_winners(const picture *p, kr_rect r) {
    kr_rect in = kr_view_pane(p->v, r, "what the best of all methods is", "% of draws");
    static const char *const head[] = {"family", "uncorrected", "empirical"};
    size_t policies = kr_calib_policies(p->a->calib);
    bool *shown = calloc(policies + 1, sizeof *shown);
    for (int i = 0; i < 3; i++)
        put(p, in, 30 + 12 * i, 0, 12, KR_RIGHT, KR_ROLE_DIM, head[i]);
    for (int y = 1; shown != NULL && y < in.h; y++) { /* most often chosen first */
        size_t best = policies;
        for (size_t j = 0; j < policies; j++)
            if (!shown[j] && best_draws(p, j) > (best < policies ? best_draws(p, best) : 0))
                best = j;
        if (best == policies)
            break;
        shown[best] = true;
        size_t m = 0;
        while (kr_calib_method(p->a->calib, m)->first + kr_calib_method(p->a->calib, m)->count <= best)
            m++;
        winner_row(p, in, y, best, m);
    }
    free(shown);
}

/* --- the screen ------------------------------------------------------------------------------- */

static kr_rect cut_top(kr_rect *r, int h) {
    h = h < r->h ? h : r->h;
    kr_rect t = {r->x, r->y, r->w, h};
    r->y += h, r->h -= h;
    return t;
}

/* Round end of the bars that shows every rule. */
static double top_of(const picture *p) {
    static const double ends[] = {0.1, 0.2, 0.4, 0.6, 1};
    double most = p->delta;
    size_t i = 0;
    for (int rule = 0; rule < KR_SIM_RULES; rule++)
        for (size_t m = 0; m < (rule <= KR_SIM_EMPIRICAL ? kr_calib_methods(p->a->calib) : 1); m++) {
            kr_sim_row x = kr_sim_row_of(p->sim, p->t, (kr_sim_rule)rule, m);
            most = fmax(most, fmin(x.upper, x.broken + 0.1));
        }
    while (ends[i] < most && ends[i] < 1)
        i++;
    return ends[i];
}

/* A number of requests that the tasks can share equally. */
static const char *advice(size_t tasks, int room, char out[200]) {
    size_t n = tasks > 1 ? (300 + tasks - 1) / tasks * tasks : 300;
    if (room >= 82)
        snprintf(out, 200, "the loaded requests are the population: this judges rules, not policies; :sim n %zu", n);
    else
        snprintf(out, 200, ":sim draws 50000, :sim n %zu, :sim seed 7", n);
    return out;
}

/* One row: how far it is, of what. */
static void draw_progress(const picture *p, kr_rect r, bool ended) {
    char s[200], draws[32], all[32], n[32], each[64] = "";
    size_t tasks = kr_simrun_tasks(p->a->sim);
    if (tasks > 1)
        snprintf(each, sizeof each, ", %s of each task", kr_thousands(p->o.n / (int64_t)tasks, n));
    int used = snprintf(s, sizeof s, "%s of %s draws", kr_thousands(p->t->draws, draws), kr_thousands(p->o.draws, all));
    snprintf(s + used, sizeof s - (size_t)used, " of %s requests%s, seed %llu%s", kr_thousands(p->o.n, n), each,
             (unsigned long long)p->o.seed, !same_setting(p->a)          ? "; not of what is set now, Enter begins again"
             : !ended                    ? "; c stops it"
             : p->t->draws < p->o.draws ? "; stopped"
                                        : "");
    int w = kr_text_width(s);
    kr_canvas_field(p->v->c, r, 1, 0, r.w - 1, KR_LEFT,
                    !same_setting(p->a) ? KR_ROLE_WARN : ended ? KR_ROLE_TEXT : KR_ROLE_VALUE, s);
    int room = r.w - w - 5;
    if (ended && room >= 44)
        put(p, r, w + 3, 0, room, KR_RIGHT, KR_ROLE_DIM, advice(tasks, room, s));
    else if (!ended && room >= 8)
        kr_bar(p->v->c, r, w + 3, 0, room, (double)p->t->draws / (double)p->o.draws, KR_ROLE_CURVE);
}

static void draw_nothing(kr_view *v, kr_rect r) {
    const kr_app *a = v->a;
    kr_rect in = kr_view_pane(v, r, "repeated calibration", NULL);
    bool counts = kr_calib_rows(a->calib) == 0, many = kr_calib_rows(a->calib) > MANY_ROWS;
    const char *s = counts                   ? "Published counts have no requests to draw from."
                    : a->sim_failed[0] != '\0' ? a->sim_failed
                    : many ? "Enter begins it; with this many requests it takes a while." : "about to begin";
    kr_canvas_wrap(v->c, in, counts || a->sim_failed[0] != '\0' ? KR_ROLE_WARN : KR_ROLE_TEXT, s);
    kr_view_cursor(v, in, 0, 0);
}

void kr_draw_simulate(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    bool ended;
    if (a->sim == NULL) {
        draw_nothing(v, r);
        return;
    }
    picture p = {.v = v, .a = a, .sim = kr_simrun_sim(a->sim), .t = kr_simrun_poll(a->sim, &ended),
                 .o = kr_simrun_options_of(a->sim), .delta = kr_level_double(kr_contract_level(&a->sim_contract, 1))};
    draw_progress(&p, cut_top(&r, 1), ended);
    if (p.t->draws == 0)
        return;
    p.top = top_of(&p);
    int methods = (int)kr_calib_methods(a->calib), levels = (int)kr_calib_method(a->calib, a->method)->count;
    kr_rect left = r, right = r;
    if (r.w >= 116 && r.h >= 20) {
        left.w = r.w * 60 / 100;
        right.x += left.w, right.w -= left.w;
        draw_levels(&p, cut_top(&right, levels + 4 < right.h - 10 ? levels + 4 : right.h - 10));
        if (r.h >= 44) {
            draw_rules(&p, cut_top(&left, 2 * methods + 12 < r.h - 14 ? 2 * methods + 12 : r.h - 14));
            draw_reach(&p, left);
            draw_winners(&p, right);
        } else {
            draw_rules(&p, left);
            draw_reach(&p, right);
        }
    } else {
        draw_rules(&p, r);
    }
}
