/* tova.c - TOVA (Oren et al. 2024, Transformers are multi-state RNNs): what the newest token attends
 * to, on average over all heads of a layer, which keep the same entries. */
#include "evict/parts.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND, N };

static const kr_param params[] = {KR_ROUND_PARAM(0)};

static size_t one(const kr_params *p) {
    (void)p;
    return 1;
}

/* Mean over all query heads of the newest query's attention, in double. */
static void layer_mean(const kr_evict_input *in, size_t layer, size_t n, float *a, double *mean) {
    size_t heads = in->model->geo.heads;
    memset(mean, 0, n * sizeof *mean);
    for (size_t q = 0; q < heads; q++) {
        kr_part_head_attention(in, layer, q, 1, a);
        for (size_t j = 0; j < n; j++)
            mean[j] += (double)a[j] / (double)heads;
    }
}

static kr_status score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err) {
    float *a = malloc(s->n * sizeof *a);
    double *mean = malloc(s->n * sizeof *mean);
    bool ok = a != NULL && mean != NULL;
    (void)p;
    for (size_t l = 0; ok && l < s->layers; l++) {
        layer_mean(in, l, s->n, a, mean);
        for (size_t h = 0; h < s->heads; h++)
            for (size_t j = 0; j < s->n; j++)
                kr_scores_rank(s, l, h)[j] = (float)mean[j];
    }
    free(a);
    free(mean);
    return ok ? KR_OK
              : kr_fail(err, KR_ENOMEM, "out of memory for the attention of %zu tokens", s->n);
}

const kr_evictor kr_evictor_tova = {
    .name = "tova",
    .what = "what the newest token attends to",
    .paper = "Oren et al. 2024, arXiv 2401.06104",
    .params = params,
    .n_params = N,
    .scope = KR_SCOPE_HEAD,
    .window = one,
    .tail = one,
    .score = score,
    .round = ROUND,
};
