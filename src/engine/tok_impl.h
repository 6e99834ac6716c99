/* tok_impl.h - the parts of the tokenizer: what is read from the file, the merging that both kinds
 * of vocabulary share, and each kind by itself. Internal to the tokenizer. */
#ifndef KR_ENGINE_TOK_IMPL_H
#define KR_ENGINE_TOK_IMPL_H

#include "engine/tok.h"
#include "engine/tok_split.h"

enum { KR_TOKEN_NORMAL = 1, KR_TOKEN_UNKNOWN, KR_TOKEN_CONTROL, KR_TOKEN_USER, KR_TOKEN_UNUSED,
       KR_TOKEN_BYTE };

typedef struct {
    kr_gguf_str text;
    int32_t id;
} kr_tok_word;

typedef struct {
    kr_gguf_str left, right;
    size_t rank;
} kr_tok_pair;

struct kr_tok {
    size_t n;
    kr_gguf_str *text;    /* [n] */
    float *score;         /* [n], SPM */
    uint8_t *type;        /* [n] */
    kr_tok_word *sorted;  /* [n] by text, then by id */
    kr_tok_pair *merges;  /* [n_merges] by left, right; BPE */
    size_t n_merges;
    const kr_split *split; /* NULL: SPM */
    kr_tok_word *special;  /* [n_special] control, unknown and user tokens, longest first */
    size_t n_special;
    bool starts[256]; /* first bytes of special */
    int32_t bos, eos, eot, eom, unk;
    bool add_bos, add_eos, space_prefix, strip_right;
    int32_t byte_id[256];  /* SPM: token of each byte, or KR_TOK_NONE */
    uint16_t byte_cp[256]; /* BPE: printable stand-in of each byte */
    int16_t cp_byte[0x180];
};

/* ---- texts in order ---- */

int kr_tok_compare(kr_gguf_str a, kr_gguf_str b);
/* The first of equal texts among w[n], sorted by text and id, or KR_TOK_NONE. */
int32_t kr_tok_find(const kr_tok_word *w, size_t n, kr_gguf_str s);
int32_t kr_tok_lookup(const kr_tok *t, kr_gguf_str s);

/* KR_EFORMAT unless the array of `key` has an element for each token. */
kr_status kr_tok_count_is(const kr_gguf *g, const char *key, size_t have, size_t expected,
                          kr_error *err);

/* ---- growing outputs ---- */

typedef struct {
    void *p;
    size_t n, cap, size;
    bool failed;
} kr_tok_vec;

/* Room for one more element; NULL (and `failed`) when out of memory. */
void *kr_tok_grow(kr_tok_vec *v);
void kr_tok_put_id(kr_tok_vec *out, int32_t id); /* negative: nothing */
void kr_tok_put_byte(kr_tok_vec *out, char c);
void kr_tok_put_bytes(kr_tok_vec *out, const char *p, size_t n);

/* ---- merging ---- */

/* Rank of two neighbours in the text, higher first; false when they do not merge. */
typedef bool (*kr_tok_rank)(const kr_tok *t, kr_gguf_str left, kr_gguf_str right, float *rank);
typedef void (*kr_tok_emit)(const kr_tok *t, kr_gguf_str s, kr_tok_vec *out);

/* Merges neighbours until none merges, best rank first, then emits what is left. */
void kr_tok_merge(const kr_tok *t, const char *text, size_t n, kr_tok_rank rank, kr_tok_emit emit,
                  kr_tok_vec *out);

/* Bytes of the UTF-8 character at s; where it is not valid, what is there of it, at least one. */
size_t kr_tok_char(const char *s, size_t n);

/* ---- the two kinds ---- */

kr_status kr_spm_read(const kr_gguf *g, kr_tok *t, kr_error *err);
/* `prefix`: with a blank before the text. */
void kr_spm_encode(const kr_tok *t, const char *text, size_t n, bool prefix, kr_tok_vec *out);
/* `trim`: without the first blank. */
void kr_spm_decode(const kr_tok *t, int32_t id, bool trim, kr_tok_vec *out);

kr_status kr_bpe_read(const kr_gguf *g, kr_tok *t, kr_error *err);
void kr_bpe_encode(const kr_tok *t, const char *text, size_t n, kr_tok_vec *out);
void kr_bpe_decode(const kr_tok *t, int32_t id, kr_tok_vec *out);

/* Reads tokenizer.* into *t, which is zero and whose kind `model` names. */
kr_status kr_tok_load(const kr_gguf *g, kr_gguf_str model, kr_tok *t, kr_error *err);

#endif
