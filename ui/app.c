#include "ui/app.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/study.h"
#include "ui/model.h"
#include "ui/pages.h"
#include "verdict/simrun.h"

static kr_status load(const char *path, kr_analysis_options options, kr_calib **calib,
                      kr_analysis **an, kr_error *err) {
    kr_status st = kr_study_look(path, calib, &options, err);
    if (st != KR_OK)
        return st;
    st = kr_analysis_new(*calib, options, an, err);
    if (st != KR_OK) {
        kr_calib_free(*calib);
        *calib = NULL;
    }
    return st;
}

/* The method to open with: the one declared, else the best certified. */
static size_t first_method(const kr_app *a) {
    const char *declared = kr_calib_meta_of(a->calib)->contract_method;
    int m = declared != NULL ? kr_calib_find_method(a->calib, declared) : -1;
    return m >= 0 ? (size_t)m : a->methods.n > 0 ? a->methods.order[0] : 0;
}

kr_status kr_app_open(const char *path, kr_app_settings settings, kr_app **out, kr_error *err) {
    return kr_app_open_with(path, (kr_analysis_options){.split = KR_SPLIT_CAL}, settings, out, err);
}

kr_status kr_app_open_with(const char *path, kr_analysis_options options, kr_app_settings settings,
                           kr_app **out, kr_error *err) {
    kr_app *a = calloc(1, sizeof *a);
    if (a == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for the screens");
    a->path = strdup(path);
    if (a->path != NULL)
        kr_book_stamp(a);
    kr_status st = a->path == NULL ? kr_fail(err, KR_ENOMEM, "out of memory for the screens")
                                   : load(path, options, &a->calib, &a->an, err);
    if (st != KR_OK) {
        kr_app_free(a);
        return st;
    }
    a->w = 80;
    a->h = 24;
    a->set = settings;
    a->plot_on = true;
    a->re = kr_reeval_new(a->path, a->calib);
    if (a->re == NULL) {
        kr_app_free(a);
        return kr_fail(err, KR_ENOMEM, "out of memory for the screens");
    }
    a->request_task = a->pair_base = a->claims.asked = -1;
    a->tasks.sort = 1;
    kr_facts_refresh(a);
    a->method = first_method(a);
    kr_facts_refresh(a);
    *out = a;
    return KR_OK;
}

void kr_app_free(kr_app *a) {
    if (a == NULL)
        return;
    kr_reeval_free(a->re);
    kr_simrun_free(a->sim);
    kr_plan_forget(a);
    kr_claims_free(&a->claims);
    kr_book_free(&a->book);
    kr_facts_forget(a);
    for (size_t i = 0; i < a->n_saved; i++)
        kr_point_free(&a->saved[i]);
    free(a->saved);
    for (size_t i = 0; i < a->n_typed; i++)
        free(a->typed[i]);
    for (size_t i = 0; i < a->n_messages; i++)
        free(a->messages[i].text);
    kr_analysis_free(a->an);
    kr_calib_free(a->calib);
    free(a->path);
    free(a);
}

void kr_app_say(kr_app *a, bool error, const char *fmt, ...) {
    char buf[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    char *text = strdup(buf);
    if (text == NULL)
        return;
    if (a->n_messages == KR_MESSAGE_MAX) {
        free(a->messages[0].text);
        memmove(a->messages, a->messages + 1, (KR_MESSAGE_MAX - 1) * sizeof *a->messages);
        a->n_messages--;
    }
    a->messages[a->n_messages++] = (kr_message){time(NULL), error, text};
    a->message_on = true;
}

void kr_app_resize(kr_app *a, int w, int h) {
    a->w = w < 1 ? 1 : w > 1000 ? 1000 : w;
    a->h = h < 1 ? 1 : h > 1000 ? 1000 : h;
    kr_facts_refresh(a);
}

void kr_app_show(kr_app *a, kr_screen screen) {
    bool overlay = screen == KR_SCREEN_HELP || screen == KR_SCREEN_MESSAGES;
    bool over_now = a->screen == KR_SCREEN_HELP || a->screen == KR_SCREEN_MESSAGES;
    if (overlay && !over_now)
        a->back = a->screen;
    if (overlay || kr_page_screen(screen))
        a->text = (kr_list){.at = 0};
    if (screen == KR_SCREEN_REQUESTS && a->screen != KR_SCREEN_TASKS)
        a->request_task = -1;
    if (screen != KR_SCREEN_HELP)
        a->help_statement = false;
    a->screen = screen;
    if (screen == KR_SCREEN_MESSAGES)
        a->text.at = (int)a->n_messages;
    kr_reeval_look(a);
    kr_facts_refresh(a);
}

kr_screen kr_app_screen(const kr_app *a) { return a->screen; }

void kr_app_type(kr_app *a, const char *keys) {
    while (*keys != '\0') {
        uint32_t cp = (unsigned char)*keys;
        int n = cp < 0x80 ? 1 : kr_text_next(keys, &cp);
        kr_app_key(a, *keys == '\n' ? KR_KEY_ENTER : (int)cp);
        keys += n;
    }
}

bool kr_app_tick(kr_app *a) {
    kr_stamp now;
    bool news = kr_reeval_poll(a);
    if (kr_book_notice(a)) {
        kr_facts_refresh(a);
        news = true;
    }
    if (a->pasting && time(NULL) > a->pasted_at + 1)
        a->pasting = false; /* its end mark is lost */
    news |= kr_sim_tick(a);
    bool gone = !a->file_changed && access(a->path, F_OK) != 0 && errno == ENOENT;
    if (!gone && (a->file_changed || kr_file_stamp(a->path, &now, NULL) != KR_OK ||
                  kr_stamp_equal(&now, kr_calib_stamp(a->calib))))
        return news;
    a->file_changed = true;
    kr_app_say(a, gone, gone ? "the file is gone from disk; what was read stays, :w writes the point"
                             : "the file changed on disk; R reads it again");
    return true;
}

/* Takes over another calibration set and what is judged on it. */
static void exchange(kr_app *a, kr_calib *calib, kr_analysis *an) {
    kr_facts_forget(a);
    kr_simrun_free(a->sim);
    a->sim = NULL;
    a->sim_failed[0] = '\0';
    kr_plan_forget(a);
    a->pair_base = a->request_task = -1;
    kr_analysis_free(a->an);
    kr_calib_free(a->calib);
    a->calib = calib;
    a->an = an;
    a->file_changed = false;
    kr_book_forget(a);
    kr_claims_reload(a);
}

/* Undo goes back to contracts, not to files, so it is kept. */
bool kr_app_reload(kr_app *a) {
    kr_calib *calib = NULL;
    kr_analysis *an = NULL;
    kr_error err;
    kr_book before = a->book;
    kr_book_stamp(a);
    if (load(a->path, kr_analysis_options_of(a->an), &calib, &an, &err) != KR_OK) {
        kr_app_say(a, true, "%s", err.msg);
        a->book.stamped = before.stamped;
        a->book.stamp = before.stamp;
        return false;
    }
    char name[64];
    snprintf(name, sizeof name, "%s", kr_calib_method(a->calib, a->method)->name);
    kr_contract c = kr_analysis_contract(a->an);
    bool family = kr_analysis_family(a->an);
    bool home = kr_analysis_contract_source(a->an) != KR_FROM_USER;
    bool same = strcmp(kr_calib_sha256(calib), kr_calib_sha256(a->calib)) == 0;
    long long n0 = kr_analysis_n(a->an), n1 = kr_analysis_n(an);
    size_t m0 = kr_calib_policies(a->calib), m1 = kr_calib_policies(calib);
    if (!same) /* requests and policies may be others */
        kr_reeval_forget(a);
    exchange(a, calib, an);
    if (same) /* a ledger may have opened rows */
        kr_reeval_match(a);
    int m = kr_calib_find_method(calib, name);
    a->method = m < 0 ? 0 : (size_t)m;
    a->level_pinned = a->level_pinned && m >= 0;
    bool kept = home || (kr_analysis_set(an, c, NULL) == KR_OK &&
                         kr_analysis_set_family(an, family, NULL) == KR_OK);
    kr_facts_refresh(a);
    if (same && n0 == n1)
        kr_app_say(a, false, "read again: the file is the same");
    else
        kr_app_say(a, !kept,
                   "read again: %lld requests (before %lld), %zu policies (before %zu)%s%s", n1, n0,
                   m1, m0, m < 0 ? "; the selected method is gone" : "",
                   kept ? "" : "; the contract went back to the file's");
    return true;
}

/* --- another file --------------------------------------------------------------------------------- */

/* Vouching for independence was for the other file. Results of a job may be of the test split. */
static kr_status load_either(const char *path, kr_calib **calib, kr_analysis **an, kr_error *err) {
    kr_analysis_options o = {.split = KR_SPLIT_CAL};
    kr_status st = load(path, o, calib, an, err);
    if (st == KR_OK)
        return st;
    o.split = KR_SPLIT_TEST;
    return load(path, o, calib, an, NULL) == KR_OK ? KR_OK : st;
}

/* Jobs end; how they are run stays. What was confirmed was of the other file. */
static void take_file(kr_app *a, kr_calib *calib, kr_analysis *an, kr_reeval *re) {
    exchange(a, calib, an);
    kr_book fresh = {.stamped = a->book.stamped, .stamp = a->book.stamp};
    kr_book_free(&a->book);
    a->book = fresh;
    kr_reeval_keep_settings(re, a->re);
    kr_reeval_free(a->re);
    a->re = re;
    a->undo.n = a->redo.n = 0;
    a->level_pinned = a->map_moved = a->events_only = false;
    kr_list *lists[] = {&a->methods, &a->tasks, &a->requests, &a->results};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        lists[i]->filter[0] = '\0';
        lists[i]->at = lists[i]->top = 0;
    }
    a->method = 0;
    a->level = 0;
    kr_facts_refresh(a);
    a->method = first_method(a);
    kr_app_show(a, KR_SCREEN_MAIN);
}

/* The stamp of the ledger is taken before the file is read; all is as before where that fails. */
static kr_status open_now(kr_app *a, const char *name, kr_error *err) {
    kr_calib *calib = NULL;
    kr_analysis *an = NULL;
    kr_book before = a->book;
    char *old = a->path, *path = strdup(name);
    if (path == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %s", name);
    a->path = path;
    kr_book_stamp(a);
    kr_status st = load_either(path, &calib, &an, err);
    kr_reeval *re = st == KR_OK ? kr_reeval_new(path, calib) : NULL;
    if (re != NULL) {
        free(old);
        take_file(a, calib, an, re);
        return KR_OK;
    }
    if (st == KR_OK) {
        st = kr_fail(err, KR_ENOMEM, "out of memory for %s", path);
        kr_analysis_free(an);
        kr_calib_free(calib);
    }
    a->path = old;
    a->book.stamped = before.stamped;
    a->book.stamp = before.stamp;
    free(path);
    return st;
}

static void tell_open(kr_app *a) {
    char points[64] = "";
    if (a->n_saved > 0)
        snprintf(points, sizeof points, "; the %zu point%s of before stay%s", a->n_saved,
                 a->n_saved == 1 ? "" : "s", a->n_saved == 1 ? "s" : "");
    kr_app_say(a, false, "%s: %lld requests%s%s", kr_file_name(a->path), (long long)kr_analysis_n(a->an),
               kr_analysis_options_of(a->an).split == KR_SPLIT_TEST ? " of the test split" : "", points);
}

void kr_app_open_file(kr_app *a, const char *path, bool ask) {
    char label[160] = "";
    size_t points = kr_points_unsaved(a), results = kr_reeval_unwritten(a);
    if (kr_reeval_sampling(a))
        snprintf(label, sizeof label, "A job is at work and would end. ");
    else if (results > 0)
        snprintf(label, sizeof label, "The results of %zu job%s are not written and would go. ", results,
                 results == 1 ? "" : "s");
    else if (points > 0)
        snprintf(label, sizeof label, "%zu point%s not exported and will be of another file. ", points,
                 points == 1 ? " is" : "s are");
    if (!ask || label[0] == '\0') {
        kr_error err;
        if (open_now(a, path, &err) == KR_OK)
            tell_open(a);
        else
            kr_app_say(a, true, "%s", err.msg);
        return;
    }
    snprintf(label + strlen(label), sizeof label - strlen(label), "Open anyway? y/N ");
    snprintf(a->pending_path, sizeof a->pending_path, "%s", path);
    a->pending = KR_PENDING_OPEN;
    kr_prompt_open(&a->prompt, KR_PROMPT_YESNO, label, "");
}

bool kr_app_done(const kr_app *a) { return a->done; }
bool kr_app_interrupted(const kr_app *a) { return a->interrupted; }
kr_app_settings kr_app_settings_of(const kr_app *a) { return a->set; }

bool kr_app_wants_redraw(kr_app *a) {
    bool r = a->redraw;
    a->redraw = false;
    return r;
}

void kr_app_describe_terminal(kr_app *a, const char *text) {
    snprintf(a->terminal, sizeof a->terminal, "%s", text);
}

void kr_app_set_look(kr_app *a, kr_look look) {
    a->set.look = look;
    kr_facts_refresh(a);
}

bool kr_app_waiting(const kr_app *a) {
    return a->f.tasks_wait || a->f.rates_wait || a->f.requests_wait || a->claims.wait ||
           a->book.work != KR_BOOK_IDLE;
}

void kr_app_settle(kr_app *a) {
    kr_book_settle(a);
    a->settling = true;
    kr_facts_refresh(a);
    a->settling = false;
}

/* --- jobs ------------------------------------------------------------------------------------- */

static const kr_job *newest(const kr_app *a) {
    const kr_reeval *r = a->re;
    return r->n_runs > 0 ? r->run[r->n_runs - 1].job : NULL;
}

int kr_app_job_fd(const kr_app *a) {
    const kr_job *sample = newest(a), *one = a->re->one.job;
    int fd = sample != NULL ? kr_job_fd(sample) : -1;
    return fd >= 0 || one == NULL ? fd : kr_job_fd(one);
}

bool kr_app_busy(const kr_app *a) {
    return kr_reeval_busy(a) || kr_reeval_reading(a) || kr_sim_running(a) || kr_sim_wanted(a);
}
bool kr_app_hear(kr_app *a) { return kr_reeval_poll(a); }
void kr_app_wait(kr_app *a) { kr_reeval_wait(a); }

void kr_app_remember(kr_app *a, const char *path) { kr_reeval_remember(a, path); }

void kr_app_set_colored(kr_app *a, bool colored) { a->colored = colored; }
