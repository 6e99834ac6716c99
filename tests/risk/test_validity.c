/* Validity by simulation: on populations whose risk is just above the target, how often does each
 * rule certify? */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "risk/sequence.h"
#include "tests/risk/sim.h"

#define MANY 13

static const kr_dec EPS = {5, 2}; /* 0.05 */
static const kr_level DELTA = {{5, 2}, 1};

/* mean 1 over twelve tasks */
static const double even[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const double uneven[12] = {0.2, 0.4, 0.4, 0.6, 0.6, 0.8, 1, 1, 1.2, 1.6, 1.8, 2.4};
static const double one_bad[12] = {12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

typedef struct {
    const char *name;
    size_t m;
    double first, step; /* risk of candidate j: first * step^j, in units of eps */
    const double *tilt;
} population;

typedef struct {
    double certified, plugin; /* shares of draws whose choice has a risk above eps */
} outcome;

static outcome run(const population *p, int64_t per_task, int draws, gsl_rng *r) {
    double risk[MANY];
    int64_t k[MANY];
    int bad_certified = 0, bad_plugin = 0;
    kr_limits lim = kr_limits_make(12 * per_task, EPS, DELTA);
    for (size_t j = 0; j < p->m; j++)
        risk[j] = 0.05 * p->first * pow(p->step, (double)j);
    for (int i = 0; i < draws; i++) {
        kr_sequence s;
        sim_strata(r, p->m, risk, 12, p->tilt, per_task, k);
        assert_int_equal(kr_sequence_certify(&lim, p->m, k, NULL, &s, NULL), KR_OK);
        bad_certified += s.certified >= 0 && risk[s.certified] > 0.05;
        bad_plugin += s.empirical >= 0 && risk[s.empirical] > 0.05;
    }
    return (outcome){(double)bad_certified / draws, (double)bad_plugin / draws};
}

static void risks_just_above_target_are_rarely_certified(void **state) {
    (void)state;
    static const population cases[] = {
        {"one candidate, equal tasks", 1, 1.0001, 1, even},
        {"one candidate, unequal tasks", 1, 1.0001, 1, uneven},
        {"one candidate, one bad task", 1, 1.0001, 1, one_bad},
        {"13 candidates, risk x1.25, 7th bad", MANY, 0.2622, 1.25, even},
        {"13 candidates, risk x1.10, 4th bad", MANY, 0.7514, 1.1, uneven},
        {"13 candidates, all just above", MANY, 1.0001, 1.00001, even},
    };
    gsl_rng *r = sim_rng(1200);
    int draws = sim_draws();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int64_t per_task = 25; per_task <= 100; per_task *= 4) {
            outcome o = run(&cases[c], per_task, draws, r);
            printf("note: %s, n = %d: certified wrongly %.4f, empirical thresholding %.4f"
                   " (%d draws)\n",
                   cases[c].name, (int)(12 * per_task), o.certified, o.plugin, draws);
            assert_true(o.certified <= sim_allowance(0.05, draws));
            if (draws >= 1000)
                assert_true(o.plugin > 4 * o.certified && o.plugin > 0.3);
        }
    gsl_rng_free(r);
}

/* A method that passes at the boundary with probability close to delta: the test is not idle. */
static void the_level_is_used_up_to_the_grid_of_counts(void **state) {
    (void)state;
    static const population p = {"", 1, 1.0, 1, even};
    gsl_rng *r = sim_rng(5);
    int draws = sim_draws(), hits = 0;
    kr_limits lim = kr_limits_make(1200, EPS, DELTA);
    for (int i = 0; i < draws; i++)
        hits += sim_count(r, 0.05 * p.first, 1200) <= lim.kmax;
    double rate = (double)hits / draws, truth = 0.04505743472189248; /* P[Bin(1200,.05) <= 47] */
    printf("note: certified at exactly the target, n = 1200: %.4f (exact 0.0451)\n", rate);
    assert_true(fabs(rate - truth) < 4 * sqrt(truth * (1 - truth) / draws));
    gsl_rng_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(risks_just_above_target_are_rarely_certified),
        cmocka_unit_test(the_level_is_used_up_to_the_grid_of_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
