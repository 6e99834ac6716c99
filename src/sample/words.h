/* words.h - the word-level vocabulary of the bundled model and its tasks.
 *
 * A word id names one token of that model. Words are spelled with their leading blank, marks (".
 * , ? :") without; a four-digit number is two tokens, " 48" and "21". Joining spellings gives
 * English text, and a tokenizer that knows these pieces gives the same ids back. */
#ifndef KR_SAMPLE_WORDS_H
#define KR_SAMPLE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

enum { KR_WORD_UNKNOWN = 0, KR_WORD_BEGIN = 1, KR_WORD_END = 2 };

typedef enum {
    KR_WORDS_MARK, /* . , ? : */
    KR_WORDS_GLUE, /* words of the sentences and questions */
    KR_WORDS_KEY,  /* what a needle is about */
    KR_WORDS_NAME, /* variables */
    KR_WORDS_PERSON,
    KR_WORDS_CITY,
    KR_WORDS_JOB,
    KR_WORDS_ITEM, /* what is counted */
    KR_WORDS_QUALITY,
    KR_WORDS_THING,
    KR_WORDS_ACT,
    KR_WORDS_PLACE, /* filler */
    KR_WORDS_HIGH,  /* " 10" .. " 99", first half of a number */
    KR_WORDS_LOW,   /* "00" .. "99", second half */
    KR_WORDS_KINDS
} kr_word_kind;

typedef struct kr_words kr_words;

/* The caller frees *out. */
kr_status kr_words_new(kr_words **out, kr_error *err);
void kr_words_free(kr_words *w); /* NULL is allowed */

/* Ids are 0 .. count-1; those of one kind are first .. first+size-1. */
size_t kr_words_count(const kr_words *w);
int32_t kr_words_first(const kr_words *w, kr_word_kind kind);
size_t kr_words_size(const kr_words *w, kr_word_kind kind);

/* How the word is written in running text, " amber" or "."; "<unk>", "<s>", "</s>" for ids 0 to 2.
 * Borrowed. */
const char *kr_words_text(const kr_words *w, int32_t id);

/* Id of a word given without its blank, KR_WORD_UNKNOWN when there is none. */
int32_t kr_words_find(const kr_words *w, const char *word);

/* A growing list of ids. After a failed allocation `failed` stays true and additions do nothing. */
typedef struct {
    int32_t *v;
    size_t n, cap;
    bool failed;
} kr_ids;
void kr_ids_add(kr_ids *a, int32_t id);
void kr_ids_append(kr_ids *a, const int32_t *v, size_t n);
void kr_ids_free(kr_ids *a); /* back to empty */

/* Appends the ids of words and marks separated by single blanks, "question : what is". */
void kr_words_put(const kr_words *w, const char *words, kr_ids *out);

/* Appends the running text of n ids; KR_WORD_BEGIN and KR_WORD_END have none. */
void kr_words_join(const kr_words *w, const int32_t *ids, size_t n, kr_buf *out);

#endif
