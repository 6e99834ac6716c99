/* random.c - each head keeps a random subset: the floor that a method has to beat.
 *
 * Scores come from a counter, not from a generator with a state: the same request, layer, head and
 * position always get the same number, in whatever order things run. */
#include "evict/parts.h"

enum { SEED, SINKS, RECENT, ROUND, N };

static const kr_param params[] = {
    KR_INT_PARAM("seed", 0, 1000000000, 0, "chooses the random numbers"),
    KR_INT_PARAM("sinks", 0, 4096, 0, "first tokens that are kept"),
    KR_INT_PARAM("recent", 0, 4096, 0, "newest tokens that are kept"),
    KR_ROUND_PARAM(0),
};

/* The finaliser of SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t z) {
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t protects(const kr_params *p) {
    return (size_t)(kr_param_int(p, SINKS) + kr_param_int(p, RECENT));
}

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores **out,
                       kr_error *err) {
    const kr_kv *kv = in->kv;
    kr_scores *s;
    kr_status st = kr_scores_new(kv->layers, kv->heads, kr_evict_n(in),
                                 (size_t)kr_param_int(p, SINKS), (size_t)kr_param_int(p, RECENT),
                                 false, 0, &s, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < kv->layers * kv->heads; i++) {
        uint64_t key = mix(mix(mix((uint64_t)kr_param_int(p, SEED)) ^ in->key) ^ i);
        for (size_t j = 0; j < s->n; j++)
            s->rank[i * s->n + j] = (float)(mix(key ^ j) >> 40) * 0x1p-24f;
    }
    st = kr_scores_sort(s, err);
    if (st == KR_OK)
        *out = s;
    else
        kr_scores_free(s);
    return st;
}

static kr_status choose(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                        kr_error *err) {
    kr_rounding how = (kr_rounding)kr_param_int(p, ROUND);
    return kr_part_uniform(s, kr_part_budget(s->n, level, how), out, err);
}

const kr_evictor kr_evictor_random = {
    .name = "random",
    .what = "a random subset in each head",
    .paper = "-",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .protects = protects,
    .score = score,
    .select = choose,
};
