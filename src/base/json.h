/* json.h - a strict reader over JSON text that is already in memory; json_put.h writes.
 *
 * cJSON accepts more than JSON (leading zeros, raw control characters, invalid UTF-8, numbers out
 * of range), cuts strings at \u0000, keeps duplicate keys, and keeps numbers only as doubles. This
 * cursor accepts JSON and nothing else, hands out the text of numbers so that they can be read
 * exactly, and says where something is wrong. It allocates only to compare many keys. */
#ifndef KR_BASE_JSON_H
#define KR_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/decimal.h"
#include "base/json_put.h"
#include "base/status.h"

#define KR_JSON_MAX_DEPTH 64

typedef struct {
    const char *s;
    size_t len;
} kr_span;

typedef enum {
    KR_JSON_END, /* nothing but blanks is left */
    KR_JSON_NULL,
    KR_JSON_BOOL,
    KR_JSON_NUMBER,
    KR_JSON_STRING,
    KR_JSON_ARRAY,
    KR_JSON_OBJECT,
    KR_JSON_BAD /* a byte that starts no value */
} kr_json_type;

typedef struct {
    const char *text; /* borrowed; need not be terminated */
    size_t len, at;
    const char *file; /* for messages; borrowed */
    size_t line;      /* line number of text[0], from 1 */
    int depth;
    bool failed; /* after the first error nothing is read any more */
    kr_error *err;
} kr_json;

kr_json kr_json_open(const char *text, size_t len, const char *file, size_t line, kr_error *err);

/* Type of the next value; moves over blanks only. */
kr_json_type kr_json_peek(kr_json *j);

/* Reads any value, whatever is in it, checking everything; *value (may be NULL) spans its text. */
bool kr_json_skip(kr_json *j, kr_span *value);

/* A string: *raw spans the text between the quotes, escapes unresolved; *escaped says if any. */
bool kr_json_string(kr_json *j, kr_span *raw, bool *escaped);
/* A string, unescaped, NUL-terminated, owned by the caller (NULL on error). */
char *kr_json_string_copy(kr_json *j);
/* Numbers by their text. Nano-units as in kr_nano_scan. */
bool kr_json_number(kr_json *j, kr_span *raw);
bool kr_json_dec(kr_json *j, kr_dec *out);
bool kr_json_nano(kr_json *j, int64_t *out);
bool kr_json_int(kr_json *j, int64_t min, int64_t max, int64_t *out);
bool kr_json_null(kr_json *j);

/* for (kr_json_iter it = kr_json_enter(j, '{'); kr_json_member(j, &it, &key);) { ...read value... }
 * for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it);) { ...read value... }
 * Each returns false at the closing bracket or on error (j->failed). kr_json_member
 * refuses duplicate keys, keys with escapes, and more than 64 keys; kr_json_skip refuses duplicate
 * keys, whatever their spelling. */
typedef struct {
    bool first;
    char close;
    size_t count;
    kr_span seen[64];
} kr_json_iter;
kr_json_iter kr_json_enter(kr_json *j, char open);
bool kr_json_member(kr_json *j, kr_json_iter *it, kr_span *key);
bool kr_json_element(kr_json *j, kr_json_iter *it);

bool kr_span_is(kr_span s, const char *word);

/* Fails at byte offset `at` of the text with "file:line:column: " before the sentence. Always
 * returns false. The first failure stands. */
bool kr_json_fail(kr_json *j, size_t at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
