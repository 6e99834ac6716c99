#include "ledger/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/json.h"

#define LEDGER_MAX ((size_t)64 << 20)

static const char *const kinds[KR_LEDGER_KINDS] = {"start", "lock", "confirm"};

const char *kr_ledger_kind_name(kr_ledger_kind k) {
    return (unsigned)k < KR_LEDGER_KINDS ? kinds[k] : "?";
}

char *kr_ledger_path(const char *file) {
    size_t len = strlen(file);
    char *p = malloc(len + sizeof ".ledger");
    if (p != NULL)
        snprintf(p, len + sizeof ".ledger", "%s.ledger", file);
    return p;
}

kr_status kr_ledger_spares(const char *file, const char *out, kr_error *err) {
    static const char end[] = ".ledger";
    size_t len = strlen(out), tail = sizeof end - 1;
    char *ledger = kr_ledger_path(file);
    if (ledger == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    bool taken = (len >= tail && strcmp(out + len - tail, end) == 0) || kr_file_same(out, ledger);
    free(ledger);
    if (taken)
        return kr_fail(err, KR_EIO, "%s is the name of a ledger; nothing else is written there", out);
    if (kr_file_same(out, file))
        return kr_fail(err, KR_EIO, "%s is what was read: it would be replaced", out);
    return KR_OK;
}

void kr_ledger_free(kr_ledger *l) {
    free(l->entry);
    *l = (kr_ledger){0};
}

/* --- writing ------------------------------------------------------------------------------------ */

static void put_start(kr_buf *b, const kr_ledger_entry *e) {
    kr_put_dec(b, "budget", e->budget);
    kr_put_bool(b, "declared_split", e->declared_split);
    kr_put_dec(b, "share", e->share);
    kr_put_int(b, "seed", e->seed);
    kr_put_int(b, "base_rows", e->base_rows);
    kr_put_text(b, "base_ids", e->base_ids);
}

static void put_lock(kr_buf *b, const kr_ledger_entry *e) {
    kr_put_dec(b, "tolerance", e->contract.tolerance);
    kr_put_dec(b, "risk", e->contract.risk);
    kr_put_dec(b, "confidence", e->contract.confidence);
    kr_put_text(b, "method", e->method);
    kr_put_bool(b, "family", e->family);
    kr_put_int(b, "looks", e->looks);
    kr_buf_puts(b, ",\"sizes\":[");
    for (size_t i = 0; i < e->n_sizes; i++)
        kr_buf_printf(b, "%s%lld", i > 0 ? "," : "", (long long)e->size[i]);
    kr_buf_puts(b, "],\"tolerances\":[");
    for (size_t i = 0; i < e->n_tolerances; i++) {
        kr_buf_puts(b, i > 0 ? "," : "");
        kr_json_put_dec(b, e->tolerance[i]);
    }
    kr_buf_puts(b, "]");
    kr_put_text(b, "order", e->order);
}

static void put_confirm(kr_buf *b, const kr_ledger_entry *e) {
    kr_put_int(b, "lock", e->lock);
    kr_put_int(b, "look", e->look);
    kr_put_int(b, "file_rows", e->file_rows);
    kr_put_int(b, "tested_rows", e->tested_rows);
    kr_put_text(b, "rows", e->rows);
    kr_put_text(b, "outcomes", e->outcomes);
    kr_put_text(b, "file_ids", e->file_ids);
    kr_put_text(b, "file_outcomes", e->file_outcomes);
    kr_put_dec(b, "delta", e->delta);
    kr_put_text(b, "state", e->state);
    kr_put_text(b, "result", e->result);
}

/* The line without its hash and end. */
static void put_entry(kr_buf *b, const kr_ledger_entry *e, const char *prev) {
    static void (*const put[KR_LEDGER_KINDS])(kr_buf *, const kr_ledger_entry *) = {
        put_start, put_lock, put_confirm};
    kr_buf_printf(b, "{\"n\":%lld,\"time\":\"%s\",\"kind\":\"%s\",\"kvrisk\":\"" KR_VERSION "\"",
                  (long long)e->number, e->time, kinds[e->kind]);
    kr_put_text(b, "prev", prev);
    put[e->kind](b, e);
}

static void now(char out[24]) {
    time_t t = time(NULL);
    struct tm tm;
    if (gmtime_r(&t, &tm) == NULL || strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        snprintf(out, 24, "unknown");
}

/* --- reading ------------------------------------------------------------------------------------ */

static void take_text(kr_json *j, char *out, size_t cap) {
    char *s = kr_json_string_copy(j);
    if (s == NULL)
        return;
    if (strlen(s) >= cap)
        kr_json_fail(j, j->at, "a text of the ledger is too long");
    else
        memcpy(out, s, strlen(s) + 1);
    free(s);
}

static void take_bool(kr_json *j, bool *out) {
    kr_span s = {"", 0};
    if (kr_json_peek(j) != KR_JSON_BOOL)
        kr_json_fail(j, j->at, "expected true or false");
    else if (kr_json_skip(j, &s))
        *out = kr_span_is(s, "true");
}

static void take_tolerances(kr_json *j, kr_ledger_entry *e) {
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it);) {
        if (e->n_tolerances == KR_LEDGER_TABLE_MAX) {
            kr_json_fail(j, j->at, "more than %d tolerances", KR_LEDGER_TABLE_MAX);
            return;
        }
        if (kr_json_dec(j, &e->tolerance[e->n_tolerances]))
            e->n_tolerances++;
    }
}

static void take_sizes(kr_json *j, kr_ledger_entry *e) {
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it);) {
        if (e->n_sizes == KR_LEDGER_LOOKS_MAX) {
            kr_json_fail(j, j->at, "more than %d looks", KR_LEDGER_LOOKS_MAX);
            return;
        }
        if (kr_json_int(j, 1, INT64_MAX, &e->size[e->n_sizes]))
            e->n_sizes++;
    }
}

static void take_kind(kr_json *j, kr_ledger_entry *e) {
    char text[16] = "";
    size_t at = j->at;
    take_text(j, text, sizeof text);
    for (int k = 0; k < KR_LEDGER_KINDS; k++)
        if (strcmp(kinds[k], text) == 0) {
            e->kind = (kr_ledger_kind)k;
            return;
        }
    kr_json_fail(j, at, "unknown kind of entry");
}

typedef enum { F_TEXT, F_INT, F_DEC, F_BOOL } field_type;

static const struct {
    const char *key;
    field_type type;
    size_t at, size;
} fields[] = {
#define T(k, m) {k, F_TEXT, offsetof(kr_ledger_entry, m), sizeof(((kr_ledger_entry *)0)->m)}
#define I(k, m) {k, F_INT, offsetof(kr_ledger_entry, m), 0}
#define D(k, m) {k, F_DEC, offsetof(kr_ledger_entry, m), 0}
#define B(k, m) {k, F_BOOL, offsetof(kr_ledger_entry, m), 0}
    I("n", number), T("time", time), T("hash", hash), D("budget", budget),
    B("declared_split", declared_split), D("share", share), I("seed", seed),
    I("base_rows", base_rows), T("base_ids", base_ids), D("tolerance", contract.tolerance),
    D("risk", contract.risk), D("confidence", contract.confidence), T("method", method),
    B("family", family), I("looks", looks), T("order", order), I("lock", lock), I("look", look),
    I("file_rows", file_rows), I("tested_rows", tested_rows), T("rows", rows),
    T("outcomes", outcomes), T("file_ids", file_ids), T("file_outcomes", file_outcomes), D("delta", delta), T("state", state), T("result", result),
#undef T
#undef I
#undef D
#undef B
};

static void take_field(kr_json *j, kr_span key, kr_ledger_entry *e) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        void *to = (char *)e + fields[i].at;
        if (!kr_span_is(key, fields[i].key))
            continue;
        switch (fields[i].type) {
        case F_TEXT: take_text(j, to, fields[i].size); return;
        case F_INT: kr_json_int(j, 0, INT64_MAX, to); return;
        case F_DEC: kr_json_dec(j, to); return;
        case F_BOOL: take_bool(j, to); return;
        }
    }
    kr_json_skip(j, NULL);
}

static bool take_entry(kr_json *j, kr_ledger_entry *e, char prev[KR_SHA256_HEX]) {
    kr_span key;
    for (kr_json_iter it = kr_json_enter(j, '{'); kr_json_member(j, &it, &key);) {
        if (kr_span_is(key, "kind"))
            take_kind(j, e);
        else if (kr_span_is(key, "prev"))
            take_text(j, prev, KR_SHA256_HEX);
        else if (kr_span_is(key, "tolerances"))
            take_tolerances(j, e);
        else if (kr_span_is(key, "sizes"))
            take_sizes(j, e);
        else
            take_field(j, key, e);
    }
    return !j->failed;
}

/* The chain has no secret, so whoever made it, what is read must be in its domain. */
static bool is_hash(const char *hex) {
    return strlen(hex) == KR_SHA256_HEX - 1 && strspn(hex, "0123456789abcdef") == KR_SHA256_HEX - 1;
}

static bool is_share(kr_dec v) { return v.digits >= 0 && kr_dec_cmp(v, kr_dec_make(1, 0)) < 0; }

static bool sound_start(const kr_ledger *l, const kr_ledger_entry *e) {
    return l->n == 0 && is_share(e->budget) && is_share(e->share) && e->share.scale <= 6 &&
           is_hash(e->base_ids);
}

static bool sound_lock(const kr_ledger *l, const kr_ledger_entry *e) {
    bool ok = l->n > 0 && kr_contract_check(&e->contract, NULL) == KR_OK && e->looks >= 1 &&
              e->looks == (int64_t)(e->n_sizes > 0 ? e->n_sizes : 1) && is_hash(e->order) &&
              e->family == (*e->method == '\0');
    for (size_t i = 1; i < e->n_sizes; i++)
        ok = ok && e->size[i] > e->size[i - 1];
    for (size_t i = 0; i < e->n_tolerances; i++)
        ok = ok && e->tolerance[i].digits >= 0;
    return ok;
}

static bool sound_confirm(const kr_ledger *l, const kr_ledger_entry *e) {
    if (l->n == 0 || e->lock < 1 || e->lock > (int64_t)l->n || l->entry[e->lock - 1].kind != KR_LEDGER_LOCK)
        return false;
    int64_t before = l->entry[0].base_rows;
    for (size_t i = l->n; i-- > 0;)
        if (l->entry[i].kind == KR_LEDGER_CONFIRM) {
            before = l->entry[i].file_rows;
            break;
        }
    const kr_ledger_entry *lock = &l->entry[e->lock - 1];
    bool declared = e->look == 0 || lock->n_sizes == 0 ||
                    (e->look <= lock->looks && lock->size[e->look - 1] == e->file_rows);
    return declared && e->look <= lock->looks && e->file_rows >= before && is_share(e->delta) &&
           e->tested_rows >= 1 && e->tested_rows <= e->file_rows && is_hash(e->rows) &&
           is_hash(e->outcomes) && is_hash(e->file_ids) && is_hash(e->file_outcomes);
}

static bool sound(const kr_ledger *l, const kr_ledger_entry *e) {
    static bool (*const of[KR_LEDGER_KINDS])(const kr_ledger *, const kr_ledger_entry *) = {
        sound_start, sound_lock, sound_confirm};
    bool time = strspn(e->time, "0123456789-:TZ") == strlen(e->time) || strcmp(e->time, "unknown") == 0;
    return time && of[e->kind](l, e);
}

static kr_status read_line(const char *path, const char *line, size_t len, kr_ledger *l,
                           kr_error *err) {
    static const char tail[] = ",\"hash\":\"";
    char prev[KR_SHA256_HEX] = "", hash[KR_SHA256_HEX];
    size_t number = l->n + 1, end = sizeof tail - 1 + 64 + 2;
    kr_ledger_entry e = {0};
    kr_error why;
    kr_json j = kr_json_open(line, len, path, number, &why);
    if (len <= end || memcmp(line + len - end, tail, sizeof tail - 1) != 0 ||
        !take_entry(&j, &e, prev))
        return kr_fail(err, KR_EFORMAT, "%s: entry %zu is damaged", path, number);
    kr_status st = kr_sha256(line, len - end, hash, err);
    if (st != KR_OK)
        return st;
    if (strcmp(hash, e.hash) != 0)
        return kr_fail(err, KR_EFORMAT, "%s: entry %zu was changed after it was written", path, number);
    if (strcmp(prev, l->head) != 0 || e.number != (int64_t)number || !sound(l, &e))
        return kr_fail(err, KR_EFORMAT, "%s: entry %zu does not follow the one before it: the ledger "
                                        "was edited, or another version of kvrisk wrote it", path, number);
    if (number > KR_LEDGER_ENTRIES_MAX)
        return kr_fail(err, KR_EFORMAT, "%s: more than %d entries", path, KR_LEDGER_ENTRIES_MAX);
    kr_ledger_entry *grown = realloc(l->entry, number * sizeof *grown);
    if (grown == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    l->entry = grown;
    l->entry[l->n++] = e;
    memcpy(l->head, e.hash, sizeof l->head);
    return KR_OK;
}

kr_status kr_ledger_parse(const char *text, size_t len, const char *name, kr_ledger *out, kr_error *err) {
    kr_ledger l = {0};
    kr_status st = KR_OK;
    for (size_t at = 0; st == KR_OK && at < len;) {
        const char *nl = memchr(text + at, '\n', len - at);
        size_t n = nl != NULL ? (size_t)(nl - text) - at : len - at;
        st = nl == NULL ? kr_fail(err, KR_EFORMAT, "%s: the last entry is not complete", name)
                        : read_line(name, text + at, n, &l, err);
        at += n + 1;
    }
    if (st == KR_OK)
        *out = l;
    else
        kr_ledger_free(&l);
    return st;
}

kr_status kr_ledger_load(const char *path, kr_ledger *out, kr_error *err) {
    struct stat there;
    char *text = NULL;
    size_t len = 0;
    if (stat(path, &there) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        *out = (kr_ledger){0};
        if (lstat(path, &there) == 0) /* on a disk that is not there now, say */
            return kr_fail(err, KR_EIO, "%s is a link to nowhere, so what it kept cannot be read", path);
        return KR_OK;
    }
    kr_status st = kr_file_read(path, LEDGER_MAX, &text, &len, err);
    if (st == KR_OK)
        st = len > 0 ? kr_ledger_parse(text, len, path, out, err)
                     : kr_fail(err, KR_EFORMAT, "%s is empty: a ledger has at least its start, so it was cut", path);
    free(text);
    return st;
}

static kr_status read_old(const char *path, const kr_ledger *l, kr_buf *b, kr_error *err) {
    kr_ledger seen = {0};
    char *text = NULL;
    size_t len = 0;
    kr_status st = kr_ledger_load(path, &seen, err);
    if (st != KR_OK)
        return st;
    bool same = seen.n == l->n && strcmp(seen.head, l->head) == 0;
    kr_ledger_free(&seen);
    if (!same)
        return kr_fail(err, KR_EIO, "%s changed meanwhile; try again", path);
    if (l->n == 0)
        return KR_OK;
    st = kr_file_read(path, LEDGER_MAX, &text, &len, err);
    if (st == KR_OK)
        kr_buf_add(b, text, len);
    free(text);
    return st;
}

kr_status kr_ledger_append(const char *path, kr_ledger *l, const kr_ledger_entry *entry,
                           kr_error *err) {
    kr_buf b = {0}, line = {0};
    kr_ledger_entry e = *entry;
    if (l->n >= KR_LEDGER_ENTRIES_MAX)
        return kr_fail(err, KR_EFORMAT, "%s: it has %d entries, the most there can be", path,
                       KR_LEDGER_ENTRIES_MAX);
    kr_ledger_entry *grown = realloc(l->entry, (l->n + 1) * sizeof *grown);
    if (grown == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    l->entry = grown;
    e.number = (int64_t)l->n + 1;
    now(e.time);
    put_entry(&line, &e, l->head);
    kr_status st = read_old(path, l, &b, err);
    if (st == KR_OK)
        st = kr_sha256(kr_buf_text(&line), line.len, e.hash, err);
    kr_buf_printf(&b, "%s,\"hash\":\"%s\"}\n", kr_buf_text(&line), e.hash);
    if (st == KR_OK && (b.failed || line.failed))
        st = kr_fail(err, KR_ENOMEM, "out of memory");
    if (st == KR_OK)
        st = kr_file_write(path, kr_buf_text(&b), b.len, true, err);
    if (st == KR_OK) {
        l->entry[l->n++] = e;
        memcpy(l->head, e.hash, sizeof l->head);
    }
    kr_buf_free(&b);
    kr_buf_free(&line);
    return st;
}
