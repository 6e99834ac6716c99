/* tolerance.h - the tolerances at which one declared policy is certified, all at once. */
#ifndef KR_RISK_TOLERANCE_H
#define KR_RISK_TOLERANCE_H

#include <stdbool.h>
#include <stdint.h>

/* A drop that could not be measured: larger than any tolerance. */
#define KR_DROP_MISSING INT64_MAX

/* The drop of ascending rank 0..n-1 (nano-units; missing ones last, as KR_DROP_MISSING). */
typedef int64_t (*kr_rank_fn)(void *ctx, int64_t rank);

/* Smallest tolerance (nano-units) at which a policy with these n drops is certified: the ascending
 * order statistic n - kmax, the distribution-free upper confidence bound of the (1 - eps)-quantile
 * of the drop (David and Nagaraja, "Order Statistics", 7.1). Every tolerance from there on is
 * certified simultaneously, so it may be chosen after looking, for one policy declared beforehand.
 * May be negative. false: no tolerance is certified (kmax < 0, bad arguments, or the order
 * statistic is missing); *out is then untouched. kmax >= n gives INT64_MIN: even no drop at all may
 * fail. */
bool kr_tolerance_certified(int64_t n, int64_t kmax, kr_rank_fn drop, void *ctx, int64_t *out);

/* The same from an array sorted ascending. */
bool kr_tolerance_certified_sorted(int64_t n, int64_t kmax, const int64_t *drops, int64_t *out);

#endif
