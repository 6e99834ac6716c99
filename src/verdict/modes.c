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
    bool ideal; /* as if nothing were degraded: can this many requests certify at all? */
    bool bounds; /* upper limits are wanted as well where they take long */
} walk;

/* The result for one candidate. */
typedef struct {
    double p, bound;
    int64_t events, n;
} tested;

typedef kr_status (*test_fn)(walk *w, size_t policy, tested *t, kr_error *err);

static bool degraded(const walk *w, size_t row, size_t policy) {
    return !w->ideal && kr_calib_row_drop(w->c, row, policy) > w->tolerance;
}

/* --- counts by task ------------------------------------------------------------------------------ */

static kr_status count_tasks(walk *w, size_t policy, kr_error *err) {
    kr_split s = kr_analysis_options_of(w->a).split;
    kr_task_drops *d = kr_task_drops_new(w->c, policy, s);
    if (d == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t t = 0; t < w->tasks; t++) {
        w->events[t] = w->ideal ? 0 : kr_task_drops_events(d, t, w->tolerance);
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
    double upper = NAN;
    if (st == KR_OK && w->bounds)
        st = kr_mixture_upper(w->tasks, w->events, w->n, w->weight, w->level, &upper, err);
    if (st == KR_OK)
        *t = (tested){m.p, upper, -1, kr_analysis_n(w->a)};
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
        w->loss[to] =
            w->ideal ? 0 : kr_mean_loss(kr_calib_row_drop(w->c, w->rows.row[i], policy), w->range);
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
kr_mean_kind kr_mode_mean(const kr_analysis *a, const kr_mode *mode) {
    return kr_calib_task_uniform(kr_analysis_calib(a), kr_analysis_options_of(a).split) ? mode->mean
                                                                                        : KR_MEAN_HB;
}

static kr_status test_mean(walk *w, size_t policy, tested *t, kr_error *err) {
    kr_mean_kind kind = kr_mode_mean(w->a, w->mode);
    size_t round = kind == KR_MEAN_WSR_ROUNDS ? present_tasks(w) : 0;
    int64_t n = (int64_t)w->rows.n, each = round > 0 ? (int64_t)round : 1;
    losses(w, policy, round);
    kr_mean_claim m = {1, NAN};
    kr_status st = KR_OK;
    if (w->bounds)
        st = kr_mean_test(kind, w->loss, n, each, w->k.risk, w->level, &m, err);
    else
        m.p = kr_mean_p(kind, w->loss, n, each, w->k.risk, w->level);
    *t = (tested){m.p, m.upper, -1, n};
    return st;
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
    if (kind < KR_MODE_MIXTURE)
        return NULL;
    if (kr_calib_meta_of(c)->kind == KR_KIND_COUNTS)
        return "published counts have no requests to look at";
    if (modes[kind].clusters && !kr_analysis_dependent(a))
        return "no requests share a cluster";
    return NULL;
}

static bool same_weights(const kr_analysis *a, const kr_ratio *w) {
    const kr_ratio *d = kr_analysis_declared(a)->weight;
    if (d == NULL || w == NULL)
        return w == NULL; /* those of the file, whatever they are */
    for (size_t t = 0; t < kr_calib_tasks(kr_analysis_calib(a)); t++)
        if (kr_ratio_cmp(d[t], w[t]) != 0)
            return false;
    return true;
}

bool kr_mode_of_clusters(kr_mode_kind kind) { return modes[kind].clusters; }

bool kr_mode_declared(const kr_analysis *a, const kr_mode *m, size_t method) {
    const kr_declared *d = kr_analysis_declared(a);
    const kr_home *h = kr_analysis_home_info(a);
    bool weighed = m->kind == KR_MODE_MIXTURE || m->kind == KR_MODE_SUBSAMPLE;
    bool seeded = m->kind == KR_MODE_SUBSAMPLE || m->kind == KR_MODE_CLUSTER_ONE;
    bool declared = d->mode == m->kind && h->kind == KR_HOME_FILE &&
                    (!weighed || same_weights(a, m->weight)) && (!seeded || m->seed == d->seed) &&
                    (m->kind != KR_MODE_MEAN_DROP || m->mean == d->mean);
    return declared && kr_analysis_line_declared(a, method) && kr_analysis_at_home(a);
}

static kr_state state_of(const kr_analysis *a, const kr_mode *m, size_t method) {
    if (!modes[m->kind].clusters && kr_analysis_dependent(a) &&
        !kr_analysis_options_of(a).assume_independent)
        return KR_STATE_REFUSED;
    return kr_mode_declared(a, m, method) ? KR_STATE_LOCKED : KR_STATE_WHAT_IF;
}

void kr_mode_weights(const kr_analysis *a, const kr_mode *mode, kr_ratio *out) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_split s = kr_analysis_options_of(a).split;
    const kr_ratio *own = mode->weight != NULL ? mode->weight : kr_analysis_declared(a)->weight;
    bool sampled = mode->kind != KR_MODE_MIXTURE && mode->kind != KR_MODE_SUBSAMPLE;
    int64_t present = 0, n = kr_analysis_n(a);
    for (size_t t = 0; t < kr_calib_tasks(c); t++)
        present += kr_calib_task_n(c, s, t) > 0;
    for (size_t t = 0; t < kr_calib_tasks(c); t++) {
        int64_t have = kr_calib_task_n(c, s, t);
        out[t] = sampled       ? kr_ratio_make(have, n)
                 : own != NULL ? own[t]
                               : kr_ratio_make(have > 0, present);
    }
}

static kr_status set_weights(walk *w, kr_error *err) {
    w->weight = malloc((w->tasks > 0 ? w->tasks : 1) * sizeof *w->weight);
    if (w->weight == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    kr_mode_weights(w->a, w->mode, w->weight);
    return KR_OK;
}

static kr_status choose_rows(walk *w, const char **inapplicable, kr_error *err) {
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
    if (st == KR_OK && total == 0)
        *inapplicable = "no subsample of these requests has exactly these weights";
    else if (st == KR_OK)
        st = kr_split_take(w->rows.n, w->rows.task, w->tasks, w->events, w->mode->seed, w->keep, err);
    return st;
}

static kr_status prepare(walk *w, const char **inapplicable, kr_error *err) {
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
    return choose_rows(w, inapplicable, err);
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

static kr_status test_one(walk *w, size_t policy, tested *t, kr_error *err) {
    *t = (tested){1, NAN, -1, 0};
    return modes[w->mode->kind].test(w, policy, t, err);
}

/* Whether even a policy that degrades nothing would not be certified. */
static kr_status hopeless(walk *w, size_t policy, bool *out, kr_error *err) {
    tested t;
    w->ideal = true;
    kr_status st = test_one(w, policy, &t, err);
    w->ideal = false;
    *out = kr_p_decide(t.p, kr_level_double(w->level)) != KR_REJECT_YES;
    return st;
}

static void keep(kr_mode_candidate *c, const tested *t, kr_verdict verdict) {
    if (c != NULL)
        *c = (kr_mode_candidate){t->events, t->p, t->bound, NAN, verdict};
}

static kr_status walk_rows(walk *w, kr_mode_line *l, kr_mode_candidate *out, kr_error *err) {
    const kr_method *m = kr_calib_method(w->c, w->method);
    tested t = {1, NAN, -1, 0};
    kr_status st = KR_OK;
    for (size_t j = 0; st == KR_OK && l->stopped < 0 && j < m->count; j++) {
        st = test_one(w, m->first + j, &t, err);
        kr_reject r = kr_p_decide(t.p, l->level);
        keep(out != NULL ? &out[j] : NULL, &t, r == KR_REJECT_YES ? KR_VERDICT_PASS : KR_VERDICT_STOP);
        l->n = t.n;
        if (r != KR_REJECT_YES) {
            l->stopped = (int)j;
            l->p_stopped = t.p;
            l->status = r == KR_REJECT_UNDECIDED ? KR_ST_UNDECIDED : KR_ST_OK;
            continue;
        }
        l->certified = (int)j;
        l->p_certified = t.p;
        l->events = t.events;
        l->bound = t.bound;
    }
    bool never = false;
    if (st == KR_OK && l->certified < 0 && m->count > 0)
        st = hopeless(w, m->first, &never, err);
    if (never)
        l->status = KR_ST_CANNOT_CERTIFY;
    if (modes[w->mode->kind].test == test_kept || w->mode->kind == KR_MODE_CLUSTER_MAX)
        l->max_events = kr_kmax(l->n, w->k.risk, w->level);
    return st;
}

/* --- tables --------------------------------------------------------------------------------------- */

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

/* The candidates of a table at k, with the running limits that the tables of 7.1 and 7.4 are made of:
 * whatever is picked, a candidate is certified with all before it, so the largest limit counts. */
static kr_status fill_table(kr_analysis *a, kr_mode_kind kind, size_t method, kr_contract k,
                            const kr_mode_line *l, kr_mode_candidate *out, kr_error *err) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_method *m = kr_calib_method(c, method);
    kr_split s = kr_analysis_options_of(a).split;
    double worst = 0, upper = 0;
    kr_level each = {0};
    bool running = kind == KR_MODE_RISKS && kr_joint_limits_level(a, method, &each);
    if (kind == KR_MODE_EVENTS) /* pointwise */
        each = kr_analysis_line_limits(a, method)->level;
    int64_t tolerance;
    if (!kr_dec_nano(k.tolerance, &tolerance))
        return kr_fail(err, KR_EINVAL, "the tolerance is too large");
    for (size_t j = 0; j < m->count; j++) {
        int64_t events = kr_calib_events(c, m->first + j, s, tolerance);
        kr_mode_candidate x = {events, events < 0 ? 1 : p_of(kind, events, l->n, k.risk), NAN, NAN,
                               KR_VERDICT_UNTESTED};
        if ((int)j <= l->certified)
            x.verdict = KR_VERDICT_PASS;
        else if ((int)j == l->stopped)
            x.verdict = KR_VERDICT_STOP;
        if (running || kind == KR_MODE_EVENTS) {
            double u = events < 0 ? 1 : kr_binom_upper_strat(events, l->n, kr_level_double(each));
            x.bound = upper = running ? fmax(upper, u) : u;
        }
        kr_dec t;
        if (kind == KR_MODE_TOLERANCES) {
            worst = kr_joint_tolerance_at(a, method, j, l->max_events, &t) ? fmax(worst, kr_dec_double(t))
                                                                           : INFINITY;
            x.tolerance = worst;
        }
        out[j] = x;
    }
    return KR_OK;
}

static kr_status walk_table(kr_analysis *a, const kr_mode *mode, size_t method, kr_mode_line *l,
                            kr_mode_candidate *out, kr_error *err) {
    kr_contract k = kr_analysis_contract(a), at = k;
    kr_point p;
    bool own = mode->kind == KR_MODE_EVENTS, on_grid = own || kr_joint_contract(a, mode->kind, &at);
    kr_status st = own ? kr_analysis_at(a, method, k, &p, err)
                       : kr_joint_at(a, mode->kind, method, k, &p, err);
    if (st != KR_OK)
        return st;
    from_point(l, &p);
    if (own) {
        l->state = kr_analysis_line_state(a, method);
        l->status = kr_analysis_line(a, method)->status;
        l->level = kr_level_double(kr_analysis_line_limits(a, method)->level);
    } else {
        l->state = kr_joint_state(a, mode->kind, method, k);
        l->level = kr_level_double(kr_joint_level(a, mode->kind, method, k));
        if (!on_grid)
            l->inapplicable = "no declared point lies at or below this contract";
    }
    if (l->inapplicable != NULL)
        l->status = KR_ST_REFUSED;
    else if (p.max_events < 0 && l->status == KR_ST_OK)
        l->status = KR_ST_CANNOT_CERTIFY;
    if (l->certified >= 0)
        l->p_certified = p_of(mode->kind, l->events, l->n, at.risk);
    if (l->stopped >= 0 && p.stopped_events >= 0)
        l->p_stopped = p_of(mode->kind, p.stopped_events, l->n, at.risk);
    if (l->status == KR_ST_OK && kr_p_decide(l->p_stopped, l->level) == KR_REJECT_UNDECIDED)
        l->status = KR_ST_UNDECIDED;
    return out == NULL ? KR_OK : fill_table(a, mode->kind, method, at, l, out, err);
}

/* A line that could not be judged has the state that says why. */
static kr_state state_by_status(kr_state s, kr_verdict_status status) {
    if (s == KR_STATE_REFUSED)
        return s;
    return status == KR_ST_CANNOT_CERTIFY ? KR_STATE_N_TOO_SMALL
           : status == KR_ST_UNDECIDED    ? KR_STATE_UNDECIDED
                                          : s;
}

static kr_status walk_mode(kr_analysis *a, const kr_mode *mode, size_t method, kr_mode_line *out,
                           kr_mode_candidate *each, kr_error *err) {
    kr_mode_line l = {.kind = mode->kind, .certified = -1, .stopped = -1, .p_certified = NAN,
                      .p_stopped = NAN, .bound = NAN, .events = -1, .max_events = -1,
                      .n = kr_analysis_n(a), .level = kr_level_double(kr_analysis_level(a)),
                      .inapplicable = inapplicable(a, mode->kind)};
    l.state = state_of(a, mode, method);
    walk w = {.a = a, .c = kr_analysis_calib(a), .mode = mode, .method = method,
              .k = kr_analysis_contract(a), .level = kr_analysis_level(a), .bounds = each != NULL};
    w.tasks = kr_calib_tasks(w.c);
    kr_status st = KR_OK;
    for (size_t j = 0; each != NULL && j < kr_calib_method(w.c, method)->count; j++)
        each[j] = (kr_mode_candidate){-1, NAN, NAN, NAN, KR_VERDICT_UNTESTED};
    if (l.inapplicable != NULL || l.state == KR_STATE_REFUSED) {
        l.status = KR_ST_REFUSED;
    } else if (mode->kind < KR_MODE_MIXTURE) {
        st = walk_table(a, mode, method, &l, each, err);
    } else {
        st = prepare(&w, &l.inapplicable, err);
        if (l.inapplicable != NULL)
            l.status = KR_ST_REFUSED;
        else if (st == KR_OK)
            st = walk_rows(&w, &l, each, err);
    }
    release(&w);
    l.state = state_by_status(l.state, l.status);
    if (st == KR_OK)
        *out = l;
    return st;
}

kr_status kr_mode_walk(kr_analysis *a, const kr_mode *mode, size_t method, kr_mode_line *out,
                       kr_error *err) {
    return walk_mode(a, mode, method, out, NULL, err);
}

kr_status kr_mode_candidates(kr_analysis *a, const kr_mode *mode, size_t method, kr_mode_line *line,
                             kr_mode_candidate *out, kr_error *err) {
    return walk_mode(a, mode, method, line, out, err);
}

/* Largest limit among the certified candidate and those before it, at `level`: the certified one stays
 * certified for every risk target above. */
static double running_upper(const kr_analysis *a, const kr_mode_candidate *each, int certified,
                            kr_level level) {
    double most = 0;
    for (int j = 0; j <= certified; j++)
        most = fmax(most, kr_binom_upper_strat(each[j].events, kr_analysis_n(a), kr_level_double(level)));
    return most;
}

static void put_room(const kr_analysis *a, const kr_ratio *weight, double upper, double *growth,
                     double *reach) {
    kr_dec eps = kr_analysis_contract(a).risk;
    *growth = kr_mixture_growth(upper, eps);
    for (size_t t = 0; t < kr_calib_tasks(kr_analysis_calib(a)); t++)
        reach[t] = kr_mixture_reach(weight[t].value, upper, eps);
}

static void fill_room(kr_analysis *a, const kr_mode *mode, size_t method, const kr_mode_line *l,
                      const kr_mode_candidate *each, const kr_ratio *weight, kr_room *out) {
    kr_level later;
    double upper = 0;
    bool single = kr_calib_method(kr_analysis_calib(a), method)->count == 1;
    if (mode->kind == KR_MODE_EVENTS) {
        kr_level own = kr_analysis_line_limits(a, method)->level;
        upper = running_upper(a, each, l->certified, own);
        if (single) /* one policy: its limit is one bound for every target (7.4) */
            put_room(a, weight, upper, &out->later, out->reach_later);
        else if (kr_joint_limits_level(a, method, &later))
            put_room(a, weight, running_upper(a, each, l->certified, later), &out->later,
                     out->reach_later);
    } else {
        for (int j = 0; j <= l->certified; j++)
            upper = fmax(upper, each[j].bound);
    }
    put_room(a, weight, upper, &out->growth, out->reach);
}

kr_status kr_mode_room(kr_analysis *a, const kr_mode *mode, size_t method, kr_room *out,
                       kr_error *err) {
    const kr_calib *c = kr_analysis_calib(a);
    size_t tasks = kr_calib_tasks(c);
    kr_room r = {.growth = NAN, .later = NAN};
    kr_mode_candidate *each = malloc((kr_calib_method(c, method)->count + 1) * sizeof *each);
    kr_ratio *weight = malloc((tasks + 1) * sizeof *weight);
    r.reach = calloc(2 * tasks + 1, sizeof *r.reach);
    r.reach_later = r.reach + tasks;
    kr_mode_line l;
    kr_status st = each == NULL || weight == NULL || r.reach == NULL
                       ? kr_fail(err, KR_ENOMEM, "out of memory")
                       : kr_mode_candidates(a, mode, method, &l, each, err);
    bool of_mixture = mode->kind == KR_MODE_EVENTS || mode->kind == KR_MODE_MIXTURE ||
                      mode->kind == KR_MODE_SUBSAMPLE;
    if (st == KR_OK && of_mixture && l.certified >= 0 && tasks > 1) {
        kr_mode_weights(a, mode, weight);
        fill_room(a, mode, method, &l, each, weight, &r);
    }
    free(each);
    free(weight);
    if (st != KR_OK) {
        free(r.reach);
        return st;
    }
    *out = r;
    return KR_OK;
}

void kr_room_free(kr_room *r) {
    free(r->reach);
    *r = (kr_room){0};
}
