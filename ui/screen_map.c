/* Certified share over tolerance x risk, and the numbers of one cell. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/model.h"
#include "verdict/joint.h"

static double cell_share(const kr_app *a, const kr_map_cell *k) {
    return a->map_mode == KR_MAP_EMPIRICAL ? k->empirical_share
           : a->map_mode == KR_MAP_JOINT   ? k->joint_share
                                           : k->share;
}

static int candidate_of(const kr_app *a, const kr_map_cell *k) {
    return a->map_mode == KR_MAP_EMPIRICAL ? k->point.empirical
           : a->map_mode == KR_MAP_JOINT   ? k->joint.certified
                                           : k->point.certified;
}

/* A level in at most `room` columns: "thr 0.001", "0.001", ".001", "1e-3", or the mark of a cut. */
static void fit_threshold(const kr_app *a, int candidate, int room, char text[48]) {
    const kr_policy *p =
        kr_calib_policy(a->calib, kr_calib_method(a->calib, a->method)->first + (size_t)candidate);
    char plain[KR_DEC_TEXT], power[40];
    kr_dec_text(p->threshold, plain);
    kr_power_text(p->threshold, power);
    if (kr_text_width(plain) + 4 <= room)
        snprintf(text, 48, "thr %s", plain);
    else if (kr_text_width(plain) <= room)
        snprintf(text, 48, "%s", plain);
    else if (plain[0] == '0' && kr_text_width(plain) - 1 <= room)
        snprintf(text, 48, "%s", plain + 1);
    else
        snprintf(text, 48, "%s", kr_text_width(power) <= room ? power : "…");
}

static bool has_threshold(const kr_app *a, int candidate) {
    size_t first = kr_calib_method(a->calib, a->method)->first;
    return kr_calib_policy(a->calib, first + (size_t)candidate)->has_threshold;
}

/* Text of at most `room` columns, and shade of a cell; the gap is in points of KV. */
static kr_role cell_look(const kr_app *a, const kr_map_cell *k, int room, char text[48],
                         char *mark) {
    *mark = ' ';
    if (!k->known) {
        snprintf(text, 48, "-");
        return KR_ROLE_DIM;
    }
    if (a->map_mode == KR_MAP_GAP) {
        double gap = 100 * (k->share - k->empirical_share);
        if (!isfinite(gap)) {
            snprintf(text, 48, "?");
            return KR_ROLE_DIM;
        }
        snprintf(text, 48, "%.0f", gap);
        int step = gap < 0.5 ? 0 : gap < 45 ? 1 + (int)(gap / 5) : 9;
        *mark = kr_heat_mark(step);
        return (kr_role)(KR_ROLE_HEAT0 + step);
    }
    double share = cell_share(a, k);
    if (candidate_of(a, k) < 0) {
        snprintf(text, 48, "FULL");
        return KR_ROLE_FALL;
    }
    if (has_threshold(a, candidate_of(a, k)))
        fit_threshold(a, candidate_of(a, k), room, text);
    else
        snprintf(text, 48, isfinite(share) ? "%.0f" : "?", 100 * share);
    if (!isfinite(share))
        return a->map_mode == KR_MAP_EMPIRICAL ? KR_ROLE_EMP : KR_ROLE_CERT;
    *mark = kr_heat_mark(kr_heat_step(share));
    return (kr_role)(KR_ROLE_HEAT0 + kr_heat_step(share));
}

typedef struct {
    kr_rect in;
    int label, cell, high; /* widths and the height of a row */
    bool marks;            /* ramp characters beside the numbers */
} grid;

static void draw_map_cell(kr_view *v, const grid *g, int gx, int gy) {
    const kr_app *a = v->a;
    const kr_map_cell *k = &a->f.map[gy][gx];
    char text[48], mark;
    int room = g->cell - 2;
    kr_role role = cell_look(a, k, room - (g->marks ? 1 : 0), text, &mark);
    int x = g->label + gx * g->cell, y = 1 + gy * g->high;
    bool cursor = a->screen == KR_SCREEN_MAP ? gx == a->map_x && gy == a->map_y
                                             : gx == a->f.map_at_x && gy == a->f.map_at_y;
    bool contract = gx == a->f.map_at_x && gy == a->f.map_at_y;
    for (int i = 0; i < g->high; i++)
        kr_canvas_field(v->c, g->in, x, y + i, g->cell, KR_LEFT, role, "");
    int mid = y + (g->high - 1) / 2;
    bool full = strcmp(text, "FULL") == 0 && g->marks, gap = !g->marks && room > 4;
    int used = full || kr_text_width(text) >= room ? room : room - (gap ? 1 : 0);
    int at = g->marks && !full ? 1 : 0;
    kr_canvas_field(v->c, g->in, x + 1 + at, mid, used - at, full ? KR_LEFT : KR_RIGHT, role,
                    text);
    if (at > 0)
        kr_canvas_put(v->c, g->in, x + 1, mid, role, (uint32_t)mark);
    if (g->marks)
        for (int i = 1; i < g->high && mark != ' '; i++)
            for (int j = 0; j < room; j++)
                kr_canvas_put(v->c, g->in, x + 1 + j, mid + i, role, (uint32_t)mark);
    if (cursor || contract) {
        kr_canvas_put(v->c, g->in, x, mid, role, cursor ? '[' : 0x25b8);
        kr_canvas_put(v->c, g->in, x + g->cell - 1, mid, role, cursor ? ']' : 0x25c2);
    }
    if (cursor) {
        kr_canvas_pick(v->c, (kr_rect){g->in.x + x, g->in.y + mid, g->cell, 1});
        if (a->screen == KR_SCREEN_MAP)
            kr_view_cursor(v, g->in, x + 1, mid);
    }
}

/* A tolerance in at most `room` columns where it can be: "0.10", ".10", "0.1", ".1". */
static void fit_tolerance(kr_dec t, int room, char text[KR_DEC_TEXT]) {
    kr_dec_fixed(t, 2, text);
    for (int plain = 0; plain < 2 && kr_text_width(text) > room; plain++) {
        if (plain == 1)
            kr_dec_text(t, text);
        if (kr_text_width(text) > room && strncmp(text, "0.", 2) == 0)
            memmove(text, text + 1, strlen(text));
    }
}

static void map_header(kr_view *v, const grid *g) {
    const kr_app *a = v->a;
    char buf[KR_DEC_TEXT], s[40];
    kr_canvas_str(v->c, g->in, 0, 0, KR_ROLE_DIM, g->label >= 9 ? "risk\\drop" : "");
    for (int x = 0; x < a->f.map_cols; x++) {
        fit_tolerance(a->f.map_tolerance[x], g->cell - 1, buf);
        kr_canvas_field(v->c, g->in, g->label + x * g->cell, 0, g->cell - 1, KR_RIGHT,
                        x == a->f.map_at_x ? KR_ROLE_TITLE : KR_ROLE_DIM, buf);
    }
    for (int y = 0; y < a->f.map_rows; y++) {
        snprintf(s, sizeof s, "%s%%", kr_dec_percent(a->f.map_risk[y], 1, buf));
        kr_canvas_field(v->c, g->in, 0, 1 + y * g->high + (g->high - 1) / 2, 5, KR_RIGHT,
                        y == a->f.map_at_y ? KR_ROLE_TITLE : KR_ROLE_DIM, s);
    }
}

static void map_legend(kr_view *v, const grid *g, int y) {
    static const char *const share[] = {">90", ">80", ">70", ">60", ">50",
                                        ">40", ">30", ">20", ">10", "<=10"};
    static const char *const gap[] = {"0",   "<5",  "<10", "<15", "<20",
                                      "<25", "<30", "<35", "<40", "more"};
    const kr_app *a = v->a;
    if (y >= g->in.h || g->in.w < 70)
        return;
    bool points = a->map_mode == KR_MAP_GAP;
    if (!points && has_threshold(a, 0)) {
        int used = kr_canvas_str(v->c, g->in, 0, y, KR_ROLE_DIM,
                                 "threshold of the level, shaded where the share kept is known");
        kr_canvas_str(v->c, g->in, used + 2, y, KR_ROLE_FALL, "FULL KV");
        return;
    }
    int x = kr_canvas_str(v->c, g->in, 0, y, KR_ROLE_DIM, points ? "points " : "% kept ");
    for (int i = 0; i < 10; i++) {
        char s[16];
        const char *label = (points ? gap : share)[i];
        snprintf(s, sizeof s, "%c%s ", g->marks ? kr_heat_mark(i) : ' ', label);
        x += kr_canvas_str(v->c, g->in, x, y, (kr_role)(KR_ROLE_HEAT0 + i), s);
    }
    kr_canvas_str(v->c, g->in, x + 1, y, KR_ROLE_FALL, points ? "" : "FULL KV");
}

void kr_draw_map(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    static const char *const modes[] = {
        "certified % of KV kept", "empirical % of KV kept, no guarantee",
        "points of KV that only the empirical rule drops", "jointly certified % of KV kept"};
    char title[200], note[96], conf[40];
    if (!a->f.map_valid)
        return;
    kr_field_text(a, KR_FIELD_CONFIDENCE, conf);
    bool levels = has_threshold(a, 0);
    snprintf(title, sizeof title, "map: %s, %s",
             !levels || a->map_mode == KR_MAP_GAP ? modes[a->map_mode]
             : a->map_mode == KR_MAP_CERTIFIED    ? "certified threshold"
             : a->map_mode == KR_MAP_JOINT        ? "jointly certified threshold"
                                                  : "empirical threshold, no guarantee",
             kr_calib_method(a->calib, a->method)->name);
    bool roomy = kr_text_width(title) + 44 < r.w;
    snprintf(note, sizeof note, "%sconfidence %s", roomy ? "tolerance × risk, " : "", conf);
    kr_rect in = kr_view_pane(v, r, title, note);
    grid g = {.in = in,
              .label = 6,
              .marks = kr_canvas_look(v->c) == KR_LOOK_ASCII || a->set.theme == KR_THEME_MONO};
    g.cell = (in.w - g.label) / a->f.map_cols;
    int widest = a->f.map_cols == 1 ? 14 : 9; /* a level's whole name where it stands alone */
    g.cell = g.cell > widest ? widest : g.cell < 4 ? 4 : g.cell;
    g.high = (in.h - 2) / a->f.map_rows;
    g.high = g.high < 1 ? 1 : g.high > 3 ? 3 : g.high;
    map_header(v, &g);
    for (int y = 0; y < a->f.map_rows; y++)
        for (int x = 0; x < a->f.map_cols; x++)
            draw_map_cell(v, &g, x, y);
    int y = 1 + a->f.map_rows * g.high;
    map_legend(v, &g, y + (y + 2 < in.h ? 1 : 0));
}

void kr_cell_words(const kr_app *a, char *out, size_t cap) {
    const kr_map_cell *k = kr_map_cursor(a);
    char tol[40], risk[40], cert[32], emp[32], joint[32];
    if (k == NULL || !k->known) {
        snprintf(out, cap, "no cell");
        return;
    }
    kr_value_text(KR_FIELD_TOLERANCE, a->f.map_tolerance[a->map_x], tol);
    kr_value_text(KR_FIELD_RISK, a->f.map_risk[a->map_y], risk);
    kr_level_label(a, a->method, k->point.certified, cert);
    kr_level_label(a, a->method, k->point.empirical, emp);
    kr_level_label(a, a->method, k->joint.certified, joint);
    if (a->map_mode == KR_MAP_JOINT) /* the grid's own numbers first */
        snprintf(out, cap, "cell %s, %s: %s jointly, whichever cell is picked; this cell alone %s", tol, risk,
                 k->joint.certified < 0 ? "full KV" : joint, k->point.certified < 0 ? "full KV" : cert);
    else if (k->point.certified < 0)
        snprintf(out, cap, "cell %s, %s: full KV (fallback); empirical %s, no guarantee", tol, risk,
                 emp);
    else
        snprintf(out, cap,
                 "cell %s, %s: %s, %lld of at most %lld events; empirical %s, no guarantee", tol,
                 risk, cert, (long long)k->point.certified_events, (long long)k->point.max_events,
                 emp);
}

/* --- the cell --------------------------------------------------------------------------------- */

static int fact(kr_view *v, kr_rect in, int y, const char *label, kr_role role, const char *value) {
    kr_canvas_field(v->c, in, 0, y, 18, KR_LEFT, KR_ROLE_DIM, label);
    kr_canvas_field(v->c, in, 18, y, in.w - 18, KR_LEFT, role, value);
    return y + 1;
}

void kr_draw_cell(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    const kr_map_cell *k = kr_map_cursor(a);
    char title[128], s[128], tol[40], risk[40], level[32];
    if (k == NULL)
        return;
    kr_value_text(KR_FIELD_TOLERANCE, a->f.map_tolerance[a->map_x], tol);
    kr_value_text(KR_FIELD_RISK, a->f.map_risk[a->map_y], risk);
    snprintf(title, sizeof title, "cell %s, %s", tol, risk);
    kr_rect in = kr_view_pane(v, r, title, NULL);
    if (!k->known)
        return;
    int y = 0;
    kr_level_label(a, a->method, k->point.certified, level);
    y = fact(v, in, y, "certified keeps", k->point.certified < 0 ? KR_ROLE_FALL : KR_ROLE_CERT,
             k->point.certified < 0 ? "full KV, fallback" : level);
    snprintf(s, sizeof s, k->point.certified_events < 0 ? "-" : "%lld of %lld",
             (long long)k->point.certified_events, (long long)kr_analysis_n(a->an));
    y = fact(v, in, y, "events", KR_ROLE_TEXT, s);
    snprintf(s, sizeof s, k->point.max_events < 0 ? "none: n is too small" : "%lld",
             (long long)k->point.max_events);
    y = fact(v, in, y, "at most", KR_ROLE_TEXT, s);
    if (k->point.stopped >= 0) {
        kr_level_label(a, a->method, k->point.stopped, level);
        snprintf(s, sizeof s, "%s, %lld events", level, (long long)k->point.stopped_events);
        y = fact(v, in, y, "stops at", KR_ROLE_TEXT, s);
    }
    kr_level_label(a, a->method, k->joint.certified, level);
    snprintf(s, sizeof s, "%s, %s", k->joint.certified < 0 ? "full KV" : level,
             kr_state_name(kr_joint_state(a->an, KR_MODE_MAP, a->method, kr_analysis_contract(a->an))));
    y = fact(v, in, y, "jointly keeps", KR_ROLE_TEXT, s);
    y++;
    kr_level_label(a, a->method, k->point.empirical, level);
    snprintf(s, sizeof s, "%s, no guarantee", k->point.empirical < 0 ? "full KV" : level);
    y = fact(v, in, y, "empirical keeps", KR_ROLE_EMP, s);
    if (isfinite(k->share - k->empirical_share)) {
        snprintf(s, sizeof s, "%.0f points of KV", 100 * (k->share - k->empirical_share));
        y = fact(v, in, y, "gap", KR_ROLE_TEXT, s);
    }
    kr_rect rest = {in.x, in.y + y + 1, in.w, in.h - y - 1};
    size_t n = kr_calib_methods(a->calib);
    char note[300];
    if (n > 1)
        snprintf(note, sizeof note,
                 "Enter takes the cell as contract (WHAT-IF). Choosing a cell, or the best of %zu "
                 "methods, after looking is outside the guarantee.",
                 n);
    else
        snprintf(note, sizeof note,
                 "Enter takes the cell as contract (WHAT-IF). Choosing a cell after looking is "
                 "outside the guarantee.");
    kr_canvas_wrap(v->c, rest, KR_ROLE_DIM, note);
}
