#include "ledger/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calib/subset.h"
#include "ledger/rows.h"
#include "risk/split.h"
#include "verdict/joint.h"
#include "verdict/rows.h"

/* --- the split ---------------------------------------------------------------------------------- */

static kr_status seeded_split(kr_study *s, const kr_ledger_entry *start, kr_error *err) {
    kr_rows r;
    kr_status st = kr_rows_of(s->calib, KR_SPLIT_CAL, &r, err);
    if (st != KR_OK)
        return st;
    size_t n = 0;
    for (size_t i = 0; i < r.n; i++) /* the split is of the rows there were then */
        if ((int64_t)r.row[i] < start->base_rows) {
            r.row[n] = r.row[i];
            r.task[n] = r.task[i];
            r.cluster[n++] = r.cluster[i];
        }
    bool *keep = calloc(n + 1, sizeof *keep);
    int64_t den = 1;
    for (int k = 0; k < start->share.scale && k < 6; k++)
        den *= 10;
    st = keep == NULL ? kr_fail(err, KR_ENOMEM, "out of memory")
                      : kr_split_share(n, r.task, kr_calib_tasks(s->calib), r.cluster,
                                       start->share.digits, den, (uint64_t)start->seed, keep, err);
    for (size_t i = 0; st == KR_OK && i < n; i++)
        s->explore[r.row[i]] = keep[i];
    free(keep);
    kr_rows_free(&r);
    return st;
}

/* opened[row] spreads to the rows that belong together with an opened one. */
static kr_status spread(const kr_study *s, bool *opened, kr_error *err) {
    size_t rows = kr_calib_rows(s->calib);
    bool *group = calloc(rows + 1, sizeof *group);
    if (group == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t i = 0; i < rows; i++)
        if (opened[i])
            group[s->group[i]] = true;
    for (size_t i = 0; i < rows; i++)
        opened[i] = group[s->group[i]];
    free(group);
    return KR_OK;
}

/* The last entry that pins rows: all earlier ones pin fewer of the same. */
static kr_status check_pins(const kr_study *s, kr_error *err) {
    const kr_ledger_entry *start = &s->ledger.entry[0], *last = NULL;
    const char *path = kr_calib_path(s->calib);
    size_t rows = kr_calib_rows(s->calib);
    char now[2][KR_SHA256_HEX];
    for (size_t i = 0; i < s->ledger.n; i++)
        if (s->ledger.entry[i].kind == KR_LEDGER_CONFIRM)
            last = &s->ledger.entry[i];
    int64_t upto[2] = {start->base_rows, last != NULL ? last->file_rows : start->base_rows};
    if (upto[0] > (int64_t)rows || upto[1] > (int64_t)rows || upto[1] < upto[0])
        return kr_fail(err, KR_EFORMAT, "%s has %zu requests, its ledger was written for %lld", path, rows,
                       (long long)(upto[1] > upto[0] ? upto[1] : upto[0]));
    kr_status st = kr_hash_prefixes(s->calib, KR_HASH_REQUESTS, 2, upto, now, err);
    if (st == KR_OK && strcmp(now[0], start->base_ids) != 0)
        st = kr_fail(err, KR_EFORMAT, "%s: its first %lld requests are not those that the ledger began "
                                      "with, in their order, tasks, splits and clusters", path,
                     (long long)upto[0]);
    if (st == KR_OK && last != NULL && strcmp(now[1], last->file_ids) != 0)
        st = kr_fail(err, KR_EFORMAT, "%s: its first %lld requests are not those that were there when entry "
                                      "%lld opened them, in their order, tasks, splits and clusters", path,
                     (long long)upto[1], (long long)last->number);
    return st;
}

static kr_status need_prints(kr_study *s, kr_error *err) {
    return s->prints.of[0] != NULL ? KR_OK : kr_prints_make(s->calib, &s->prints, err);
}

/* Rows added later are for confirming alone: nobody was shown them. */
static kr_status fill_split(kr_study *s, kr_error *err) {
    const kr_ledger_entry *start = &s->ledger.entry[0];
    size_t rows = kr_calib_rows(s->calib);
    kr_status st = KR_OK;
    if (!start->declared_split && start->share.digits > 0)
        st = seeded_split(s, start, err);
    for (size_t i = 0; start->declared_split && i < (size_t)start->base_rows; i++)
        s->explore[i] = kr_calib_row(s->calib, i).split != KR_SPLIT_CAL;
    if (st != KR_OK)
        return st;
    memcpy(s->confirm, s->explore, rows * sizeof *s->confirm);
    st = spread(s, s->confirm, err);
    for (size_t i = 0; i < rows; i++)
        s->confirm[i] = !s->confirm[i] && kr_calib_row(s->calib, i).split == KR_SPLIT_CAL;
    return st;
}

static kr_status make_split(kr_study *s, kr_error *err) {
    size_t rows = kr_calib_rows(s->calib);
    kr_status st = check_pins(s, err);
    if (st == KR_OK)
        st = need_prints(s, err);
    if (st != KR_OK)
        return st;
    s->explore = calloc(rows + 1, sizeof *s->explore);
    s->confirm = calloc(rows + 1, sizeof *s->confirm);
    s->group = calloc(rows + 1, sizeof *s->group);
    if (s->explore == NULL || s->confirm == NULL || s->group == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    st = kr_group_rows(s->calib, &s->prints, s->group, err);
    return st == KR_OK ? fill_split(s, err) : st;
}

/* --- opening ------------------------------------------------------------------------------------ */

/* What the state directory says. Files of it that cannot be read are a doubt, not an error. */
static kr_status ask_state(kr_study *s, kr_error *err) {
    const char *own = s->ledger.n > 0 ? s->ledger.entry[0].hash : "";
    bool others = false;
    kr_status st = s->ledger.n > 0 ? kr_known_get(own, &s->known, &s->doubt) : KR_OK;
    if (st == KR_OK)
        st = kr_known_others(own, &others, &s->doubt);
    if (st == KR_OK && others) {
        st = need_prints(s, err);
        if (st != KR_OK)
            return st;
        st = kr_known_find(&s->prints, own, &s->other, &s->doubt);
    }
    if (st == KR_ENOMEM)
        return kr_fail(err, st, "%s", s->doubt.msg);
    return KR_OK;
}

typedef enum { SOUND, DOUBTFUL, GONE, EXCHANGED, ELSEWHERE } standing;

/* How the ledger stands to what is remembered. */
static standing standing_of(const kr_study *s) {
    const kr_known *k = &s->known;
    if (s->doubt.code != KR_OK)
        return DOUBTFUL;
    if (k->known && (k->entries > (int64_t)s->ledger.n ||
                     strcmp(s->ledger.entry[k->entries - 1].hash, k->head) != 0))
        return EXCHANGED;
    if (s->other.requests == 0)
        return SOUND;
    if (!kr_file_same(s->other.ledger.file, kr_calib_path(s->calib)))
        return ELSEWHERE;
    return s->ledger.n == 0 ? GONE : EXCHANGED;
}

/* The ledger and what is remembered of it are read one after the other. Where they disagree another
 * program may have written both in between: once more. */
static kr_status read_ledger(kr_study *s, kr_error *err) {
    kr_status st = kr_ledger_load(s->path, &s->ledger, err);
    if (st == KR_OK)
        st = ask_state(s, err);
    if (st != KR_OK || standing_of(s) == SOUND)
        return st;
    kr_ledger before = s->ledger;
    s->ledger = (kr_ledger){0};
    st = kr_ledger_load(s->path, &s->ledger, err);
    bool news = st == KR_OK && strcmp(before.head, s->ledger.head) != 0;
    kr_ledger_free(&before);
    if (!news)
        return st;
    s->known = (kr_known){0};
    s->other = (kr_known_other){0};
    s->doubt = (kr_error){0};
    return ask_state(s, err);
}

static kr_status open_any(const char *path, kr_study *s, kr_error *err) {
    s->path = kr_ledger_path(path);
    kr_status st = s->path == NULL ? kr_fail(err, KR_ENOMEM, "out of memory")
                                   : kr_calib_load(path, &s->calib, err);
    if (st == KR_OK && kr_calib_meta_of(s->calib)->kind == KR_KIND_COUNTS) {
        st = kr_ledger_load(s->path, &s->ledger, err);
        return st == KR_OK && s->ledger.n > 0
                   ? kr_fail(err, KR_EFORMAT, "%s: published counts have no rows to keep a ledger of", s->path)
                   : st;
    }
    if (st == KR_OK)
        st = read_ledger(s, err);
    return st == KR_OK && s->ledger.n > 0 ? make_split(s, err) : st;
}

static const char *file_of(const kr_known *k) { return k->file[0] != '\0' ? k->file : "another file"; }

static kr_status check_standing(const kr_study *s, kr_error *err) {
    const char *path = kr_calib_path(s->calib);
    const kr_known_other *o = &s->other;
    const char *one = o->requests == 1 ? "s" : "";
    switch (standing_of(s)) {
    case DOUBTFUL:
        return kr_fail(err, KR_EFORMAT, "%s: whether its requests were opened before cannot be told: %s",
                       path, s->doubt.msg);
    case GONE:
        return kr_fail(err, KR_EFORMAT, "%s is gone: %lld entries were written for these rows. They count "
                                        "as opened", s->path, (long long)o->ledger.entries);
    case EXCHANGED:
        return kr_fail(err, KR_EFORMAT, "%s is not the one that was last written for these rows (%lld "
                                        "entries): it was cut short or exchanged", s->path,
                       (long long)(o->requests > 0 ? o->ledger.entries : s->known.entries));
    case ELSEWHERE:
        return kr_fail(err, KR_EFORMAT, "%s: %lld of its %zu requests belong%s to the ledger of %s and count%s "
                                        "as opened. Use that file with its ledger, or take these requests "
                                        "out of this one", path, (long long)o->requests,
                       kr_calib_rows(s->calib), one, file_of(&o->ledger), one);
    case SOUND: break;
    }
    return KR_OK;
}

kr_status kr_study_open(const char *path, kr_study *out, kr_error *err) {
    kr_study s = {0};
    kr_status st = open_any(path, &s, err);
    if (st == KR_OK)
        st = check_standing(&s, err);
    if (st == KR_OK)
        *out = s;
    else
        kr_study_close(&s);
    return st;
}

void kr_study_close(kr_study *s) {
    free(s->path);
    free(s->explore);
    free(s->confirm);
    free(s->group);
    kr_prints_free(&s->prints);
    kr_calib_free(s->calib);
    kr_ledger_free(&s->ledger);
    *s = (kr_study){0};
}

/* Why nothing may be LOCKED; empty where it may. */
static void write_reserve(const kr_study *s, kr_buf *b) {
    const char *one = s->other.requests == 1 ? "s" : "";
    switch (standing_of(s)) {
    case DOUBTFUL:
        kr_buf_printf(b, "Whether these requests were opened before cannot be told (%s)", s->doubt.msg);
        break;
    case GONE:
    case EXCHANGED:
        kr_buf_puts(b, "The ledger of these rows is missing, cut short or exchanged");
        break;
    case ELSEWHERE:
        kr_buf_printf(b, "%lld of the %zu requests belong%s to the ledger of %s and count%s as opened",
                      (long long)s->other.requests, kr_calib_rows(s->calib), one,
                      file_of(&s->other.ledger), one);
        break;
    case SOUND:
        if (s->ledger.n > 0)
            kr_buf_puts(b, "The exploration rows of a ledger, no guarantee: lock a contract and confirm it "
                           "on the other rows.");
        return;
    }
    kr_buf_puts(b, ": exploration, no guarantee.");
}

static kr_status keep_exploration(kr_study *s, kr_error *err) {
    kr_calib *part = NULL;
    kr_status st = kr_calib_subset(s->calib, s->explore, NULL, &part, err);
    if (st == KR_EFORMAT)
        return kr_fail(err, KR_EFORMAT, "%s keeps every row for confirming; there is none to explore",
                       s->path);
    if (st != KR_OK)
        return st;
    kr_calib_free(s->calib);
    s->calib = part;
    return KR_OK;
}

kr_status kr_study_look(const char *path, kr_calib **c, kr_analysis_options *options,
                        kr_error *err) {
    kr_study s = {0};
    kr_buf reserve = {0};
    kr_status st = open_any(path, &s, err);
    options->home = (kr_home){.kind = KR_HOME_FILE};
    if (st == KR_OK)
        write_reserve(&s, &reserve);
    if (st == KR_OK && s.ledger.n > 0)
        st = keep_exploration(&s, err);
    if (st == KR_OK && reserve.len > 0) {
        options->home = (kr_home){.kind = KR_HOME_NONE,
                                  .text = kr_calib_keep(s.calib, kr_buf_text(&reserve))};
        if (options->home.text == NULL)
            st = kr_fail(err, KR_ENOMEM, "out of memory");
    }
    if (st == KR_OK) {
        *c = s.calib;
        s.calib = NULL;
    }
    kr_buf_free(&reserve);
    kr_study_close(&s);
    return st;
}

/* --- entries ------------------------------------------------------------------------------------ */

static kr_status remember_rows(kr_study *s, kr_error *err) {
    kr_status st = need_prints(s, err);
    return st == KR_OK ? kr_known_add(s->ledger.entry[0].hash, &s->prints, err) : st;
}

static kr_status remember_head(kr_study *s, kr_error *err) {
    kr_status st = kr_known_set(kr_calib_path(s->calib), &s->ledger, err);
    if (st != KR_OK)
        return st;
    s->known.known = true;
    s->known.entries = (int64_t)s->ledger.n;
    memcpy(s->known.head, s->ledger.head, sizeof s->known.head);
    return KR_OK;
}

/* Requests are remembered before they are opened. A ledger that cannot be remembered is not begun. */
static kr_status append_alone(kr_study *s, const kr_ledger_entry *e, kr_error *err) {
    kr_status st = KR_OK;
    if (e->kind == KR_LEDGER_CONFIRM || (s->ledger.n > 0 && !kr_known_has_rows(s->ledger.entry[0].hash)))
        st = remember_rows(s, err);
    if (st == KR_OK)
        st = kr_ledger_append(s->path, &s->ledger, e, err);
    if (st == KR_OK && e->kind == KR_LEDGER_START && (st = remember_rows(s, err)) != KR_OK) {
        unlink(s->path);
        kr_ledger_free(&s->ledger);
    }
    return st == KR_OK ? remember_head(s, err) : st;
}

/* While no other program writes to the ledger. */
static kr_status append(kr_study *s, const kr_ledger_entry *e, kr_error *err) {
    kr_buf name = {0};
    kr_lock *lock = NULL;
    kr_buf_printf(&name, "%s.lock", s->path);
    kr_status st = name.failed ? kr_fail(err, KR_ENOMEM, "out of memory")
                               : kr_lock_take(kr_buf_text(&name), &lock, err);
    kr_buf_free(&name);
    if (st == KR_OK)
        st = append_alone(s, e, err);
    kr_lock_release(lock);
    return st;
}

/* What was entered but not remembered, or at another place. */
static kr_status catch_up(kr_study *s, kr_error *err) {
    if (s->known.known && s->known.entries == (int64_t)s->ledger.n &&
        kr_known_has_rows(s->ledger.entry[0].hash) && kr_file_same(s->known.file, kr_calib_path(s->calib)))
        return KR_OK;
    kr_status st = remember_rows(s, err);
    return st == KR_OK ? remember_head(s, err) : st;
}

static bool share_fits(kr_dec share) {
    return share.digits >= 0 && share.scale <= 6 && kr_dec_cmp(share, kr_dec_make(1, 0)) < 0;
}

kr_status kr_study_start(kr_study *s, const kr_ledger_entry *start, kr_error *err) {
    kr_ledger_entry e = *start;
    e.kind = KR_LEDGER_START;
    e.base_rows = (int64_t)kr_calib_rows(s->calib);
    if (s->ledger.n > 0)
        return kr_fail(err, KR_EINVAL, "%s exists already", s->path);
    if (kr_calib_meta_of(s->calib)->kind == KR_KIND_COUNTS)
        return kr_fail(err, KR_EINVAL, "published counts have no rows to keep a ledger of");
    if (e.budget.digits <= 0 || kr_dec_cmp(e.budget, kr_dec_make(5, 1)) > 0)
        return kr_fail(err, KR_EINVAL, "the budget must be above 0 and at most 0.5");
    if (!share_fits(e.share))
        return kr_fail(err, KR_EINVAL, "the share of rows for exploring must be at least 0 and below 1, "
                                       "with at most 6 decimals");
    if (e.declared_split && kr_calib_n(s->calib, KR_SPLIT_TEST) == 0)
        return kr_fail(err, KR_EINVAL, "no request of this file has the split \"test\"");
    kr_status st = kr_hash_rows(s->calib, KR_HASH_REQUESTS, NULL, (size_t)e.base_rows, e.base_ids, err);
    if (st == KR_OK)
        st = append(s, &e, err);
    return st == KR_OK ? make_split(s, err) : st;
}

static void add(kr_dec *to, kr_dec v) {
    if (!kr_dec_add(*to, v, to))
        *to = kr_dec_make(1, 0); /* does not fit: more than any budget */
}

/* The last look takes what rounding left of the lock's delta. */
kr_lock_use kr_study_use_of(const kr_study *s, const kr_ledger_entry *lock) {
    kr_lock_use u = {0};
    for (size_t i = (size_t)lock->number; i < s->ledger.n; i++) {
        const kr_ledger_entry *e = &s->ledger.entry[i];
        if (e->kind != KR_LEDGER_CONFIRM || e->lock != lock->number)
            continue;
        add(&u.spent, e->delta);
        u.entry = e->number;
        u.explored += e->look == 0;
        u.looks = e->look > u.looks ? e->look : u.looks;
    }
    if (u.looks == lock->looks)
        u.spent = kr_contract_delta(&lock->contract);
    return u;
}

kr_study_budget kr_study_budget_of(const kr_study *s) {
    kr_study_budget b = {0};
    kr_dec used;
    if (s->ledger.n > 0)
        b.budget = s->ledger.entry[0].budget;
    for (size_t i = 0; i < s->ledger.n; i++) {
        const kr_ledger_entry *e = &s->ledger.entry[i];
        if (e->kind != KR_LEDGER_LOCK)
            continue;
        kr_dec spent = kr_study_use_of(s, e).spent, held;
        add(&b.spent, spent);
        if (kr_dec_sub(kr_contract_delta(&e->contract), spent, &held))
            add(&b.held, held);
    }
    used = b.spent;
    add(&used, b.held);
    if (!kr_dec_sub(b.budget, used, &b.left) || b.left.digits < 0)
        b.left = (kr_dec){0, 0};
    return b;
}

kr_status kr_study_lock(kr_study *s, const kr_ledger_entry *lock, kr_error *err) {
    kr_ledger_entry e = *lock;
    char d[KR_DEC_TEXT], l[KR_DEC_TEXT];
    e.kind = KR_LEDGER_LOCK;
    kr_status st = kr_contract_check(&e.contract, err);
    if (st != KR_OK)
        return st;
    if (s->ledger.n == 0)
        return kr_fail(err, KR_EINVAL, "this file has no ledger; begin with kvrisk ledger start");
    if (!e.family && kr_calib_find_method(s->calib, e.method) < 0)
        return kr_fail(err, KR_EINVAL, "no method '%s' in this file", e.method);
    if (e.looks < 1 || e.looks > 1000)
        return kr_fail(err, KR_EINVAL, "the number of looks must be from 1 to 1000");
    kr_dec delta = kr_contract_delta(&e.contract), left = kr_study_budget_of(s).left;
    if (kr_dec_cmp(delta, left) > 0)
        return kr_fail(err, KR_EINVAL, "the error budget is exhausted: this lock needs %s, %s is left",
                       kr_dec_text(delta, d), kr_dec_text(left, l));
    st = kr_hash_order(s->calib, e.order, err);
    return st == KR_OK ? append(s, &e, err) : st;
}

/* --- confirming --------------------------------------------------------------------------------- */

static const kr_ledger_entry *find_lock(const kr_study *s, int64_t number) {
    for (size_t i = s->ledger.n; i-- > 0;)
        if (s->ledger.entry[i].kind == KR_LEDGER_LOCK &&
            (number == 0 || s->ledger.entry[i].number == number))
            return &s->ledger.entry[i];
    return NULL;
}

/* Rows of the file that were opened before this entry was made: all up to the returned one. */
static int64_t opened_before(const kr_study *s, int64_t number) {
    int64_t upto = 0;
    for (size_t i = 0; i < s->ledger.n && s->ledger.entry[i].number < number; i++)
        if (s->ledger.entry[i].kind == KR_LEDGER_CONFIRM && s->ledger.entry[i].file_rows > upto)
            upto = s->ledger.entry[i].file_rows;
    return upto;
}

typedef struct {
    bool *keep; /* [rows] tested */
    size_t n;
    const char *why; /* exploratory because; NULL: confirmatory */
} chosen;

/* The rows for confirming that were not opened before the lock was made, nor belong together with one
 * that was; where there is none, all of them, to explore. */
static kr_status choose(const kr_study *s, int64_t lock, chosen *x, kr_error *err) {
    size_t rows = kr_calib_rows(s->calib);
    int64_t from = opened_before(s, lock);
    for (size_t i = 0; i < rows; i++)
        x->keep[i] = s->explore[i] || (int64_t)i < from;
    kr_status st = spread(s, x->keep, err);
    for (size_t i = 0; st == KR_OK && i < rows; i++) {
        x->keep[i] = s->confirm[i] && !x->keep[i];
        x->n += x->keep[i];
    }
    if (st != KR_OK || x->n > 0)
        return st;
    x->why = "the rows were opened before this contract was locked";
    for (size_t i = 0; i < rows; i++) {
        x->keep[i] = s->confirm[i];
        x->n += x->keep[i];
    }
    return x->n > 0 ? KR_OK : kr_fail(err, KR_EFORMAT, "no rows are left for confirming");
}

kr_status kr_study_fresh(const kr_study *s, size_t *rows, kr_error *err) {
    chosen x = {.keep = calloc(kr_calib_rows(s->calib) + 1, sizeof *x.keep)};
    if (x.keep == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    kr_status st = choose(s, (int64_t)s->ledger.n + 1, &x, err);
    free(x.keep);
    *rows = st == KR_OK && x.why == NULL ? x.n : 0;
    return st;
}

/* Whether rows that this lock is tested on have other utilities now than when an entry opened them. */
static kr_status check_outcomes(const kr_study *s, const kr_ledger_entry *lock, chosen *x, kr_error *err) {
    size_t n = 0, cap = s->ledger.n;
    int64_t from = opened_before(s, lock->number);
    int64_t *upto = calloc(cap + 1, sizeof *upto);
    char(*now)[KR_SHA256_HEX] = calloc(cap + 1, sizeof *now);
    const kr_ledger_entry **of = calloc(cap + 1, sizeof(const kr_ledger_entry *));
    bool ok = upto != NULL && now != NULL && of != NULL;
    for (size_t i = 0; ok && i < s->ledger.n; i++) {
        const kr_ledger_entry *e = &s->ledger.entry[i];
        if (e->kind != KR_LEDGER_CONFIRM || e->file_rows <= from)
            continue;
        if (n > 0 && upto[n - 1] == e->file_rows && strcmp(of[n - 1]->file_outcomes, e->file_outcomes) == 0)
            continue;
        of[n] = e;
        upto[n++] = e->file_rows;
    }
    kr_status st = ok ? kr_hash_prefixes(s->calib, KR_HASH_OUTCOMES, n, upto, now, err)
                      : kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t i = 0; st == KR_OK && i < n; i++)
        if (strcmp(now[i], of[i]->file_outcomes) != 0)
            x->why = "results of rows that were opened were changed since";
    free(upto);
    free(now);
    free(of);
    return st;
}

/* Numbers of this lock's rows that were opened since it was made, by whichever entry, each once: every
 * one was a chance to stop there, hence a look. */
static int64_t count_looks(const kr_study *s, const kr_ledger_entry *lock, const chosen *x) {
    int64_t looks = 0, rows = 0, last = 0;
    for (size_t i = (size_t)lock->number, row = 0; i < s->ledger.n; i++) {
        const kr_ledger_entry *e = &s->ledger.entry[i];
        if (e->kind != KR_LEDGER_CONFIRM)
            continue;
        for (; (int64_t)row < e->file_rows; row++)
            rows += x->keep[row];
        if (rows > last && rows < (int64_t)x->n)
            looks++;
        last = rows;
    }
    return looks;
}

/* The entry of the same test, or NULL. */
static const kr_ledger_entry *same_test(const kr_study *s, const kr_ledger_entry *now) {
    for (size_t i = s->ledger.n; i-- > 0;) {
        const kr_ledger_entry *e = &s->ledger.entry[i];
        if (e->kind == KR_LEDGER_CONFIRM && e->lock == now->lock && strcmp(e->rows, now->rows) == 0 &&
            strcmp(e->outcomes, now->outcomes) == 0)
            return e;
    }
    return NULL;
}

/* delta over looks, rounded down. */
static kr_contract contract_of_look(const kr_ledger_entry *lock) {
    kr_contract k = lock->contract;
    kr_dec delta = kr_contract_delta(&k), each;
    if (lock->looks == 1)
        return k;
    int64_t digits = delta.digits;
    int scale = delta.scale;
    while (scale < 12 && digits < INT64_MAX / 100) {
        digits *= 10;
        scale++;
    }
    each = kr_dec_make(digits / lock->looks, scale);
    if (!kr_dec_sub(kr_dec_make(1, 0), each, &k.confidence))
        k.confidence = kr_dec_make(999999999, 9);
    return k;
}

static void put_table(const kr_ledger_entry *lock, kr_dec delta, kr_buf *b) {
    char t[KR_DEC_TEXT];
    kr_buf_printf(b, "\"explore\":{\"delta\":%s,\"tolerances\":[", kr_dec_text(delta, t));
    for (size_t i = 0; i < lock->n_tolerances; i++)
        kr_buf_printf(b, "%s%s", i > 0 ? "," : "", kr_dec_text(lock->tolerance[i], t));
    kr_buf_puts(b, "]}");
}

static void write_text(kr_confirmation *c, const char *why) {
    int n = why != NULL
                ? snprintf(c->text, sizeof c->text, "Exploratory, no guarantee: %s.", why)
                : snprintf(c->text, sizeof c->text,
                           "The contract locked on %s, before these %lld requests were opened%s.",
                           c->lock.time, (long long)c->entry.tested_rows,
                           c->lock.n_tolerances > 0 ? "; its claim is the table over tolerances" : "");
    if (why == NULL && c->lock.looks > 1 && n > 0 && (size_t)n < sizeof c->text)
        snprintf(c->text + n, sizeof c->text - (size_t)n,
                 " Look %lld of %lld at a growing sample, which share the lock's error level.",
                 (long long)c->entry.look, (long long)c->lock.looks);
}

static kr_status analyse(kr_study *s, const bool *keep, kr_confirmation *c, kr_error *err) {
    kr_calib_meta m = *kr_calib_meta_of(s->calib);
    kr_contract k = contract_of_look(&c->lock);
    kr_buf extra = {0};
    if (c->lock.n_tolerances > 0)
        put_table(&c->lock, kr_contract_delta(&k), &extra);
    m.has_contract = true;
    m.tolerance = k.tolerance;
    m.risk = k.risk;
    m.confidence = k.confidence;
    m.contract_method = c->lock.family ? NULL : c->lock.method;
    m.contract_family = c->lock.family;
    m.contract_declared = c->lock.time;
    m.contract_extra = extra.len > 0 ? kr_buf_text(&extra) : NULL;
    kr_status st = kr_calib_subset(s->calib, keep, &m, &c->c, err);
    kr_buf_free(&extra);
    kr_analysis_options o = {.split = KR_SPLIT_CAL, .family = c->lock.family};
    o.home = (kr_home){.kind = c->exploratory ? KR_HOME_NONE : KR_HOME_LEDGER,
                       .has = !c->exploratory, .contract = k, .method = m.contract_method,
                       .family = c->lock.family, .table_only = c->lock.n_tolerances > 0,
                       .text = c->text};
    return st == KR_OK ? kr_analysis_new(c->c, o, &c->a, err) : st;
}

/* What the table over tolerances gives a method: cells certified, and the least share kept by one. */
static size_t certified_cells(kr_confirmation *c, size_t method, double *least) {
    kr_contract k = kr_analysis_contract(c->a);
    size_t n = 0;
    *least = 1;
    for (size_t i = 0; i < c->lock.n_tolerances; i++) {
        kr_point p;
        k.tolerance = c->lock.tolerance[i];
        if (kr_joint_at(c->a, KR_MODE_TOLERANCES, method, k, &p, NULL) != KR_OK || p.certified < 0)
            continue;
        double share = kr_share_kept(c->c, method, p.certified);
        n++;
        *least = share < *least ? share : *least;
    }
    return n;
}

/* Whether a method has anything certified of what was locked, and the share it keeps. */
static bool certifies(kr_confirmation *c, size_t method, double *share) {
    if (c->lock.n_tolerances > 0)
        return certified_cells(c, method, share) > 0;
    *share = kr_share_kept(c->c, method, kr_analysis_line(c->a, method)->certified);
    return kr_analysis_line(c->a, method)->certified >= 0;
}

/* Which line the certificate is about: the lock's, or of a family the one that keeps least. */
static void pick_method(kr_confirmation *c) {
    double least = 2, share;
    if (!c->lock.family) {
        int named = kr_calib_find_method(c->c, c->lock.method);
        c->method = named >= 0 ? (size_t)named : 0;
        c->found = named >= 0 && certifies(c, c->method, &share);
        return;
    }
    for (size_t i = 0; i < kr_calib_methods(c->c); i++)
        if (certifies(c, i, &share) && share < least) {
            least = share;
            c->method = i;
            c->found = true;
        }
}

/* What became of it. */
static void conclude(kr_confirmation *c) {
    kr_contract k = kr_analysis_contract(c->a);
    kr_state state;
    double share;
    kr_buf b = {0};
    pick_method(c);
    kr_buf_printf(&b, "%.60s ", kr_calib_method(c->c, c->method)->name);
    if (c->lock.n_tolerances > 0) {
        k.tolerance = c->lock.tolerance[0];
        state = kr_joint_state(c->a, KR_MODE_TOLERANCES, c->method, k);
        kr_buf_printf(&b, "at %zu of %zu tolerances", certified_cells(c, c->method, &share),
                      c->lock.n_tolerances);
    } else {
        state = kr_analysis_line_state(c->a, c->method);
        int at = kr_analysis_line(c->a, c->method)->certified;
        size_t first = kr_calib_method(c->c, c->method)->first;
        if (at < 0)
            kr_buf_puts(&b, "full KV");
        else
            kr_level_text(c->c, c->method, at, &b);
        if (at >= 0 && kr_calib_policy(c->c, first + (size_t)at)->has_retention)
            kr_buf_puts(&b, " %");
    }
    snprintf(c->entry.result, sizeof c->entry.result, "%s", kr_buf_text(&b));
    snprintf(c->entry.state, sizeof c->entry.state, "%s", kr_state_name(state));
    kr_buf_free(&b);
}

/* Of the locks that some of the tested rows were not opened before. */
static kr_dec sum_on_rows(const kr_study *s, const chosen *x) {
    kr_dec sum = {0, 0};
    int64_t last = 0;
    for (size_t i = 0; i < kr_calib_rows(s->calib); i++)
        if (x->keep[i])
            last = (int64_t)i;
    for (size_t i = 0; i < s->ledger.n; i++)
        if (s->ledger.entry[i].kind == KR_LEDGER_LOCK && opened_before(s, s->ledger.entry[i].number) <= last)
            add(&sum, kr_contract_delta(&s->ledger.entry[i].contract));
    return sum;
}

static kr_status fill_entry(const kr_study *s, const chosen *x, kr_ledger_entry *e, kr_error *err) {
    size_t rows = kr_calib_rows(s->calib);
    e->file_rows = (int64_t)rows;
    e->tested_rows = (int64_t)x->n;
    kr_status st = kr_hash_rows(s->calib, KR_HASH_IDS, x->keep, rows, e->rows, err);
    if (st == KR_OK)
        st = kr_hash_rows(s->calib, KR_HASH_OUTCOMES, x->keep, rows, e->outcomes, err);
    if (st == KR_OK)
        st = kr_hash_rows(s->calib, KR_HASH_REQUESTS, NULL, rows, e->file_ids, err);
    if (st == KR_OK)
        st = kr_hash_rows(s->calib, KR_HASH_OUTCOMES, NULL, rows, e->file_outcomes, err);
    return st;
}

/* Fills x, and in c->entry everything but what comes out. */
static kr_status prepare(const kr_study *s, kr_confirmation *c, chosen *x, kr_error *err) {
    char order[KR_SHA256_HEX];
    kr_ledger_entry now = {.kind = KR_LEDGER_CONFIRM, .lock = c->lock.number};
    kr_status st = choose(s, c->lock.number, x, err);
    if (st == KR_OK)
        st = fill_entry(s, x, &now, err);
    if (st == KR_OK)
        st = check_outcomes(s, &c->lock, x, err);
    if (st == KR_OK)
        st = kr_hash_order(s->calib, order, err);
    if (st != KR_OK)
        return st;
    const kr_ledger_entry *same = same_test(s, &now);
    int64_t looks = count_looks(s, &c->lock, x);
    if (strcmp(order, c->lock.order) != 0)
        x->why = "the candidates, their order or what they were measured on changed after the contract was "
                 "locked";
    else if (x->why == NULL && same != NULL && same->look == 0)
        x->why = "the first test of these rows by this lock was exploratory";
    else if (x->why == NULL && same == NULL && looks >= c->lock.looks)
        x->why = "every declared look of this lock is used (rows opened by another lock before the file grew "
                 "count as well)";
    kr_contract k = contract_of_look(&c->lock);
    c->rerun = same != NULL;
    c->exploratory = x->why != NULL;
    c->entry = same != NULL ? *same : now;
    c->entry.look = c->exploratory ? 0 : same != NULL ? same->look : looks + 1;
    c->entry.delta = c->exploratory ? (kr_dec){0, 0} : kr_contract_delta(&k);
    return KR_OK;
}

static kr_status test_lock(kr_study *s, kr_confirmation *c, chosen *x, kr_error *err) {
    kr_status st = prepare(s, c, x, err);
    if (st != KR_OK)
        return st;
    write_text(c, x->why);
    c->delta_sum = sum_on_rows(s, x);
    st = analyse(s, x->keep, c, err);
    if (st == KR_OK)
        conclude(c);
    return st;
}

static void seal(const kr_study *s, kr_confirmation *c) {
    c->budget = kr_study_budget_of(s);
    c->entries = s->ledger.n;
    memcpy(c->head, s->ledger.head, sizeof c->head);
}

/* A lock tested, nothing entered. */
static kr_status make_confirmation(kr_study *s, const kr_ledger_entry *lock, kr_confirmation **out,
                                   kr_error *err) {
    kr_confirmation *c = calloc(1, sizeof *c);
    chosen x = {.keep = calloc(kr_calib_rows(s->calib) + 1, sizeof *x.keep)};
    kr_status st = c == NULL || x.keep == NULL ? kr_fail(err, KR_ENOMEM, "out of memory") : KR_OK;
    if (st == KR_OK) {
        c->lock = *lock;
        st = test_lock(s, c, &x, err);
    }
    free(x.keep);
    if (st == KR_OK)
        *out = c;
    else
        kr_confirmation_free(c);
    return st;
}

kr_status kr_study_confirm(kr_study *s, int64_t number, kr_confirmation **out, kr_error *err) {
    const kr_ledger_entry *lock = find_lock(s, number);
    kr_confirmation *c = NULL;
    if (lock == NULL)
        return kr_fail(err, KR_EINVAL, number == 0 ? "nothing is locked; lock a contract first"
                                                   : "entry %lld of the ledger is not a lock",
                       (long long)number);
    kr_status st = make_confirmation(s, lock, &c, err);
    if (st != KR_OK)
        return st;
    /* Entered before anything is shown: a result that cannot be entered is not given out. */
    st = c->rerun ? catch_up(s, err) : append(s, &c->entry, err);
    if (st != KR_OK) {
        kr_confirmation_free(c);
        return st;
    }
    if (!c->rerun)
        c->entry = s->ledger.entry[s->ledger.n - 1];
    seal(s, c);
    *out = c;
    return KR_OK;
}

/* The study as it was when its ledger had `entries` entries. */
static kr_status go_back(const kr_study *s, int64_t entries, kr_study *t, kr_error *err) {
    const char *path = kr_calib_path(s->calib);
    size_t n = (size_t)entries, rows = (size_t)s->ledger.entry[0].base_rows;
    for (size_t i = 0; i < n; i++)
        if (s->ledger.entry[i].kind == KR_LEDGER_CONFIRM)
            rows = (size_t)s->ledger.entry[i].file_rows;
    t->path = kr_ledger_path(path);
    t->ledger.entry = malloc(n * sizeof *t->ledger.entry);
    if (t->path == NULL || t->ledger.entry == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    memcpy(t->ledger.entry, s->ledger.entry, n * sizeof *t->ledger.entry);
    memcpy(t->ledger.head, t->ledger.entry[n - 1].hash, sizeof t->ledger.head);
    t->ledger.n = n;
    kr_status st = kr_calib_load_first(path, rows, &t->calib, err);
    if (st == KR_OK && !kr_stamp_equal(kr_calib_stamp(t->calib), kr_calib_stamp(s->calib)))
        st = kr_fail(err, KR_EIO, "%s changed meanwhile; try again", path);
    return st == KR_OK ? make_split(t, err) : st;
}

kr_status kr_study_repeat(const kr_study *s, int64_t entries, int64_t number, kr_confirmation **out,
                          kr_error *err) {
    kr_study t = {0};
    kr_confirmation *c = NULL;
    if (entries < 1 || entries > (int64_t)s->ledger.n || number < 1 || number > entries ||
        s->ledger.entry[number - 1].kind != KR_LEDGER_CONFIRM)
        return kr_fail(err, KR_EFORMAT, "entry %lld of the ledger is not a confirmation", (long long)number);
    kr_status st = go_back(s, entries, &t, err);
    if (st == KR_OK)
        st = make_confirmation(&t, &s->ledger.entry[s->ledger.entry[number - 1].lock - 1], &c, err);
    if (st == KR_OK && (!c->rerun || c->entry.number != number))
        st = kr_fail(err, KR_EFORMAT, "%s: the requests or results that entry %lld of its ledger tested are "
                                      "not those that are there now", kr_calib_path(s->calib),
                     (long long)number);
    if (st == KR_OK) {
        seal(&t, c);
        *out = c;
    } else {
        kr_confirmation_free(c);
    }
    kr_study_close(&t);
    return st;
}

void kr_confirmation_free(kr_confirmation *c) {
    if (c == NULL)
        return;
    kr_analysis_free(c->a);
    kr_calib_free(c->c);
    free(c);
}
