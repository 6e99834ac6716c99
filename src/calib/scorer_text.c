#include "calib/scorer_text.h"

#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unictype.h>

#include "base/text.h"

bool kr_py_space(uint32_t c) {
    if (c < 0x80)
        return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool kr_py_word(uint32_t c) {
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    const uint32_t mask =
        UC_CATEGORY_MASK_L | UC_CATEGORY_MASK_Nd | UC_CATEGORY_MASK_Nl | UC_CATEGORY_MASK_No;
    return uc_is_general_category_withtable(c, mask);
}

bool kr_py_digit(uint32_t c) {
    if (c < 0x80)
        return c >= '0' && c <= '9';
    return uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Nd);
}

bool kr_py_punct(uint32_t c) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

static bool ascii_only(kr_str s) {
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.s[i] >= 0x80)
            return false;
    return true;
}

kr_str kr_str_lit(const char *text) {
    return (kr_str){text, strlen(text)};
}

kr_str kr_str_valid(kr_arena *a, const char *s, size_t len) {
    kr_str in = {s, len};
    if (ascii_only(in) || kr_utf8_valid(s, len))
        return in;
    if (len > SIZE_MAX / 3)
        return kr_str_lit("");
    char *p = kr_arena_alloc(a, 3 * len);
    size_t n = 0;
    if (p == NULL)
        return kr_str_lit("");
    for (size_t i = 0, used; i < len; i += used) {
        uint32_t c;
        used = kr_utf8_next(s + i, len - i, &c);
        const char *from = c == KR_BAD_CODE ? "\xef\xbf\xbd" : s + i;
        size_t bytes = c == KR_BAD_CODE ? 3 : used;
        memcpy(p + n, from, bytes);
        n += bytes;
    }
    return (kr_str){p, n};
}

typedef uint8_t *case_map(const uint8_t *s, size_t n, const char *language, uninorm_t nf,
                          uint8_t *result, size_t *len);

static kr_str map_case(kr_arena *a, kr_str s, case_map *map) {
    size_t n = 0;
    uint8_t *r = map((const uint8_t *)s.s, s.len, NULL, NULL, NULL, &n);
    if (r == NULL) {
        a->failed = true;
        return kr_str_lit("");
    }
    char *p = kr_arena_copy(a, (const char *)r, n);
    free(r);
    return p != NULL ? (kr_str){p, n} : kr_str_lit("");
}

static kr_str map_ascii(kr_arena *a, kr_str s, char first, char last) {
    char *p = kr_arena_alloc(a, s.len);
    if (p == NULL)
        return kr_str_lit("");
    for (size_t i = 0; i < s.len; i++)
        p[i] = s.s[i] >= first && s.s[i] <= last ? (char)(s.s[i] ^ 0x20) : s.s[i];
    return (kr_str){p, s.len};
}

kr_str kr_str_lower(kr_arena *a, kr_str s) {
    return ascii_only(s) ? map_ascii(a, s, 'A', 'Z') : map_case(a, s, u8_tolower);
}

kr_str kr_str_upper(kr_arena *a, kr_str s) {
    return ascii_only(s) ? map_ascii(a, s, 'a', 'z') : map_case(a, s, u8_toupper);
}

kr_str kr_str_lstrip(kr_str s) {
    while (s.len > 0) {
        uint32_t c;
        size_t used = kr_utf8_next(s.s, s.len, &c);
        if (!kr_py_space(c))
            break;
        s.s += used;
        s.len -= used;
    }
    return s;
}

kr_str kr_str_strip(kr_str s) {
    s = kr_str_lstrip(s);
    while (s.len > 0) {
        size_t i = s.len - 1;
        uint32_t c;
        while (i > 0 && ((unsigned char)s.s[i] & 0xc0) == 0x80)
            i--;
        kr_utf8_next(s.s + i, s.len - i, &c);
        if (!kr_py_space(c))
            break;
        s.len = i;
    }
    return s;
}

bool kr_str_equal(kr_str a, kr_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.s, b.s, a.len) == 0);
}

size_t kr_str_find(kr_str s, kr_str needle, size_t from) {
    if (from > s.len || needle.len > s.len - from)
        return SIZE_MAX;
    if (needle.len == 0)
        return from;
    const char *end = s.s + (s.len - needle.len) + 1;
    for (const char *p = s.s + from; p < end; p++) {
        p = memchr(p, needle.s[0], (size_t)(end - p));
        if (p == NULL)
            return SIZE_MAX;
        if (memcmp(p, needle.s, needle.len) == 0)
            return (size_t)(p - s.s);
    }
    return SIZE_MAX;
}

kr_codes kr_codes_of(kr_arena *a, kr_str s) {
    kr_codes out = {NULL, 0};
    if (s.len > SIZE_MAX / sizeof *out.c ||
        (out.c = kr_arena_alloc(a, s.len * sizeof *out.c)) == NULL)
        return out;
    for (size_t i = 0; i < s.len;) {
        uint32_t c;
        i += kr_utf8_next(s.s + i, s.len - i, &c);
        out.c[out.n++] = c == KR_BAD_CODE ? 0xfffd : c;
    }
    return out;
}

kr_str kr_answer_text(kr_arena *a, const kr_lit *v) {
    size_t len = 0;
    if (v->type == KR_LIT_LIST || v->type == KR_LIT_DICT)
        return kr_str_lit("");
    const char *s = kr_lit_text(v, "", &len);
    return kr_str_valid(a, s, len);
}

kr_tokens kr_str_split(kr_arena *a, kr_str s) {
    kr_tokens out = {kr_arena_alloc(a, (s.len / 2 + 1) * sizeof *out.t), 0};
    if (out.t == NULL)
        return out;
    size_t from = 0;
    for (size_t i = 0, used; i < s.len; i += used) {
        uint32_t c;
        used = kr_utf8_next(s.s + i, s.len - i, &c);
        if (!kr_py_space(c))
            continue;
        if (i > from)
            out.t[out.n++] = (kr_str){s.s + from, i - from};
        from = i + used;
    }
    if (s.len > from)
        out.t[out.n++] = (kr_str){s.s + from, s.len - from};
    return out;
}

typedef struct {
    kr_str s;
    size_t at;
} placed;

static int by_text(const void *x, const void *y) {
    const kr_str *a = &((const placed *)x)->s, *b = &((const placed *)y)->s;
    size_t n = a->len < b->len ? a->len : b->len;
    int c = n > 0 ? memcmp(a->s, b->s, n) : 0;
    return c != 0 ? c : (a->len > b->len) - (a->len < b->len);
}

uint32_t *kr_tokens_ids(kr_arena *arena, kr_tokens a, kr_tokens b, size_t *distinct) {
    size_t n = a.n + b.n;
    placed *p = kr_arena_alloc(arena, (n + 1) * sizeof *p);
    uint32_t *ids = kr_arena_alloc(arena, (n + 1) * sizeof *ids);
    *distinct = 0;
    if (p == NULL || ids == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        p[i] = (placed){i < a.n ? a.t[i] : b.t[i - a.n], i};
    if (n > 1)
        qsort(p, n, sizeof *p, by_text);
    for (size_t i = 0; i < n; i++) {
        *distinct += i == 0 || by_text(&p[i - 1], &p[i]) != 0;
        ids[p[i].at] = (uint32_t)(*distinct - 1);
    }
    return ids;
}

double kr_multiset_f1(kr_arena *arena, const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b,
                      size_t distinct) {
    size_t *left = kr_arena_alloc(arena, (distinct + 1) * sizeof *left), same = 0;
    if (left == NULL)
        return 0;
    memset(left, 0, (distinct + 1) * sizeof *left);
    for (size_t i = 0; i < n_a; i++)
        left[a[i]]++;
    for (size_t i = 0; i < n_b; i++)
        if (left[b[i]] > 0) {
            left[b[i]]--;
            same++;
        }
    if (same == 0)
        return 0;
    double p = (double)same / (double)n_a, r = (double)same / (double)n_b;
    return 2 * p * r / (p + r);
}
