/* calib.h - a calibration set in memory: the utility of every request under full KV and under every
 * candidate policy, or published counts of degradation events.
 *
 * A policy is a method at one level (retention, or a threshold of a request-adaptive method). The
 * policies of a method are contiguous and form its candidate sequence, conservative to aggressive:
 * retention strictly falling, or threshold strictly rising.
 *
 * Utilities and drops are int64 nano-units (1e-9), see base/decimal.h. A drop is utility under full
 * KV minus utility under the policy; a missing utility on either side counts as a degradation event
 * at every tolerance. */
#ifndef KR_CALIB_CALIB_H
#define KR_CALIB_CALIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/decimal.h"
#include "base/file.h"
#include "base/status.h"

#define KR_MISSING INT64_MIN      /* a utility of a run that failed or gave no score */
#define KR_NO_RUN (INT64_MIN + 1) /* of a second full-KV run that this request had none of */
#define KR_MAX_POLICIES 4096
#define KR_MAX_TASKS 4096

typedef enum { KR_KIND_CALIBRATION, KR_KIND_COUNTS } kr_calib_kind;
typedef enum { KR_SPLIT_CAL, KR_SPLIT_TEST } kr_split;

typedef struct {
    const char *method;  /* lower case with underscores */
    bool has_retention;  /* share of the KV cache kept, in (0, 1]; else the level is unknown */
    bool has_threshold;  /* request-adaptive methods: threshold instead of retention */
    bool has_mean;       /* realised mean retention was stated */
    bool has_test_mean;
    kr_dec retention, threshold, mean_retained, test_mean_retained;
    int64_t events, test_events; /* published counts (kind counts), -1 where not given */
    const char *extra;   /* unknown keys as raw JSON members "\"k\":v,..."; NULL when none */
} kr_policy;

typedef struct {
    const char *name;
    size_t first, count; /* its policies */
} kr_method;

typedef struct {
    const char *path, *sha256, *role; /* what was read, its hash, "full" or the method or NULL */
} kr_source;

/* Everything but requests. Strings are NULL when absent. */
typedef struct {
    kr_calib_kind kind;
    const char *name, *model, *benchmark, *scorer, *protocol, *note, *source;
    int64_t utility_min, utility_max; /* nano-units; kind calibration */
    bool has_kv;
    int64_t kv_layers, kv_heads, kv_head_dim, kv_bytes;
    bool has_contract; /* declared in the file, fixed before calibration */
    kr_dec tolerance, risk, confidence;
    const char *contract_method, *contract_declared; /* method; date of the declaration */
    bool contract_family;       /* the choice among methods was declared */
    const char *contract_extra; /* "family" and unknown keys of it, raw JSON members */
    const kr_source *sources;
    size_t n_sources;
    bool partial; /* counts: earlier candidates exist but were not published */
    kr_dec counts_tolerance;
    int64_t counts_n, counts_test_n, counts_tasks; /* 0 where not given */
    const char *extra; /* unknown keys of the header, raw JSON members */
} kr_calib_meta;

/* One request as it is read or built. */
typedef struct {
    const char *id;      /* [id_len], unique */
    size_t id_len;
    size_t task;         /* index */
    kr_split split;
    int64_t tokens;      /* prompt tokens, -1 unknown */
    const char *cluster; /* [cluster_len]; NULL none: requests of one cluster are dependent */
    size_t cluster_len;
    int64_t full;           /* utility under full KV, or KR_MISSING */
    int64_t full2;          /* of a second full-KV run, KR_MISSING or KR_NO_RUN */
    const int64_t *utility; /* [m], KR_MISSING where not measured */
    const double *retained; /* [m] realised share kept, NaN unknown; NULL none (builder only) */
    const char *extra;      /* [extra_len] raw JSON members to keep; NULL none */
    size_t extra_len;
} kr_request;

typedef struct kr_calib kr_calib; /* immutable once built; safe to read from several threads */

/* --- loading and saving (native.c) --------------------------------------------------------- */

#define KR_MAX_LINE ((size_t)64 << 20)     /* bytes in one line of JSON Lines */
#define KR_MAX_DOCUMENT ((size_t)1 << 30)  /* bytes of a file that is one JSON object or array */

/* Reads a native file, kind calibration or counts: JSON Lines, or one JSON object (rows in
 * "requests") or array. Errors: KR_EFORMAT "file:line:column: ...", KR_EIO, KR_ENOMEM. */
kr_status kr_calib_load(const char *path, kr_calib **out, kr_error *err);
/* As if the file ended after so many requests; all of it is read and checked, and the hash is its. */
kr_status kr_calib_load_first(const char *path, size_t rows, kr_calib **out, kr_error *err);
/* Writes a native file atomically. */
kr_status kr_calib_save(const kr_calib *c, const char *path, bool replace, kr_error *err);
void kr_calib_free(kr_calib *c); /* NULL is allowed */
/* A copy of a text that lives as long as the set; NULL when out of memory. */
const char *kr_calib_keep(kr_calib *c, const char *text);

/* --- building (for readers and importers) --------------------------------------------------- */

typedef struct kr_builder kr_builder;

/* Copies everything. Checks names, order of the candidate sequences, ranges; KR_EFORMAT with a
 * sentence that has no file name in front unless `where` (may be NULL) is given. */
kr_status kr_builder_new(const kr_calib_meta *meta, const char *const *tasks, size_t n_tasks,
                         const kr_policy *policies, size_t n_policies, const char *where,
                         kr_builder **out, kr_error *err);
/* Copies the request. Refuses an id that was added before, a task index or a utility out of range. */
kr_status kr_builder_add(kr_builder *b, const kr_request *r, kr_error *err);
size_t kr_builder_count(const kr_builder *b);
/* Row of an id that was added before, or -1. */
int64_t kr_builder_find(const kr_builder *b, const char *id, size_t len);
/* Frees the builder in any case. Refuses a calibration set without requests. */
kr_status kr_builder_finish(kr_builder *b, kr_calib **out, kr_error *err);
void kr_builder_free(kr_builder *b); /* NULL is allowed */

/* --- what is in it --------------------------------------------------------------------------- */

const kr_calib_meta *kr_calib_meta_of(const kr_calib *c);
const char *kr_calib_path(const kr_calib *c);       /* "" when built in memory */
const char *kr_calib_sha256(const kr_calib *c);     /* of the file; "" when built in memory */
const kr_stamp *kr_calib_stamp(const kr_calib *c);  /* of the file when it was opened */

size_t kr_calib_policies(const kr_calib *c);
const kr_policy *kr_calib_policy(const kr_calib *c, size_t policy);
size_t kr_calib_methods(const kr_calib *c);
const kr_method *kr_calib_method(const kr_calib *c, size_t method);
/* Index of a method by name, or -1. */
int kr_calib_find_method(const kr_calib *c, const char *name);

size_t kr_calib_tasks(const kr_calib *c); /* 0 for kind counts */
const char *kr_calib_task(const kr_calib *c, size_t task);
/* Requests of a split; published n for kind counts. */
int64_t kr_calib_n(const kr_calib *c, kr_split s);
int64_t kr_calib_task_n(const kr_calib *c, kr_split s, size_t task);
/* Every task that has requests at all has the same number in this split, so that the sample is one
 * of the task-uniform mixture. For kind counts: tasks were published and divide n. */
bool kr_calib_task_uniform(const kr_calib *c, kr_split s);
/* Requests of the split that share a cluster with an earlier one. */
int64_t kr_calib_cluster_repeats(const kr_calib *c, kr_split s);

/* Realised retention of a policy over all requests that state it ("retained"): mean, smallest,
 * largest; false when the file has none. */
bool kr_calib_realised(const kr_calib *c, size_t policy, double *mean, double *min, double *max);

/* --- counting ------------------------------------------------------------------------------- */

/* Degradation events of a policy: requests whose drop exceeds `tolerance` (nano-units) or is
 * missing. O(log n). Kind counts: the published count whatever the tolerance, -1 if not given. */
int64_t kr_calib_events(const kr_calib *c, size_t policy, kr_split s, int64_t tolerance);
/* Requests with a missing drop. */
int64_t kr_calib_missing(const kr_calib *c, size_t policy, kr_split s);
/* Requests with at least one missing drop; 0 for kind counts. */
int64_t kr_calib_any_missing(const kr_calib *c, kr_split s);
/* Ascending order statistic of the drop, rank 0..n-1; INT64_MAX where missing (they come last).
 * Kind calibration only. */
int64_t kr_calib_drop(const kr_calib *c, size_t policy, kr_split s, int64_t rank);

/* Requests in file order, 0..kr_calib_rows-1 over both splits; 0 for kind counts. */
size_t kr_calib_rows(const kr_calib *c);
/* Strings are borrowed; utility is NULL (use kr_calib_utility). */
kr_request kr_calib_row(const kr_calib *c, size_t row);
int64_t kr_calib_utility(const kr_calib *c, size_t row, size_t policy); /* KR_MISSING possible */
/* full - utility, INT64_MAX when either is missing. */
int64_t kr_calib_row_drop(const kr_calib *c, size_t row, size_t policy);

/* One policy's drops sorted within each task, for per-task counts: O(n) to make, O(log n) to ask. */
typedef struct kr_task_drops kr_task_drops;
kr_task_drops *kr_task_drops_new(const kr_calib *c, size_t policy, kr_split s); /* NULL: memory */
void kr_task_drops_free(kr_task_drops *t);                                      /* NULL is allowed */
int64_t kr_task_drops_events(const kr_task_drops *t, size_t task, int64_t tolerance);
int64_t kr_task_drops_missing(const kr_task_drops *t, size_t task);
int64_t kr_task_drops_n(const kr_task_drops *t, size_t task);
/* Ascending order statistic within the task; INT64_MAX where missing. */
int64_t kr_task_drops_at(const kr_task_drops *t, size_t task, int64_t rank);

#endif
