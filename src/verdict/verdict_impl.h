/* verdict_impl.h - what an analysis is made of; for the sources that answer from it. */
#ifndef KR_VERDICT_VERDICT_IMPL_H
#define KR_VERDICT_VERDICT_IMPL_H

#include "risk/family.h"
#include "verdict/verdict.h"

#define KR_LIMITS_CACHE 4096 /* power of two */
#define KR_BOUND_CACHE 4096  /* power of two */
#define KR_TASK_CACHE 64     /* policies whose drops by task are kept, within KR_TASK_BYTES */
#define KR_TASK_BYTES ((int64_t)96 << 20)

typedef struct {
    bool used;
    kr_dec risk;
    kr_level level;
    kr_limits limits;
} kr_cached_limits;

/* Upper and p of one count under one pair of limits: what a screen of candidates asks again and
 * again while only the tolerance moves. */
typedef struct {
    bool used;
    int64_t events, n;
    kr_dec risk;
    kr_level level;
    kr_candidate value;
} kr_cached_bound;

typedef struct {
    size_t policy;
    kr_task_drops *drops; /* NULL: free */
    unsigned long last;
} kr_cached_tasks;

struct kr_analysis {
    const kr_calib *c;
    kr_analysis_options options;
    kr_contract home, now;
    kr_contract_source home_source;
    kr_home declared_home; /* what of it was declared */
    kr_declared declared;
    kr_repeats repeats;
    int64_t tolerance; /* nano-units */
    bool family;       /* one error budget for the choice among all methods */
    bool refused;
    int64_t n, missing;
    kr_limits limits;        /* alone: of every line; family: of a line at its starting share */
    kr_line *line;           /* [methods] */
    kr_limits *line_limits;  /* [methods] what each line was tested at in the end */
    size_t *length;          /* [methods] candidates, one more where not all were published: a
                                sequence that is not known to its end is never completed */
    kr_family_member *point; /* [methods] the family at point_at, what kr_analysis_at asked last */
    kr_contract point_at;
    bool point_known;
    kr_cached_limits *limits_cache;
    kr_cached_bound *bound_cache;
    kr_cached_tasks tasks[KR_TASK_CACHE];
    size_t task_slots; /* of them in use: fewer for large sets */
    unsigned long clock;
};

#endif
