#include "verdict/simrun.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "risk/binomial.h"

#define MAX_THREADS 64
#define CHUNK_WORK 4000000 /* requests x candidates between two looks at `cancel` */

struct kr_simrun {
    kr_sim *sim;
    kr_simrun_options options;
    kr_sim_tally *sum, *shown;
    pthread_mutex_t lock; /* guards what follows, and *sum */
    bool has_lock;
    size_t tasks;
    int64_t next, chunk;
    int running;
    bool cancel;
    kr_status status;
    pthread_t thread[MAX_THREADS];
    int started;
};

/* --- the population ----------------------------------------------------------------------------- */

typedef struct {
    uint32_t *task;
    uint8_t *event;
    size_t *length;
    double *level;
    size_t rows, tasks;
} pool;

static void free_pool(pool *p) {
    free(p->task);
    free(p->event);
    free(p->length);
    free(p->level);
}

static kr_status alloc_pool(const kr_calib *c, size_t rows, pool *p, kr_error *err) {
    size_t m = kr_calib_policies(c);
    if (rows > 0 && m > SIZE_MAX / rows)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    p->task = calloc(rows, sizeof *p->task);
    p->event = calloc(rows, m);
    p->length = calloc(kr_calib_methods(c), sizeof *p->length);
    p->level = calloc(m, sizeof *p->level);
    bool ok = p->task != NULL && p->event != NULL && p->length != NULL && p->level != NULL;
    return ok ? KR_OK : kr_fail(err, KR_ENOMEM, "out of memory for %zu requests", rows);
}

static kr_status make_pool(const kr_analysis *a, pool *p, kr_error *err) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_split s = kr_analysis_options_of(a).split;
    size_t m = kr_calib_policies(c), tasks = kr_calib_tasks(c);
    /* Tasks of equal size: the certificate is for their uniform mixture, and draws are as even. Else
     * it is for the mixture as sampled, and requests are drawn from all of them. */
    bool even = kr_calib_task_uniform(c, s);
    int64_t tolerance;
    uint32_t *name = calloc(tasks + 1, sizeof *name);
    kr_status st = name == NULL ? kr_fail(err, KR_ENOMEM, "out of memory")
                                : alloc_pool(c, (size_t)kr_calib_n(c, s), p, err);
    for (size_t t = 0; st == KR_OK && t < tasks; t++)
        name[t] = even ? (uint32_t)t : 0;
    p->tasks = even ? tasks : 1;
    if (st == KR_OK && !kr_dec_nano(kr_analysis_contract(a).tolerance, &tolerance))
        st = kr_fail(err, KR_EINVAL, "the tolerance is too large");
    for (size_t i = 0; st == KR_OK && i < kr_calib_rows(c); i++) {
        kr_request r = kr_calib_row(c, i);
        if (r.split != s)
            continue;
        p->task[p->rows] = name[r.task];
        for (size_t j = 0; j < m; j++)
            p->event[p->rows * m + j] = kr_calib_row_drop(c, i, j) > tolerance;
        p->rows++;
    }
    for (size_t k = 0, j = 0; st == KR_OK && k < kr_calib_methods(c); k++) {
        p->length[k] = kr_calib_method(c, k)->count;
        for (size_t i = 0; i < p->length[k]; i++, j++)
            p->level[j] = kr_share_kept(c, k, (int)i);
    }
    free(name);
    return st;
}

static kr_status check(const kr_analysis *a, kr_error *err) {
    kr_analysis_options o = kr_analysis_options_of(a);
    const kr_calib *c = kr_analysis_calib(a);
    if (kr_calib_meta_of(c)->kind == KR_KIND_COUNTS)
        return kr_fail(err, KR_EINVAL, "published counts have no requests to draw from");
    if (kr_calib_n(c, o.split) < 1)
        return kr_fail(err, KR_EINVAL, "there are no requests to draw from");
    if (kr_analysis_dependent(a) && !o.assume_independent)
        return kr_fail(err, KR_EINVAL,
                       "requests share clusters or prompts: drawn one by one they would look independent, "
                       "which they are not, so there is nothing to simulate; --assume-independent does it "
                       "all the same");
    return KR_OK;
}

static kr_status make_sim(const kr_analysis *a, kr_simrun *r, kr_error *err) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_contract k = kr_analysis_contract(a);
    pool p = {0};
    kr_status st = check(a, err);
    if (st == KR_OK)
        st = make_pool(a, &p, err);
    if (st == KR_OK) {
        if (r->options.n == 0)
            r->options.n = (int64_t)p.rows;
        kr_sim_setup setup = {.rows = p.rows, .tasks = p.tasks, .task = p.task,
                              .methods = kr_calib_methods(c), .length = p.length, .level = p.level,
                              .event = p.event, .n = r->options.n, .eps = k.risk,
                              .delta = r->options.level.den > 0 ? r->options.level : kr_contract_level(&k, 1),
                              .seed = r->options.seed};
        int64_t words = (int64_t)kr_calib_policies(c) / 8 + 1;
        st = kr_sim_new(&setup, &r->sim, err);
        r->chunk = CHUNK_WORK / words / r->options.n + 1;
        r->tasks = p.tasks;
    }
    free_pool(&p);
    return st;
}

/* --- work ---------------------------------------------------------------------------------------- */

static int64_t take_chunk(kr_simrun *r, int64_t *count) {
    pthread_mutex_lock(&r->lock);
    int64_t first = r->cancel || r->status != KR_OK ? r->options.draws : r->next;
    *count = r->options.draws - first < r->chunk ? r->options.draws - first : r->chunk;
    r->next = first + *count;
    pthread_mutex_unlock(&r->lock);
    return first;
}

static void give_back(kr_simrun *r, kr_sim_tally *t, kr_status st) {
    pthread_mutex_lock(&r->lock);
    if (st == KR_OK)
        kr_sim_tally_add(r->sim, r->sum, t);
    else
        r->status = st;
    pthread_mutex_unlock(&r->lock);
}

static void *work(void *arg) {
    kr_simrun *r = arg;
    int64_t count;
    for (int64_t first = take_chunk(r, &count); count > 0; first = take_chunk(r, &count)) {
        kr_sim_tally *t = NULL;
        kr_status st = kr_sim_tally_new(r->sim, &t, NULL);
        if (st == KR_OK)
            st = kr_sim_run(r->sim, first, count, t, NULL);
        give_back(r, t, st);
        kr_sim_tally_free(t);
        if (st != KR_OK)
            break;
    }
    pthread_mutex_lock(&r->lock);
    r->running--;
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static kr_status start_threads(kr_simrun *r, kr_error *err) {
    if (pthread_mutex_init(&r->lock, NULL) != 0)
        return kr_fail(err, KR_ENOMEM, "cannot start threads");
    r->has_lock = true;
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->options.threads; i++) {
        if (pthread_create(&r->thread[i], NULL, work, r) != 0)
            break;
        r->started++;
        r->running++;
    }
    pthread_mutex_unlock(&r->lock);
    return r->started > 0 ? KR_OK : kr_fail(err, KR_ENOMEM, "cannot start threads");
}

kr_status kr_simrun_start(const kr_analysis *a, kr_simrun_options options, kr_simrun **out,
                          kr_error *err) {
    if (options.draws < 1 || options.n < 0 || options.threads < 1)
        return kr_fail(err, KR_EINVAL, "a simulation needs at least one draw and one thread");
    kr_simrun *r = calloc(1, sizeof *r);
    if (r == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    r->options = options;
    if (r->options.threads > MAX_THREADS)
        r->options.threads = MAX_THREADS;
    kr_status st = make_sim(a, r, err);
    if (st == KR_OK)
        st = kr_sim_tally_new(r->sim, &r->sum, err);
    if (st == KR_OK)
        st = kr_sim_tally_new(r->sim, &r->shown, err);
    if (st == KR_OK)
        st = start_threads(r, err);
    if (st != KR_OK) {
        kr_simrun_free(r);
        return st;
    }
    *out = r;
    return KR_OK;
}

const kr_sim_tally *kr_simrun_poll(kr_simrun *r, bool *ended) {
    kr_sim_tally *fresh = NULL;
    pthread_mutex_lock(&r->lock);
    if (kr_sim_tally_new(r->sim, &fresh, NULL) == KR_OK) {
        kr_sim_tally_add(r->sim, fresh, r->sum);
        kr_sim_tally_free(r->shown);
        r->shown = fresh;
    }
    *ended = r->running == 0;
    pthread_mutex_unlock(&r->lock);
    return r->shown;
}

kr_status kr_simrun_status(const kr_simrun *r) {
    if (r->status != KR_OK)
        return r->status;
    return r->sum->draws < r->options.draws ? KR_ECANCELED : KR_OK;
}

void kr_simrun_cancel(kr_simrun *r) {
    pthread_mutex_lock(&r->lock);
    r->cancel = true;
    pthread_mutex_unlock(&r->lock);
}

void kr_simrun_free(kr_simrun *r) {
    if (r == NULL)
        return;
    if (r->has_lock) {
        kr_simrun_cancel(r);
        for (int i = 0; i < r->started; i++)
            pthread_join(r->thread[i], NULL);
        pthread_mutex_destroy(&r->lock);
    }
    kr_sim_tally_free(r->sum);
    kr_sim_tally_free(r->shown);
    kr_sim_free(r->sim);
    free(r);
}

const kr_sim *kr_simrun_sim(const kr_simrun *r) { return r->sim; }
kr_simrun_options kr_simrun_options_of(const kr_simrun *r) { return r->options; }

size_t kr_simrun_tasks(const kr_simrun *r) { return r->tasks; }

kr_sim_row kr_sim_row_of(const kr_sim *s, const kr_sim_tally *t, kr_sim_rule rule, size_t method) {
    kr_sim_row x = {.of = kr_sim_result_of(s, t, rule, method), .broken = NAN, .lower = NAN, .upper = NAN,
                    .fallback = NAN, .mean_lower = NAN, .mean_upper = NAN};
    double n = (double)t->draws, half = 1.959963984540054 * x.of.sd / sqrt(n);
    if (t->draws < 1)
        return x;
    x.broken = (double)x.of.broken / n;
    x.lower = kr_binom_lower(x.of.broken, t->draws, 0.025);
    x.upper = kr_binom_upper(x.of.broken, t->draws, 0.025);
    x.fallback = (double)x.of.fallback / n;
    x.mean_lower = x.of.mean - half;
    x.mean_upper = x.of.mean + half > 1 ? 1 : x.of.mean + half;
    return x;
}

const char *kr_sim_rule_name(kr_sim_rule rule) {
    static const char *const names[KR_SIM_RULES] = {"certified", "empirical", "best_family",
                                                    "best_uncorrected", "best_empirical"};
    return names[rule];
}
