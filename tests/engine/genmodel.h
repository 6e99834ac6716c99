/* genmodel.h - writes random Llama models as GGUF files, for tests and benchmarks. */
#ifndef KR_TESTS_ENGINE_GENMODEL_H
#define KR_TESTS_ENGINE_GENMODEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/quant.h"

typedef struct {
    const char *arch; /* "llama" or "qwen2" (with biases) */
    size_t layers, width, heads, kv_heads, ffn, vocab, context;
    kr_quant type;   /* of the matrices */
    bool tied;       /* no output.weight */
    uint64_t seed;
} gen_model;

static const gen_model gen_15m = {"llama", 6, 288, 6, 6, 768, 32000, 8192, KR_QUANT_F32, true, 1};
static const gen_model gen_110m = {"llama", 12, 768, 12, 12, 2048, 32000, 8192, KR_QUANT_F32, true,
                                   1};

/* xorshift64* (Marsaglia 2003; Vigna 2016). */
static inline uint64_t gen_next(uint64_t *s) {
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * UINT64_C(2685821657736338717);
}

/* Uniform in [-1, 1). */
static inline float gen_unit(uint64_t *s) {
    return (float)(int32_t)(gen_next(s) >> 32) * 0x1p-31f;
}

static inline void gen_u32(FILE *f, uint32_t v) {
    fwrite(&v, 4, 1, f);
}

static inline void gen_u64(FILE *f, uint64_t v) {
    fwrite(&v, 8, 1, f);
}

static inline void gen_str(FILE *f, const char *s) {
    gen_u64(f, strlen(s));
    fwrite(s, 1, strlen(s), f);
}

static inline void gen_key(FILE *f, const char *arch, const char *key) {
    char k[96];
    snprintf(k, sizeof k, "%s%s%s", arch, *arch != '\0' ? "." : "", key);
    gen_str(f, k);
}

static inline void gen_key_u32(FILE *f, const char *arch, const char *key, size_t v) {
    gen_key(f, arch, key);
    gen_u32(f, 4);
    gen_u32(f, (uint32_t)v);
}

static inline void gen_key_f32(FILE *f, const char *arch, const char *key, float v) {
    gen_key(f, arch, key);
    gen_u32(f, 6);
    fwrite(&v, 4, 1, f);
}

static inline void gen_key_str(FILE *f, const char *key, const char *v) {
    gen_key(f, "", key);
    gen_u32(f, 8);
    gen_str(f, v);
}

/* A positive normal half near v (v a power of two times 1..2, small enough). */
static inline uint16_t gen_half(float v) {
    int e;
    float m = frexpf(v, &e);
    return (uint16_t)((e + 14) << 10 | (int)((m * 2 - 1) * 1023));
}

/* One block of a type with random content of about +-scale; halves are kept tame. */
static inline void gen_block(kr_quant type, float scale, uint64_t *s, uint8_t *out) {
    static const struct {
        kr_quant type;
        float range; /* largest |n| that multiplies d */
        int d, m;    /* byte offsets of the halves, -1: none */
    } of[] = {
        {KR_QUANT_Q8_0, 128, 0, -1}, {KR_QUANT_Q4_0, 8, 0, -1},   {KR_QUANT_Q4_1, 15, 0, 2},
        {KR_QUANT_Q5_0, 16, 0, -1},  {KR_QUANT_Q5_1, 31, 0, 2},   {KR_QUANT_Q4_K, 945, 0, 2},
        {KR_QUANT_Q5_K, 1953, 0, 2}, {KR_QUANT_Q6_K, 4096, 208, -1},
    };
    if (type == KR_QUANT_F32) {
        float v = scale * gen_unit(s);
        memcpy(out, &v, 4);
        return;
    }
    if (type == KR_QUANT_F16 || type == KR_QUANT_BF16) {
        float v = scale * gen_unit(s);
        uint32_t u;
        memcpy(&u, &v, 4);
        uint16_t h = type == KR_QUANT_BF16
                         ? (uint16_t)(u >> 16)
                         : (uint16_t)(gen_half(fabsf(v) + 1e-4f) | (v < 0 ? 0x8000 : 0));
        memcpy(out, &h, 2);
        return;
    }
    size_t bytes = kr_quant_describe(type)->bytes;
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(gen_next(s) >> 40);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (of[i].type != type)
            continue;
        uint16_t d = gen_half(scale / of[i].range * (1.5f + 0.4f * gen_unit(s)));
        /* The minimum is added or, in the K types, subtracted times 0..63. */
        bool k = type == KR_QUANT_Q4_K || type == KR_QUANT_Q5_K;
        uint16_t m = (uint16_t)(gen_half(scale / (k ? 63 : 1)) | (k ? 0 : 0x8000));
        memcpy(out + of[i].d, &d, 2);
        if (of[i].m >= 0)
            memcpy(out + of[i].m, &m, 2);
    }
}

typedef struct {
    char name[64];
    size_t cols, rows; /* rows 0: a vector */
    kr_quant type;
    float scale, offset;
} gen_tensor;

static inline size_t gen_list(const gen_model *g, gen_tensor *t) {
    size_t n = 0, hd = g->width / g->heads, kv = g->kv_heads * hd;
    float w = sqrtf(3.0f / (float)g->width), f = sqrtf(3.0f / (float)g->ffn);
    t[n++] = (gen_tensor){"token_embd.weight", g->width, g->vocab, g->type, 1, 0};
    t[n++] = (gen_tensor){"output_norm.weight", g->width, 0, KR_QUANT_F32, 0.2f, 1};
    if (!g->tied)
        t[n++] = (gen_tensor){"output.weight", g->width, g->vocab, g->type, w, 0};
    for (size_t l = 0; l < g->layers; l++) {
        const gen_tensor all[] = {
            {"attn_norm.weight", g->width, 0, KR_QUANT_F32, 0.2f, 1},
            {"attn_q.weight", g->width, g->width, g->type, 1.5f * w, 0},
            {"attn_k.weight", g->width, kv, g->type, 1.5f * w, 0},
            {"attn_v.weight", g->width, kv, g->type, w, 0},
            {"attn_output.weight", g->width, g->width, g->type, w, 0},
            {"ffn_norm.weight", g->width, 0, KR_QUANT_F32, 0.2f, 1},
            {"ffn_gate.weight", g->width, g->ffn, g->type, w, 0},
            {"ffn_up.weight", g->width, g->ffn, g->type, w, 0},
            {"ffn_down.weight", g->ffn, g->width, g->type, f, 0},
            {"attn_q.bias", g->width, 0, KR_QUANT_F32, 0.5f, 0},
            {"attn_k.bias", kv, 0, KR_QUANT_F32, 0.5f, 0},
            {"attn_v.bias", kv, 0, KR_QUANT_F32, 0.5f, 0},
        };
        size_t m = strcmp(g->arch, "qwen2") == 0 ? 12 : 9;
        for (size_t i = 0; i < m; i++) {
            t[n] = all[i];
            snprintf(t[n++].name, sizeof t->name, "blk.%zu.%.24s", l, all[i].name);
        }
    }
    return n;
}

static inline void gen_header(FILE *f, const gen_model *g, size_t tensors) {
    fwrite("GGUF", 1, 4, f);
    gen_u32(f, 3);
    gen_u64(f, tensors);
    gen_u64(f, 10);
    gen_key_str(f, "general.architecture", g->arch);
    gen_key_str(f, "tokenizer.ggml.model", "none");
    gen_key_u32(f, g->arch, "context_length", g->context);
    gen_key_u32(f, g->arch, "embedding_length", g->width);
    gen_key_u32(f, g->arch, "block_count", g->layers);
    gen_key_u32(f, g->arch, "feed_forward_length", g->ffn);
    gen_key_u32(f, g->arch, "attention.head_count", g->heads);
    gen_key_u32(f, g->arch, "attention.head_count_kv", g->kv_heads);
    gen_key_f32(f, g->arch, "attention.layer_norm_rms_epsilon", 1e-5f);
    gen_key_f32(f, g->arch, "rope.freq_base", 10000);
}

static inline size_t gen_bytes(const gen_tensor *t) {
    const kr_quant_info *q = kr_quant_describe(t->type);
    return t->cols / q->block * q->bytes * (t->rows == 0 ? 1 : t->rows);
}

static inline void gen_pad(FILE *f) {
    while (ftell(f) % 32 != 0)
        fputc(0, f);
}

static inline void gen_data(FILE *f, const gen_tensor *t, uint64_t *seed) {
    const kr_quant_info *q = kr_quant_describe(t->type);
    size_t blocks = gen_bytes(t) / q->bytes;
    uint8_t block[256];
    gen_pad(f);
    for (size_t i = 0; i < blocks; i++) {
        if (t->offset != 0) {
            float v = t->offset + t->scale * gen_unit(seed);
            memcpy(block, &v, 4);
        } else {
            gen_block(t->type, t->scale, seed, block);
        }
        fwrite(block, 1, q->bytes, f);
    }
}

/* False when the file could not be written. The same model gives the same bytes everywhere. */
static inline bool gen_write(const gen_model *g, const char *path) {
    FILE *f = fopen(path, "wb");
    gen_tensor *t = calloc(3 + 12 * g->layers, sizeof *t);
    uint64_t seed = g->seed * UINT64_C(0x9e3779b97f4a7c15) | 1, offset = 0;
    if (f == NULL || t == NULL) {
        free(t);
        if (f != NULL)
            fclose(f);
        return false;
    }
    size_t n = gen_list(g, t);
    gen_header(f, g, n);
    for (size_t i = 0; i < n; i++) {
        gen_str(f, t[i].name);
        gen_u32(f, t[i].rows == 0 ? 1 : 2);
        gen_u64(f, t[i].cols);
        if (t[i].rows != 0)
            gen_u64(f, t[i].rows);
        gen_u32(f, (uint32_t)t[i].type);
        gen_u64(f, offset);
        offset += (gen_bytes(&t[i]) + 31) / 32 * 32;
    }
    for (size_t i = 0; i < n; i++)
        gen_data(f, &t[i], &seed);
    free(t);
    bool ok = !ferror(f);
    return fclose(f) == 0 && ok;
}

#endif
