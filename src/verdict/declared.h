/* declared.h - what a file's contract declares beyond its three numbers, fixed before looking: a
 * budget for exploring, another claim than the plain one, the weights of a mixture.
 *
 * "contract":{..., "explore":{"delta":0.05,"tolerances":[0,0.05],"risks":[0.05,0.1],
 *                        "confidence":true},
 *             "family":["snapkv","adakv"],"mode":"mixture","weights":{"qa":2,"vt":1},"seed":7,"mean":"hb"} */
#ifndef KR_VERDICT_DECLARED_H
#define KR_VERDICT_DECLARED_H

#include "calib/calib.h"
#include "risk/mean.h"
#include "risk/ratio.h"

/* The claims that kvrisk can make about a method. */
typedef enum {
    KR_MODE_EVENTS,        /* the plain contract, each line alone or as a family */
    KR_MODE_TOLERANCES,    /* tolerance picked after looking: joint table */
    KR_MODE_RISKS,         /* risk target picked after looking */
    KR_MODE_MAP,           /* both picked after looking */
    KR_MODE_CONFIDENCE,    /* confidence picked after looking: e-values */
    KR_MODE_MIXTURE,       /* another mixture of tasks, all rows */
    KR_MODE_SUBSAMPLE,     /* another mixture of tasks, seeded self-weighting subsample */
    KR_MODE_WORST_TASK,    /* every task meets the risk target */
    KR_MODE_CLUSTER_ONE,   /* one request per cluster, seeded */
    KR_MODE_CLUSTER_MEAN,  /* mean event rate of a cluster */
    KR_MODE_CLUSTER_MAX,   /* any request of the cluster is degraded */
    KR_MODE_MEAN_DROP,     /* mean drop instead of the share of events */
    KR_MODES
} kr_mode_kind;
const char *kr_mode_name(kr_mode_kind k); /* "events", "tolerances", ..., as in files and options */
bool kr_mode_find(const char *name, size_t len, kr_mode_kind *out);

#define KR_EXPLORE_MAX 64

typedef struct {
    bool explore; /* budget and grids for tables that are looked up afterwards */
    kr_dec explore_delta;
    bool any_confidence; /* e-values were declared: the confidence may be picked after looking */
    size_t n_tolerances, n_risks; /* 0: none declared */
    kr_dec tolerance[KR_EXPLORE_MAX], risk[KR_EXPLORE_MAX];
    kr_mode_kind mode;
    bool *member;     /* [methods] named by a "family" that is a list; NULL: all of them */
    kr_ratio *weight; /* [tasks], sum exactly 1; NULL: none declared */
    bool has_seed;
    uint64_t seed;
    kr_mean_kind mean;
} kr_declared;

/* KR_EFORMAT with a sentence when the contract has one of these keys with a value that makes no
 * sense. kr_declared_free releases what it holds. */
kr_status kr_declared_read(const kr_calib *c, kr_declared *out, kr_error *err);
void kr_declared_free(kr_declared *d);

/* "qa=2,vt=1" to exact shares that sum to 1, tasks that are not named get none; caller frees. */
kr_status kr_weights_parse(const kr_calib *c, const char *text, kr_ratio **out, kr_error *err);

const char *kr_mean_name(kr_mean_kind k); /* "wsr", "hb", "bernstein" */
bool kr_mean_find(const char *name, size_t len, kr_mean_kind *out);

#endif
