/* parts.h - what several policies share. Internal to src/evict. */
#ifndef KR_EVICT_PARTS_H
#define KR_EVICT_PARTS_H

#include "evict/policy.h"

#define KR_COUNT(a) (sizeof(a) / sizeof *(a))

#define KR_INT_PARAM(name, lo, hi, def, what)                                                      \
    {name, KR_PARAM_INT, NULL, {lo, 0}, {hi, 0}, {def, 0}, what}
#define KR_CHOICE_PARAM(name, choices, n, def, what)                                               \
    {name, KR_PARAM_CHOICE, choices, {0, 0}, {(n)-1, 0}, {def, 0}, what}

/* ---- rounding of budgets: a parameter of every policy with a retention ---- */

extern const char *const kr_round_names[]; /* floor, even, float: in the order of kr_rounding */
#define KR_ROUND_PARAM(def)                                                                        \
    KR_CHOICE_PARAM("round", kr_round_names, 3, def,                                               \
                    "n x retention rounded down, to even, or as binary numbers do")

/* Entries per head: n r, or the tokens asked for, clamped to 1 .. n. */
size_t kr_part_budget(size_t n, kr_evict_level level, kr_rounding how);

/* Entries of `times` heads together: n r times, or tokens x times, clamped to times .. n times. */
size_t kr_part_budget_of(size_t n, size_t times, kr_evict_level level, kr_rounding how);

/* `count` times `each`; NULL with an error when out of memory. The caller frees them. */
size_t *kr_part_budgets(size_t count, size_t each, kr_error *err);

/* kr_select with the same budget for each head. */
kr_status kr_part_uniform(const kr_scores *s, size_t budget, kr_keep **out, kr_error *err);

/* Selection at the level of `spec` from scores that there are. */
kr_status kr_part_select(const kr_evict_spec *spec, const kr_scores *s, kr_keep **out,
                         kr_error *err);

/* ---- attention of the newest queries ---- */

/* a[w][n] = softmax over j of q[t] . k[j] / sqrt(d), where query t of w sits at position n-w+t and
 * sees j up to there; 0 beyond. q [w][d], k [n][d], w <= n. */
void kr_part_attention(const float *q, const float *k, size_t w, size_t n, size_t d, float *a);

/* The same for the newest w queries of a query head, over the keys of its KV head. a [w][n]. */
void kr_part_head_attention(const kr_evict_input *in, size_t layer, size_t head, size_t w,
                            float *a);

/* Called for each KV head of each layer, in any order, on any thread: writes only its own row of
 * `s`. False: out of memory. */
typedef bool (*kr_part_fn)(const kr_evict_input *in, kr_scores *s, size_t layer, size_t head,
                           const void *arg);
kr_status kr_part_heads(const kr_evict_input *in, kr_scores *s, kr_part_fn fn, const void *arg,
                        kr_error *err);

/* ---- SnapKV's scores, which others build on ---- */

typedef enum { KR_POOL_AVG, KR_POOL_MAX } kr_pooling;
typedef enum { KR_REDUCE_MEAN, KR_REDUCE_MAX, KR_REDUCE_SUM } kr_reduce;
typedef enum { KR_POOL_FIRST, KR_REDUCE_FIRST } kr_pool_order;
extern const char *const kr_pooling_names[], *const kr_reduce_names[], *const kr_order_names[];

typedef struct {
    size_t window, kernel; /* kernel odd */
    kr_pooling pooling;
    kr_reduce reduce;   /* of the query heads of a group */
    kr_pool_order order;
} kr_snap;

/* Stride 1, kernel / 2 padding: zeros that count for AVG (always divided by kernel), nothing for
 * MAX. in, out [n], different. */
void kr_part_pool(const float *in, size_t n, size_t kernel, kr_pooling how, float *out);

/* out[j] over the rows in[g][ld], j < n. */
void kr_part_reduce(const float *in, size_t group, size_t ld, size_t n, kr_reduce how, float *out);

/* s[n - window] from the attention a[group][window][n] of one KV head's query heads. */
bool kr_part_snap(const float *a, size_t group, size_t n, const kr_snap *snap, float *s);

/* The first parameters of every policy that starts from SnapKV's scores. */
enum { KR_SNAP_WINDOW, KR_SNAP_KERNEL, KR_SNAP_POOL, KR_SNAP_REDUCE, KR_SNAP_ORDER,
       KR_SNAP_ROUND, KR_SNAP_PARAMS };
#define KR_SNAP_PARAM_LIST                                                                         \
    KR_INT_PARAM("window", 1, 4096, 32, "newest tokens that observe and are kept"),                \
        KR_INT_PARAM("kernel", 1, 255, 5, "width of the pooling, odd"),                            \
        KR_CHOICE_PARAM("pool", kr_pooling_names, 2, 0, "pooling over positions"),                 \
        KR_CHOICE_PARAM("reduce", kr_reduce_names, 3, 0, "over the query heads of a KV head"),     \
        KR_CHOICE_PARAM("order", kr_order_names, 2, 0, "pool before or after reducing"),           \
        KR_ROUND_PARAM(0)
kr_snap kr_snap_params(const kr_params *p);
size_t kr_snap_window(const kr_params *p);

/* SnapKV's scores of every head: into `first` where there is one, else into `rank`. */
kr_status kr_snap_score(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err);

/* ---- norms of values behind the output projection ---- */

/* norm[j] = mean over g of || v[j] . wo[g] ||_1: v [n][d], wo [group][d][width]. */
bool kr_part_norms(const float *v, const float *wo, size_t group, size_t n, size_t d, size_t width,
                   float *norm);

/* [layers][kv_heads][n] from the request's shared store; NULL with an error when out of memory. */
const float *kr_shared_norms(const kr_evict_input *in, kr_error *err);

/* ---- AdaKV's allocation, which CriticalAdaKV builds on ---- */

/* Entries of each head when H x `budget` of a layer are dealt by score and every head's best
 * `sure` entries, protected ones counted first, are kept. */
kr_status kr_part_adakv(const kr_scores *s, size_t budget, size_t sure, kr_keep **out,
                        kr_error *err);

/* ---- DefensiveKV ---- */

enum { KR_DEF_WINDOW, KR_DEF_KERNEL, KR_DEF_BIAS, KR_DEF_MASS, KR_DEF_ROUND, KR_DEF_PARAMS };
extern const kr_param kr_defensive_params[KR_DEF_PARAMS];

/* Scores of one layer from plain arrays.
 * a     [heads * group][w][n] attention of the window
 * norm  [heads][n] value norms
 * rank, first  [heads][n] out, columns below n - w
 * bias  out: mean mass that counts as certain; `intended`: on the window itself, else on the w
 *       columns before it */
bool kr_defensive_layer(const float *a, const float *norm, size_t heads, size_t group, size_t n,
                        size_t w, size_t kernel, bool intended, float *rank, float *first,
                        double *bias);

/* Entries to force: of the sorted shares of `first` those before their sum reaches mass - bias, at
 * most budget - w and at least 0. */
size_t kr_defensive_forced(const float *first, const uint32_t *order, size_t m, double mass,
                           double bias, size_t budget, size_t w);
kr_status kr_defensive_score(const kr_evict_input *in, const kr_params *p, kr_scores *s,
                             kr_error *err);
/* [layers][heads] counts for a level; the caller frees them. */
size_t *kr_defensive_counts(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_error *err);
size_t kr_defensive_window(const kr_params *p);

/* ---- ReFreeKV ---- */

/* First position of the run that is kept, for attention a[heads][n] of the newest query and m sinks.
 * Reference variant: the norm leaves the sinks out. */
size_t kr_refree_start(const float *a, size_t heads, size_t n, size_t m, double threshold);
/* Number of entries kept in the order 0 .. m-1, n-1, n-2, ..: the paper's variant. */
size_t kr_refree_prefix(const float *a, size_t heads, size_t n, size_t m, double threshold);

/* One per file. */
extern const kr_evictor kr_evictor_full, kr_evictor_random, kr_evictor_streaming, kr_evictor_snapkv,
    kr_evictor_adakv, kr_evictor_defensivekv, kr_evictor_layer_defensivekv, kr_evictor_refreekv,
    kr_evictor_criticalkv, kr_evictor_criticaladakv, kr_evictor_knorm, kr_evictor_keydiff,
    kr_evictor_tova, kr_evictor_h2o, kr_evictor_pyramidkv, kr_evictor_expected;

#endif
