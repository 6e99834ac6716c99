/* tok.h - text to token ids and back, for the vocabularies that GGUF files carry: SentencePiece
 * BPE with scores ("llama") and byte-level BPE with merges ("gpt2"). */
#ifndef KR_ENGINE_TOK_H
#define KR_ENGINE_TOK_H

#include "base/status.h"
#include "engine/gguf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kr_tok kr_tok;

enum {
    KR_TOK_ENDS = 1,    /* encode: add BOS and EOS where the vocabulary asks for them */
    KR_TOK_SPECIAL = 2, /* encode: texts of control tokens become them; decode: print them */
    KR_TOK_TRIM = 4,    /* decode: drop the one blank that encode put before the text */
};

enum { KR_TOK_NONE = -1 };

/* Reads tokenizer.* of `g`, which must outlive *out. *out is NULL when the file says that it has
 * no vocabulary. The caller frees *out. KR_EFORMAT on anything unknown or inconsistent. */
kr_status kr_tok_new(const kr_gguf *g, kr_tok **out, kr_error *err);
void kr_tok_free(kr_tok *t); /* NULL is allowed */

size_t kr_tok_count(const kr_tok *t);
const char *kr_tok_kind(const kr_tok *t); /* "SPM", "BPE gpt-2", "BPE llama3", "BPE qwen2" */

/* Text of a token as the file spells it, id < count. */
kr_gguf_str kr_tok_text(const kr_tok *t, int32_t id);

int32_t kr_tok_bos(const kr_tok *t); /* or KR_TOK_NONE */
int32_t kr_tok_eos(const kr_tok *t);

/* True for ids that end a generation (end of text, of turn, of message). */
bool kr_tok_stops(const kr_tok *t, int32_t id);

/* Token ids of n bytes of text, any content. The caller frees *ids. KR_ENOMEM; KR_EINVAL beyond
 * 2^30 bytes. */
kr_status kr_tok_encode(const kr_tok *t, const char *text, size_t n, unsigned flags, int32_t **ids,
                        size_t *n_ids, kr_error *err);

/* Bytes of n tokens, with a NUL after them that is not counted. Ids out of range are KR_EINVAL.
 * The caller frees *text. */
kr_status kr_tok_decode(const kr_tok *t, const int32_t *ids, size_t n, unsigned flags, char **text,
                        size_t *len, kr_error *err);

/* How byte-level BPE cuts a text into words before merging. `kind` is a tokenizer.ggml.pre value.
 * ends[i] is the byte offset at which word i ends; the caller frees it. KR_EINVAL: unknown kind. */
kr_status kr_tok_split(const char *kind, const char *text, size_t n, size_t **ends, size_t *n_words,
                       kr_error *err);

#endif
