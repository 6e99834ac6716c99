#include "help.h"

#include <stdatomic.h>
#include <time.h>

#include "engine/pool.h"

enum { TILES = 300 };

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

typedef struct {
    atomic_int times[TILES];
    atomic_int busy[KR_POOL_MAX_THREADS];
    size_t threads;
    atomic_int bad;
} seen;

static void mark(void *arg, size_t tile, size_t thread) {
    seen *s = arg;
    if (tile >= TILES || thread >= s->threads) {
        atomic_fetch_add(&s->bad, 1);
        return;
    }
    if (atomic_fetch_add(&s->busy[thread], 1) != 0)
        atomic_fetch_add(&s->bad, 1);
    atomic_fetch_add(&s->times[tile], 1);
    atomic_fetch_sub(&s->busy[thread], 1);
}

static void every_tile_runs_once_however_quickly_jobs_follow(void **state) {
    (void)state;
    for (size_t threads = 1; threads <= 5; threads++) {
        kr_pool *p = NULL;
        kr_error e = {0};
        must(kr_pool_new(threads, &p, &e), &e);
        assert_int_equal(kr_pool_threads(p), threads);
        for (size_t job = 0; job < 1500; job++) {
            static seen s;
            memset(&s, 0, sizeof s);
            s.threads = threads;
            size_t n = job * 7 % TILES;
            if (job % 500 == 499)
                sleep_ms(2); /* long enough for workers to fall asleep */
            assert_true(kr_pool_run(p, n, mark, &s));
            assert_int_equal(s.bad, 0);
            for (size_t i = 0; i < TILES; i++)
                assert_int_equal(s.times[i], i < n);
        }
        kr_pool_free(p);
    }
}

static void no_pool_is_the_calling_thread(void **state) {
    (void)state;
    static seen s = {.threads = 1};
    assert_true(kr_pool_run(NULL, TILES, mark, &s));
    assert_int_equal(s.bad, 0);
    for (size_t i = 0; i < TILES; i++)
        assert_int_equal(s.times[i], 1);
}

static bool never(void *arg) {
    ++*(int *)arg;
    return false;
}

static void slow(void *arg, size_t tile, size_t thread) {
    (void)tile;
    (void)thread;
    atomic_fetch_add((atomic_int *)arg, 1);
    sleep_ms(1);
}

static void a_refusing_tick_drops_the_tiles_that_are_left(void **state) {
    (void)state;
    for (size_t threads = 1; threads <= 2; threads++) {
        kr_pool *p = NULL;
        kr_error e = {0};
        must(kr_pool_new(threads, &p, &e), &e);
        int ticks = 0;
        atomic_int ran = 0;
        kr_pool_on_tick(p, never, &ticks);
        assert_false(kr_pool_run(p, 1000, slow, &ran));
        assert_true(ran < 500);
        assert_int_equal(ticks, 1);
        kr_pool_on_tick(p, NULL, NULL);
        ran = 0;
        assert_true(kr_pool_run(p, 10, slow, &ran));
        assert_int_equal(ran, 10);
        kr_pool_free(p);
    }
    kr_pool_free(NULL);
}

static void impossible_thread_counts_are_refused(void **state) {
    (void)state;
    kr_pool *p = NULL;
    kr_error e = {0};
    assert_int_equal(kr_pool_new(0, &p, &e), KR_EINVAL);
    assert_int_equal(kr_pool_new(1000, &p, &e), KR_EINVAL);
    assert_true(kr_pool_cores() >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tile_runs_once_however_quickly_jobs_follow),
        cmocka_unit_test(no_pool_is_the_calling_thread),
        cmocka_unit_test(a_refusing_tick_drops_the_tiles_that_are_left),
        cmocka_unit_test(impossible_thread_counts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
