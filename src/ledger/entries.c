/* entries.c - what is entered in a ledger and remembered of it: its start, its locks, its error budget. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/rows.h"
#include "ledger/study_impl.h"

static kr_status remember_rows(kr_study *s, kr_error *err) {
    kr_status st = kr_study_need_prints(s, err);
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
kr_status kr_study_append(kr_study *s, const kr_ledger_entry *e, kr_error *err) {
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
kr_status kr_study_catch_up(kr_study *s, kr_error *err) {
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
        st = kr_study_append(s, &e, err);
    return st == KR_OK ? kr_study_split(s, err) : st;
}

void kr_study_sum(kr_dec *to, kr_dec v) {
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
        kr_study_sum(&u.spent, e->delta);
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
        kr_study_sum(&b.spent, spent);
        if (kr_dec_sub(kr_contract_delta(&e->contract), spent, &held))
            kr_study_sum(&b.held, held);
    }
    used = b.spent;
    kr_study_sum(&used, b.held);
    if (!kr_dec_sub(b.budget, used, &b.left) || b.left.digits < 0)
        b.left = (kr_dec){0, 0};
    return b;
}

static kr_status check_sizes(const kr_study *s, const kr_ledger_entry *e, kr_error *err) {
    int64_t before = (int64_t)kr_calib_rows(s->calib) - 1;
    if (e->looks < 1 || e->n_sizes > KR_LEDGER_LOOKS_MAX ||
        e->looks != (int64_t)(e->n_sizes > 0 ? e->n_sizes : 1))
        return kr_fail(err, KR_EINVAL, "more than one look needs the number of requests at each, up to %d",
                       KR_LEDGER_LOOKS_MAX);
    for (size_t i = 0; i < e->n_sizes; before = e->size[i++])
        if (e->size[i] <= before)
            return kr_fail(err, KR_EINVAL, "the file has %zu requests: the numbers it will have at the looks "
                                           "must rise from there, and %lld does not",
                           kr_calib_rows(s->calib), (long long)e->size[i]);
    return KR_OK;
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
    if ((st = check_sizes(s, &e, err)) != KR_OK)
        return st;
    kr_dec delta = kr_contract_delta(&e.contract), left = kr_study_budget_of(s).left;
    if (kr_dec_cmp(delta, left) > 0)
        return kr_fail(err, KR_EINVAL, "the error budget is exhausted: this lock needs %s, %s is left",
                       kr_dec_text(delta, d), kr_dec_text(left, l));
    st = kr_study_check_fresh(s, err);
    if (st == KR_OK)
        st = kr_hash_order(s->calib, e.order, err);
    return st == KR_OK ? kr_study_append(s, &e, err) : st;
}
