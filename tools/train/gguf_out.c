#include "tools/train/gguf_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

/* --- half precision --------------------------------------------------------------------------- */

/* Round to nearest, ties to even (IEEE 754); beyond the range infinite. */
static uint16_t half_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, mantissa = bits & 0x7fffffu;
    int exponent = (int)(bits >> 23 & 0xff) - 127 + 15;
    if (exponent >= 31)
        return (uint16_t)(sign | 0x7c00u | (exponent == 143 && mantissa != 0 ? 0x200u : 0));
    if (exponent < -10)
        return (uint16_t)sign;
    int drop = 13;
    if (exponent <= 0) {
        mantissa |= 0x800000u;
        drop += 1 - exponent;
        exponent = 0;
    }
    uint32_t value = (uint32_t)exponent << 10 | 0;
    uint32_t kept = mantissa >> drop, rest = mantissa & ((1u << drop) - 1), tie = 1u << (drop - 1);
    value += kept;
    if (rest > tie || (rest == tie && (value & 1) != 0))
        value++;
    return (uint16_t)(sign | value);
}

static float float_of(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
    float x;
    if (exponent == 0) {
        x = (float)mantissa * 0x1p-24f;
        return sign != 0 ? -x : x;
    }
    uint32_t bits = sign | (exponent + 112) << 23 | mantissa << 13;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void round_all(float *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        v[i] = float_of(half_of(v[i]));
}

void kr_train_round(const kr_net_shape *s, kr_net_params *p) {
    size_t d = s->width, hd = s->heads * s->dim, kd = s->kv_heads * s->dim, f = s->ffn;
    round_all(p->embed, s->vocab * d);
    for (size_t l = 0; l < s->layers; l++) {
        kr_net_layer *y = &p->layer[l];
        round_all(y->q, hd * d);
        round_all(y->k, kd * d);
        round_all(y->v, kd * d);
        round_all(y->o, hd * d);
        round_all(y->gate, f * d);
        round_all(y->up, f * d);
        round_all(y->down, f * d);
    }
}

/* --- the vocabulary --------------------------------------------------------------------------- */

enum { PIECE = 24, NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 };
#define BLANK "\xe2\x96\x81" /* U+2581 stands for a blank */

typedef struct {
    size_t n, cap;
    char (*text)[PIECE];
    float *score;
    int32_t *type;
    bool failed;
} pieces;

static void pieces_free(pieces *v) {
    free(v->text);
    free(v->score);
    free(v->type);
}

static bool pieces_new(pieces *v, size_t cap) {
    *v = (pieces){.cap = cap,
                  .text = calloc(cap, sizeof *v->text),
                  .score = calloc(cap, sizeof *v->score),
                  .type = calloc(cap, sizeof *v->type)};
    return v->text != NULL && v->score != NULL && v->type != NULL;
}

static void add_piece(pieces *v, const char *text, float score, int32_t type) {
    if (v->n == v->cap) {
        v->failed = true;
        return;
    }
    snprintf(v->text[v->n], PIECE, "%s", text);
    v->score[v->n] = score;
    v->type[v->n++] = type;
}

static bool has_piece(const pieces *v, const char *text) {
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->text[i], text) == 0)
            return true;
    return false;
}

/* Pieces that begin with a blank all score above the second halves of numbers, so that " 4821"
 * merges to " 48" before "82" can. No other pair of letters is a piece: a word grows from its
 * blank letter by letter, whatever the scores. */
static const float score_word = -1, score_pair = -1000, score_letter = -2000;

static void add_words(pieces *v, const kr_words *w) {
    static const int32_t special[] = {UNKNOWN, CONTROL, CONTROL};
    char text[PIECE];
    for (size_t i = 0; i < kr_words_count(w); i++) {
        const char *t = kr_words_text(w, (int32_t)i);
        bool blank = t[0] == ' ';
        snprintf(text, sizeof text, "%s%s", blank ? BLANK : "", t + blank);
        add_piece(v, text,
                  i < 3   ? 0
                  : blank ? score_word
                          : score_pair,
                  i < 3 ? special[i] : NORMAL);
    }
}

static void add_beginnings(pieces *v, const kr_words *w) {
    char text[PIECE];
    for (size_t i = 3; i < kr_words_count(w); i++) {
        const char *t = kr_words_text(w, (int32_t)i);
        for (size_t n = 0; t[0] == ' ' && n + 1 < strlen(t); n++) {
            snprintf(text, sizeof text, BLANK "%.*s", (int)n, t + 1);
            if (!has_piece(v, text))
                add_piece(v, text, n == 0 ? score_letter : score_word, NORMAL);
        }
    }
}

static void add_letters_and_bytes(pieces *v) {
    char text[PIECE];
    for (int c = 0; c < 256; c++)
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) {
            snprintf(text, sizeof text, "%c", c);
            add_piece(v, text, score_letter, NORMAL);
        }
    for (unsigned c = 0; c < 256; c++) {
        snprintf(text, sizeof text, "<0x%02X>", c);
        add_piece(v, text, 0, BYTE);
    }
}

static bool make_pieces(pieces *v, const kr_words *w) {
    if (!pieces_new(v, 8192))
        return false;
    add_words(v, w);
    add_beginnings(v, w);
    add_letters_and_bytes(v);
    return !v->failed;
}

/* --- the file --------------------------------------------------------------------------------- */

enum {
    T_U32 = 4,
    T_I32 = 5,
    T_F32 = 6,
    T_BOOL = 7,
    T_STRING = 8,
    T_ARRAY = 9,
    F32 = 0,
    F16 = 1,
    ALIGN = 32
};

typedef struct {
    kr_buf keys, infos, data;
    uint64_t n_keys, n_tensors;
} gguf;

static void put_bytes(kr_buf *b, uint64_t v, size_t n) {
    unsigned char c[8];
    for (size_t i = 0; i < n; i++)
        c[i] = (unsigned char)(v >> (8 * i));
    kr_buf_add(b, c, n);
}

static void put_text(kr_buf *b, const char *s) {
    put_bytes(b, strlen(s), 8);
    kr_buf_puts(b, s);
}

static void put_float(kr_buf *b, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_bytes(b, bits, 4);
}

static void key(gguf *g, const char *name, uint32_t type) {
    put_text(&g->keys, name);
    put_bytes(&g->keys, type, 4);
    g->n_keys++;
}

static void key_u32(gguf *g, const char *name, size_t v) {
    key(g, name, T_U32);
    put_bytes(&g->keys, v, 4);
}

static void key_f32(gguf *g, const char *name, float v) {
    key(g, name, T_F32);
    put_float(&g->keys, v);
}

static void key_text(gguf *g, const char *name, const char *v) {
    key(g, name, T_STRING);
    put_text(&g->keys, v);
}

static void key_bool(gguf *g, const char *name, bool v) {
    key(g, name, T_BOOL);
    put_bytes(&g->keys, v, 1);
}

static void key_array(gguf *g, const char *name, uint32_t type, size_t n) {
    key(g, name, T_ARRAY);
    put_bytes(&g->keys, type, 4);
    put_bytes(&g->keys, n, 8);
}

/* Sizes are written fastest first: the row length, then the rows (0: a vector in F32). */
static void tensor_info(gguf *g, const char *name, size_t cols, size_t rows) {
    put_text(&g->infos, name);
    put_bytes(&g->infos, rows > 0 ? 2 : 1, 4);
    put_bytes(&g->infos, cols, 8);
    if (rows > 0)
        put_bytes(&g->infos, rows, 8);
    put_bytes(&g->infos, rows > 0 ? F16 : F32, 4);
    put_bytes(&g->infos, g->data.len, 8);
    g->n_tensors++;
}

static void pad(kr_buf *b, size_t before) {
    while ((before + b->len) % ALIGN != 0 && !b->failed)
        put_bytes(b, 0, 1);
}

static void put_half(kr_buf *b, const float *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        put_bytes(b, half_of(v[i]), 2);
}

static void matrix(gguf *g, size_t layer, const char *name, const float *v, size_t rows,
                   size_t cols) {
    char full[64];
    snprintf(full, sizeof full, "blk.%zu.%s.weight", layer, name);
    tensor_info(g, full, cols, rows);
    put_half(&g->data, v, rows * cols);
    pad(&g->data, 0);
}

static void vector(gguf *g, const char *full, const float *v, size_t n) {
    tensor_info(g, full, n, 0);
    for (size_t i = 0; i < n; i++)
        put_float(&g->data, v[i]);
    pad(&g->data, 0);
}

static void put_layer(gguf *g, const kr_net_shape *s, const kr_net_layer *y, size_t l) {
    size_t d = s->width, hd = s->heads * s->dim, kd = s->kv_heads * s->dim, f = s->ffn;
    char name[64];
    snprintf(name, sizeof name, "blk.%zu.attn_norm.weight", l);
    vector(g, name, y->attn_norm, d);
    matrix(g, l, "attn_q", y->q, hd, d);
    matrix(g, l, "attn_k", y->k, kd, d);
    matrix(g, l, "attn_v", y->v, kd, d);
    matrix(g, l, "attn_output", y->o, d, hd);
    snprintf(name, sizeof name, "blk.%zu.ffn_norm.weight", l);
    vector(g, name, y->ffn_norm, d);
    matrix(g, l, "ffn_gate", y->gate, f, d);
    matrix(g, l, "ffn_up", y->up, f, d);
    matrix(g, l, "ffn_down", y->down, d, f);
}

static void put_shape(gguf *g, const kr_net_shape *s, size_t context, const char *about) {
    key_text(g, "general.architecture", "llama");
    key_text(g, "general.name", "mini-llama");
    key_text(g, "general.description", about);
    key_text(g, "general.license", "gpl-3.0");
    key_u32(g, "general.file_type", 1);
    key_u32(g, "general.alignment", ALIGN);
    key_u32(g, "llama.context_length", context);
    key_u32(g, "llama.embedding_length", s->width);
    key_u32(g, "llama.block_count", s->layers);
    key_u32(g, "llama.feed_forward_length", s->ffn);
    key_u32(g, "llama.attention.head_count", s->heads);
    key_u32(g, "llama.attention.head_count_kv", s->kv_heads);
    key_u32(g, "llama.attention.key_length", s->dim);
    key_u32(g, "llama.attention.value_length", s->dim);
    key_f32(g, "llama.attention.layer_norm_rms_epsilon", s->eps);
    key_u32(g, "llama.rope.dimension_count", s->dim);
    key_f32(g, "llama.rope.freq_base", (float)s->base);
}

static void put_vocabulary(gguf *g, const pieces *v) {
    key_u32(g, "llama.vocab_size", v->n);
    key_text(g, "tokenizer.ggml.model", "llama");
    key_text(g, "tokenizer.ggml.pre", "default");
    key_array(g, "tokenizer.ggml.tokens", T_STRING, v->n);
    for (size_t i = 0; i < v->n; i++)
        put_text(&g->keys, v->text[i]);
    key_array(g, "tokenizer.ggml.scores", T_F32, v->n);
    for (size_t i = 0; i < v->n; i++)
        put_float(&g->keys, v->score[i]);
    key_array(g, "tokenizer.ggml.token_type", T_I32, v->n);
    for (size_t i = 0; i < v->n; i++)
        put_bytes(&g->keys, (uint32_t)v->type[i], 4);
    key_u32(g, "tokenizer.ggml.bos_token_id", KR_WORD_BEGIN);
    key_u32(g, "tokenizer.ggml.eos_token_id", KR_WORD_END);
    key_u32(g, "tokenizer.ggml.unknown_token_id", KR_WORD_UNKNOWN);
    key_bool(g, "tokenizer.ggml.add_bos_token", true);
    key_bool(g, "tokenizer.ggml.add_eos_token", false);
    key_bool(g, "tokenizer.ggml.add_space_prefix", true);
}

static kr_status write_file(const char *path, gguf *g, kr_error *err) {
    kr_buf head = {0};
    kr_buf_puts(&head, "GGUF");
    put_bytes(&head, 3, 4);
    put_bytes(&head, g->n_tensors, 8);
    put_bytes(&head, g->n_keys, 8);
    kr_buf_add(&head, g->keys.s, g->keys.len);
    kr_buf_add(&head, g->infos.s, g->infos.len);
    pad(&head, 0);
    kr_buf_add(&head, g->data.s, g->data.len);
    bool failed = head.failed || g->keys.failed || g->infos.failed || g->data.failed;
    kr_status st = failed ? kr_fail(err, KR_ENOMEM, "out of memory for %s", path)
                          : kr_file_write(path, head.s, head.len, true, err);
    kr_buf_free(&head);
    return st;
}

kr_status kr_train_write(const char *path, const kr_words *w, const kr_net_shape *s,
                         const kr_net_params *p, size_t context, const char *about, kr_error *err) {
    pieces v;
    gguf g = {0};
    if (!make_pieces(&v, w)) {
        pieces_free(&v);
        return kr_fail(err, KR_ENOMEM, "out of memory for the vocabulary");
    }
    put_shape(&g, s, context, about);
    put_vocabulary(&g, &v);
    tensor_info(&g, "token_embd.weight", s->width, v.n);
    put_half(&g.data, p->embed, s->vocab * s->width);
    for (size_t i = s->vocab; i < v.n; i++)
        put_half(&g.data, p->embed + KR_WORD_UNKNOWN * s->width, s->width);
    pad(&g.data, 0);
    vector(&g, "output_norm.weight", p->norm, s->width);
    for (size_t l = 0; l < s->layers; l++)
        put_layer(&g, s, &p->layer[l], l);
    kr_status st = write_file(path, &g, err);
    kr_buf_free(&g.keys);
    kr_buf_free(&g.infos);
    kr_buf_free(&g.data);
    pieces_free(&v);
    return st;
}
