#include "ui/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uninorm.h>
#include <unistr.h>
#include <uniwidth.h>

enum { MAX_SIDE = 1000, ELLIPSIS = 0x2026 };

struct kr_canvas {
    int w, h;
    kr_look look;
    kr_cell *cells; /* [h][w] */
};

static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

kr_canvas *kr_canvas_new(int w, int h, kr_look look) {
    kr_canvas *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->w = clamp(w, 1, MAX_SIDE);
    c->h = clamp(h, 1, MAX_SIDE);
    c->look = look;
    c->cells = calloc((size_t)c->w * (size_t)c->h, sizeof *c->cells);
    if (c->cells == NULL) {
        free(c);
        return NULL;
    }
    kr_canvas_clear(c);
    return c;
}

void kr_canvas_free(kr_canvas *c) {
    if (c == NULL)
        return;
    free(c->cells);
    free(c);
}

int kr_canvas_w(const kr_canvas *c) { return c->w; }
int kr_canvas_h(const kr_canvas *c) { return c->h; }
kr_look kr_canvas_look(const kr_canvas *c) { return c->look; }
kr_rect kr_canvas_rect(const kr_canvas *c) { return (kr_rect){0, 0, c->w, c->h}; }

static kr_cell *cell(const kr_canvas *c, int x, int y) {
    return &c->cells[(size_t)y * (size_t)c->w + (size_t)x];
}

const kr_cell *kr_canvas_at(const kr_canvas *c, int x, int y) {
    return x < 0 || y < 0 || x >= c->w || y >= c->h ? NULL : cell(c, x, y);
}

void kr_canvas_clear(kr_canvas *c) {
    for (int y = 0; y < c->h; y++)
        for (int x = 0; x < c->w; x++)
            *cell(c, x, y) = (kr_cell){' ', KR_ROLE_TEXT, 0};
}

kr_rect kr_rect_inset(kr_rect r, int dx, int dy) {
    kr_rect in = {r.x + dx, r.y + dy, r.w - 2 * dx, r.h - 2 * dy};
    if (in.w < 0)
        in.w = 0;
    if (in.h < 0)
        in.h = 0;
    return in;
}

/* Bidirectional controls reorder the rest of a line, so text could show what it does not say. */
static bool is_unsafe(ucs4_t cp) {
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0xad || cp == 0x61c ||
           (cp >= 0x200b && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202e) ||
           (cp >= 0x2060 && cp <= 0x206f) || cp == 0xfeff || cp == 0xfffd;
}

static int decode(const char *s, ucs4_t *u) {
    return u8_mbtoucr(u, (const uint8_t *)s, strnlen(s, 4));
}

static bool combines(ucs4_t u) { return !is_unsafe(u) && uc_width(u, "UTF-8") == 0; }

/* Marks join their base where there is a character for both, else they are left out: a cell holds
 * one character. */
int kr_text_next(const char *s, uint32_t *cp) {
    ucs4_t u, mark;
    int used = decode(s, &u), n;
    if (used <= 0) {
        *cp = '?';
        return 1;
    }
    bool plain = !is_unsafe(u) && uc_width(u, "UTF-8") >= 1;
    while (s[used] != '\0' && (n = decode(s + used, &mark)) > 0 && combines(mark)) {
        ucs4_t both = plain ? uc_composition(u, mark) : 0;
        u = both != 0 ? both : u;
        used += n;
    }
    *cp = plain ? u : '?';
    return used;
}

int kr_text_width(const char *s) {
    int w = 0;
    while (*s != '\0') {
        uint32_t cp;
        s += kr_text_next(s, &cp);
        w += uc_width(cp, "UTF-8");
    }
    return w;
}

/* Stand-ins for what the screens themselves draw; anything else becomes '?'. */
static const struct {
    uint32_t cp;
    char ascii;
} stand_ins[] = {
    {0x00a0, ' '}, {0x00b1, '~'},   {0x00b7, '.'},  {0x00d7, 'x'},  {0x03b4, 'd'},  {0x03b5, 'e'},
    {0x03c4, 't'}, {0x2013, '-'},   {0x2014, '-'},  {0x2018, '\''}, {0x2019, '\''}, {0x201c, '"'},
    {0x201d, '"'}, {ELLIPSIS, '~'}, {0x2190, '<'},  {0x2191, '^'},  {0x2192, '>'},  {0x2193, 'v'},
    {0x2212, '-'}, {0x2248, '~'},   {0x2264, '<'},  {0x2265, '>'},  {0x2500, '-'},  {0x2501, '='},
    {0x2502, '|'}, {0x2503, '|'},   {0x2504, '\''}, {0x250a, '.'},  {0x250c, '+'},  {0x2510, '+'},
    {0x2514, '+'}, {0x2518, '+'},   {0x251c, '+'},  {0x2524, '+'},  {0x252c, '+'},  {0x2534, '+'},
    {0x253c, '+'}, {0x254c, '-'},   {0x254e, ':'},  {0x256d, '+'},  {0x256e, '+'},  {0x256f, '+'},
    {0x2570, '+'}, {0x2588, '#'},   {0x2590, '['},  {0x258c, ']'},  {0x2589, '#'},  {0x258a, '#'},
    {0x258b, '#'}, {0x258d, ' '},   {0x258e, ' '},  {0x258f, ' '},  {0x25b4, '^'},  {0x25b8, '>'},
    {0x25be, 'v'}, {0x25c2, '<'},   {0x25cb, 'o'},  {0x25cf, '*'},  {0x2713, '+'},  {0x2714, '+'},
    {0x2717, 'x'}, {0x2718, 'x'},   {0x2581, '.'},  {0x2582, ':'},  {0x2583, '-'},  {0x2584, '='},
    {0x2585, '+'}, {0x2586, '*'},   {0x2587, '%'},
};

static uint32_t to_ascii(uint32_t cp) {
    if (cp < 0x80)
        return cp;
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++)
        if (stand_ins[i].cp == cp)
            return (uint32_t)stand_ins[i].ascii;
    return '?';
}

static bool inside(const kr_canvas *c, kr_rect r, int x, int y) {
    int cx = r.x + x, cy = r.y + y;
    return x >= 0 && y >= 0 && x < r.w && y < r.h && cx >= 0 && cy >= 0 && cx < c->w && cy < c->h;
}

/* Overwriting one half of a wide character must not leave the other half. */
static void set(kr_canvas *c, int x, int y, kr_cell v) {
    kr_cell *old = cell(c, x, y);
    if (old->cp == 0 && x > 0)
        cell(c, x - 1, y)->cp = ' ';
    if (x + 1 < c->w && cell(c, x + 1, y)->cp == 0 && v.cp != 0)
        cell(c, x + 1, y)->cp = ' ';
    *old = v;
}

int kr_canvas_put(kr_canvas *c, kr_rect r, int x, int y, kr_role role, uint32_t cp) {
    int width = uc_width(cp, "UTF-8");
    if (is_unsafe(cp) || width < 1) {
        cp = '?';
        width = 1;
    }
    uint32_t first = c->look == KR_LOOK_ASCII ? to_ascii(cp) : cp;
    bool fits = inside(c, r, x, y) && (width == 1 || inside(c, r, x + 1, y));
    if (fits) {
        set(c, r.x + x, r.y + y, (kr_cell){first, (uint8_t)role, 0});
        if (width == 2)
            set(c, r.x + x + 1, r.y + y,
                (kr_cell){c->look == KR_LOOK_ASCII ? ' ' : 0, (uint8_t)role, 0});
    } else if (inside(c, r, x, y)) {
        set(c, r.x + x, r.y + y, (kr_cell){'?', (uint8_t)role, 0});
    }
    return width;
}

/* Draws at most `room` columns of s; returns the columns drawn. */
static int put_some(kr_canvas *c, kr_rect r, int x, int y, int room, kr_role role, const char *s) {
    int used = 0;
    while (*s != '\0') {
        uint32_t cp;
        s += kr_text_next(s, &cp);
        if (used + uc_width(cp, "UTF-8") > room)
            break;
        used += kr_canvas_put(c, r, x + used, y, role, cp);
    }
    return used;
}

int kr_canvas_str(kr_canvas *c, kr_rect r, int x, int y, kr_role role, const char *s) {
    return put_some(c, r, x, y, 1 << 20, role, s);
}

int kr_canvas_text(kr_canvas *c, kr_rect r, int x, int y, kr_role role, const char *fmt, ...) {
    char buf[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    return kr_canvas_str(c, r, x, y, role, buf);
}

int kr_text_whole(const char *s, int bytes) {
    int n = (int)strnlen(s, (size_t)bytes + 1);
    if (n <= bytes)
        return n;
    while (bytes > 0 && ((unsigned char)s[bytes] & 0xc0) == 0x80)
        bytes--;
    return bytes;
}

kr_short kr_text_short(const char *s, int bytes) {
    static const char mark[] = "…";
    kr_short out;
    bool whole = (int)strnlen(s, (size_t)bytes + 1) <= bytes;
    int n = kr_text_whole(s, whole ? bytes : bytes - (int)sizeof mark + 1);
    snprintf(out.s, sizeof out.s, "%.*s%s", n, s, whole ? "" : mark);
    return out;
}

void kr_canvas_field(kr_canvas *c, kr_rect r, int x, int y, int w, kr_align align, kr_role role,
                     const char *s) {
    if (w <= 0)
        return;
    int need = kr_text_width(s);
    int lead = need >= w            ? 0
               : align == KR_RIGHT  ? w - need
               : align == KR_CENTRE ? (w - need) / 2
                                    : 0;
    for (int i = 0; i < lead; i++)
        kr_canvas_put(c, r, x + i, y, role, ' ');
    int used = lead + put_some(c, r, x + lead, y, need > w ? w - 1 : w, role, s);
    if (need > w)
        used += kr_canvas_put(c, r, x + used, y, role, ELLIPSIS);
    for (; used < w; used++)
        kr_canvas_put(c, r, x + used, y, role, ' ');
}

/* Bytes of the next line of s that fit w columns; at least one character. A number and its percent
 * sign stay together. */
static size_t line_bytes(const char *s, int w) {
    int used = 0;
    size_t at = 0, blank = 0;
    while (s[at] != '\0' && s[at] != '\n') {
        uint32_t cp;
        size_t n = (size_t)kr_text_next(s + at, &cp);
        int cw = uc_width(cp, "UTF-8");
        if (cp == ' ' && s[at + n] != '%')
            blank = at;
        if (used + cw > w && at > 0)
            return cp == ' ' && s[at + n] != '%' ? at : blank > 0 ? blank : at;
        used += cw;
        at += n;
    }
    return at;
}

int kr_canvas_wrap(kr_canvas *c, kr_rect r, kr_role role, const char *s) {
    int line = 0;
    if (r.w <= 0)
        return 0;
    while (*s != '\0') {
        size_t n = line_bytes(s, r.w);
        char buf[1024];
        snprintf(buf, sizeof buf, "%.*s", (int)n, s);
        if (c != NULL)
            kr_canvas_str(c, r, 0, line, role, buf);
        line++;
        s += n;
        while (*s == ' ' || *s == '\n')
            s++;
    }
    return line;
}

void kr_canvas_role(kr_canvas *c, kr_rect r, kr_role role) {
    for (int y = 0; y < r.h; y++)
        for (int x = 0; x < r.w; x++)
            if (inside(c, r, x, y))
                cell(c, r.x + x, r.y + y)->role = (uint8_t)role;
}

void kr_canvas_pick(kr_canvas *c, kr_rect r) {
    for (int y = 0; y < r.h; y++)
        for (int x = 0; x < r.w; x++)
            if (inside(c, r, x, y))
                cell(c, r.x + x, r.y + y)->picked = 1;
}

char *kr_canvas_dump(const kr_canvas *c) {
    char *s = malloc((size_t)c->h * ((size_t)c->w * 4 + 1) + 1);
    if (s == NULL)
        return NULL;
    char *p = s;
    for (int y = 0; y < c->h; y++) {
        char *end = p;
        for (int x = 0; x < c->w; x++) {
            uint32_t cp = cell(c, x, y)->cp;
            if (cp == 0)
                continue;
            p += u8_uctomb((uint8_t *)p, cp, 4);
            if (cp != ' ')
                end = p;
        }
        p = end;
        *p++ = '\n';
    }
    *p = '\0';
    return s;
}

char *kr_canvas_dump_roles(const kr_canvas *c) {
    char *s = malloc((size_t)c->h * ((size_t)c->w + 1) + 1);
    if (s == NULL)
        return NULL;
    char *p = s;
    for (int y = 0; y < c->h; y++) {
        char *end = p;
        for (int x = 0; x < c->w; x++) {
            const kr_cell *k = cell(c, x, y);
            char letter = kr_role_letter((kr_role)k->role);
            bool blank = k->cp == ' ' && (letter == '.' || letter < '0' || letter > '9');
            *p++ = k->picked ? '>' : blank ? ' ' : letter;
            if (p[-1] != ' ')
                end = p;
        }
        p = end;
        *p++ = '\n';
    }
    *p = '\0';
    return s;
}
