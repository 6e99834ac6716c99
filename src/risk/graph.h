/* graph.h - the graphical multiple-testing procedure, of which fixed sequence, Holm, fallback and
 * parallel chains are special graphs.
 *
 * Bretz, Maurer, Brannath and Posch, Statistics in Medicine 28 (2009): hypothesis i holds the share
 * weight_i of delta; when it is rejected its share passes to hypothesis k in the proportion
 * edge_ik. False rejections at all have probability at most delta, whatever the dependence between
 * p-values, as long as weights and edges do not depend on the calibration outcomes. */
#ifndef KR_RISK_GRAPH_H
#define KR_RISK_GRAPH_H

#include <stddef.h>

#include "base/status.h"
#include "risk/multiple.h"

#define KR_GRAPH_MAX 4096 /* hypotheses */

typedef struct kr_graph kr_graph;

/* m hypotheses without weight and without edges. Caller frees. KR_EINVAL when m is 0 or above
 * KR_GRAPH_MAX, KR_ENOMEM. Memory 24 m^2 bytes. */
kr_status kr_graph_new(size_t m, kr_graph **out, kr_error *err);
void kr_graph_free(kr_graph *g);

void kr_graph_set_weight(kr_graph *g, size_t i, kr_ratio w);
void kr_graph_set_edge(kr_graph *g, size_t from, size_t to, kr_ratio share);
kr_ratio kr_graph_weight(const kr_graph *g, size_t i);

/* KR_EINVAL with a sentence unless weights and edges are >= 0, no edge leads from a hypothesis to
 * itself, and weights and every row of edges sum to at most 1. */
kr_status kr_graph_check(const kr_graph *g, kr_error *err);

/* Takes hypothesis i out (as after its rejection): its weight goes along its edges and the edges
 * around it are joined. */
void kr_graph_remove(kr_graph *g, size_t i);

/* Runs the procedure on p[m]; out[m]. The graph itself is left as it was. Rejects the smallest p
 * over weight first, ties by index, so a trace is reproducible; which hypotheses are rejected does
 * not depend on that order. A share of 0 rejects nothing, not even p = 0. out[i].level is the level
 * at rejection, or the one held in the end; *rejected may be NULL. */
kr_status kr_graph_test(const kr_graph *g, const kr_ratio *p, kr_level delta, kr_claim *out,
                        size_t *rejected, kr_error *err);

/* Ready-made graphs; caller frees. */
kr_status kr_graph_fixed(size_t m, kr_graph **out, kr_error *err);
kr_status kr_graph_holm(size_t m, kr_graph **out, kr_error *err);
/* Wiens, Pharmaceutical Statistics 2 (2003): weights[m] sum to at most 1, each rejection passes its
 * level to the next. */
kr_status kr_graph_fallback(size_t m, const kr_ratio *weights, kr_graph **out, kr_error *err);
/* Several declared starts in one sequence, strictly rising indices below m: 1/starts on each, then
 * as fallback. */
kr_status kr_graph_multistart(size_t m, size_t starts, const size_t *start, kr_graph **out,
                              kr_error *err);
/* One chain of length[c] >= 1 hypotheses per method, stored one after the other. weights[chains] on
 * the heads (NULL: equal), each passes down its chain, the tail to the heads of the other chains in
 * equal parts. */
kr_status kr_graph_chains(size_t chains, const size_t *length, const kr_ratio *weights,
                          kr_graph **out, kr_error *err);

/* Multi-start in its plain form: every start walks at delta/starts until it fails, nothing is
 * passed on. Never rejects more than kr_graph_multistart. Returns how many were rejected. */
size_t kr_multiple_multistart(size_t m, size_t starts, const size_t *start, const kr_ratio *p,
                              kr_level delta, kr_claim *out);

#endif
