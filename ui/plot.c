#include "ui/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/widget.h"

static const char *const names[] = {"block", "braille", "ascii"};

const char *kr_plot_alphabet_name(kr_plot_alphabet a) { return names[a]; }

bool kr_plot_alphabet_find(const char *name, kr_plot_alphabet *out) {
    for (int i = 0; i < KR_PLOT_ALPHABETS; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (kr_plot_alphabet)i;
            return true;
        }
    return false;
}

enum { AXIS_W = 7, DOT_TARGET = 1, DOT_UPPER = 2, DOT_RATE = 3 };

/* Area of dots: one cell holds dx x dy of them. */
typedef struct {
    kr_rect area; /* cells */
    int dx, dy, w, h;
    double top;
    const kr_plot *p;
    unsigned char *dots; /* [h][w] DOT_..., the larger wins */
} plane;

static double finite_max(const kr_plot *p) {
    double m = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (isfinite(p->rate[i]) && p->rate[i] > m)
            m = p->rate[i];
        if (p->upper != NULL && isfinite(p->upper[i]) && p->upper[i] > m)
            m = p->upper[i];
    }
    return m;
}

double kr_plot_top(const kr_plot *p) {
    double data = finite_max(p), want = 3 * p->target;
    if (want > 1)
        want = 1;
    /* The crossing of bound and target is what the plot is for: the far tail may leave the top. */
    double top = data > want && want > 0 ? want : data > 1.2 * p->target ? data : 1.2 * p->target;
    if (!(top > 0) || !isfinite(top))
        top = 1;
    double step = kr_round_step(top, 4);
    top = ceil(top / step - 1e-9) * step;
    return top > 1 ? 1 : top;
}

static double x_share(const kr_plot *p, double x) {
    double span = p->x[p->n - 1] - p->x[0];
    return p->n < 2 || span == 0 ? 0.5 : (x - p->x[0]) / span;
}

static int dot_x(const plane *g, double x) { return (int)lround(x_share(g->p, x) * (g->w - 1)); }

/* Row of dots from the top; above the plane for values over the axis. */
static int dot_y(const plane *g, double v) {
    double at = (1 - v / g->top) * (g->h - 1);
    return at < -1 ? -1 : (int)lround(at);
}

static void dot(plane *g, int x, int y, int kind) {
    if (x < 0 || y < 0 || x >= g->w || y >= g->h)
        return;
    unsigned char *d = &g->dots[(size_t)y * (size_t)g->w + (size_t)x];
    if (*d < kind)
        *d = (unsigned char)kind;
}

/* The straight line between neighbours; `skip` > 1 leaves dots out so that curves differ
 * in form. */
static void curve(plane *g, const double *v, int kind, int skip) {
    for (size_t i = 0; i < g->p->n; i++) {
        if (!isfinite(v[i]))
            continue;
        int x0 = dot_x(g, g->p->x[i]), y0 = dot_y(g, v[i]);
        dot(g, x0, y0, kind);
        if (i + 1 == g->p->n || !isfinite(v[i + 1]))
            continue;
        int x1 = dot_x(g, g->p->x[i + 1]), last = y0;
        for (int x = x0 + 1; x <= x1; x++) {
            double t = (double)(x - x0) / (x1 - x0);
            int y = dot_y(g, v[i] + t * (v[i + 1] - v[i]));
            int from = last < y ? last + 1 : y, to = last < y ? y : last - 1;
            for (int k = from > -1 ? from : -1; skip == 1 && k <= to; k++)
                dot(g, x, k, kind);
            if (x % skip == 0)
                dot(g, x, y, kind);
            last = y;
        }
    }
}

static uint32_t cell_char(const plane *g, int cx, int cy, int kind) {
    static const unsigned char braille[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    static const uint32_t quadrant[16] = {' ',    0x2598, 0x259d, 0x2580, 0x2596, 0x258c,
                                          0x259e, 0x259b, 0x2597, 0x259a, 0x2590, 0x259c,
                                          0x2584, 0x2599, 0x259f, 0x2588};
    unsigned bits = 0;
    for (int y = 0; y < g->dy; y++)
        for (int x = 0; x < g->dx; x++) {
            size_t at = (size_t)(cy * g->dy + y) * (size_t)g->w + (size_t)(cx * g->dx + x);
            if (g->dots[at] != kind)
                continue;
            bits |= g->dy == 4 ? braille[y][x] : 1u << (2 * y + x);
        }
    if (g->dy == 4)
        return 0x2800u + bits;
    if (g->dy == 2)
        return quadrant[bits];
    return kind == DOT_RATE ? '*' : '\'';
}

static void draw_dots(kr_canvas *c, const plane *g) {
    for (int cy = 0; cy < g->area.h; cy++)
        for (int cx = 0; cx < g->area.w; cx++) {
            int kind = 0;
            for (int k = 0; k < g->dx * g->dy; k++) {
                size_t at = (size_t)(cy * g->dy + k / g->dx) * (size_t)g->w +
                            (size_t)(cx * g->dx + k % g->dx);
                if (g->dots[at] > kind)
                    kind = g->dots[at];
            }
            if (kind > DOT_TARGET)
                kr_canvas_put(c, g->area, cx, cy, kind == DOT_RATE ? KR_ROLE_CURVE : KR_ROLE_UPPER,
                              cell_char(g, cx, cy, kind));
        }
}

static void draw_y_axis(kr_canvas *c, kr_rect r, const plane *g) {
    double step = kr_round_step(g->top, g->area.h >= 12 ? 5 : g->area.h >= 6 ? 3 : 2);
    for (int y = 0; y < g->area.h; y++)
        kr_canvas_put(c, r, AXIS_W - 1, y, KR_ROLE_FRAME, 0x2502);
    int places = step < 0.0099 ? (step < 0.00099 ? 2 : 1) : 0;
    if (fabs(step * 100 - round(step * 100)) > 1e-6 && places == 0)
        places = 1;
    for (int i = 0; i * step <= g->top * (1 + 1e-9); i++) {
        int y = (int)lround((1 - i * step / g->top) * (g->area.h - 1));
        char s[32];
        snprintf(s, sizeof s, "%.*f%%", places, 100 * i * step);
        kr_canvas_field(c, r, 0, y, AXIS_W - 1, KR_RIGHT, KR_ROLE_DIM, s);
        kr_canvas_put(c, r, AXIS_W - 1, y, KR_ROLE_FRAME, 0x2524);
    }
}

static void x_number(kr_canvas *c, kr_rect r, const plane *g, double x, int y, int *free_from) {
    char s[32];
    snprintf(s, sizeof s, "%g%s", x * g->p->x_scale, g->p->x_unit != NULL ? g->p->x_unit : "");
    int w = (int)strlen(s), at = g->area.x - r.x + dot_x(g, x) / g->dx - w / 2;
    int end = g->area.x - r.x + g->area.w;
    if (at + w > end)
        at = end - w;
    if (at < *free_from)
        return;
    kr_canvas_str(c, r, at, y, KR_ROLE_DIM, s);
    kr_canvas_put(c, r, g->area.x - r.x + dot_x(g, x) / g->dx, y - 1, KR_ROLE_FRAME, 0x252c);
    *free_from = at + w + 1;
}

static void draw_x_axis(kr_canvas *c, kr_rect r, const plane *g) {
    int y = g->area.h, free_from = AXIS_W - 3;
    kr_canvas_put(c, r, AXIS_W - 1, y, KR_ROLE_FRAME, 0x2514);
    for (int x = AXIS_W; x < r.w; x++)
        kr_canvas_put(c, r, x, y, KR_ROLE_FRAME, 0x2500);
    const kr_plot *p = g->p;
    double lo = fmin(p->x[0], p->x[p->n - 1]), hi = fmax(p->x[0], p->x[p->n - 1]);
    double step = p->x_step > 0 ? p->x_step : kr_round_step(hi - lo, g->area.w / 9 + 1);
    bool falls = p->x[0] > p->x[p->n - 1];
    long first = (long)ceil(lo / step - 1e-9), last = (long)floor(hi / step + 1e-9);
    if (last - first > 1000)
        return;
    for (long k = 0; k <= last - first; k++)
        x_number(c, r, g, (double)(falls ? last - k : first + k) * step, y + 1, &free_from);
}

static void draw_mark(kr_canvas *c, const plane *g, double x, char letter, uint32_t line,
                      kr_role role) {
    if (!isfinite(x))
        return;
    int cx = dot_x(g, x) / g->dx;
    for (int y = 1; y < g->area.h; y++)
        kr_canvas_put(c, g->area, cx, y, role, line);
    kr_canvas_put(c, g->area, cx, 0, role, (uint32_t)letter);
}

static void draw_focus(kr_canvas *c, const plane *g) {
    for (size_t i = 0; i < g->p->n; i++)
        if (g->p->x[i] == g->p->focus && isfinite(g->p->rate[i]) && g->p->rate[i] <= g->top)
            kr_canvas_put(c, g->area, dot_x(g, g->p->x[i]) / g->dx, dot_y(g, g->p->rate[i]) / g->dy,
                          KR_ROLE_TITLE, 0x25cf);
}

size_t kr_plot_draw(kr_canvas *c, kr_rect r, const kr_plot *p, kr_plot_alphabet alphabet) {
    size_t gaps = 0;
    for (size_t i = 0; i < p->n; i++)
        gaps += isfinite(p->rate[i]) ? 0 : 1;
    if (r.w < 20 || r.h < 5 || p->n == 0)
        return gaps;
    if (kr_canvas_look(c) == KR_LOOK_ASCII)
        alphabet = KR_PLOT_ASCII;
    plane g = {.area = {r.x + AXIS_W, r.y, r.w - AXIS_W, r.h - 2}, .p = p};
    g.dx = alphabet == KR_PLOT_ASCII ? 1 : 2;
    g.dy = alphabet == KR_PLOT_BRAILLE ? 4 : alphabet == KR_PLOT_BLOCK ? 2 : 1;
    g.w = g.area.w * g.dx;
    g.h = g.area.h * g.dy;
    g.top = p->ymax > 0 ? p->ymax : kr_plot_top(p);
    g.dots = calloc((size_t)g.w * (size_t)g.h, 1);
    if (g.dots == NULL)
        return gaps;
    draw_y_axis(c, r, &g);
    draw_x_axis(c, r, &g);
    int ty = dot_y(&g, p->target) / g.dy;
    for (int x = 0; p->target <= g.top && x < g.area.w; x++)
        kr_canvas_put(c, g.area, x, ty, KR_ROLE_TARGET, 0x254c);
    draw_mark(c, &g, p->emp, 'E', 0x250a, KR_ROLE_EMP);
    draw_mark(c, &g, p->cert, 'C', 0x2502, KR_ROLE_CERT);
    if (p->cert == p->emp)
        kr_canvas_put(c, g.area, dot_x(&g, p->emp) / g.dx + 1, 0, KR_ROLE_EMP, 'E');
    if (p->upper != NULL)
        curve(&g, p->upper, DOT_UPPER, alphabet == KR_PLOT_ASCII ? 2 : 3);
    curve(&g, p->rate, DOT_RATE, 1);
    draw_dots(c, &g);
    draw_focus(c, &g);
    free(g.dots);
    return gaps;
}
