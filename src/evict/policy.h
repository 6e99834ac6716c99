/* policy.h - what an eviction policy is: one descriptor per policy, each in a file of its own.
 *
 * A policy sees the full cache after a prompt and what the engine noted on the way (taps). It
 * scores once per request; for every level (a retention, a number of tokens or a threshold) it then
 * selects from the same scores. Nothing is carried over from one request to the next. */
#ifndef KR_EVICT_POLICY_H
#define KR_EVICT_POLICY_H

#include "base/buf.h"
#include "base/decimal.h"
#include "base/status.h"
#include "engine/kv.h"
#include "engine/model.h"
#include "engine/pool.h"
#include "engine/run.h"
#include "evict/budget.h"
#include "evict/keep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KR_POLICY_PARAMS = 12 };

typedef enum { KR_PARAM_INT, KR_PARAM_DECIMAL, KR_PARAM_CHOICE } kr_param_kind;

typedef struct {
    const char *name;
    kr_param_kind kind;
    const char *const *choices; /* CHOICE: ended by NULL; the value is the index */
    kr_dec min, max, def;       /* ends included */
    const char *what;           /* one line for help */
} kr_param;

/* Values in the order of the policy's parameters. */
typedef struct {
    kr_dec v[KR_POLICY_PARAMS];
} kr_params;

int64_t kr_param_int(const kr_params *p, size_t i);
double kr_param_real(const kr_params *p, size_t i);

typedef enum {
    KR_EVICT_RATIO,    /* share of the n entries, 0 < r <= 1 */
    KR_EVICT_TOKENS,   /* entries per head */
    KR_EVICT_THRESHOLD /* request-adaptive, 0 <= t <= 1 */
} kr_evict_level_kind;

typedef struct {
    kr_evict_level_kind kind;
    kr_dec value;
} kr_evict_level;

/* What the engine must note during the prompt. */
enum { KR_NEED_SUMS = 1, KR_NEED_MOMENTS = 2 };

/* Value norms of all layers, computed when first asked for and then shared by the policies of a
 * request. Zero-initialise; kr_evict_shared_free after use. */
typedef struct {
    float *norm; /* [layers][kv_heads][n], NULL so far */
} kr_evict_shared;
void kr_evict_shared_free(kr_evict_shared *s);

typedef struct {
    const kr_model *model; /* geometry, output projection, rotary frequencies */
    const kr_kv *kv;       /* the full cache; every head holds positions 0 .. n-1, n >= 1 */
    const kr_taps *taps;   /* NULL when no policy asked for any */
    kr_pool *pool;         /* NULL: the calling thread alone; results do not depend on it */
    kr_evict_shared *shared;
    uint64_t key;          /* tells requests apart, for random choices */
} kr_evict_input;

size_t kr_evict_n(const kr_evict_input *in);

typedef struct kr_evictor {
    const char *name, *what;
    const char *paper;    /* where it comes from */
    const kr_param *params;
    size_t n_params;
    bool threshold;       /* levels are thresholds */
    kr_scope scope;       /* of its budget */
    unsigned needs;
    /* Newest queries that it looks at; NULL: none. */
    size_t (*window)(const kr_params *p);
    /* Entries it never evicts at the front and at the end; NULL: none. It works beyond them. */
    size_t (*lead)(const kr_params *p), (*tail)(const kr_params *p);
    bool forced;          /* its scores have `first` */
    bool raw;             /* its scores have a row per query head and stay unsorted */
    /* Fills in the scores, which are zero, for n > lead + tail; NULL: everything is kept. */
    kr_status (*score)(const kr_evict_input *in, const kr_params *p, kr_scores *s, kr_error *err);
    /* NULL: the same number of entries for each head, rounded as parameter `round` says. */
    kr_status (*select)(const kr_scores *s, const kr_params *p, kr_evict_level level, kr_keep **out,
                        kr_error *err);
    size_t round;
} kr_evictor;

/* All policies in the order of the help, ended by NULL. */
const kr_evictor *const *kr_evictors(void);
const kr_evictor *kr_evictor_find(const char *name);

/* A policy with its level and parameters. */
typedef struct {
    const kr_evictor *policy;
    kr_evict_level level; /* `full` has ratio 1 */
    kr_params params;
} kr_evict_spec;

/* A named set of parameter values that others published results with. */
typedef struct {
    const char *name, *what;
    const char *protocol; /* "query_aware", "query_agnostic", or NULL for either */
    const char *values;   /* "window=64,..." ; names a policy does not have are passed over */
} kr_evict_preset;
const kr_evict_preset *kr_evict_presets(void); /* ended by an entry without a name */
const kr_evict_preset *kr_evict_preset_find(const char *name);

/* Reads "snapkv:0.50,window=32" (also 50%, and 512t for tokens per head; "full" needs no level).
 * `preset` (may be NULL) gives values first. KR_EINVAL with a sentence that names what is known. */
kr_status kr_evict_parse(const char *text, const kr_evict_preset *preset, kr_evict_spec *out,
                          kr_error *err);

/* The same without a level: "snapkv,window=32". */
kr_status kr_evict_parse_params(const char *text, const kr_evict_preset *preset, kr_evict_spec *out,
                                 kr_error *err);

/* Entries at both ends together that it never evicts. A text that is not longer is kept whole. */
size_t kr_evict_protects(const kr_evict_spec *s);

/* "snapkv:0.5"; with `all` every parameter too, so that equal texts mean equal policies. */
void kr_evict_text(const kr_evict_spec *s, bool all, kr_buf *out);

/* The level as text: "0.5", "512t". Returns `buf`. */
char *kr_evict_level_text(kr_evict_level level, char buf[KR_DEC_TEXT + 1]);

/* Scores of `s` for the request; *out is NULL when nothing needs scoring (n short or level full).
 * The scores serve every level of the same policy and parameters. The caller frees *out. */
kr_status kr_evict_score(const kr_evict_spec *s, const kr_evict_input *in, kr_scores **out,
                          kr_error *err);

/* Selection at the level of `s`. `scores` from kr_evict_score, may be NULL for n short or a level
 * of 1. Retention 1 keeps everything, whatever the policy. The caller frees *out. */
kr_status kr_evict_select(const kr_evict_spec *s, const kr_evict_input *in,
                           const kr_scores *scores, kr_keep **out, kr_error *err);

#endif
