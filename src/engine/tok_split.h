/* tok_split.h - pre-tokenizers of byte-level BPE. Internal to the tokenizer. */
#ifndef KR_ENGINE_TOK_SPLIT_H
#define KR_ENGINE_TOK_SPLIT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *name;    /* value of tokenizer.ggml.pre */
    const char *label;   /* for people */
    int llama3;          /* the newer expression, not that of GPT-2 */
    size_t digits;       /* llama3 only: digits in one word */
    int whole_words;     /* a word that is a token is not merged piece by piece */
    int bos;             /* add BOS unless the file says otherwise */
} kr_split;

/* NULL when unknown. */
const kr_split *kr_split_find(const char *name, size_t n);

/* A text as code points, invalid bytes as U+FFFD, with the class of each. */
typedef struct {
    uint32_t *cp;
    uint8_t *kind;
    size_t *at; /* [n + 1] byte offset of each */
    size_t n;
} kr_points;

/* 0, or -1 when out of memory. */
int kr_points_read(const char *text, size_t n, kr_points *out);
void kr_points_free(kr_points *p);

/* End of the word that begins at code point i < p->n; > i. */
size_t kr_split_next(const kr_split *s, const kr_points *p, size_t i);

#endif
