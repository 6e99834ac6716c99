/* text.h - UTF-8 and text that is safe to show on a terminal. Independent of the locale. */
#ifndef KR_BASE_TEXT_H
#define KR_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KR_BAD_CODE UINT32_C(0xFFFFFFFF)

/* Reads one code point at s; returns the bytes used (0 only when len is 0). Invalid UTF-8 (also
 * overlong forms, surrogates, above U+10FFFF) uses one byte and gives KR_BAD_CODE. */
size_t kr_utf8_next(const char *s, size_t len, uint32_t *code);

bool kr_utf8_valid(const char *s, size_t len);

/* Controls (C0, DEL, C1), line and paragraph separators, bidirectional and other invisible format
 * controls, non-characters, and KR_BAD_CODE: what a file must not be able to send to a terminal. */
bool kr_text_unsafe(uint32_t code);

/* Copies src[0..len) into dst with every unsafe code point replaced by '?', cut at a whole code
 * point so that dst[cap] is terminated. Returns the bytes written. cap >= 1. */
size_t kr_text_safe(char *dst, size_t cap, const char *src, size_t len);

#endif
