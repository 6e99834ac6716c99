#include "engine/quant.h"

#include <string.h>

static const kr_quant_info infos[KR_QUANT_END] = {
    [KR_QUANT_F32] = {"F32", 1, 4},      [KR_QUANT_F16] = {"F16", 1, 2},
    [KR_QUANT_Q4_0] = {"Q4_0", 32, 18},  [KR_QUANT_Q4_1] = {"Q4_1", 32, 20},
    [KR_QUANT_Q5_0] = {"Q5_0", 32, 22},  [KR_QUANT_Q5_1] = {"Q5_1", 32, 24},
    [KR_QUANT_Q8_0] = {"Q8_0", 32, 34},  [KR_QUANT_Q4_K] = {"Q4_K", 256, 144},
    [KR_QUANT_Q5_K] = {"Q5_K", 256, 176}, [KR_QUANT_Q6_K] = {"Q6_K", 256, 210},
    [KR_QUANT_BF16] = {"BF16", 1, 2},
};

const kr_quant_info *kr_quant_describe(uint32_t type) {
    return type < KR_QUANT_END && infos[type].name != NULL ? &infos[type] : NULL;
}

static float from_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float kr_quant_half(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = (h >> 10) & 31u, m = h & 0x3ffu;
    if (e == 31)
        /* A NaN comes out quiet, as the processor's own conversion makes it. */
        return from_bits(sign | 0x7f800000u | m << 13 | (m != 0 ? 0x400000u : 0));
    if (e != 0)
        return from_bits(sign | (e + 112) << 23 | m << 13);
    float f = (float)m * 0x1p-24f;
    return sign != 0 ? -f : f;
}

static uint16_t u16(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const uint8_t *p) {
    return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16;
}

static float half_at(const uint8_t *p) {
    return kr_quant_half(u16(p));
}

static void expand_f32(const uint8_t *src, float *dst) {
    memcpy(dst, src, 4);
}

static void expand_f16(const uint8_t *src, float *dst) {
    *dst = half_at(src);
}

static void expand_bf16(const uint8_t *src, float *dst) {
    *dst = from_bits((uint32_t)u16(src) << 16);
}

static void expand_q8_0(const uint8_t *src, float *dst) {
    float d = half_at(src);
    for (size_t j = 0; j < 32; j++)
        dst[j] = d * (float)(int8_t)src[2 + j];
}

/* Nibble j (0..31) of sixteen bytes: the low halves come first. */
static int nibble(const uint8_t *q, size_t j) {
    return j < 16 ? q[j] & 15 : q[j - 16] >> 4;
}

static void expand_q4_0(const uint8_t *src, float *dst) {
    float d = half_at(src);
    for (size_t j = 0; j < 32; j++)
        dst[j] = d * (float)(nibble(src + 2, j) - 8);
}

static void expand_q4_1(const uint8_t *src, float *dst) {
    float d = half_at(src), m = half_at(src + 2);
    for (size_t j = 0; j < 32; j++) {
        float t = d * (float)nibble(src + 4, j);
        dst[j] = t + m;
    }
}

static void expand_q5_0(const uint8_t *src, float *dst) {
    float d = half_at(src);
    uint32_t h = u32(src + 2);
    for (size_t j = 0; j < 32; j++)
        dst[j] = d * (float)((nibble(src + 6, j) | (int)(h >> j & 1) << 4) - 16);
}

static void expand_q5_1(const uint8_t *src, float *dst) {
    float d = half_at(src), m = half_at(src + 2);
    uint32_t h = u32(src + 4);
    for (size_t j = 0; j < 32; j++) {
        float t = d * (float)(nibble(src + 8, j) | (int)(h >> j & 1) << 4);
        dst[j] = t + m;
    }
}

void kr_quant_scale_min(const uint8_t *s, unsigned b, unsigned *scale, unsigned *min) {
    if (b < 4) {
        *scale = s[b] & 63u;
        *min = s[b + 4] & 63u;
        return;
    }
    *scale = (s[b + 4] & 15u) | (unsigned)(s[b - 4] >> 6) << 4;
    *min = (unsigned)(s[b + 4] >> 4) | (unsigned)(s[b] >> 6) << 4;
}

/* Q4_K, and with `high` bits (32 bytes) Q5_K. */
static void expand_k(const uint8_t *src, const uint8_t *high, const uint8_t *q, float *dst) {
    float d = half_at(src), dmin = half_at(src + 2);
    for (unsigned b = 0; b < 8; b++) {
        unsigned sc, mn;
        kr_quant_scale_min(src + 4, b, &sc, &mn);
        float scale = d * (float)sc, min = dmin * (float)mn;
        for (size_t t = 0; t < 32; t++) {
            int n = q[32 * (b / 2) + t] >> (b % 2 * 4) & 15;
            if (high != NULL)
                n |= (high[t] >> b & 1) << 4;
            float v = scale * (float)n;
            dst[32 * b + t] = v - min;
        }
    }
}

static void expand_q4_k(const uint8_t *src, float *dst) {
    expand_k(src, NULL, src + 16, dst);
}

static void expand_q5_k(const uint8_t *src, float *dst) {
    expand_k(src, src + 16, src + 48, dst);
}

static void expand_q6_k(const uint8_t *src, float *dst) {
    const uint8_t *low = src, *high = src + 128, *scale = src + 192;
    float d = half_at(src + 208);
    for (size_t e = 0; e < 256; e++) {
        size_t half = e / 128, g = e % 128 / 32, t = e % 32;
        int n = low[64 * half + t + g % 2 * 32] >> (g / 2 * 4) & 15;
        n |= (high[32 * half + t] >> (2 * g) & 3) << 4;
        float s = d * (float)(int8_t)scale[8 * half + t / 16 + 2 * g];
        dst[e] = s * (float)(n - 32);
    }
}

static void (*const expanders[KR_QUANT_END])(const uint8_t *src, float *dst) = {
    [KR_QUANT_F32] = expand_f32,   [KR_QUANT_F16] = expand_f16,   [KR_QUANT_BF16] = expand_bf16,
    [KR_QUANT_Q4_0] = expand_q4_0, [KR_QUANT_Q4_1] = expand_q4_1, [KR_QUANT_Q5_0] = expand_q5_0,
    [KR_QUANT_Q5_1] = expand_q5_1, [KR_QUANT_Q8_0] = expand_q8_0, [KR_QUANT_Q4_K] = expand_q4_k,
    [KR_QUANT_Q5_K] = expand_q5_k, [KR_QUANT_Q6_K] = expand_q6_k,
};

void kr_quant_expand(kr_quant type, const uint8_t *src, size_t n, float *dst) {
    if (type == KR_QUANT_F32) {
        memcpy(dst, src, n * 4);
        return;
    }
    for (size_t i = 0; i < n; i += infos[type].block, src += infos[type].bytes)
        expanders[type](src, dst + i);
}
