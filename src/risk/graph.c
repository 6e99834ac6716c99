#include "risk/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kr_graph {
    size_t m;
    bool *gone;       /* [m] taken out */
    kr_ratio *weight; /* [m] */
    kr_ratio *edge;   /* [m][m] */
};

static const kr_ratio zero = {0, 0, 1}, one = {1, 1, 1};

static bool is_zero(kr_ratio a) { return a.value == 0; }

static kr_ratio *edge_at(const kr_graph *g, size_t from, size_t to) {
    return &g->edge[from * g->m + to];
}

void kr_graph_free(kr_graph *g) {
    if (g == NULL)
        return;
    free(g->gone);
    free(g->weight);
    free(g->edge);
    free(g);
}

kr_status kr_graph_new(size_t m, kr_graph **out, kr_error *err) {
    if (m == 0 || m > KR_GRAPH_MAX)
        return kr_fail(err, KR_EINVAL, "a test of %zu hypotheses; 1 to %d are possible", m,
                       KR_GRAPH_MAX);
    kr_graph *g = calloc(1, sizeof *g);
    if (g != NULL) {
        g->m = m;
        g->gone = calloc(m, sizeof *g->gone);
        g->weight = calloc(m, sizeof *g->weight);
        g->edge = calloc(m * m, sizeof *g->edge);
    }
    if (g == NULL || g->gone == NULL || g->weight == NULL || g->edge == NULL) {
        kr_graph_free(g);
        return kr_fail(err, KR_ENOMEM, "out of memory for a graph of %zu hypotheses", m);
    }
    for (size_t i = 0; i < m; i++)
        g->weight[i] = zero;
    for (size_t i = 0; i < m * m; i++)
        g->edge[i] = zero;
    *out = g;
    return KR_OK;
}

void kr_graph_set_weight(kr_graph *g, size_t i, kr_ratio w) { g->weight[i] = w; }

void kr_graph_set_edge(kr_graph *g, size_t from, size_t to, kr_ratio share) {
    *edge_at(g, from, to) = share;
}

kr_ratio kr_graph_weight(const kr_graph *g, size_t i) { return g->weight[i]; }

/* Exact sums must not exceed 1; sums of doubles may by their own rounding. */
static bool at_most_one(kr_ratio sum) {
    return kr_ratio_exact(sum) ? kr_ratio_cmp(sum, one) <= 0 : sum.value <= 1 + 1e-12;
}

static kr_status check_row(const kr_graph *g, size_t i, kr_error *err) {
    kr_ratio sum = zero;
    for (size_t k = 0; k < g->m; k++) {
        kr_ratio e = *edge_at(g, i, k);
        if (!(e.value >= 0) || (i == k && !is_zero(e)))
            return kr_fail(err, KR_EINVAL, "edge from hypothesis %zu to %zu is %g", i, k, e.value);
        sum = kr_ratio_add(sum, e);
    }
    if (!at_most_one(sum))
        return kr_fail(err, KR_EINVAL, "edges from hypothesis %zu sum to %g, more than 1", i,
                       sum.value);
    return KR_OK;
}

kr_status kr_graph_check(const kr_graph *g, kr_error *err) {
    kr_ratio sum = zero;
    for (size_t i = 0; i < g->m; i++) {
        if (!(g->weight[i].value >= 0))
            return kr_fail(err, KR_EINVAL, "weight of hypothesis %zu is %g", i, g->weight[i].value);
        sum = kr_ratio_add(sum, g->weight[i]);
        kr_status st = check_row(g, i, err);
        if (st != KR_OK)
            return st;
    }
    if (!at_most_one(sum))
        return kr_fail(err, KR_EINVAL, "weights sum to %g, more than 1", sum.value);
    return KR_OK;
}

/* New edges of l once i is taken out: g_lk = (g_lk + g_li g_ik) / (1 - g_li g_il). */
static void bypass(kr_graph *g, size_t l, size_t i) {
    kr_ratio li = *edge_at(g, l, i);
    kr_ratio den = kr_ratio_sub(one, kr_ratio_mul(li, *edge_at(g, i, l)));
    for (size_t k = 0; k < g->m; k++) {
        kr_ratio *lk = edge_at(g, l, k), ik = *edge_at(g, i, k);
        if (g->gone[k] || (is_zero(*lk) && is_zero(ik)))
            continue;
        if (l == k || !(den.value > 0))
            *lk = zero;
        else
            *lk = kr_ratio_div(kr_ratio_add(*lk, kr_ratio_mul(li, ik)), den);
    }
    *edge_at(g, l, i) = zero;
}

void kr_graph_remove(kr_graph *g, size_t i) {
    g->gone[i] = true;
    for (size_t l = 0; l < g->m; l++) {
        if (g->gone[l])
            continue;
        kr_ratio il = *edge_at(g, i, l);
        if (!is_zero(il))
            g->weight[l] = kr_ratio_add(g->weight[l], kr_ratio_mul(g->weight[i], il));
        if (!is_zero(*edge_at(g, l, i)))
            bypass(g, l, i);
    }
    g->weight[i] = zero;
}

static kr_status copy_of(const kr_graph *g, kr_graph **out, kr_error *err) {
    kr_status st = kr_graph_new(g->m, out, err);
    if (st != KR_OK)
        return st;
    memcpy((*out)->gone, g->gone, g->m * sizeof *g->gone);
    memcpy((*out)->weight, g->weight, g->m * sizeof *g->weight);
    memcpy((*out)->edge, g->edge, g->m * g->m * sizeof *g->edge);
    return KR_OK;
}

static kr_ratio clean(kr_ratio p) { return p.value >= 0 && p.value <= 1 ? p : one; }

/* The hypothesis with the smallest p over weight among those alive with a weight; m if none. */
static size_t next_candidate(const kr_graph *g, const kr_ratio *p, kr_ratio *quotient) {
    size_t best = g->m;
    for (size_t i = 0; i < g->m; i++) {
        if (g->gone[i] || !(g->weight[i].value > 0))
            continue;
        kr_ratio q = kr_ratio_div(clean(p[i]), g->weight[i]);
        if (best == g->m || kr_ratio_cmp(q, *quotient) < 0)
            best = i, *quotient = q;
    }
    return best;
}

/* Removing hypotheses one by one without regard to delta gives the adjusted p-values; those before
 * the first failure are the rejections. */
kr_status kr_graph_test(const kr_graph *graph, const kr_ratio *p, kr_level delta, kr_claim *out,
                        size_t *rejected, kr_error *err) {
    kr_graph *g = NULL;
    kr_status st = kr_graph_check(graph, err);
    if (st == KR_OK)
        st = copy_of(graph, &g, err);
    if (st != KR_OK)
        return st;
    kr_ratio d = kr_ratio_level(delta), q = zero;
    double worst = 0;
    size_t done = 0, i;
    bool open = true;
    for (size_t j = 0; j < g->m; j++)
        out[j] = (kr_claim){.adjusted = 1};
    while ((i = next_candidate(g, p, &q)) < g->m) {
        kr_ratio level = kr_ratio_mul(g->weight[i], d);
        worst = fmax(worst, fmin(1, q.value));
        out[i].adjusted = worst;
        kr_reject r = kr_p_decide_ratio(clean(p[i]), level);
        if (open && r != KR_REJECT_YES) { /* nothing more is rejected: note what each holds */
            open = false;
            out[i].verdict = r;
            for (size_t j = 0; j < g->m; j++)
                if (!g->gone[j])
                    out[j].level = kr_ratio_mul(g->weight[j], d).value;
        }
        if (open) {
            out[i].verdict = r;
            out[i].level = level.value;
            out[i].order = (int)++done;
        }
        kr_graph_remove(g, i);
    }
    kr_graph_free(g);
    if (rejected != NULL)
        *rejected = done;
    return KR_OK;
}

kr_status kr_graph_fallback(size_t m, const kr_ratio *weights, kr_graph **out, kr_error *err) {
    kr_graph *g = NULL;
    kr_status st = kr_graph_new(m, &g, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < m; i++) {
        g->weight[i] = weights[i];
        if (i + 1 < m)
            *edge_at(g, i, i + 1) = one;
    }
    st = kr_graph_check(g, err);
    if (st == KR_OK)
        *out = g;
    else
        kr_graph_free(g);
    return st;
}

kr_status kr_graph_fixed(size_t m, kr_graph **out, kr_error *err) {
    size_t start = 0;
    return kr_graph_multistart(m, 1, &start, out, err);
}

kr_status kr_graph_multistart(size_t m, size_t starts, const size_t *start, kr_graph **out,
                              kr_error *err) {
    if (starts == 0)
        return kr_fail(err, KR_EINVAL, "a sequence needs at least one start");
    for (size_t s = 0; s < starts; s++)
        if (start[s] >= m || (s > 0 && start[s] <= start[s - 1]))
            return kr_fail(err, KR_EINVAL, "start %zu is not a rising index below %zu", start[s],
                           m);
    kr_graph *g = NULL;
    kr_status st = kr_graph_new(m, &g, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i + 1 < m; i++)
        *edge_at(g, i, i + 1) = one;
    for (size_t s = 0; s < starts; s++)
        g->weight[start[s]] = kr_ratio_make(1, (int64_t)starts);
    *out = g;
    return KR_OK;
}

kr_status kr_graph_holm(size_t m, kr_graph **out, kr_error *err) {
    kr_graph *g = NULL;
    kr_status st = kr_graph_new(m, &g, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < m; i++) {
        g->weight[i] = kr_ratio_make(1, (int64_t)m);
        for (size_t k = 0; k < m; k++)
            if (i != k)
                *edge_at(g, i, k) = kr_ratio_make(1, (int64_t)m - 1);
    }
    *out = g;
    return KR_OK;
}

/* Head of chain c, with the total of all lengths for c == chains; SIZE_MAX when that is too much.
 */
static size_t head_of(size_t c, const size_t *length) {
    size_t at = 0;
    for (size_t i = 0; i < c; i++) {
        if (length[i] == 0 || length[i] > KR_GRAPH_MAX)
            return SIZE_MAX;
        at += length[i];
    }
    return at;
}

static void lay_chain(kr_graph *g, size_t c, size_t chains, const size_t *length) {
    size_t head = head_of(c, length), tail = head + length[c] - 1;
    for (size_t i = head; i < tail; i++)
        *edge_at(g, i, i + 1) = one;
    for (size_t o = 0; o < chains; o++)
        if (o != c)
            *edge_at(g, tail, head_of(o, length)) = kr_ratio_make(1, (int64_t)chains - 1);
}

kr_status kr_graph_chains(size_t chains, const size_t *length, const kr_ratio *weights,
                          kr_graph **out, kr_error *err) {
    if (chains == 0 || chains > KR_GRAPH_MAX || head_of(chains, length) > KR_GRAPH_MAX)
        return kr_fail(err, KR_EINVAL, "%zu chains: each needs 1 candidate or more, %d in all",
                       chains, KR_GRAPH_MAX);
    kr_graph *g = NULL;
    kr_status st = kr_graph_new(head_of(chains, length), &g, err);
    if (st != KR_OK)
        return st;
    for (size_t c = 0; c < chains; c++) {
        lay_chain(g, c, chains, length);
        g->weight[head_of(c, length)] =
            weights != NULL ? weights[c] : kr_ratio_make(1, (int64_t)chains);
    }
    st = kr_graph_check(g, err);
    if (st == KR_OK)
        *out = g;
    else
        kr_graph_free(g);
    return st;
}

size_t kr_multiple_multistart(size_t m, size_t starts, const size_t *start, const kr_ratio *p,
                              kr_level delta, kr_claim *out) {
    kr_ratio level = kr_ratio_div(kr_ratio_level(delta), kr_ratio_make((int64_t)starts, 1));
    size_t done = 0, s = 0;
    double along = 1; /* running maximum of the walk that arrives here; 1 where none does */
    for (size_t j = 0; j < m; j++) {
        double pj = clean(p[j]).value;
        bool begins = s < starts && start[s] == j;
        s += begins;
        bool reached = begins || (j > 0 && out[j - 1].verdict == KR_REJECT_YES);
        along = begins ? pj : fmax(along, pj);
        kr_claim c = {.adjusted = fmin(1, along * (double)starts)};
        if (reached) {
            c.level = level.value;
            c.verdict = kr_p_decide_ratio(clean(p[j]), level);
            c.order = c.verdict == KR_REJECT_YES ? (int)++done : 0;
        }
        out[j] = c;
    }
    return done;
}
