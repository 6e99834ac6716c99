#include "verdict/declared.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static const char *const mode_names[KR_MODES] = {
    "events",     "tolerances",      "risks",        "map",         "confidence", "mixture",
    "subsample",  "worst_task",      "cluster_one",  "cluster_mean", "cluster_max", "mean_drop"};

const char *kr_mode_name(kr_mode_kind k) {
    return (unsigned)k < KR_MODES ? mode_names[k] : "?";
}

bool kr_mode_find(const char *name, size_t len, kr_mode_kind *out) {
    for (int i = 0; i < KR_MODES; i++)
        if (strlen(mode_names[i]) == len && memcmp(mode_names[i], name, len) == 0) {
            *out = (kr_mode_kind)i;
            return true;
        }
    return false;
}

static const struct {
    const char *name;
    kr_mean_kind kind;
} means[] = {{"wsr", KR_MEAN_WSR_ROUNDS}, {"hb", KR_MEAN_HB}, {"bernstein", KR_MEAN_BERNSTEIN}};

const char *kr_mean_name(kr_mean_kind k) {
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        if (means[i].kind == k)
            return means[i].name;
    return "?";
}

bool kr_mean_find(const char *name, size_t len, kr_mean_kind *out) {
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        if (strlen(means[i].name) == len && memcmp(means[i].name, name, len) == 0) {
            *out = means[i].kind;
            return true;
        }
    return false;
}

/* --- weights ------------------------------------------------------------------------------------ */

/* Decimals to whole numbers of one common unit; false where they do not fit. */
static bool to_units(size_t n, const kr_dec *w, int64_t *unit, int64_t *sum) {
    int scale = 0;
    for (size_t i = 0; i < n; i++)
        scale = w[i].scale > scale ? w[i].scale : scale;
    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t v = w[i].digits;
        for (int k = w[i].scale; k < scale; k++) {
            if (v > INT64_MAX / 1000)
                return false;
            v *= 10;
        }
        if (v > INT64_MAX / 1000 - *sum)
            return false;
        unit[i] = v;
        *sum += v;
    }
    return true;
}

static kr_status to_shares(size_t n, const kr_dec *w, kr_ratio **out, kr_error *err) {
    int64_t *unit = malloc(n * sizeof *unit), sum = 0;
    kr_ratio *r = malloc(n * sizeof *r);
    kr_status st = KR_OK;
    if (unit == NULL || r == NULL)
        st = kr_fail(err, KR_ENOMEM, "out of memory");
    else if (!to_units(n, w, unit, &sum))
        st = kr_fail(err, KR_EINVAL, "the weights of the tasks are too large or too long");
    else if (sum == 0)
        st = kr_fail(err, KR_EINVAL, "the weights of the tasks are all 0");
    for (size_t i = 0; st == KR_OK && i < n; i++)
        r[i] = kr_ratio_make(unit[i], sum);
    free(unit);
    if (st == KR_OK)
        *out = r;
    else
        free(r);
    return st;
}

static kr_status set_weight(const kr_calib *c, kr_span name, kr_dec w, kr_dec *weight, bool *seen,
                            kr_error *err) {
    size_t tasks = kr_calib_tasks(c), t = 0;
    while (t < tasks && !kr_span_is(name, kr_calib_task(c, t)))
        t++;
    if (t == tasks)
        return kr_fail(err, KR_EINVAL, "no task '%.*s' in this file", (int)(name.len < 80 ? name.len : 80), name.s);
    if (seen[t])
        return kr_fail(err, KR_EINVAL, "task '%s' has two weights", kr_calib_task(c, t));
    if (w.digits < 0)
        return kr_fail(err, KR_EINVAL, "the weight of task '%s' is negative", kr_calib_task(c, t));
    seen[t] = true;
    weight[t] = w;
    return KR_OK;
}

typedef struct {
    kr_dec *weight;
    bool *seen;
} weights;

static kr_status weights_new(const kr_calib *c, weights *w, kr_error *err) {
    size_t tasks = kr_calib_tasks(c);
    if (tasks == 0)
        return kr_fail(err, KR_EINVAL, "published counts have no tasks to weigh");
    w->weight = calloc(tasks, sizeof *w->weight);
    w->seen = calloc(tasks, sizeof *w->seen);
    return w->weight != NULL && w->seen != NULL ? KR_OK : kr_fail(err, KR_ENOMEM, "out of memory");
}

kr_status kr_weights_parse(const kr_calib *c, const char *text, kr_ratio **out, kr_error *err) {
    weights w = {NULL, NULL};
    kr_status st = weights_new(c, &w, err);
    for (const char *p = text; st == KR_OK;) {
        size_t len = strcspn(p, ","), name = 0;
        for (size_t i = 0; i < len; i++)
            if (p[i] == '=')
                name = i + 1; /* the last one: names may have one as well */
        kr_dec v;
        if (name == 0) {
            st = kr_fail(err, KR_EINVAL, "'%.60s' has no TASK=WEIGHT", p);
            break;
        }
        st = kr_dec_parse(p + name, len - name, &v, err);
        if (st == KR_OK)
            st = set_weight(c, (kr_span){p, name - 1}, v, w.weight, w.seen, err);
        if (p[len] == '\0')
            break;
        p += len + 1;
    }
    if (st == KR_OK)
        st = to_shares(kr_calib_tasks(c), w.weight, out, err);
    free(w.weight);
    free(w.seen);
    return st;
}

/* --- the contract's keys ------------------------------------------------------------------------ */

typedef struct {
    const kr_calib *c;
    kr_declared *d;
    kr_error *err;
    bool bad; /* a sentence of ours is in *err */
} reader;

static void read_list(kr_json *j, kr_dec *out, size_t *n) {
    *n = 0;
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it);) {
        if (*n == KR_EXPLORE_MAX) {
            kr_json_fail(j, j->at, "more than %d grid points, the limit", KR_EXPLORE_MAX);
            return;
        }
        if (kr_json_dec(j, &out[*n]))
            ++*n;
    }
}

static void read_flag(kr_json *j, bool *out) {
    kr_span text = {"", 0};
    if (kr_json_peek(j) != KR_JSON_BOOL)
        kr_json_fail(j, j->at, "expected true or false");
    else if (kr_json_skip(j, &text))
        *out = kr_span_is(text, "true");
}

static void read_explore(kr_json *j, reader *r) {
    kr_span key;
    bool delta = false;
    size_t at = j->at;
    for (kr_json_iter it = kr_json_enter(j, '{'); kr_json_member(j, &it, &key);) {
        if (kr_span_is(key, "delta"))
            delta = kr_json_dec(j, &r->d->explore_delta);
        else if (kr_span_is(key, "tolerances"))
            read_list(j, r->d->tolerance, &r->d->n_tolerances);
        else if (kr_span_is(key, "risks"))
            read_list(j, r->d->risk, &r->d->n_risks);
        else if (kr_span_is(key, "confidence"))
            read_flag(j, &r->d->any_confidence);
        else
            kr_json_skip(j, NULL);
    }
    kr_dec half = kr_dec_make(5, 1);
    if (!j->failed && (!delta || r->d->explore_delta.digits <= 0 ||
                       kr_dec_cmp(r->d->explore_delta, half) > 0))
        kr_json_fail(j, at, "\"explore\" needs a \"delta\" above 0 and at most 0.5");
    r->d->explore = !j->failed;
}

/* A list names the methods whose choice was declared; true stands for all of the file. */
static void read_family(kr_json *j, reader *r) {
    if (kr_json_peek(j) != KR_JSON_ARRAY) {
        kr_json_skip(j, NULL);
        return;
    }
    size_t at = j->at, named = 0;
    r->d->member = calloc(kr_calib_methods(r->c) + 1, sizeof *r->d->member);
    r->bad = r->d->member == NULL;
    if (r->bad)
        kr_fail(r->err, KR_ENOMEM, "out of memory");
    for (kr_json_iter it = kr_json_enter(j, '['); !r->bad && kr_json_element(j, &it); named++) {
        char *name = kr_json_string_copy(j);
        int m = name != NULL ? kr_calib_find_method(r->c, name) : -1;
        if (name != NULL && m < 0)
            kr_json_fail(j, at, "\"family\" names '%.80s', which this file does not have", name);
        if (m >= 0)
            r->d->member[m] = true;
        free(name);
    }
    if (!r->bad && !j->failed && named == 0)
        kr_json_fail(j, at, "\"family\" is an empty list of methods");
}

static void read_weights(kr_json *j, reader *r) {
    weights w = {NULL, NULL};
    kr_span key;
    kr_status st = weights_new(r->c, &w, r->err);
    if (st != KR_OK) {
        r->bad = true;
        kr_json_skip(j, NULL);
    }
    for (kr_json_iter it = kr_json_enter(j, '{'); st == KR_OK && kr_json_member(j, &it, &key);) {
        kr_dec v;
        if (kr_json_dec(j, &v) && st == KR_OK)
            st = set_weight(r->c, key, v, w.weight, w.seen, r->err);
    }
    if (st == KR_OK && !j->failed)
        st = to_shares(kr_calib_tasks(r->c), w.weight, &r->d->weight, r->err);
    r->bad = r->bad || st != KR_OK;
    free(w.weight);
    free(w.seen);
}

static void read_name(kr_json *j, reader *r, bool mode) {
    kr_span raw;
    bool escaped;
    size_t at = j->at;
    if (!kr_json_string(j, &raw, &escaped))
        return;
    if (mode ? !kr_mode_find(raw.s, raw.len, &r->d->mode)
             : !kr_mean_find(raw.s, raw.len, &r->d->mean))
        kr_json_fail(j, at, mode ? "unknown \"mode\", expected events, mixture, subsample, worst_task, "
                                   "cluster_one, cluster_mean, cluster_max or mean_drop"
                                 : "unknown \"mean\", expected wsr, hb or bernstein");
}

static void read_members(kr_json *j, reader *r) {
    kr_span key;
    for (kr_json_iter it = kr_json_enter(j, '{'); !r->bad && kr_json_member(j, &it, &key);) {
        int64_t seed;
        if (kr_span_is(key, "explore"))
            read_explore(j, r);
        else if (kr_span_is(key, "family"))
            read_family(j, r);
        else if (kr_span_is(key, "weights"))
            read_weights(j, r);
        else if (kr_span_is(key, "mode"))
            read_name(j, r, true);
        else if (kr_span_is(key, "mean"))
            read_name(j, r, false);
        else if (kr_span_is(key, "seed") && kr_json_int(j, 0, INT64_MAX, &seed))
            r->d->has_seed = true, r->d->seed = (uint64_t)seed;
        else
            kr_json_skip(j, NULL);
    }
}

/* The two error levels add: together they must leave the claims likelier right than wrong. */
static kr_status check_explore(const kr_declared *d, const kr_calib_meta *m, kr_error *err) {
    kr_dec one = kr_dec_make(1, 0), zero = kr_dec_make(0, 0), delta, sum;
    if (!d->explore)
        return KR_OK;
    if (!kr_dec_sub(one, m->confidence, &delta) || !kr_dec_add(delta, d->explore_delta, &sum) ||
        kr_dec_cmp(sum, kr_dec_make(5, 1)) > 0)
        return kr_fail(err, KR_EFORMAT, "the error levels of the contract and of \"explore\" add up to more "
                                        "than 0.5");
    for (size_t i = 0; i < d->n_tolerances; i++)
        if (kr_dec_cmp(d->tolerance[i], zero) < 0)
            return kr_fail(err, KR_EFORMAT, "\"explore\" has a negative tolerance");
    for (size_t i = 0; i < d->n_risks; i++)
        if (kr_dec_cmp(d->risk[i], zero) <= 0 || kr_dec_cmp(d->risk[i], one) >= 0)
            return kr_fail(err, KR_EFORMAT, "\"explore\" has a risk target outside 0 to 1");
    return KR_OK;
}

static kr_status check(const kr_declared *d, const kr_calib_meta *m, kr_error *err) {
    bool needs_weights = d->mode == KR_MODE_MIXTURE || d->mode == KR_MODE_SUBSAMPLE;
    bool needs_seed = d->mode == KR_MODE_SUBSAMPLE || d->mode == KR_MODE_CLUSTER_ONE;
    if (needs_weights && d->weight == NULL)
        return kr_fail(err, KR_EFORMAT, "the contract declares \"mode\":\"%s\" without \"weights\"",
                       kr_mode_name(d->mode));
    if (needs_seed && !d->has_seed)
        return kr_fail(err, KR_EFORMAT, "the contract declares \"mode\":\"%s\" without a \"seed\"",
                       kr_mode_name(d->mode));
    if (d->mode >= KR_MODE_TOLERANCES && d->mode <= KR_MODE_CONFIDENCE)
        return kr_fail(err, KR_EFORMAT, "\"mode\":\"%s\" is declared by \"explore\"",
                       kr_mode_name(d->mode));
    return check_explore(d, m, err);
}

kr_status kr_declared_read(const kr_calib *c, kr_declared *out, kr_error *err) {
    const kr_calib_meta *m = kr_calib_meta_of(c);
    kr_error mine = {0};
    kr_declared d = {.mean = KR_MEAN_WSR_ROUNDS};
    kr_buf text = {0};
    if (m->contract_extra == NULL) {
        *out = d;
        return KR_OK;
    }
    kr_buf_printf(&text, "{%s}", m->contract_extra);
    kr_json j = kr_json_open(kr_buf_text(&text), text.len, "contract", 1, &mine);
    reader r = {c, &d, &mine, false};
    read_members(&j, &r);
    kr_status st = text.failed           ? kr_fail(err, KR_ENOMEM, "out of memory")
                   : j.failed || r.bad ? kr_fail(err, KR_EFORMAT, "%s: contract: %s",
                                                 kr_calib_path(c), mine.msg)
                                         : check(&d, m, err);
    kr_buf_free(&text);
    if (st == KR_OK)
        *out = d;
    else
        kr_declared_free(&d);
    return st;
}

void kr_declared_free(kr_declared *d) {
    free(d->member);
    d->member = NULL;
    free(d->weight);
    d->weight = NULL;
}
