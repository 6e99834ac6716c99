/* anytime.h - an interval for a rate that may be looked at after every request, for as long as one
 * likes, and stopped at any time. */
#ifndef KR_RISK_ANYTIME_H
#define KR_RISK_ANYTIME_H

#include <stdint.h>

#include "base/status.h"

/* Interval [*lo, *hi] of 0..1 for the rate of independent events of which `events` of n were seen.
 * With probability at least 1 - delta it holds the rate at all n at once, so that stopping when it
 * pleases does not break it. n = 0: [0, 1]. KR_EINVAL outside 0 <= events <= n, 0 < delta < 1.
 *
 * The rates p that a mixture of likelihood ratios over Beta(1/2, 1/2) does not refute:
 *   B(k + 1/2, n - k + 1/2) / B(1/2, 1/2) < p^k (1 - p)^(n - k) / delta
 * (Robbins, Annals of Mathematical Statistics 41, 1970, by Ville's inequality). */
kr_status kr_anytime_interval(int64_t events, int64_t n, double delta, double *lo, double *hi,
                              kr_error *err);

#endif
