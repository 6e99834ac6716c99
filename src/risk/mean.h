/* mean.h - certificates for the mean of a bounded loss: H: "the mean loss is at least alpha".
 *
 * Losses are integers of 1e-9 in 0..1e9, rounded up where they had to be rounded, so sums are
 * exact. Valid for independent requests; which kinds also cover strata of equal size (with the mean
 * of the task means as target) stands beside each. Declare one kind: taking the smaller of two
 * kinds after looking costs a factor 2 (Hoeffding-Bentkus is one kind). */
#ifndef KR_RISK_MEAN_H
#define KR_RISK_MEAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/decimal.h"
#include "base/status.h"
#include "risk/ratio.h"

typedef enum {
    KR_MEAN_HOEFFDING, /* strata too; for reference. Hoeffding, JASA 58 (1963) */
    KR_MEAN_KL,        /* strata too. Chernoff-Hoeffding with relative entropy, same paper */
    KR_MEAN_BENTKUS,   /* strata too. Bentkus, Annals of Probability 32 (2004) */
    KR_MEAN_HB,        /* strata too: the smaller of the two before, which bound the same tail.
                        * Bates et al., J. ACM 68 (2021) */
    KR_MEAN_BERNSTEIN, /* independent, identically distributed. Maurer and Pontil (2009) */
    KR_MEAN_WSR,       /* identically distributed, in a declared order. Waudby-Smith and Ramdas,
                        * JRSS B 86 (2024): betting with predictable plug-in */
    KR_MEAN_WSR_ROUNDS /* strata too: one request per task in each round, bets frozen per round and
                        * capital looked at between rounds */
} kr_mean_kind;

typedef struct {
    double p;     /* p-value of H */
    double upper; /* upper confidence limit of the mean at the level, in [0,1] */
} kr_mean_claim;

/* loss[n] (nano-units, in the declared order for the two betting kinds), alpha in (0,1), delta in
 * (0,1). round: requests per round, used by KR_MEAN_WSR_ROUNDS only (>= 1; a last incomplete round
 * is not used). n = 0: p = 1, upper = 1. KR_EINVAL: a loss out of range, alpha, delta, round. */
kr_status kr_mean_test(kr_mean_kind kind, const int64_t *loss, int64_t n, int64_t round,
                       kr_dec alpha, kr_level delta, kr_mean_claim *out, kr_error *err);

/* Its p-value alone, which for the betting kinds is some fifty times faster; 1 where kr_mean_test
 * would refuse. */
double kr_mean_p(kr_mean_kind kind, const int64_t *loss, int64_t n, int64_t round, kr_dec alpha,
                 kr_level delta);

/* Loss of a drop (full minus compressed utility, nano-units) on a scale of `range` > 0: max(0,
 * drop) over range, rounded up; above range: 1. KR_DROP_MISSING gives 1. */
int64_t kr_mean_loss(int64_t drop, int64_t range);

#endif
