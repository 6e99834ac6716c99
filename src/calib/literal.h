/* literal.h - reads values written as JSON, as Python literals, or as numpy prints arrays.
 *
 * Evaluation tools write the same list of answers in three spellings: ["a", "b"], ['a', 'b'] and
 * ['a' 'b'] broken over lines. One reader serves all; the dialect says what is allowed. cJSON is
 * not used for these foreign files because they hold NaN, integers beyond 2^53, \u0000 and repeated
 * keys, all of which it refuses, rounds or hides. */
#ifndef KR_CALIB_LITERAL_H
#define KR_CALIB_LITERAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"

enum { KR_LIT_MAX_DEPTH = 64 };

typedef enum {
    KR_LIT_NULL,
    KR_LIT_BOOL,
    KR_LIT_INT,   /* s holds the digits as written, any size */
    KR_LIT_FLOAT, /* s holds the text as written */
    KR_LIT_STR,
    KR_LIT_LIST,
    KR_LIT_DICT
} kr_lit_type;

typedef struct kr_lit {
    kr_lit_type type;
    bool yes;        /* BOOL */
    const char *s;   /* STR: the text, escapes undone; numbers: as written. NUL follows */
    size_t len;      /* bytes of s; a STR may hold NUL bytes itself */
    const char *key; /* name, when this is a member of a DICT; NUL follows */
    size_t key_len;
    struct kr_lit *first; /* LIST, DICT: members in order */
    struct kr_lit *next;
    size_t count;    /* LIST, DICT */
    size_t from, to; /* bytes of the text this value was read from */
} kr_lit;

typedef enum {
    KR_LIT_CELL,   /* any of the three; items may be separated by blanks alone and adjacent strings
                    * are separate items; array(...), np.str_(...) around a value are looked through */
    KR_LIT_PYTHON, /* literals as Python's ast.literal_eval takes them: adjacent strings join */
    KR_LIT_JSON    /* RFC 8259, and NaN, Infinity, -Infinity read as null (Python writes them) */
} kr_lit_dialect;

typedef struct {
    size_t repeated_keys; /* members dropped because the same name came later (the last one wins) */
    size_t not_a_number;  /* NaN and infinities read as null (JSON) */
} kr_lit_notes;

/* Reads one value that must fill s[0..len) but for white space. Nodes and texts live in the arena.
 * notes may be NULL; its counts are added to. Errors name the byte (from 1). */
kr_status kr_lit_parse(kr_lit_dialect dialect, const char *s, size_t len, kr_arena *arena,
                       kr_lit **out, kr_lit_notes *notes, kr_error *err);

/* Reads one value at the start of s (after white space) and gives in *used the bytes up to its end. */
kr_status kr_lit_parse_first(kr_lit_dialect dialect, const char *s, size_t len, kr_arena *arena,
                             kr_lit **out, size_t *used, kr_lit_notes *notes, kr_error *err);

/* Member of a DICT by exact name, or NULL (also when d is NULL or no DICT). */
kr_lit *kr_lit_get(const kr_lit *d, const char *name);

/* Follows dots through nested objects: "doc.answers". A member whose name holds the whole rest of
 * the path wins over nesting. */
kr_lit *kr_lit_path(const kr_lit *d, const char *path);

/* Number of an INT or FLOAT (also of a STR that is one, when `from_text`); false otherwise. */
bool kr_lit_number(const kr_lit *v, bool from_text, double *out);

/* The text of a value as Python's str() shows a scalar: strings as they are, True, None, digits.
 * Lists and dicts give the text they were read from. */
const char *kr_lit_text(const kr_lit *v, const char *source, size_t *len);

#endif
