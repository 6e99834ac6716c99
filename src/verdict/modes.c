#include "verdict/modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "risk/binomial.h"
#include "risk/evalue.h"
#include "risk/mixture.h"
#include "risk/split.h"
#include "verdict/joint.h"
#include "verdict/rows.h"

/* Everything a walk needs, made once per walk. */
typedef struct {
    kr_analysis *a;
    const kr_calib *c;
    const kr_mode *mode;
    size_t method, tasks;
    kr_contract k;
    int64_t tolerance, range; /* nano-units */
    kr_level level;
    kr_ratio *weight; /* [tasks] */
    kr_rows rows;
    bool *keep;         /* [rows.n] which are counted; NULL: all */
    int64_t *events, *n; /* [tasks] */
    int64_t *loss;      /* [rows.n] */
    int64_t *size;      /* [rows.clusters] */
} walk;

/* The result for one candidate. */
typedef struct {
    double p, bound;
    int64_t events, n;
} tested;

typedef kr_status (*test_fn)(walk *w, size_t policy, tested *t, kr_error *err);

static bool degraded(const walk *w, size_t row, size_t policy) {
    return kr_calib_row_drop(w->c, row, policy) > w->tolerance;
}

/* --- counts by task ------------------------------------------------------------------------------ */

static kr_status count_tasks(walk *w, size_t policy, kr_error *err) {
    kr_split s = kr_analysis_options_of(w->a).split;
    kr_task_drops *d = kr_task_drops_new(w->c, policy, s);
    if (d == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t t = 0; t < w->tasks; t++) {
        w->events[t] = kr_task_drops_events(d, t, w->tolerance);
        w->n[t] = kr_task_drops_n(d, t);
    }
    kr_task_drops_free(d);
    return KR_OK;
}

static kr_status test_mixture(walk *w, size_t policy, tested *t, kr_error *err) {
    kr_mixture_claim m;
    kr_status st = count_tasks(w, policy, err);
    if (st == KR_OK)
        st = kr_mixture_test(w->tasks, w->events, w->n, w->weight, w->k.risk, &m, err);
    if (st == KR_OK)
        *t = (tested){m.p, NAN, -1, kr_analysis_n(w->a)};
    return st;
}

static kr_status test_worst(walk *w, size_t policy, tested *t, kr_error *err) {
    kr_worst_claim c;
    kr_status st = count_tasks(w, policy, err);
    if (st == KR_OK)
        st = kr_mixture_worst(w->tasks, w->events, w->n, w->k.risk, w->level, &c, err);
    if (st == KR_OK)
        *t = (tested){c.p, c.upper, -1, kr_analysis_n(w->a)};
    return st;
}

/* --- chosen rows, clusters ----------------------------------------------------------------------- */

static void binomial(const walk *w, int64_t events, int64_t n, tested *t) {
    *t = (tested){kr_p_value(events, n, w->k.risk),
                  kr_binom_upper_strat(events, n, kr_level_double(w->level)), events, n};
}

static kr_status test_kept(walk *w, size_t policy, tested *t, kr_error *err) {
    (void)err;
    int64_t events = 0, n = 0;
    for (size_t i = 0; i < w->rows.n; i++)
        if (w->keep == NULL || w->keep[i]) {
            n++;
            events += degraded(w, w->rows.row[i], policy);
        }
    binomial(w, events, n, t);
    return KR_OK;
}

/* Events per cluster into loss[0..clusters), those of rows without one after them. Returns the
 * number of units. */
static size_t by_cluster(walk *w, size_t policy) {
    size_t units = w->rows.clusters;
    memset(w->loss, 0, w->rows.clusters * sizeof *w->loss);
    memset(w->size, 0, w->rows.n * sizeof *w->size);
    for (size_t i = 0; i < w->rows.n; i++) {
        size_t u = w->rows.cluster[i] >= 0 ? (size_t)w->rows.cluster[i] : units++;
        if (w->rows.cluster[i] < 0)
            w->loss[u] = 0;
        w->loss[u] += degraded(w, w->rows.row[i], policy);
        w->size[u]++;
    }
    return units;
}

static kr_status test_cluster_max(walk *w, size_t policy, tested *t, kr_error *err) {
    (void)err;
    size_t units = by_cluster(w, policy);
    int64_t events = 0;
    for (size_t u = 0; u < units; u++)
        events += w->loss[u] > 0;
    binomial(w, events, (int64_t)units, t);
    return KR_OK;
}

static kr_status test_cluster_mean(walk *w, size_t policy, tested *t, kr_error *err) {
    size_t units = by_cluster(w, policy);
    for (size_t u = 0; u < units; u++) /* rounded up: never in favour of the claim */
        w->loss[u] = (w->loss[u] * KR_NANO + w->size[u] - 1) / w->size[u];
    kr_mean_claim m;
    kr_status st = kr_mean_test(KR_MEAN_HB, w->loss, (int64_t)units, 1, w->k.risk, w->level, &m, err);
    if (st == KR_OK)
        *t = (tested){m.p, m.upper, -1, (int64_t)units};
    return st;
}

/* --- mean drop ----------------------------------------------------------------------------------- */

/* Losses round robin over tasks of equal size, one of each per round. */
static void losses(walk *w, size_t policy, size_t round) {
    size_t per = round > 0 ? w->rows.n / round : 0;
    for (size_t i = 0; i < w->rows.n; i++) {
        size_t to = per > 0 ? i % per * round + i / per : i;
        w->loss[to] = kr_mean_loss(kr_calib_row_drop(w->c, w->rows.row[i], policy), w->range);
    }
}

static size_t present_tasks(const walk *w) {
    size_t n = 0;
    for (size_t t = 0; t < w->tasks; t++)
        n += kr_calib_task_n(w->c, kr_analysis_options_of(w->a).split, t) > 0;
    return n;
}

/* Tasks of unequal size are no rounds; betting would need identically distributed requests, so the
 * mean as sampled is then tested by Hoeffding-Bentkus, which does not. */
static kr_mean_kind mean_kind(const walk *w) {
    return kr_calib_task_uniform(w->c, kr_analysis_options_of(w->a).split) ? w->mode->mean
                                                                           : KR_MEAN_HB;
}

static kr_status test_mean(walk *w, size_t policy, tested *t, kr_error *err) {
    kr_mean_kind kind = mean_kind(w);
    size_t round = kind == KR_MEAN_WSR_ROUNDS ? present_tasks(w) : 0;
    losses(w, policy, round);
    kr_mean_claim m = {1, 1};
    m.p = kr_mean_p(kind, w->loss, (int64_t)w->rows.n, round > 0 ? (int64_t)round : 1, w->k.risk,
                    w->level);
    (void)err;
    *t = (tested){m.p, NAN, -1, (int64_t)w->rows.n};
    return KR_OK;
}

/* --- the modes ------------------------------------------------------------------------------------ */

static const struct {
    test_fn test;
    bool rows, clusters; /* looks at rows; made for files with clusters */
} modes[KR_MODES] = {
    [KR_MODE_MIXTURE] = {test_mixture, false, false},
    [KR_MODE_SUBSAMPLE] = {test_kept, true, false},
    [KR_MODE_WORST_TASK] = {test_worst, false, false},
    [KR_MODE_CLUSTER_ONE] = {test_kept, true, true},
    [KR_MODE_CLUSTER_MEAN] = {test_cluster_mean, true, true},
    [KR_MODE_CLUSTER_MAX] = {test_cluster_max, true, true},
    [KR_MODE_MEAN_DROP] = {test_mean, true, false},
};

kr_mode kr_mode_default(const kr_analysis *a, kr_mode_kind kind) {
    const kr_declared *d = kr_analysis_declared(a);
    return (kr_mode){kind, d->weight, d->has_seed ? d->seed : 1, d->mean};
}

static const char *inapplicable(const kr_analysis *a, kr_mode_kind kind) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_split s = kr_analysis_options_of(a).split;
    if (kind < KR_MODE_MIXTURE)
        return NULL;
    if (kr_calib_meta_of(c)->kind == KR_KIND_COUNTS)
        return "published counts have no requests to look at";
    if (modes[kind].clusters && kr_calib_cluster_repeats(c, s) == 0)
        return "no requests share a cluster";
    return NULL;
}

static bool same_weights(const kr_analysis *a, const kr_ratio *w) {
    const kr_ratio *d = kr_analysis_declared(a)->weight;
    if (d == NULL || w == NULL)
        return d == w || w == NULL;
    for (size_t t = 0; t < kr_calib_tasks(kr_analysis_calib(a)); t++)
        if (kr_ratio_cmp(d[t], w[t]) != 0)
            return false;
    return true;
}

/* LOCKED only where the file declares this claim, with these parameters, for this line. */
static kr_state state_of(const kr_analysis *a, const kr_mode *m, size_t method) {
    const kr_declared *d = kr_analysis_declared(a);
    const kr_home *h = kr_analysis_home_info(a);
    kr_analysis_options o = kr_analysis_options_of(a);
    const kr_calib *c = kr_analysis_calib(a);
    bool weighed = m->kind == KR_MODE_MIXTURE || m->kind == KR_MODE_SUBSAMPLE;
    bool seeded = m->kind == KR_MODE_SUBSAMPLE || m->kind == KR_MODE_CLUSTER_ONE;
    if (!modes[m->kind].clusters && kr_analysis_dependent(a) && !o.assume_independent)
        return KR_STATE_REFUSED;
    bool declared = d->mode == m->kind && h->kind == KR_HOME_FILE &&
                    (!weighed || same_weights(a, m->weight)) && (!seeded || m->seed == d->seed) &&
                    (m->kind != KR_MODE_MEAN_DROP || m->mean == d->mean);
    bool line = h->family ? kr_analysis_family(a)
                          : !kr_analysis_family(a) &&
                                (h->method == NULL ||
                                 strcmp(h->method, kr_calib_method(c, method)->name) == 0);
    return declared && line && kr_analysis_at_home(a) ? KR_STATE_LOCKED : KR_STATE_WHAT_IF;
}

static kr_status set_weights(walk *w, kr_error *err) {
    w->weight = malloc((w->tasks > 0 ? w->tasks : 1) * sizeof *w->weight);
    if (w->weight == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    size_t present = present_tasks(w);
    for (size_t t = 0; t < w->tasks; t++) {
        bool has = kr_calib_task_n(w->c, kr_analysis_options_of(w->a).split, t) > 0;
        w->weight[t] = w->mode->weight != NULL ? w->mode->weight[t]
                                               : kr_ratio_make(has, (int64_t)present);
    }
    return KR_OK;
}

static kr_status choose_rows(walk *w, kr_error *err) {
    kr_mode_kind kind = w->mode->kind;
    if (kind != KR_MODE_SUBSAMPLE && kind != KR_MODE_CLUSTER_ONE)
        return KR_OK;
    w->keep = calloc(w->rows.n + 1, sizeof *w->keep);
    if (w->keep == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    if (kind == KR_MODE_CLUSTER_ONE)
        return kr_split_one_per_cluster(w->rows.n, w->rows.cluster, w->mode->seed, w->keep, err);
    int64_t total;
    for (size_t t = 0; t < w->tasks; t++)
        w->n[t] = kr_calib_task_n(w->c, kr_analysis_options_of(w->a).split, t);
    kr_status st = kr_mixture_quota(w->tasks, w->n, w->weight, w->events, &total, err);
    if (st == KR_OK)
        st = kr_split_take(w->rows.n, w->rows.task, w->tasks, w->events, w->mode->seed, w->keep, err);
    return st;
}

static kr_status prepare(walk *w, kr_error *err) {
    const kr_calib_meta *m = kr_calib_meta_of(w->c);
    kr_analysis_options o = kr_analysis_options_of(w->a);
    if (!kr_dec_nano(w->k.tolerance, &w->tolerance))
        return kr_fail(err, KR_EINVAL, "the tolerance is too large");
    w->range = m->utility_max > m->utility_min ? m->utility_max - m->utility_min : KR_NANO;
    w->events = calloc(w->tasks + 1, sizeof *w->events);
    w->n = calloc(w->tasks + 1, sizeof *w->n);
    if (w->events == NULL || w->n == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    kr_status st = set_weights(w, err);
    if (st == KR_OK && modes[w->mode->kind].rows)
        st = kr_rows_of(w->c, o.split, &w->rows, err);
    if (st != KR_OK)
        return st;
    w->loss = calloc(w->rows.n + 1, sizeof *w->loss);
    w->size = calloc(w->rows.n + 1, sizeof *w->size);
    if (w->loss == NULL || w->size == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu requests", w->rows.n);
    return choose_rows(w, err);
}

static void release(walk *w) {
    free(w->weight);
    free(w->keep);
    free(w->events);
    free(w->n);
    free(w->loss);
    free(w->size);
    kr_rows_free(&w->rows);
}

static kr_status walk_rows(walk *w, kr_mode_line *l, kr_error *err) {
    const kr_method *m = kr_calib_method(w->c, w->method);
    for (size_t j = 0; j < m->count; j++) {
        tested t = {1, NAN, -1, 0};
        kr_status st = modes[w->mode->kind].test(w, m->first + j, &t, err);
        if (st != KR_OK)
            return st;
        l->n = t.n;
        kr_reject r = kr_p_decide(t.p, l->level);
        if (r != KR_REJECT_YES) {
            l->stopped = (int)j;
            l->p_stopped = t.p;
            l->status = r == KR_REJECT_UNDECIDED ? KR_ST_UNDECIDED : KR_ST_OK;
            break;
        }
        l->certified = (int)j;
        l->p_certified = t.p;
        l->events = t.events;
        l->bound = t.bound;
    }
    if (modes[w->mode->kind].test == test_kept || w->mode->kind == KR_MODE_CLUSTER_MAX)
        l->max_events = kr_kmax(l->n, w->k.risk, w->level);
    return KR_OK;
}

static void from_point(kr_mode_line *l, const kr_point *p) {
    l->certified = p->certified;
    l->stopped = p->stopped;
    l->max_events = p->max_events;
    l->events = p->certified >= 0 ? p->certified_events : -1;
}

static double p_of(kr_mode_kind kind, int64_t events, int64_t n, kr_dec eps) {
    return kind == KR_MODE_CONFIDENCE ? kr_evalue_p(kr_evalue_ln(events, n, eps))
                                      : kr_p_value(events, n, eps);
}

static kr_status walk_table(kr_analysis *a, const kr_mode *mode, size_t method, kr_mode_line *l,
                            kr_error *err) {
    kr_contract k = kr_analysis_contract(a);
    kr_point p;
    kr_status st = mode->kind == KR_MODE_EVENTS ? kr_analysis_at(a, method, k, &p, err)
                                                : kr_joint_at(a, mode->kind, method, k, &p, err);
    if (st != KR_OK)
        return st;
    from_point(l, &p);
    if (mode->kind == KR_MODE_EVENTS) {
        l->state = kr_analysis_line_state(a, method);
        l->status = kr_analysis_line(a, method)->status;
        l->level = kr_level_double(kr_analysis_line_limits(a, method)->level);
    } else {
        l->state = kr_joint_state(a, mode->kind, method, k);
        l->level = kr_level_double(kr_joint_level(a, mode->kind, method, k));
    }
    if (p.max_events < 0 && l->status == KR_ST_OK)
        l->status = KR_ST_CANNOT_CERTIFY;
    if (l->certified >= 0)
        l->p_certified = p_of(mode->kind, l->events, l->n, k.risk);
    if (l->stopped >= 0 && p.stopped_events >= 0)
        l->p_stopped = p_of(mode->kind, p.stopped_events, l->n, k.risk);
    return KR_OK;
}

kr_status kr_mode_walk(kr_analysis *a, const kr_mode *mode, size_t method, kr_mode_line *out,
                       kr_error *err) {
    kr_mode_line l = {.kind = mode->kind, .certified = -1, .stopped = -1, .p_certified = NAN,
                      .p_stopped = NAN, .bound = NAN, .events = -1, .max_events = -1,
                      .n = kr_analysis_n(a), .level = kr_level_double(kr_analysis_level(a)),
                      .inapplicable = inapplicable(a, mode->kind)};
    l.state = state_of(a, mode, method);
    walk w = {.a = a, .c = kr_analysis_calib(a), .mode = mode, .method = method,
              .k = kr_analysis_contract(a), .level = kr_analysis_level(a)};
    w.tasks = kr_calib_tasks(w.c);
    kr_status st = KR_OK;
    if (l.inapplicable != NULL) {
        l.status = KR_ST_REFUSED;
    } else if (l.state == KR_STATE_REFUSED) {
        l.status = KR_ST_REFUSED;
    } else if (mode->kind < KR_MODE_MIXTURE) {
        st = walk_table(a, mode, method, &l, err);
    } else {
        st = prepare(&w, err);
        if (st == KR_OK)
            st = walk_rows(&w, &l, err);
    }
    release(&w);
    if (st == KR_OK)
        *out = l;
    return st;
}

static kr_status reach(kr_analysis *a, const kr_mode *mode, size_t method, int candidate,
                       kr_level level, size_t to, int *thousandths, kr_error *err) {
    walk w = {.a = a, .c = kr_analysis_calib(a), .mode = mode, .method = method,
              .k = kr_analysis_contract(a), .level = level};
    w.tasks = kr_calib_tasks(w.c);
    *thousandths = -1;
    if (candidate < 0 || w.tasks == 0)
        return KR_OK;
    kr_status st = prepare(&w, err);
    size_t policy = kr_calib_method(w.c, method)->first + (size_t)candidate;
    if (st == KR_OK)
        st = count_tasks(&w, policy, err);
    if (st == KR_OK && w.n[to] > 0)
        st = kr_mixture_reach(w.tasks, w.events, w.n, w.weight, to, w.k.risk, w.level, thousandths,
                              err);
    release(&w);
    return st;
}

kr_status kr_mode_reach(kr_analysis *a, size_t method, size_t to, int *thousandths, kr_error *err) {
    kr_mode mode = {.kind = KR_MODE_MIXTURE};
    return reach(a, &mode, method, kr_analysis_line(a, method)->certified,
                 kr_analysis_line_limits(a, method)->level, to, thousandths, err);
}

kr_status kr_mode_reach_from(kr_analysis *a, const kr_mode *mode, size_t method,
                             const kr_mode_line *l, size_t to, int *thousandths, kr_error *err) {
    return reach(a, mode, method, l->certified, kr_analysis_level(a), to, thousandths, err);
}
