#include "calib/native.h"

#include <stdlib.h>
#include <string.h>

/* --- small readers ----------------------------------------------------------------------------- */

static const char *text(kr_json *j, kr_arena *a) {
    char *s = kr_json_string_copy(j);
    if (s == NULL)
        return NULL;
    const char *kept = kr_arena_copy(a, s, strlen(s));
    free(s);
    if (kept == NULL)
        kr_json_fail(j, j->at, "out of memory");
    return kept;
}

/* A string or null. */
static void optional_text(kr_json *j, kr_arena *a, const char **out) {
    if (kr_json_peek(j) == KR_JSON_NULL)
        kr_json_null(j);
    else
        *out = text(j, a);
}

/* Keeps an unknown member as it is written. */
static void keep_raw(kr_json *j, kr_buf *extra, kr_span key) {
    kr_span value;
    if (!kr_json_skip(j, &value))
        return;
    if (extra->len > 0)
        kr_buf_puts(extra, ",");
    kr_buf_printf(extra, "\"%.*s\":", (int)key.len, key.s);
    kr_buf_add(extra, value.s, value.len);
}

static const char *take_raw(kr_json *j, kr_buf *extra, kr_arena *a) {
    const char *s = NULL;
    if (extra->len > 0) {
        s = kr_arena_copy(a, extra->s, extra->len);
        if (s == NULL)
            kr_json_fail(j, j->at, "out of memory");
    }
    kr_buf_free(extra);
    return s;
}

/* A number or null; *has says which. */
static void optional_dec(kr_json *j, bool *has, kr_dec *out) {
    *has = false;
    if (kr_json_peek(j) == KR_JSON_NULL)
        kr_json_null(j);
    else
        *has = kr_json_dec(j, out);
}

/* --- parts of the header ------------------------------------------------------------------------ */

static void read_utility(kr_json *j, kr_native_header *h) {
    kr_span key;
    bool min = false, max = false;
    size_t at = (kr_json_peek(j), j->at);
    for (kr_json_iter it = kr_json_enter(j, '{'); kr_json_member(j, &it, &key);) {
        if (kr_span_is(key, "min"))
            min = kr_json_nano(j, &h->meta.utility_min);
        else if (kr_span_is(key, "max"))
            max = kr_json_nano(j, &h->meta.utility_max);
        else
            kr_json_skip(j, NULL);
    }
    if (!j->failed && !(min && max))
        kr_json_fail(j, at, "\"utility\" needs \"min\" and \"max\"");
}

static void read_kv(kr_json *j, kr_native_header *h) {
    kr_span key;
    if (kr_json_peek(j) == KR_JSON_NULL) {
        kr_json_null(j);
        return;
    }
    struct {
        const char *name;
        int64_t *to;
    } fields[] = {{"layers", &h->meta.kv_layers},
                  {"kv_heads", &h->meta.kv_heads},
                  {"head_dim", &h->meta.kv_head_dim},
                  {"bytes", &h->meta.kv_bytes}};
    for (kr_json_iter it = kr_json_enter(j, '{'); kr_json_member(j, &it, &key);) {
        bool known = false;
        for (size_t i = 0; i < 4 && !known; i++)
            if (kr_span_is(key, fields[i].name)) {
                kr_json_int(j, 1, 1000000, fields[i].to);
                known = true;
            }
        if (!known)
            kr_json_skip(j, NULL);
    }
    h->meta.has_kv = h->meta.kv_layers > 0 && h->meta.kv_heads > 0 && h->meta.kv_head_dim > 0 &&
                     h->meta.kv_bytes > 0;
}

/* true, or a list of methods: the choice among methods was declared beforehand. */
static bool declares_family(kr_json *j, kr_buf *extra, kr_span key) {
    kr_json_type t = kr_json_peek(j);
    size_t at = j->at;
    keep_raw(j, extra, key);
    return !j->failed && (t == KR_JSON_ARRAY || (t == KR_JSON_BOOL && j->text[at] == 't'));
}

static void check_contract(kr_json *j, size_t at, const kr_calib_meta *m) {
    const kr_dec one = {1, 0};
    if (m->tolerance.digits < 0)
        kr_json_fail(j, at, "the declared tolerance is negative, expected 0 or more");
    else if (m->risk.digits <= 0 || kr_dec_cmp(m->risk, one) >= 0)
        kr_json_fail(j, at, "the declared risk target must be above 0 and below 1");
    else if (kr_dec_cmp(m->confidence, kr_dec_make(5, 1)) < 0 ||
             kr_dec_cmp(m->confidence, one) >= 0)
        kr_json_fail(j, at, "the declared confidence must be at least 0.5 and below 1");
}

static void read_contract(kr_json *j, kr_native_header *h) {
    kr_span key;
    kr_buf extra = {0};
    kr_calib_meta *m = &h->meta;
    int found = 0;
    if (kr_json_peek(j) == KR_JSON_NULL) {
        kr_json_null(j);
        return;
    }
    size_t at = j->at;
    for (kr_json_iter it = kr_json_enter(j, '{'); kr_json_member(j, &it, &key);) {
        if (kr_span_is(key, "tolerance"))
            found += kr_json_dec(j, &m->tolerance);
        else if (kr_span_is(key, "risk"))
            found += kr_json_dec(j, &m->risk);
        else if (kr_span_is(key, "confidence"))
            found += kr_json_dec(j, &m->confidence);
        else if (kr_span_is(key, "method"))
            optional_text(j, &h->arena, &m->contract_method);
        else if (kr_span_is(key, "declared"))
            optional_text(j, &h->arena, &m->contract_declared);
        else if (kr_span_is(key, "family"))
            m->contract_family = declares_family(j, &extra, key);
        else
            keep_raw(j, &extra, key);
    }
    m->contract_extra = take_raw(j, &extra, &h->arena);
    if (j->failed)
        return;
    if (found != 3)
        kr_json_fail(j, at, "\"contract\" needs \"tolerance\", \"risk\" and \"confidence\"");
    check_contract(j, at, m);
    m->has_contract = true;
}

static void read_tasks(kr_json *j, kr_native_header *h) {
    size_t cap = 0;
    const char **task = NULL;
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it);) {
        if (h->n_tasks == KR_MAX_TASKS) {
            kr_json_fail(j, j->at, "more than %d tasks, the limit", KR_MAX_TASKS);
            break;
        }
        if (h->n_tasks == cap) {
            cap = cap > 0 ? cap * 2 : 32;
            const char **t = realloc(task, cap * sizeof *t);
            if (t == NULL) {
                kr_json_fail(j, j->at, "out of memory");
                break;
            }
            task = t;
        }
        task[h->n_tasks++] = text(j, &h->arena);
        if (j->failed)
            break;
    }
    h->task = kr_arena_alloc(&h->arena, (h->n_tasks + 1) * sizeof *h->task);
    if (h->task == NULL)
        kr_json_fail(j, j->at, "out of memory");
    else if (h->n_tasks > 0)
        memcpy(h->task, task, h->n_tasks * sizeof *task);
    free(task);
}

static void read_policy(kr_json *j, kr_native_header *h, kr_policy *p) {
    kr_span key;
    kr_buf extra = {0};
    *p = (kr_policy){.events = -1, .test_events = -1};
    size_t at = (kr_json_peek(j), j->at);
    for (kr_json_iter it = kr_json_enter(j, '{'); kr_json_member(j, &it, &key);) {
        if (kr_span_is(key, "method"))
            p->method = text(j, &h->arena);
        else if (kr_span_is(key, "retention"))
            optional_dec(j, &p->has_retention, &p->retention);
        else if (kr_span_is(key, "threshold"))
            optional_dec(j, &p->has_threshold, &p->threshold);
        else if (kr_span_is(key, "mean_retained"))
            optional_dec(j, &p->has_mean, &p->mean_retained);
        else if (kr_span_is(key, "test_mean_retained"))
            optional_dec(j, &p->has_test_mean, &p->test_mean_retained);
        else if (kr_span_is(key, "events") && h->meta.kind == KR_KIND_COUNTS)
            kr_json_int(j, 0, INT64_C(1000000000), &p->events);
        else if (kr_span_is(key, "test_events") && h->meta.kind == KR_KIND_COUNTS)
            kr_json_int(j, 0, INT64_C(1000000000), &p->test_events);
        else
            keep_raw(j, &extra, key);
    }
    p->extra = take_raw(j, &extra, &h->arena);
    if (!j->failed && p->method == NULL)
        kr_json_fail(j, at, "a policy needs a \"method\"");
    if (!j->failed && h->meta.kind == KR_KIND_COUNTS && p->events < 0)
        kr_json_fail(j, at, "a policy of published counts needs \"events\"");
}

static void read_policies(kr_json *j, kr_native_header *h) {
    size_t cap = 0;
    kr_policy *policy = NULL;
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it);) {
        if (h->n_policies == KR_MAX_POLICIES) {
            kr_json_fail(j, j->at, "more than %d policies, the limit", KR_MAX_POLICIES);
            break;
        }
        if (h->n_policies == cap) {
            cap = cap > 0 ? cap * 2 : 64;
            kr_policy *t = realloc(policy, cap * sizeof *t);
            if (t == NULL) {
                kr_json_fail(j, j->at, "out of memory");
                break;
            }
            policy = t;
        }
        read_policy(j, h, &policy[h->n_policies++]);
        if (j->failed)
            break;
    }
    h->policy = kr_arena_alloc(&h->arena, (h->n_policies + 1) * sizeof *h->policy);
    if (h->policy == NULL)
        kr_json_fail(j, j->at, "out of memory");
    else if (h->n_policies > 0)
        memcpy(h->policy, policy, h->n_policies * sizeof *policy);
    free(policy);
}

static void read_sources(kr_json *j, kr_native_header *h) {
    kr_source few[256];
    size_t n = 0;
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it);) {
        kr_source s = {NULL, NULL, NULL};
        kr_span key;
        for (kr_json_iter o = kr_json_enter(j, '{'); kr_json_member(j, &o, &key);) {
            if (kr_span_is(key, "path"))
                optional_text(j, &h->arena, &s.path);
            else if (kr_span_is(key, "sha256"))
                optional_text(j, &h->arena, &s.sha256);
            else if (kr_span_is(key, "role"))
                optional_text(j, &h->arena, &s.role);
            else
                kr_json_skip(j, NULL);
        }
        if (n == sizeof few / sizeof *few) {
            kr_json_fail(j, j->at, "more than 256 sources, the limit");
            return;
        }
        few[n++] = s;
    }
    kr_source *kept = kr_arena_alloc(&h->arena, (n + 1) * sizeof *kept);
    if (kept == NULL) {
        kr_json_fail(j, j->at, "out of memory");
        return;
    }
    memcpy(kept, few, n * sizeof *few);
    h->meta.sources = kept;
    h->meta.n_sources = n;
}

static void read_sequence(kr_json *j, kr_native_header *h) {
    const char *s = NULL;
    size_t at = (kr_json_peek(j), j->at);
    optional_text(j, &h->arena, &s);
    if (j->failed || s == NULL)
        return;
    h->meta.partial = strcmp(s, "partial") == 0;
    if (!h->meta.partial && strcmp(s, "complete") != 0)
        kr_json_fail(j, at, "\"sequence\" is \"%.40s\", expected \"partial\" or \"complete\"", s);
}

static void read_requests(kr_json *j, kr_native_header *h) {
    kr_json_peek(j);
    h->requests = *j;
    h->has_requests = true;
    kr_json_skip(j, NULL);
}

static void read_counts_tolerance(kr_json *j, kr_native_header *h) {
    size_t at = (kr_json_peek(j), j->at);
    if (kr_json_dec(j, &h->meta.counts_tolerance) && h->meta.counts_tolerance.digits < 0)
        kr_json_fail(j, at, "the tolerance is negative, expected 0 or more");
}

static void read_counts_n(kr_json *j, kr_native_header *h) {
    kr_json_int(j, 1, 1000000000, &h->meta.counts_n);
}

static void read_announced(kr_json *j, kr_native_header *h) {
    kr_json_int(j, 1, INT32_MAX, &h->announced);
}

static void read_counts_test_n(kr_json *j, kr_native_header *h) {
    kr_json_int(j, 0, 1000000000, &h->meta.counts_test_n);
}

static void read_counts_tasks(kr_json *j, kr_native_header *h) {
    kr_json_int(j, 1, 1000000, &h->meta.counts_tasks);
}

static void skip_known(kr_json *j, kr_native_header *h) {
    (void)h;
    kr_json_skip(j, NULL);
}

/* --- the header --------------------------------------------------------------------------------- */

enum { CAL = 1, COUNTS = 2, BOTH = 3 };

static const struct {
    const char *key;
    int kinds;    /* where the key has this meaning; elsewhere it is kept as unknown */
    int required; /* kinds that need it */
    void (*read)(kr_json *j, kr_native_header *h);
} keys[] = {
    {"kvrisk", BOTH, BOTH, skip_known},
    {"kind", BOTH, BOTH, skip_known},
    {"utility", CAL, CAL, read_utility},
    {"kv", BOTH, 0, read_kv},
    {"contract", BOTH, 0, read_contract},
    {"tasks", CAL, CAL, read_tasks},
    {"tasks", COUNTS, 0, read_counts_tasks},
    {"policies", BOTH, BOTH, read_policies},
    {"sources", BOTH, 0, read_sources},
    {"requests", CAL, 0, read_requests},
    {"tolerance", COUNTS, COUNTS, read_counts_tolerance},
    {"n", COUNTS, COUNTS, read_counts_n},
    {"n", CAL, 0, read_announced},
    {"test_n", COUNTS, 0, read_counts_test_n},
    {"sequence", COUNTS, 0, read_sequence},
};
#define N_KEYS (sizeof keys / sizeof *keys)

static const char **text_field(kr_native_header *h, kr_span key) {
    const struct {
        const char *key;
        const char **to;
    } fields[] = {{"name", &h->meta.name},           {"model", &h->meta.model},
                  {"benchmark", &h->meta.benchmark}, {"scorer", &h->meta.scorer},
                  {"protocol", &h->meta.protocol},   {"note", &h->meta.note},
                  {"source", &h->meta.source}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (kr_span_is(key, fields[i].key))
            return fields[i].to;
    return NULL;
}

/* Version and kind first, wherever they stand: only then do the other keys mean anything. */
static bool read_kind(kr_json j, kr_native_header *h) {
    kr_span key, value;
    size_t start = (kr_json_peek(&j), j.at);
    bool version = false, kind = false;
    for (kr_json_iter it = kr_json_enter(&j, '{'); kr_json_member(&j, &it, &key);) {
        kr_json_peek(&j);
        size_t at = j.at;
        if (!kr_json_skip(&j, &value))
            break;
        if (kr_span_is(key, "kvrisk")) {
            version = true;
            if (!kr_span_is(value, "1"))
                return kr_json_fail(&j, at, "format version %.*s, expected 1",
                                    (int)(value.len < 40 ? value.len : 40), value.s);
        } else if (kr_span_is(key, "kind")) {
            kind = true;
            h->meta.kind = kr_span_is(value, "\"counts\"") ? KR_KIND_COUNTS : KR_KIND_CALIBRATION;
            if (h->meta.kind == KR_KIND_CALIBRATION && !kr_span_is(value, "\"calibration\""))
                return kr_json_fail(&j, at, "kind is %.*s, expected \"calibration\" or \"counts\"",
                                    (int)(value.len < 40 ? value.len : 40), value.s);
        }
    }
    if (j.failed)
        return false;
    if (!version)
        return kr_json_fail(&j, start, "no \"kvrisk\" key: not a kvrisk file (kvrisk import reads "
                                       "other formats)");
    return kind || kr_json_fail(&j, start, "the header needs \"kind\"");
}

static bool check_counts(kr_json *j, size_t at, const kr_native_header *h) {
    const kr_calib_meta *m = &h->meta;
    for (size_t i = 0; i < h->n_policies && m->kind == KR_KIND_COUNTS; i++) {
        const kr_policy *p = &h->policy[i];
        if (p->events > m->counts_n)
            return kr_json_fail(j, at, "policy %zu has %lld events among %lld requests", i,
                                (long long)p->events, (long long)m->counts_n);
        if (p->test_events > m->counts_test_n)
            return kr_json_fail(j, at, "policy %zu has %lld test events among %lld test requests", i,
                                (long long)p->test_events, (long long)m->counts_test_n);
    }
    return true;
}

static void read_member(kr_json *j, kr_native_header *h, kr_span key, kr_buf *extra,
                        bool seen[N_KEYS]) {
    int kind = h->meta.kind == KR_KIND_COUNTS ? COUNTS : CAL;
    const char **field = text_field(h, key);
    if (field != NULL) {
        optional_text(j, &h->arena, field);
        return;
    }
    for (size_t i = 0; i < N_KEYS; i++)
        if ((keys[i].kinds & kind) != 0 && kr_span_is(key, keys[i].key)) {
            seen[i] = true;
            keys[i].read(j, h);
            return;
        }
    keep_raw(j, extra, key);
}

bool kr_native_read_header(kr_json *j, kr_native_header *h) {
    kr_span key;
    kr_buf extra = {0};
    bool seen[N_KEYS] = {false};
    size_t at = (kr_json_peek(j), j->at);
    if (!read_kind(*j, h)) {
        j->failed = true;
        return false;
    }
    int kind = h->meta.kind == KR_KIND_COUNTS ? COUNTS : CAL;
    for (kr_json_iter it = kr_json_enter(j, '{'); kr_json_member(j, &it, &key);)
        read_member(j, h, key, &extra, seen);
    h->meta.extra = take_raw(j, &extra, &h->arena);
    for (size_t i = 0; i < N_KEYS && !j->failed; i++)
        if ((keys[i].required & kind) != 0 && !seen[i])
            return kr_json_fail(j, at, "the header needs \"%s\"", keys[i].key);
    return !j->failed && check_counts(j, at, h);
}
