/* random.c - each head keeps a random subset: the floor that a method has to beat.
 *
 * Scores come from a counter, not from a generator with a state: the same request, layer, head and
 * position always get the same number, in whatever order things run. */
#include "evict/parts.h"

#include "base/mix.h"

enum { SEED, SINKS, RECENT, ROUND, N };

static const kr_param params[] = {
    KR_INT_PARAM("seed", 0, 1000000000, 0, "chooses the random numbers"),
    KR_INT_PARAM("sinks", 0, 4096, 0, "first tokens that are kept"),
    KR_INT_PARAM("recent", 0, 4096, 0, "newest tokens that are kept"),
    KR_ROUND_PARAM(0),
};

static uint64_t mix(uint64_t z) {
    return kr_mix(z + KR_MIX_STEP);
}

static size_t lead(const kr_params *p) {
    return (size_t)kr_param_int(p, SINKS);
}

static size_t tail(const kr_params *p) {
    return (size_t)kr_param_int(p, RECENT);
}

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err) {
    (void)err;
    for (size_t i = 0; i < s->layers * s->heads; i++) {
        uint64_t key = mix(mix(mix((uint64_t)kr_param_int(p, SEED)) ^ in->key) ^ i);
        for (size_t j = 0; j < s->n; j++)
            s->rank[i * s->n + j] = (float)(mix(key ^ j) >> 40) * 0x1p-24f;
    }
    return KR_OK;
}

const kr_evictor kr_evictor_random = {
    .name = "random",
    .what = "a random subset in each head",
    .paper = "-",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .lead = lead,
    .tail = tail,
    .score = score,
    .round = ROUND,
};
