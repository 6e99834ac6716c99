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

/* One node per method: it stands for wherever its walk is, and taking it out is completing it. */
static kr_status method_graph(size_t methods, const kr_ratio *weights, kr_graph **out,
                              kr_error *err) {
    kr_graph *g = NULL;
    kr_status st = kr_graph_holm(methods, &g, err);
    if (st != KR_OK)
        return st;
    for (size_t c = 0; weights != NULL && c < methods; c++)
        kr_graph_set_weight(g, c, weights[c]);
    st = kr_graph_check(g, err);
    if (st == KR_OK)
        *out = g;
    else
        kr_graph_free(g);
    return st;
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

static kr_status walk_member(kr_family_member *m, size_t length, one_chain *chain, kr_ratio share,
                             const kr_limits *base, kr_error *err) {
    m->share = share;
    m->limits = kr_limits_make(base->n, base->eps, level_of(share, base->level));
    return kr_sequence_walk(&m->limits, length, count_of, chain, &m->sequence, err);
}

/* Walks every open member at its present share and takes completed ones out, until nothing moves.
 */
static kr_status settle(size_t methods, const size_t *length, one_chain *chain, kr_graph *g,
                        const kr_limits *base, bool *complete, kr_family_member *m, kr_error *err) {
    bool moved = true;
    while (moved) {
        moved = false;
        for (size_t c = 0; c < methods; c++) {
            kr_ratio share = kr_graph_weight(g, c);
            if (complete[c] || settled(&m[c], share))
                continue;
            chain->chain = c;
            kr_status st = walk_member(&m[c], length[c], chain, share, base, err);
            if (st != KR_OK)
                return st;
            complete[c] = length[c] > 0 && m[c].sequence.stopped < 0;
            if (complete[c]) {
                kr_graph_remove(g, c);
                moved = true;
            }
        }
    }
    return KR_OK;
}

kr_status kr_family_certify(size_t methods, const size_t *length, kr_family_count_fn count,
                            void *ctx, int64_t n, kr_dec eps, kr_level delta,
                            const kr_ratio *weights, kr_family_member *out, kr_error *err) {
    kr_graph *g = NULL;
    kr_status st = method_graph(methods, weights, &g, err);
    if (st != KR_OK)
        return st;
    kr_family_member *m = calloc(methods, sizeof *m);
    bool *complete = calloc(methods, sizeof *complete);
    if (m == NULL || complete == NULL) {
        st = kr_fail(err, KR_ENOMEM, "out of memory for %zu methods", methods);
        goto done;
    }
    one_chain chain = {count, ctx, 0};
    kr_limits base = {.n = n, .eps = eps, .level = delta};
    st = settle(methods, length, &chain, g, &base, complete, m, err);
    for (size_t c = 0; st == KR_OK && c < methods; c++)
        out[c] = m[c];
done:
    free(complete);
    free(m);
    kr_graph_free(g);
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
