/* app.h - the whole interface without a terminal: a key changes the state, the state is drawn into
 * a canvas. Used by the terminal loop, by --print and by tests. */
#ifndef KR_UI_APP_H
#define KR_UI_APP_H

#include <stdbool.h>

#include "base/status.h"
#include "ui/canvas.h"
#include "ui/keys.h"
#include "ui/plot.h"
#include "verdict/verdict.h"

typedef struct kr_app kr_app;

typedef struct {
    kr_look look;
    kr_theme theme;
    kr_plot_alphabet alphabet;
    bool mouse;
} kr_app_settings;

/* Reads the calibration file and shows Main. Errors are those of loading. Caller frees. */
kr_status kr_app_open(const char *path, kr_app_settings settings, kr_app **out, kr_error *err);
/* The same on another split, or vouching for independence. */
kr_status kr_app_open_with(const char *path, kr_analysis_options options, kr_app_settings settings,
                           kr_app **out, kr_error *err);
void kr_app_free(kr_app *a); /* NULL is allowed */

void kr_app_resize(kr_app *a, int w, int h);
void kr_app_key(kr_app *a, int key);
/* Keys of a string of plain characters, '\n' being Enter. */
void kr_app_type(kr_app *a, const char *keys);
/* KR_KEY_CLICK or a wheel key at a cell. */
void kr_app_mouse(kr_app *a, int key, int x, int y);
/* Ctrl-C: as q, and a second one leaves without asking. */
void kr_app_interrupt(kr_app *a);
/* Looks whether the file changed on disk; true when something new must be drawn. */
bool kr_app_tick(kr_app *a);

/* With very many requests, work that goes through all of them is put off until the frame after a
 * key, so that no key waits for it; panes say so meanwhile. True while there is such work. */
bool kr_app_waiting(const kr_app *a);
void kr_app_settle(kr_app *a); /* does it */
void kr_app_finish(kr_app *a); /* waits for the end of a simulation */

/* A simulation runs on threads, re-evaluation in children. While there are any children: the descriptor to wait on (one of them; -1
 * none, then wait no longer than some hundredths of a second), and what reads them without
 * blocking; true when something new must be drawn. */
bool kr_app_busy(const kr_app *a);
int kr_app_job_fd(const kr_app *a);
bool kr_app_hear(kr_app *a);
void kr_app_wait(kr_app *a); /* until all have ended */

void kr_app_show(kr_app *a, kr_screen screen);
kr_screen kr_app_screen(const kr_app *a);
/* Draws into a canvas of the app's size; *cx, *cy: where the cursor belongs. */
void kr_app_view(kr_app *a, kr_canvas *c, int *cx, int *cy);

bool kr_app_done(const kr_app *a);
bool kr_app_interrupted(const kr_app *a); /* left by Ctrl-C */
kr_app_settings kr_app_settings_of(const kr_app *a);
/* What the terminal can show; not a change that is kept. */
void kr_app_set_look(kr_app *a, kr_look look);
/* The terminal has colours: what they show needs no marks. */
void kr_app_set_colored(kr_app *a, bool colored);
/* True once after Ctrl-L: the terminal is to be drawn from nothing. */
bool kr_app_wants_redraw(kr_app *a);
/* What :info says of the terminal. */
void kr_app_describe_terminal(kr_app *a, const char *text);
/* Numbers of re-evaluation jobs are taken from there, and kept there when they change. */
void kr_app_remember(kr_app *a, const char *path);
/* A line for the message row and the list of messages. */
void kr_app_say(kr_app *a, bool error, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
