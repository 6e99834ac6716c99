/* buf.h - a growing byte buffer for building text. */
#ifndef KR_BASE_BUF_H
#define KR_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise ({0}) to start empty. s is NUL-terminated once anything was added, else NULL.
 * After a failed allocation `failed` stays true and further additions do nothing, so a caller may
 * check once at the end. */
typedef struct {
    char *s;
    size_t len, cap;
    bool failed;
} kr_buf;

bool kr_buf_add(kr_buf *b, const void *data, size_t len);
bool kr_buf_puts(kr_buf *b, const char *text);
bool kr_buf_printf(kr_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kr_buf_free(kr_buf *b); /* back to empty */

/* The text, "" when nothing was added; owned by the buffer. */
const char *kr_buf_text(const kr_buf *b);

/* Hands the text to the caller (who frees it) and empties the buffer; NULL after a failure. */
char *kr_buf_take(kr_buf *b);

#endif
