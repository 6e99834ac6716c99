/* verify.c - whether an exported certificate is what the ledger and the file give. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "ledger/certificate.h"
#include "risk/binomial.h"
#include "risk/pvalue.h"

#define CERTIFICATE_MAX ((size_t)16 << 20)

/* --- the document ------------------------------------------------------------------------------- */

kr_status kr_certificate_parse(const char *text, size_t len, const char *name, cJSON **out, kr_error *err) {
    kr_json j = kr_json_open(text, len, name, 1, err);
    bool object = kr_json_peek(&j) == KR_JSON_OBJECT;
    if (!object)
        kr_json_fail(&j, j.at, "expected a certificate, a JSON object");
    if (kr_json_skip(&j, NULL) && kr_json_peek(&j) != KR_JSON_END)
        kr_json_fail(&j, j.at, "text after the object, expected the end of the file");
    if (j.failed)
        return KR_EFORMAT;
    *out = cJSON_ParseWithLength(text, len);
    return *out != NULL ? KR_OK : kr_fail(err, KR_EFORMAT, "%s: not a certificate that can be read", name);
}

/* By a path of names, "ledger.entry"; NULL where there is none. */
static const cJSON *member(const cJSON *doc, const char *path) {
    char name[32];
    while (doc != NULL && *path != '\0') {
        size_t n = strcspn(path, ".");
        if (n >= sizeof name)
            return NULL;
        memcpy(name, path, n);
        name[n] = '\0';
        doc = cJSON_GetObjectItemCaseSensitive(doc, name);
        path += n + (path[n] == '.');
    }
    return doc;
}

/* A whole number in 0..9e15; -1 for anything else. */
static int64_t whole(const cJSON *item) {
    double v = cJSON_IsNumber(item) ? item->valuedouble : -1;
    return v >= 0 && v <= 9e15 && v == floor(v) ? (int64_t)v : -1;
}

static bool is_text(const cJSON *item, const char *text) {
    return cJSON_IsString(item) && strcmp(item->valuestring, text) == 0;
}

/* --- comparing ---------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    bool grown; /* the file has more requests than it had */
    kr_buf path;
    kr_error *err;
} comparison;

/* A value as it is shown in a message; caller frees. */
static char *shown(const cJSON *item) {
    char *s = item != NULL ? cJSON_PrintUnformatted(item) : NULL;
    if (s != NULL && strlen(s) > 90)
        memcpy(s + 87, "...", 4);
    return s;
}

static bool differs(comparison *x, const cJSON *theirs, const cJSON *ours) {
    char *a = shown(theirs), *b = shown(ours);
    const char *path = kr_buf_text(&x->path);
    if (theirs == NULL)
        kr_fail(x->err, KR_EFORMAT, "%s: %s is missing, the ledger and the file give %s", x->name, path,
                b != NULL ? b : "another");
    else if (ours == NULL)
        kr_fail(x->err, KR_EFORMAT, "%s: %s is %s, the ledger and the file give no such member", x->name,
                path, a != NULL ? a : "there");
    else
        kr_fail(x->err, KR_EFORMAT, "%s: %s is %s, the ledger and the file give %s", x->name, path,
                a != NULL ? a : "another", b != NULL ? b : "another");
    cJSON_free(a);
    cJSON_free(b);
    return false;
}

/* What need not be the same: it says nothing about the claim. */
static bool may_differ(const comparison *x) {
    static const char *const free_members[] = {"input", "kvrisk_version", "ledger.rerun"};
    const char *path = kr_buf_text(&x->path);
    for (size_t i = 0; i < sizeof free_members / sizeof *free_members; i++)
        if (strcmp(path, free_members[i]) == 0)
            return true;
    /* The mean over all rows of the file, also those that came later, is not an outcome. */
    const char *last = strrchr(path, '.');
    return x->grown && (strcmp(path, "input_sha256") == 0 ||
                        (last != NULL && strcmp(last, ".mean_retained") == 0));
}

static bool same(comparison *x, const cJSON *theirs, const cJSON *ours);

/* One step down, whatever comes of it. */
static bool same_below(comparison *x, const char *name, size_t index, const cJSON *theirs,
                       const cJSON *ours) {
    size_t len = x->path.len;
    if (name == NULL)
        kr_buf_printf(&x->path, "[%zu]", index);
    else
        kr_buf_printf(&x->path, "%s%s", len > 0 ? "." : "", name);
    bool ok = theirs != NULL && ours != NULL ? same(x, theirs, ours) : differs(x, theirs, ours);
    x->path.len = len;
    if (x->path.s != NULL)
        x->path.s[len] = '\0';
    return ok;
}

static bool same_object(comparison *x, const cJSON *theirs, const cJSON *ours) {
    const cJSON *m;
    cJSON_ArrayForEach(m, ours)
        if (!same_below(x, m->string, 0, cJSON_GetObjectItemCaseSensitive(theirs, m->string), m))
            return false;
    cJSON_ArrayForEach(m, theirs)
        if (cJSON_GetObjectItemCaseSensitive(ours, m->string) == NULL)
            return same_below(x, m->string, 0, m, NULL);
    return true;
}

static bool same_array(comparison *x, const cJSON *theirs, const cJSON *ours) {
    const cJSON *a = theirs->child, *b = ours->child;
    for (size_t i = 0; a != NULL || b != NULL; i++) {
        if (!same_below(x, NULL, i, a, b))
            return false;
        a = a != NULL ? a->next : NULL;
        b = b != NULL ? b->next : NULL;
    }
    return true;
}

/* Computed values may differ in their last digits from one mathematical library to another. */
static bool same_number(double a, double b) {
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

static bool same(comparison *x, const cJSON *theirs, const cJSON *ours) {
    int kind = ours->type & 0xff;
    if ((theirs->type & 0xff) != kind && !(cJSON_IsBool(theirs) && cJSON_IsBool(ours) && may_differ(x)))
        return differs(x, theirs, ours);
    if (may_differ(x))
        return true;
    if (kind == cJSON_Object)
        return same_object(x, theirs, ours);
    if (kind == cJSON_Array)
        return same_array(x, theirs, ours);
    bool equal = kind == cJSON_String   ? strcmp(theirs->valuestring, ours->valuestring) == 0
                 : kind == cJSON_Number ? same_number(theirs->valuedouble, ours->valuedouble)
                                        : true;
    return equal || differs(x, theirs, ours);
}

/* --- counts ------------------------------------------------------------------------------------- */

static kr_status wrong(const char *name, const char *what, size_t index, kr_error *err) {
    return kr_fail(err, KR_EFORMAT, "%s: %s[%zu] does not follow from its count", name, what, index);
}

/* The walk of a row of counts: how many pass before the first that does not. */
static int64_t passes(const int64_t *events, int64_t m, int64_t n, kr_dec risk, double level) {
    int64_t j = 0;
    while (j < m && kr_p_decide(kr_p_value(events[j], n, risk), level) == KR_REJECT_YES)
        j++;
    return j;
}

static int64_t read_counts(const cJSON *list, const char *key, int64_t *events, int64_t cap) {
    const cJSON *item;
    int64_t m = 0;
    cJSON_ArrayForEach(item, list) {
        const cJSON *count = key != NULL ? cJSON_GetObjectItemCaseSensitive(item, key) : item;
        if (m == cap || (events[m++] = whole(count)) < 0)
            return -1;
    }
    return m;
}

static kr_status recount_candidates(const cJSON *doc, const char *name, int64_t n, kr_dec risk,
                                    int64_t *events, kr_error *err) {
    const cJSON *point = member(doc, "point"), *list = member(point, "candidates"), *item;
    double level = cJSON_GetNumberValue(member(point, "level"));
    int64_t m = read_counts(list, "events", events, KR_MAX_POLICIES), at = 0;
    bool refused = is_text(member(point, "status"), "refused");
    if (m < 0 || !(level > 0 && level < 1))
        return kr_fail(err, KR_EFORMAT, "%s: point has no level, or candidates without counts", name);
    int64_t passed = refused ? 0 : passes(events, m, n, risk, level);
    cJSON_ArrayForEach(item, list) {
        double p = cJSON_GetNumberValue(member(item, "p_value")), q = kr_p_value(events[at], n, risk);
        bool pass = is_text(member(item, "verdict"), "pass");
        if (!same_number(p, q) || events[at] > n || (!refused && pass != (at < passed)))
            return wrong(name, "point.candidates", (size_t)at, err);
        at++;
    }
    const cJSON *chosen = passed > 0 ? cJSON_GetArrayItem(list, (int)passed - 1) : NULL;
    bool ok = passed == 0 ? is_text(member(point, "decision"), "fallback")
                          : is_text(member(point, "decision"), "certified") &&
                                whole(member(point, "events")) == events[passed - 1] &&
                                cJSON_Compare(member(point, "retention"), member(chosen, "retention"), true) &&
                                cJSON_Compare(member(point, "threshold"), member(chosen, "threshold"), true);
    return ok ? KR_OK : kr_fail(err, KR_EFORMAT, "%s: point.decision does not follow from its counts", name);
}

static kr_status recount_table(const cJSON *doc, const char *name, int64_t n, kr_dec risk,
                               int64_t *events, kr_error *err) {
    const cJSON *cell;
    size_t at = 0;
    bool refused = is_text(member(doc, "point.status"), "refused");
    cJSON_ArrayForEach(cell, member(doc, "table")) {
        double level = cJSON_GetNumberValue(member(cell, "level"));
        int64_t m = read_counts(member(cell, "events"), NULL, events, KR_MAX_POLICIES);
        int64_t passed = refused ? 0 : m < 0 ? -1 : passes(events, m, n, risk, level);
        if (passed < 0 || whole(member(cell, "certified")) != passed ||
            !is_text(member(cell, "decision"), passed > 0 ? "certified" : "fallback"))
            return wrong(name, "table", at, err);
        at++;
    }
    return KR_OK;
}

kr_status kr_certificate_recount(const cJSON *doc, const char *name, kr_error *err) {
    const cJSON *risk_item = member(doc, "contract.risk");
    kr_dec risk = kr_dec_from_double(cJSON_IsNumber(risk_item) ? risk_item->valuedouble : 0, 15);
    int64_t n = whole(member(doc, "n"));
    if (n < 1 || n > KR_BINOM_N_MAX || risk.digits <= 0 || kr_dec_cmp(risk, kr_dec_make(1, 0)) >= 0)
        return kr_fail(err, KR_EFORMAT, "%s: no contract, or no number of requests", name);
    int64_t *events = calloc(KR_MAX_POLICIES, sizeof *events);
    kr_status st = events == NULL ? kr_fail(err, KR_ENOMEM, "out of memory")
                                  : recount_candidates(doc, name, n, risk, events, err);
    if (st == KR_OK)
        st = recount_table(doc, name, n, risk, events, err);
    free(events);
    return st;
}

/* --- verifying ---------------------------------------------------------------------------------- */

/* The entries that a certificate rests on are those of this ledger. */
static kr_status find_entry(const kr_study *s, const cJSON *doc, const char *name, int64_t *entries,
                            int64_t *number, kr_error *err) {
    const cJSON *head = member(doc, "ledger.head");
    *entries = whole(member(doc, "ledger.entries"));
    *number = whole(member(doc, "ledger.entry"));
    if (!cJSON_IsString(head) || *entries < 1 || *number < 1)
        return kr_fail(err, KR_EFORMAT, "%s was not made by kvrisk confirm", name);
    if (*entries > (int64_t)s->ledger.n ||
        strcmp(s->ledger.entry[*entries - 1].hash, head->valuestring) != 0)
        return kr_fail(err, KR_EFORMAT, "%s rests on entry %lld of a ledger, which is not the one in %s: the "
                                        "ledger was cut short, edited or exchanged", name,
                       (long long)*entries, s->path);
    return KR_OK;
}

static kr_status compare_with(const kr_study *s, const cJSON *doc, const char *name, kr_confirmation *c,
                              kr_error *err) {
    kr_buf text = {0};
    cJSON *ours = NULL;
    comparison x = {.name = name, .err = err,
                    .grown = kr_calib_rows(s->calib) > (size_t)c->entry.file_rows};
    kr_confirmation_json(c, &text);
    kr_status st = text.failed ? kr_fail(err, KR_ENOMEM, "out of memory")
                               : kr_certificate_parse(text.s, text.len, "the certificate", &ours, err);
    if (st == KR_OK && !same(&x, doc, ours))
        st = KR_EFORMAT;
    if (st == KR_OK)
        st = kr_certificate_recount(doc, name, err);
    cJSON_Delete(ours);
    kr_buf_free(&x.path);
    kr_buf_free(&text);
    return st;
}

kr_status kr_study_verify(const kr_study *s, const char *certificate, int64_t *entry, kr_error *err) {
    char *text = NULL;
    size_t len = 0;
    cJSON *doc = NULL;
    kr_confirmation *c = NULL;
    int64_t entries, number;
    kr_status st = kr_file_read(certificate, CERTIFICATE_MAX, &text, &len, err);
    if (st == KR_OK)
        st = kr_certificate_parse(text, len, certificate, &doc, err);
    if (st == KR_OK)
        st = find_entry(s, doc, certificate, &entries, &number, err);
    if (st == KR_OK)
        st = kr_study_repeat(s, entries, number, &c, err);
    if (st == KR_OK)
        st = compare_with(s, doc, certificate, c, err);
    if (st == KR_OK && entry != NULL)
        *entry = number;
    kr_confirmation_free(c);
    cJSON_Delete(doc);
    free(text);
    return st;
}
