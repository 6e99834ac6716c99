#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(kr_buf *b, size_t more) {
    if (b->failed)
        return false;
    if (more < b->cap - b->len)
        return true;
    size_t cap = b->cap > 0 ? b->cap : 64;
    while (cap - b->len <= more) {
        if (cap > SIZE_MAX / 2) {
            b->failed = true;
            return false;
        }
        cap *= 2;
    }
    char *s = realloc(b->s, cap);
    if (s == NULL) {
        b->failed = true;
        return false;
    }
    b->s = s;
    b->cap = cap;
    return true;
}

bool kr_buf_add(kr_buf *b, const void *data, size_t len) {
    if (!reserve(b, len))
        return false;
    if (len > 0)
        memcpy(b->s + b->len, data, len);
    b->len += len;
    b->s[b->len] = '\0';
    return true;
}

bool kr_buf_puts(kr_buf *b, const char *text) { return kr_buf_add(b, text, strlen(text)); }

bool kr_buf_printf(kr_buf *b, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    bool ok = n >= 0 && reserve(b, (size_t)n);
    if (ok) {
        vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return ok;
}

void kr_buf_free(kr_buf *b) {
    free(b->s);
    *b = (kr_buf){0};
}

const char *kr_buf_text(const kr_buf *b) { return b->s != NULL ? b->s : ""; }

char *kr_buf_take(kr_buf *b) {
    if (b->failed || (b->s == NULL && !kr_buf_puts(b, ""))) {
        kr_buf_free(b);
        return NULL;
    }
    char *s = b->s;
    *b = (kr_buf){0};
    return s;
}
