/* term.h - the terminal: the only part that talks to curses. */
#ifndef KR_UI_TERM_H
#define KR_UI_TERM_H

#include <stdbool.h>

#include "base/status.h"
#include "ui/canvas.h"

typedef enum { KR_COLOR_AUTO, KR_COLOR_ALWAYS, KR_COLOR_NEVER } kr_color;

typedef enum {
    KR_EVENT_NONE,      /* the time is over */
    KR_EVENT_KEY,       /* key: a code point or KR_KEY_... of keys.h */
    KR_EVENT_MOUSE,     /* key: KR_KEY_CLICK, _WHEEL_UP, _WHEEL_DOWN at x, y */
    KR_EVENT_RESIZE,    /* w, h */
    KR_EVENT_RESUME,    /* back from a stop: draw everything */
    KR_EVENT_JOB,       /* the watched descriptor can be read or is closed */
    KR_EVENT_INTERRUPT, /* Ctrl-C */
    KR_EVENT_END        /* told to end, or the terminal is gone; signal: its number or 0 */
} kr_event_kind;

typedef struct {
    kr_event_kind kind;
    int key, x, y, w, h, signal;
} kr_event;

/* Takes the terminal over. `ascii` forces the ASCII look. While it is open, standard error (when
 * it is the terminal) goes to `log_path`, or nowhere when that is NULL or cannot be opened.
 * KR_EINVAL with one sentence when there is no terminal, its type is unknown, or it cannot move its
 * cursor; nothing is changed then. */
kr_status kr_term_open(kr_color color, bool ascii, const char *log_path, kr_error *err);
/* Whether there is a terminal at all, before anything is loaded. */
kr_status kr_term_check(kr_error *err);
/* Gives the terminal back as it was. Harmless when not open. */
void kr_term_close(void);

kr_look kr_term_look(void);
kr_depth kr_term_depth(void);
int kr_term_colors(void);
void kr_term_size(int *w, int *h);
/* Draws all cells and leaves the cursor at cx, cy, where screen readers look. `whole` repaints the
 * terminal from nothing. */
void kr_term_draw(const kr_canvas *c, kr_theme theme, int cx, int cy, bool whole);
/* Waits for one event; job_fd may be -1; timeout_ms < 0 waits for ever. */
kr_event kr_term_wait(int job_fd, int timeout_ms);
void kr_term_mouse(bool on);

#endif
