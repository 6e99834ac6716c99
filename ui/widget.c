#include "ui/widget.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_TEXT = 256 };

/* As much of s as fits w columns: its first parts, which ", " or two blanks keep apart, else its first
 * words with a mark where something is left out. */
static void whole_words(const char *s, int w, char out[WORDS_TEXT]) {
    int used = 0;
    size_t part = 0, word = 0; /* a word longer than half of the room is cut itself */
    snprintf(out, WORDS_TEXT, "%s", s);
    if (kr_text_width(s) <= w)
        return;
    for (size_t at = 0; s[at] != '\0' && at < WORDS_TEXT - 4 && used <= w;) {
        uint32_t cp;
        size_t n = (size_t)kr_text_next(s + at, &cp);
        if (at > 0 && (strncmp(s + at, ", ", 2) == 0 || strncmp(s + at, "  ", 2) == 0))
            part = at;
        if (s[at] == ' ' && used + 2 <= w)
            word = 2 * used >= w ? at + 1 : 0;
        used += kr_text_width(s + at) - kr_text_width(s + at + n);
        at += n;
    }
    if (part > 0)
        out[part] = '\0';
    else if (word > 0)
        snprintf(out + word, WORDS_TEXT - word, "…");
}

/* Titles give way to the note's right when both do not fit; a frame is never broken. */
static void line_texts(kr_canvas *c, kr_rect r, int y, const char *title, const char *note) {
    int room = r.w - 6;
    if (room < 4)
        return;
    int tw = title != NULL ? kr_text_width(title) : 0;
    int nw = note != NULL ? kr_text_width(note) : 0;
    if (tw + nw + 3 > room && nw > 0)
        nw = room - tw - 3 >= 8 ? room - tw - 3 : 0;
    if (tw > room)
        tw = room;
    if (tw > 0) {
        kr_canvas_put(c, r, 2, y, KR_ROLE_FRAME, ' ');
        kr_canvas_field(c, r, 3, y, tw, KR_LEFT, KR_ROLE_TITLE, title);
        kr_canvas_put(c, r, 3 + tw, y, KR_ROLE_FRAME, ' ');
    }
    if (nw > 0) {
        char words[WORDS_TEXT];
        whole_words(note, nw, words);
        nw = kr_text_width(words) < nw ? kr_text_width(words) : nw;
        kr_canvas_put(c, r, r.w - 4 - nw, y, KR_ROLE_FRAME, ' ');
        kr_canvas_field(c, r, r.w - 3 - nw, y, nw, KR_LEFT, KR_ROLE_DIM, words);
        kr_canvas_put(c, r, r.w - 3, y, KR_ROLE_FRAME, ' ');
    }
}

static void rule(kr_canvas *c, kr_rect r, int y, uint32_t left, uint32_t right) {
    kr_canvas_put(c, r, 0, y, KR_ROLE_FRAME, left);
    for (int x = 1; x < r.w - 1; x++)
        kr_canvas_put(c, r, x, y, KR_ROLE_FRAME, 0x2500);
    kr_canvas_put(c, r, r.w - 1, y, KR_ROLE_FRAME, right);
}

kr_rect kr_frame(kr_canvas *c, kr_rect r, const char *title, const char *note) {
    if (r.w < 4 || r.h < 2)
        return (kr_rect){r.x, r.y, 0, 0};
    rule(c, r, 0, 0x256d, 0x256e);
    rule(c, r, r.h - 1, 0x2570, 0x256f);
    for (int y = 1; y < r.h - 1; y++) {
        kr_canvas_put(c, r, 0, y, KR_ROLE_FRAME, 0x2502);
        kr_canvas_put(c, r, r.w - 1, y, KR_ROLE_FRAME, 0x2502);
    }
    line_texts(c, r, 0, title, note);
    return kr_rect_inset(r, 2, 1);
}

void kr_frame_divider(kr_canvas *c, kr_rect frame, int y, const char *title, const char *note) {
    if (y < 0 || y >= frame.h - 1 || frame.w < 4)
        return;
    if (y > 0)
        rule(c, frame, y, 0x251c, 0x2524);
    line_texts(c, frame, y, title, note);
}

void kr_bar(kr_canvas *c, kr_rect r, int x, int y, int w, double share, kr_role role) {
    if (!(share > 0) || w <= 0)
        return;
    int eighths = (int)lround((share < 1 ? share : 1) * 8 * w);
    if (eighths < 1)
        eighths = 1;
    if (kr_canvas_look(c) == KR_LOOK_ASCII) {
        int n = (eighths + 4) / 8;
        for (int i = 0; i < (n > 0 ? n : 1); i++)
            kr_canvas_put(c, r, x + i, y, role, '#');
        return;
    }
    for (int i = 0; i < eighths / 8; i++)
        kr_canvas_put(c, r, x + i, y, role, 0x2588);
    if (eighths % 8 != 0)
        kr_canvas_put(c, r, x + eighths / 8, y, role, 0x2590u - (uint32_t)(eighths % 8));
}

static uint32_t strip_mark(const kr_canvas *c, kr_strip_cell k) {
    bool ascii = kr_canvas_look(c) == KR_LOOK_ASCII;
    if (!k.full && !isfinite(k.share))
        return ascii ? '+' : 0x2592;
    if (ascii)
        return k.full ? 'F' : (uint32_t)('0' + (int)(k.share * 10 < 9 ? k.share * 10 + 1e-9 : 9));
    if (k.full)
        return 0x2588;
    int step = (int)ceil(k.share * 7 - 1e-9);
    return 0x2580u + (uint32_t)(step < 1 ? 1 : step > 7 ? 7 : step);
}

void kr_strip(kr_canvas *c, kr_rect r, int x, int y, int n, const kr_strip_cell *cells, int mark,
              bool focused) {
    for (int i = 0; i < n; i++) {
        if (i == mark)
            kr_canvas_put(c, r, x + i, y, focused ? KR_ROLE_FOCUS : KR_ROLE_TITLE, 0x2503);
        else if (cells[i].known)
            kr_canvas_put(c, r, x + i, y, cells[i].full ? KR_ROLE_FALL : KR_ROLE_CERT,
                          strip_mark(c, cells[i]));
    }
}

static int scaled(double v, double max, int w) {
    double at = max > 0 && v > 0 ? v / max * (w - 1) : 0;
    return at >= w - 1 ? w - 1 : (int)lround(at);
}

void kr_interval(kr_canvas *c, kr_rect r, int x, int y, int w, double lo, double point, double hi,
                 double target, double max, kr_role role) {
    if (w < 3 || !isfinite(lo) || !isfinite(point) || !isfinite(hi))
        return;
    for (int i = scaled(lo, max, w); i <= scaled(hi, max, w); i++)
        kr_canvas_put(c, r, x + i, y, role, 0x2500);
    if (hi > max)
        kr_canvas_put(c, r, x + w - 1, y, role, 0x2192);
    if (target <= max)
        kr_canvas_put(c, r, x + scaled(target, max, w), y, KR_ROLE_TARGET, 0x254e);
    kr_canvas_put(c, r, x + scaled(point, max, w), y, role, 0x25cf);
}

int kr_heat_step(double share) {
    int step = (int)floor((1 - share) * 10 + 1e-9);
    return step < 0 ? 0 : step > 9 ? 9 : step;
}

char kr_heat_mark(int step) { return " .:-=+*#%@"[step < 0 ? 0 : step > 9 ? 9 : step]; }

int kr_list_top(int n, int h, int at, int top) {
    if (h <= 0 || n <= h)
        return 0;
    if (at < top)
        top = at;
    if (at >= top + h)
        top = at - h + 1;
    return top < 0 ? 0 : top > n - h ? n - h : top;
}

void kr_scrollbar(kr_canvas *c, kr_rect r, int n, int top) {
    if (n <= r.h || r.h < 2)
        return;
    int size = (int)((long)r.h * r.h / n);
    if (size < 1)
        size = 1;
    int at = (int)((long)top * (r.h - size) / (n - r.h));
    uint32_t thumb = kr_canvas_look(c) == KR_LOOK_ASCII ? '#' : 0x2503; /* both lines would be '|' */
    for (int y = 0; y < r.h; y++)
        kr_canvas_put(c, r, r.w - 1, y, KR_ROLE_FRAME, y >= at && y < at + size ? thumb : 0x2502);
}

double kr_round_step(double hi, int max_ticks) {
    static const double nice[] = {1, 2, 2.5, 5, 10};
    if (!(hi > 0) || !isfinite(hi) || max_ticks < 1)
        return 1;
    double base = pow(10, floor(log10(hi / max_ticks)));
    for (size_t i = 0; i < sizeof nice / sizeof *nice; i++)
        if (nice[i] * base * max_ticks >= hi * (1 - 1e-9))
            return nice[i] * base;
    return 10 * base;
}
