/* layout.h - where each part of each screen stands, as a pure function of the size and of how much
 * there is to show. Nothing overlaps, nothing leaves the screen. */
#ifndef KR_UI_LAYOUT_H
#define KR_UI_LAYOUT_H

#include <stdbool.h>

#include "ui/canvas.h"
#include "ui/keys.h"

typedef enum {
    KR_PANE_TITLE, KR_PANE_TABS, KR_PANE_MESSAGE, KR_PANE_KEYS, /* one row each, no frame */
    KR_PANE_LINE,      /* the contract in one row */
    KR_PANE_CONTRACT,  /* the contract with strips */
    KR_PANE_VERDICT, KR_PANE_STATEMENT, KR_PANE_METHODS, KR_PANE_LEVELS, KR_PANE_PLOT,
    KR_PANE_TASKS,
    KR_PANE_MAP, KR_PANE_CELL, KR_PANE_DROPS, KR_PANE_REQUESTS, KR_PANE_POINTS, KR_PANE_TEXT,
    KR_PANE_EVAL, KR_PANE_JOB, KR_PANE_JOBS, KR_PANE_RESULTS, KR_PANE_TIMES,
    KR_PANE_LOG, KR_PANE_FORM,                                            /* re-evaluation */
    KR_PANE_ANSWERS, KR_PANE_PROMPT, KR_PANE_HEADS,           /* one request of it */
    KR_PANE_CLAIMS, KR_PANE_CLAIM, /* all claims, the selected one in full */
    KR_PANE_BUDGET, KR_PANE_ENTRIES, KR_PANE_ENTRY, /* the ledger, its selected entry in full */
    KR_PANE_SMALL, /* the one line of a window that is too small */
    KR_PANE_COUNT
} kr_pane;

/* From plain to rich. */
typedef enum { KR_STEP_REFUSE, KR_STEP_SMALL, KR_STEP_ONE, KR_STEP_TWO, KR_STEP_DASHBOARD,
               KR_STEP_WIDE } kr_step;

enum { KR_MIN_W = 60, KR_MIN_H = 16 };

typedef struct {
    int methods, levels, tasks, points, map_rows;
    const char *statement; /* its length decides on rows */
    bool plot;             /* plots are wanted */
    int below;             /* re-evaluation: 0 results, 1 times, 2 the log, where not all fit */
    bool heads;            /* heads rather than the prompt, where not both fit */
    int claims;            /* rows of the table of claims; the statement is of the selected one */
    int entries;           /* of the ledger, 0 without one; the statement is of the selected one */
} kr_layout_need;

/* Panes that are not on this screen have w = h = 0. When `box` is not empty the framed panes share
 * one frame: it goes around `box`, a line across above each pane but the first, and their
 * rectangles are the insides; else each pane's rectangle includes its own frame. */
typedef struct {
    kr_step step;
    kr_rect pane[KR_PANE_COUNT];
    kr_rect box;
} kr_layout;

kr_step kr_layout_step(int w, int h);
kr_layout kr_layout_make(kr_screen screen, int w, int h, const kr_layout_need *need);

#endif
