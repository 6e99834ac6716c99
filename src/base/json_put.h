/* json_put.h - writing JSON text into a buffer. */
#ifndef KR_BASE_JSON_PUT_H
#define KR_BASE_JSON_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/decimal.h"

/* --- values -------------------------------------------------------------------------------- */

/* Appends text as a JSON string with quotes; invalid UTF-8 becomes U+FFFD. */
void kr_json_put_string(kr_buf *b, const char *text);
void kr_json_put_dec(kr_buf *b, kr_dec d);
/* 17 significant digits where needed, fewer where they read back the same; null when not finite. */
void kr_json_put_double(kr_buf *b, double x);

/* --- members of the object that was opened last: a comma before all but the first ----------- */

void kr_put_key(kr_buf *b, const char *name); /* the value is yet to come */
void kr_put_null(kr_buf *b, const char *name);
void kr_put_text(kr_buf *b, const char *name, const char *text);  /* NULL: null */
void kr_put_given(kr_buf *b, const char *name, const char *text); /* NULL: no member */
void kr_put_int(kr_buf *b, const char *name, int64_t v);
void kr_put_size(kr_buf *b, const char *name, size_t v);
void kr_put_count(kr_buf *b, const char *name, int64_t v); /* negative: null */
void kr_put_dec(kr_buf *b, const char *name, kr_dec v);
void kr_put_double(kr_buf *b, const char *name, double v); /* not finite: null */
void kr_put_bool(kr_buf *b, const char *name, bool v);

#endif
