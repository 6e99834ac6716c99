/* kern.h - the inner loops of the engine, one set per kind of processor.
 *
 * Every dot product is summed in one fixed order: element i goes to lane i % 8, each lane adds its
 * products in ascending i, and the eight lanes are then added in a fixed tree. So the result for a
 * row does not depend on how many rows or vectors are worked on together, on the thread, or on
 * whether quantised weights were expanded beforehand. Sets differ from one another in the last
 * bits (the AVX2 set uses fused multiply-add). */
#ifndef KR_ENGINE_KERN_H
#define KR_ENGINE_KERN_H

#include "engine/quant.h"

#include <stddef.h>
#include <stdint.h>

/* A matrix as it lies in the file: y[r] = sum over c of W[r][c] * x[c]. */
typedef struct {
    const uint8_t *data; /* no alignment */
    kr_quant type;
    size_t rows, cols;
    size_t row_bytes;
} kr_mat;

enum { KR_KERN_LANES = 8, KR_KERN_ROWS = 4 };

typedef struct {
    const char *name;

    /* out[j * ldo + i] = row i of w times vector j, for i in [i0, i1) and j in [0, n).
     * x is [n][ldx] with ldx >= cols rounded up to 8, and zeros between cols and there.
     * scratch is [KR_KERN_ROWS][cols rounded up to 8]. */
    void (*dots)(const kr_mat *w, size_t i0, size_t i1, const float *x, size_t ldx, size_t n,
                 float *out, size_t ldo, float *scratch);

    /* As kr_quant_expand, the same bits. */
    void (*expand)(kr_quant type, const uint8_t *src, size_t n, float *dst);

    /* Largest of n >= 1 values; a NaN may be passed over. */
    float (*max)(const float *s, size_t n);

    /* s[i] = exp(s[i] - max) for i < n; returns their sum in the lane order above. -inf gives 0,
     * NaN stays NaN. */
    float (*exp_sum)(float *s, size_t n, float max);

    /* o[c] = o[c] * scale + sum over i < n of p[i] * v[i][c], c < d; v is [n][d]. */
    void (*mix)(const float *p, const float *v, size_t n, size_t d, float scale, float *o);

    /* g[i] = silu(g[i]) * u[i], silu(z) = z / (1 + exp(-z)). */
    void (*swiglu)(float *g, const float *u, size_t n);
} kr_kern;

/* Plain C for any machine. On x86-64 the compiler makes SSE2 of it. */
const kr_kern *kr_kern_portable(void);

/* AVX2 with FMA and F16C; NULL where the processor or the build has none. */
const kr_kern *kr_kern_avx2(void);

/* The fastest set that this processor runs. */
const kr_kern *kr_kern_best(void);

#endif
