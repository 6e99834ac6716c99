/* theme.h - what each part of a screen means, and how a theme shows it. */
#ifndef KR_UI_THEME_H
#define KR_UI_THEME_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    KR_ROLE_TEXT,
    KR_ROLE_DIM,      /* labels, secondary words */
    KR_ROLE_FRAME,    /* lines of panes */
    KR_ROLE_TITLE,    /* titles of panes, names */
    KR_ROLE_VALUE,    /* numbers that matter */
    KR_ROLE_FOCUS,    /* the field that keys change */
    KR_ROLE_CERT,     /* certified */
    KR_ROLE_FALL,     /* full-KV fallback, violations */
    KR_ROLE_EMP,      /* empirical choice, without guarantee */
    KR_ROLE_TARGET,   /* the risk target */
    KR_ROLE_UPPER,    /* upper bounds */
    KR_ROLE_WARN,     /* warnings, WHAT-IF */
    KR_ROLE_ERROR,
    KR_ROLE_KEY,      /* names of keys */
    KR_ROLE_TAB,      /* the open screen's tab */
    KR_ROLE_CURVE,    /* the rate curve, bars */
    KR_ROLE_HEAT0,    /* ten shades, keeps much .. keeps little */
    KR_ROLE_HEAT9 = KR_ROLE_HEAT0 + 9,
    KR_ROLE_COUNT
} kr_role;

typedef enum { KR_THEME_DEFAULT, KR_THEME_LIGHT, KR_THEME_DARK, KR_THEME_CONTRAST, KR_THEME_MONO,
               KR_THEME_COUNT } kr_theme;

/* Colours that the terminal can show; chosen from its number of colours. */
typedef enum { KR_DEPTH_MONO, KR_DEPTH_8, KR_DEPTH_256 } kr_depth;

enum { KR_ATTR_BOLD = 1, KR_ATTR_DIM = 2, KR_ATTR_REVERSE = 4, KR_ATTR_UNDERLINE = 8 };

/* fg, bg: an index of the 256- or 8-colour palette, -1 the terminal's own. */
typedef struct {
    short fg, bg;
    unsigned attr;
} kr_style;

/* The style of a cell; `picked` is the selected row. Pure. */
kr_style kr_theme_style(kr_theme theme, kr_depth depth, kr_role role, bool picked);

const char *kr_theme_name(kr_theme theme);
/* False when no theme has that name. */
bool kr_theme_find(const char *name, kr_theme *out);
/* One letter per role for dumps: '.' text, '0'..'9' the shades. */
char kr_role_letter(kr_role role);
kr_depth kr_depth_of(int colors);

/* Relative luminance (0..1, WCAG 2.1) of an index of the xterm 256-colour palette; the sixteen
 * lowest as xterm's defaults. */
double kr_palette_luminance(int index);
/* Contrast ratio (1..21, WCAG 2.1) of two indices. */
double kr_palette_contrast(int a, int b);

#endif
