#include "engine/kern.h"

#include <math.h>
#include <string.h>

enum { LANES = KR_KERN_LANES };

static float add_lanes(const float *a) {
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

/* n is a multiple of eight. The inner loop has a fixed length, so compilers turn it into vector
 * instructions without leave to reorder sums. */
static float dot(const float *restrict w, const float *restrict x, size_t n) {
    float acc[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            acc[l] += w[i + l] * x[i + l];
    return add_lanes(acc);
}

static size_t pad8(size_t n) {
    return (n + LANES - 1) / LANES * LANES;
}

static void dots(const kr_mat *w, size_t i0, size_t i1, const float *x, size_t ldx, size_t n,
                 float *out, size_t ldo, float *scratch) {
    size_t len = pad8(w->cols);
    memset(scratch + w->cols, 0, (len - w->cols) * sizeof *scratch);
    for (size_t i = i0; i < i1; i++) {
        kr_quant_expand(w->type, w->data + i * w->row_bytes, w->cols, scratch);
        for (size_t j = 0; j < n; j++)
            out[j * ldo + i] = dot(scratch, x + j * ldx, len);
    }
}

static float max_of(const float *s, size_t n) {
    float m = s[0];
    for (size_t i = 1; i < n; i++)
        m = s[i] > m ? s[i] : m;
    return m;
}

static float exp_sum(float *s, size_t n, float max) {
    float acc[LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        s[i] = expf(s[i] - max);
        acc[i % LANES] += s[i];
    }
    return add_lanes(acc);
}

static void mix(const float *p, const float *v, size_t n, size_t d, float scale, float *o) {
    for (size_t c = 0; c < d; c++)
        o[c] *= scale;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < d; c++)
            o[c] += p[i] * v[i * d + c];
}

static void swiglu(float *g, const float *u, size_t n) {
    for (size_t i = 0; i < n; i++)
        g[i] = g[i] / (1.0f + expf(-g[i])) * u[i];
}

static const kr_kern portable = {"portable", dots, kr_quant_expand, max_of, exp_sum, mix, swiglu};

const kr_kern *kr_kern_portable(void) {
    return &portable;
}

const kr_kern *kr_kern_best(void) {
    const kr_kern *k = kr_kern_avx2();
    return k != NULL ? k : &portable;
}
