/* defensivekv.c - DefensiveKV (Feng et al. 2025, Taming the fragility of KV cache eviction): what
 * counts is the worst case over the window's queries and the heads of a group, not their mean; what
 * certainly matters is kept first. As its repository computes it. */
#include "evict/parts.h"

#include <stdlib.h>
#include <string.h>

static const char *const bias_names[] = {"ref", "intended", NULL};

const kr_param kr_defensive_params[KR_DEF_PARAMS] = {
    KR_INT_PARAM("window", 1, 4096, 32, "newest tokens that observe and are kept"),
    KR_INT_PARAM("kernel", 1, 255, 5, "width of the average pooling, odd"),
    KR_CHOICE_PARAM("bias", bias_names, 2, 0,
                    "certain mass: of the columns before the window (ref) or of the window"),
    {"mass", KR_PARAM_DECIMAL, NULL, {0, 0}, {1, 0}, {9, 1},
     "share of the attention that is kept for sure"},
    KR_ROUND_PARAM(0),
};

size_t kr_defensive_window(const kr_params *p) {
    return (size_t)kr_param_int(p, KR_DEF_WINDOW);
}

/* ---- one layer, plain arrays ---- */

static double row_sum(const float *x, size_t n) {
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += (double)x[i];
    return s;
}

/* Pools one row and gives it its mass back; then takes it into the worst case and the mean. */
static void take_row(const float *a, size_t m, size_t kernel, double share, float *pooled,
                     float *worst, double *mean) {
    kr_part_pool(a, m, kernel, KR_POOL_AVG, pooled);
    double before = row_sum(a, m), after = row_sum(pooled, m);
    double scale = after > 0 ? before / after : after == 0 ? 0 : after; /* NaN stays NaN */
    for (size_t j = 0; j < m; j++) {
        float v = (float)((double)pooled[j] * scale);
        worst[j] = v > worst[j] || v != v ? v : worst[j];
        mean[j] += share * (double)a[j];
    }
}

/* The mean over a head's columns is the least that any of them counts. */
static void head_scores(const float *a, size_t group, size_t w, size_t n, size_t kernel,
                        float *pooled, double *mean, float *rank, float *first) {
    size_t m = n - w;
    memset(mean, 0, m * sizeof *mean);
    memset(rank, 0, m * sizeof *rank);
    for (size_t r = 0; r < group * w; r++)
        take_row(a + r * n, m, kernel, 1.0 / (double)(group * w), pooled, rank, mean);
    float least = (float)(row_sum(rank, m) / (double)m);
    for (size_t j = 0; j < m; j++) {
        rank[j] = rank[j] < least ? least : rank[j];
        first[j] = (float)mean[j];
    }
}

static double certain_mass(const float *a, size_t rows, size_t n, size_t w, bool intended) {
    size_t m = n - w, to = intended ? n : m, from = intended ? m : m > w ? m - w : 0;
    double sum = 0;
    for (size_t r = 0; r < rows; r++)
        sum += row_sum(a + r * n + from, to - from);
    return sum / (double)rows;
}

/* Times the norm's share among the heads, per position. */
static void times_norms(const float *norm, size_t heads, size_t n, size_t m, float *rank) {
    for (size_t j = 0; j < m; j++) {
        double sum = 0;
        for (size_t h = 0; h < heads; h++)
            sum += (double)norm[h * n + j];
        for (size_t h = 0; h < heads; h++)
            rank[h * n + j] = (float)((double)rank[h * n + j] *
                                      (sum == 0 ? 0 : (double)norm[h * n + j] / sum));
    }
}

bool kr_defensive_layer(const float *a, const float *norm, size_t heads, size_t group, size_t n,
                        size_t w, size_t kernel, bool intended, float *rank, float *first,
                        double *bias) {
    float *pooled = malloc(n * sizeof *pooled);
    double *mean = malloc(n * sizeof *mean);
    bool ok = pooled != NULL && mean != NULL;
    for (size_t h = 0; ok && h < heads; h++)
        head_scores(a + h * group * w * n, group, w, n, kernel, pooled, mean, rank + h * n,
                    first + h * n);
    if (ok) {
        times_norms(norm, heads, n, n - w, rank);
        *bias = certain_mass(a, heads * group * w, n, w, intended);
    }
    free(pooled);
    free(mean);
    return ok;
}

size_t kr_defensive_forced(const float *first, const uint32_t *order, size_t m, double mass,
                           double bias, size_t budget, size_t w) {
    double theta = mass - bias, sum = 0, part = 0;
    size_t most = budget > w ? budget - w : 0, c = 0;
    for (size_t j = 0; j < m; j++)
        sum += (double)first[j];
    if (!(theta > 0) || !(sum > 0))
        return 0;
    while (c < m && (part += (double)first[order[c]]) < theta * sum)
        c++;
    if (c == m) /* never reached */
        return 0;
    return c < most ? c : most;
}

/* ---- all layers ---- */

/* Layers are independent, heads of a layer are not: a tile is a layer. */
typedef struct {
    const kr_evict_input *in;
    const kr_params *p;
    const float *norm;
    kr_scores *s; /* aux = -1: the layer ran out of memory */
} job;

static bool layer_scores(const job *j, size_t layer) {
    const kr_kv *kv = j->in->kv;
    size_t n = j->s->n, w = j->s->tail, heads = kv->heads;
    size_t group = j->in->model->geo.heads / heads;
    float *a = malloc(heads * group * w * n * sizeof *a);
    if (a == NULL)
        return false;
    for (size_t q = 0; q < heads * group; q++)
        kr_part_head_attention(j->in, layer, q, w, a + q * w * n);
    bool ok = kr_defensive_layer(a, j->norm + layer * heads * n, heads, group, n, w,
                                 (size_t)kr_param_int(j->p, KR_DEF_KERNEL),
                                 kr_param_int(j->p, KR_DEF_BIAS) == 1,
                                 kr_scores_rank(j->s, layer, 0), kr_scores_first(j->s, layer, 0),
                                 &j->s->aux[layer]);
    free(a);
    return ok;
}

static void layer_tile(void *arg, size_t tile, size_t thread) {
    job *j = arg;
    (void)thread;
    if (!layer_scores(j, tile))
        j->s->aux[tile] = -1;
}

kr_status kr_defensive_score(const kr_evict_input *in, const kr_params *p, kr_scores *s,
                             kr_error *err) {
    const float *norm = kr_shared_norms(in, err);
    if (norm == NULL)
        return err != NULL ? err->code : KR_ENOMEM;
    job j = {.in = in, .p = p, .norm = norm, .s = s};
    if (!kr_pool_run(in->pool, s->layers, layer_tile, &j))
        return kr_fail(err, KR_ECANCELED, "canceled");
    for (size_t l = 0; l < s->layers; l++)
        if (s->aux[l] < 0)
            return kr_fail(err, KR_ENOMEM, "out of memory for the attention of %zu tokens", s->n);
    return KR_OK;
}

size_t *kr_defensive_counts(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_error *err) {
    size_t all = s->layers * s->heads, m = s->n - s->tail;
    size_t budget = kr_part_budget(s->n, level, (kr_rounding)kr_param_int(p, KR_DEF_ROUND));
    size_t *c = kr_part_budgets(all, 0, err);
    for (size_t i = 0; c != NULL && i < all; i++)
        c[i] = kr_defensive_forced(s->first + i * s->n, s->first_order + i * m, m,
                                   kr_param_real(p, KR_DEF_MASS), s->aux[i / s->heads], budget,
                                   s->tail);
    return c;
}

static kr_status choose(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                        kr_error *err) {
    size_t *forced = kr_defensive_counts(s, p, level, err);
    if (forced == NULL)
        return KR_ENOMEM;
    size_t b = kr_part_budget_of(s->n, s->heads, level, (kr_rounding)kr_param_int(p, KR_DEF_ROUND));
    size_t *budget = kr_part_budgets(s->layers, b, err);
    kr_selection sel = {.scope = KR_SCOPE_LAYER, .budget = budget, .forced = forced};
    kr_status st = budget != NULL ? kr_select(s, &sel, out, err) : KR_ENOMEM;
    free(forced);
    free(budget);
    return st;
}

const kr_evictor kr_evictor_defensivekv = {
    .name = "defensivekv",
    .what = "worst case over the window, the heads of a layer share a budget",
    .paper = "Feng et al. 2025, arXiv 2510.13334",
    .params = kr_defensive_params,
    .n_params = KR_DEF_PARAMS,
    .scope = KR_SCOPE_LAYER,
    .window = kr_defensive_window,
    .tail = kr_defensive_window,
    .forced = true,
    .score = kr_defensive_score,
    .select = choose,
};
