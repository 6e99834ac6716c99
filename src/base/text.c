#include "base/text.h"

#include <string.h>

size_t kr_utf8_next(const char *s, size_t len, uint32_t *code) {
    const unsigned char *p = (const unsigned char *)s;
    *code = KR_BAD_CODE;
    if (len == 0)
        return 0;
    if (p[0] < 0x80) {
        *code = p[0];
        return 1;
    }
    size_t n = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || len < n)
        return 1;
    uint32_t c = p[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 1;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if ((n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10FFFF)) ||
        (c >= 0xD800 && c <= 0xDFFF))
        return 1;
    *code = c;
    return n;
}

bool kr_utf8_valid(const char *s, size_t len) {
    uint32_t c;
    for (size_t i = 0; i < len;) {
        if ((unsigned char)s[i] < 0x80) {
            i++;
            continue;
        }
        i += kr_utf8_next(s + i, len - i, &c);
        if (c == KR_BAD_CODE)
            return false;
    }
    return true;
}

bool kr_text_unsafe(uint32_t c) {
    static const struct {
        uint32_t from, to;
    } ranges[] = {
        {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x061C, 0x061C},
        {0x180E, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
        {0xD800, 0xDFFF},   {0xFEFF, 0xFEFF},   {0xFFF0, 0xFFFB},   {0xE0000, 0xE0FFF},
        {0x110000, 0xFFFFFFFF},
    };
    if (c < 0x7F)
        return c < 0x20;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].from && c <= ranges[i].to)
            return true;
    return (c & 0xFFFE) == 0xFFFE;
}

size_t kr_text_safe(char *dst, size_t cap, const char *src, size_t len) {
    size_t at = 0;
    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = kr_utf8_next(src + i, len - i, &c);
        bool unsafe = kr_text_unsafe(c);
        size_t out = unsafe ? 1 : n;
        if (at + out >= cap)
            break;
        if (unsafe)
            dst[at] = '?';
        else
            memcpy(dst + at, src + i, n);
        at += out;
        i += n;
    }
    dst[at] = '\0';
    return at;
}
