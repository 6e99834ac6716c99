#include "ui/book.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/model.h"
#include "verdict/joint.h"

static const char start_default[] = "ledger start 25% seed 1 budget 0.05";

static void drop_reading(kr_book *b) {
    kr_ledger_free(&b->ledger);
    free(b->tests);
    b->tests = NULL;
    b->known = b->there = false;
    b->damage[0] = '\0';
    b->exploring = b->unopened = b->opened = 0;
}

static void drop_result(kr_book_result *r) {
    kr_buf_free(&r->text);
    free(r->json);
    *r = (kr_book_result){0};
}

void kr_book_free(kr_book *b) {
    drop_reading(b);
    drop_result(&b->result);
    kr_buf_free(&b->detail);
}

void kr_book_forget(kr_app *a) {
    drop_reading(&a->book);
    a->book.changed = false;
    if (a->book.work == KR_BOOK_READ)
        a->book.work = KR_BOOK_IDLE;
}

/* --- what another process does ---------------------------------------------------------------- */

static bool stamp_of(const kr_app *a, kr_stamp *out) {
    *out = (kr_stamp){0};
    char *path = kr_ledger_path(a->path);
    bool there = path != NULL && kr_file_stamp(path, out, NULL) == KR_OK;
    free(path);
    return there;
}

/* Taken before what it is to stand for is read. */
void kr_book_stamp(kr_app *a) { a->book.stamped = stamp_of(a, &a->book.stamp); }

bool kr_book_notice(kr_app *a) {
    kr_book *b = &a->book;
    kr_stamp now;
    bool there = stamp_of(a, &now);
    bool as_read = there == b->stamped && (!there || kr_stamp_equal(&now, &b->stamp));
    bool as_noticed = there == b->noticed && (!there || kr_stamp_equal(&now, &b->notice));
    if (b->changed ? as_noticed : as_read)
        return false;
    b->noticed = there;
    b->notice = now;
    drop_reading(b);
    if (b->changed) /* once more: the ledger's screen reads it again, the others stay as they are */
        return true;
    b->changed = true;
    kr_analysis_disown(a->an, "The ledger beside the file is not what it was when the file was read: "
                              "exploration, no guarantee.");
    a->claims.valid = false;
    kr_app_say(a, true, "the ledger was %s by another program; R reads it again",
               !there ? "taken away" : b->stamped ? "changed" : "started");
    return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

const kr_ledger_entry *kr_book_entry(const kr_book *b, int64_t number) {
    for (size_t i = 0; i < b->ledger.n; i++)
        if (b->ledger.entry[i].number == number)
            return &b->ledger.entry[i];
    return NULL;
}

bool kr_book_confirmed(const kr_book *b, int64_t lock) {
    for (size_t i = 0; i < b->ledger.n; i++) {
        const kr_ledger_entry *e = &b->ledger.entry[i];
        if (e->kind == KR_LEDGER_CONFIRM && e->lock == lock && e->look > 0)
            return true;
    }
    return false;
}

/* free[i]: requests for confirming that would be tested if all rows of the file below i were opened.
 * Those that belong together with an opened or an exploring one are opened with it. Caller frees. */
static int64_t *free_from(const kr_study *s) {
    size_t rows = kr_calib_rows(s->calib);
    int64_t *free_rows = calloc(rows + 1, sizeof *free_rows);
    bool *explored = calloc(rows + 1, sizeof *explored); /* of the group that begins at this row */
    if (free_rows == NULL || explored == NULL) {
        free(free_rows);
        free(explored);
        return NULL;
    }
    for (size_t i = 0; i < rows; i++)
        explored[s->group[i]] |= s->explore[i];
    for (size_t i = 0; i < rows; i++)
        free_rows[s->group[i]] += s->confirm[i] && !explored[s->group[i]];
    for (size_t i = rows; i-- > 0;)
        free_rows[i] += free_rows[i + 1];
    free(explored);
    return free_rows;
}

/* Keeps what the screen shows of an open study, and takes its list of entries. */
static void take_reading(kr_book *b, kr_study *s) {
    size_t rows = kr_calib_rows(s->calib), upto = 0;
    drop_reading(b);
    b->known = true;
    b->there = s->ledger.n > 0;
    b->budget = kr_study_budget_of(s);
    int64_t *free_rows = b->there ? free_from(s) : NULL;
    b->tests = calloc(s->ledger.n + 1, sizeof *b->tests);
    for (size_t e = 0; free_rows != NULL && e < s->ledger.n; e++) {
        const kr_ledger_entry *x = &s->ledger.entry[e];
        if (b->tests != NULL)
            b->tests[e] = x->kind == KR_LEDGER_LOCK ? free_rows[upto] : -1;
        if (x->kind == KR_LEDGER_CONFIRM && x->file_rows > (int64_t)upto)
            upto = (size_t)x->file_rows < rows ? (size_t)x->file_rows : rows;
    }
    for (size_t i = 0; free_rows != NULL && i < rows; i++) {
        b->exploring += s->explore[i];
        b->opened += s->confirm[i];
    }
    b->unopened = free_rows != NULL ? (size_t)free_rows[upto] : 0;
    b->opened -= b->unopened;
    free(free_rows);
    if (s->ledger.n != b->seen)
        b->selected = s->ledger.n > 0 ? (int)s->ledger.n - 1 : 0;
    b->seen = s->ledger.n;
    b->ledger = s->ledger;
    s->ledger = (kr_ledger){0};
}

static bool open_study(kr_app *a, kr_study *s) {
    kr_error err;
    if (kr_study_open(a->path, s, &err) == KR_OK)
        return true;
    drop_reading(&a->book);
    a->book.known = true;
    snprintf(a->book.damage, sizeof a->book.damage, "%s", err.msg);
    return false;
}

static void read_book(kr_app *a) {
    kr_study s;
    if (!open_study(a, &s))
        return;
    take_reading(&a->book, &s);
    kr_study_close(&s);
}

/* --- starting --------------------------------------------------------------------------------- */

void kr_book_offer_start(kr_app *a) {
    kr_prompt_open(&a->prompt, KR_PROMPT_COMMAND, ":", start_default);
}

/* "25% seed 3 budget 0.1 declared-split", in any order. */
static bool read_start(kr_app *a, const char *arguments, kr_ledger_entry *e) {
    char text[256], *save = NULL;
    kr_error err = {.msg = ""};
    *e = (kr_ledger_entry){.share = kr_dec_make(25, 2), .seed = 1, .budget = kr_dec_make(5, 2)};
    snprintf(text, sizeof text, "%s", arguments);
    for (char *w = strtok_r(text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        kr_status st = KR_OK;
        bool named = strcmp(w, "seed") == 0 || strcmp(w, "budget") == 0 || strcmp(w, "explore") == 0;
        char *value = named ? strtok_r(NULL, " ", &save) : w, *end = NULL;
        if (strcmp(w, "declared-split") == 0) {
            e->declared_split = true;
        } else if (value == NULL) {
            st = kr_fail(&err, KR_EINVAL, "%s needs a value, for example :%s", w, start_default);
        } else if (strcmp(w, "seed") == 0) {
            e->seed = strtoll(value, &end, 10);
            if (!isdigit((unsigned char)*value) || *end != '\0')
                st = kr_fail(&err, KR_EINVAL, "the seed '%.40s' is no whole number", value);
        } else {
            st = kr_dec_parse_percent(value, strcmp(w, "budget") == 0 ? &e->budget : &e->share, &err);
        }
        if (st != KR_OK) {
            kr_app_say(a, true, "%s", err.msg);
            return false;
        }
    }
    return true;
}

/* Nothing is entered on grounds that are not those on the screen. */
static bool may_write(kr_app *a) {
    kr_book_notice(a);
    if (a->book.changed || a->file_changed)
        kr_app_say(a, true, "the %s changed since it was read; R reads it again first",
                   a->book.changed ? "ledger" : "file");
    else if (a->book.work > KR_BOOK_READ)
        kr_app_say(a, false, "the last request is still at work");
    else
        return true;
    return false;
}

void kr_book_start(kr_app *a, const char *arguments) {
    char label[160], share[KR_DEC_TEXT], budget[KR_DEC_TEXT];
    kr_ledger_entry *e = &a->book.entry;
    kr_app_show(a, KR_SCREEN_LEDGER);
    if (!may_write(a) || !read_start(a, arguments, e))
        return;
    if (a->book.stamped) {
        kr_app_say(a, true, "this file has a ledger already");
        return;
    }
    if (!e->declared_split && e->share.digits <= 0) {
        kr_app_say(a, true, "the screens need some requests to explore; give a share above 0");
        return;
    }
    if (!e->declared_split && kr_dec_cmp(e->share, kr_dec_make(1, 0)) >= 0) {
        kr_app_say(a, true, "some requests must stay closed to confirm on; give a share below 100%%");
        return;
    }
    if (e->declared_split)
        snprintf(share, sizeof share, "split test");
    else
        snprintf(share, sizeof share, "%s %%", kr_dec_percent(e->share, 0, (char[KR_DEC_TEXT]){0}));
    snprintf(label, sizeof label, "Start: explore %.12s, budget %.12s; cannot be undone. y/N ", share,
             kr_dec_text(e->budget, budget));
    a->pending = KR_ACT_LEDGER;
    kr_prompt_open(&a->prompt, KR_PROMPT_YESNO, label, "");
}

/* Each of these: true when the ledger is now as it was left here. */
static bool do_start(kr_app *a) {
    kr_study s;
    kr_error err;
    size_t explore, confirm;
    if (!open_study(a, &s)) {
        kr_app_say(a, true, "%s", a->book.damage);
        return false;
    }
    if (kr_study_start(&s, &a->book.entry, &err) != KR_OK) {
        kr_app_say(a, true, "%s", err.msg);
        kr_study_close(&s);
        return false;
    }
    take_reading(&a->book, &s);
    explore = a->book.exploring;
    confirm = a->book.unopened;
    kr_study_close(&s);
    kr_analysis_disown(a->an, "The rows of a ledger that began just now: exploration, no guarantee.");
    if (kr_app_reload(a))
        kr_app_say(a, false, "ledger started: %zu requests to explore, %zu to confirm on", explore,
                   confirm);
    return false; /* stamped when it was read again */
}

/* --- locking ---------------------------------------------------------------------------------- */

/* The contract on the screen as a lock. */
static kr_ledger_entry lock_here(const kr_app *a) {
    kr_ledger_entry e = {.looks = 1, .contract = kr_analysis_contract(a->an),
                         .family = kr_analysis_family(a->an)};
    if (!e.family)
        snprintf(e.method, sizeof e.method, "%s", kr_calib_method(a->calib, a->method)->name);
    return e;
}

static bool ready(kr_app *a) {
    const kr_book *b = &a->book;
    if (!may_write(a))
        return false;
    if (!b->known)
        kr_app_say(a, false, "the ledger is still being read");
    else if (b->damage[0] != '\0')
        kr_app_say(a, true, "%s", b->damage);
    else if (!b->there)
        kr_app_say(a, true, "this file has no ledger; :ledger start begins one");
    else
        return true;
    return false;
}

void kr_book_ask_lock(kr_app *a) {
    char label[160], d[KR_DEC_TEXT], left[KR_DEC_TEXT];
    kr_dec after;
    if (a->screen != KR_SCREEN_LEDGER)
        kr_app_show(a, KR_SCREEN_LEDGER);
    if (!ready(a))
        return;
    kr_ledger_entry e = lock_here(a);
    kr_dec delta = kr_contract_delta(&e.contract);
    if (!kr_dec_sub(a->book.budget.left, delta, &after) || after.digits < 0) {
        kr_app_say(a, true, "the error budget is exhausted: this lock needs %s, %s is left",
                   kr_dec_text(delta, d), kr_dec_text(a->book.budget.left, left));
        return;
    }
    a->book.entry = e;
    snprintf(label, sizeof label,
             a->book.unopened > 0 ? "Lock %.24s: holds %.14s, then %.14s left; cannot be undone. y/N "
                                  : "Lock %.24s: only exploratory, all is opened; holds %.14s, %.14s left. y/N ",
             e.family ? "the family" : kr_text_short(e.method, 24).s, kr_dec_text(delta, d),
             kr_dec_text(after, left));
    a->pending = KR_ACT_LOCK;
    kr_prompt_open(&a->prompt, KR_PROMPT_YESNO, label, "");
}

static bool do_lock(kr_app *a) {
    kr_study s;
    kr_error err;
    char left[KR_DEC_TEXT];
    if (!open_study(a, &s)) {
        kr_app_say(a, true, "%s", a->book.damage);
        return false;
    }
    kr_status st = kr_study_lock(&s, &a->book.entry, &err);
    take_reading(&a->book, &s);
    kr_study_close(&s);
    if (st != KR_OK) {
        kr_app_say(a, true, "%s", err.msg);
        return false;
    }
    a->book.selected = (int)a->book.ledger.n - 1;
    kr_app_say(a, false, "lock %zu entered; %s of the error budget is left; C confirms it",
               a->book.ledger.n, kr_dec_text(a->book.budget.left, left));
    return true;
}

/* --- confirming ------------------------------------------------------------------------------- */

/* The lock meant by a key: the selected entry's, else the last one that is open, else the last. */
static int64_t lock_meant(const kr_book *b) {
    int64_t open = 0, last = 0;
    if (b->selected >= 0 && (size_t)b->selected < b->ledger.n) {
        const kr_ledger_entry *e = &b->ledger.entry[b->selected];
        if (e->kind == KR_LEDGER_LOCK)
            return e->number;
    }
    for (size_t i = 0; i < b->ledger.n; i++)
        if (b->ledger.entry[i].kind == KR_LEDGER_LOCK) {
            last = b->ledger.entry[i].number;
            open = kr_book_confirmed(b, last) ? open : last;
        }
    return open > 0 ? open : last;
}

static bool tested(const kr_book *b, int64_t lock) {
    for (size_t i = 0; i < b->ledger.n; i++)
        if (b->ledger.entry[i].kind == KR_LEDGER_CONFIRM && b->ledger.entry[i].lock == lock)
            return true;
    return false;
}

static void confirm_words(const kr_book *b, const kr_ledger_entry *lock, char *out, size_t cap) {
    char d[KR_DEC_TEXT];
    long long number = (long long)lock->number, tests = (long long)b->tests[lock - b->ledger.entry];
    kr_dec_text(kr_contract_delta(&lock->contract), d);
    if (tests == 0)
        snprintf(out, cap, "Confirm lock %lld: locked after its requests were opened, exploratory. y/N ",
                 number);
    else if (tested(b, lock->number) && b->unopened == 0)
        snprintf(out, cap, "Confirm lock %lld again: the same requests, spends nothing. y/N ", number);
    else if (b->unopened == 0)
        snprintf(out, cap, "Confirm lock %lld: tests %lld requests, spends %.12s; cannot be undone. y/N ",
                 number, tests, d);
    else
        snprintf(out, cap, "Confirm lock %lld: opens %zu requests, spends %.12s; cannot be undone. y/N ",
                 number, b->unopened, d);
}

void kr_book_ask_confirm(kr_app *a, int64_t number) {
    kr_book *b = &a->book;
    char label[160];
    if (a->screen != KR_SCREEN_LEDGER)
        kr_app_show(a, KR_SCREEN_LEDGER);
    if (!ready(a))
        return;
    number = number > 0 ? number : lock_meant(b);
    const kr_ledger_entry *lock = kr_book_entry(b, number);
    if (number == 0 || lock == NULL || lock->kind != KR_LEDGER_LOCK || b->tests == NULL) {
        if (number == 0)
            kr_app_say(a, true, "nothing is locked; L locks the contract on the screens");
        else
            kr_app_say(a, true, "entry %lld of the ledger is not a lock", (long long)number);
        return;
    }
    b->lock = number;
    b->selected = (int)(lock - b->ledger.entry);
    confirm_words(b, lock, label, sizeof label);
    a->pending = KR_ACT_CONFIRM;
    kr_prompt_open(&a->prompt, KR_PROMPT_YESNO, label, "");
}

/* A level of the rows that were tested: "65 %", "full KV". */
static void level_of(const kr_confirmation *c, int candidate, char out[48]) {
    kr_buf b = {0};
    kr_level_text(c->c, c->method, candidate, &b);
    const char *s = kr_buf_text(&b);
    snprintf(out, 48, "%.40s%s", candidate < 0 ? "full KV" : s, *s >= '0' && *s <= '9' ? " %" : "");
    kr_buf_free(&b);
}

static void put_table(const kr_confirmation *c, kr_buf *out) {
    kr_contract k = kr_analysis_contract(c->a);
    for (size_t i = 0; i < c->lock.n_tolerances; i++) {
        kr_point p;
        char t[KR_DEC_TEXT], level[48];
        k.tolerance = c->lock.tolerance[i];
        if (kr_joint_at(c->a, KR_MODE_TOLERANCES, c->method, k, &p, NULL) != KR_OK)
            continue;
        level_of(c, p.certified, level);
        kr_buf_printf(out, "tolerance %s: %s, %s\n", kr_dec_text(k.tolerance, t), level,
                      kr_state_name(kr_joint_state(c->a, KR_MODE_TOLERANCES, c->method, k)));
    }
}

/* The one line that says it: CERTIFIED alone only for what the ledger locked. */
static void put_head(const kr_confirmation *c, kr_book_result *r) {
    char level[48], name[64];
    const kr_line *l = kr_analysis_line(c->a, c->method);
    snprintf(name, sizeof name, "%.60s", kr_text_short(kr_calib_method(c->c, c->method)->name, 60).s);
    for (char *p = name; *p != '\0'; p++)
        *p = (char)toupper((unsigned char)*p);
    level_of(c, l->certified, level);
    r->locked = strcmp(c->entry.state, kr_state_name(KR_STATE_LOCKED)) == 0 && !c->exploratory;
    r->certified = r->locked && c->found && c->lock.n_tolerances == 0;
    if (c->lock.n_tolerances > 0)
        snprintf(r->head, sizeof r->head, "%s: %s  table over %zu tolerances", c->entry.state, name,
                 c->lock.n_tolerances);
    else if (r->certified)
        snprintf(r->head, sizeof r->head, "%s: %s  ✔ CERTIFIED at %s", c->entry.state, name, level);
    else if (c->found)
        snprintf(r->head, sizeof r->head, "%s: %s  %s, no guarantee", c->entry.state, name, level);
    else
        snprintf(r->head, sizeof r->head, "%s: %s  ✘ FALLBACK to full KV", c->entry.state, name);
}

static void keep_result(kr_app *a, kr_confirmation *c) {
    kr_book_result *r = &a->book.result;
    char x[KR_DEC_TEXT], y[KR_DEC_TEXT], z[KR_DEC_TEXT], w[KR_DEC_TEXT];
    kr_buf json = {0};
    drop_result(r);
    r->there = true;
    r->lock = c->lock.number;
    r->entry = c->rerun ? 0 : (int64_t)c->entries;
    snprintf(r->state, sizeof r->state, "%s", c->entry.state);
    const char *method = kr_calib_method(c->c, c->method)->name;
    snprintf(r->name, sizeof r->name, "%.*s", kr_text_whole(method, 60), method);
    put_head(c, r);
    kr_buf_printf(&r->text, "%s%s\n", c->text,
                  c->rerun ? " Tested before with the same rows and results; nothing is spent again." : "");
    if (c->lock.n_tolerances > 0) {
        put_table(c, &r->text);
        kr_joint_sentence(c->a, KR_MODE_TOLERANCES, c->method, &r->text);
    } else {
        kr_statement(c->a, c->method, &r->text);
    }
    kr_buf_printf(&r->text, "\nError level spent %s; all locks on these rows together %s; budget %s, %s left.\n"
                            "x writes the certificate.\n",
                  kr_dec_text(c->entry.delta, x), kr_dec_text(c->delta_sum, y),
                  kr_dec_text(c->budget.budget, z), kr_dec_text(c->budget.left, w));
    kr_confirmation_json(c, &json);
    r->json = json.failed ? NULL : strdup(kr_buf_text(&json));
    kr_buf_free(&json);
}

static bool do_confirm(kr_app *a) {
    kr_study s;
    kr_error err;
    kr_confirmation *c = NULL;
    if (!open_study(a, &s)) {
        kr_app_say(a, true, "%s", a->book.damage);
        return false;
    }
    kr_status st = kr_study_confirm(&s, a->book.lock, &c, &err);
    take_reading(&a->book, &s);
    kr_study_close(&s);
    if (st != KR_OK) {
        kr_app_say(a, true, "%s", err.msg);
        return false;
    }
    keep_result(a, c);
    kr_confirmation_free(c);
    for (size_t i = 0; i < a->book.ledger.n; i++)
        if (a->book.ledger.entry[i].kind == KR_LEDGER_CONFIRM &&
            a->book.ledger.entry[i].lock == a->book.lock)
            a->book.selected = (int)i;
    kr_app_say(a, false, "%s; x writes the certificate", a->book.result.head);
    return true;
}

/* --- events ----------------------------------------------------------------------------------- */

void kr_book_begin(kr_app *a, kr_book_work work) {
    if (!may_write(a))
        return;
    a->book.work = work;
    if (work == KR_BOOK_CONFIRM)
        kr_app_say(a, false, "testing lock %lld on the requests kept for confirming ...",
                   (long long)a->book.lock);
    else
        kr_app_say(a, false, work == KR_BOOK_LOCK ? "locking ..." : "starting the ledger ...");
}

void kr_book_settle(kr_app *a) {
    kr_book_work work = a->book.work;
    a->book.work = KR_BOOK_IDLE;
    if (work == KR_BOOK_IDLE)
        return;
    if (work != KR_BOOK_READ && !may_write(a))
        return;
    bool mine = false;
    switch (work) {
    case KR_BOOK_READ: read_book(a); break;
    case KR_BOOK_START: mine = do_start(a); break;
    case KR_BOOK_LOCK: mine = do_lock(a); break;
    case KR_BOOK_CONFIRM: mine = do_confirm(a); break;
    case KR_BOOK_IDLE: break;
    }
    if (mine)
        kr_book_stamp(a);
}

void kr_book_enter(kr_app *a) {
    const kr_book *b = &a->book;
    if (b->known && !b->there && b->damage[0] == '\0' && !b->changed)
        kr_book_offer_start(a);
    else
        kr_book_ask_confirm(a, 0);
}

void kr_book_refresh(kr_app *a) {
    kr_book *b = &a->book;
    if (a->screen != KR_SCREEN_LEDGER)
        return;
    if (!b->known && b->work == KR_BOOK_IDLE && kr_calib_meta_of(a->calib)->kind != KR_KIND_COUNTS)
        b->work = KR_BOOK_READ;
    if (b->known && b->selected >= (int)b->ledger.n)
        b->selected = b->ledger.n > 0 ? (int)b->ledger.n - 1 : 0;
    kr_book_describe(a);
}
