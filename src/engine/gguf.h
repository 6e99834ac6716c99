/* gguf.h - reader of GGUF model files, versions 2 and 3
 * (github.com/ggml-org/ggml, docs/gguf.md).
 *
 * The file is mapped, and every count, length and offset is checked against the bytes that are
 * there before it is used; memory grows with the file, never with a number found in it. All
 * pointers into the file live until kr_gguf_close. A file that another program shortens while it
 * is mapped can still end this process with SIGBUS: the system gives no way to rule that out. */
#ifndef KR_ENGINE_GGUF_H
#define KR_ENGINE_GGUF_H

#include "base/status.h"
#include "engine/quant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kr_gguf kr_gguf;

/* Bytes in the file, not terminated, any content. */
typedef struct {
    const char *p;
    size_t n;
} kr_gguf_str;

typedef enum {
    KR_GGUF_U8,
    KR_GGUF_I8,
    KR_GGUF_U16,
    KR_GGUF_I16,
    KR_GGUF_U32,
    KR_GGUF_I32,
    KR_GGUF_F32,
    KR_GGUF_BOOL,
    KR_GGUF_STR,
    KR_GGUF_ARRAY,
    KR_GGUF_U64,
    KR_GGUF_I64,
    KR_GGUF_F64,
    KR_GGUF_TYPES
} kr_gguf_type;

/* Elements of an array: `n` values packed from `p` on, without alignment. */
typedef struct {
    kr_gguf_type type;
    size_t n;
    const uint8_t *p;
} kr_gguf_array;

typedef struct {
    kr_gguf_str name;  /* 1..63 bytes, no NUL */
    unsigned n_dims;   /* 1..4 */
    size_t ne[4];      /* all >= 1, fastest first: ne[0] is the length of a row */
    kr_quant type;     /* ne[0] is a multiple of its block */
    const uint8_t *data;
    size_t bytes;
} kr_gguf_tensor;

/* Maps `path`. The caller closes *out. KR_EIO when the system refuses, KR_EFORMAT when the content
 * is not acceptable (the sentence names the key or tensor). */
kr_status kr_gguf_open(const char *path, kr_gguf **out, kr_error *err);

/* The same from memory that the caller keeps until kr_gguf_close; `name` stands in messages. */
kr_status kr_gguf_parse(const void *data, size_t size, const char *name, kr_gguf **out,
                        kr_error *err);

void kr_gguf_close(kr_gguf *g); /* NULL is allowed */

/* File name as given, for messages. */
const char *kr_gguf_name(const kr_gguf *g);
size_t kr_gguf_size(const kr_gguf *g);
unsigned kr_gguf_version(const kr_gguf *g);

size_t kr_gguf_n_tensors(const kr_gguf *g);
const kr_gguf_tensor *kr_gguf_tensor_at(const kr_gguf *g, size_t i); /* in file order */
const kr_gguf_tensor *kr_gguf_find(const kr_gguf *g, const char *name); /* NULL: none */

bool kr_gguf_has(const kr_gguf *g, const char *key);

/* Each looks a key up and writes *out. An absent key leaves *out as it is: KR_OK, or KR_EFORMAT
 * when `required`. A value of another kind is KR_EFORMAT. */
kr_status kr_gguf_get_uint(const kr_gguf *g, const char *key, bool required, uint64_t *out,
                           kr_error *err); /* any integer type, value >= 0 */
kr_status kr_gguf_get_float(const kr_gguf *g, const char *key, bool required, double *out,
                            kr_error *err); /* f32 or f64, may be NaN */
kr_status kr_gguf_get_bool(const kr_gguf *g, const char *key, bool required, bool *out,
                           kr_error *err);
kr_status kr_gguf_get_str(const kr_gguf *g, const char *key, bool required, kr_gguf_str *out,
                          kr_error *err);
kr_status kr_gguf_get_array(const kr_gguf *g, const char *key, bool required, kr_gguf_type type,
                            kr_gguf_array *out, kr_error *err);

/* An integer or an array of n equal integers (models that give one number per layer). */
kr_status kr_gguf_get_same(const kr_gguf *g, const char *key, bool required, uint64_t *out,
                           kr_error *err);

/* Element i < n of an array of the named type. */
float kr_gguf_f32_at(const kr_gguf_array *a, size_t i);
int32_t kr_gguf_i32_at(const kr_gguf_array *a, size_t i);

/* Steps through an array of strings: *at starts as a->p; call it at most a->n times. */
kr_gguf_str kr_gguf_next_str(const uint8_t **at);

bool kr_gguf_str_is(kr_gguf_str s, const char *text);

#endif
