/* snapkv.c - SnapKV (Li et al. 2024): what the newest tokens attend to, pooled over neighbours, the
 * same budget for every head. */
#include "evict/parts.h"

static const kr_param params[] = {KR_SNAP_PARAM_LIST};

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores **out,
                       kr_error *err) {
    const kr_kv *kv = in->kv;
    kr_snap snap = kr_snap_params(p);
    kr_scores *s;
    kr_status st = kr_scores_new(kv->layers, kv->heads, kr_evict_n(in), 0, snap.window, false, 0,
                                 &s, err);
    if (st != KR_OK)
        return st;
    st = kr_snap_scores(in, &snap, s, false, err);
    if (st == KR_OK)
        st = kr_scores_sort(s, err);
    if (st == KR_OK)
        *out = s;
    else
        kr_scores_free(s);
    return st;
}

static kr_status choose(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                        kr_error *err) {
    kr_rounding how = (kr_rounding)kr_param_int(p, KR_SNAP_ROUND);
    return kr_part_uniform(s, kr_part_budget(s->n, level, how), out, err);
}

const kr_evictor kr_evictor_snapkv = {
    .name = "snapkv",
    .what = "what the newest tokens attend to, pooled",
    .paper = "Li et al. 2024, arXiv 2404.14469",
    .params = params,
    .n_params = KR_SNAP_PARAMS,
    .scope = KR_SCOPE_HEAD,
    .window = kr_snap_window,
    .protects = kr_snap_window,
    .score = score,
    .select = choose,
};
