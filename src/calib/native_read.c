#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib/idset.h"
#include "calib/native.h"
#include "calib/set.h"

typedef struct {
    const char *path;
    kr_native_header h;
    kr_builder *b;
    int64_t *utility;  /* [m] */
    double *retained;  /* [m] */
    kr_idset task_set;
    size_t last_task;  /* rows of one task usually follow each other */
    kr_buf extra;
    size_t most, left_out; /* requests to keep, and those beyond */
    kr_error *err;
} reader;

static const char *task_text(const void *ctx, size_t i, size_t *len) {
    const reader *r = ctx;
    *len = strlen(r->h.task[i]);
    return r->h.task[i];
}

/* --- one request --------------------------------------------------------------------------------- */

enum { HAS_ID = 1, HAS_TASK = 2, HAS_FULL = 4, HAS_UTILITY = 8, HAS_ALL = 15 };

/* Strings of a row: borrowed from the line unless they have escapes. */
typedef struct {
    const char *s;
    size_t len;
    char *owned;
} row_text;

static bool read_text(kr_json *j, row_text *t) {
    size_t at = (kr_json_peek(j), j->at);
    kr_span raw;
    bool escaped;
    free(t->owned);
    *t = (row_text){NULL, 0, NULL};
    if (!kr_json_string(j, &raw, &escaped))
        return false;
    *t = (row_text){raw.s, raw.len, NULL};
    if (!escaped)
        return true;
    j->at = at;
    t->owned = kr_json_string_copy(j);
    if (t->owned == NULL)
        return false;
    t->s = t->owned;
    t->len = strlen(t->owned);
    return true;
}

static bool read_utility(kr_json *j, const kr_calib_meta *m, int64_t *out) {
    if (kr_json_peek(j) == KR_JSON_NULL) {
        *out = KR_MISSING;
        return kr_json_null(j);
    }
    size_t at = j->at;
    if (!kr_json_nano(j, out))
        return false;
    if (*out >= m->utility_min && *out <= m->utility_max)
        return true;
    char v[KR_DEC_TEXT], lo[KR_DEC_TEXT], hi[KR_DEC_TEXT];
    return kr_json_fail(j, at, "utility %s is outside the declared range %s to %s",
                        kr_dec_text(kr_nano_dec(*out), v),
                        kr_dec_text(kr_nano_dec(m->utility_min), lo),
                        kr_dec_text(kr_nano_dec(m->utility_max), hi));
}

/* One value more than policies; a stray comma before the bracket is no value. */
static bool too_many(kr_json *j, const char *key, size_t n) {
    size_t at = (kr_json_peek(j), j->at);
    return kr_json_skip(j, NULL) &&
           kr_json_fail(j, at, "\"%s\" has more than %zu values, one per policy", key, n);
}

static bool read_utilities(kr_json *j, reader *r) {
    size_t n = 0, at = (kr_json_peek(j), j->at);
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it); n++) {
        if (n == r->h.n_policies)
            return too_many(j, "utility", n);
        if (!read_utility(j, &r->h.meta, &r->utility[n]))
            return false;
    }
    if (!j->failed && n < r->h.n_policies)
        return kr_json_fail(j, at, "\"utility\" has %zu values, expected %zu, one per policy", n,
                            r->h.n_policies);
    return !j->failed;
}

static bool read_retained(kr_json *j, reader *r, bool *has) {
    size_t n = 0, at = (kr_json_peek(j), j->at);
    if (kr_json_peek(j) == KR_JSON_NULL)
        return kr_json_null(j);
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it); n++) {
        if (n == r->h.n_policies)
            return too_many(j, "retained", n);
        int64_t v = 0;
        size_t here = (kr_json_peek(j), j->at);
        r->retained[n] = NAN;
        if (kr_json_peek(j) == KR_JSON_NULL) {
            if (!kr_json_null(j))
                return false;
            continue;
        }
        if (!kr_json_nano(j, &v))
            return false;
        if (v < 0 || v > KR_NANO)
            return kr_json_fail(j, here, "a retained share must be within 0 and 1");
        r->retained[n] = (double)v / (double)KR_NANO;
    }
    if (!j->failed && n < r->h.n_policies)
        return kr_json_fail(j, at, "\"retained\" has %zu values, expected %zu, one per policy", n,
                            r->h.n_policies);
    *has = !j->failed;
    return *has;
}

static bool read_task(kr_json *j, reader *r, size_t *task) {
    size_t at = (kr_json_peek(j), j->at);
    row_text t = {NULL, 0, NULL};
    if (!read_text(j, &t))
        return false;
    const char *last = r->h.task[r->last_task];
    bool ok = true;
    if (strlen(last) == t.len && memcmp(last, t.s, t.len) == 0) {
        *task = r->last_task;
    } else {
        int64_t i = kr_idset_find(&r->task_set, t.s, t.len);
        ok = i >= 0 || kr_json_fail(j, at, "task \"%.*s\" is not among the header's tasks",
                                    (int)(t.len < 60 ? t.len : 60), t.s);
        *task = r->last_task = ok ? (size_t)i : 0;
    }
    free(t.owned);
    return ok;
}

static bool read_split(kr_json *j, kr_split *out) {
    size_t at = (kr_json_peek(j), j->at);
    kr_span raw;
    if (kr_json_peek(j) == KR_JSON_NULL)
        return kr_json_null(j);
    if (!kr_json_string(j, &raw, NULL))
        return false;
    if (kr_span_is(raw, "test"))
        *out = KR_SPLIT_TEST;
    else if (!kr_span_is(raw, "cal"))
        return kr_json_fail(j, at, "split \"%.*s\", expected \"cal\" or \"test\"",
                            (int)(raw.len < 40 ? raw.len : 40), raw.s);
    return true;
}

static bool read_tokens(kr_json *j, int64_t *out) {
    if (kr_json_peek(j) == KR_JSON_NULL)
        return kr_json_null(j);
    return kr_json_int(j, 0, INT32_MAX, out);
}

static bool read_cluster(kr_json *j, row_text *t) {
    if (kr_json_peek(j) == KR_JSON_NULL)
        return kr_json_null(j);
    if (kr_json_peek(j) != KR_JSON_NUMBER)
        return read_text(j, t);
    kr_span raw; /* a number names a cluster as well as a word does */
    if (!kr_json_number(j, &raw))
        return false;
    *t = (row_text){raw.s, raw.len, NULL};
    return true;
}

static void keep_raw(kr_json *j, kr_buf *extra, kr_span key, size_t from) {
    if (extra->len > 0)
        kr_buf_puts(extra, ",");
    kr_buf_printf(extra, "\"%.*s\":", (int)key.len, key.s);
    kr_buf_add(extra, j->text + from, j->at - from);
}

typedef struct {
    kr_request q;
    row_text id, cluster;
    size_t id_at;
    unsigned seen;
    bool retained;
} row;

static void read_row_member(kr_json *j, reader *r, kr_span key, row *w) {
    size_t from = (kr_json_peek(j), j->at);
    if (kr_span_is(key, "id")) {
        w->id_at = from;
        w->seen |= HAS_ID;
        read_text(j, &w->id);
    } else if (kr_span_is(key, "task")) {
        w->seen |= HAS_TASK;
        read_task(j, r, &w->q.task);
    } else if (kr_span_is(key, "full")) {
        w->seen |= HAS_FULL;
        read_utility(j, &r->h.meta, &w->q.full);
    } else if (kr_span_is(key, "utility")) {
        w->seen |= HAS_UTILITY;
        read_utilities(j, r);
    } else if (kr_span_is(key, "split")) {
        read_split(j, &w->q.split);
    } else if (kr_span_is(key, "tokens")) {
        read_tokens(j, &w->q.tokens);
    } else if (kr_span_is(key, "cluster")) {
        read_cluster(j, &w->cluster);
    } else if (kr_span_is(key, "full2")) {
        read_utility(j, &r->h.meta, &w->q.full2);
    } else if (kr_span_is(key, "retained")) {
        if (read_retained(j, r, &w->retained))
            keep_raw(j, &r->extra, key, from);
    } else if (kr_json_skip(j, NULL)) {
        keep_raw(j, &r->extra, key, from);
    }
}

static bool check_row(kr_json *j, reader *r, size_t at, row *w) {
    static const char *const names[] = {"id", "task", "full", "utility"};
    for (unsigned i = 0; i < 4; i++)
        if ((w->seen & 1u << i) == 0)
            return kr_json_fail(j, at, "a request needs \"%s\"", names[i]);
    if (w->id.len == 0 || w->id.len > 4096)
        return kr_json_fail(j, w->id_at, "a request id must have 1 to 4096 bytes");
    if (kr_builder_find(r->b, w->id.s, w->id.len) >= 0)
        return kr_json_fail(j, w->id_at, "request id \"%.*s\" appears twice",
                            (int)(w->id.len < 60 ? w->id.len : 60), w->id.s);
    return !r->extra.failed || kr_json_fail(j, at, "out of memory");
}

static kr_status read_row(kr_json *j, reader *r) {
    row w = {.q = {.tokens = -1, .full = KR_MISSING, .full2 = KR_NO_RUN, .split = KR_SPLIT_CAL}};
    kr_span key;
    r->extra.len = 0;
    size_t at = (kr_json_peek(j), j->at);
    for (kr_json_iter it = kr_json_enter(j, '{'); kr_json_member(j, &it, &key);)
        read_row_member(j, r, key, &w);
    kr_status st = KR_EFORMAT;
    if (!j->failed && check_row(j, r, at, &w)) {
        w.q.id = w.id.s;
        w.q.id_len = w.id.len;
        w.q.cluster = w.cluster.s;
        w.q.cluster_len = w.cluster.len;
        w.q.utility = r->utility;
        w.q.retained = w.retained ? r->retained : NULL;
        w.q.extra = r->extra.len > 0 ? r->extra.s : NULL;
        w.q.extra_len = r->extra.len;
        bool keep = kr_builder_count(r->b) < r->most;
        r->left_out += !keep;
        st = keep ? kr_builder_add(r->b, &w.q, r->err) : KR_OK;
        j->failed = st != KR_OK;
    }
    free(w.id.owned);
    free(w.cluster.owned);
    return st;
}

/* --- header, then rows ----------------------------------------------------------------------------- */

static kr_status start(kr_json *j, reader *r) {
    char where[600];
    size_t line = j->line, at = (kr_json_peek(j), j->at);
    for (size_t i = 0; i < at; i++)
        line += j->text[i] == '\n';
    if (!kr_native_read_header(j, &r->h))
        return KR_EFORMAT;
    snprintf(where, sizeof where, "%.500s:%zu:1", r->path, line);
    kr_status st = kr_builder_new(&r->h.meta, r->h.task, r->h.n_tasks, r->h.policy, r->h.n_policies,
                                  where, &r->b, r->err);
    if (st != KR_OK)
        return st;
    r->utility = calloc(r->h.n_policies, sizeof *r->utility);
    r->retained = calloc(r->h.n_policies, sizeof *r->retained);
    r->task_set = kr_idset_make(task_text, r);
    bool ok = r->utility != NULL && r->retained != NULL;
    for (size_t i = 0; i < r->h.n_tasks && ok; i++)
        ok = kr_idset_add(&r->task_set, i);
    return ok ? KR_OK : kr_fail(r->err, KR_ENOMEM, "%s: out of memory", r->path);
}

/* Rows inside the header object. */
static kr_status read_inner_rows(reader *r) {
    kr_json j = r->h.requests;
    j.err = r->err;
    for (kr_json_iter it = kr_json_enter(&j, '['); kr_json_element(&j, &it);) {
        kr_status st = read_row(&j, r);
        if (st != KR_OK)
            return st;
    }
    return j.failed ? KR_EFORMAT : KR_OK;
}

static kr_status read_value(kr_json *j, reader *r) {
    if (r->b == NULL) {
        kr_status st = start(j, r);
        return st == KR_OK && r->h.has_requests ? read_inner_rows(r) : st;
    }
    if (r->h.meta.kind == KR_KIND_COUNTS) {
        kr_json_fail(j, j->at, "text after the object, expected the end of the file");
        return KR_EFORMAT;
    }
    return read_row(j, r);
}

/* A file that is one array, or values over several lines. */
static kr_status read_document(const char *text, size_t len, reader *r) {
    kr_json j = kr_json_open(text, len, r->path, 1, r->err);
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        j.at = 3;
    bool array = kr_json_peek(&j) == KR_JSON_ARRAY;
    kr_json_iter it = {.first = true};
    if (array)
        it = kr_json_enter(&j, '[');
    while (array ? kr_json_element(&j, &it) : !j.failed && kr_json_peek(&j) != KR_JSON_END) {
        kr_status st = read_value(&j, r);
        if (st != KR_OK)
            return st;
    }
    if (!j.failed && kr_json_peek(&j) != KR_JSON_END)
        kr_json_fail(&j, j.at, "text after the array, expected the end of the file");
    return j.failed ? KR_EFORMAT : KR_OK;
}

static bool is_blank(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r')
            return false;
    return true;
}

/* Whether a line is one whole object: then the file is JSON Lines. */
static bool is_object_line(const char *s, size_t len) {
    kr_json j = kr_json_open(s, len, "", 1, NULL);
    return kr_json_peek(&j) == KR_JSON_OBJECT && kr_json_skip(&j, NULL) &&
           kr_json_peek(&j) == KR_JSON_END;
}

static kr_status read_line(const char *s, size_t len, size_t number, reader *r) {
    kr_json j = kr_json_open(s, len, r->path, number, r->err);
    kr_status st = read_value(&j, r);
    if (st == KR_OK && kr_json_peek(&j) != KR_JSON_END) {
        kr_json_fail(&j, j.at, "text after the object, expected the end of the line");
        st = KR_EFORMAT;
    }
    return st;
}

/* *document is set when the file turns out not to be JSON Lines. */
static kr_status read_lines(kr_lines *in, reader *r, bool *document) {
    for (;;) {
        const char *s;
        size_t len;
        kr_status st = kr_lines_next(in, &s, &len, r->err);
        if (st != KR_OK)
            return st;
        if (s == NULL)
            return KR_OK;
        if (is_blank(s, len))
            continue;
        if (r->b == NULL && !is_object_line(s, len)) {
            *document = true;
            return KR_OK;
        }
        st = read_line(s, len, kr_lines_number(in), r);
        if (st != KR_OK)
            return st;
    }
}

static kr_status read_whole(const char *path, reader *r, char hex[KR_SHA256_HEX],
                            const kr_stamp *stamp) {
    char *text = NULL;
    size_t len = 0;
    kr_stamp after;
    kr_status st = kr_file_read(path, KR_MAX_DOCUMENT, &text, &len, r->err);
    if (st == KR_OK)
        st = kr_file_stamp(path, &after, r->err);
    if (st == KR_OK && !kr_stamp_equal(stamp, &after))
        st = kr_fail(r->err, KR_EIO, "%s changed while it was read; load it again", path);
    if (st == KR_OK)
        st = kr_sha256(text, len, hex, r->err);
    if (st == KR_OK)
        st = read_document(text, len, r);
    free(text);
    return st;
}

static void reader_free(reader *r) {
    kr_builder_free(r->b);
    kr_idset_free(&r->task_set);
    kr_arena_free(&r->h.arena);
    kr_buf_free(&r->extra);
    free(r->utility);
    free(r->retained);
}

static kr_status finish(reader *r, const kr_stamp *stamp, const char *hex, kr_calib **out) {
    if (r->b == NULL)
        return kr_fail(r->err, KR_EFORMAT, "%s:1:1: the file is empty, expected a header object",
                       r->path);
    size_t rows = kr_builder_count(r->b) + r->left_out;
    if (r->h.announced > 0 && (int64_t)rows != r->h.announced)
        return kr_fail(r->err, KR_EFORMAT,
                       "%s: the header announces %lld requests, found %zu: the file is cut or has grown",
                       r->path, (long long)r->h.announced, rows);
    kr_calib *c;
    kr_status st = kr_builder_finish(r->b, &c, r->err);
    r->b = NULL;
    if (st != KR_OK)
        return st;
    c->path = kr_arena_copy(&c->arena, r->path, strlen(r->path));
    c->stamp = *stamp;
    snprintf(c->sha256, sizeof c->sha256, "%s", hex);
    *out = c;
    return KR_OK;
}

kr_status kr_calib_load(const char *path, kr_calib **out, kr_error *err) {
    return kr_calib_load_first(path, SIZE_MAX, out, err);
}

kr_status kr_calib_load_first(const char *path, size_t rows, kr_calib **out, kr_error *err) {
    reader r = {.path = path, .most = rows, .err = err};
    kr_lines *in;
    bool document = false;
    char hex[KR_SHA256_HEX] = "";
    kr_status st = kr_lines_open(path, KR_MAX_LINE, &in, err);
    if (st != KR_OK)
        return st;
    kr_stamp stamp = *kr_lines_stamp(in);
    st = read_lines(in, &r, &document);
    snprintf(hex, sizeof hex, "%s", kr_lines_sha256(in));
    kr_lines_close(in);
    if (st == KR_OK && document)
        st = read_whole(path, &r, hex, &stamp);
    if (st == KR_OK)
        st = finish(&r, &stamp, hex, out);
    reader_free(&r);
    return st;
}
