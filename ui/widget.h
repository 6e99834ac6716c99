/* widget.h - the parts that screens are made of: frames, bars, strips, intervals, list windows. */
#ifndef KR_UI_WIDGET_H
#define KR_UI_WIDGET_H

#include "ui/canvas.h"

/* Box with a title at the left and a note at the right of its top line (either may be NULL).
 * Returns the inside with one blank column on both sides; empty when `r` is too small. */
kr_rect kr_frame(kr_canvas *c, kr_rect r, const char *title, const char *note);
/* A line across a frame at row y (relative to the frame's rectangle), with texts as above; at
 * row 0 only the texts. */
void kr_frame_divider(kr_canvas *c, kr_rect frame, int y, const char *title, const char *note);

/* Bar of `w` columns filled by `share` (clamped to 0..1), in eighths of a column; a value above 0
 * shows at least its thinnest mark. */
void kr_bar(kr_canvas *c, kr_rect r, int x, int y, int w, double share, kr_role role);

/* One column of a strip: the share kept there. */
typedef struct {
    double share;   /* 0 < share <= 1; NAN: certified at a level whose share is not known */
    bool full;      /* fallback to full KV: drawn as a whole block in the fallback's colour */
    bool known;     /* false: nothing drawn */
} kr_strip_cell;

/* Strip of n columns, height = share kept, a shade where the share is not known; ASCII shows the
 * tens digit, F for full KV, + for the shade. `mark` is the column of the present value, -1 none. */
void kr_strip(kr_canvas *c, kr_rect r, int x, int y, int n, const kr_strip_cell *cells, int mark,
              bool focused);

/* Interval lo..hi with its point on a scale 0..max over w columns, and the target as a mark. The
 * point's role tells what is said of it. */
void kr_interval(kr_canvas *c, kr_rect r, int x, int y, int w, double lo, double point, double hi,
                 double target, double max, kr_role role);

/* Shade 0..9 of a share kept: 0 keeps more than 90 %, 9 keeps 10 % or less; and its ASCII mark. */
int kr_heat_step(double share);
char kr_heat_mark(int step);

/* First visible row of a list of `n` rows through a window of `h` that must show `at`, moving as
 * little as possible from `top`. */
int kr_list_top(int n, int h, int at, int top);
/* Position mark at the right edge of a list that does not fit. */
void kr_scrollbar(kr_canvas *c, kr_rect r, int n, int top);

/* Round steps (1, 2, 2.5, 5 x 10^k) so that at most `max_ticks` + 1 ticks cover 0..hi. */
double kr_round_step(double hi, int max_ticks);

#endif
