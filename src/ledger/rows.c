#include "ledger/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* --- hashes ------------------------------------------------------------------------------------- */

/* What was gathered is hashed together with the hash so far every FOLD rows. */
typedef struct {
    kr_buf b;
    char hex[KR_SHA256_HEX];
    size_t rows;
} roll;
#define FOLD 64

static kr_status roll_hash(const roll *r, char hex[KR_SHA256_HEX], kr_error *err) {
    return r->b.failed ? kr_fail(err, KR_ENOMEM, "out of memory")
                       : kr_sha256(kr_buf_text(&r->b), r->b.len, hex, err);
}

static kr_status end_row(roll *r, kr_error *err) {
    if (++r->rows % FOLD != 0)
        return KR_OK;
    kr_status st = roll_hash(r, r->hex, err);
    r->b.len = 0;
    kr_buf_puts(&r->b, r->hex);
    return st;
}

/* With its length in front, so that no two lists of texts are written alike. */
static void put_text(kr_buf *b, const char *s, size_t len) {
    if (s == NULL) {
        kr_buf_puts(b, "-");
        return;
    }
    kr_buf_printf(b, "%zu:", len);
    kr_buf_add(b, s, len);
}

static void put_row(const kr_calib *c, kr_hash_what what, size_t row, kr_buf *b) {
    kr_request r = kr_calib_row(c, row);
    uint64_t prompt;
    const char *task = kr_calib_task(c, r.task);
    switch (what) {
    case KR_HASH_IDS: put_text(b, r.id, r.id_len); break;
    case KR_HASH_OUTCOMES:
        kr_buf_printf(b, "%lld", (long long)r.full);
        for (size_t p = 0; p < kr_calib_policies(c); p++)
            kr_buf_printf(b, " %lld", (long long)kr_calib_utility(c, row, p));
        break;
    case KR_HASH_REQUESTS:
        put_text(b, r.id, r.id_len);
        put_text(b, task, strlen(task));
        put_text(b, r.cluster, r.cluster_len);
        kr_buf_puts(b, r.split == KR_SPLIT_CAL ? "c" : "t");
        if (kr_print_prompt(&r, &prompt))
            kr_buf_printf(b, "%llx", (unsigned long long)prompt);
        break;
    }
    kr_buf_puts(b, "\n");
}

kr_status kr_hash_rows(const kr_calib *c, kr_hash_what what, const bool *keep, size_t upto,
                       char hex[KR_SHA256_HEX], kr_error *err) {
    roll r = {0};
    kr_status st = KR_OK;
    for (size_t i = 0; st == KR_OK && i < upto; i++)
        if (keep == NULL || keep[i]) {
            put_row(c, what, i, &r.b);
            st = end_row(&r, err);
        }
    if (st == KR_OK)
        st = roll_hash(&r, hex, err);
    kr_buf_free(&r.b);
    return st;
}

kr_status kr_hash_prefixes(const kr_calib *c, kr_hash_what what, size_t n, const int64_t *upto,
                           char (*hex)[KR_SHA256_HEX], kr_error *err) {
    roll r = {0};
    kr_status st = KR_OK;
    for (size_t k = 0, i = 0; st == KR_OK && k < n; k++) {
        for (; st == KR_OK && (int64_t)i < upto[k]; i++) {
            put_row(c, what, i, &r.b);
            st = end_row(&r, err);
        }
        if (st == KR_OK)
            st = roll_hash(&r, hex[k], err);
    }
    kr_buf_free(&r.b);
    return st;
}

static void put_name(kr_buf *b, const char *s) { put_text(b, s, s != NULL ? strlen(s) : 0); }

kr_status kr_hash_order(const kr_calib *c, char hex[KR_SHA256_HEX], kr_error *err) {
    const kr_calib_meta *m = kr_calib_meta_of(c);
    kr_buf b = {0};
    char t[KR_DEC_TEXT];
    put_name(&b, m->model);
    put_name(&b, m->benchmark);
    put_name(&b, m->scorer);
    put_name(&b, m->protocol);
    kr_buf_printf(&b, " %lld %lld\n", (long long)m->utility_min, (long long)m->utility_max);
    for (size_t i = 0; i < kr_calib_policies(c); i++) {
        const kr_policy *p = kr_calib_policy(c, i);
        put_name(&b, p->method);
        if (p->has_retention)
            kr_buf_printf(&b, " keeps %s", kr_dec_text(p->retention, t));
        if (p->has_threshold)
            kr_buf_printf(&b, " from %s", kr_dec_text(p->threshold, t));
        kr_buf_puts(&b, "\n");
    }
    kr_status st = b.failed ? kr_fail(err, KR_ENOMEM, "out of memory")
                            : kr_sha256(kr_buf_text(&b), b.len, hex, err);
    kr_buf_free(&b);
    return st;
}

/* --- groups ------------------------------------------------------------------------------------- */

static uint32_t root(uint32_t *group, uint32_t i) {
    while (group[i] != i)
        i = group[i] = group[group[i]];
    return i;
}

static void join(uint32_t *group, uint32_t a, uint32_t b) {
    a = root(group, a);
    b = root(group, b);
    group[a > b ? a : b] = a < b ? a : b;
}

static void join_equal(uint32_t *group, const kr_print *x, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (x[i].value == x[i - 1].value)
            join(group, x[i - 1].row, x[i].row);
}

static kr_status join_clusters(const kr_calib *c, uint32_t *group, kr_error *err) {
    size_t rows = kr_calib_rows(c), n = 0;
    kr_print *x = malloc((rows + 1) * sizeof *x);
    if (x == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for the clusters of %zu requests", rows);
    for (size_t i = 0; i < rows; i++) {
        kr_request r = kr_calib_row(c, i);
        if (r.cluster != NULL)
            x[n++] = (kr_print){kr_print_text(0, r.cluster, r.cluster_len), (uint32_t)i};
    }
    kr_status st = kr_prints_sort(x, n, err);
    if (st == KR_OK)
        join_equal(group, x, n);
    free(x);
    return st;
}

kr_status kr_group_rows(const kr_calib *c, const kr_prints *p, uint32_t *group, kr_error *err) {
    for (size_t i = 0; i < p->rows; i++)
        group[i] = (uint32_t)i;
    kr_status st = join_clusters(c, group, err);
    join_equal(group, p->of[KR_PRINT_ID], p->n[KR_PRINT_ID]);
    join_equal(group, p->of[KR_PRINT_PROMPT], p->n[KR_PRINT_PROMPT]);
    for (size_t i = 0; i < p->rows; i++)
        group[i] = root(group, (uint32_t)i);
    return st;
}
