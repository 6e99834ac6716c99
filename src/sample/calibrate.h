/* calibrate.h - measures a calibration set: every request under full KV and under every policy.
 *
 * The result is the native format of calib/. Rows go to PATH.part one by one and the file gets
 * its name when it is complete; a run that was killed continues where it stopped and ends with
 * the bytes of an uninterrupted one. Nothing in the file depends on times or on the number of
 * threads. */
#ifndef KR_SAMPLE_CALIBRATE_H
#define KR_SAMPLE_CALIBRATE_H

#include "base/file.h"
#include "sample/eval.h"

typedef struct {
    kr_dec tolerance, risk, confidence;
    const char *method;   /* NULL: none named */
    const char *declared; /* date, YYYY-MM-DD */
} kr_calibrate_contract;

/* After every request: `done` of `total` rows are in the file, `found` of them from an earlier run.
 * False stops the work (KR_ECANCELED); it can be continued. */
typedef bool (*kr_calibrate_progress)(void *arg, size_t done, size_t total, size_t found);

typedef struct {
    const char *model_path, *requests_path;
    const kr_model *model;
    const kr_sample_requests *requests;
    kr_eval_options eval; /* arms: each method's policies together, conservative to aggressive */
    const char *preset;   /* name, or NULL */
    const char *name, *benchmark, *note;   /* NULL: none */
    const kr_calibrate_contract *contract; /* NULL: none is declared */
    size_t shard, shards;                  /* requests shard-1, shard-1+shards, ...; 1, 1 for all */
    kr_calibrate_progress progress;
    void *progress_arg;
} kr_calibrate_options;

/* Writes `path`. A request that cannot be evaluated becomes a row of nulls with a "reason".
 *
 * KR_EINVAL: arms in no candidate order or in tokens; `path` or its unfinished part is there
 * with other settings, or another process is at work on it. A complete `path` with the same
 * settings is left as it is. KR_EFORMAT when a complete `path` lacks rows. *failed: how many
 * requests of the file are rows of nulls. A shard may have no request at all. */
kr_status kr_calibrate(const kr_calibrate_options *o, const char *path, size_t *failed,
                       kr_error *err);

/* Puts the files of all shards, in any order, together as one run would have written them.
 * KR_EINVAL when one is missing, twice there, or was made with other settings; KR_EFORMAT when one
 * does not have exactly its rows in their order. */
kr_status kr_calibrate_merge(const char *const *paths, size_t n, const char *out, bool replace,
                             kr_error *err);

/* --- for calibrate.c and its tests ------------------------------------------------------------ */

/* How the header ends: rows; rows, shard, shards, requests of the whole run, hash of the ids. */
#define KR_CALIBRATE_END ",\"n\":%zu}\n"
#define KR_CALIBRATE_SHARD_END                                                                     \
    ",\"n\":%zu,\"shard\":\"%zu/%zu\",\"run_n\":%zu,\"ids\":\"%s\"}\n"

/* How many of n requests a shard has, from 1. */
size_t kr_calibrate_rows(size_t n, size_t shard, size_t shards);

/* SHA-256 of n ids in order, each as a JSON string and a line feed. */
kr_status kr_calibrate_ids(const char *(*id)(const void *of, size_t i), const void *of, size_t n,
                           char hex[KR_SHA256_HEX], kr_error *err);

/* The first line of the file, with its line feed. */
kr_status kr_calibrate_header(const kr_calibrate_options *o, kr_buf *out, kr_error *err);

/* One request's line; `r` is NULL when it failed with `why`. */
void kr_calibrate_row(const kr_sample_request *q, size_t n_arms, const kr_eval_result *r,
                      const char *why, kr_buf *out);

#endif
