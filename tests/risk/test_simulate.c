#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "risk/binomial.h"
#include "risk/family.h"
#include "risk/random.h"
#include "risk/simulate.h"
#include "risk/split.h"
#include "tests/risk/sim.h"

static void draws_below_a_bound_are_uniform(void **state) {
    (void)state;
    kr_random r = kr_random_start(7, 0), other = kr_random_start(7, 1);
    int64_t seen[7] = {0};
    int same = 0;
    for (int i = 0; i < 70000; i++)
        seen[kr_random_below(&r, 7)]++;
    double chi = 0;
    for (int i = 0; i < 7; i++)
        chi += (double)((seen[i] - 10000) * (seen[i] - 10000)) / 10000;
    assert_true(chi < 30); /* 6 degrees of freedom: 30 is 1 in 25000 */
    r = kr_random_start(7, 0);
    for (int i = 0; i < 1000; i++)
        same += kr_random_below(&r, 1000) == kr_random_below(&other, 1000);
    assert_true(same < 20);
    assert_true(kr_random_below(&r, 1) == 0);
    assert_true(kr_random_below(&r, UINT64_MAX) < UINT64_MAX);
}

/* --- seeded choices ------------------------------------------------------------------------ */

#define N 240

static void a_split_keeps_tasks_even_and_clusters_whole(void **state) {
    (void)state;
    uint32_t task[N];
    int64_t cluster[N];
    bool keep[N], again[N], other[N];
    int in_task[4] = {0};
    for (int i = 0; i < N; i++)
        task[i] = (uint32_t)i / 60, cluster[i] = i % 60 < 30 ? i / 3 : -1;
    assert_int_equal(kr_split_share(N, task, 4, NULL, 1, 4, 99, keep, NULL), KR_OK);
    for (int i = 0; i < N; i++)
        in_task[task[i]] += keep[i];
    for (int h = 0; h < 4; h++)
        assert_int_equal(in_task[h], 15);
    kr_split_share(N, task, 4, NULL, 1, 4, 99, again, NULL);
    kr_split_share(N, task, 4, NULL, 1, 4, 100, other, NULL);
    assert_memory_equal(keep, again, sizeof keep);
    assert_memory_not_equal(keep, other, sizeof keep);
    assert_int_equal(kr_split_share(N, task, 4, cluster, 1, 4, 99, keep, NULL), KR_OK);
    int kept = 0;
    for (int i = 0; i < N; i++) {
        kept += keep[i];
        if (cluster[i] >= 0)
            assert_int_equal(keep[i], keep[cluster[i] * 3]);
    }
    assert_true(kept > 20 && kept < 100);
}

static void one_row_of_each_cluster_is_kept(void **state) {
    (void)state;
    int64_t cluster[N];
    bool keep[N];
    int per[8] = {0}, alone = 0;
    for (int i = 0; i < N; i++)
        cluster[i] = i % 10 == 9 ? -1 : (i * 5) % 8;
    assert_int_equal(kr_split_one_per_cluster(N, cluster, 5, keep, NULL), KR_OK);
    for (int i = 0; i < N; i++) {
        if (cluster[i] < 0)
            alone += keep[i];
        else
            per[cluster[i]] += keep[i];
    }
    assert_int_equal(alone, N / 10);
    for (int c = 0; c < 8; c++)
        assert_int_equal(per[c], 1);
}

static void quotas_are_met_or_refused(void **state) {
    (void)state;
    uint32_t task[N], bad[N];
    bool keep[N];
    int got[3] = {0};
    const int64_t take[] = {10, 0, 80}, much[] = {10, 81, 0};
    kr_error err;
    for (int i = 0; i < N; i++)
        task[i] = (uint32_t)i % 3, bad[i] = 3;
    assert_int_equal(kr_split_take(N, task, 3, take, 1, keep, &err), KR_OK);
    for (int i = 0; i < N; i++)
        got[task[i]] += keep[i];
    for (int h = 0; h < 3; h++)
        assert_int_equal(got[h], take[h]);
    assert_int_equal(kr_split_take(N, task, 3, much, 1, keep, &err), KR_EINVAL);
    assert_non_null(strstr(err.msg, "81 rows wanted"));
    assert_int_equal(kr_split_take(N, bad, 3, take, 1, keep, &err), KR_EINVAL);
    assert_int_equal(kr_split_share(N, task, 3, NULL, 4, 4, 1, keep, &err), KR_EINVAL);
    assert_int_equal(kr_split_share(0, NULL, 3, NULL, 1, 4, 1, keep, &err), KR_OK);
    assert_int_equal(kr_split_one_per_cluster(0, NULL, 1, keep, &err), KR_OK);
}

/* --- repeated calibration ------------------------------------------------------------------ */

#define ROWS 1200
#define TASKS 12
#define METHODS 4
#define STEPS 13

typedef struct {
    uint32_t task[ROWS];
    size_t length[METHODS];
    double level[METHODS * STEPS];
    uint8_t event[ROWS * METHODS * STEPS];
} world;

/* Events nested along each method, risks x1.25 per step, exactly `at_bad` of 1200 at the first
 * candidate above the target. */
static world *new_world(int bad_index, int at_bad) {
    world *w = calloc(1, sizeof *w);
    gsl_rng *r = sim_rng(31);
    assert_non_null(w);
    for (int i = 0; i < ROWS; i++)
        w->task[i] = (uint32_t)(i % TASKS);
    for (size_t c = 0; c < METHODS; c++) {
        int order[ROWS];
        w->length[c] = STEPS;
        for (int i = 0; i < ROWS; i++)
            order[i] = i;
        gsl_ran_shuffle(r, order, ROWS, sizeof *order);
        for (size_t j = 0; j < STEPS; j++) {
            int k = (int)lround(at_bad * pow(1.25, (double)j - bad_index));
            w->level[c * STEPS + j] = 0.8 - 0.05 * (double)j;
            for (int i = 0; i < k && i < ROWS; i++)
                w->event[(size_t)order[i] * METHODS * STEPS + c * STEPS + j] = 1;
        }
    }
    gsl_rng_free(r);
    return w;
}

static kr_sim_setup setup_of(const world *w, int64_t n, uint64_t seed) {
    return (kr_sim_setup){.rows = ROWS,
                          .tasks = TASKS,
                          .task = w->task,
                          .methods = METHODS,
                          .length = w->length,
                          .level = w->level,
                          .event = w->event,
                          .n = n,
                          .eps = {5, 2},
                          .delta = {{5, 2}, 1},
                          .seed = seed};
}

static double share(int64_t k, int64_t n) { return (double)k / (double)n; }

/* P[sum over tasks of Bin(n/TASKS, risk of the task) <= most] for one candidate of the world: events
 * are nested, so this is how often its method gets that far. */
static double exact_pass(const world *w, size_t candidate, int64_t n, int64_t most) {
    double *at = calloc((size_t)n + 1, sizeof *at), *next = calloc((size_t)n + 1, sizeof *next), p = 0;
    int64_t each = n / TASKS, top = 0;
    assert_true(at != NULL && next != NULL);
    at[0] = 1;
    for (size_t h = 0; h < TASKS; h++) {
        int64_t k = 0, rows = 0;
        for (size_t i = 0; i < ROWS; i++)
            if (w->task[i] == h)
                rows++, k += w->event[i * METHODS * STEPS + candidate];
        memset(next, 0, ((size_t)n + 1) * sizeof *next);
        for (int64_t x = 0; x <= each; x++) {
            double mass = exp(kr_binom_ln_mass(x, each, (double)k / (double)rows));
            for (int64_t y = 0; y <= top; y++)
                next[x + y] += at[y] * mass;
        }
        top += each;
        memcpy(at, next, ((size_t)n + 1) * sizeof *at);
    }
    for (int64_t k = 0; k <= most; k++)
        p += at[k];
    free(at);
    free(next);
    return p;
}

static void check_share(double got, double want, int draws) {
    double near = 4.5 * sqrt(want * (1 - want) / draws) + 1e-9;
    if (fabs(got - want) > near)
        fail_msg("share %.5f, exactly %.5f", got, want);
}

static void certified_choices_hold_and_empirical_ones_break(void **state) {
    (void)state;
    world *w = new_world(6, 61); /* the seventh candidate has risk 61/1200, just above */
    kr_sim_setup p = setup_of(w, 1200, 2026);
    kr_sim *s = NULL;
    kr_sim_tally *t = NULL;
    kr_sim_result best[KR_SIM_RULES];
    int draws = sim_draws();
    assert_int_equal(kr_sim_new(&p, &s, NULL), KR_OK);
    assert_true(fabs(kr_sim_risk(s, 6) - 61.0 / 1200) < 1e-12);
    assert_true(kr_sim_broken(s, 6) && !kr_sim_broken(s, 5));
    assert_int_equal(kr_sim_tally_new(s, &t, NULL), KR_OK);
    assert_int_equal(kr_sim_run(s, 0, draws, t, NULL), KR_OK);
    assert_int_equal(t->draws, draws);
    int64_t kmax = kr_kmax(1200, p.eps, p.delta);
    for (size_t c = 0; c < METHODS; c++) {
        kr_sim_result cert = kr_sim_result_of(s, t, KR_SIM_CERTIFIED, c);
        kr_sim_result emp = kr_sim_result_of(s, t, KR_SIM_EMPIRICAL, c);
        assert_true(share(cert.broken, draws) <= sim_allowance(0.05, draws));
        check_share(share(cert.broken, draws), exact_pass(w, c * STEPS + 6, 1200, kmax), draws);
        check_share(share(emp.broken, draws), exact_pass(w, c * STEPS + 6, 1200, 60), draws);
        check_share(share(cert.fallback, draws), 1 - exact_pass(w, c * STEPS, 1200, kmax), draws);
        double mean = 1;
        for (size_t j = 0; j < STEPS; j++)
            mean -= exact_pass(w, c * STEPS + j, 1200, kmax) * (j == 0 ? 1 - w->level[0] : 0.05);
        assert_true(fabs(cert.mean - mean) < 4.5 * cert.sd / sqrt(draws));
        assert_true(cert.low <= cert.median && cert.median <= cert.high && cert.high < 0.8 + 1e-9);
    }
    for (int r = 0; r < KR_SIM_RULES; r++)
        best[r] = kr_sim_result_of(s, t, (kr_sim_rule)r, 0);
    printf("note: one method, contract broken: certified %.4f, empirical %.4f; mean retention %.3f, %.3f\n",
           share(best[KR_SIM_CERTIFIED].broken, draws), share(best[KR_SIM_EMPIRICAL].broken, draws),
           best[KR_SIM_CERTIFIED].mean, best[KR_SIM_EMPIRICAL].mean);
    printf("note: best of 4, contract broken: one budget %.4f, uncorrected %.4f, empirical %.4f; "
           "mean retention %.3f, %.3f, %.3f (%d draws)\n",
           share(best[KR_SIM_FAMILY].broken, draws), share(best[KR_SIM_UNCORRECTED].broken, draws),
           share(best[KR_SIM_BEST_EMPIRICAL].broken, draws), best[KR_SIM_FAMILY].mean,
           best[KR_SIM_UNCORRECTED].mean, best[KR_SIM_BEST_EMPIRICAL].mean, draws);
    assert_true(share(best[KR_SIM_FAMILY].broken, draws) <= sim_allowance(0.05, draws));
    assert_true(best[KR_SIM_UNCORRECTED].broken > best[KR_SIM_FAMILY].broken);
    assert_true(share(best[KR_SIM_BEST_EMPIRICAL].broken, draws) > 0.8);
    kr_sim_tally_free(t);
    kr_sim_free(s);
    free(w);
}

/* Ten of a hundred draws at 0.3, eighty at 0.5 with an unknown level beside it, ten at full KV. */
static void a_result_is_what_was_booked(void **state) {
    (void)state;
    const uint32_t task[2] = {0, 0};
    const size_t length[2] = {2, 1};
    double level[3] = {0.5, 0.3, 0.7};
    const uint8_t event[6] = {0, 1, 0, 0, 0, 0}; /* the second candidate's risk is one half */
    kr_sim_setup p = {.rows = 2, .tasks = 1, .task = task, .methods = 2, .length = length, .level = level,
                      .event = event, .n = 100, .eps = {5, 2}, .delta = {{5, 2}, 1}, .seed = 0};
    for (int unknown = 0; unknown < 2; unknown++) {
        kr_sim *s = NULL;
        kr_sim_tally *t = NULL;
        level[0] = unknown ? NAN : 0.5;
        assert_int_equal(kr_sim_new(&p, &s, NULL), KR_OK);
        assert_int_equal(kr_sim_tally_new(s, &t, NULL), KR_OK);
        kr_sim_result none = kr_sim_result_of(s, t, KR_SIM_CERTIFIED, 0);
        assert_true(isnan(none.mean) && isnan(none.low) && none.broken == 0 && none.fallback == 0);
        t->draws = 100;
        t->chosen[KR_SIM_CERTIFIED][0] = 80;
        t->chosen[KR_SIM_CERTIFIED][1] = 10;
        t->chosen[KR_SIM_CERTIFIED][2] = 100;
        kr_sim_result r = kr_sim_result_of(s, t, KR_SIM_CERTIFIED, 0);
        assert_int_equal(r.broken, 10);
        assert_int_equal(r.fallback, 10);
        if (unknown) {
            assert_true(isnan(r.mean) && isnan(r.median));
        } else {
            assert_true(fabs(r.mean - 0.53) < 1e-12);
            assert_true(fabs(r.sd - sqrt(0.1 * 0.23 * 0.23 + 0.8 * 0.03 * 0.03 + 0.1 * 0.47 * 0.47)) < 1e-12);
            assert_true(r.low == 0.3 && r.median == 0.5 && r.high == 0.5);
        }
        assert_true(kr_sim_result_of(s, t, KR_SIM_CERTIFIED, 1).mean == 0.7);
        assert_int_equal(kr_sim_result_of(s, t, KR_SIM_CERTIFIED, 1).broken, 0);
        kr_sim_tally_free(t);
        kr_sim_free(s);
    }
}

static void a_risk_of_exactly_the_target_keeps_the_contract(void **state) {
    (void)state;
    world *w = new_world(6, 60);
    kr_sim_setup p = setup_of(w, 120, 1);
    kr_sim *s = NULL;
    kr_sim_tally *t = NULL;
    p.methods = 1; /* its first candidates only: cut before the eighth */
    size_t length[] = {7};
    uint8_t event[ROWS * 7];
    for (size_t i = 0; i < ROWS; i++)
        memcpy(event + 7 * i, w->event + i * METHODS * STEPS, 7);
    p.length = length;
    p.event = event;
    assert_int_equal(kr_sim_new(&p, &s, NULL), KR_OK);
    assert_int_equal(kr_sim_tally_new(s, &t, NULL), KR_OK);
    kr_sim_run(s, 0, 500, t, NULL);
    assert_int_equal(kr_sim_result_of(s, t, KR_SIM_EMPIRICAL, 0).broken, 0);
    kr_sim_tally_free(t);
    kr_sim_free(s);
    free(w);
}

static void any_spread_of_draws_gives_the_same_counts(void **state) {
    (void)state;
    world *w = new_world(6, 61);
    kr_sim_setup p = setup_of(w, 300, 5);
    kr_sim *s = NULL;
    kr_sim_tally *all = NULL, *part[3] = {NULL};
    assert_int_equal(kr_sim_new(&p, &s, NULL), KR_OK);
    kr_sim_tally_new(s, &all, NULL);
    kr_sim_run(s, 0, 300, all, NULL);
    for (int i = 2; i >= 0; i--) {
        kr_sim_tally_new(s, &part[i], NULL);
        kr_sim_run(s, 100 * i, 100, part[i], NULL);
    }
    kr_sim_tally_add(s, part[2], part[0]);
    kr_sim_tally_add(s, part[2], part[1]);
    assert_int_equal(part[2]->draws, all->draws);
    assert_memory_equal(part[2]->chosen[0], all->chosen[0],
                        KR_SIM_RULES * METHODS * STEPS * sizeof *all->chosen[0]);
    for (int i = 0; i < 3; i++)
        kr_sim_tally_free(part[i]);
    kr_sim_tally_free(all);
    kr_sim_free(s);
    free(w);
}

static void impossible_setups_are_refused(void **state) {
    (void)state;
    world *w = new_world(6, 61);
    kr_sim *s = NULL;
    kr_error err;
    kr_sim_setup p = setup_of(w, 1201, 5);
    assert_int_equal(kr_sim_new(&p, &s, &err), KR_EINVAL);
    assert_non_null(strstr(err.msg, "no multiple of the 12 tasks, which share them equally; 1212 would be"));
    p.n = KR_SIM_N_MAX + 8;
    assert_int_equal(kr_sim_new(&p, &s, &err), KR_EINVAL);
    p = setup_of(w, 1200, 5);
    p.tasks = 13; /* no request of the thirteenth */
    p.n = 1300;
    assert_int_equal(kr_sim_new(&p, &s, &err), KR_EINVAL);
    p.tasks = 11;
    p.n = 1100;
    assert_int_equal(kr_sim_new(&p, &s, &err), KR_EINVAL);
    p.rows = 0;
    assert_int_equal(kr_sim_new(&p, &s, &err), KR_EINVAL);
    kr_sim_free(NULL);
    kr_sim_tally_free(NULL);
    free(w);
}

static void speed_is_noted(void **state) {
    (void)state;
    world *w = new_world(6, 61);
    kr_sim_setup p = setup_of(w, 600, 5);
    kr_sim *s = NULL;
    kr_sim_tally *t = NULL;
    assert_int_equal(kr_sim_new(&p, &s, NULL), KR_OK);
    kr_sim_tally_new(s, &t, NULL);
    double t0 = kr_clock();
    kr_sim_run(s, 0, 2000, t, NULL);
    printf("note: 20000 draws of 600 requests x 52 candidates: %.2f s on one core\n",
           (kr_clock() - t0) * 10);
    kr_sim_tally_free(t);
    kr_sim_free(s);
    free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_below_a_bound_are_uniform),
        cmocka_unit_test(a_split_keeps_tasks_even_and_clusters_whole),
        cmocka_unit_test(one_row_of_each_cluster_is_kept),
        cmocka_unit_test(quotas_are_met_or_refused),
        cmocka_unit_test(certified_choices_hold_and_empirical_ones_break),
        cmocka_unit_test(a_result_is_what_was_booked),
        cmocka_unit_test(a_risk_of_exactly_the_target_keeps_the_contract),
        cmocka_unit_test(any_spread_of_draws_gives_the_same_counts),
        cmocka_unit_test(impossible_setups_are_refused),
        cmocka_unit_test(speed_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
