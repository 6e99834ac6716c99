/* run_linear.c - products with weight matrices, shared out in tiles of output features. */
#include "engine/run_impl.h"

#include <cblas.h>
#include <string.h>

typedef struct {
    kr_run *r;
    const kr_run_proj *proj;
    size_t n_proj;
    const float *x;
    size_t ldx, n;
    bool gated, exact;
    size_t tile;     /* output features per tile */
    size_t first[4]; /* first tile of each product, then the number of tiles */
} job;

static size_t pad8(size_t n) {
    return (n + 7) / 8 * 8;
}

static size_t widest(const kr_geometry *g) {
    size_t att = g->heads * g->head_dim, w = g->width > g->ffn ? g->width : g->ffn;
    return pad8(att > w ? att : w);
}

size_t kr_run_linear_scratch(const kr_geometry *g) {
    return KR_RUN_OUT_TILE * widest(g);
}

/* Weight rows i0 .. i1-1 as floats: in place when the file has them so, else expanded. */
static const float *weights(const job *j, const kr_mat *w, size_t i0, size_t i1, float *scratch) {
    const uint8_t *p = w->data + i0 * w->row_bytes;
    if (w->type == KR_QUANT_F32 && (uintptr_t)p % sizeof(float) == 0)
        return (const float *)(const void *)p;
    for (size_t i = i0; i < i1; i++)
        j->r->kern->expand(w->type, w->data + i * w->row_bytes, w->cols,
                           scratch + (i - i0) * w->cols);
    return scratch;
}

static void product(const job *j, const kr_run_proj *p, size_t i0, size_t i1, float *scratch) {
    const kr_mat *w = p->w;
    if (j->exact || j->n <= KR_RUN_FEW) {
        j->r->kern->dots(w, i0, i1, j->x, j->ldx, j->n, p->out, p->ldo, scratch);
    } else {
        const float *f = weights(j, w, i0, i1, scratch);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)j->n, (int)(i1 - i0),
                    (int)w->cols, 1.0f, j->x, (int)j->ldx, f, (int)w->cols, 0.0f, p->out + i0,
                    (int)p->ldo);
    }
    for (size_t t = 0; p->bias != NULL && t < j->n; t++)
        for (size_t i = i0; i < i1; i++)
            p->out[t * p->ldo + i] += p->bias[i];
}

static size_t span(const job *j, const kr_mat *w, size_t tile, size_t *i0) {
    *i0 = tile * j->tile;
    return *i0 + j->tile < w->rows ? *i0 + j->tile : w->rows;
}

static void run_tile(void *arg, size_t tile, size_t thread) {
    const job *j = arg;
    float *scratch = kr_run_scratch(j->r, thread);
    size_t i0, i1;
    if (j->gated) {
        i1 = span(j, j->proj[0].w, tile, &i0);
        product(j, &j->proj[0], i0, i1, scratch);
        product(j, &j->proj[1], i0, i1, scratch);
        for (size_t t = 0; t < j->n; t++)
            j->r->kern->swiglu(j->proj[0].out + t * j->proj[0].ldo + i0,
                               j->proj[1].out + t * j->proj[1].ldo + i0, i1 - i0);
        return;
    }
    size_t p = 0;
    while (tile >= j->first[p + 1])
        p++;
    i1 = span(j, j->proj[p].w, tile - j->first[p], &i0);
    product(j, &j->proj[p], i0, i1, scratch);
}

/* sgemm's sums may depend on the shape of a tile, so that is fixed. The dot kernels' do not: two
 * tiles for each thread, so that each reads long stretches, but none smaller than is worth it. */
static size_t tile_rows(const job *j) {
    if (!j->exact && j->n > KR_RUN_FEW)
        return KR_RUN_OUT_TILE;
    size_t all = 0, tiles = 2 * kr_pool_threads(j->r->pool);
    for (size_t p = 0; p < (j->gated ? 1 : j->n_proj); p++)
        all += j->proj[p].w->rows;
    size_t rows = (all + tiles - 1) / tiles, least = KR_RUN_GRAIN / (j->proj[0].w->cols * j->n);
    rows = rows > least ? rows : least;
    return rows < 4 ? 4 : (rows + 3) / 4 * 4;
}

bool kr_run_linear(kr_run *r, const kr_run_proj *proj, size_t n_proj, const float *x, size_t ldx,
                   size_t n, bool gated, bool exact) {
    job j = {r, proj, n_proj, x, ldx, n, gated, exact, 0, {0}};
    j.tile = tile_rows(&j);
    for (size_t p = 0; p < n_proj; p++)
        j.first[p + 1] = j.first[p] + (proj[p].w->rows + j.tile - 1) / j.tile;
    return kr_pool_run(r->pool, j.first[gated ? 1 : n_proj], run_tile, &j);
}
