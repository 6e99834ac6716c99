/* net.h - the transformer being trained: parameters, loss and gradients of one batch.
 *
 * The block is the llama one: RMS norm, rotary embedding on neighbouring pairs, grouped
 * attention, SwiGLU, all without biases, output tied to the embedding. Everything is float32,
 * row-major, output features by input features, so that the file stores the same numbers. */
#ifndef KR_TRAIN_NET_H
#define KR_TRAIN_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t vocab, width, layers, heads, kv_heads, dim, ffn;
    float eps;
    double base; /* of the rotary embedding */
} kr_net_shape;

typedef struct {
    float *q, *k, *v, *o;        /* [H*d][D] [K*d][D] [K*d][D] [D][H*d] */
    float *gate, *up, *down;     /* [F][D] [F][D] [D][F] */
    float *attn_norm, *ffn_norm; /* [D] */
} kr_net_layer;

/* One set of numbers shaped like the network: its parameters, a gradient, an optimizer's memory. */
typedef struct {
    size_t n; /* floats in all */
    float *all;
    float *embed, *norm; /* [V][D] [D] */
    kr_net_layer *layer; /* [L] */
} kr_net_params;

bool kr_net_params_new(const kr_net_shape *s, kr_net_params *out); /* zeros; false: no memory */
void kr_net_params_free(kr_net_params *p);

/* Normal weights of deviation 1/sqrt(inputs), less by sqrt(2 L) where a block writes to the stream;
 * embeddings 0.08; norms 1. */
void kr_net_init(const kr_net_shape *s, kr_net_params *p, uint64_t seed);

/* Makes the heads of the first layer look back[h] tokens back from the start: dimension 0 of
 * every embedding is set to a constant, and through it queries and keys of the fastest rotary
 * pairs hold the angle of that distance. Without this a copying circuit was not found in the
 * time given. */
void kr_net_look_back(const kr_net_shape *s, kr_net_params *p, const size_t *back);

/* Texts laid end to end. weight[i] is that of predicting token i from those before it in its
 * text; 0 at the first token of a text. */
typedef struct {
    size_t texts, n;
    const size_t *start; /* [texts+1], start[texts] = n */
    const int32_t *token;
    const float *weight;
} kr_net_batch;

/* Memory of one worker, for batches of up to `rows` tokens. */
typedef struct kr_net_work kr_net_work;
kr_net_work *kr_net_work_new(const kr_net_shape *s, size_t rows); /* NULL: no memory */
void kr_net_work_free(kr_net_work *w);

/* Sum over predicted tokens of weight * -log p. Adds `scale` times its gradient to `grad` when
 * that is not NULL. best (may be NULL) [n] gets the likeliest token at every predicted position,
 * -1 elsewhere; logits (may be NULL) is [n][V], filled at predicted positions. */
double kr_net_loss(const kr_net_shape *s, const kr_net_params *p, const kr_net_batch *b,
                   kr_net_work *w, float scale, kr_net_params *grad, int32_t *best, float *logits);

#endif
