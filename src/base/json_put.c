#include "base/json_put.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void kr_json_put_string(kr_buf *b, const char *text) {
    size_t len = strlen(text);
    kr_buf_puts(b, "\"");
    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = kr_utf8_next(text + i, len - i, &c);
        if (c == KR_BAD_CODE)
            kr_buf_puts(b, "\xEF\xBF\xBD");
        else if (c == '"' || c == '\\')
            kr_buf_printf(b, "\\%c", (char)c);
        else if (c < 0x20 || c == 0x7F)
            kr_buf_printf(b, "\\u%04x", (unsigned)c);
        else
            kr_buf_add(b, text + i, n);
        i += n;
    }
    kr_buf_puts(b, "\"");
}

void kr_json_put_dec(kr_buf *b, kr_dec d) {
    char t[KR_DEC_TEXT];
    kr_buf_puts(b, kr_dec_text(d, t));
}

void kr_json_put_double(kr_buf *b, double x) {
    char t[40];
    if (!isfinite(x)) {
        kr_buf_puts(b, "null");
        return;
    }
    for (int p = 15; p <= 17; p++) {
        snprintf(t, sizeof t, "%.*g", p, x);
        if (strtod(t, NULL) == x)
            break;
    }
    kr_buf_puts(b, t);
}

void kr_put_key(kr_buf *b, const char *name) {
    /* No value ends in an opening brace. */
    bool first = b->len > 0 && b->s[b->len - 1] == '{';
    kr_buf_printf(b, first ? "\"%s\":" : ",\"%s\":", name);
}

void kr_put_null(kr_buf *b, const char *name) {
    kr_put_key(b, name);
    kr_buf_puts(b, "null");
}

void kr_put_text(kr_buf *b, const char *name, const char *text) {
    if (text == NULL) {
        kr_put_null(b, name);
        return;
    }
    kr_put_key(b, name);
    kr_json_put_string(b, text);
}

void kr_put_given(kr_buf *b, const char *name, const char *text) {
    if (text != NULL)
        kr_put_text(b, name, text);
}

void kr_put_int(kr_buf *b, const char *name, int64_t v) {
    kr_put_key(b, name);
    kr_buf_printf(b, "%lld", (long long)v);
}

void kr_put_size(kr_buf *b, const char *name, size_t v) {
    kr_put_key(b, name);
    kr_buf_printf(b, "%zu", v);
}

void kr_put_count(kr_buf *b, const char *name, int64_t v) {
    if (v >= 0)
        kr_put_int(b, name, v);
    else
        kr_put_null(b, name);
}

void kr_put_dec(kr_buf *b, const char *name, kr_dec v) {
    kr_put_key(b, name);
    kr_json_put_dec(b, v);
}

void kr_put_double(kr_buf *b, const char *name, double v) {
    kr_put_key(b, name);
    kr_json_put_double(b, v);
}

void kr_put_bool(kr_buf *b, const char *name, bool v) {
    kr_put_key(b, name);
    kr_buf_puts(b, v ? "true" : "false");
}
