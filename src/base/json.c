#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

kr_json kr_json_open(const char *text, size_t len, const char *file, size_t line, kr_error *err) {
    return (kr_json){.text = text, .len = len, .file = file, .line = line, .err = err};
}

bool kr_json_fail(kr_json *j, size_t at, const char *fmt, ...) {
    if (j->failed)
        return false;
    j->failed = true;
    size_t line = j->line, from = 0;
    for (size_t i = 0; i < at && i < j->len; i++)
        if (j->text[i] == '\n') {
            line++;
            from = i + 1;
        }
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    kr_fail(j->err, KR_EFORMAT, "%s:%zu:%zu: %s", j->file, line, at - from + 1, what);
    return false;
}

static void blanks(kr_json *j) {
    while (j->at < j->len && (j->text[j->at] == ' ' || j->text[j->at] == '\n' ||
                              j->text[j->at] == '\r' || j->text[j->at] == '\t'))
        j->at++;
}

kr_json_type kr_json_peek(kr_json *j) {
    blanks(j);
    if (j->at >= j->len)
        return KR_JSON_END;
    switch (j->text[j->at]) {
    case '{': return KR_JSON_OBJECT;
    case '[': return KR_JSON_ARRAY;
    case '"': return KR_JSON_STRING;
    case 't':
    case 'f': return KR_JSON_BOOL;
    case 'n': return KR_JSON_NULL;
    default:
        return j->text[j->at] == '-' || (j->text[j->at] >= '0' && j->text[j->at] <= '9')
                   ? KR_JSON_NUMBER
                   : KR_JSON_BAD;
    }
}

static bool at_word(const kr_json *j, const char *word) {
    size_t n = strlen(word);
    return j->len - j->at >= n && memcmp(j->text + j->at, word, n) == 0;
}

static bool at_literal(const kr_json *j) {
    return at_word(j, "null") || at_word(j, "true") || at_word(j, "false");
}

/* What stands at the cursor, for messages. */
static const char *found(kr_json *j, char buf[32]) {
    static const char *const names[] = {"the end of the text", "null", "true or false", "a number",
                                        "a string", "an array", "an object"};
    static const char *const words[] = {"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"};
    kr_json_type t = kr_json_peek(j);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (at_word(j, words[i]))
            return words[i];
    bool word = t == KR_JSON_NULL || t == KR_JSON_BOOL;
    if (t != KR_JSON_BAD && !(word && !at_literal(j)))
        return names[t];
    unsigned char c = (unsigned char)j->text[j->at];
    snprintf(buf, 32, c >= 0x20 && c < 0x7f ? "'%c'" : "byte 0x%02x", c);
    return buf;
}

static bool expected(kr_json *j, const char *what) {
    char buf[32];
    const char *f = found(j, buf);
    return kr_json_fail(j, j->at, "found %s, expected %s", f, what);
}

static int hex4(const char *s) {
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

/* Checks the escape that starts at the backslash at *at; moves past it. */
static bool escape(kr_json *j, size_t *at) {
    size_t i = *at + 1;
    char c = i < j->len ? j->text[i] : '\0';
    if (c != 'u') {
        if (c == '\0' || strchr("\"\\/bfnrt", c) == NULL)
            return kr_json_fail(j, *at, "unknown escape in a string");
        *at = i + 1;
        return true;
    }
    int v = j->len - i >= 5 ? hex4(j->text + i + 1) : -1;
    if (v < 0)
        return kr_json_fail(j, *at, "\\u needs four hexadecimal digits");
    if (v == 0)
        return kr_json_fail(j, *at, "\\u0000 is not accepted in a string");
    *at = i + 5;
    if (v >= 0xDC00 && v <= 0xDFFF)
        return kr_json_fail(j, i - 1, "a low surrogate without a high one");
    if (v >= 0xD800 && v <= 0xDBFF) {
        bool pair = j->len - *at >= 6 && j->text[*at] == '\\' && j->text[*at + 1] == 'u';
        int low = pair ? hex4(j->text + *at + 2) : -1;
        if (low < 0xDC00 || low > 0xDFFF)
            return kr_json_fail(j, i - 1, "a high surrogate without a low one");
        *at += 6;
    }
    return true;
}

bool kr_json_string(kr_json *j, kr_span *raw, bool *escaped) {
    if (j->failed)
        return false;
    if (kr_json_peek(j) != KR_JSON_STRING)
        return expected(j, "a string");
    size_t i = j->at + 1, from = i;
    bool esc = false;
    for (;;) {
        while (i < j->len && (unsigned char)j->text[i] >= 0x20 && (unsigned char)j->text[i] < 0x80 &&
               j->text[i] != '"' && j->text[i] != '\\')
            i++;
        if (i >= j->len)
            return kr_json_fail(j, j->at, "the string that starts here is not closed");
        unsigned char c = (unsigned char)j->text[i];
        if (c == '"')
            break;
        if (c < 0x20)
            return kr_json_fail(j, i, "a raw control character (0x%02x) in a string", c);
        if (c == '\\') {
            esc = true;
            if (!escape(j, &i))
                return false;
            continue;
        }
        uint32_t code;
        size_t n = kr_utf8_next(j->text + i, j->len - i, &code);
        if (code == KR_BAD_CODE)
            return kr_json_fail(j, i, "invalid UTF-8 (byte 0x%02x)", c);
        i += n;
    }
    *raw = (kr_span){j->text + from, i - from};
    if (escaped != NULL)
        *escaped = esc;
    j->at = i + 1;
    return true;
}

static size_t put_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3F));
    to[0] = (char)(lead[n] | c);
    return n;
}

/* Resolves the escapes of a string that kr_json_string accepted; never longer than the raw text. */
static void unescape(kr_span raw, char *to) {
    for (size_t i = 0; i < raw.len;) {
        char c = raw.s[i++];
        if (c != '\\') {
            *to++ = c;
            continue;
        }
        c = raw.s[i++];
        if (c != 'u') {
            static const char from[] = "bfnrt", into[] = "\b\f\n\r\t";
            const char *p = strchr(from, c);
            *to++ = p != NULL ? into[p - from] : c;
            continue;
        }
        uint32_t v = (uint32_t)hex4(raw.s + i);
        i += 4;
        if (v >= 0xD800 && v <= 0xDBFF) {
            v = 0x10000 + ((v - 0xD800) << 10) + ((uint32_t)hex4(raw.s + i + 2) - 0xDC00);
            i += 6;
        }
        to += put_utf8(to, v);
    }
    *to = '\0';
}

char *kr_json_string_copy(kr_json *j) {
    kr_span raw;
    if (!kr_json_string(j, &raw, NULL))
        return NULL;
    char *s = malloc(raw.len + 1);
    if (s == NULL) {
        kr_json_fail(j, j->at, "out of memory");
        return NULL;
    }
    unescape(raw, s);
    return s;
}

static size_t digits(const kr_json *j, size_t i) {
    size_t from = i;
    while (i < j->len && j->text[i] >= '0' && j->text[i] <= '9')
        i++;
    return i - from;
}

bool kr_json_number(kr_json *j, kr_span *raw) {
    if (j->failed)
        return false;
    if (kr_json_peek(j) != KR_JSON_NUMBER)
        return expected(j, "a number");
    size_t i = j->at, n;
    i += j->text[i] == '-';
    n = digits(j, i);
    if (n == 0)
        return expected(j, "a number");
    if (n > 1 && j->text[i] == '0')
        return kr_json_fail(j, j->at, "a number may not start with 0");
    i += n;
    if (i < j->len && j->text[i] == '.') {
        n = digits(j, ++i);
        if (n == 0)
            return kr_json_fail(j, j->at, "a number needs a digit after the point");
        i += n;
    }
    if (i < j->len && (j->text[i] == 'e' || j->text[i] == 'E')) {
        i++;
        i += i < j->len && (j->text[i] == '+' || j->text[i] == '-');
        n = digits(j, i);
        if (n == 0)
            return kr_json_fail(j, j->at, "a number needs a digit in its exponent");
        i += n;
    }
    *raw = (kr_span){j->text + j->at, i - j->at};
    j->at = i;
    return true;
}

bool kr_json_dec(kr_json *j, kr_dec *out) {
    kr_span raw;
    if (!kr_json_number(j, &raw))
        return false;
    if (kr_dec_parse(raw.s, raw.len, out, NULL) != KR_OK)
        return kr_json_fail(j, (size_t)(raw.s - j->text),
                            "%.*s does not fit 18 digits and 18 decimals",
                            (int)(raw.len < 40 ? raw.len : 40), raw.s);
    return true;
}

/* The common spellings, "1", "0.25": at most nine digits on either side of the point and no
 * exponent. Returns the length, 0 for everything else (which takes the general way). */
static size_t short_nano(const char *s, size_t len, int64_t *out) {
    size_t i = 0, from;
    bool negative = len > 0 && s[0] == '-';
    i += negative;
    from = i;
    int64_t v = 0;
    while (i < len && i - from < 10 && s[i] >= '0' && s[i] <= '9')
        v = v * 10 + (s[i++] - '0');
    if (i == from || i - from > 9 || (s[from] == '0' && i - from > 1))
        return 0;
    int places = 0;
    if (i < len && s[i] == '.') {
        i++;
        while (i < len && places < 10 && s[i] >= '0' && s[i] <= '9') {
            v = v * 10 + (s[i++] - '0');
            places++;
        }
        if (places == 0 || places > 9)
            return 0;
    }
    if (i >= len || (s[i] != ',' && s[i] != ']' && s[i] != '}'))
        return 0;
    static const int64_t up[] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                 10000,      1000,      100,      10,      1};
    v *= up[places];
    *out = negative ? -v : v;
    return i;
}

bool kr_json_nano(kr_json *j, int64_t *out) {
    kr_span raw;
    size_t used;
    if (j->failed)
        return false;
    blanks(j);
    used = short_nano(j->text + j->at, j->len - j->at, out);
    if (used > 0) {
        j->at += used;
        return true;
    }
    if (!kr_json_number(j, &raw))
        return false;
    if (!kr_nano_scan(raw.s, raw.len, out, &used))
        return kr_json_fail(j, (size_t)(raw.s - j->text), "%.*s is out of range",
                            (int)(raw.len < 40 ? raw.len : 40), raw.s);
    return true;
}

bool kr_json_int(kr_json *j, int64_t min, int64_t max, int64_t *out) {
    kr_json_type t = kr_json_peek(j);
    size_t at = j->at;
    kr_dec d;
    if (t != KR_JSON_NUMBER)
        return expected(j, "a whole number");
    if (!kr_json_dec(j, &d))
        return false;
    if (d.scale != 0 || d.digits < min || d.digits > max)
        return kr_json_fail(j, at, "found %.*s, expected a whole number from %lld to %lld",
                            (int)(j->at - at < 40 ? j->at - at : 40), j->text + at, (long long)min,
                            (long long)max);
    *out = d.digits;
    return true;
}

static bool literal(kr_json *j, const char *word) {
    if (!at_word(j, word))
        return expected(j, "a value");
    j->at += strlen(word);
    return true;
}

bool kr_json_null(kr_json *j) {
    if (j->failed)
        return false;
    if (kr_json_peek(j) != KR_JSON_NULL)
        return expected(j, "null");
    return literal(j, "null");
}

bool kr_span_is(kr_span s, const char *word) {
    return strlen(word) == s.len && memcmp(s.s, word, s.len) == 0;
}

kr_json_iter kr_json_enter(kr_json *j, char open) {
    kr_json_iter it;
    it.first = true;
    it.close = open == '{' ? '}' : ']';
    it.count = 0;
    if (j->failed)
        return it;
    if (kr_json_peek(j) != (open == '{' ? KR_JSON_OBJECT : KR_JSON_ARRAY))
        expected(j, open == '{' ? "an object" : "an array");
    else if (j->depth >= KR_JSON_MAX_DEPTH)
        kr_json_fail(j, j->at, "nested deeper than %d levels, the limit", KR_JSON_MAX_DEPTH);
    else {
        j->at++;
        j->depth++;
    }
    return it;
}

/* Moves to the next item; false at the closing bracket or on error. */
static bool next_item(kr_json *j, kr_json_iter *it) {
    if (j->failed)
        return false;
    blanks(j);
    char c = j->at < j->len ? j->text[j->at] : '\0';
    if (c == it->close) {
        j->at++;
        j->depth--;
        return false;
    }
    if (it->first) {
        it->first = false;
        return true;
    }
    if (c != ',')
        return expected(j, it->close == '}' ? "',' or '}'" : "',' or ']'");
    j->at++;
    return true;
}

bool kr_json_element(kr_json *j, kr_json_iter *it) { return next_item(j, it); }

static bool same_span(kr_span a, kr_span b) {
    return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

static bool key_and_colon(kr_json *j, kr_span *key, bool *escaped) {
    if (kr_json_peek(j) != KR_JSON_STRING)
        return expected(j, "a key in quotes");
    if (!kr_json_string(j, key, escaped))
        return false;
    blanks(j);
    if (j->at >= j->len || j->text[j->at] != ':')
        return expected(j, "':'");
    j->at++;
    return true;
}

static bool duplicate(kr_json *j, kr_span key) {
    return kr_json_fail(j, (size_t)(key.s - j->text) - 1, "the key \"%.*s\" appears twice",
                        (int)(key.len < 60 ? key.len : 60), key.s);
}

bool kr_json_member(kr_json *j, kr_json_iter *it, kr_span *key) {
    bool escaped;
    if (!next_item(j, it) || !key_and_colon(j, key, &escaped))
        return false;
    if (escaped)
        return kr_json_fail(j, (size_t)(key->s - j->text) - 1, "escapes in a key are not accepted here");
    for (size_t i = 0; i < it->count; i++)
        if (same_span(it->seen[i], *key))
            return duplicate(j, *key);
    if (it->count == sizeof it->seen / sizeof *it->seen)
        return kr_json_fail(j, (size_t)(key->s - j->text) - 1, "an object here may have 64 keys");
    it->seen[it->count++] = *key;
    return true;
}

/* The keys of one object while it is skipped. Escaped keys are compared by what they mean. */
typedef struct {
    kr_span at;   /* raw, for the message */
    kr_span text; /* unescaped; s is owned when it differs from at.s */
} seen_key;

typedef struct {
    seen_key few[16], *more;
    size_t count, cap;
} key_set;

static seen_key *key_slot(key_set *k) {
    if (k->count < 16)
        return &k->few[k->count];
    if (k->count == 16 && k->more == NULL) {
        k->cap = 64;
        k->more = malloc(k->cap * sizeof *k->more);
        if (k->more != NULL)
            memcpy(k->more, k->few, sizeof k->few);
    } else if (k->count == k->cap) {
        seen_key *m = realloc(k->more, k->cap * 2 * sizeof *m);
        if (m == NULL)
            return NULL;
        k->more = m;
        k->cap *= 2;
    }
    return k->more != NULL ? &k->more[k->count] : NULL;
}

static bool add_key(kr_json *j, key_set *k, kr_span raw, bool escaped) {
    seen_key *slot = key_slot(k);
    if (slot == NULL)
        return kr_json_fail(j, j->at, "out of memory");
    *slot = (seen_key){raw, raw};
    if (escaped) {
        char *s = malloc(raw.len + 1);
        if (s == NULL)
            return kr_json_fail(j, j->at, "out of memory");
        unescape(raw, s);
        slot->text = (kr_span){s, strlen(s)};
    }
    k->count++;
    return true;
}

static int compare_keys(const void *a, const void *b) {
    const seen_key *x = a, *y = b;
    size_t n = x->text.len < y->text.len ? x->text.len : y->text.len;
    int c = memcmp(x->text.s, y->text.s, n);
    if (c != 0)
        return c;
    if (x->text.len != y->text.len)
        return x->text.len < y->text.len ? -1 : 1;
    return x->at.s < y->at.s ? -1 : 1; /* equal keys in order, so that the second is named */
}

static bool check_keys(kr_json *j, key_set *k) {
    seen_key *keys = k->more != NULL ? k->more : k->few;
    if (k->count > 16)
        qsort(keys, k->count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < k->count && !j->failed; i++)
        for (size_t o = k->count > 16 ? i - 1 : 0; o < i; o++)
            if (same_span(keys[i].text, keys[o].text))
                return duplicate(j, keys[i].at);
    return true;
}

static void free_keys(key_set *k) {
    seen_key *keys = k->more != NULL ? k->more : k->few;
    for (size_t i = 0; i < k->count; i++)
        if (keys[i].text.s != keys[i].at.s)
            free((char *)(uintptr_t)keys[i].text.s);
    free(k->more);
}

static bool skip_object(kr_json *j) {
    key_set keys = {.more = NULL, .count = 0, .cap = 0};
    kr_json_iter it = kr_json_enter(j, '{');
    while (next_item(j, &it)) {
        kr_span key;
        bool escaped;
        if (!key_and_colon(j, &key, &escaped) || !add_key(j, &keys, key, escaped) ||
            !kr_json_skip(j, NULL))
            break;
    }
    if (!j->failed)
        check_keys(j, &keys);
    free_keys(&keys);
    return !j->failed;
}

bool kr_json_skip(kr_json *j, kr_span *value) {
    if (j->failed)
        return false;
    kr_json_type t = kr_json_peek(j);
    size_t from = j->at;
    kr_span raw;
    bool ok = false;
    switch (t) {
    case KR_JSON_STRING: ok = kr_json_string(j, &raw, NULL); break;
    case KR_JSON_NUMBER: ok = kr_json_number(j, &raw); break;
    case KR_JSON_NULL: ok = literal(j, "null"); break;
    case KR_JSON_BOOL: ok = literal(j, j->text[j->at] == 't' ? "true" : "false"); break;
    case KR_JSON_OBJECT: ok = skip_object(j); break;
    case KR_JSON_ARRAY: {
        kr_json_iter it = kr_json_enter(j, '[');
        while (kr_json_element(j, &it))
            if (!kr_json_skip(j, NULL))
                break;
        ok = !j->failed;
        break;
    }
    default: return expected(j, "a value");
    }
    if (ok && value != NULL)
        *value = (kr_span){j->text + from, j->at - from};
    return ok;
}
