/* posthoc.h - tolerance or risk target chosen after looking, for a chain of candidates.
 *
 * Both tables hold as a whole with probability 1 - delta, whatever cell is picked afterwards, if
 * delta and the grid were declared before the outcomes were seen. */
#ifndef KR_RISK_POSTHOC_H
#define KR_RISK_POSTHOC_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "risk/sequence.h"

/* delta / min(candidates, points), the level of each cell: walking the chain of m candidates at
 * each of G grid points (tolerances, or risk targets) makes at most min(m, G) different first
 * errors. points 0: no finite grid (any value may be asked for later), so delta/candidates. With
 * several methods, delta is the share of one. candidates 0: level 0. */
kr_level kr_posthoc_level(kr_level delta, size_t candidates, size_t points);

/* The level of a cell when both may be picked later, from `tolerances` x `risks` declared grid
 * points: delta / min(tolerances x risks, candidates x min(tolerances, risks)). Level 0 where one
 * of them is 0. Beyond about nine such groups a band (band.h) at delta/candidates is cheaper. */
kr_level kr_posthoc_level_map(kr_level delta, size_t candidates, size_t tolerances, size_t risks);

/* Number of degraded requests of candidate j at grid point t, or KR_COUNT_NONE. */
typedef int64_t (*kr_posthoc_count_fn)(void *ctx, size_t t, size_t j);

/* The simultaneous table over a declared grid of tolerances: out[points], the walk of the m
 * candidates at each tolerance at level kr_posthoc_level. *limits (may be NULL) is what all cells
 * share. */
kr_status kr_posthoc_tolerances(size_t points, size_t m, kr_posthoc_count_fn count, void *ctx,
                                int64_t n, kr_dec eps, kr_level delta, kr_limits *limits,
                                kr_sequence *out, kr_error *err);

/* running[j] = max over i <= j of the upper limit of candidate i at level delta/m: with probability
 * 1 - delta all of them hold, so for any eps, also chosen later, the candidates before the first
 * running[j] > eps are certified. An unmeasured candidate has limit 1. upper (may be NULL) are the
 * limits themselves. n < 1: all 1. KR_EINVAL: a count out of 0..n. */
kr_status kr_posthoc_risks(size_t m, const int64_t *events, int64_t n, kr_level delta,
                           double *upper, double *running, kr_error *err);

/* Number of leading candidates with running[j] <= eps (near ties excluded). */
size_t kr_posthoc_prefix(size_t m, const double *running, kr_dec eps);

#endif
