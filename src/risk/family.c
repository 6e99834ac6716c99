#include "risk/family.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    kr_family_count_fn count;
    void *ctx;
    size_t chain;
} one_chain;

static int64_t count_of(void *ctx, size_t j) {
    const one_chain *c = ctx;
    return c->count(c->ctx, c->chain, j);
}

/* One walk of all methods. The graph of chains needs no matrix here: tails lead to the heads of all
 * other methods in equal parts, and taking a method out leaves such a graph again. */
typedef struct {
    size_t methods, open; /* methods in all, and those whose sequence has not passed to its end */
    const size_t *length;
    one_chain chain;
    kr_limits base; /* n, eps, the whole level */
    kr_ratio *share;
    bool *complete;
    kr_family_member *member;
    kr_limits last; /* the limits computed last: methods mostly hold the same share */
    kr_ratio last_share;
} family;

static kr_status check_weights(size_t methods, const kr_ratio *weights, kr_error *err) {
    if (methods == 0)
        return kr_fail(err, KR_EINVAL, "a family of methods needs at least one");
    kr_ratio sum = kr_ratio_make(0, 1);
    for (size_t c = 0; weights != NULL && c < methods; c++) {
        if (!(weights[c].value >= 0))
            return kr_fail(err, KR_EINVAL, "the share of method %zu is negative", c);
        sum = kr_ratio_add(sum, weights[c]);
    }
    if (kr_ratio_cmp(sum, kr_ratio_make(1, 1)) > 0)
        return kr_fail(err, KR_EINVAL, "the shares of the methods sum to %.6g, at most 1 is allowed",
                       sum.value);
    return KR_OK;
}

/* share of delta as a level: exact where the numbers fit, else by the double just below. */
static kr_level level_of(kr_ratio share, kr_level delta) {
    kr_ratio r = kr_ratio_mul(share, kr_ratio_level(delta));
    if (kr_ratio_exact(r))
        return kr_level_make(kr_dec_make(r.num, 0), r.den);
    return kr_level_make(kr_dec_make((int64_t)(r.value * (1 - 1e-15) * 1e18), 18), 1);
}

/* True where the share is what it was when the member was last walked. */
static bool settled(const kr_family_member *m, kr_ratio share) {
    return m->limits.n > 0 && kr_ratio_cmp(m->share, share) == 0;
}

static const kr_limits *limits_at(family *f, kr_ratio share) {
    if (f->last.n == 0 || kr_ratio_cmp(f->last_share, share) != 0) {
        f->last = kr_limits_make(f->base.n, f->base.eps, level_of(share, f->base.level));
        f->last_share = share;
    }
    return &f->last;
}

static kr_status walk_member(family *f, size_t c, kr_error *err) {
    kr_family_member *m = &f->member[c];
    m->share = f->share[c];
    m->limits = *limits_at(f, m->share);
    f->chain.chain = c;
    return kr_sequence_walk(&m->limits, f->length[c], count_of, &f->chain, &m->sequence, err);
}

/* Passes the share of a completed method on to the heads of those that are still open. */
static void hand_on(family *f, size_t c) {
    f->complete[c] = true;
    f->open--;
    if (f->open == 0)
        return;
    kr_ratio part = kr_ratio_div(f->share[c], kr_ratio_make((int64_t)f->open, 1));
    for (size_t k = 0; k < f->methods; k++)
        if (!f->complete[k])
            f->share[k] = kr_ratio_add(f->share[k], part);
}

/* Walks every open method at its present share; those that passed to their end are handed on
 * together afterwards, which shares are equal then does not depend on their order. */
static kr_status settle(family *f, kr_error *err) {
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t c = 0; c < f->methods; c++) {
            if (f->complete[c] || settled(&f->member[c], f->share[c]))
                continue;
            kr_status st = walk_member(f, c, err);
            if (st != KR_OK)
                return st;
        }
        for (size_t c = 0; c < f->methods; c++)
            if (!f->complete[c] && f->length[c] > 0 && f->member[c].sequence.stopped < 0) {
                hand_on(f, c);
                moved = true;
            }
    }
    return KR_OK;
}

kr_status kr_family_certify(size_t methods, const size_t *length, kr_family_count_fn count,
                            void *ctx, int64_t n, kr_dec eps, kr_level delta,
                            const kr_ratio *weights, kr_family_member *out, kr_error *err) {
    kr_status st = check_weights(methods, weights, err);
    if (st != KR_OK)
        return st;
    family f = {.methods = methods,
                .open = methods,
                .length = length,
                .chain = {count, ctx, 0},
                .base = {.n = n, .eps = eps, .level = delta},
                .share = calloc(methods, sizeof *f.share),
                .complete = calloc(methods, sizeof *f.complete),
                .member = calloc(methods, sizeof *f.member)};
    if (f.share == NULL || f.complete == NULL || f.member == NULL)
        st = kr_fail(err, KR_ENOMEM, "out of memory for %zu methods", methods);
    for (size_t c = 0; st == KR_OK && c < methods; c++)
        f.share[c] = weights != NULL ? weights[c] : kr_ratio_make(1, (int64_t)methods);
    if (st == KR_OK)
        st = settle(&f, err);
    for (size_t c = 0; st == KR_OK && c < methods; c++)
        out[c] = f.member[c];
    free(f.share);
    free(f.complete);
    free(f.member);
    return st;
}

/* One run of the graph at a level that grows until the next candidate is rejected: always the one
 * with the smallest p over its share. */
kr_status kr_family_adjusted(size_t methods, const size_t *length, const double *const *p,
                             const bool *open, double *const *adjusted, kr_error *err) {
    kr_status st = check_weights(methods, NULL, err);
    if (st != KR_OK)
        return st;
    double *share = malloc(methods * sizeof *share), running = 0;
    size_t *next = calloc(methods, sizeof *next), left = methods;
    if (share == NULL || next == NULL)
        st = kr_fail(err, KR_ENOMEM, "out of memory for %zu methods", methods);
    for (size_t c = 0; st == KR_OK && c < methods; c++) {
        share[c] = 1.0 / (double)methods;
        for (size_t j = 0; j < length[c]; j++)
            adjusted[c][j] = 1;
    }
    while (st == KR_OK) {
        size_t best = methods;
        double least = INFINITY;
        for (size_t c = 0; c < methods; c++) {
            if (next[c] >= length[c])
                continue;
            double x = p[c][next[c]] / share[c];
            if (x < least)
                best = c, least = x;
        }
        if (best == methods || !(fmax(running, least) < 1))
            break;
        running = fmax(running, least);
        adjusted[best][next[best]++] = running;
        if (next[best] < length[best] || (open != NULL && open[best]))
            continue;
        left--;
        for (size_t c = 0; c < methods; c++)
            if (next[c] < length[c] || length[c] == 0 || (open != NULL && open[c]))
                share[c] += share[best] / (double)left;
    }
    free(share);
    free(next);
    return st;
}

double kr_family_naive_error(double each, int64_t m) {
    return each >= 1 ? 1 : -expm1((double)m * log1p(-each));
}

bool kr_family_price(int64_t m, double *least, double *most) {
    static const struct {
        int64_t m;
        double least, most;
    } measured[] = {{1, 0.0424, 0.0440}, {2, 0.0735, 0.0882}, {4, 0.1196, 0.1696},
                    {6, 0.1560, 0.2432}, {8, 0.1826, 0.3084}, {12, 0.2188, 0.4303}};
    const size_t rows = sizeof measured / sizeof *measured;
    size_t i = 0;
    while (i + 1 < rows && measured[i].m < m)
        i++;
    *least = measured[i].least;
    *most = measured[i].most;
    return m <= measured[rows - 1].m;
}
