/* run_impl.h - what the parts of the forward pass share. Internal to run*.c. */
#ifndef KR_ENGINE_RUN_IMPL_H
#define KR_ENGINE_RUN_IMPL_H

#include "engine/pool.h"
#include "engine/run.h"

enum {
    KR_RUN_FEW = 8,        /* up to so many rows go through the dot kernels, not sgemm */
    KR_RUN_OUT_TILE = 128, /* output features in one sgemm */
    KR_RUN_KEY_TILE = 256, /* cache rows whose scores are held at once */
    KR_RUN_QUERY_TILE = 128, /* rows of one attention sgemm (query tokens x heads of a group) */
    KR_RUN_GRAIN = 1 << 15,  /* multiply-adds worth handing to another thread */
};

/* One token being worked on. */
typedef struct {
    kr_kv *kv;
    int32_t pos;
    size_t ahead; /* tokens of the same cache before it in this pass */
} kr_run_row;

struct kr_run {
    const kr_model *m;
    kr_pool *pool;
    const kr_kern *kern;
    size_t block, batch, window;
    size_t rows; /* capacity of the buffers below */
    size_t ld_width, ld_att, ld_ffn; /* row strides, multiples of eight, padded with zeros */
    float *x;             /* [rows][width] residual stream */
    float *h;             /* [rows][ld_width] normed */
    float *y;             /* [rows][width] what a block adds to x */
    float *q;             /* [rows][H * d] */
    float *k, *v;         /* [rows][K * d] */
    float *att;           /* [rows][ld_att] */
    float *gate, *up;     /* [rows][ld_ffn] */
    float *turn;          /* [rows][d]: d/2 cosines, then d/2 sines */
    float *peak, *mass;   /* [rows][H] largest score and sum of exponentials, for the taps */
    kr_run_row *row;      /* [rows] */
    float *scratch;       /* [threads][per_thread] */
    size_t per_thread;
    kr_progress progress;
    void *progress_arg;
    size_t done, total;
};

/* Scratch of one thread. */
float *kr_run_scratch(const kr_run *r, size_t thread);

/* Floats of scratch that each part needs. */
size_t kr_run_linear_scratch(const kr_geometry *g);
size_t kr_run_attend_scratch(const kr_geometry *g);

/* out[row][i] = W row i . x[row] + bias[i] */
typedef struct {
    const kr_mat *w;
    const float *bias; /* NULL: none */
    float *out;
    size_t ldo;
} kr_run_proj;

/* Up to three products of the same x [n][ldx]. With `gated` (two products) the first becomes
 * silu(first) * second. `exact`: dot kernels whatever n is. False when cancelled. */
bool kr_run_linear(kr_run *r, const kr_run_proj *proj, size_t n_proj, const float *x, size_t ldx,
                   size_t n, bool gated, bool exact);

/* att = attention of rows 0 .. n-1 over their caches in `layer`, whose new keys and values are
 * already stored. `exact`: row by row. With `sums` [H][capacity] the weights are added up. */
bool kr_run_attend(kr_run *r, size_t layer, size_t n, bool exact, float *sums, size_t capacity);

#endif
