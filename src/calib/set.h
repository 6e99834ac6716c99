/* set.h - the inside of a calibration set, for the files that build and read it (private). */
#ifndef KR_CALIB_SET_H
#define KR_CALIB_SET_H

#include "base/arena.h"
#include "calib/calib.h"

#define KR_BLOCK 1024 /* rows that are stored together */

/* Rarely present parts of a row. */
typedef struct {
    const char *cluster, *extra;
    size_t cluster_len, extra_len;
    int64_t full2;
} kr_row_rare;

typedef struct {
    const char *id;
    const kr_row_rare *rare; /* NULL: none */
    int64_t full;
    int32_t tokens;
    uint32_t id_len;
    uint16_t task;
    uint8_t split;
} kr_row;

/* Utilities are kept column by column within a block: u[policy * KR_BLOCK + row % KR_BLOCK], as
 * int32 when the declared range allows it (`wide` false), missing = the smallest integer. */
typedef struct {
    kr_row row[KR_BLOCK];
    union {
        int32_t *narrow;
        int64_t *wide;
    } u;
} kr_block;

/* Drops of one split sorted per policy: d[policy * n + rank], missing = the largest integer. */
typedef struct {
    int64_t n;
    void *d;
    int64_t *missing;   /* [m] */
    int64_t *task_n;    /* [tasks] */
    int64_t cluster_repeats;
} kr_part;

typedef struct {
    double sum, min, max;
    int64_t count;
} kr_realised;

struct kr_calib {
    kr_arena arena; /* all strings, policies, methods, tasks */
    kr_calib_meta meta;
    kr_policy *policy; /* [m] */
    size_t m;
    kr_method *method;
    size_t n_methods;
    const char **task;
    size_t n_tasks;
    bool wide;
    kr_block **block;
    size_t rows, n_blocks, cap_blocks;
    kr_part part[2];
    kr_realised *realised; /* [m] */
    const char *path;
    char sha256[KR_SHA256_HEX];
    kr_stamp stamp;
};

/* Sorts the drops and counts; called once when all rows are in. */
kr_status kr_calib_index(kr_calib *c, kr_error *err);

static inline const kr_row *kr_calib_row_at(const kr_calib *c, size_t row) {
    return &c->block[row / KR_BLOCK]->row[row % KR_BLOCK];
}

#endif
