#include "risk/posthoc.h"

#include <math.h>

#include "risk/binomial.h"

static kr_level shared(kr_level delta, size_t parts) {
    if (parts == 0 || delta.den < 1 || (uint64_t)parts > (uint64_t)(INT64_MAX / delta.den))
        return kr_level_make(kr_dec_make(0, 0), 1);
    return kr_level_make(delta.num, delta.den * (int64_t)parts);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Saturates: a product too large is a level of 0. */
static size_t times(size_t a, size_t b) { return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b; }

kr_level kr_posthoc_level(kr_level delta, size_t candidates, size_t points) {
    return shared(delta, points > 0 ? least(points, candidates) : candidates);
}

kr_level kr_posthoc_level_map(kr_level delta, size_t candidates, size_t tolerances, size_t risks) {
    size_t staircase = times(candidates, least(tolerances, risks));
    return shared(delta, least(times(tolerances, risks), staircase));
}

typedef struct {
    kr_posthoc_count_fn count;
    void *ctx;
    size_t t;
} column;

static int64_t in_column(void *ctx, size_t j) {
    const column *c = ctx;
    return c->count(c->ctx, c->t, j);
}

kr_status kr_posthoc_tolerances(size_t points, size_t m, kr_posthoc_count_fn count, void *ctx,
                                int64_t n, kr_dec eps, kr_level delta, kr_limits *limits,
                                kr_sequence *out, kr_error *err) {
    kr_limits lim = kr_limits_make(n, eps, kr_posthoc_level(delta, m, points));
    for (size_t t = 0; t < points; t++) {
        column c = {count, ctx, t};
        kr_status st = kr_sequence_walk(&lim, m, in_column, &c, &out[t], err);
        if (st != KR_OK)
            return st;
    }
    if (limits != NULL)
        *limits = lim;
    return KR_OK;
}

kr_status kr_posthoc_risks(size_t m, const int64_t *events, int64_t n, kr_level delta,
                           double *upper, double *running, kr_error *err) {
    for (size_t j = 0; j < m; j++)
        if (events[j] != KR_COUNT_NONE && (events[j] < 0 || events[j] > n))
            return kr_fail(err, KR_EINVAL, "candidate %zu has %lld events among %lld requests", j,
                           (long long)events[j], (long long)n);
    double a = kr_level_double(kr_posthoc_level(delta, m, 0)), worst = 0;
    for (size_t j = 0; j < m; j++) {
        double u = kr_binom_upper_strat(events[j], n, a); /* 1 where there is no count */
        if (events[j] < 0)
            u = 1;
        worst = fmax(worst, u);
        running[j] = worst;
        if (upper != NULL)
            upper[j] = u;
    }
    return KR_OK;
}

size_t kr_posthoc_prefix(size_t m, const double *running, kr_dec eps) {
    double e = kr_dec_double(eps);
    size_t j = 0;
    while (j < m && kr_p_decide(running[j], e) == KR_REJECT_YES)
        j++;
    return j;
}
