/* plot.h - risk curves in characters: braille, quadrant blocks, or plain ASCII. */
#ifndef KR_UI_PLOT_H
#define KR_UI_PLOT_H

#include "ui/canvas.h"

typedef enum { KR_PLOT_BLOCK, KR_PLOT_BRAILLE, KR_PLOT_ASCII, KR_PLOT_ALPHABETS } kr_plot_alphabet;

typedef struct {
    const char *label;
    double x;
} kr_plot_tick;

typedef struct {
    size_t n;             /* points, in the order of the axis */
    const double *x;      /* [n] strictly monotone; left is x[0], right is x[n-1] */
    const double *rate;   /* [n] share 0..1; NaN or infinite: a gap */
    const double *upper;  /* [n] likewise, or NULL */
    double target;        /* horizontal line */
    double cert, emp;     /* x of the marks C and E; NaN: none */
    double focus;         /* x of a hollow mark on the rate; NaN: none */
    double ymax;          /* top of the axis; <= 0: chosen from the data */
    const char *x_unit;   /* after the last number of the axis, or NULL */
    double x_scale;       /* numbers on the axis are x times this */
    double x_step;        /* between numbered ticks; 0: chosen */
} kr_plot;

/* Top of the axis that shows the data with the target in its lower half when there is room for
 * both; a round number. */
double kr_plot_top(const kr_plot *p);

/* Draws axes with round ticks, curves, target line and marks. Returns the points left out because
 * they were not finite. Too small a rectangle (under 20x5) draws nothing. */
size_t kr_plot_draw(kr_canvas *c, kr_rect r, const kr_plot *p, kr_plot_alphabet alphabet);

const char *kr_plot_alphabet_name(kr_plot_alphabet a);
bool kr_plot_alphabet_find(const char *name, kr_plot_alphabet *out);

#endif
