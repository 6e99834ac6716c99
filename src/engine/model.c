#include "engine/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = 1024, MAX_SIZE = 1 << 24 };

static const struct {
    const char *name;
    bool rope_halves;
    bool qkv_bias; /* required */
} archs[] = {{"llama", false, false}, {"qwen2", true, true}};

/* A model being read. */
typedef struct {
    kr_model *m;
    const kr_gguf *g;
    const char *arch;
    bool qkv_bias;
    size_t used;      /* tensors found */
    float *next;      /* free part of m->vectors */
    kr_error *err;
} reader;

static const char *key_of(const reader *r, const char *suffix, char out[96]) {
    snprintf(out, 96, "%s.%s", r->arch, suffix);
    return out;
}

static kr_status read_size(const reader *r, const char *suffix, bool required, uint64_t most,
                           size_t *out) {
    char key[96];
    uint64_t v = *out;
    kr_status st = kr_gguf_get_same(r->g, key_of(r, suffix, key), required, &v, r->err);
    if (st != KR_OK)
        return st;
    if (!kr_gguf_has(r->g, key))
        return KR_OK;
    if (v < 1 || v > most)
        return kr_fail(r->err, KR_EFORMAT, "%s: %s is %llu; expected 1 to %llu",
                       kr_gguf_name(r->g), key, (unsigned long long)v, (unsigned long long)most);
    *out = (size_t)v;
    return KR_OK;
}

static kr_status read_arch(reader *r) {
    kr_gguf_str s = {0};
    kr_status st = kr_gguf_get_str(r->g, "general.architecture", true, &s, r->err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        if (!kr_gguf_str_is(s, archs[i].name))
            continue;
        r->arch = archs[i].name;
        r->qkv_bias = archs[i].qkv_bias;
        r->m->geo.rope_halves = archs[i].rope_halves;
        snprintf(r->m->arch, sizeof r->m->arch, "%s", r->arch);
        return KR_OK;
    }
    return kr_fail(r->err, KR_EFORMAT, "%s: architecture %.*s is not supported; llama and qwen2 "
                   "are", kr_gguf_name(r->g), (int)(s.n < 40 ? s.n : 40), s.p);
}

static kr_status refuse_experts(const reader *r) {
    char key[96];
    uint64_t n = 0;
    kr_status st = kr_gguf_get_uint(r->g, key_of(r, "expert_count", key), false, &n, r->err);
    if (st == KR_OK && n > 0)
        return kr_fail(r->err, KR_EFORMAT, "%s: a mixture of %llu experts; only dense models are "
                       "supported", kr_gguf_name(r->g), (unsigned long long)n);
    return st;
}

static kr_status read_head_dim(reader *r) {
    kr_geometry *g = &r->m->geo;
    size_t key = g->width / g->heads, value;
    char name[96];
    bool given = kr_gguf_has(r->g, key_of(r, "attention.key_length", name));
    if (!given && g->width % g->heads != 0)
        return kr_fail(r->err, KR_EFORMAT, "%s: embedding length %zu is no multiple of the %zu "
                       "heads", kr_gguf_name(r->g), g->width, g->heads);
    kr_status st = read_size(r, "attention.key_length", false, MAX_SIZE, &key);
    value = key;
    if (st == KR_OK)
        st = read_size(r, "attention.value_length", false, MAX_SIZE, &value);
    size_t rope = key;
    if (st == KR_OK)
        st = read_size(r, "rope.dimension_count", false, MAX_SIZE, &rope);
    if (st != KR_OK)
        return st;
    if (key != value || key % 2 != 0 || rope != key)
        return kr_fail(r->err, KR_EFORMAT, "%s: head sizes %zu (keys), %zu (values) and %zu "
                       "(rotary); expected one even number", kr_gguf_name(r->g), key, value, rope);
    g->head_dim = key;
    return KR_OK;
}

static kr_status read_eps(reader *r) {
    char key[96];
    double eps = 0;
    kr_status st = kr_gguf_get_float(r->g, key_of(r, "attention.layer_norm_rms_epsilon", key), true,
                                     &eps, r->err);
    if (st != KR_OK)
        return st;
    if (!(eps > 0 && eps < 1))
        return kr_fail(r->err, KR_EFORMAT, "%s: %s is %g; expected a number between 0 and 1",
                       kr_gguf_name(r->g), key, eps);
    r->m->geo.eps = (float)eps;
    return KR_OK;
}

static kr_status read_geometry(reader *r) {
    kr_geometry *g = &r->m->geo;
    kr_status st = read_size(r, "embedding_length", true, MAX_SIZE, &g->width);
    if (st == KR_OK)
        st = read_size(r, "block_count", true, MAX_LAYERS, &g->layers);
    if (st == KR_OK)
        st = read_size(r, "feed_forward_length", true, MAX_SIZE, &g->ffn);
    if (st == KR_OK)
        st = read_size(r, "attention.head_count", true, MAX_SIZE, &g->heads);
    g->kv_heads = g->heads;
    if (st == KR_OK)
        st = read_size(r, "attention.head_count_kv", false, MAX_SIZE, &g->kv_heads);
    if (st == KR_OK)
        st = read_size(r, "context_length", false, UINT32_MAX, &g->context);
    if (st != KR_OK)
        return st;
    if (g->heads % g->kv_heads != 0)
        return kr_fail(r->err, KR_EFORMAT, "%s: %zu heads are no multiple of %zu KV heads",
                       kr_gguf_name(r->g), g->heads, g->kv_heads);
    st = read_head_dim(r);
    return st == KR_OK ? read_eps(r) : st;
}

/* ---- tensors ---- */

static const kr_gguf_tensor *tensor(reader *r, const char *name, bool required, kr_status *st) {
    const kr_gguf_tensor *t = kr_gguf_find(r->g, name);
    *st = KR_OK;
    if (t == NULL && required)
        *st = kr_fail(r->err, KR_EFORMAT, "%s: tensor %s is missing", kr_gguf_name(r->g), name);
    r->used += t != NULL;
    return t;
}

static kr_status shape_is(const reader *r, const kr_gguf_tensor *t, size_t cols, size_t rows) {
    if (t->ne[0] == cols && t->ne[1] == rows && t->ne[2] == 1 && t->ne[3] == 1)
        return KR_OK;
    return kr_fail(r->err, KR_EFORMAT, "%s: tensor %.*s has the shape %zu x %zu; expected %zu x "
                   "%zu", kr_gguf_name(r->g), (int)t->name.n, t->name.p, t->ne[0], t->ne[1], cols,
                   rows);
}

static kr_status matrix(reader *r, const char *name, bool required, size_t cols, size_t rows,
                        kr_mat *out) {
    kr_status st;
    const kr_gguf_tensor *t = tensor(r, name, required, &st);
    if (t == NULL)
        return st;
    const kr_quant_info *q = kr_quant_describe(t->type);
    *out = (kr_mat){t->data, t->type, rows, cols, cols / q->block * q->bytes};
    return shape_is(r, t, cols, rows);
}

static kr_status vector(reader *r, const char *name, bool required, size_t n, const float **out) {
    kr_status st;
    const kr_gguf_tensor *t = tensor(r, name, required, &st);
    *out = NULL;
    if (t == NULL)
        return st;
    if (t->type != KR_QUANT_F32)
        return kr_fail(r->err, KR_EFORMAT, "%s: tensor %s is of type %s; expected F32",
                       kr_gguf_name(r->g), name, kr_quant_describe(t->type)->name);
    st = shape_is(r, t, n, 1);
    if (st != KR_OK)
        return st;
    memcpy(r->next, t->data, t->bytes);
    *out = r->next;
    r->next += n;
    return KR_OK;
}

static kr_status read_layer(reader *r, size_t n, kr_layer *l) {
    const kr_geometry *g = &r->m->geo;
    size_t q = g->heads * g->head_dim, kv = g->kv_heads * g->head_dim;
    const struct {
        const char *name;
        size_t cols, rows;
        kr_mat *out;
    } mats[] = {
        {"attn_q", g->width, q, &l->q},         {"attn_k", g->width, kv, &l->k},
        {"attn_v", g->width, kv, &l->v},        {"attn_output", q, g->width, &l->o},
        {"ffn_gate", g->width, g->ffn, &l->gate}, {"ffn_up", g->width, g->ffn, &l->up},
        {"ffn_down", g->ffn, g->width, &l->down},
    };
    const struct {
        const char *name;
        bool required;
        size_t n;
        const float **out;
    } vecs[] = {
        {"attn_norm.weight", true, g->width, &l->attn_norm},
        {"ffn_norm.weight", true, g->width, &l->ffn_norm},
        {"attn_q.bias", r->qkv_bias, q, &l->q_bias},
        {"attn_k.bias", r->qkv_bias, kv, &l->k_bias},
        {"attn_v.bias", r->qkv_bias, kv, &l->v_bias},
        {"attn_output.bias", false, g->width, &l->o_bias},
        {"ffn_gate.bias", false, g->ffn, &l->gate_bias},
        {"ffn_up.bias", false, g->ffn, &l->up_bias},
        {"ffn_down.bias", false, g->width, &l->down_bias},
    };
    char name[64];
    for (size_t i = 0; i < sizeof mats / sizeof *mats; i++) {
        snprintf(name, sizeof name, "blk.%zu.%s.weight", n, mats[i].name);
        kr_status st = matrix(r, name, true, mats[i].cols, mats[i].rows, mats[i].out);
        if (st != KR_OK)
            return st;
    }
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++) {
        snprintf(name, sizeof name, "blk.%zu.%s", n, vecs[i].name);
        kr_status st = vector(r, name, vecs[i].required, vecs[i].n, vecs[i].out);
        if (st != KR_OK)
            return st;
    }
    return KR_OK;
}

/* The file holds every vector, so its size bounds what is asked for here; each layer has at least
 * nine tensors, which bounds their number likewise. */
static kr_status reserve(reader *r) {
    const kr_geometry *g = &r->m->geo;
    size_t floats = 1;
    for (size_t i = 0; i < kr_gguf_n_tensors(r->g); i++) {
        const kr_gguf_tensor *t = kr_gguf_tensor_at(r->g, i);
        if (t->type == KR_QUANT_F32 && t->ne[1] == 1)
            floats += t->ne[0];
    }
    if (g->layers > kr_gguf_n_tensors(r->g))
        return kr_fail(r->err, KR_EFORMAT, "%s: %zu layers are announced, but the file has %zu "
                       "tensors in all", kr_gguf_name(r->g), g->layers, kr_gguf_n_tensors(r->g));
    r->m->vectors = calloc(floats, sizeof(float));
    r->m->layer = calloc(g->layers, sizeof *r->m->layer);
    r->m->rope_freq = calloc(g->head_dim / 2, sizeof *r->m->rope_freq);
    if (r->m->vectors == NULL || r->m->layer == NULL || r->m->rope_freq == NULL)
        return kr_fail(r->err, KR_ENOMEM, "%s: out of memory for %zu layers", kr_gguf_name(r->g),
                       g->layers);
    r->next = r->m->vectors;
    return KR_OK;
}

static kr_status read_vocab_size(reader *r) {
    kr_status st;
    const kr_gguf_tensor *t = tensor(r, "token_embd.weight", true, &st);
    r->used--; /* counted when read as a matrix */
    if (t == NULL)
        return st;
    r->m->geo.vocab = t->ne[1];
    if (t->ne[1] > MAX_SIZE)
        return kr_fail(r->err, KR_EFORMAT, "%s: token_embd.weight has %zu rows; at most %d are "
                       "supported", kr_gguf_name(r->g), t->ne[1], MAX_SIZE);
    if (r->m->tok != NULL && kr_tok_count(r->m->tok) != t->ne[1])
        return kr_fail(r->err, KR_EFORMAT, "%s: the vocabulary has %zu tokens, but "
                       "token_embd.weight has %zu rows", kr_gguf_name(r->g),
                       kr_tok_count(r->m->tok), t->ne[1]);
    return KR_OK;
}

static kr_status read_tensors(reader *r) {
    kr_model *m = r->m;
    const kr_geometry *g = &m->geo;
    kr_status st = read_vocab_size(r);
    if (st == KR_OK)
        st = reserve(r);
    if (st == KR_OK)
        st = matrix(r, "token_embd.weight", true, g->width, g->vocab, &m->embed);
    if (st == KR_OK)
        st = matrix(r, "output.weight", false, g->width, g->vocab, &m->output);
    if (st == KR_OK)
        st = vector(r, "output_norm.weight", true, g->width, &m->output_norm);
    for (size_t i = 0; st == KR_OK && i < g->layers; i++)
        st = read_layer(r, i, &m->layer[i]);
    m->tied = m->output.data == NULL;
    if (m->tied)
        m->output = m->embed;
    return st;
}

/* ---- rotary embedding ---- */

static kr_status read_rope_keys(reader *r) {
    char key[96];
    kr_gguf_str type = {"linear", 6};
    double base = 10000, factor = 0;
    kr_status st = kr_gguf_get_float(r->g, key_of(r, "rope.freq_base", key), false, &base, r->err);
    if (st == KR_OK && !(base > 0 && isfinite(base)))
        return kr_fail(r->err, KR_EFORMAT, "%s: %s is %g; expected a number above 0",
                       kr_gguf_name(r->g), key, base);
    if (st == KR_OK)
        st = kr_gguf_get_str(r->g, key_of(r, "rope.scaling.type", key), false, &type, r->err);
    if (st == KR_OK && !kr_gguf_str_is(type, "linear") && !kr_gguf_str_is(type, "none"))
        return kr_fail(r->err, KR_EFORMAT, "%s: rope scaling of type %.*s is not supported; none "
                       "and linear are", kr_gguf_name(r->g), (int)(type.n < 40 ? type.n : 40),
                       type.p);
    if (st == KR_OK)
        st = kr_gguf_get_float(r->g, key_of(r, "rope.scale_linear", key), false, &factor, r->err);
    if (st == KR_OK)
        st = kr_gguf_get_float(r->g, key_of(r, "rope.scaling.factor", key), false, &factor, r->err);
    if (st != KR_OK)
        return st;
    if (kr_gguf_str_is(type, "none") || factor == 0)
        factor = 1;
    if (!(factor > 0 && isfinite(factor)))
        return kr_fail(r->err, KR_EFORMAT, "%s: %s is %g; expected a number above 0",
                       kr_gguf_name(r->g), key, factor);
    r->m->rope_base = base;
    r->m->rope_factor = factor;
    return KR_OK;
}

static kr_status read_rope(reader *r) {
    size_t half = r->m->geo.head_dim / 2;
    const float *freqs;
    kr_status st = vector(r, "rope_freqs.weight", false, half, &freqs);
    for (size_t i = 0; st == KR_OK && i < half; i++) {
        double f = freqs != NULL ? (double)freqs[i] : 1.0;
        double turn = pow(r->m->rope_base, -(double)i / (double)half) / f / r->m->rope_factor;
        if (!isfinite(turn))
            return kr_fail(r->err, KR_EFORMAT, "%s: element %zu of rope_freqs.weight is %g; "
                           "expected a number other than 0", kr_gguf_name(r->g), i, f);
        r->m->rope_freq[i] = turn;
    }
    return st;
}

kr_status kr_model_from(kr_gguf *file, kr_model **out, kr_error *err) {
    kr_model *m = calloc(1, sizeof *m);
    if (m == NULL) {
        kr_gguf_close(file);
        return kr_fail(err, KR_ENOMEM, "out of memory for a model");
    }
    m->file = file;
    reader r = {.m = m, .g = file, .err = err};
    kr_status st = read_arch(&r);
    if (st == KR_OK)
        st = refuse_experts(&r);
    if (st == KR_OK)
        st = read_geometry(&r);
    if (st == KR_OK)
        st = read_rope_keys(&r);
    if (st == KR_OK)
        st = kr_tok_new(file, &m->tok, err);
    if (st == KR_OK)
        st = read_tensors(&r);
    if (st == KR_OK)
        st = read_rope(&r);
    if (st != KR_OK) {
        kr_model_close(m);
        return st;
    }
    m->unused = kr_gguf_n_tensors(file) - r.used;
    *out = m;
    return KR_OK;
}

kr_status kr_model_open(const char *path, kr_model **out, kr_error *err) {
    kr_gguf *g;
    kr_status st = kr_gguf_open(path, &g, err);
    return st == KR_OK ? kr_model_from(g, out, err) : st;
}

void kr_model_close(kr_model *m) {
    if (m == NULL)
        return;
    kr_tok_free(m->tok);
    kr_gguf_close(m->file);
    free(m->layer);
    free(m->vectors);
    free(m->rope_freq);
    free(m);
}

void kr_model_output_rows(const kr_model *m, size_t layer, float *out) {
    const kr_mat *o = &m->layer[layer].o;
    const kr_quant_info *q = kr_quant_describe(o->type);
    float block[256];
    for (size_t r = 0; r < o->rows; r++)
        for (size_t c = 0; c < o->cols; c += q->block) {
            kr_quant_expand(o->type, o->data + r * o->row_bytes + c / q->block * q->bytes, q->block,
                            block);
            for (size_t i = 0; i < q->block; i++)
                out[(c + i) * o->rows + r] = block[i];
        }
}

size_t kr_model_kv_bytes(const kr_geometry *g) {
    return 2 * sizeof(float) * g->layers * g->kv_heads * g->head_dim;
}
