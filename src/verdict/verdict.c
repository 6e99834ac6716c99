#include "verdict/verdict_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "risk/binomial.h"

/* --- names ------------------------------------------------------------------------------------ */

const char *kr_state_name(kr_state s) {
    static const char *const names[] = {"LOCKED", "WHAT-IF", "REFUSED", "N TOO SMALL", "UNDECIDED"};
    return (unsigned)s < sizeof names / sizeof *names ? names[s] : "?";
}

const char *kr_contract_source_name(kr_contract_source s) {
    static const char *const names[] = {"file", "default", "given"};
    return (unsigned)s < sizeof names / sizeof *names ? names[s] : "?";
}

const char *kr_verdict_status_name(kr_verdict_status s) {
    static const char *const names[] = {"ok", "cannot_certify", "undecided", "refused"};
    return (unsigned)s < sizeof names / sizeof *names ? names[s] : "?";
}

/* --- limits, cached ----------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, int64_t v) {
    h = (h ^ (uint64_t)v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static bool same(kr_dec a, kr_dec b) { return a.digits == b.digits && a.scale == b.scale; }

const kr_limits *kr_analysis_limits(const kr_analysis *a, kr_dec risk, kr_level level) {
    uint64_t h = mix(mix(mix(mix(mix(0, risk.digits), risk.scale), level.num.digits),
                         level.num.scale), level.den);
    kr_cached_limits *e = &a->limits_cache[h & (KR_LIMITS_CACHE - 1)];
    if (!e->used || !same(e->risk, risk) || !same(e->level.num, level.num) ||
        e->level.den != level.den) {
        e->used = true;
        e->risk = risk;
        e->level = level;
        e->limits = kr_limits_make(a->n, risk, level);
    }
    return &e->limits;
}

static const kr_limits *limits_of(const kr_analysis *a, const kr_contract *k) {
    return kr_analysis_limits(a, k->risk, kr_contract_level(k, 1));
}

/* p-value and bound of a count among n, at the risk and level of `limits`. */
static kr_candidate bound_of(const kr_analysis *a, const kr_limits *limits, int64_t events) {
    uint64_t h = mix(mix(mix(mix((uint64_t)limits->n, events), limits->eps.digits),
                         limits->level.num.digits), limits->level.den);
    kr_cached_bound *e = &a->bound_cache[h & (KR_BOUND_CACHE - 1)];
    if (!e->used || e->events != events || e->n != limits->n || !same(e->risk, limits->eps) ||
        !same(e->level.num, limits->level.num) || e->level.den != limits->level.den) {
        *e = (kr_cached_bound){true, events, limits->n, limits->eps, limits->level,
                            kr_candidate_of(limits, events)};
    }
    return e->value;
}

/* --- one analysis ------------------------------------------------------------------------------- */

static void set_home(kr_analysis *a) {
    const kr_calib_meta *m = kr_calib_meta_of(a->c);
    kr_home h = a->options.home;
    if (h.kind == KR_HOME_FILE)
        h = (kr_home){.has = m->has_contract, .method = m->contract_method,
                      .family = m->contract_family};
    if (h.kind != KR_HOME_LEDGER && m->has_contract)
        h.contract = (kr_contract){m->tolerance, m->risk, m->confidence};
    else if (h.kind != KR_HOME_LEDGER)
        h.contract = (kr_contract){m->kind == KR_KIND_COUNTS ? m->counts_tolerance
                                                             : kr_dec_make(10 * kr_tolerance_unit(a->c), 2),
                                   kr_dec_make(5, 2), kr_dec_make(95, 2)};
    a->declared_home = h;
    a->home = h.contract;
    a->home_source = h.kind == KR_HOME_LEDGER || m->has_contract ? KR_FROM_FILE : KR_FROM_DEFAULT;
    a->family = a->options.family || h.family;
}

kr_status kr_analysis_new(const kr_calib *c, kr_analysis_options options, kr_analysis **out,
                          kr_error *err) {
    if (kr_calib_n(c, options.split) == 0)
        return kr_fail(err, KR_EFORMAT, "%s has no requests in the %s split", kr_calib_path(c),
                       options.split == KR_SPLIT_TEST ? "test" : "cal (certification)");
    kr_analysis *a = calloc(1, sizeof *a);
    if (a != NULL) {
        size_t methods = kr_calib_methods(c);
        a->line = calloc(methods, sizeof *a->line);
        a->line_limits = calloc(methods, sizeof *a->line_limits);
        a->length = calloc(methods, sizeof *a->length);
        a->point = calloc(methods, sizeof *a->point);
        a->limits_cache = calloc(KR_LIMITS_CACHE, sizeof *a->limits_cache);
        a->bound_cache = calloc(KR_BOUND_CACHE, sizeof *a->bound_cache);
    }
    if (a == NULL || a->line == NULL || a->line_limits == NULL || a->length == NULL ||
        a->point == NULL || a->limits_cache == NULL || a->bound_cache == NULL) {
        kr_analysis_free(a);
        return kr_fail(err, KR_ENOMEM, "out of memory");
    }
    a->c = c;
    a->options = options;
    a->n = kr_calib_n(c, options.split);
    a->missing = kr_calib_any_missing(c, options.split);
    int64_t slots = KR_TASK_BYTES / (a->n * (int64_t)sizeof(int64_t));
    a->task_slots = slots < 4 ? 4 : slots > KR_TASK_CACHE ? KR_TASK_CACHE : (size_t)slots;
    for (size_t i = 0; i < kr_calib_methods(c); i++)
        a->length[i] = kr_calib_method(c, i)->count + kr_calib_meta_of(c)->partial;
    set_home(a);
    kr_status st = kr_declared_read(c, &a->declared, err);
    if (st == KR_OK)
        st = kr_repeats_find(c, options.split, &a->repeats, err);
    a->refused = kr_analysis_dependent(a) && !options.assume_independent;
    if (st == KR_OK)
        st = kr_analysis_set(a, a->home, err);
    if (st != KR_OK) {
        kr_analysis_free(a);
        return st;
    }
    *out = a;
    return KR_OK;
}

void kr_analysis_free(kr_analysis *a) {
    if (a == NULL)
        return;
    for (size_t i = 0; i < KR_TASK_CACHE; i++)
        kr_task_drops_free(a->tasks[i].drops);
    kr_declared_free(&a->declared);
    free(a->line);
    free(a->line_limits);
    free(a->length);
    free(a->point);
    free(a->limits_cache);
    free(a->bound_cache);
    free(a);
}

void kr_analysis_disown(kr_analysis *a, const char *text) {
    kr_home *const homes[] = {&a->options.home, &a->declared_home};
    for (size_t i = 0; i < 2; i++) {
        homes[i]->kind = KR_HOME_NONE;
        homes[i]->has = false;
        homes[i]->text = text;
    }
}

const kr_calib *kr_analysis_calib(const kr_analysis *a) { return a->c; }
kr_analysis_options kr_analysis_options_of(const kr_analysis *a) { return a->options; }
kr_contract kr_analysis_home(const kr_analysis *a) { return a->home; }
kr_contract_source kr_analysis_home_source(const kr_analysis *a) { return a->home_source; }
kr_contract kr_analysis_contract(const kr_analysis *a) { return a->now; }
int64_t kr_analysis_n(const kr_analysis *a) { return a->n; }
int64_t kr_analysis_max_events(const kr_analysis *a) { return a->limits.kmax; }
int64_t kr_analysis_missing(const kr_analysis *a) { return a->missing; }
const kr_line *kr_analysis_line(const kr_analysis *a, size_t method) { return &a->line[method]; }
kr_level kr_analysis_level(const kr_analysis *a) { return a->limits.level; }
bool kr_analysis_family(const kr_analysis *a) { return a->family; }
const kr_home *kr_analysis_home_info(const kr_analysis *a) { return &a->declared_home; }
const kr_repeats *kr_analysis_repeats(const kr_analysis *a) { return &a->repeats; }
bool kr_analysis_dependent(const kr_analysis *a) {
    return kr_calib_cluster_repeats(a->c, a->options.split) > 0 || a->repeats.repeats > 0;
}
const kr_declared *kr_analysis_declared(const kr_analysis *a) { return &a->declared; }
const kr_limits *kr_analysis_line_limits(const kr_analysis *a, size_t method) {
    return &a->line_limits[method];
}

static bool same_contract(const kr_contract *a, const kr_contract *b) {
    return kr_dec_cmp(a->tolerance, b->tolerance) == 0 && kr_dec_cmp(a->risk, b->risk) == 0 &&
           kr_dec_cmp(a->confidence, b->confidence) == 0;
}

kr_contract_source kr_analysis_contract_source(const kr_analysis *a) {
    return same_contract(&a->now, &a->home) ? a->home_source : KR_FROM_USER;
}

size_t kr_analysis_certified_count(const kr_analysis *a) {
    size_t count = 0;
    for (size_t i = 0; i < kr_calib_methods(a->c); i++)
        count += a->line[i].certified >= 0;
    return count;
}

/* --- walking --------------------------------------------------------------------------------------- */

typedef struct {
    const kr_calib *c;
    kr_split split;
    size_t first;
    int64_t tolerance;
} walker;

static int64_t count_events(void *ctx, size_t j) {
    const walker *w = ctx;
    int64_t k = kr_calib_events(w->c, w->first + j, w->split, w->tolerance);
    return k < 0 ? KR_COUNT_NONE : k;
}

static kr_status walk(const kr_analysis *a, size_t method, const kr_limits *limits,
                      int64_t tolerance, kr_sequence *out, kr_error *err) {
    const kr_method *m = kr_calib_method(a->c, method);
    walker w = {a->c, a->options.split, m->first, tolerance};
    return kr_sequence_walk(limits, m->count, count_events, &w, out, err);
}

static int64_t count_family(void *ctx, size_t method, size_t j) {
    walker *w = ctx;
    const kr_method *m = kr_calib_method(w->c, method);
    w->first = m->first;
    return j < m->count ? count_events(w, j) : KR_COUNT_NONE;
}

/* Parallel chains over all methods, at the contract's whole error level together. */
static kr_status walk_family(const kr_analysis *a, const kr_contract *k, int64_t tolerance,
                             kr_family_member *out, kr_error *err) {
    walker w = {a->c, a->options.split, 0, tolerance};
    return kr_family_certify(kr_calib_methods(a->c), a->length, count_family, &w, a->n, k->risk,
                             kr_contract_level(k, 1), NULL, out, err);
}

static kr_status check(const kr_analysis *a, const kr_contract *k, int64_t *tolerance,
                       kr_error *err) {
    kr_status st = kr_contract_check(k, err);
    if (st != KR_OK)
        return st;
    const kr_calib_meta *m = kr_calib_meta_of(a->c);
    char t[KR_DEC_TEXT];
    if (m->kind == KR_KIND_COUNTS && kr_dec_cmp(k->tolerance, m->counts_tolerance) != 0)
        return kr_fail(err, KR_EINVAL,
                       "these counts were published at tolerance %s; another tolerance needs the "
                       "results of every request",
                       kr_dec_fixed(m->counts_tolerance, 2, t));
    if (!kr_dec_nano(k->tolerance, tolerance))
        return kr_fail(err, KR_EINVAL, "the tolerance %s is too large",
                       kr_dec_text(k->tolerance, t));
    return KR_OK;
}

static kr_line line_of(size_t method, const kr_sequence *walked, size_t count) {
    kr_sequence end = *walked, *s = &end;
    if (s->stopped == (int64_t)count) /* at the candidate that only stands for unpublished ones */
        s->stopped = -1, s->why = KR_STOP_NONE;
    static const kr_verdict_status status[] = {
        [KR_SEQUENCE_OK] = KR_ST_OK,
        [KR_SEQUENCE_CANNOT_CERTIFY] = KR_ST_CANNOT_CERTIFY,
        [KR_SEQUENCE_UNDECIDED] = KR_ST_UNDECIDED,
    };
    return (kr_line){
        .method = method,
        .status = status[s->status],
        .certified = (int)s->certified,
        .stopped = (int)s->stopped,
        .why = s->why,
        .empirical = (int)s->empirical,
        .empirical_certified = s->empirical >= 0 && s->empirical <= s->certified,
        .certified_events = s->certified >= 0 ? s->certified_events : -1,
        .stopped_events = s->stopped >= 0 && s->stopped_events >= 0 ? s->stopped_events : -1,
        .empirical_events = s->empirical >= 0 ? s->empirical_events : -1,
    };
}

/* Dependent requests: nothing is certified, and the sentence says why. */
static void refuse_line(kr_line *l) {
    l->status = KR_ST_REFUSED;
    l->certified = -1;
    l->certified_events = -1;
    l->empirical_certified = false;
}

static void keep_line(kr_analysis *a, size_t method, const kr_limits *limits,
                      const kr_sequence *s) {
    a->line_limits[method] = *limits;
    a->line[method] = line_of(method, s, kr_calib_method(a->c, method)->count);
    a->line[method].max_events = limits->kmax;
    if (a->refused)
        refuse_line(&a->line[method]);
}

static kr_status set_alone(kr_analysis *a, const kr_contract *k, int64_t tolerance, kr_error *err) {
    const kr_limits limits = *limits_of(a, k);
    for (size_t i = 0; i < kr_calib_methods(a->c); i++) {
        kr_sequence s;
        kr_status st = walk(a, i, &limits, tolerance, &s, err);
        if (st != KR_OK)
            return st;
        keep_line(a, i, &limits, &s);
    }
    a->limits = limits;
    return KR_OK;
}

static kr_status set_family(kr_analysis *a, const kr_contract *k, int64_t tolerance,
                            kr_error *err) {
    a->point_known = false;
    kr_status st = walk_family(a, k, tolerance, a->point, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < kr_calib_methods(a->c); i++)
        keep_line(a, i, &a->point[i].limits, &a->point[i].sequence);
    a->point_known = true;
    a->point_at = *k;
    a->limits = kr_limits_make(a->n, k->risk,
                               kr_contract_level(k, (int64_t)kr_calib_methods(a->c)));
    return KR_OK;
}

kr_status kr_analysis_set(kr_analysis *a, kr_contract contract, kr_error *err) {
    int64_t tolerance;
    kr_status st = check(a, &contract, &tolerance, err);
    if (st == KR_OK)
        st = a->family ? set_family(a, &contract, tolerance, err)
                       : set_alone(a, &contract, tolerance, err);
    if (st != KR_OK)
        return st;
    a->now = contract;
    a->tolerance = tolerance;
    return KR_OK;
}

kr_status kr_analysis_set_family(kr_analysis *a, bool family, kr_error *err) {
    bool before = a->family;
    a->family = family;
    kr_status st = kr_analysis_set(a, a->now, err);
    if (st != KR_OK)
        a->family = before;
    return st;
}

/* The family's walk at one contract serves every method that is asked for there. */
static kr_status family_at(kr_analysis *a, const kr_contract *k, int64_t tolerance,
                           kr_error *err) {
    if (a->point_known && same_contract(&a->point_at, k))
        return KR_OK;
    a->point_known = false;
    kr_status st = walk_family(a, k, tolerance, a->point, err);
    a->point_known = st == KR_OK;
    a->point_at = *k;
    return st;
}

kr_status kr_analysis_at_mode(kr_analysis *a, size_t method, bool family, kr_contract contract,
                              kr_point *out, kr_error *err) {
    int64_t tolerance;
    kr_limits limits;
    kr_sequence s;
    kr_status st = check(a, &contract, &tolerance, err);
    if (st == KR_OK && family) {
        st = family_at(a, &contract, tolerance, err);
        if (st == KR_OK)
            limits = a->point[method].limits, s = a->point[method].sequence;
    } else if (st == KR_OK) {
        limits = *limits_of(a, &contract);
        st = walk(a, method, &limits, tolerance, &s, err);
    }
    if (st != KR_OK)
        return st;
    kr_line l = line_of(method, &s, kr_calib_method(a->c, method)->count);
    if (a->refused)
        refuse_line(&l);
    *out = (kr_point){l.certified, l.empirical, limits.kmax, l.certified_events, l.stopped_events,
                      l.stopped, limits.level};
    return KR_OK;
}

kr_status kr_analysis_walk_limits(kr_analysis *a, size_t method, kr_dec tolerance,
                                  const kr_limits *limits, kr_point *out, kr_error *err) {
    kr_contract k = a->now;
    int64_t nano;
    kr_sequence s;
    k.tolerance = tolerance;
    kr_status st = check(a, &k, &nano, err);
    if (st == KR_OK)
        st = walk(a, method, limits, nano, &s, err);
    if (st != KR_OK)
        return st;
    kr_line l = line_of(method, &s, kr_calib_method(a->c, method)->count);
    if (a->refused)
        refuse_line(&l);
    *out = (kr_point){l.certified, l.empirical, limits->kmax, l.certified_events, l.stopped_events,
                      l.stopped, limits->level};
    return KR_OK;
}

kr_status kr_analysis_at(kr_analysis *a, size_t method, kr_contract contract, kr_point *out,
                         kr_error *err) {
    return kr_analysis_at_mode(a, method, a->family, contract, out, err);
}

/* --- states ------------------------------------------------------------------------------------------ */

static bool any_undecided(const kr_analysis *a) {
    for (size_t i = 0; i < kr_calib_methods(a->c); i++)
        if (a->line[i].status == KR_ST_UNDECIDED)
            return true;
    return false;
}

/* What was declared is a contract and how methods are treated: a family covers the choice among
 * them; without one, the family's lines are among those that each line alone gives, so they stand
 * as well, unless the budget was declared for a single method. */
static bool procedure_declared(const kr_analysis *a) {
    const kr_home *h = &a->declared_home;
    return a->declared.mode == KR_MODE_EVENTS && !h->table_only &&
           (h->family ? a->family : !(a->family && h->method != NULL));
}

bool kr_analysis_line_declared(const kr_analysis *a, size_t method) {
    const kr_home *h = &a->declared_home;
    const bool *member = h->kind == KR_HOME_FILE ? a->declared.member : NULL;
    if (h->family)
        return a->family && (member == NULL || member[method]);
    return h->method == NULL ||
           (!a->family && strcmp(h->method, kr_calib_method(a->c, method)->name) == 0);
}

bool kr_analysis_at_home(const kr_analysis *a) {
    return a->declared_home.has && !kr_calib_meta_of(a->c)->partial &&
           a->options.split == KR_SPLIT_CAL && same_contract(&a->now, &a->home);
}

static bool is_locked(const kr_analysis *a) {
    return procedure_declared(a) && kr_analysis_at_home(a);
}

kr_state kr_analysis_state(const kr_analysis *a) {
    if (a->refused)
        return KR_STATE_REFUSED;
    if (a->limits.kmax < 0)
        return KR_STATE_N_TOO_SMALL;
    if (any_undecided(a))
        return KR_STATE_UNDECIDED;
    return is_locked(a) ? KR_STATE_LOCKED : KR_STATE_WHAT_IF;
}

kr_state kr_analysis_line_state(const kr_analysis *a, size_t method) {
    if (a->refused)
        return KR_STATE_REFUSED;
    if (a->line_limits[method].kmax < 0)
        return KR_STATE_N_TOO_SMALL;
    if (a->line[method].status == KR_ST_UNDECIDED)
        return KR_STATE_UNDECIDED;
    return is_locked(a) && kr_analysis_line_declared(a, method) ? KR_STATE_LOCKED : KR_STATE_WHAT_IF;
}

/* --- candidates ---------------------------------------------------------------------------------------- */

static void add_test(const kr_analysis *a, const kr_limits *lim, kr_candidate_row *r) {
    int64_t n = kr_calib_n(a->c, KR_SPLIT_TEST);
    int64_t k = n > 0 ? kr_calib_events(a->c, r->policy, KR_SPLIT_TEST, a->tolerance) : -1;
    if (a->options.split != KR_SPLIT_CAL || k < 0)
        return;
    kr_limits limits = *lim;
    limits.n = n;
    kr_candidate t = bound_of(a, &limits, k);
    r->has_test = true;
    r->test_events = k;
    r->test_n = n;
    r->test_rate = (double)k / (double)n;
    r->test_p_value = t.p_value;
    r->test_upper_bound = t.upper;
}

static kr_verdict verdict_of(const kr_line *l, size_t index) {
    if (l->status == KR_ST_REFUSED)
        return KR_VERDICT_UNTESTED;
    if ((int)index <= l->certified)
        return KR_VERDICT_PASS;
    return (int)index == l->stopped ? KR_VERDICT_STOP : KR_VERDICT_UNTESTED;
}

kr_candidate_row kr_analysis_candidate(const kr_analysis *a, size_t method, size_t index) {
    size_t policy = kr_calib_method(a->c, method)->first + index;
    kr_candidate_row r = {
        .policy = policy,
        .n = a->n,
        .events = kr_calib_events(a->c, policy, a->options.split, a->tolerance),
        .missing = kr_calib_missing(a->c, policy, a->options.split),
        .verdict = verdict_of(&a->line[method], index),
    };
    if (r.events < 0) { /* published without this count */
        r.rate = NAN;
        r.p_value = r.upper_bound = 1;
        return r;
    }
    const kr_limits *lim = &a->line_limits[method];
    kr_candidate k = bound_of(a, lim, r.events);
    r.rate = (double)r.events / (double)a->n;
    r.p_value = k.p_value;
    r.upper_bound = k.upper;
    add_test(a, lim, &r);
    return r;
}

static void fill_p(const kr_analysis *a, size_t method, double *p) {
    const kr_method *m = kr_calib_method(a->c, method);
    for (size_t j = 0; j < m->count; j++) {
        int64_t k = kr_calib_events(a->c, m->first + j, a->options.split, a->tolerance);
        p[j] = k < 0 ? 1 : kr_p_value(k, a->n, a->now.risk);
    }
}

static kr_status adjusted_family(const kr_analysis *a, size_t method, double *out, kr_error *err) {
    size_t methods = kr_calib_methods(a->c), policies = kr_calib_policies(a->c);
    double *p = malloc(2 * (policies + 1) * sizeof *p), **at = malloc(2 * methods * sizeof *at);
    size_t *length = malloc(methods * sizeof *length);
    bool *open = malloc(methods * sizeof *open);
    kr_status st = KR_OK;
    if (p == NULL || at == NULL || length == NULL || open == NULL)
        st = kr_fail(err, KR_ENOMEM, "out of memory for %zu policies", policies);
    for (size_t i = 0; st == KR_OK && i < methods; i++) {
        const kr_method *m = kr_calib_method(a->c, i);
        at[i] = p + m->first;
        at[methods + i] = p + policies + m->first;
        length[i] = m->count;
        open[i] = a->length[i] > m->count;
        fill_p(a, i, at[i]);
    }
    if (st == KR_OK)
        st = kr_family_adjusted(methods, length, (const double *const *)at, open, at + methods, err);
    if (st == KR_OK)
        memcpy(out, at[methods + method], length[method] * sizeof *out);
    free(p);
    free(at);
    free(length);
    free(open);
    return st;
}

kr_status kr_analysis_adjusted(kr_analysis *a, size_t method, double *out, kr_error *err) {
    if (a->family)
        return adjusted_family(a, method, out, err);
    fill_p(a, method, out);
    for (size_t j = 1; j < kr_calib_method(a->c, method)->count; j++)
        out[j] = fmax(out[j], out[j - 1]);
    return KR_OK;
}

double kr_share_kept(const kr_calib *c, size_t method, int index) {
    if (index < 0)
        return 1;
    size_t policy = kr_calib_method(c, method)->first + (size_t)index;
    const kr_policy *p = kr_calib_policy(c, policy);
    double mean, min, max;
    if (p->has_retention)
        return kr_dec_double(p->retention);
    if (p->has_mean)
        return kr_dec_double(p->mean_retained);
    return kr_calib_realised(c, policy, &mean, &min, &max) ? mean : NAN;
}

void kr_level_text(const kr_calib *c, size_t method, int index, kr_buf *out) {
    char t[KR_DEC_TEXT];
    if (index < 0) {
        kr_buf_puts(out, "FULL");
        return;
    }
    const kr_policy *p = kr_calib_policy(c, kr_calib_method(c, method)->first + (size_t)index);
    if (p->has_retention)
        kr_buf_puts(out, kr_dec_percent(p->retention, 0, t));
    else if (p->has_threshold)
        kr_buf_printf(out, "thr %s", kr_dec_text(p->threshold, t));
    else
        kr_buf_puts(out, "?");
}
