#include "ui/layout.h"

#include <stdio.h>
#include <string.h>

static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }

kr_step kr_layout_step(int w, int h) {
    if (w < KR_MIN_W || h < KR_MIN_H)
        return KR_STEP_REFUSE;
    if (w < 80 || h < 24)
        return KR_STEP_SMALL;
    if (w < 100 || h < 30)
        return KR_STEP_ONE;
    if (w < 116 || h < 32)
        return KR_STEP_TWO;
    return w < 160 || h < 48 ? KR_STEP_DASHBOARD : KR_STEP_WIDE;
}

/* Rows of text broken at its line ends and at the width. */
static int lines_of(const char *s, int w) {
    int n = 0;
    while (s != NULL && *s != '\0') {
        char line[2048];
        size_t len = strcspn(s, "\n");
        snprintf(line, sizeof line, "%.*s", (int)len, s);
        n += kr_canvas_wrap(NULL, (kr_rect){0, 0, w, 1}, KR_ROLE_TEXT, line);
        s += len + (s[len] == '\n');
    }
    return n;
}

/* Takes h rows off the top of *r. */
static kr_rect top(kr_rect *r, int h) {
    h = max(0, min(h, r->h));
    kr_rect t = {r->x, r->y, r->w, h};
    r->y += h;
    r->h -= h;
    return t;
}

static kr_rect bottom(kr_rect *r, int h) {
    h = max(0, min(h, r->h));
    r->h -= h;
    return (kr_rect){r->x, r->y + r->h, r->w, h};
}

static kr_rect left(kr_rect *r, int w) {
    w = max(0, min(w, r->w));
    kr_rect t = {r->x, r->y, w, r->h};
    r->x += w;
    r->w -= w;
    return t;
}

static kr_rect right(kr_rect *r, int w) {
    w = max(0, min(w, r->w));
    r->w -= w;
    return (kr_rect){r->x + r->w, r->y, w, r->h};
}

/* Rows of the statement's text, 1 to 6. */
static int statement_rows(const kr_layout_need *n, int w) {
    return max(1, min(lines_of(n->statement, w), w < 50 ? 10 : 6));
}

/* Rows for the selected claim: what it needs, as long as `most` leaves the table some. */
static int claim_rows(const kr_layout_need *n, int w, int most) {
    return max(1, min(lines_of(n->statement, w), most));
}

/* Starts a shared frame; its panes are then cut from *in with `next`. */
static kr_rect open_box(kr_layout *l, kr_rect r) {
    l->box = r;
    return kr_rect_inset(r, 2, 1);
}

/* One pane of a shared frame and the line under it. */
static kr_rect next(kr_rect *in, int h) {
    kr_rect p = top(in, h);
    top(in, 1);
    return p;
}

static kr_pane below(const kr_layout_need *n) {
    return n->below == 1 ? KR_PANE_TIMES : n->below == 2 ? KR_PANE_LOG : KR_PANE_RESULTS;
}

/* --- small windows: no frames ----------------------------------------------------------------- */

static kr_rect inside(kr_rect r) { return (kr_rect){r.x + 1, r.y, r.w - 2, r.h}; }

static void small(kr_layout *l, kr_screen s, kr_rect body, const kr_layout_need *n) {
    static const kr_pane list[KR_SCREEN_COUNT] = {
        [KR_SCREEN_MAIN] = KR_PANE_METHODS,     [KR_SCREEN_MAP] = KR_PANE_MAP,
        [KR_SCREEN_POLICY] = KR_PANE_LEVELS,    [KR_SCREEN_TASKS] = KR_PANE_TASKS,
        [KR_SCREEN_REEVAL] = KR_PANE_RESULTS,     [KR_SCREEN_POINTS] = KR_PANE_POINTS,
        [KR_SCREEN_RUN] = KR_PANE_FORM,
        [KR_SCREEN_REQUESTS] = KR_PANE_REQUESTS, [KR_SCREEN_REQUEST] = KR_PANE_PROMPT,
        [KR_SCREEN_CLAIMS] = KR_PANE_CLAIMS,    [KR_SCREEN_PLAN] = KR_PANE_TEXT,
        [KR_SCREEN_LEDGER] = KR_PANE_ENTRY,
        [KR_SCREEN_SIMULATE] = KR_PANE_TEXT};
    l->pane[KR_PANE_LINE] = top(&body, 1);
    if (s == KR_SCREEN_MAIN || s == KR_SCREEN_POLICY || s == KR_SCREEN_TASKS ||
        s == KR_SCREEN_REQUESTS) {
        l->pane[KR_PANE_VERDICT] = top(&body, 1);
        kr_rect st = top(&body, min(statement_rows(n, body.w - 2), body.h - 5));
        l->pane[KR_PANE_STATEMENT] = (kr_rect){st.x + 1, st.y, st.w - 2, st.h};
    }
    if (s == KR_SCREEN_REEVAL)
        l->pane[KR_PANE_JOB] = top(&body, 5);
    if (s == KR_SCREEN_CLAIMS) {
        l->pane[KR_PANE_CLAIM] = inside(bottom(&body, claim_rows(n, body.w - 2, body.h - 5)));
    }
    if (s == KR_SCREEN_REQUEST)
        l->pane[KR_PANE_ANSWERS] = top(&body, 6);
    if (s == KR_SCREEN_LEDGER && n->entries > 0) {
        l->pane[KR_PANE_BUDGET] = inside(top(&body, 2));
        l->pane[KR_PANE_ENTRIES] = inside(top(&body, max(4, body.h - claim_rows(n, body.w - 2, 5))));
    }
    kr_pane main = s == KR_SCREEN_REQUEST && n->heads ? KR_PANE_HEADS
                   : s == KR_SCREEN_REEVAL            ? below(n)
                                                      : list[s];
    l->pane[main] = inside(body);
}

/* --- Main ------------------------------------------------------------------------------------- */

static void main_one(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    kr_rect in = open_box(l, body);
    l->pane[KR_PANE_CONTRACT] = next(&in, 3);
    /* A row more for the numbers of the verdict where the methods leave one. */
    int rows = statement_rows(n, in.w);
    l->pane[KR_PANE_STATEMENT] = next(&in, rows + (in.h - rows - 1 > n->methods ? 1 : 0));
    l->pane[KR_PANE_METHODS] = in;
}

static void main_two(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    l->pane[KR_PANE_CONTRACT] = top(&body, 5);
    l->pane[KR_PANE_STATEMENT] = top(&body, 2 + statement_rows(n, body.w - 4));
    l->pane[KR_PANE_METHODS] = n->plot ? left(&body, max(48, body.w * 48 / 100)) : body;
    if (n->plot)
        l->pane[KR_PANE_PLOT] = body;
}

static void main_dashboard(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    int side = max(48, body.w * 39 / 100);
    kr_rect r = right(&body, side);
    int foot = max(statement_rows(n, side - 4) + 3, min(n->tasks + 2, 8));
    foot = min(foot, body.h - 5 - 9);
    l->pane[KR_PANE_CONTRACT] = top(&body, 5);
    l->pane[KR_PANE_TASKS] = bottom(&body, foot);
    l->pane[KR_PANE_VERDICT] = top(&r, 5);
    l->pane[KR_PANE_STATEMENT] = bottom(&r, foot);
    if (n->plot) {
        l->pane[KR_PANE_PLOT] = body;
        l->pane[KR_PANE_METHODS] = r;
    } else {
        l->pane[KR_PANE_METHODS] = body;
        l->pane[KR_PANE_LEVELS] = r;
    }
}

/* Everything at once: methods and curve at the left; map, tasks, levels at the right. */
static void main_wide(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    kr_rect r = right(&body, max(76, body.w * 48 / 100));
    int head = max(5, 3 + statement_rows(n, r.w - 4));
    l->pane[KR_PANE_CONTRACT] = top(&body, head);
    l->pane[KR_PANE_STATEMENT] = top(&r, head);
    l->pane[KR_PANE_METHODS] = top(&body, max(8, min(n->methods + 3, body.h - (n->plot ? 14 : 8))));
    l->pane[n->plot ? KR_PANE_PLOT : KR_PANE_DROPS] = body;
    l->pane[KR_PANE_MAP] = top(&r, min(n->map_rows + 3, r.h - 12));
    l->pane[KR_PANE_TASKS] = top(&r, min(n->tasks + 3, r.h - 6));
    l->pane[KR_PANE_LEVELS] = r;
}

static void main_screen(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    if (l->step == KR_STEP_ONE)
        main_one(l, body, n);
    else if (l->step == KR_STEP_TWO)
        main_two(l, body, n);
    else if (l->step == KR_STEP_DASHBOARD)
        main_dashboard(l, body, n);
    else
        main_wide(l, body, n);
}

/* --- the other screens ------------------------------------------------------------------------ */

static void map_screen(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    l->pane[KR_PANE_LINE] = top(&body, 1);
    if (l->step <= KR_STEP_TWO) {
        if (l->step == KR_STEP_TWO)
            l->pane[KR_PANE_CELL] = bottom(&body, max(8, body.h - n->map_rows - 5));
        l->pane[KR_PANE_MAP] = body;
        return;
    }
    kr_rect r = right(&body, max(38, body.w - 124));
    l->pane[KR_PANE_MAP] = body;
    l->pane[KR_PANE_CELL] = top(&r, max(16, r.h - n->methods - 3));
    l->pane[KR_PANE_METHODS] = r;
}

static void policy_screen(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    l->pane[KR_PANE_LINE] = top(&body, 1);
    if (l->step == KR_STEP_ONE) {
        kr_rect in = open_box(l, body);
        kr_rect st = bottom(&in, statement_rows(n, in.w));
        bottom(&in, 1);
        l->pane[KR_PANE_STATEMENT] = st;
        if (n->plot)
            l->pane[KR_PANE_PLOT] = right(&in, in.w - 46);
        if (n->plot)
            right(&in, 3); /* a line between the two */
        l->pane[KR_PANE_LEVELS] = in;
        return;
    }
    l->pane[KR_PANE_STATEMENT] = top(&body, 3 + statement_rows(n, body.w - 4));
    if (!n->plot) {
        l->pane[KR_PANE_LEVELS] = body;
        return;
    }
    kr_rect r = right(&body, body.w - max(50, body.w * 55 / 100));
    l->pane[KR_PANE_LEVELS] = body;
    if (l->step >= KR_STEP_DASHBOARD)
        l->pane[KR_PANE_DROPS] = bottom(&r, 12);
    l->pane[KR_PANE_PLOT] = r;
}

static void tasks_screen(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    l->pane[KR_PANE_LINE] = top(&body, 1);
    if (l->step == KR_STEP_ONE) {
        kr_rect in = open_box(l, body);
        l->pane[KR_PANE_STATEMENT] = next(&in, statement_rows(n, in.w));
        l->pane[KR_PANE_TASKS] = in;
        return;
    }
    l->pane[KR_PANE_STATEMENT] = top(&body, 3 + statement_rows(n, body.w - 4));
    if (l->step == KR_STEP_WIDE) {
        l->pane[KR_PANE_TASKS] = top(&body, max(9, min(n->tasks + 6, body.h - 12)));
        l->pane[KR_PANE_REQUESTS] = right(&body, body.w * 55 / 100);
        l->pane[KR_PANE_LEVELS] =
            top(&body, body.h >= n->tasks + 3 + 12 ? n->tasks + 3 : body.h); /* task x level */
        l->pane[KR_PANE_DROPS] = body;
        return;
    }
    l->pane[KR_PANE_TASKS] = top(&body, min(n->tasks + 6, body.h - 8));
    l->pane[KR_PANE_REQUESTS] = body;
}

static void requests_screen(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    l->pane[KR_PANE_LINE] = top(&body, 1);
    (void)n;
    l->pane[KR_PANE_REQUESTS] = l->step == KR_STEP_ONE
                                    ? body
                                    : left(&body, body.w - (body.w >= 130 ? body.w * 36 / 100 : 0));
    if (l->step > KR_STEP_ONE && body.w >= 40)
        l->pane[KR_PANE_DROPS] = body;
}

static void points_screen(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    l->pane[KR_PANE_LINE] = top(&body, 1);
    if (n->points > 0)
        l->pane[KR_PANE_STATEMENT] = bottom(&body, 3 + statement_rows(n, body.w - 4));
    l->pane[KR_PANE_POINTS] = body;
}

/* Results with times and log beside them, or the log alone: its lines are long. */
static void reeval_rest(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    if (n->below == 2 || body.w < 140) {
        l->pane[below(n)] = body;
        return;
    }
    kr_rect side = right(&body, max(50, body.w * 38 / 100));
    l->pane[KR_PANE_RESULTS] = body;
    l->pane[KR_PANE_TIMES] = top(&side, 6);
    l->pane[KR_PANE_LOG] = side;
}

static void reeval_screen(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    l->pane[KR_PANE_LINE] = top(&body, 1);
    if (l->step == KR_STEP_ONE) {
        kr_rect in = open_box(l, body);
        l->pane[KR_PANE_EVAL] = next(&in, 3);
        l->pane[KR_PANE_JOB] = next(&in, 5);
        l->pane[below(n)] = in;
        return;
    }
    if (l->step >= KR_STEP_DASHBOARD) {
        kr_rect head = top(&body, 12);
        l->pane[KR_PANE_JOBS] = right(&head, head.w * 42 / 100);
        l->pane[KR_PANE_EVAL] = top(&head, 5);
        l->pane[KR_PANE_JOB] = head;
        reeval_rest(l, body, n);
    } else {
        l->pane[KR_PANE_EVAL] = top(&body, 5);
        l->pane[KR_PANE_JOB] = top(&body, 7);
        l->pane[below(n)] = body;
    }
}

static void request_screen(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    l->pane[KR_PANE_LINE] = top(&body, 1);
    kr_pane rest = n->heads ? KR_PANE_HEADS : KR_PANE_PROMPT;
    if (l->step == KR_STEP_ONE) {
        kr_rect in = open_box(l, body);
        l->pane[KR_PANE_ANSWERS] = next(&in, 8);
        l->pane[rest] = in;
        return;
    }
    l->pane[KR_PANE_ANSWERS] = top(&body, 10);
    if (l->step >= KR_STEP_DASHBOARD) {
        l->pane[KR_PANE_HEADS] = right(&body, body.w * 46 / 100);
        rest = KR_PANE_PROMPT;
    }
    l->pane[rest] = body;
}

static void claims_screen(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    l->pane[KR_PANE_LINE] = top(&body, 1);
    if (l->step == KR_STEP_ONE) {
        kr_rect in = open_box(l, body);
        int rows = claim_rows(n, in.w, in.h - 6);
        l->pane[KR_PANE_CLAIMS] = next(&in, in.h - rows - 1);
        l->pane[KR_PANE_CLAIM] = in;
        return;
    }
    int rows = claim_rows(n, body.w - 4, body.h - 10);
    l->pane[KR_PANE_CLAIMS] = top(&body, min(n->claims + 3, body.h - rows - 2));
    l->pane[KR_PANE_CLAIM] = body;
}

static void ledger_screen(kr_layout *l, kr_rect body, const kr_layout_need *n) {
    l->pane[KR_PANE_LINE] = top(&body, 1);
    if (n->entries == 0) {
        l->pane[KR_PANE_ENTRY] = body;
        return;
    }
    if (l->step == KR_STEP_ONE) {
        kr_rect in = open_box(l, body);
        l->pane[KR_PANE_BUDGET] = next(&in, 3);
        int rows = claim_rows(n, in.w, in.h - 5);
        l->pane[KR_PANE_ENTRIES] = next(&in, in.h - rows - 1);
        l->pane[KR_PANE_ENTRY] = in;
        return;
    }
    l->pane[KR_PANE_BUDGET] = top(&body, 5);
    int rows = claim_rows(n, body.w - 4, body.h - 10);
    l->pane[KR_PANE_ENTRIES] = top(&body, max(8, min(n->entries + 3, body.h - rows - 2)));
    l->pane[KR_PANE_ENTRY] = body;
}

static void page_screen(kr_layout *l, kr_rect body) {
    l->pane[KR_PANE_LINE] = top(&body, 1);
    l->pane[KR_PANE_TEXT] = body;
}

kr_layout kr_layout_make(kr_screen s, int w, int h, const kr_layout_need *n) {
    kr_layout l = {.step = kr_layout_step(w, h)};
    kr_rect body = {0, 0, w, h};
    if (l.step == KR_STEP_REFUSE) {
        l.pane[KR_PANE_SMALL] = body;
        return l;
    }
    l.pane[KR_PANE_TITLE] = top(&body, 1);
    l.pane[KR_PANE_TABS] = top(&body, 1);
    l.pane[KR_PANE_KEYS] = bottom(&body, 1);
    l.pane[KR_PANE_MESSAGE] = bottom(&body, 1);
    if (s == KR_SCREEN_RUN && l.step > KR_STEP_SMALL)
        l.pane[KR_PANE_FORM] = body;
    else if (s == KR_SCREEN_HELP || s == KR_SCREEN_MESSAGES)
        l.pane[KR_PANE_TEXT] = body;
    else if (l.step == KR_STEP_SMALL)
        small(&l, s, body, n);
    else if (s == KR_SCREEN_MAIN)
        main_screen(&l, body, n);
    else if (s == KR_SCREEN_MAP)
        map_screen(&l, body, n);
    else if (s == KR_SCREEN_POLICY)
        policy_screen(&l, body, n);
    else if (s == KR_SCREEN_TASKS)
        tasks_screen(&l, body, n);
    else if (s == KR_SCREEN_REQUESTS)
        requests_screen(&l, body, n);
    else if (s == KR_SCREEN_POINTS)
        points_screen(&l, body, n);
    else if (s == KR_SCREEN_REEVAL)
        reeval_screen(&l, body, n);
    else if (s == KR_SCREEN_CLAIMS)
        claims_screen(&l, body, n);
    else if (s == KR_SCREEN_LEDGER)
        ledger_screen(&l, body, n);
    else if (s == KR_SCREEN_PLAN || s == KR_SCREEN_SIMULATE)
        page_screen(&l, body);
    else
        request_screen(&l, body, n);
    return l;
}
