/* family.h - the best of several methods under one error budget: parallel chains of candidates.
 *
 * Taking the best of M methods that were each certified at delta has an error of up to
 * 1 - (1 - delta)^M. Here every method starts at its share of delta (1/M unless declared otherwise)
 * and a method whose whole sequence passed hands its share to the others (a graph of chains, see
 * graph.h). All claims of all methods then hold together with probability 1 - delta, so any rule
 * may pick among the certified ones after looking. Methods, their order and shares must be declared
 * before. This walks integer counts; the result is that of kr_graph_chains with kr_graph_test. */
#ifndef KR_RISK_FAMILY_H
#define KR_RISK_FAMILY_H

#include "risk/graph.h"
#include "risk/sequence.h"

/* Number of degraded requests of candidate j of method c, or KR_COUNT_NONE. */
typedef int64_t (*kr_family_count_fn)(void *ctx, size_t c, size_t j);

typedef struct {
    kr_ratio share;   /* of delta, at the end */
    kr_limits limits; /* at that share */
    kr_sequence sequence;
} kr_family_member;

/* methods >= 1; length[c] candidates of method c (0 allowed: nothing to certify, its share is
 * lost); weights NULL (equal) or [methods], sum at most 1. out[methods] untouched on error. */
kr_status kr_family_certify(size_t methods, const size_t *length, kr_family_count_fn count,
                            void *ctx, int64_t n, kr_dec eps, kr_level delta,
                            const kr_ratio *weights, kr_family_member *out, kr_error *err);

/* Adjusted p-values of the same family: adjusted[c][j] <= delta exactly where candidate j of method c
 * is certified at delta, whatever delta. p[c][j] are the candidates' p-values (NaN counts as 1), `open`
 * marks methods whose sequence is not known to its end and hands nothing on (NULL: none). A candidate
 * that is never reached, and any whose level would exceed 1, gets 1. */
kr_status kr_family_adjusted(size_t methods, const size_t *length, const double *const *p,
                             const bool *open, double *const *adjusted, kr_error *err);

/* P[at least one of m independent certificates at the boundary is false] when each is given at
 * probability `each`: what taking the best of m costs. 1 - (1 - each)^m. */
double kr_family_naive_error(double each, int64_t m);

/* The same error as measured where methods fail on the same requests: fewest and most over latent
 * correlations of 0.9 down to 0 between methods, each first uncertifiable candidate at the target,
 * n = 1200, eps = delta = 0.05 (20 000 simulated draws, standard error 0.0035). m between the
 * measured ones counts as the next larger; m > 12 gives the values of 12 and says so by returning
 * false. */
bool kr_family_price(int64_t m, double *least, double *most);

#endif
