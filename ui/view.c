#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/model.h"
#include "ui/pages.h"

void kr_view_cursor(kr_view *v, kr_rect r, int x, int y) {
    if (v->placed || x < 0 || y < 0 || x >= r.w || y >= r.h)
        return;
    v->cx = r.x + x;
    v->cy = r.y + y;
    v->placed = true;
}

kr_rect kr_view_inside(const kr_view *v, kr_rect r) {
    bool bare = v->a->lay.box.w > 0 || (v->a->lay.step == KR_STEP_SMALL && r.y > 1);
    return bare ? r : kr_rect_inset(r, 2, 1);
}

kr_rect kr_view_pane(kr_view *v, kr_rect r, const char *title, const char *note) {
    kr_rect box = v->a->lay.box;
    if (v->a->lay.step == KR_STEP_SMALL && r.y > 1)
        return r;
    if (box.w == 0)
        return kr_frame(v->c, r, title, note);
    kr_frame_divider(v->c, box, r.y - 1 - box.y, title, note);
    return r;
}

int kr_view_head(kr_view *v, kr_rect line, int x, int w, kr_align align, const char *s) {
    if (w > 0)
        kr_canvas_text(v->c, line, align == KR_RIGHT ? x + w - 1 - kr_text_width(s) : x - 1, 0,
                       KR_ROLE_DIM, " %s ", s);
    return x + w;
}

void kr_view_scroll(kr_view *v, kr_rect list, int n, int top) {
    bool framed = v->a->lay.step != KR_STEP_SMALL;
    kr_scrollbar(v->c, (kr_rect){list.x + list.w + (framed ? 1 : 0), list.y, 1, list.h}, n, top);
}

const char *kr_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

void kr_p_text(double p, char out[16]) {
    if (!isfinite(p))
        snprintf(out, 16, "-");
    else if (p < 1e-4)
        snprintf(out, 16, "<1e-4");
    else
        snprintf(out, 16, "%.4f", p);
}

void kr_number_text(double v, int places, int room, char out[32]) {
    int need = room + 1;
    for (int d = places; d >= 0 && need > room; d--)
        need = snprintf(out, 32, "%.*f", d, v);
    for (int d = 6; d > 0 && need > room; d--)
        need = snprintf(out, 32, "%.*g", d, v);
}

/* --- title, tabs, message, keys --------------------------------------------------------------- */

static kr_role state_role(kr_state s) {
    return s == KR_STATE_LOCKED    ? KR_ROLE_CERT
           : s == KR_STATE_WHAT_IF ? KR_ROLE_WARN
                                   : KR_ROLE_ERROR;
}

static int title_state(kr_view *v, kr_rect r) {
    const kr_app *a = v->a;
    kr_state s = kr_analysis_state(a->an);
    bool ascii = kr_canvas_look(v->c) == KR_LOOK_ASCII;
    char state[48], whole[136], job[40], part[48];
    kr_reeval_title(a, job);
    snprintf(part, sizeof part, "   %s", job);
    if (ascii)
        snprintf(state, sizeof state, "[%s]", kr_state_name(s));
    else
        snprintf(state, sizeof state, "%s %s", s == KR_STATE_LOCKED ? "●" : "○", kr_state_name(s));
    const char *changed = a->file_changed && a->book.changed ? "[file, ledger changed]  "
                          : a->file_changed                  ? "[file changed]  "
                          : a->book.changed                  ? "[ledger changed]  "
                                                             : "";
    snprintf(whole, sizeof whole, "%s%s%s", changed, state, part);
    int x = r.w - 1 - kr_text_width(whole), at = x;
    at += kr_canvas_str(v->c, r, at, 0, KR_ROLE_WARN, changed);
    at += kr_canvas_str(v->c, r, at, 0, state_role(s), state);
    kr_canvas_str(v->c, r, at, 0, kr_reeval_busy(a) ? KR_ROLE_VALUE : KR_ROLE_DIM, part);
    return x;
}

/* Facts of the file, as many as fit. */
static void draw_title(kr_view *v, kr_rect r) {
    const kr_app *a = v->a;
    const kr_calib_meta *m = kr_calib_meta_of(a->calib);
    int end = title_state(v, r) - 2;
    kr_rect room = {r.x, r.y, end, 1};
    int x = 1 + kr_canvas_str(v->c, room, 1, 0, KR_ROLE_KEY, "kvrisk") + 2;
    const char *name = kr_file_name(a->path);
    int w = kr_text_width(name);
    if (x + w > end - 12)
        w = end - 12 - x;
    kr_canvas_field(v->c, room, x, 0, w, KR_LEFT, KR_ROLE_TEXT, name);
    x += w + 2;
    char part[5][128];
    int n = 0;
    snprintf(part[n++], 128, "n=%lld", (long long)kr_analysis_n(a->an));
    size_t tasks = m->kind == KR_KIND_COUNTS ? (size_t)m->counts_tasks : kr_calib_tasks(a->calib);
    snprintf(part[n++], 128, "%zu task%s", tasks, tasks == 1 ? "" : "s");
    snprintf(part[n++], 128, "%zu method%s, %zu polic%s", kr_calib_methods(a->calib),
             kr_calib_methods(a->calib) == 1 ? "" : "s", kr_calib_policies(a->calib),
             kr_calib_policies(a->calib) == 1 ? "y" : "ies");
    if (m->kind == KR_KIND_COUNTS)
        snprintf(part[n++], 128, "published counts%s", m->partial ? ", partial sequence" : "");
    else if (m->benchmark != NULL)
        snprintf(part[n++], 128, "%.60s", kr_text_short(m->benchmark, 60).s);
    if (m->model != NULL)
        snprintf(part[n++], 128, "%.100s", kr_text_short(m->model, 100).s);
    for (int i = 0; i < n; i++) {
        int need = kr_text_width(part[i]);
        if (x + need + 1 > end && i < 4)
            break;
        kr_canvas_field(v->c, room, x, 0, x + need > end ? end - x : need, KR_LEFT, KR_ROLE_DIM,
                        part[i]);
        x += need + 3;
        if (x >= end - 6)
            break;
    }
}

static const struct {
    kr_screen screen;
    const char *label;
} tabs[] = {{KR_SCREEN_MAIN, "1 Main"},     {KR_SCREEN_MAP, "2 Map"},
            {KR_SCREEN_POLICY, "3 Policy"}, {KR_SCREEN_TASKS, "4 Tasks"},
            {KR_SCREEN_REEVAL, "5 Re-eval"}, {KR_SCREEN_POINTS, "6 Points"},
            {KR_SCREEN_CLAIMS, "7 Claims"}, {KR_SCREEN_PLAN, "8 Plan"},
            {KR_SCREEN_SIMULATE, "9 Simulate"}, {KR_SCREEN_LEDGER, "B Ledger"}};

enum { TABS = sizeof tabs / sizeof *tabs, FEW_TABS = 6, HELP_ROOM = 8 };

/* The tab that is open; of help and messages the screen they return to. */
static int open_tab(const kr_app *a) {
    kr_screen s = a->screen;
    if (s == KR_SCREEN_HELP || s == KR_SCREEN_MESSAGES)
        s = a->back;
    s = s == KR_SCREEN_REQUESTS ? KR_SCREEN_TASKS : s == KR_SCREEN_REQUEST || s == KR_SCREEN_RUN ? KR_SCREEN_REEVAL : s;
    for (int i = 0; i < TABS; i++)
        if (tabs[i].screen == s)
            return i;
    return -1;
}

static int tab_width(int i) { return (int)strlen(tabs[i].label); }

/* Column after the last of the shown tabs. */
static int place_tabs(const bool *shown, int gap, int *x) {
    int at = 1;
    for (int i = 0; i < TABS; i++)
        if (shown[i]) {
            x[i] = at;
            at += tab_width(i) + gap;
        }
    return at;
}

/* Columns of the tabs in a row w wide, -1 where one is not shown: all of them where they fit beside
 * the word on help, else the first six, and the open one always. */
static void fit_tabs(const kr_app *a, int w, int *x) {
    bool shown[TABS];
    int open = open_tab(a), gap;
    for (int i = 0; i < TABS; i++)
        shown[i] = true;
    for (gap = 4; gap > 1 && place_tabs(shown, gap, x) >= w - HELP_ROOM; gap--)
        continue;
    if (place_tabs(shown, gap, x) < w - HELP_ROOM)
        return;
    for (int i = FEW_TABS; i < TABS; i++) {
        x[i] = -1;
        shown[i] = i == open;
    }
    for (gap = 4; gap > 2 && place_tabs(shown, gap, x) >= w - HELP_ROOM; gap--)
        continue;
    for (int i = 0; i < FEW_TABS && place_tabs(shown, gap, x) > w; i++)
        if (i != open) {
            shown[i] = false;
            x[i] = -1;
        }
}

int kr_tab_at(const kr_app *a, int column) {
    int x[TABS];
    fit_tabs(a, a->w, x);
    for (int i = 0; i < TABS; i++)
        if (x[i] >= 0 && column >= x[i] && column <= x[i] + tab_width(i))
            return (int)tabs[i].screen;
    return -1;
}

static void draw_tabs(kr_view *v, kr_rect r) {
    int at[TABS], x = 1, now = open_tab(v->a);
    fit_tabs(v->a, r.w, at);
    for (int i = 0; i < TABS; i++) {
        if (at[i] < 0)
            continue;
        bool open = i == now;
        x = at[i];
        if (open)
            kr_canvas_str(v->c, r, x, 0, KR_ROLE_TITLE, "▐");
        int w = kr_canvas_str(v->c, r, x + 1, 0, open ? KR_ROLE_TAB : KR_ROLE_DIM, tabs[i].label);
        if (open)
            kr_canvas_str(v->c, r, x + 1 + w, 0, KR_ROLE_TITLE, "▌");
        x += w + 2;
    }
    if (r.w - HELP_ROOM >= x) {
        kr_canvas_str(v->c, r, r.w - 7, 0, KR_ROLE_KEY, "?");
        kr_canvas_str(v->c, r, r.w - 5, 0, KR_ROLE_DIM, "help");
    }
}

void kr_contract_summary(const kr_app *a, char *out, size_t cap) {
    static const char *const whose[] = {"file contract", "default contract", "changed contract"};
    kr_contract_source s = kr_analysis_contract_source(a->an);
    size_t n = kr_calib_methods(a->calib), good = kr_analysis_certified_count(a->an);
    long long most = kr_analysis_max_events(a->an);
    bool odd = s == KR_FROM_FILE && kr_analysis_state(a->an) == KR_STATE_WHAT_IF;
    int used = snprintf(out, cap, "%s%s: ", whose[s], odd ? ", WHAT-IF (i says why)" : "");
    if (most < 0)
        used += snprintf(out + used, cap - (size_t)used, "n too small to certify anything; ");
    else
        used += snprintf(out + used, cap - (size_t)used, "at most %lld of %lld events; ", most,
                         (long long)kr_analysis_n(a->an));
    used += snprintf(out + used, cap - (size_t)used, "%zu of %zu%s certified", good, n,
                     odd ? "" : " methods");
    long long missing = kr_analysis_missing(a->an);
    if (missing > 0)
        snprintf(out + used, cap - (size_t)used,
                 "; %lld request%s lack%s a utility and count as degraded", missing,
                 missing == 1 ? "" : "s", missing == 1 ? "s" : "");
}

static const char *context(kr_app *a, char buf[256]) {
    bool elsewhere = a->screen == KR_SCREEN_MAP && a->map_moved; /* a cell is being looked at */
    if (!elsewhere && kr_exact_words(a, buf, 256))
        return buf;
    switch (a->screen) {
    case KR_SCREEN_MAP: kr_cell_words(a, buf, 256); return buf;
    case KR_SCREEN_POLICY:
        kr_pair_words(a, buf, 256);
        return buf[0] != '\0' ? buf : "levels below the first that does not pass are shown, never used";
    case KR_SCREEN_TASKS:
        return "the certificate is for the mixture; the tasks' intervals are a diagnosis";
    case KR_SCREEN_POINTS: return "points are kept until kvrisk ends; export what shall stay";
    case KR_SCREEN_REEVAL: return "jobs go on while you look at other screens; :eval changes what is run";
    case KR_SCREEN_RUN: return "Tab chooses, arrows change, = types; what is changed stays for later jobs";
    case KR_SCREEN_REQUEST:
        if (a->colored)
            return "shades: legend under v; answers stand out, as a fallback where mostly evicted";
        return "= all heads keep it, digits tenths of them, blank none; # ! at an answer";
    case KR_SCREEN_HELP: return "the filter (/) finds keys and commands by their text";
    case KR_SCREEN_REQUESTS:
        return "drop = full utility minus policy utility; an event when above the tolerance";
    default: kr_contract_summary(a, buf, 256); return buf;
    }
}

static void draw_message(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    char buf[256];
    if (a->prompt.kind != KR_PROMPT_NONE) {
        v->cx = kr_prompt_draw(v->c, r, 0, &a->prompt);
        v->cy = r.y;
        v->placed = true;
    } else if (a->message_on && a->n_messages > 0) {
        const kr_message *m = &a->messages[a->n_messages - 1];
        kr_canvas_field(v->c, r, 1, 0, r.w - 2, KR_LEFT, m->error ? KR_ROLE_ERROR : KR_ROLE_TITLE,
                        m->text);
    } else {
        const char *s = context(a, buf);
        kr_canvas_field(v->c, r, 1, 0, r.w - 2, KR_LEFT, KR_ROLE_DIM, s);
    }
}

static const char prompt_keys[] = "Enter take   Esc leave   Tab complete   Ctrl-U clear";

/* While something is typed, what is said stands in the row of keys. */
static void draw_prompt_keys(kr_view *v, kr_rect r) {
    const kr_app *a = v->a;
    const kr_message *m = a->message_on ? &a->messages[a->n_messages - 1] : NULL;
    if (m != NULL)
        kr_canvas_field(v->c, r, 1, 0, r.w - 2, KR_LEFT, m->error ? KR_ROLE_ERROR : KR_ROLE_TITLE,
                        m->text);
    else
        kr_canvas_str(v->c, r, 1, 0, KR_ROLE_DIM,
                      a->prompt.kind == KR_PROMPT_YESNO ? "y yes   n Enter Esc no" : prompt_keys);
}

/* A brief is a key and what it does; as many as fit, quitting always. */
static int draw_brief(kr_view *v, kr_rect r, int x, const char *brief) {
    char key[16];
    size_t cut = strcspn(brief, " ");
    snprintf(key, sizeof key, "%.*s", (int)cut, brief);
    int w = kr_canvas_str(v->c, r, x, 0, KR_ROLE_KEY, key);
    return w + kr_canvas_str(v->c, r, x + w, 0, KR_ROLE_DIM, brief + cut);
}

/* A screen's own keys before those of all screens; Main keeps the table's order. 2: not here. */
static int brief_pass(const kr_binding *b, kr_screen s) {
    int screens = 0;
    if ((b->screens & 1u << s) == 0)
        return 2;
    for (int i = 0; i < KR_SCREEN_COUNT; i++)
        screens += (b->screens & 1u << i) != 0 ? 1 : 0;
    return s != KR_SCREEN_MAIN && screens > 4 ? 1 : 0;
}

/* What the bottom line says of a key; NULL where there is nothing yet that it would act on. */
static const char *brief_here(const kr_app *a, const kr_binding *b) {
    const kr_book *k = &a->book;
    if (a->screen == KR_SCREEN_POINTS && a->n_saved == 0 &&
        (b->act == KR_ACT_ENTER || b->act == KR_ACT_NOTE || b->act == KR_ACT_DELETE ||
         b->act == KR_ACT_EXPORT || b->act == KR_ACT_DOWN))
        return NULL;
    if (a->screen == KR_SCREEN_REEVAL && kr_reeval_shown(a) == NULL) {
        if (b->act == KR_ACT_ENTER)
            return "Enter what to run";
        return b->act == KR_ACT_DOWN || b->act == KR_ACT_CANCEL || b->act == KR_ACT_SAVE_RESULTS ||
                       b->act == KR_ACT_DIFFERING ? NULL : b->brief;
    }
    if (a->screen != KR_SCREEN_LEDGER || !k->known)
        return b->brief;
    bool ledger = k->there && k->damage[0] == '\0';
    if (b->act == KR_ACT_ENTER && !k->there && k->damage[0] == '\0')
        return "Enter begin a ledger";
    if (b->act == KR_ACT_EXPORT && !k->result.there)
        return NULL;
    if (b->act == KR_ACT_LOCK || b->act == KR_ACT_CONFIRM || b->act == KR_ACT_DOWN)
        return ledger ? b->brief : NULL;
    return b->brief;
}

static void draw_keys(kr_view *v, kr_rect r) {
    static const char quit[] = "q quit";
    size_t n;
    const kr_binding *t = kr_keys_table(&n);
    int x = 1, gap = r.w >= 110 ? 3 : 2, last = (int)sizeof quit - 1;
    if (v->a->prompt.kind != KR_PROMPT_NONE) {
        draw_prompt_keys(v, r);
        return;
    }
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++) {
            const char *brief = brief_here(v->a, &t[i]);
            if (brief == NULL || t[i].act == KR_ACT_QUIT ||
                pass != brief_pass(&t[i], v->a->screen))
                continue;
            if (x + kr_text_width(brief) + gap + last + 1 <= r.w)
                x += draw_brief(v, r, x, brief) + gap;
        }
    draw_brief(v, r, x, quit);
}

void kr_draw_chrome(kr_view *v) {
    const kr_layout *l = &v->a->lay;
    draw_title(v, l->pane[KR_PANE_TITLE]);
    draw_tabs(v, l->pane[KR_PANE_TABS]);
    draw_message(v, l->pane[KR_PANE_MESSAGE]);
    draw_keys(v, l->pane[KR_PANE_KEYS]);
}

/* --- whole screens ---------------------------------------------------------------------------- */

static void (*const drawers[KR_PANE_COUNT])(kr_view *, kr_rect) = {
    [KR_PANE_LINE] = kr_draw_line,       [KR_PANE_CONTRACT] = kr_draw_contract,
    [KR_PANE_VERDICT] = kr_draw_verdict, [KR_PANE_STATEMENT] = kr_draw_statement,
    [KR_PANE_METHODS] = kr_draw_methods, [KR_PANE_LEVELS] = kr_draw_levels,
    [KR_PANE_PLOT] = kr_draw_plot,       [KR_PANE_TASKS] = kr_draw_tasks,
    [KR_PANE_MAP] = kr_draw_map,         [KR_PANE_CELL] = kr_draw_cell,
    [KR_PANE_DROPS] = kr_draw_drops,     [KR_PANE_REQUESTS] = kr_draw_requests,
    [KR_PANE_POINTS] = kr_draw_points,   [KR_PANE_TEXT] = kr_draw_text,
    [KR_PANE_EVAL] = kr_draw_eval,       [KR_PANE_JOB] = kr_draw_job,
    [KR_PANE_JOBS] = kr_draw_jobs,       [KR_PANE_RESULTS] = kr_draw_results,
    [KR_PANE_ANSWERS] = kr_draw_answers, [KR_PANE_PROMPT] = kr_draw_prompt_text,
    [KR_PANE_HEADS] = kr_draw_heads,     [KR_PANE_CLAIMS] = kr_draw_claims,
    [KR_PANE_CLAIM] = kr_draw_claim,     [KR_PANE_BUDGET] = kr_draw_budget,
    [KR_PANE_ENTRIES] = kr_draw_entries, [KR_PANE_ENTRY] = kr_draw_entry,
    [KR_PANE_TIMES] = kr_draw_times,     [KR_PANE_LOG] = kr_draw_log,
    [KR_PANE_FORM] = kr_draw_form,
};

static void too_small(kr_view *v, kr_rect r) {
    char s[96];
    snprintf(s, sizeof s, "kvrisk needs %dx%d, has %dx%d; q quits", KR_MIN_W, KR_MIN_H, v->a->w,
             v->a->h);
    kr_canvas_field(v->c, r, 0, 0, r.w, KR_LEFT, KR_ROLE_WARN, s);
    if (v->a->prompt.kind == KR_PROMPT_YESNO && v->a->pending == KR_ACT_QUIT) {
        v->cx = kr_prompt_draw(v->c, r, r.h > 1 ? 1 : 0, &v->a->prompt);
        v->cx = v->cx < r.w ? v->cx : r.w - 1;
        v->cy = r.h > 1 ? 1 : 0;
    }
}

void kr_app_view(kr_app *a, kr_canvas *c, int *cx, int *cy) {
    kr_view v = {.a = a, .c = c};
    kr_canvas_clear(c);
    if (a->lay.pane[KR_PANE_SMALL].w > 0) {
        too_small(&v, a->lay.pane[KR_PANE_SMALL]);
    } else {
        kr_draw_chrome(&v);
        if (a->lay.box.w > 0)
            kr_frame(c, a->lay.box, NULL, NULL);
        for (int p = 0; p < KR_PANE_COUNT; p++)
            if (drawers[p] != NULL && a->lay.pane[p].w > 0 && a->lay.pane[p].h > 0)
                drawers[p](&v, a->lay.pane[p]);
    }
    *cx = v.cx;
    *cy = v.cy;
}
