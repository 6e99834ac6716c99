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

INLINE_AVX2 v32 get_q8_0(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 34 * b;
    v32 v = {signed8(_mm_loadl_epi64((const __m128i *)(const void *)(p + 2))),
             signed8(_mm_loadl_epi64((const __m128i *)(const void *)(p + 10))),
             signed8(_mm_loadl_epi64((const __m128i *)(const void *)(p + 18))),
             signed8(_mm_loadl_epi64((const __m128i *)(const void *)(p + 26)))};
    return scaled(v, _mm256_set1_ps(half1(p)));
}

INLINE_AVX2 v32 get_q4_0(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 18 * b;
    __m128i q = load16(p + 2), eight = _mm_set1_epi8(8);
    v32 v = widen(_mm_sub_epi8(low4(q), eight), _mm_sub_epi8(high4(q), eight));
    return scaled(v, _mm256_set1_ps(half1(p)));
}

INLINE_AVX2 v32 get_q4_1(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 20 * b;
    __m128i q = load16(p + 4);
    v32 v = scaled(widen(low4(q), high4(q)), _mm256_set1_ps(half1(p)));
    return plus(v, _mm256_set1_ps(half1(p + 2)));
}

/* Bits 0..15 of h to sixteen bytes of 0 or 16. */
INLINE_AVX2 __m128i fifth_bits(unsigned h) {
    const __m128i spread = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m128i bit = _mm_set1_epi64x((long long)0x8040201008040201ull);
    __m128i v = _mm_shuffle_epi8(_mm_set1_epi16((short)h), spread);
    __m128i set = _mm_cmpeq_epi8(_mm_and_si128(v, bit), bit);
    return _mm_and_si128(set, _mm_set1_epi8(16));
}

INLINE_AVX2 v32 get_q5_0(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 22 * b;
    __m128i q = load16(p + 6), off = _mm_set1_epi8(16);
    __m128i lo = _mm_or_si128(low4(q), fifth_bits(word(p + 2)));
    __m128i hi = _mm_or_si128(high4(q), fifth_bits(word(p + 4)));
    v32 v = widen(_mm_sub_epi8(lo, off), _mm_sub_epi8(hi, off));
    return scaled(v, _mm256_set1_ps(half1(p)));
}

INLINE_AVX2 v32 get_q5_1(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 24 * b;
    __m128i q = load16(p + 8);
    __m128i lo = _mm_or_si128(low4(q), fifth_bits(word(p + 4)));
    __m128i hi = _mm_or_si128(high4(q), fifth_bits(word(p + 6)));
    v32 v = scaled(widen(lo, hi), _mm256_set1_ps(half1(p)));
    return plus(v, _mm256_set1_ps(half1(p + 2)));
}

/* Sub-block s (0..7) of a Q4_K or Q5_K block at p: nibbles times scale minus minimum. */
INLINE_AVX2 v32 k_values(const uint8_t *p, unsigned s, __m128i lo, __m128i hi) {
    unsigned sc, mn;
    const uint8_t *t = p + 4;
    if (s < 4) {
        sc = t[s] & 63u;
        mn = t[s + 4] & 63u;
    } else {
        sc = (t[s + 4] & 15u) | (unsigned)(t[s - 4] >> 6) << 4;
        mn = (unsigned)(t[s + 4] >> 4) | (unsigned)(t[s] >> 6) << 4;
    }
    __m256 scale = _mm256_set1_ps(half1(p) * (float)sc);
    __m256 min = _mm256_set1_ps(half1(p + 2) * (float)mn);
    v32 v = scaled(widen(lo, hi), scale);
    return (v32){_mm256_sub_ps(v.a, min), _mm256_sub_ps(v.b, min), _mm256_sub_ps(v.c, min),
                 _mm256_sub_ps(v.d, min)};
}

INLINE_AVX2 v32 get_q4_k(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 144 * (b / 8);
    unsigned s = (unsigned)(b % 8);
    __m128i lo = load16(p + 16 + 32 * (s / 2)), hi = load16(p + 32 + 32 * (s / 2));
    return s % 2 == 0 ? k_values(p, s, low4(lo), low4(hi)) : k_values(p, s, high4(lo), high4(hi));
}

INLINE_AVX2 __m128i k_fifth(const uint8_t *h, unsigned s) {
    __m128i bit = _mm_set1_epi8((char)(1u << s));
    __m128i set = _mm_cmpeq_epi8(_mm_and_si128(load16(h), bit), bit);
    return _mm_and_si128(set, _mm_set1_epi8(16));
}

INLINE_AVX2 v32 get_q5_k(const uint8_t *row, size_t b) {
    const uint8_t *p = row + 176 * (b / 8);
    unsigned s = (unsigned)(b % 8);
    __m128i lo = load16(p + 48 + 32 * (s / 2)), hi = load16(p + 64 + 32 * (s / 2));
    lo = s % 2 == 0 ? low4(lo) : high4(lo);
    hi = s % 2 == 0 ? low4(hi) : high4(hi);
    return k_values(p, s, _mm_or_si128(lo, k_fifth(p + 16, s)),
                    _mm_or_si128(hi, k_fifth(p + 32, s)));
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

INLINE_AVX2 __m256 fold(v32 w, const float *x, __m256 acc) {
    acc = _mm256_fmadd_ps(w.a, _mm256_loadu_ps(x), acc);
    acc = _mm256_fmadd_ps(w.b, _mm256_loadu_ps(x + 8), acc);
    acc = _mm256_fmadd_ps(w.c, _mm256_loadu_ps(x + 16), acc);
    return _mm256_fmadd_ps(w.d, _mm256_loadu_ps(x + 24), acc);
}

/* What is left after whole blocks of 32 (types without blocks only), expanded by `conv`. */
INLINE_AVX2 __m256 tail(kr_quant type, const uint8_t *p, size_t n, const float *x, __m256 acc) {
    float w[32] = {0};
    kr_quant_expand(type, p, n, w);
    for (size_t i = 0; i < n; i += 8)
        acc = _mm256_fmadd_ps(_mm256_loadu_ps(w + i), _mm256_loadu_ps(x + i), acc);
    return acc;
}

/* Rows are often too short for the processor to see four streams in them, so the bytes that come
 * next are asked for here: whole groups of four rows, at least AHEAD bytes away. A prefetch of an
 * address that is not mapped does nothing. */
enum { AHEAD = 6144 };

INLINE_AVX2 void ask(const uint8_t *p, size_t distance, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64)
        _mm_prefetch((const char *)((uintptr_t)p + distance + i), _MM_HINT_T1);
}

static size_t distance_of(const kr_mat *w) {
    size_t group = 4 * w->row_bytes;
    return (AHEAD + group - 1) / group * group;
}

typedef void (*direct_fn)(const kr_mat *w, size_t i0, size_t i1, const float *x, float *out);

/* One vector, weights read straight from the file; four rows at a time hide the latency of the
 * additions. */
#define DEFINE_DIRECT(T, TYPE, BYTES)                                                            \
    FOR_AVX2 static void direct_##T(const kr_mat *w, size_t i0, size_t i1, const float *x,      \
                                    float *out) {                                              \
        size_t nb = w->cols / 32, rest = w->cols % 32, i = i0, far = distance_of(w);             \
        for (; i + 4 <= i1; i += 4) {                                                            \
            const uint8_t *r0 = w->data + i * w->row_bytes, *r1 = r0 + w->row_bytes;             \
            const uint8_t *r2 = r1 + w->row_bytes, *r3 = r2 + w->row_bytes;                      \
            __m256 a0 = _mm256_setzero_ps(), a1 = a0, a2 = a0, a3 = a0;                          \
            for (size_t b = 0; b < nb; b++) {                                                    \
                ask(r0, far + 4 * (BYTES) * b, 4 * (BYTES));                                     \
                a0 = fold(get_##T(r0, b), x + 32 * b, a0);                                       \
                a1 = fold(get_##T(r1, b), x + 32 * b, a1);                                       \
                a2 = fold(get_##T(r2, b), x + 32 * b, a2);                                       \
                a3 = fold(get_##T(r3, b), x + 32 * b, a3);                                       \
            }                                                                                    \
            if (rest != 0) {                                                                     \
                a0 = tail(TYPE, r0 + nb * (BYTES), rest, x + 32 * nb, a0);                       \
                a1 = tail(TYPE, r1 + nb * (BYTES), rest, x + 32 * nb, a1);                       \
                a2 = tail(TYPE, r2 + nb * (BYTES), rest, x + 32 * nb, a2);                       \
                a3 = tail(TYPE, r3 + nb * (BYTES), rest, x + 32 * nb, a3);                       \
            }                                                                                    \
            out[i] = add_lanes(a0);                                                              \
            out[i + 1] = add_lanes(a1);                                                          \
            out[i + 2] = add_lanes(a2);                                                          \
            out[i + 3] = add_lanes(a3);                                                          \
        }                                                                                        \
        for (; i < i1; i++) {                                                                    \
            const uint8_t *r = w->data + i * w->row_bytes;                                       \
            __m256 a = _mm256_setzero_ps();                                                      \
            for (size_t b = 0; b < nb; b++)                                                      \
                a = fold(get_##T(r, b), x + 32 * b, a);                                          \
            if (rest != 0)                                                                       \
                a = tail(TYPE, r + nb * (BYTES), rest, x + 32 * nb, a);                          \
            out[i] = add_lanes(a);                                                               \
        }                                                                                        \
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
    void (*expand)(const uint8_t *src, size_t nb, float *dst);
} of_type[KR_QUANT_END] = {
    [KR_QUANT_F32] = {direct_f32, expand_f32},    [KR_QUANT_F16] = {direct_f16, expand_f16},
    [KR_QUANT_BF16] = {direct_bf16, expand_bf16}, [KR_QUANT_Q8_0] = {direct_q8_0, expand_q8_0},
    [KR_QUANT_Q4_0] = {direct_q4_0, expand_q4_0}, [KR_QUANT_Q4_1] = {direct_q4_1, expand_q4_1},
    [KR_QUANT_Q5_0] = {direct_q5_0, expand_q5_0}, [KR_QUANT_Q5_1] = {direct_q5_1, expand_q5_1},
    [KR_QUANT_Q4_K] = {direct_q4_k, expand_q4_k}, [KR_QUANT_Q5_K] = {direct_q5_k, expand_q5_k},
    [KR_QUANT_Q6_K] = {direct_q6_k, expand_q6_k},
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
    /* A few vectors are cheapest one by one: the weights stay in the nearest cache between them. */
    if (n == 1) {
        of_type[w->type].direct(w, i0, i1, x, out);
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

/* Columns c .. c + 31 of mix. */
INLINE_AVX2 void mix32(const float *p, const float *v, size_t n, size_t d, __m256 s, float *o) {
    __m256 a = _mm256_mul_ps(_mm256_loadu_ps(o), s), b = _mm256_mul_ps(_mm256_loadu_ps(o + 8), s);
    __m256 c = _mm256_mul_ps(_mm256_loadu_ps(o + 16), s);
    __m256 e = _mm256_mul_ps(_mm256_loadu_ps(o + 24), s);
    for (size_t i = 0; i < n; i++, v += d) {
        __m256 w = _mm256_set1_ps(p[i]);
        a = _mm256_fmadd_ps(w, _mm256_loadu_ps(v), a);
        b = _mm256_fmadd_ps(w, _mm256_loadu_ps(v + 8), b);
        c = _mm256_fmadd_ps(w, _mm256_loadu_ps(v + 16), c);
        e = _mm256_fmadd_ps(w, _mm256_loadu_ps(v + 24), e);
    }
    _mm256_storeu_ps(o, a);
    _mm256_storeu_ps(o + 8, b);
    _mm256_storeu_ps(o + 16, c);
    _mm256_storeu_ps(o + 24, e);
}

FOR_AVX2 static void mix(const float *p, const float *v, size_t n, size_t d, float scale,
                         float *o) {
    __m256 s = _mm256_set1_ps(scale);
    size_t c = 0;
    for (; c + 32 <= d; c += 32)
        mix32(p, v + c, n, d, s, o + c);
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

FOR_AVX2 static void swiglu(float *g, const float *u, size_t n) {
    const __m256 one = _mm256_set1_ps(1.0f), sign = _mm256_set1_ps(-0.0f);
    for (size_t i = 0; i < n; i += 8) {
        size_t m = n - i < 8 ? n - i : 8;
        float a[8] = {0}, b[8] = {0};
        memcpy(a, g + i, m * sizeof *a);
        memcpy(b, u + i, m * sizeof *b);
        __m256 z = _mm256_loadu_ps(a);
        __m256 den = _mm256_add_ps(one, exp8(_mm256_xor_ps(z, sign)));
        _mm256_storeu_ps(a, _mm256_mul_ps(_mm256_div_ps(z, den), _mm256_loadu_ps(b)));
        memcpy(g + i, a, m * sizeof *a);
    }
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
