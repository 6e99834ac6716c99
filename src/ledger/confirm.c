/* confirm.c - a lock tested on rows that nothing opened, and the same test made again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib/subset.h"
#include "ledger/rows.h"
#include "ledger/study_impl.h"
#include "verdict/joint.h"

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
    kr_status st = kr_study_spread(s, x->keep, err);
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

kr_status kr_study_check_fresh(const kr_study *s, kr_error *err) {
    chosen x = {.keep = calloc(kr_calib_rows(s->calib) + 1, sizeof *x.keep)};
    kr_calib *part = NULL;
    kr_analysis *a = NULL;
    kr_status st = x.keep == NULL ? kr_fail(err, KR_ENOMEM, "out of memory")
                                  : choose(s, (int64_t)s->ledger.n + 1, &x, err);
    bool some = st == KR_OK; /* a lock may come before its requests */
    if (st == KR_EFORMAT)
        st = KR_OK;
    if (some)
        st = kr_calib_subset(s->calib, x.keep, NULL, &part, err);
    if (some && st == KR_OK)
        st = kr_analysis_new(part, (kr_analysis_options){.split = KR_SPLIT_CAL}, &a, err);
    if (a != NULL && kr_analysis_state(a) == KR_STATE_REFUSED)
        st = kr_fail(err, KR_EINVAL, "requests for confirming share clusters, so the test of a lock would be "
                                     "refused; keep one request of each cluster in the file");
    kr_analysis_free(a);
    kr_calib_free(part);
    free(x.keep);
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
                 " Look %lld of %lld at a growing sample, of declared sizes, which share the lock's error level.",
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
            kr_study_sum(&sum, kr_contract_delta(&s->ledger.entry[i].contract));
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

/* Which look this is; more than the lock has: none is left. Where a lock has several, they are at numbers of
 * requests that were declared before any result: with a size chosen after a look, the error of two looks at
 * delta/2 is up to alpha + exp(-z^2/2)/4 for alpha = delta/2 and its normal quantile z (Proschan and
 * Hunsberger 1995), 0.06 for delta 0.05. At declared sizes Bonferroni holds, whoever opened which rows. */
static kr_status which_look(const kr_study *s, const kr_ledger_entry *lock, const chosen *x, int64_t *look,
                            kr_error *err) {
    int64_t rows = (int64_t)kr_calib_rows(s->calib);
    size_t at = 0;
    if (lock->n_sizes == 0) {
        *look = count_looks(s, lock, x) + 1;
        return KR_OK;
    }
    while (at < lock->n_sizes && lock->size[at] < rows)
        at++;
    *look = (int64_t)at + 1;
    if (at == lock->n_sizes || lock->size[at] == rows)
        return KR_OK;
    return kr_fail(err, KR_EFORMAT, "the file has %lld requests; lock %lld declared a look at %lld: at a size chosen "
                                   "after a look it would prove less. Nothing was opened",
                   (long long)rows, (long long)lock->number, (long long)lock->size[at]);
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
    int64_t look;
    if ((st = which_look(s, &c->lock, x, &look, err)) != KR_OK)
        return st;
    if (strcmp(order, c->lock.order) != 0)
        x->why = "the candidates, their order or what they were measured on changed after the contract was "
                 "locked";
    else if (x->why == NULL && same != NULL && same->look == 0)
        x->why = "the first test of these rows by this lock was exploratory";
    else if (x->why == NULL && same == NULL && look > c->lock.looks)
        x->why = c->lock.n_sizes > 0 ? "the file has grown past the last declared look of this lock"
                                     : "every declared look of this lock is used (rows opened by another lock "
                                       "before the file grew count as well)";
    kr_contract k = contract_of_look(&c->lock);
    c->rerun = same != NULL;
    c->exploratory = x->why != NULL;
    c->entry = same != NULL ? *same : now;
    c->entry.look = c->exploratory ? 0 : same != NULL ? same->look : look;
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
    st = c->rerun ? kr_study_catch_up(s, err) : kr_study_append(s, &c->entry, err);
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
    return st == KR_OK ? kr_study_split(t, err) : st;
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
