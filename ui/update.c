#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/model.h"
#include "ui/pages.h"

/* --- the contract ----------------------------------------------------------------------------- */

static void push(kr_history *h, kr_setting s) {
    if (h->n == KR_UNDO_MAX) {
        memmove(h->at, h->at + 1, (KR_UNDO_MAX - 1) * sizeof *h->at);
        h->n--;
    }
    h->at[h->n++] = s;
}

static kr_setting present(const kr_app *a) {
    return (kr_setting){kr_analysis_contract(a->an), kr_analysis_family(a->an)};
}

static bool same_setting(const kr_setting *x, const kr_setting *y) {
    return kr_dec_cmp(x->contract.tolerance, y->contract.tolerance) == 0 &&
           kr_dec_cmp(x->contract.risk, y->contract.risk) == 0 &&
           kr_dec_cmp(x->contract.confidence, y->contract.confidence) == 0 &&
           x->family == y->family;
}

static kr_status take(kr_app *a, const kr_setting *s, kr_error *err) {
    kr_status st = kr_analysis_set(a->an, s->contract, err);
    if (st == KR_OK && s->family != kr_analysis_family(a->an))
        st = kr_analysis_set_family(a->an, s->family, err);
    return st;
}

bool kr_app_set(kr_app *a, kr_setting s) {
    kr_error err;
    kr_setting before = present(a);
    if (same_setting(&before, &s))
        return true;
    if (take(a, &s, &err) != KR_OK) {
        kr_app_say(a, true, "%s", err.msg);
        return false;
    }
    push(&a->undo, before);
    a->redo.n = 0;
    return true;
}

bool kr_app_set_contract(kr_app *a, kr_contract c) {
    return kr_app_set(a, (kr_setting){c, kr_analysis_family(a->an)});
}

void kr_app_undo(kr_app *a, bool redo) {
    kr_history *from = redo ? &a->redo : &a->undo, *to = redo ? &a->undo : &a->redo;
    kr_setting now = present(a);
    if (from->n == 0) {
        kr_app_say(a, false, redo ? "nothing to redo" : "nothing to undo");
        return;
    }
    if (take(a, &from->at[--from->n], NULL) == KR_OK)
        push(to, now);
    a->map_moved = false;
}

void kr_app_reset(kr_app *a) {
    kr_contract_source s = kr_analysis_home_source(a->an);
    bool family = kr_calib_meta_of(a->calib)->contract_family;
    a->map_moved = a->level_pinned = false;
    if (kr_app_set(a, (kr_setting){kr_analysis_home(a->an), family}))
        kr_app_say(a, false,
                   s == KR_FROM_FILE ? "back to the file's contract"
                                     : "back to the default contract; the file declares none");
}

void kr_app_toggle_family(kr_app *a) {
    kr_setting s = present(a);
    if (kr_calib_methods(a->calib) < 2) {
        kr_app_say(a, false, "there is only one method to choose from");
        return;
    }
    s.family = !s.family;
    if (kr_app_set(a, s))
        kr_app_say(a, false, "%s",
                   !s.family ? "each method's line alone: the choice among them is not covered"
                   : kr_analysis_home_info(a->an)->family
                       ? "all methods as one family: the choice among them is covered"
                       : "one family: the choice is paid for, but it was not declared before looking");
}

static void next_field(kr_app *a, int by) {
    if (a->screen == KR_SCREEN_RUN) {
        kr_reeval_field_move(a, by, true);
        return;
    }
    a->field = (a->field + by + KR_FIELDS) % KR_FIELDS;
    a->on_field = true;
}

static void step_field(kr_app *a, int steps) {
    if (a->screen == KR_SCREEN_RUN) {
        kr_reeval_field_step(a, steps);
        return;
    }
    a->on_field = true;
    kr_dec v = kr_field_step(a, (kr_field)a->field, steps);
    kr_dec old = kr_field_get(a, (kr_field)a->field);
    if (kr_calib_meta_of(a->calib)->kind == KR_KIND_COUNTS && a->field == KR_FIELD_TOLERANCE) {
        kr_app_say(a, false, "published counts hold at their own tolerance only");
        return;
    }
    if (kr_dec_cmp(v, old) == 0)
        kr_app_say(a, false, "end of the %s's range; = types any value",
                   kr_field_name((kr_field)a->field));
    else
        kr_app_set_contract(a, kr_field_with(kr_analysis_contract(a->an), (kr_field)a->field, v));
    a->map_moved = false;
}

/* --- selections ------------------------------------------------------------------------------- */

void kr_app_select_method(kr_app *a, size_t method) {
    if (method == a->method)
        return;
    a->method = method;
    a->level_pinned = false;
    kr_facts_refresh(a);
}

/* The level of the selected method that keeps as much as policy `like` does: two methods are then
 * seen at the same share. */
static void keep_share(kr_app *a, size_t like) {
    const kr_method *m = kr_calib_method(a->calib, a->method);
    const kr_policy *p = kr_calib_policy(a->calib, like);
    for (size_t i = 0; p->has_retention && i < m->count; i++) {
        const kr_policy *q = kr_calib_policy(a->calib, m->first + i);
        if (!q->has_retention || kr_dec_cmp(q->retention, p->retention) != 0)
            continue;
        a->level = (int)i;
        a->level_pinned = true;
    }
}

static void cycle_method(kr_app *a, int by) {
    int n = (int)a->methods.n;
    if (n == 0)
        return;
    int at = (a->methods.at + by + n) % n;
    size_t before = kr_app_policy(a);
    kr_app_select_method(a, a->methods.order[at]);
    if (a->screen == KR_SCREEN_REQUEST)
        keep_share(a, before);
}

/* Position `by` rows from `at` in a list of n; 0 in an empty one. */
static int within(int at, int by, int n) {
    long to = (long)at + by;
    return to < 0 || n <= 0 ? 0 : to >= n ? n - 1 : (int)to;
}

static void move_level(kr_app *a, int by) {
    a->on_field = false;
    a->level = within(a->level, by, (int)a->f.n_levels);
    a->level_pinned = true;
}

static void move_list(kr_list *l, int by, int n) { l->at = within(l->at, by, n); }

static void move_methods(kr_app *a, int by) {
    if (a->methods.n > 0)
        kr_app_select_method(a,
                             a->methods.order[within(a->methods.at, by, (int)a->methods.n)]);
}

static void move_map(kr_app *a, int dx, int dy) {
    a->map_x = within(a->map_x, dx, a->f.map_cols);
    a->map_y = within(a->map_y, dy, a->f.map_rows);
    a->map_moved = true;
}

/* The end is followed, whatever is above it stays. */
static void move_log(kr_app *a, int by) {
    kr_reeval *r = a->re;
    r->log_top = within(r->log_top, by, r->log_end + 1);
    r->log_stay = r->log_top < r->log_end;
}

static void next_below(kr_app *a) {
    kr_reeval *r = a->re;
    bool both = a->lay.pane[KR_PANE_TIMES].w > 0 && a->lay.pane[KR_PANE_RESULTS].w > 0;
    r->below = (kr_re_below)((r->below + 1) % KR_RE_BELOWS);
    if (both && r->below == KR_RE_BELOW_TIMES)
        r->below = KR_RE_BELOW_LOG;
}

static void follow(kr_app *a) {
    a->re->log_stay = !a->re->log_stay;
    kr_app_say(a, false, a->re->log_stay ? "the log stays where it is; F follows its end again"
                                         : "the log follows its end");
}

static void move(kr_app *a, int by) {
    a->on_field = false;
    switch (a->screen) {
    case KR_SCREEN_MAIN: move_methods(a, by); break;
    case KR_SCREEN_MAP: move_map(a, 0, by); break;
    case KR_SCREEN_POLICY: move_level(a, by); break;
    case KR_SCREEN_TASKS: move_list(&a->tasks, by, (int)a->tasks.n); break;
    case KR_SCREEN_REQUESTS: move_list(&a->requests, by, (int)a->requests.n); break;
    case KR_SCREEN_POINTS: move_list(&a->points, by, (int)a->n_saved); break;
    case KR_SCREEN_LEDGER:
        a->book.selected = within(a->book.selected, by, (int)a->book.ledger.n);
        break;
    case KR_SCREEN_CLAIMS: a->claims.selected = within(a->claims.selected, by, a->claims.n); break;
    case KR_SCREEN_REEVAL:
        if (a->re->below == KR_RE_BELOW_LOG)
            move_log(a, by);
        else
            move_list(&a->results, by, (int)kr_reeval_listed_count(a));
        break;
    case KR_SCREEN_RUN: kr_reeval_field_move(a, by, false); break;
    case KR_SCREEN_REQUEST:
        if (a->re->view_heads)
            a->re->heads_at = within(a->re->heads_at, by, 1 << 20);
        else
            move_list(&a->text, by, (int)a->text.n + 1);
        break;
    default: move_list(&a->text, by, (int)a->text.n + 1); break;
    }
}

static int page(const kr_app *a) { return a->h > 12 ? a->h - 10 : 2; }

/* --- single actions --------------------------------------------------------------------------- */

static void open_result(kr_app *a) {
    const kr_measure *m = kr_reeval_listed(a, (size_t)a->results.at);
    if (m == NULL) {
        kr_app_say(a, false, "no results yet; r starts");
        return;
    }
    const kr_re_run *u = kr_reeval_shown(a);
    size_t q = m->q;
    kr_app_select_method(a, u->method);
    a->level = (int)(m->policy - kr_calib_method(a->calib, u->method)->first);
    kr_reeval_open(a, q);
}

static void enter(kr_app *a) {
    kr_contract c = kr_analysis_contract(a->an);
    switch (a->screen) {
    case KR_SCREEN_MAIN: kr_app_show(a, KR_SCREEN_POLICY); break;
    case KR_SCREEN_POLICY: kr_app_show(a, KR_SCREEN_TASKS); break;
    case KR_SCREEN_TASKS:
        a->requests.at = a->requests.top = 0;
        a->request_task = a->tasks.n > 0 ? (int)a->tasks.order[a->tasks.at] : -1;
        kr_app_show(a, KR_SCREEN_REQUESTS);
        break;
    case KR_SCREEN_MAP:
        if (kr_map_cursor(a) == NULL)
            break;
        c.tolerance = a->f.map_tolerance[a->map_x];
        c.risk = a->f.map_risk[a->map_y];
        if (kr_app_set_contract(a, c)) {
            a->map_moved = false;
            kr_app_say(a, false, "the cell is the contract now; u takes it back, 1 shows Main");
        }
        break;
    case KR_SCREEN_POINTS: kr_points_go(a); break;
    case KR_SCREEN_REEVAL:
        if (kr_reeval_listed_count(a) > 0)
            open_result(a);
        else
            kr_reeval_form(a);
        break;
    case KR_SCREEN_RUN: kr_reeval_start_here(a); break;
    case KR_SCREEN_SIMULATE: kr_sim_begin(a); break;
    case KR_SCREEN_CLAIMS: kr_claims_ask(a); break;
    case KR_SCREEN_LEDGER: kr_book_enter(a); break;
    default: break;
    }
}

static void cycle_confidence(kr_app *a) {
    static const kr_dec steps[] = {{9, 1}, {95, 2}, {99, 2}};
    kr_contract c = kr_analysis_contract(a->an);
    size_t at = 0;
    for (size_t i = 0; i < 3; i++)
        if (kr_dec_cmp(c.confidence, steps[i]) == 0)
            at = (i + 1) % 3;
    c.confidence = steps[at];
    kr_app_set_contract(a, c);
}

kr_list *kr_app_filtered(kr_app *a) {
    switch (a->screen) {
    case KR_SCREEN_TASKS: return &a->tasks;
    case KR_SCREEN_REQUESTS: return &a->requests;
    case KR_SCREEN_HELP: return &a->text;
    default: return &a->methods;
    }
}

static void back(kr_app *a) {
    if (a->screen == KR_SCREEN_HELP || a->screen == KR_SCREEN_MESSAGES) {
        kr_app_show(a, a->back);
        return;
    }
    kr_list *l = kr_app_filtered(a);
    if (l->filter[0] != '\0') {
        l->filter[0] = '\0';
        return;
    }
    if (a->screen == KR_SCREEN_REQUEST)
        kr_app_show(a, a->re_back);
    else if (a->screen == KR_SCREEN_REQUESTS)
        kr_app_show(a, KR_SCREEN_TASKS);
    else if (a->screen == KR_SCREEN_RUN)
        kr_app_show(a, KR_SCREEN_REEVAL);
    else if (a->screen != KR_SCREEN_MAIN)
        kr_app_show(a, KR_SCREEN_MAIN);
}

static void sort_by_next(kr_app *a) {
    static const char *const by_method[] = {"certified", "file order", "name", "empirical", "rate"};
    static const char *const by_task[] = {"file order", "rate", "upper limit", "name",
                                          "worst drop"};
    static const char *const by_request[] = {"drop", "file order", "full utility", "tokens"};
    kr_list *l = kr_app_filtered(a);
    int n = a->screen == KR_SCREEN_REQUESTS ? 4 : 5;
    l->sort = (l->sort + 1) % n;
    kr_app_say(a, false, "sorted by %s",
               (a->screen == KR_SCREEN_TASKS      ? by_task
                : a->screen == KR_SCREEN_REQUESTS ? by_request
                                                  : by_method)[l->sort]);
}

static void type_value(kr_app *a) {
    char label[160], now[40];
    if (a->screen == KR_SCREEN_RUN) {
        kr_reeval_field_ask(a);
        return;
    }
    kr_field_text(a, (kr_field)a->field, now);
    snprintf(label, sizeof label, "%s (now %s; %s) = ", kr_field_name((kr_field)a->field), now,
             kr_field_forms(a, (kr_field)a->field));
    kr_prompt_open(&a->prompt, KR_PROMPT_VALUE, label, "");
}

static void next_alphabet(kr_app *a) {
    a->set.alphabet = (kr_plot_alphabet)((a->set.alphabet + 1) % KR_PLOT_ALPHABETS);
    kr_app_say(a, false, "plot in %s characters", kr_plot_alphabet_name(a->set.alphabet));
}

void kr_app_quit(kr_app *a, bool ask) {
    size_t n = kr_points_unsaved(a);
    bool busy = kr_reeval_sampling(a);
    if (!ask || (n == 0 && !busy)) {
        a->done = true;
        return;
    }
    char label[160], points[80] = "";
    if (n > 0)
        snprintf(points, sizeof points, "%zu point%s not exported. ", n, n == 1 ? " is" : "s are");
    snprintf(label, sizeof label, "%s%sQuit anyway? y/N ", points,
             busy ? "A job is at work and would end. " : "");
    a->pending = KR_ACT_QUIT;
    kr_prompt_open(&a->prompt, KR_PROMPT_YESNO, label, "");
}

void kr_app_interrupt(kr_app *a) {
    a->pasting = false;
    a->interrupted = true;
    if (a->prompt.kind == KR_PROMPT_YESNO && a->pending == KR_ACT_QUIT)
        a->done = true;
    else
        kr_app_quit(a, true);
}

static void edit_note(kr_app *a) {
    if (a->n_saved > 0)
        kr_prompt_open(&a->prompt, KR_PROMPT_NOTE, "note: ", a->saved[a->points.at].note);
}

static void open_filter(kr_app *a) {
    kr_prompt_open(&a->prompt, KR_PROMPT_FILTER, "/", kr_app_filtered(a)->filter);
}

static void export_key(kr_app *a) {
    kr_out_ask(a, a->screen == KR_SCREEN_MAP      ? KR_OUT_MAP
                  : a->screen == KR_SCREEN_POINTS ? KR_OUT_POINTS_JSON
                  : a->screen == KR_SCREEN_LEDGER ? KR_OUT_CERTIFICATE
                                                  : KR_OUT_POINT);
}

static void help_key(kr_app *a) {
    bool statement = a->help_statement;
    kr_app_show(a, a->screen == KR_SCREEN_HELP && !statement ? a->back : KR_SCREEN_HELP);
    a->help_statement = false;
}

static void quit_key(kr_app *a) {
    if (a->screen == KR_SCREEN_HELP || a->screen == KR_SCREEN_MESSAGES)
        kr_app_show(a, a->back);
    else
        kr_app_quit(a, true);
}

static void move_horizontally(kr_app *a, int by) {
    if (a->screen == KR_SCREEN_MAP)
        move_map(a, by, 0);
    else
        step_field(a, by);
}

/* Results belong to the rows of the file as it was; those that are in no file are asked about. */
static void reload_key(kr_app *a) {
    kr_stamp now;
    size_t n = kr_reeval_unwritten(a);
    bool changed = kr_file_stamp(a->path, &now, NULL) == KR_OK &&
                   !kr_stamp_equal(&now, kr_calib_stamp(a->calib));
    if (!changed || (n == 0 && !kr_reeval_sampling(a))) {
        kr_app_reload(a);
        return;
    }
    kr_prompt_open(&a->prompt, KR_PROMPT_YESNO,
                   "The file changed; results that are not written would go. Read it? y/N ", "");
    a->pending = KR_ACT_RELOAD;
}

void kr_app_act(kr_app *a, kr_action act) {
    switch (act) {
    case KR_ACT_QUIT: quit_key(a); break;
    case KR_ACT_HELP: help_key(a); break;
    case KR_ACT_BACK: back(a); break;
    case KR_ACT_MAIN:
    case KR_ACT_MAP:
    case KR_ACT_POLICY:
    case KR_ACT_TASKS:
    case KR_ACT_REEVAL:
    case KR_ACT_POINTS: kr_app_show(a, (kr_screen)(act - KR_ACT_MAIN)); break;
    case KR_ACT_NEXT_FIELD: next_field(a, 1); break;
    case KR_ACT_PREV_FIELD: next_field(a, -1); break;
    case KR_ACT_LESS: move_horizontally(a, -1); break;
    case KR_ACT_MORE: move_horizontally(a, 1); break;
    case KR_ACT_MUCH_LESS: step_field(a, -10); break;
    case KR_ACT_MUCH_MORE: step_field(a, 10); break;
    case KR_ACT_TYPE: type_value(a); break;
    case KR_ACT_UP: move(a, -1); break;
    case KR_ACT_DOWN: move(a, 1); break;
    case KR_ACT_PAGE_UP: move(a, -page(a)); break;
    case KR_ACT_PAGE_DOWN: move(a, page(a)); break;
    case KR_ACT_FIRST: move(a, -1000000); break;
    case KR_ACT_LAST: move(a, 1000000); break;
    case KR_ACT_ENTER: enter(a); break;
    case KR_ACT_UNDO: kr_app_undo(a, false); break;
    case KR_ACT_REDO: kr_app_undo(a, true); break;
    case KR_ACT_RESET: kr_app_reset(a); break;
    case KR_ACT_FAMILY: kr_app_toggle_family(a); break;
    case KR_ACT_NEXT_METHOD: cycle_method(a, 1); break;
    case KR_ACT_PREV_METHOD: cycle_method(a, -1); break;
    case KR_ACT_LEVEL_UP: move_level(a, -1); break;
    case KR_ACT_LEVEL_DOWN: move_level(a, 1); break;
    case KR_ACT_MAP_MODE: a->map_mode = (kr_map_mode)((a->map_mode + 1) % KR_MAP_MODES); break;
    case KR_ACT_CONFIDENCE: cycle_confidence(a); break;
    case KR_ACT_PLOT: a->plot_on = !a->plot_on; break;
    case KR_ACT_ALPHABET: next_alphabet(a); break;
    case KR_ACT_SORT: sort_by_next(a); break;
    case KR_ACT_REVERSE: kr_app_filtered(a)->reverse = !kr_app_filtered(a)->reverse; break;
    case KR_ACT_FILTER: open_filter(a); break;
    case KR_ACT_EVENTS:
        a->events_only = !a->events_only;
        if (a->screen != KR_SCREEN_REQUESTS)
            kr_app_show(a, KR_SCREEN_REQUESTS);
        break;
    case KR_ACT_REEVALUATE:
        if (a->screen == KR_SCREEN_REEVAL)
            kr_reeval_form(a);
        else
            kr_reeval_start_here(a);
        break;
    case KR_ACT_CANCEL: kr_reeval_cancel(a); break;
    case KR_ACT_DIFFERING:
        a->re->differing = !a->re->differing;
        a->results = (kr_list){.at = 0};
        break;
    case KR_ACT_HEADS: a->re->view_heads = !a->re->view_heads; break;
    case KR_ACT_OLDER_JOB: kr_reeval_show_other(a, -1); break;
    case KR_ACT_NEWER_JOB: kr_reeval_show_other(a, 1); break;
    case KR_ACT_SAVE_RESULTS:
        kr_out_ask(a, a->re->below == KR_RE_BELOW_LOG ? KR_OUT_LOG : KR_OUT_RESULTS);
        break;
    case KR_ACT_BELOW: next_below(a); break;
    case KR_ACT_FOLLOW: follow(a); break;
    case KR_ACT_HEADS_LEFT: a->re->heads_x = within(a->re->heads_x, -1, 1 << 20); break;
    case KR_ACT_HEADS_RIGHT: a->re->heads_x = within(a->re->heads_x, 1, 1 << 20); break;
    case KR_ACT_EXPORT: export_key(a); break;
    case KR_ACT_APPEND:
        kr_out_ask(a, a->screen == KR_SCREEN_POINTS ? KR_OUT_POINTS_CSV : KR_OUT_APPEND);
        break;
    case KR_ACT_ADD_POINT:
        kr_prompt_open(&a->prompt, KR_PROMPT_NEW_NOTE, "note (may be empty): ", "");
        break;
    case KR_ACT_DELETE: kr_points_delete(a); break;
    case KR_ACT_NOTE: edit_note(a); break;
    case KR_ACT_RELOAD: reload_key(a); break;
    case KR_ACT_MESSAGES: kr_app_show(a, KR_SCREEN_MESSAGES); break;
    case KR_ACT_COMMAND: kr_prompt_open(&a->prompt, KR_PROMPT_COMMAND, ":", ""); break;
    case KR_ACT_REDRAW: a->redraw = true; break;
    case KR_ACT_STATEMENT:
        kr_app_show(a, KR_SCREEN_HELP);
        a->help_statement = true;
        break;
    case KR_ACT_CLAIMS: kr_app_show(a, KR_SCREEN_CLAIMS); break;
    case KR_ACT_PLAN: kr_app_show(a, KR_SCREEN_PLAN); break;
    case KR_ACT_SIMULATE: kr_app_show(a, KR_SCREEN_SIMULATE); break;
    case KR_ACT_STOP: kr_sim_stop(a); break;
    case KR_ACT_LEDGER: kr_app_show(a, KR_SCREEN_LEDGER); break;
    case KR_ACT_LOCK: kr_book_ask_lock(a); break;
    case KR_ACT_CONFIRM: kr_book_ask_confirm(a, 0); break;
    case KR_ACT_PAIR: kr_pair_mark(a); break;
    case KR_ACT_JOINT:
        a->joint = !a->joint;
        kr_app_say(a, false, a->joint ? "strips show what holds jointly, for a choice after looking"
                                      : "strips show each value alone");
        break;
    case KR_ACT_NONE:
    case KR_ACT_COUNT: break;
    }
}

/* --- keys ------------------------------------------------------------------------------------- */

static void unbound(kr_app *a, int key) {
    if (key > ' ' && key < 0x7f)
        kr_app_say(a, false, "%c does nothing here; ? lists the keys", key);
}

/* What is not drawn is not changed: in a window that is too small only leaving, redrawing and the
 * question about leaving are there. */
static void small_key(kr_app *a, int key) {
    if (a->prompt.kind == KR_PROMPT_YESNO && a->pending == KR_ACT_QUIT) {
        kr_app_prompt_key(a, key);
        return;
    }
    kr_action act = kr_keys_action(key, a->screen);
    if (act == KR_ACT_QUIT)
        kr_app_quit(a, true);
    else if (act == KR_ACT_REDRAW)
        a->redraw = true;
}

/* Pasted text is text where text is typed, and nothing anywhere else: keys that nobody pressed must
 * not act. Control characters in it are dropped. */
static void pasted(kr_app *a, int key) {
    kr_prompt_kind kind = a->prompt.kind;
    bool text = key >= ' ' && key < KR_KEY_UNKNOWN && (key < 0x7f || key >= 0xa0);
    bool open = kind != KR_PROMPT_NONE && kind != KR_PROMPT_YESNO && a->lay.step != KR_STEP_REFUSE;
    if (open && text)
        kr_app_prompt_key(a, key);
    if (!open || (text && a->prompt.full))
        a->swallowed++;
}

static void end_paste(kr_app *a) {
    a->pasting = false;
    bool full = a->prompt.kind != KR_PROMPT_NONE && a->prompt.full;
    if (a->swallowed > 0 && a->lay.step != KR_STEP_REFUSE && full)
        kr_app_say(a, true, "the last %zu characters did not fit and are not there; a line has at most "
                            "%zu bytes", a->swallowed, sizeof a->prompt.text - 1);
    else if (a->swallowed > 0 && a->lay.step != KR_STEP_REFUSE)
        kr_app_say(a, false, "pasted text is not taken as keys; paste it after : / or =");
    a->swallowed = 0;
    kr_facts_refresh(a);
}

void kr_app_key(kr_app *a, int key) {
    if (key == KR_KEY_PASTE_ON || key == KR_KEY_PASTE_OFF) {
        a->pasted_at = time(NULL);
        if (key == KR_KEY_PASTE_ON)
            a->pasting = true;
        else
            end_paste(a);
        return;
    }
    if (a->pasting) {
        a->pasted_at = time(NULL);
        pasted(a, key);
        return;
    }
    if (a->lay.step == KR_STEP_REFUSE) {
        small_key(a, key);
        return;
    }
    a->message_on = false;
    kr_book_notice(a); /* before anything is shown or written as LOCKED */
    if (a->prompt.kind == KR_PROMPT_NONE)
        a->typed_at = a->n_typed;
    if (a->prompt.kind != KR_PROMPT_NONE) {
        kr_app_prompt_key(a, key);
        if (a->prompt.full)
            kr_app_say(a, true, "a line has at most %zu bytes", sizeof a->prompt.text - 1);
    } else {
        kr_action act = kr_keys_action(key, a->screen);
        if (act == KR_ACT_NONE)
            unbound(a, key);
        kr_app_act(a, act);
    }
    kr_facts_refresh(a);
    if (a->screen == KR_SCREEN_REQUEST)
        kr_reeval_need(a);
}

/* --- mouse ------------------------------------------------------------------------------------ */

void kr_app_mouse(kr_app *a, int key, int x, int y) {
    if (a->lay.step == KR_STEP_REFUSE)
        return;
    if (key == KR_KEY_WHEEL_UP || key == KR_KEY_WHEEL_DOWN)
        move(a, key == KR_KEY_WHEEL_UP ? -1 : 1);
    else if (y == 1 && kr_tab_at(a, x) >= 0)
        kr_app_show(a, (kr_screen)kr_tab_at(a, x));
    kr_facts_refresh(a);
}
