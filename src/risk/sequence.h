/* sequence.h - certify one method: walk its candidates from the most conservative down.
 *
 * Fixed-sequence testing (Maurer, Hothorn and Lehmacher 1995; Bauer 1991): candidates are tested in
 * an order that does not depend on the calibration outcomes, each at the full level, up to the
 * first that is not rejected; the last rejected one is certified. The probability that its risk
 * exceeds eps is at most the level, whatever the dependence between candidates and however the risk
 * moves along the sequence. */
#ifndef KR_RISK_SEQUENCE_H
#define KR_RISK_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "risk/pvalue.h"

/* In place of a count: this candidate was not measured. Its p-value is 1. */
#define KR_COUNT_NONE INT64_MIN

typedef enum { KR_VERDICT_UNTESTED, KR_VERDICT_PASS, KR_VERDICT_STOP } kr_verdict;

typedef enum {
    KR_SEQUENCE_OK,             /* the walk decided; `certified` may still be -1 */
    KR_SEQUENCE_CANNOT_CERTIFY, /* n is too small: no count passes, not even 0 */
    KR_SEQUENCE_UNDECIDED       /* stopped at a p-value too close to the level to call */
} kr_sequence_status;

typedef enum {
    KR_STOP_NONE,      /* every candidate passed */
    KR_STOP_EMPTY,     /* there is no candidate */
    KR_STOP_TOO_FEW,   /* no count passes at this n */
    KR_STOP_EVENTS,    /* p > level */
    KR_STOP_GUARD,     /* K > n eps - 1: no valid p-value below 1 */
    KR_STOP_UNDECIDED, /* near tie */
    KR_STOP_NO_COUNT   /* the candidate was not measured */
} kr_stop;

typedef struct {
    kr_sequence_status status;
    int64_t certified; /* index of the certified candidate, -1: fall back to full KV */
    int64_t stopped;   /* index of the candidate that stopped the walk, -1: none */
    kr_stop why;
    int64_t certified_events, stopped_events; /* their counts, KR_COUNT_NONE where there is none */
    int64_t empirical; /* last of the longest prefix with K <= n eps (no guarantee), or -1 */
    int64_t empirical_events;
} kr_sequence;

/* Beside one candidate. The bound is pointwise: right for this candidate alone at the level. */
typedef struct {
    int64_t events;
    kr_verdict verdict;
    double p_value; /* guarded */
    double upper;   /* upper confidence limit of the risk, the inverse of the guarded test */
} kr_candidate;

/* Number of degraded requests of candidate j, 0..n, or KR_COUNT_NONE. */
typedef int64_t (*kr_count_fn)(void *ctx, size_t j);

/* Walks m candidates and asks for counts only up to where both the certified and the empirical
 * prefix have ended. m = 0 or nothing certifiable is a fallback, not an error. KR_EINVAL when a
 * count that was asked for is out of 0..n; *out is then untouched. */
kr_status kr_sequence_walk(const kr_limits *lim, size_t m, kr_count_fn count, void *ctx,
                           kr_sequence *out, kr_error *err);

/* The whole table: events[m] known beforehand, every one checked; candidates[m] filled (may be
 * NULL), for untested candidates as well. */
kr_status kr_sequence_certify(const kr_limits *lim, size_t m, const int64_t *events,
                              kr_candidate *candidates, kr_sequence *out, kr_error *err);

/* p-value and bound of one count (verdict left KR_VERDICT_UNTESTED). */
kr_candidate kr_candidate_of(const kr_limits *lim, int64_t events);

const char *kr_verdict_name(kr_verdict v);                 /* "pass", "stop", "untested" */

#endif
