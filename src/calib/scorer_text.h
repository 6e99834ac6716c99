/* scorer_text.h - the Python text operations that reference scorers rest on, for UTF-8.
 *
 * Everything returned lives in the arena given. Out of memory gives an empty text and leaves the
 * arena's `failed` set, which kr_scorer_run turns into "cannot be scored". */
#ifndef KR_CALIB_SCORER_TEXT_H
#define KR_CALIB_SCORER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "calib/literal.h"

/* Valid UTF-8 bytes; not terminated. */
typedef struct {
    const char *s;
    size_t len;
} kr_str;

/* Code points. */
typedef struct {
    uint32_t *c; /* [n] */
    size_t n;
} kr_codes;

/* str.isspace of one character, and of regular expressions' \s. */
bool kr_py_space(uint32_t c);
/* \w of a Unicode regular expression: letters, numbers of any kind, underscore; no marks. */
bool kr_py_word(uint32_t c);
/* \d of a Unicode regular expression: decimal digits of any script. */
bool kr_py_digit(uint32_t c);
/* The 32 ASCII punctuation characters (string.punctuation). */
bool kr_py_punct(uint32_t c);

/* Bad bytes become U+FFFD; the input itself when it is valid already. */
kr_str kr_str_valid(kr_arena *a, const char *s, size_t len);

/* Full lower-casing (str.lower), with the rule for a final sigma. */
kr_str kr_str_lower(kr_arena *a, kr_str s);
kr_str kr_str_upper(kr_arena *a, kr_str s);

/* str.strip(), str.lstrip(): white space as kr_py_space. */
kr_str kr_str_strip(kr_str s);
kr_str kr_str_lstrip(kr_str s);

bool kr_str_equal(kr_str a, kr_str b);
/* Position of the first `needle` at or after `from`, or SIZE_MAX. An empty needle is found at once. */
size_t kr_str_find(kr_str s, kr_str needle, size_t from);
kr_str kr_str_lit(const char *text);

kr_codes kr_codes_of(kr_arena *a, kr_str s);

/* Words between white space. */
typedef struct {
    kr_str *t; /* [n] */
    size_t n;
} kr_tokens;

/* str.split(): maximal runs of other characters than white space. */
kr_tokens kr_str_split(kr_arena *a, kr_str s);

/* Numbers the distinct words of two lists: ids[i] for a's words, then b's; *distinct is their count
 * over both. NULL when out of memory. */
uint32_t *kr_tokens_ids(kr_arena *arena, kr_tokens a, kr_tokens b, size_t *distinct);

/* F1 over two multisets of numbers below `distinct`: 2pr / (p + r), 0 when nothing is shared. */
double kr_multiset_f1(kr_arena *arena, const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b,
                      size_t distinct);

/* str() of a scalar answer as valid UTF-8. */
kr_str kr_answer_text(kr_arena *a, const kr_lit *v);

#endif
