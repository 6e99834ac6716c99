#include "engine/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SPINS = 4000, /* about 20 us of waiting before a worker sleeps */
    TICK_NS = 50 * 1000 * 1000,
};

typedef struct {
    kr_pool *pool;
    size_t index;
    pthread_t id;
} worker;

/* `ticket` holds the job's number in the upper half and how many tiles are still to be taken in the
 * lower. A worker that comes late cannot take a tile of another job: either nothing is left or its
 * exchange fails, because the number moved on. fn, arg and n are written before the ticket and stay
 * until the last tile is done. */
struct kr_pool {
    size_t n_workers;
    worker *workers;
    _Atomic uint64_t ticket;
    _Atomic size_t n, done;
    _Atomic(kr_pool_fn) fn;
    _Atomic(void *) arg;
    atomic_bool cancelled, stop;
    atomic_size_t sleepers;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool (*tick)(void *);
    void *tick_arg;
    int64_t last_tick;
};

static uint32_t job_of(uint64_t ticket) {
    return (uint32_t)(ticket >> 32);
}

/* Takes one tile of job `job`; false when none is left or the job is over. */
static bool take(kr_pool *p, uint32_t job, size_t *tile, kr_pool_fn *fn, void **arg) {
    uint64_t t = atomic_load(&p->ticket);
    for (;;) {
        uint32_t to_take = (uint32_t)t;
        size_t n = atomic_load(&p->n);
        *fn = atomic_load(&p->fn);
        *arg = atomic_load(&p->arg);
        if (job_of(t) != job || to_take == 0)
            return false;
        if (atomic_compare_exchange_weak(&p->ticket, &t, t - 1)) {
            *tile = n - to_take;
            return true;
        }
    }
}

static void work(kr_pool *p, uint32_t job, size_t thread) {
    size_t tile;
    kr_pool_fn fn;
    void *arg;
    while (take(p, job, &tile, &fn, &arg)) {
        if (!atomic_load(&p->cancelled))
            fn(arg, tile, thread);
        atomic_fetch_add(&p->done, 1);
    }
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Waits until the job number differs from `seen`; returns the new one. */
static uint32_t await(kr_pool *p, uint32_t seen) {
    for (int i = 0; i < SPINS; i++) {
        uint32_t job = job_of(atomic_load(&p->ticket));
        if (job != seen || atomic_load(&p->stop))
            return job;
        pause_briefly();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (job_of(atomic_load(&p->ticket)) == seen && !atomic_load(&p->stop))
        pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
    return job_of(atomic_load(&p->ticket));
}

static void *loop(void *v) {
    worker *w = v;
    kr_pool *p = w->pool;
    uint32_t seen = 0;
    for (;;) {
        seen = await(p, seen);
        if (atomic_load(&p->stop))
            return NULL;
        work(p, seen, w->index);
    }
}

kr_status kr_pool_new(size_t threads, kr_pool **out, kr_error *err) {
    if (threads < 1 || threads > KR_POOL_MAX_THREADS)
        return kr_fail(err, KR_EINVAL, "the number of threads is %zu; expected 1 to %d", threads,
                       KR_POOL_MAX_THREADS);
    kr_pool *p = calloc(1, sizeof *p);
    worker *w = calloc(threads, sizeof *w);
    if (p == NULL || w == NULL) {
        free(p);
        free(w);
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu threads", threads);
    }
    p->workers = w;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    for (; p->n_workers + 1 < threads; p->n_workers++) {
        w[p->n_workers] = (worker){.pool = p, .index = p->n_workers + 1};
        int e = pthread_create(&w[p->n_workers].id, NULL, loop, &w[p->n_workers]);
        if (e != 0) {
            kr_pool_free(p);
            return kr_fail(err, KR_ENOMEM, "cannot start a thread: %s", strerror(e));
        }
    }
    *out = p;
    return KR_OK;
}

void kr_pool_free(kr_pool *p) {
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->stop, true);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->n_workers; i++)
        pthread_join(p->workers[i].id, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->workers);
    free(p);
}

size_t kr_pool_threads(const kr_pool *p) {
    return p->n_workers + 1;
}

/* A core is counted where its first hardware thread is met. */
size_t kr_pool_cores(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = online < 1 ? 1 : (size_t)online, cores = 0;
    for (size_t cpu = 0; cpu < n && cpu < KR_POOL_MAX_THREADS; cpu++) {
        char path[96];
        unsigned long first;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list",
                 cpu);
        FILE *f = fopen(path, "r");
        if (f == NULL)
            return n < KR_POOL_MAX_THREADS ? n : KR_POOL_MAX_THREADS;
        if (fscanf(f, "%lu", &first) == 1 && first == cpu)
            cores++;
        fclose(f);
    }
    return cores > 0 ? cores : 1;
}

void kr_pool_on_tick(kr_pool *p, bool (*tick)(void *arg), void *arg) {
    p->tick = tick;
    p->tick_arg = arg;
    p->last_tick = 0;
}

static int64_t now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void maybe_tick(kr_pool *p) {
    if (p->tick == NULL)
        return;
    int64_t now = now_ns();
    if (now - p->last_tick < TICK_NS)
        return;
    p->last_tick = now;
    if (!p->tick(p->tick_arg))
        atomic_store(&p->cancelled, true);
}

static bool run_here(kr_pool *p, size_t n, kr_pool_fn fn, void *arg) {
    for (size_t i = 0; i < n && !atomic_load(&p->cancelled); i++) {
        fn(arg, i, 0);
        maybe_tick(p);
    }
    return !atomic_load(&p->cancelled);
}

static void publish(kr_pool *p, size_t n, kr_pool_fn fn, void *arg) {
    uint32_t job = job_of(atomic_load(&p->ticket)) + 1;
    atomic_store(&p->fn, fn);
    atomic_store(&p->arg, arg);
    atomic_store(&p->done, 0);
    atomic_store(&p->n, n);
    atomic_store(&p->ticket, (uint64_t)job << 32 | n);
    if (atomic_load(&p->sleepers) > 0) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
    }
}

bool kr_pool_run(kr_pool *p, size_t n, kr_pool_fn fn, void *arg) {
    if (p == NULL) {
        for (size_t i = 0; i < n; i++)
            fn(arg, i, 0);
        return true;
    }
    atomic_store(&p->cancelled, false);
    if (n < 2 || n > UINT32_MAX || p->n_workers == 0)
        return run_here(p, n, fn, arg);
    publish(p, n, fn, arg);
    uint32_t job = job_of(atomic_load(&p->ticket));
    size_t tile;
    while (take(p, job, &tile, &fn, &arg)) {
        if (!atomic_load(&p->cancelled))
            fn(arg, tile, 0);
        atomic_fetch_add(&p->done, 1);
        maybe_tick(p);
    }
    for (int i = 0; atomic_load(&p->done) < n; i++) {
        if (i < SPINS)
            pause_briefly();
        else
            sched_yield();
    }
    return !atomic_load(&p->cancelled);
}
