/* canvas.h - a grid of character cells that screens draw into. Knows nothing of terminals. */
#ifndef KR_UI_CANVAS_H
#define KR_UI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/theme.h"

/* What the other side can show. ASCII replaces every other character by a stand-in or '?'. */
typedef enum { KR_LOOK_ASCII, KR_LOOK_UTF8 } kr_look;

typedef enum { KR_LEFT, KR_RIGHT, KR_CENTRE } kr_align;

typedef struct {
    int x, y, w, h; /* w or h <= 0: empty, everything is clipped away */
} kr_rect;

typedef struct {
    uint32_t cp;   /* 0: right half of the wide character to the left */
    uint8_t role;  /* kr_role */
    uint8_t picked; /* part of the selected row or cell */
} kr_cell;

typedef struct kr_canvas kr_canvas;

/* NULL when out of memory; sizes below 1 become 1, above 1000 become 1000. */
kr_canvas *kr_canvas_new(int w, int h, kr_look look);
void kr_canvas_free(kr_canvas *c); /* NULL is allowed */
int kr_canvas_w(const kr_canvas *c);
int kr_canvas_h(const kr_canvas *c);
kr_look kr_canvas_look(const kr_canvas *c);
kr_rect kr_canvas_rect(const kr_canvas *c);
/* Borrowed; NULL outside the grid. */
const kr_cell *kr_canvas_at(const kr_canvas *c, int x, int y);
void kr_canvas_clear(kr_canvas *c);

/* All drawing takes positions relative to `r` and clips to it. UTF-8 is decoded here, without the
 * locale; control characters, bidirectional controls, zero-width characters and invalid bytes
 * become '?'. Each returns the columns the text takes, clipped or not. */
int kr_canvas_put(kr_canvas *c, kr_rect r, int x, int y, kr_role role, uint32_t cp);
int kr_canvas_str(kr_canvas *c, kr_rect r, int x, int y, kr_role role, const char *s);
int kr_canvas_text(kr_canvas *c, kr_rect r, int x, int y, kr_role role, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* Exactly `w` columns: padded with blanks, or cut with an ellipsis (from the right). */
void kr_canvas_field(kr_canvas *c, kr_rect r, int x, int y, int w, kr_align align, kr_role role,
                     const char *s);
/* Draws `s` broken at blanks into at most r.h lines; returns the lines needed for all of it.
 * With c == NULL only counts. */
int kr_canvas_wrap(kr_canvas *c, kr_rect r, kr_role role, const char *s);
void kr_canvas_role(kr_canvas *c, kr_rect r, kr_role role);
void kr_canvas_pick(kr_canvas *c, kr_rect r);

/* Columns of a UTF-8 string as drawn. */
int kr_text_width(const char *s);
/* Decodes one character at `s` (not at its NUL), with the combining marks after it, as it will be
 * drawn; returns the bytes used. */
int kr_text_next(const char *s, uint32_t *cp);

/* Bytes of the whole characters in the first `bytes` of s. */
int kr_text_whole(const char *s, int bytes);
typedef struct {
    char s[256];
} kr_short;
/* s in at most `bytes` (below 256), its end left out at a character and marked. */
kr_short kr_text_short(const char *s, int bytes);

/* Rows joined by '\n', trailing blanks removed; roles as letters ('.' for plain text) or dropped.
 * Caller frees; NULL when out of memory. */
char *kr_canvas_dump(const kr_canvas *c);
char *kr_canvas_dump_roles(const kr_canvas *c);

kr_rect kr_rect_inset(kr_rect r, int dx, int dy);

#endif
