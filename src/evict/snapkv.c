/* snapkv.c - SnapKV (Li et al. 2024): what the newest tokens attend to, pooled over neighbours, the
 * same budget for every head. */
#include "evict/parts.h"

static const kr_param params[] = {KR_SNAP_PARAM_LIST};

const kr_evictor kr_evictor_snapkv = {
    .name = "snapkv",
    .what = "what the newest tokens attend to, pooled",
    .paper = "Li et al. 2024, arXiv 2404.14469",
    .params = params,
    .n_params = KR_SNAP_PARAMS,
    .scope = KR_SCOPE_HEAD,
    .window = kr_snap_window,
    .tail = kr_snap_window,
    .score = kr_snap_score,
    .round = KR_SNAP_ROUND,
};
