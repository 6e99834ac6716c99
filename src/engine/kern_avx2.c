#include "engine/kern.h"

#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))

#include <cpuid.h>
#include <immintrin.h>

#define FOR_AVX2 __attribute__((target("avx2,fma,f16c")))
#define INLINE_AVX2 static inline __attribute__((always_inline, target("avx2,fma,f16c")))

/* Thirty-two consecutive weights. */
typedef struct {
    __m256 a, b, c, d;
} v32;

/* ---- weights to float: one function per type, block number b of 32 elements in a row ---- */

INLINE_AVX2 v32 get_f32(const uint8_t *row, size_t b) {
    const float *p = (const float *)(const void *)(row + 128 * b);
    return (v32){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8), _mm256_loadu_ps(p + 16),
                 _mm256_loadu_ps(p + 24)};
}

INLINE_AVX2 __m128i load16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

INLINE_AVX2 __m256 half8(const uint8_t *p) {
    return _mm256_cvtph_ps(load16(p));
}

INLINE_AVX2 v32 get_f16(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 64 * b;
    return (v32){half8(p), half8(p + 16), half8(p + 32), half8(p + 48)};
}

INLINE_AVX2 __m256 brain8(const uint8_t *p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(p)), 16));
}

INLINE_AVX2 v32 get_bf16(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 64 * b;
    return (v32){brain8(p), brain8(p + 16), brain8(p + 32), brain8(p + 48)};
}

INLINE_AVX2 uint16_t word(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}

INLINE_AVX2 float half1(const uint8_t *p) {
    return _cvtsh_ss(word(p));
}

INLINE_AVX2 __m256 signed8(__m128i q) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q));
}

/* Thirty-two signed bytes to float. */
INLINE_AVX2 v32 widen(__m128i lo, __m128i hi) {
    return (v32){signed8(lo), signed8(_mm_srli_si128(lo, 8)), signed8(hi),
                 signed8(_mm_srli_si128(hi, 8))};
}

INLINE_AVX2 v32 scaled(v32 v, __m256 s) {
    return (v32){_mm256_mul_ps(v.a, s), _mm256_mul_ps(v.b, s), _mm256_mul_ps(v.c, s),
                 _mm256_mul_ps(v.d, s)};
}

INLINE_AVX2 v32 plus(v32 v, __m256 m) {
    return (v32){_mm256_add_ps(v.a, m), _mm256_add_ps(v.b, m), _mm256_add_ps(v.c, m),
                 _mm256_add_ps(v.d, m)};
}

INLINE_AVX2 __m128i low4(__m128i q) {
    return _mm_and_si128(q, _mm_set1_epi8(15));
}

INLINE_AVX2 __m128i high4(__m128i q) {
    return _mm_and_si128(_mm_srli_epi16(q, 4), _mm_set1_epi8(15));
}

INLINE_AVX2 __m128i load8(const uint8_t *p) {
    return _mm_loadl_epi64((const __m128i *)(const void *)p);
}

INLINE_AVX2 v32 bytes_q8_0(const uint8_t *p) {
    return (v32){signed8(load8(p)), signed8(load8(p + 8)), signed8(load8(p + 16)),
                 signed8(load8(p + 24))};
}

INLINE_AVX2 v32 get_q8_0(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 34 * b;
    return scaled(bytes_q8_0(p + 2), _mm256_set1_ps(half1(p)));
}

/* Low and high halves of eight bytes, 0..15. */
INLINE_AVX2 __m256 low8(__m256i q) {
    return _mm256_cvtepi32_ps(_mm256_and_si256(q, _mm256_set1_epi32(15)));
}

INLINE_AVX2 __m256 high8(__m256i q) {
    return _mm256_cvtepi32_ps(_mm256_srli_epi32(q, 4));
}

/* Thirty-two halves of sixteen bytes: first the low ones. */
INLINE_AVX2 v32 nibbles(const uint8_t *q) {
    __m256i a = _mm256_cvtepu8_epi32(load8(q)), b = _mm256_cvtepu8_epi32(load8(q + 8));
    return (v32){low8(a), low8(b), high8(a), high8(b)};
}

INLINE_AVX2 v32 get_q4_0(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 18 * b;
    return scaled(plus(nibbles(p + 2), _mm256_set1_ps(-8)), _mm256_set1_ps(half1(p)));
}

INLINE_AVX2 v32 get_q4_1(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 20 * b;
    return plus(scaled(nibbles(p + 4), _mm256_set1_ps(half1(p))), _mm256_set1_ps(half1(p + 2)));
}

/* Bits 0..15 of h to sixteen bytes of 0 or 16. */
INLINE_AVX2 __m128i fifth_bits(unsigned h) {
    const __m128i spread = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m128i bit = _mm_set1_epi64x((long long)0x8040201008040201ull);
    __m128i v = _mm_shuffle_epi8(_mm_set1_epi16((short)h), spread);
    __m128i set = _mm_cmpeq_epi8(_mm_and_si128(v, bit), bit);
    return _mm_and_si128(set, _mm_set1_epi8(16));
}

INLINE_AVX2 v32 bytes_q5_0(const uint8_t *p) {
    __m128i q = load16(p + 6), off = _mm_set1_epi8(16);
    __m128i lo = _mm_or_si128(low4(q), fifth_bits(word(p + 2)));
    __m128i hi = _mm_or_si128(high4(q), fifth_bits(word(p + 4)));
    return widen(_mm_sub_epi8(lo, off), _mm_sub_epi8(hi, off));
}

INLINE_AVX2 v32 get_q5_0(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 22 * b;
    return scaled(bytes_q5_0(p), _mm256_set1_ps(half1(p)));
}

INLINE_AVX2 v32 bytes_q5_1(const uint8_t *p) {
    __m128i q = load16(p + 8);
    return widen(_mm_or_si128(low4(q), fifth_bits(word(p + 4))),
                 _mm_or_si128(high4(q), fifth_bits(word(p + 6))));
}

INLINE_AVX2 v32 get_q5_1(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 24 * b;
    return plus(scaled(bytes_q5_1(p), _mm256_set1_ps(half1(p))), _mm256_set1_ps(half1(p + 2)));
}

typedef struct {
    float scale, min;
} k_scale;

/* Of sub-block s (0..7) of a Q4_K or Q5_K block at p. */
INLINE_AVX2 k_scale k_scales(const uint8_t *p, unsigned s) {
    const uint8_t *t = p + 4;
    unsigned sc, mn;
    if (s < 4) {
        sc = t[s] & 63u;
        mn = t[s + 4] & 63u;
    } else {
        sc = (t[s + 4] & 15u) | (unsigned)(t[s - 4] >> 6) << 4;
        mn = (unsigned)(t[s + 4] >> 4) | (unsigned)(t[s] >> 6) << 4;
    }
    return (k_scale){half1(p) * (float)sc, half1(p + 2) * (float)mn};
}

INLINE_AVX2 v32 k_nibbles(const uint8_t *q, unsigned s) {
    const uint8_t *p = q + 32 * (s / 2);
    __m256i a = _mm256_cvtepu8_epi32(load8(p)), b = _mm256_cvtepu8_epi32(load8(p + 8));
    __m256i c = _mm256_cvtepu8_epi32(load8(p + 16)), d = _mm256_cvtepu8_epi32(load8(p + 24));
    return s % 2 == 0 ? (v32){low8(a), low8(b), low8(c), low8(d)}
                      : (v32){high8(a), high8(b), high8(c), high8(d)};
}

INLINE_AVX2 v32 k_values(v32 n, k_scale k) {
    __m256 min = _mm256_set1_ps(k.min);
    v32 v = scaled(n, _mm256_set1_ps(k.scale));
    return (v32){_mm256_sub_ps(v.a, min), _mm256_sub_ps(v.b, min), _mm256_sub_ps(v.c, min),
                 _mm256_sub_ps(v.d, min)};
}

INLINE_AVX2 v32 get_q4_k(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 144 * (b / 8);
    unsigned s = (unsigned)(b % 8);
    return k_values(k_nibbles(p + 16, s), k_scales(p, s));
}

INLINE_AVX2 __m128i k_fifth(const uint8_t *h, unsigned s) {
    __m128i bit = _mm_set1_epi8((char)(1u << s));
    __m128i set = _mm_cmpeq_epi8(_mm_and_si128(load16(h), bit), bit);
    return _mm_and_si128(set, _mm_set1_epi8(16));
}

INLINE_AVX2 v32 bytes_q5_k(const uint8_t *p, unsigned s) {
    __m128i lo = load16(p + 48 + 32 * (s / 2)), hi = load16(p + 64 + 32 * (s / 2));
    lo = s % 2 == 0 ? low4(lo) : high4(lo);
    hi = s % 2 == 0 ? low4(hi) : high4(hi);
    return widen(_mm_or_si128(lo, k_fifth(p + 16, s)), _mm_or_si128(hi, k_fifth(p + 32, s)));
}

INLINE_AVX2 v32 get_q5_k(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 176 * (b / 8);
    unsigned s = (unsigned)(b % 8);
    return k_values(bytes_q5_k(p, s), k_scales(p, s));
}

INLINE_AVX2 __m128i q6_bytes(const uint8_t *low, const uint8_t *high, unsigned g) {
    __m128i n = g < 2 ? low4(load16(low)) : high4(load16(low));
    __m128i h = _mm_and_si128(_mm_srl_epi16(load16(high), _mm_cvtsi32_si128((int)(2 * g))),
                              _mm_set1_epi8(3));
    n = _mm_or_si128(n, _mm_slli_epi16(h, 4));
    return _mm_sub_epi8(n, _mm_set1_epi8(32));
}

INLINE_AVX2 v32 get_q6_k(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 210 * (b / 8);
    unsigned half = (unsigned)(b % 8 / 4), g = (unsigned)(b % 4);
    const uint8_t *low = p + 64 * half + 32 * (g % 2), *high = p + 128 + 32 * half;
    const uint8_t *sc = p + 192 + 8 * half + 2 * g;
    float d = half1(p + 208);
    __m256 s0 = _mm256_set1_ps(d * (float)(int8_t)sc[0]);
    __m256 s1 = _mm256_set1_ps(d * (float)(int8_t)sc[1]);
    v32 v = widen(q6_bytes(low, high, g), q6_bytes(low + 16, high + 16, g));
    return (v32){_mm256_mul_ps(v.a, s0), _mm256_mul_ps(v.b, s0), _mm256_mul_ps(v.c, s1),
                 _mm256_mul_ps(v.d, s1)};
}

/* ---- dot products ---- */

INLINE_AVX2 float add_lanes(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

/* One block of 32 weights into the sum for one vector. Integers are multiplied first and their
 * scale is applied to the four products that a lane has, so that a scale costs one instruction. */
INLINE_AVX2 __m256 products(v32 w, const float *x) {
    __m256 t = _mm256_mul_ps(w.a, _mm256_loadu_ps(x));
    t = _mm256_fmadd_ps(w.b, _mm256_loadu_ps(x + 8), t);
    t = _mm256_fmadd_ps(w.c, _mm256_loadu_ps(x + 16), t);
    return _mm256_fmadd_ps(w.d, _mm256_loadu_ps(x + 24), t);
}

INLINE_AVX2 __m256 lane_sums(const float *x) {
    return _mm256_add_ps(_mm256_add_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)),
                         _mm256_add_ps(_mm256_loadu_ps(x + 16), _mm256_loadu_ps(x + 24)));
}

INLINE_AVX2 __m256 fold(v32 w, const float *x, __m256 acc) {
    acc = _mm256_fmadd_ps(w.a, _mm256_loadu_ps(x), acc);
    acc = _mm256_fmadd_ps(w.b, _mm256_loadu_ps(x + 8), acc);
    acc = _mm256_fmadd_ps(w.c, _mm256_loadu_ps(x + 16), acc);
    return _mm256_fmadd_ps(w.d, _mm256_loadu_ps(x + 24), acc);
}

INLINE_AVX2 __m256 add_f32(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    return fold(get_f32(row, b), x, acc);
}

INLINE_AVX2 __m256 add_f16(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    return fold(get_f16(row, b), x, acc);
}

INLINE_AVX2 __m256 add_bf16(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    return fold(get_bf16(row, b), x, acc);
}

INLINE_AVX2 __m256 add_q8_0(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    const uint8_t *p = row + 34 * b;
    return _mm256_fmadd_ps(_mm256_set1_ps(half1(p)), products(bytes_q8_0(p + 2), x), acc);
}

/* scale * n + offset, n >= 0 */
INLINE_AVX2 __m256 add_affine(v32 n, __m256 scale, __m256 offset, const float *x, __m256 acc) {
    acc = _mm256_fmadd_ps(scale, products(n, x), acc);
    return _mm256_fmadd_ps(offset, lane_sums(x), acc);
}

INLINE_AVX2 __m256 add_q4_0(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    const uint8_t *p = row + 18 * b;
    __m256 d = _mm256_set1_ps(half1(p));
    return add_affine(nibbles(p + 2), d, _mm256_mul_ps(d, _mm256_set1_ps(-8)), x, acc);
}

INLINE_AVX2 __m256 add_q4_1(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    const uint8_t *p = row + 20 * b;
    return add_affine(nibbles(p + 4), _mm256_set1_ps(half1(p)), _mm256_set1_ps(half1(p + 2)), x,
                      acc);
}

INLINE_AVX2 __m256 add_q5_0(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    const uint8_t *p = row + 22 * b;
    return _mm256_fmadd_ps(_mm256_set1_ps(half1(p)), products(bytes_q5_0(p), x), acc);
}

INLINE_AVX2 __m256 add_q5_1(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    const uint8_t *p = row + 24 * b;
    return add_affine(bytes_q5_1(p), _mm256_set1_ps(half1(p)), _mm256_set1_ps(half1(p + 2)), x,
                      acc);
}

INLINE_AVX2 __m256 add_q4_k(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    const uint8_t *p = row + 144 * (b / 8);
    k_scale k = k_scales(p, (unsigned)(b % 8));
    return add_affine(k_nibbles(p + 16, (unsigned)(b % 8)), _mm256_set1_ps(k.scale),
                      _mm256_set1_ps(-k.min), x, acc);
}

INLINE_AVX2 __m256 add_q5_k(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    const uint8_t *p = row + 176 * (b / 8);
    k_scale k = k_scales(p, (unsigned)(b % 8));
    return add_affine(bytes_q5_k(p, (unsigned)(b % 8)), _mm256_set1_ps(k.scale),
                      _mm256_set1_ps(-k.min), x, acc);
}

INLINE_AVX2 __m256 add_q6_k(const uint8_t *row, size_t b, const float *x, __m256 acc) {
    return fold(get_q6_k(row, b), x, acc);
}

/* What is left after whole blocks of 32 (types without blocks only), expanded by `conv`. */
INLINE_AVX2 __m256 tail(kr_quant type, const uint8_t *p, size_t n, const float *x, __m256 acc) {
    float w[32] = {0};
    kr_quant_expand(type, p, n, w);
    for (size_t i = 0; i < n; i += 8)
        acc = _mm256_fmadd_ps(_mm256_loadu_ps(w + i), _mm256_loadu_ps(x + i), acc);
    return acc;
}

typedef void (*direct_fn)(const kr_mat *w, size_t i0, size_t i1, const float *x, float *out);
typedef void (*batch_fn)(const kr_mat *w, size_t i0, size_t i1, const float *x, size_t ldx,
                         size_t n, float *out, size_t ldo);

/* Weights are read straight from the file. direct: one vector, four rows at a time, which hides
 * the latency of the additions; the four are far apart, because the processor fetches ahead only
 * where it sees one stream in a page (read side by side, short rows came at half the speed). batch
 * (types of 32-element blocks): two rows and four vectors, a
 * block is converted once for all four. Each sum is the same in all of them. */
#define DEFINE_DIRECT(T, TYPE, BYTES)                                                            \
    FOR_AVX2 static void one_##T(const kr_mat *w, size_t i, const float *x, float *out) {        \
        const uint8_t *r = w->data + i * w->row_bytes;                                           \
        size_t nb = w->cols / 32, rest = w->cols % 32;                                           \
        __m256 a = _mm256_setzero_ps();                                                          \
        for (size_t b = 0; b < nb; b++)                                                          \
            a = add_##T(r, b, x + 32 * b, a);                                                    \
        if (rest != 0)                                                                           \
            a = tail(TYPE, r + nb * (BYTES), rest, x + 32 * nb, a);                              \
        *out = add_lanes(a);                                                                     \
    }                                                                                            \
    FOR_AVX2 static void direct_##T(const kr_mat *w, size_t i0, size_t i1, const float *x,       \
                                    float *out) {                                                \
        size_t nb = w->cols / 32, part = w->cols % 32 == 0 ? (i1 - i0) / 4 : 0, i = i0;          \
        for (; i < i0 + part; i++) {                                                             \
            const uint8_t *r0 = w->data + i * w->row_bytes, *r1 = r0 + part * w->row_bytes;      \
            const uint8_t *r2 = r1 + part * w->row_bytes, *r3 = r2 + part * w->row_bytes;        \
            __m256 a0 = _mm256_setzero_ps(), a1 = a0, a2 = a0, a3 = a0;                          \
            for (size_t b = 0; b < nb; b++) {                                                    \
                a0 = add_##T(r0, b, x + 32 * b, a0);                                             \
                a1 = add_##T(r1, b, x + 32 * b, a1);                                             \
                a2 = add_##T(r2, b, x + 32 * b, a2);                                             \
                a3 = add_##T(r3, b, x + 32 * b, a3);                                             \
            }                                                                                    \
            out[i] = add_lanes(a0);                                                              \
            out[i + part] = add_lanes(a1);                                                       \
            out[i + 2 * part] = add_lanes(a2);                                                   \
            out[i + 3 * part] = add_lanes(a3);                                                   \
        }                                                                                        \
        i = i0 + 4 * part;                                                                       \
        for (; i < i1; i++)                                                                      \
            one_##T(w, i, x, out + i);                                                           \
    }                                                                                            \
    FOR_AVX2 static void batch_##T(const kr_mat *w, size_t i0, size_t i1, const float *x,        \
                                   size_t ldx, size_t n, float *out, size_t ldo) {               \
        size_t nb = w->cols / 32, i = i0;                                                        \
        for (; i + 2 <= i1; i += 2) {                                                            \
            const uint8_t *r0 = w->data + i * w->row_bytes, *r1 = r0 + w->row_bytes;             \
            size_t j = 0;                                                                        \
            for (; j + 4 <= n; j += 4) {                                                         \
                const float *x0 = x + j * ldx, *x1 = x0 + ldx, *x2 = x1 + ldx, *x3 = x2 + ldx;   \
                __m256 a0 = _mm256_setzero_ps(), a1 = a0, a2 = a0, a3 = a0;                      \
                __m256 b0 = a0, b1 = a0, b2 = a0, b3 = a0;                                       \
                for (size_t b = 0; b < nb; b++) {                                                \
                    a0 = add_##T(r0, b, x0 + 32 * b, a0);                                        \
                    a1 = add_##T(r0, b, x1 + 32 * b, a1);                                        \
                    a2 = add_##T(r0, b, x2 + 32 * b, a2);                                        \
                    a3 = add_##T(r0, b, x3 + 32 * b, a3);                                        \
                    b0 = add_##T(r1, b, x0 + 32 * b, b0);                                        \
                    b1 = add_##T(r1, b, x1 + 32 * b, b1);                                        \
                    b2 = add_##T(r1, b, x2 + 32 * b, b2);                                        \
                    b3 = add_##T(r1, b, x3 + 32 * b, b3);                                        \
                }                                                                                \
                float *o = out + j * ldo + i;                                                    \
                o[0] = add_lanes(a0);                                                            \
                o[1] = add_lanes(b0);                                                            \
                o[ldo] = add_lanes(a1);                                                          \
                o[ldo + 1] = add_lanes(b1);                                                      \
                o[2 * ldo] = add_lanes(a2);                                                      \
                o[2 * ldo + 1] = add_lanes(b2);                                                  \
                o[3 * ldo] = add_lanes(a3);                                                      \
                o[3 * ldo + 1] = add_lanes(b3);                                                  \
            }                                                                                    \
            for (; j < n; j++) {                                                                 \
                one_##T(w, i, x + j * ldx, out + j * ldo + i);                                   \
                one_##T(w, i + 1, x + j * ldx, out + j * ldo + i + 1);                           \
            }                                                                                    \
        }                                                                                        \
        for (size_t j = 0; i < i1 && j < n; j++)                                                 \
            one_##T(w, i, x + j * ldx, out + j * ldo + i);                                       \
    }                                                                                            \
    FOR_AVX2 static void expand_##T(const uint8_t *src, size_t nb, float *dst) {                 \
        for (size_t b = 0; b < nb; b++) {                                                        \
            v32 v = get_##T(src, b);                                                             \
            _mm256_storeu_ps(dst + 32 * b, v.a);                                                 \
            _mm256_storeu_ps(dst + 32 * b + 8, v.b);                                             \
            _mm256_storeu_ps(dst + 32 * b + 16, v.c);                                            \
            _mm256_storeu_ps(dst + 32 * b + 24, v.d);                                            \
        }                                                                                        \
    }

/* The number is that of the bytes of 32 elements (rounded up for Q6_K, where it only guides the
 * prefetch). */
DEFINE_DIRECT(f32, KR_QUANT_F32, 128)
DEFINE_DIRECT(f16, KR_QUANT_F16, 64)
DEFINE_DIRECT(bf16, KR_QUANT_BF16, 64)
DEFINE_DIRECT(q8_0, KR_QUANT_Q8_0, 34)
DEFINE_DIRECT(q4_0, KR_QUANT_Q4_0, 18)
DEFINE_DIRECT(q4_1, KR_QUANT_Q4_1, 20)
DEFINE_DIRECT(q5_0, KR_QUANT_Q5_0, 22)
DEFINE_DIRECT(q5_1, KR_QUANT_Q5_1, 24)
DEFINE_DIRECT(q4_k, KR_QUANT_Q4_K, 18)
DEFINE_DIRECT(q5_k, KR_QUANT_Q5_K, 22)
DEFINE_DIRECT(q6_k, KR_QUANT_Q6_K, 27)

static const struct {
    direct_fn direct;
    batch_fn batch;
    void (*expand)(const uint8_t *src, size_t nb, float *dst);
} of_type[KR_QUANT_END] = {
    [KR_QUANT_F32] = {direct_f32, batch_f32, expand_f32},
    [KR_QUANT_F16] = {direct_f16, batch_f16, expand_f16},
    [KR_QUANT_BF16] = {direct_bf16, batch_bf16, expand_bf16},
    [KR_QUANT_Q8_0] = {direct_q8_0, batch_q8_0, expand_q8_0},
    [KR_QUANT_Q4_0] = {direct_q4_0, batch_q4_0, expand_q4_0},
    [KR_QUANT_Q4_1] = {direct_q4_1, batch_q4_1, expand_q4_1},
    [KR_QUANT_Q5_0] = {direct_q5_0, batch_q5_0, expand_q5_0},
    [KR_QUANT_Q5_1] = {direct_q5_1, batch_q5_1, expand_q5_1},
    [KR_QUANT_Q4_K] = {direct_q4_k, batch_q4_k, expand_q4_k},
    [KR_QUANT_Q5_K] = {direct_q5_k, batch_q5_k, expand_q5_k},
    [KR_QUANT_Q6_K] = {direct_q6_k, batch_q6_k, expand_q6_k},
};

static void expand(kr_quant type, const uint8_t *src, size_t n, float *dst) {
    size_t nb = n / 32, rest = n % 32;
    of_type[type].expand(src, nb, dst);
    if (rest != 0) { /* F32, F16, BF16 */
        size_t bytes = type == KR_QUANT_F32 ? 4 : 2;
        kr_quant_expand(type, src + 32 * nb * bytes, rest, dst + 32 * nb);
    }
}

#define STEP(J)                                                                                  \
    do {                                                                                         \
        __m256 v = _mm256_loadu_ps(x##J + k);                                                    \
        a0##J = _mm256_fmadd_ps(_mm256_loadu_ps(w0 + k), v, a0##J);                              \
        a1##J = _mm256_fmadd_ps(_mm256_loadu_ps(w1 + k), v, a1##J);                              \
        a2##J = _mm256_fmadd_ps(_mm256_loadu_ps(w2 + k), v, a2##J);                              \
        a3##J = _mm256_fmadd_ps(_mm256_loadu_ps(w3 + k), v, a3##J);                              \
    } while (0)

#define STORE(J)                                                                                 \
    do {                                                                                         \
        out[(J) * ldo] = add_lanes(a0##J);                                                       \
        out[(J) * ldo + 1] = add_lanes(a1##J);                                                   \
        out[(J) * ldo + 2] = add_lanes(a2##J);                                                   \
        out[(J) * ldo + 3] = add_lanes(a3##J);                                                   \
    } while (0)

/* Four expanded rows at w (stride ldw) times n vectors, len a multiple of eight. */
FOR_AVX2 static void four_rows(const float *w, size_t ldw, size_t len, const float *x, size_t ldx,
                               size_t n, float *out, size_t ldo) {
    const float *w0 = w, *w1 = w + ldw, *w2 = w1 + ldw, *w3 = w2 + ldw;
    size_t j = 0;
    for (; j + 3 <= n; j += 3, x += 3 * ldx, out += 3 * ldo) {
        const float *x0 = x, *x1 = x + ldx, *x2 = x1 + ldx;
        __m256 a00 = _mm256_setzero_ps(), a10 = a00, a20 = a00, a30 = a00, a01 = a00, a11 = a00;
        __m256 a21 = a00, a31 = a00, a02 = a00, a12 = a00, a22 = a00, a32 = a00;
        for (size_t k = 0; k < len; k += 8) {
            STEP(0);
            STEP(1);
            STEP(2);
        }
        STORE(0);
        STORE(1);
        STORE(2);
    }
    for (; j < n; j++, x += ldx, out += ldo) {
        const float *x0 = x;
        __m256 a00 = _mm256_setzero_ps(), a10 = a00, a20 = a00, a30 = a00;
        for (size_t k = 0; k < len; k += 8)
            STEP(0);
        STORE(0);
    }
}

static void dots(const kr_mat *w, size_t i0, size_t i1, const float *x, size_t ldx, size_t n,
                 float *out, size_t ldo, float *scratch) {
    size_t len = (w->cols + 7) / 8 * 8, i = i0;
    if (n == 1) {
        of_type[w->type].direct(w, i0, i1, x, out);
        return;
    }
    if (kr_quant_describe(w->type)->block > 1) {
        of_type[w->type].batch(w, i0, i1, x, ldx, n, out, ldo);
        return;
    }
    for (; i + 4 <= i1; i += 4) {
        const uint8_t *row = w->data + i * w->row_bytes;
        if (w->type == KR_QUANT_F32 && len == w->cols && (uintptr_t)row % 4 == 0) {
            four_rows((const float *)(const void *)row, w->cols, len, x, ldx, n, out + i, ldo);
            continue;
        }
        for (size_t r = 0; r < 4; r++) {
            expand(w->type, row + r * w->row_bytes, w->cols, scratch + r * len);
            memset(scratch + r * len + w->cols, 0, (len - w->cols) * sizeof *scratch);
        }
        four_rows(scratch, len, len, x, ldx, n, out + i, ldo);
    }
    for (size_t j = 0; i < i1 && j < n; j++)
        of_type[w->type].direct(w, i, i1, x + j * ldx, out + j * ldo);
}

/* ---- elementwise ---- */

/* exp by x = k ln 2 + r, |r| <= ln 2 / 2, and the Cephes polynomial of expf for exp(r)
 * (S. Moshier, Cephes 2.2, single/expf.c); within 2 units in the last place. Below -87.3 it is 0,
 * above 88.3 it stays at exp(88.3). */
INLINE_AVX2 __m256 exp8(__m256 x) {
    const __m256 lo = _mm256_set1_ps(-87.3f), hi = _mm256_set1_ps(88.3f);
    __m256 tiny = _mm256_cmp_ps(x, lo, _CMP_LT_OQ);
    x = _mm256_max_ps(lo, _mm256_min_ps(hi, x)); /* operand order keeps NaN */
    __m256 k = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(k, _mm256_set1_ps(0.693359375f), x);
    r = _mm256_fnmadd_ps(k, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.9875691500e-4f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1f));
    p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
    __m256i bits = _mm256_slli_epi32(
        _mm256_add_epi32(_mm256_cvtps_epi32(k), _mm256_set1_epi32(127)), 23);
    return _mm256_andnot_ps(tiny, _mm256_mul_ps(p, _mm256_castsi256_ps(bits)));
}

FOR_AVX2 static float max_of(const float *s, size_t n) {
    float m = s[0];
    size_t i = 0;
    if (n >= 8) {
        __m256 v = _mm256_loadu_ps(s);
        for (i = 8; i + 8 <= n; i += 8)
            v = _mm256_max_ps(v, _mm256_loadu_ps(s + i));
        float t[8];
        _mm256_storeu_ps(t, v);
        for (size_t j = 0; j < 8; j++)
            m = t[j] > m ? t[j] : m;
    }
    for (; i < n; i++)
        m = s[i] > m ? s[i] : m;
    return m;
}

FOR_AVX2 static float exp_sum(float *s, size_t n, float max) {
    __m256 m = _mm256_set1_ps(max), acc = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 e = exp8(_mm256_sub_ps(_mm256_loadu_ps(s + i), m));
        _mm256_storeu_ps(s + i, e);
        acc = _mm256_add_ps(acc, e);
    }
    if (i < n) {
        float t[8], e[8] = {0};
        for (size_t j = 0; j < 8; j++)
            t[j] = i + j < n ? s[i + j] - max : -1e30f;
        _mm256_storeu_ps(e, exp8(_mm256_loadu_ps(t)));
        memcpy(s + i, e, (n - i) * sizeof *s);
        acc = _mm256_add_ps(acc, _mm256_loadu_ps(e));
    }
    return add_lanes(acc);
}

/* Sixty-four columns of mix at once: whole rows of the usual head size, in order. */
#define MIX_LOAD(K) __m256 a##K = _mm256_mul_ps(_mm256_loadu_ps(o + 8 * K), s)
#define MIX_ADD(K) a##K = _mm256_fmadd_ps(w, _mm256_loadu_ps(v + 8 * K), a##K)
#define MIX_STORE(K) _mm256_storeu_ps(o + 8 * K, a##K)

INLINE_AVX2 void mix64(const float *p, const float *v, size_t n, size_t d, __m256 s, float *o) {
    MIX_LOAD(0);
    MIX_LOAD(1);
    MIX_LOAD(2);
    MIX_LOAD(3);
    MIX_LOAD(4);
    MIX_LOAD(5);
    MIX_LOAD(6);
    MIX_LOAD(7);
    for (size_t i = 0; i < n; i++, v += d) {
        __m256 w = _mm256_set1_ps(p[i]);
        MIX_ADD(0);
        MIX_ADD(1);
        MIX_ADD(2);
        MIX_ADD(3);
        MIX_ADD(4);
        MIX_ADD(5);
        MIX_ADD(6);
        MIX_ADD(7);
    }
    MIX_STORE(0);
    MIX_STORE(1);
    MIX_STORE(2);
    MIX_STORE(3);
    MIX_STORE(4);
    MIX_STORE(5);
    MIX_STORE(6);
    MIX_STORE(7);
}

INLINE_AVX2 void mix32(const float *p, const float *v, size_t n, size_t d, __m256 s, float *o) {
    MIX_LOAD(0);
    MIX_LOAD(1);
    MIX_LOAD(2);
    MIX_LOAD(3);
    for (size_t i = 0; i < n; i++, v += d) {
        __m256 w = _mm256_set1_ps(p[i]);
        MIX_ADD(0);
        MIX_ADD(1);
        MIX_ADD(2);
        MIX_ADD(3);
    }
    MIX_STORE(0);
    MIX_STORE(1);
    MIX_STORE(2);
    MIX_STORE(3);
}

INLINE_AVX2 void mix16(const float *p, const float *v, size_t n, size_t d, __m256 s, float *o) {
    MIX_LOAD(0);
    MIX_LOAD(1);
    for (size_t i = 0; i < n; i++, v += d) {
        __m256 w = _mm256_set1_ps(p[i]);
        MIX_ADD(0);
        MIX_ADD(1);
    }
    MIX_STORE(0);
    MIX_STORE(1);
}

FOR_AVX2 static void mix(const float *p, const float *v, size_t n, size_t d, float scale,
                         float *o) {
    __m256 s = _mm256_set1_ps(scale);
    size_t c = 0;
    for (; c + 64 <= d; c += 64)
        mix64(p, v + c, n, d, s, o + c);
    for (; c + 32 <= d; c += 32)
        mix32(p, v + c, n, d, s, o + c);
    for (; c + 16 <= d; c += 16)
        mix16(p, v + c, n, d, s, o + c);
    for (; c + 8 <= d; c += 8) {
        __m256 a = _mm256_mul_ps(_mm256_loadu_ps(o + c), s);
        for (size_t i = 0; i < n; i++)
            a = _mm256_fmadd_ps(_mm256_set1_ps(p[i]), _mm256_loadu_ps(v + i * d + c), a);
        _mm256_storeu_ps(o + c, a);
    }
    for (; c < d; c++) {
        float a = o[c] * scale;
        for (size_t i = 0; i < n; i++)
            a += p[i] * v[i * d + c];
        o[c] = a;
    }
}

INLINE_AVX2 __m256 swiglu8(__m256 z, __m256 u) {
    __m256 e = exp8(_mm256_xor_ps(z, _mm256_set1_ps(-0.0f)));
    return _mm256_mul_ps(_mm256_div_ps(z, _mm256_add_ps(_mm256_set1_ps(1.0f), e)), u);
}

FOR_AVX2 static void swiglu(float *g, const float *u, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(g + i, swiglu8(_mm256_loadu_ps(g + i), _mm256_loadu_ps(u + i)));
    float a[8] = {0}, b[8] = {0};
    memcpy(a, g + i, (n - i) * sizeof *a);
    memcpy(b, u + i, (n - i) * sizeof *b);
    _mm256_storeu_ps(a, swiglu8(_mm256_loadu_ps(a), _mm256_loadu_ps(b)));
    memcpy(g + i, a, (n - i) * sizeof *a);
}

static const kr_kern avx2 = {"avx2", dots, expand, max_of, exp_sum, mix, swiglu};

const kr_kern *kr_kern_avx2(void) {
    unsigned a, b, c = 0, d;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return NULL;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_F16C) == 0)
        return NULL;
    return &avx2;
}

#else

const kr_kern *kr_kern_avx2(void) {
    return NULL;
}

#endif
