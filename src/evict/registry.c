/* registry.c - the list of policies, their presets, and their spelling on the command line. */
#include "evict/parts.h"

#include <string.h>

static const kr_evictor *const policies[] = {
    &kr_evictor_full,       &kr_evictor_snapkv,          &kr_evictor_adakv,
    &kr_evictor_defensivekv, &kr_evictor_layer_defensivekv, &kr_evictor_refreekv,
    &kr_evictor_streaming,  &kr_evictor_h2o,             &kr_evictor_tova,
    &kr_evictor_knorm,      &kr_evictor_keydiff,         &kr_evictor_pyramidkv,
    &kr_evictor_criticalkv, &kr_evictor_criticaladakv,   &kr_evictor_expected,
    &kr_evictor_random,     NULL,
};

static const kr_evict_preset presets[] = {
    {"fork", "as the DefensiveKV repository evaluates", "query_agnostic",
     "window=32,kernel=5,pool=avg,reduce=mean"},
    {"kvpress", "as kvpress evaluates: a window of 64", "query_agnostic",
     "window=64,kernel=5,pool=avg,reduce=mean"},
    {"snap-orig", "as SnapKV's LongBench runs; levels are best given in tokens", "query_aware",
     "window=32,kernel=7,pool=max,order=reduce_first"},
    {"kvf", "as KVCache-Factory runs", "query_aware",
     "window=8,kernel=7,pool=max,order=reduce_first,round=even"},
    {"refree", "as the ReFreeKV paper: two full layers, norm without sinks", NULL,
     "sinks=4,full_layers=2,norm=ref"},
    {NULL, NULL, NULL, NULL},
};

const kr_evictor *const *kr_evictors(void) {
    return policies;
}

const kr_evictor *kr_evictor_find(const char *name) {
    for (const kr_evictor *const *p = policies; *p != NULL; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}

const kr_evict_preset *kr_evict_presets(void) {
    return presets;
}

const kr_evict_preset *kr_evict_preset_find(const char *name) {
    for (const kr_evict_preset *p = presets; p->name != NULL; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

int64_t kr_param_int(const kr_params *p, size_t i) {
    return p->v[i].digits;
}

double kr_param_real(const kr_params *p, size_t i) {
    return kr_dec_double(p->v[i]);
}

size_t kr_evict_n(const kr_evict_input *in) {
    return kr_kv_at(in->kv, 0, 0)->len;
}

/* ---- reading ---- */

typedef struct {
    const char *s;
    size_t len;
} piece;

static bool is(piece p, const char *word) {
    return p.len == strlen(word) && memcmp(p.s, word, p.len) == 0;
}

static int shown(piece p) {
    return p.len < 60 ? (int)p.len : 60;
}

/* Cuts off what comes before `sep`, or all of it. */
static piece cut(const char **at, char sep) {
    const char *end = strchr(*at, sep);
    piece p = {*at, end != NULL ? (size_t)(end - *at) : strlen(*at)};
    *at += p.len + (end != NULL);
    return p;
}

static kr_status unknown_param(const kr_evictor *p, piece name, kr_error *err) {
    kr_buf b = {0};
    for (size_t i = 0; i < p->n_params; i++)
        kr_buf_printf(&b, "%s%s", i > 0 ? ", " : "", p->params[i].name);
    kr_status st = kr_fail(err, KR_EINVAL, "%s has no parameter '%.*s'; it has %s", p->name,
                           shown(name), name.s, p->n_params > 0 ? kr_buf_text(&b) : "none");
    kr_buf_free(&b);
    return st;
}

static kr_status bad_value(const kr_evictor *p, const kr_param *q, piece v, kr_error *err) {
    kr_buf b = {0};
    char lo[KR_DEC_TEXT], hi[KR_DEC_TEXT];
    if (q->kind == KR_PARAM_CHOICE)
        for (size_t i = 0; q->choices[i] != NULL; i++)
            kr_buf_printf(&b, "%s%s", i > 0 ? ", " : "", q->choices[i]);
    else
        kr_buf_printf(&b, "%s %s to %s", q->kind == KR_PARAM_INT ? "an integer" : "a decimal",
                      kr_dec_text(q->min, lo), kr_dec_text(q->max, hi));
    kr_status st = kr_fail(err, KR_EINVAL, "%s: %s is '%.*s', expected %s", p->name, q->name,
                           shown(v), v.s, kr_buf_text(&b));
    kr_buf_free(&b);
    return st;
}

static bool read_value(const kr_param *q, piece v, kr_dec *out) {
    if (q->kind == KR_PARAM_CHOICE) {
        for (int64_t i = 0; q->choices[i] != NULL; i++)
            if (is(v, q->choices[i])) {
                *out = kr_dec_make(i, 0);
                return true;
            }
        return false;
    }
    kr_dec d;
    if (kr_dec_parse(v.s, v.len, &d, NULL) != KR_OK || kr_dec_cmp(d, q->min) < 0 ||
        kr_dec_cmp(d, q->max) > 0 || (q->kind == KR_PARAM_INT && d.scale != 0))
        return false;
    if (strcmp(q->name, "kernel") == 0 && d.digits % 2 == 0)
        return false; /* an even one has no middle */
    *out = d;
    return true;
}

/* "name=value,..."; a preset's unknown names are passed over, the user's are errors. */
static kr_status read_params(const kr_evictor *p, const char *text, bool lenient, kr_params *out,
                             kr_error *err) {
    while (*text != '\0') {
        piece pair = cut(&text, ','), name = pair, value;
        const char *eq = memchr(pair.s, '=', pair.len);
        if (eq == NULL)
            return kr_fail(err, KR_EINVAL, "%s: '%.*s' is no name=value", p->name, shown(pair),
                           pair.s);
        name.len = (size_t)(eq - pair.s);
        value = (piece){eq + 1, pair.len - name.len - 1};
        size_t i = 0;
        while (i < p->n_params && !is(name, p->params[i].name))
            i++;
        if (i == p->n_params && lenient)
            continue;
        if (i == p->n_params)
            return unknown_param(p, name, err);
        if (!read_value(&p->params[i], value, &out->v[i])) {
            if (lenient)
                continue;
            return bad_value(p, &p->params[i], value, err);
        }
    }
    return KR_OK;
}

static kr_status read_level(const kr_evictor *p, piece v, kr_evict_level *out, kr_error *err) {
    kr_dec d;
    bool tokens = v.len > 1 && v.s[v.len - 1] == 't', percent = v.len > 1 && v.s[v.len - 1] == '%';
    char text[64];
    bool ok = v.len < sizeof text;
    if (ok) {
        memcpy(text, v.s, v.len);
        text[v.len - (tokens ? 1 : 0)] = '\0';
        ok = (percent ? kr_dec_parse_percent(text, &d, NULL)
                      : kr_dec_parse(text, strlen(text), &d, NULL)) == KR_OK;
    }
    if (!ok)
        return kr_fail(err, KR_EINVAL, "%s: the level is '%.*s', expected %s", p->name, shown(v),
                       v.s, p->threshold ? "a threshold such as 0.01"
                                         : "a retention such as 0.5 or 50%, or tokens as in 512t");
    if (tokens && (p->threshold || d.scale != 0 || d.digits < 1))
        return kr_fail(err, KR_EINVAL, "%s: '%.*s' is no number of tokens it can keep", p->name,
                       shown(v), v.s);
    if (!tokens && kr_dec_cmp(d, kr_dec_make(1, 0)) > 0)
        return kr_fail(err, KR_EINVAL, "%s: the level %.*s is above 1; it is a share (write 50%% "
                       "for a half, 512t for tokens)", p->name, shown(v), v.s);
    if (p == &kr_evictor_full && kr_dec_cmp(d, kr_dec_make(1, 0)) != 0)
        return kr_fail(err, KR_EINVAL, "full keeps everything; it has no other level than 1");
    if (d.digits < 0 || (d.digits == 0 && !p->threshold))
        return kr_fail(err, KR_EINVAL, "%s: a retention of %.*s keeps nothing; expected one above "
                       "0", p->name, shown(v), v.s);
    out->kind = tokens ? KR_EVICT_TOKENS : p->threshold ? KR_EVICT_THRESHOLD : KR_EVICT_RATIO;
    out->value = d;
    return KR_OK;
}

static kr_status read_name(piece name, const kr_evictor **out, kr_error *err) {
    char text[64];
    if (name.len < sizeof text) {
        memcpy(text, name.s, name.len);
        text[name.len] = '\0';
        *out = kr_evictor_find(text);
        if (*out != NULL)
            return KR_OK;
    }
    kr_buf b = {0};
    for (const kr_evictor *const *p = policies; *p != NULL; p++)
        kr_buf_printf(&b, "%s%s", p != policies ? ", " : "", (*p)->name);
    kr_status st = kr_fail(err, KR_EINVAL, "no policy '%.*s'; there are %s", shown(name), name.s,
                           kr_buf_text(&b));
    kr_buf_free(&b);
    return st;
}

static kr_status parse(const char *text, const kr_evict_preset *preset, bool level, kr_evict_spec *out,
                       kr_error *err) {
    kr_evict_spec s = {.level = {KR_EVICT_RATIO, kr_dec_make(1, 0)}};
    const char *rest = text;
    piece head = cut(&rest, ','), name = head;
    const char *colon = memchr(head.s, ':', head.len);
    if (colon != NULL)
        name.len = (size_t)(colon - head.s);
    kr_status st = read_name(name, &s.policy, err);
    if (st != KR_OK)
        return st;
    if (colon != NULL && !level)
        return kr_fail(err, KR_EINVAL, "%s: a level where none is expected", s.policy->name);
    if (colon != NULL)
        st = read_level(s.policy, (piece){colon + 1, head.len - name.len - 1}, &s.level, err);
    else if (level && s.policy != &kr_evictor_full)
        st = kr_fail(err, KR_EINVAL, "%s needs a level: %s:%s", s.policy->name, s.policy->name,
                     s.policy->threshold ? "0.01" : "0.5");
    for (size_t i = 0; i < s.policy->n_params; i++)
        s.params.v[i] = s.policy->params[i].def;
    if (st == KR_OK && preset != NULL)
        st = read_params(s.policy, preset->values, true, &s.params, err);
    if (st == KR_OK)
        st = read_params(s.policy, rest, false, &s.params, err);
    if (st == KR_OK)
        *out = s;
    return st;
}

kr_status kr_evict_parse(const char *text, const kr_evict_preset *preset, kr_evict_spec *out,
                          kr_error *err) {
    return parse(text, preset, true, out, err);
}

kr_status kr_evict_parse_params(const char *text, const kr_evict_preset *preset, kr_evict_spec *out,
                                 kr_error *err) {
    return parse(text, preset, false, out, err);
}

/* ---- writing ---- */

char *kr_evict_level_text(kr_evict_level level, char buf[KR_DEC_TEXT + 1]) {
    kr_dec_text(level.value, buf);
    if (level.kind == KR_EVICT_TOKENS)
        strcat(buf, "t");
    return buf;
}

void kr_evict_text(const kr_evict_spec *s, bool all, kr_buf *out) {
    char level[KR_DEC_TEXT + 1];
    kr_buf_printf(out, "%s:%s", s->policy->name, kr_evict_level_text(s->level, level));
    for (size_t i = 0; i < s->policy->n_params; i++) {
        const kr_param *q = &s->policy->params[i];
        if (!all && kr_dec_cmp(s->params.v[i], q->def) == 0)
            continue;
        kr_buf_printf(out, ",%s=%s", q->name,
                      q->kind == KR_PARAM_CHOICE ? q->choices[s->params.v[i].digits]
                                                 : kr_dec_text(s->params.v[i], level));
    }
}

/* ---- running ---- */

static bool is_full(const kr_evict_spec *s, size_t n) {
    return s->policy->score == NULL ||
           (s->level.kind == KR_EVICT_RATIO && kr_dec_cmp(s->level.value, kr_dec_make(1, 0)) == 0) ||
           (s->level.kind == KR_EVICT_TOKENS && (uint64_t)s->level.value.digits >= n);
}

static size_t ask(size_t (*count)(const kr_params *), const kr_params *p) {
    return count != NULL ? count(p) : 0;
}

size_t kr_evict_protects(const kr_evict_spec *s) {
    return ask(s->policy->lead, &s->params) + ask(s->policy->tail, &s->params);
}

kr_status kr_evict_score(const kr_evict_spec *s, const kr_evict_input *in, kr_scores **out,
                          kr_error *err) {
    const kr_evictor *p = s->policy;
    size_t n = kr_evict_n(in), layers = in->kv->layers;
    *out = NULL;
    if (p->score == NULL || n <= kr_evict_protects(s))
        return KR_OK;
    kr_scores *made;
    kr_status st = kr_scores_new(layers, p->raw ? in->model->geo.heads : in->kv->heads, n,
                                 ask(p->lead, &s->params), ask(p->tail, &s->params), p->forced,
                                 layers, &made, err);
    if (st != KR_OK)
        return st;
    st = p->score(in, &s->params, made, err);
    if (st == KR_OK && !p->raw)
        st = kr_scores_sort(made, err);
    if (st == KR_OK)
        *out = made;
    else
        kr_scores_free(made);
    return st;
}

kr_status kr_part_select(const kr_evict_spec *spec, const kr_scores *s, kr_keep **out,
                         kr_error *err) {
    const kr_evictor *p = spec->policy;
    if (p->select != NULL)
        return p->select(s, &spec->params, spec->level, out, err);
    kr_rounding how = (kr_rounding)kr_param_int(&spec->params, p->round);
    return kr_part_uniform(s, kr_part_budget(s->n, spec->level, how), out, err);
}

kr_status kr_evict_select(const kr_evict_spec *s, const kr_evict_input *in,
                           const kr_scores *scores, kr_keep **out, kr_error *err) {
    size_t n = kr_evict_n(in);
    const kr_kv *kv = in->kv;
    if (is_full(s, n))
        return kr_keep_all(kv->layers, kv->heads, n, 0, out, err);
    if (n <= kr_evict_protects(s) || scores == NULL)
        return kr_keep_all(kv->layers, kv->heads, n, KR_BYPASS_SHORT, out, err);
    return kr_part_select(s, scores, out, err);
}
