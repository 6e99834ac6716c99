/* model.h - a Llama-architecture model opened from a GGUF file: geometry, weights, tokenizer. */
#ifndef KR_ENGINE_MODEL_H
#define KR_ENGINE_MODEL_H

#include "base/status.h"
#include "engine/gguf.h"
#include "engine/kern.h"
#include "engine/tok.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t layers;
    size_t width;    /* D, length of a hidden state */
    size_t heads;    /* H, query heads */
    size_t kv_heads; /* K; query head j reads KV head j / (H / K) */
    size_t head_dim; /* d, even */
    size_t ffn;      /* F */
    size_t vocab;    /* V */
    size_t context;  /* trained context as stated in the file, 0: not; nothing is sized by it */
    float eps;       /* of the RMS norms */
    bool rope_halves; /* pairs are (i, i + d/2); otherwise neighbours (2i, 2i + 1) */
} kr_geometry;

/* Vectors are floats owned by the model; a bias is NULL when there is none. Matrices lie in the
 * file, output features by input features. */
typedef struct {
    const float *attn_norm, *ffn_norm;         /* [D] */
    kr_mat q, k, v, o;                         /* [H*d][D] [K*d][D] [K*d][D] [D][H*d] */
    kr_mat gate, up, down;                     /* [F][D] [F][D] [D][F] */
    const float *q_bias, *k_bias, *v_bias, *o_bias;
    const float *gate_bias, *up_bias, *down_bias;
} kr_layer;

typedef struct {
    kr_geometry geo;
    kr_gguf *file;
    kr_tok *tok; /* NULL when the file has no vocabulary */
    char arch[16];
    double rope_base, rope_factor;
    double *rope_freq; /* [d/2] radians per position, scaling included */
    kr_mat embed, output;
    const float *output_norm; /* [D] */
    bool tied;                /* output is embed */
    size_t unused;            /* tensors in the file that the model does not use */
    kr_layer *layer;          /* [layers] */
    float *vectors;           /* storage of the above vectors */
} kr_model;

/* Opens and checks everything that computing needs. The caller closes *out. */
kr_status kr_model_open(const char *path, kr_model **out, kr_error *err);

/* The same from an open file, which the model takes over, also on failure. */
kr_status kr_model_from(kr_gguf *file, kr_model **out, kr_error *err);

void kr_model_close(kr_model *m); /* NULL is allowed */

/* Rows of the output projection by input feature: out[H*d][D], expanded as used in computing. */
void kr_model_output_rows(const kr_model *m, size_t layer, float *out);

/* Bytes of keys and values (float32) that one token adds in all layers. */
size_t kr_model_kv_bytes(const kr_geometry *g);

#endif
