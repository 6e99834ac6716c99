/* split.h - seeded choices among rows, made without looking at outcomes.
 *
 * Rows are to be given in an order of their own (sorted by task and id, say), never that of the
 * file, so that the choice depends on the rows and the seed alone. */
#ifndef KR_RISK_SPLIT_H
#define KR_RISK_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* task[n] < tasks; cluster[n]: equal numbers >= 0 belong together, negative stands alone; NULL: all
 * stand alone. Every function fills keep[n] and leaves it untouched on error: KR_EINVAL for a task
 * out of range or an impossible share, KR_ENOMEM. */

/* Marks a share num/den (0 < num < den <= 1000000) of each task's clusters, rounded to the nearest
 * whole cluster. A cluster counts to the task of its first row and stays whole. */
kr_status kr_split_share(size_t n, const uint32_t *task, size_t tasks, const int64_t *cluster,
                         int64_t num, int64_t den, uint64_t seed, bool *keep, kr_error *err);

/* Marks one row of every cluster. */
kr_status kr_split_one_per_cluster(size_t n, const int64_t *cluster, uint64_t seed, bool *keep,
                                   kr_error *err);

/* Marks take[h] rows of task h; KR_EINVAL where a task has fewer. */
kr_status kr_split_take(size_t n, const uint32_t *task, size_t tasks, const int64_t *take,
                        uint64_t seed, bool *keep, kr_error *err);

#endif
