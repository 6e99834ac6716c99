#include "calib/literal.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    kr_lit_dialect dialect;
    const char *s;
    size_t len, pos;
    kr_arena *arena;
    kr_lit_notes *notes;
    kr_error *err;
} reader;

static kr_status value(reader *r, int depth, kr_lit **out);

static kr_status bad(reader *r, size_t at, const char *what) {
    return kr_fail(r->err, KR_EFORMAT, "byte %zu: %s", at + 1, what);
}

static kr_status no_memory(reader *r) {
    return kr_fail(r->err, KR_ENOMEM, "out of memory for a value of %zu bytes", r->len);
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.';
}

static void blanks(reader *r) {
    while (r->pos < r->len && is_space(r->s[r->pos]))
        r->pos++;
}

static char peek(const reader *r) {
    return r->pos < r->len ? r->s[r->pos] : '\0';
}

static bool take(reader *r, char c) {
    if (r->pos >= r->len || r->s[r->pos] != c)
        return false;
    r->pos++;
    return true;
}

static kr_lit *node(reader *r, kr_lit_type type, size_t from) {
    kr_lit *v = kr_arena_alloc(r->arena, sizeof *v);
    if (v != NULL)
        *v = (kr_lit){.type = type, .s = "", .from = from};
    return v;
}

/* Writes code point c as UTF-8 at p (room for 4 bytes). Lone surrogates become U+FFFD. */
static size_t utf8_put(char *p, uint32_t c) {
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    if (c < 0x80) {
        p[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        p[0] = (char)(0xc0 | c >> 6);
        p[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        p[0] = (char)(0xe0 | c >> 12);
        p[1] = (char)(0x80 | (c >> 6 & 0x3f));
        p[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    p[0] = (char)(0xf0 | c >> 18);
    p[1] = (char)(0x80 | (c >> 12 & 0x3f));
    p[2] = (char)(0x80 | (c >> 6 & 0x3f));
    p[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

static int hex_digit(char c) {
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Exactly n hexadecimal digits at the position. */
static bool hex(reader *r, size_t n, uint32_t *out) {
    uint32_t v = 0;
    if (n > r->len - r->pos)
        return false;
    for (size_t i = 0; i < n; i++) {
        int d = hex_digit(r->s[r->pos + i]);
        if (d < 0)
            return false;
        v = v << 4 | (uint32_t)d;
    }
    r->pos += n;
    *out = v;
    return true;
}

/* \uXXXX, joined with a following low surrogate (which only JSON text and never Python has). */
static bool unicode_escape(reader *r, uint32_t *out) {
    uint32_t hi, lo;
    if (!hex(r, 4, &hi))
        return false;
    *out = hi;
    if (r->dialect == KR_LIT_PYTHON || hi < 0xd800 || hi >= 0xdc00)
        return true;
    size_t back = r->pos;
    if (take(r, '\\') && take(r, 'u') && hex(r, 4, &lo) && lo >= 0xdc00 && lo < 0xe000)
        *out = 0x10000 + ((hi - 0xd800) << 10) + (lo - 0xdc00);
    else
        r->pos = back;
    return true;
}

static uint32_t octal(reader *r, char first) {
    uint32_t v = (uint32_t)(first - '0');
    for (int i = 0; i < 2 && peek(r) >= '0' && peek(r) <= '7'; i++)
        v = v << 3 | (uint32_t)(r->s[r->pos++] - '0');
    return v;
}

/* One escape after its backslash, written at p (room for 4 bytes). An escape that Python does not
 * know keeps its backslash; JSON refuses it. */
static kr_status escape(reader *r, char *p, size_t *n) {
    static const char names[] = "\\'\"abfnrtv/", means[] = "\\'\"\a\b\f\n\r\t\v/";
    const bool json = r->dialect == KR_LIT_JSON;
    size_t at = r->pos - 1;
    if (r->pos >= r->len)
        return bad(r, at, "the text ends inside a string");
    char c = r->s[r->pos++];
    uint32_t cp = 0;
    const char *k = c != '\0' ? strchr(names, c) : NULL;
    bool known =
        k != NULL && !(json && strchr("'av", c)) && !(c == '/' && r->dialect == KR_LIT_PYTHON);
    if (known) {
        p[0] = means[k - names];
        *n = 1;
        return KR_OK;
    }
    if (c == 'u') {
        if (!unicode_escape(r, &cp))
            return bad(r, at, "\\u needs four hexadecimal digits");
    } else if (json) {
        return bad(r, at, "unknown escape in a JSON string");
    } else if (c == '\n') {
        *n = 0;
        return KR_OK;
    } else if (c == 'x' || c == 'U') {
        if (!hex(r, c == 'x' ? 2 : 8, &cp))
            return bad(r, at, "broken hexadecimal escape");
    } else if (c >= '0' && c <= '7') {
        cp = octal(r, c);
    } else {
        p[0] = '\\';
        p[1] = c;
        *n = 2;
        return KR_OK;
    }
    *n = utf8_put(p, cp);
    return KR_OK;
}

/* A quoted string at the position. Undoing escapes never lengthens the text: \xHH (4 bytes) gives
 * at most 2, \uXXXX (6) at most 3, \UXXXXXXXX (10) at most 4. */
static kr_status string(reader *r, const char **out, size_t *out_len) {
    size_t open = r->pos;
    char quote = r->s[r->pos++];
    char *p, *base;
    size_t end = r->pos;
    while (end < r->len && r->s[end] != quote)
        end += r->s[end] == '\\' ? 2 : 1;
    if (end >= r->len)
        return bad(r, open, "the string opened here is not closed");
    if ((base = p = kr_arena_alloc(r->arena, end - r->pos + 5)) == NULL)
        return no_memory(r);
    while (r->pos < end) {
        char c = r->s[r->pos++];
        if (c == '\\') {
            size_t n = 0;
            kr_status st = escape(r, p, &n);
            if (st != KR_OK)
                return st;
            p += n;
        } else if (r->dialect == KR_LIT_JSON && (unsigned char)c < 0x20) {
            return bad(r, r->pos - 1, "control character inside a JSON string");
        } else if (r->dialect == KR_LIT_PYTHON && c == '\n') {
            return bad(r, open, "the string opened here is not closed on its line");
        } else {
            *p++ = c;
        }
    }
    r->pos = end + 1;
    *p = '\0';
    *out = base;
    *out_len = (size_t)(p - base);
    return KR_OK;
}

/* Python joins 'a' 'b'; in a printed array they are two items. */
static kr_status string_value(reader *r, kr_lit *v) {
    kr_status st = string(r, &v->s, &v->len);
    while (st == KR_OK && r->dialect == KR_LIT_PYTHON) {
        size_t back = r->pos;
        blanks(r);
        if (peek(r) != '"' && peek(r) != '\'') {
            r->pos = back;
            break;
        }
        const char *more = "";
        size_t n = 0;
        if ((st = string(r, &more, &n)) != KR_OK)
            break;
        char *both = kr_arena_alloc(r->arena, v->len + n + 1);
        if (both == NULL)
            return no_memory(r);
        memcpy(both, v->s, v->len);
        memcpy(both + v->len, more, n + 1);
        v->s = both;
        v->len += n;
    }
    return st;
}

static size_t digits(const char *s, size_t len, size_t at) {
    while (at < len && is_digit(s[at]))
        at++;
    return at;
}

/* Length of the number at s, 0 when there is none; *whole tells an integer. JSON wants a digit
 * before and after a point and no leading zero; numpy prints `1.` and Python may show `+1`. */
static size_t number_span(const char *s, size_t len, bool json, bool *whole) {
    size_t i = len > 0 && (s[0] == '-' || (s[0] == '+' && !json)) ? 1 : 0;
    size_t int_end = digits(s, len, i), n_int = int_end - i, n_frac = 0;
    if (json && (n_int == 0 || (n_int > 1 && s[i] == '0')))
        return 0;
    i = int_end;
    *whole = true;
    if (i < len && s[i] == '.') {
        size_t e = digits(s, len, i + 1);
        n_frac = e - i - 1;
        if (json && n_frac == 0)
            return 0;
        i = e;
        *whole = false;
    }
    if (n_int + n_frac == 0)
        return 0;
    if (i < len && (s[i] == 'e' || s[i] == 'E')) {
        size_t j = i + 1 + (i + 1 < len && (s[i + 1] == '-' || s[i + 1] == '+'));
        size_t e = digits(s, len, j);
        if (e == j)
            return json ? 0 : i;
        i = e;
        *whole = false;
    }
    return i;
}

typedef struct {
    const char *text;
    unsigned dialects; /* bit per dialect */
    kr_lit_type type;
    bool yes;
    bool not_a_number;
} word;

#define IN(d) (1u << (d))
static const word words[] = {
    {"true", IN(KR_LIT_CELL) | IN(KR_LIT_JSON), KR_LIT_BOOL, true, false},
    {"false", IN(KR_LIT_CELL) | IN(KR_LIT_JSON), KR_LIT_BOOL, false, false},
    {"null", IN(KR_LIT_CELL) | IN(KR_LIT_JSON), KR_LIT_NULL, false, false},
    {"True", IN(KR_LIT_CELL) | IN(KR_LIT_PYTHON), KR_LIT_BOOL, true, false},
    {"False", IN(KR_LIT_CELL) | IN(KR_LIT_PYTHON), KR_LIT_BOOL, false, false},
    {"None", IN(KR_LIT_CELL) | IN(KR_LIT_PYTHON), KR_LIT_NULL, false, false},
    {"NaN", IN(KR_LIT_CELL) | IN(KR_LIT_JSON), KR_LIT_NULL, false, true},
    {"Infinity", IN(KR_LIT_CELL) | IN(KR_LIT_JSON), KR_LIT_NULL, false, true},
    {"-Infinity", IN(KR_LIT_CELL) | IN(KR_LIT_JSON), KR_LIT_NULL, false, true},
    {"nan", IN(KR_LIT_CELL), KR_LIT_NULL, false, true},
    {"inf", IN(KR_LIT_CELL), KR_LIT_NULL, false, true},
    {"-inf", IN(KR_LIT_CELL), KR_LIT_NULL, false, true},
};

/* What a cell may wrap a value in: array(['a'], dtype=object), np.str_('a'). */
static const char *const wrappers[] = {"array",    "np.array",   "numpy.array", "np.str_", "str_",
                                       "np.int64", "np.float64", "np.bool_",    "list",    NULL};

static size_t word_span(const reader *r) {
    size_t i = r->pos + (peek(r) == '-');
    while (i < r->len && is_word(r->s[i]))
        i++;
    return i - r->pos;
}

/* `, dtype=object` and the like before the closing bracket of a wrapper. */
static kr_status wrapper_end(reader *r) {
    blanks(r);
    while (take(r, ',')) {
        blanks(r);
        size_t n = word_span(r);
        r->pos += n;
        if (n == 0 || !take(r, '='))
            return bad(r, r->pos, "expected `)` after the array");
        if (peek(r) == '\'' || peek(r) == '"') {
            const char *s;
            kr_status st = string(r, &s, &n);
            if (st != KR_OK)
                return st;
        } else {
            r->pos += word_span(r);
        }
        blanks(r);
    }
    return take(r, ')') ? KR_OK : bad(r, r->pos, "expected `)` after the array");
}

static kr_status wrapped(reader *r, size_t n, int depth, kr_lit **out) {
    for (size_t i = 0; wrappers[i] != NULL; i++) {
        if (strlen(wrappers[i]) != n || memcmp(wrappers[i], r->s + r->pos, n) != 0)
            continue;
        r->pos += n + 1;
        kr_status st = value(r, depth + 1, out);
        return st == KR_OK ? wrapper_end(r) : st;
    }
    return bad(r, r->pos, "unknown function call in a list");
}

static kr_status bare(reader *r, int depth, kr_lit **out) {
    size_t n = word_span(r), from = r->pos;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const word *w = &words[i];
        if (!(w->dialects & IN(r->dialect)) || strlen(w->text) != n ||
            memcmp(w->text, r->s + from, n) != 0)
            continue;
        kr_lit *v = node(r, w->type, from);
        if (v == NULL)
            return no_memory(r);
        v->yes = w->yes;
        r->notes->not_a_number += w->not_a_number;
        r->pos = v->to = from + n;
        *out = v;
        return KR_OK;
    }
    if (r->dialect == KR_LIT_CELL && n > 0 && from + n < r->len && r->s[from + n] == '(')
        return wrapped(r, n, depth, out);
    if (n >= 3 && r->dialect == KR_LIT_CELL && memcmp(r->s + from, "...", 3) == 0)
        return bad(r, from, "shortened list: the writer left items out (`...`)");
    return bad(r, from, r->pos < r->len ? "unexpected character" : "the text ends too early");
}

static kr_status scalar(reader *r, int depth, kr_lit **out) {
    char c = peek(r);
    bool whole = false;
    size_t from = r->pos;
    if (c == '"' || (c == '\'' && r->dialect != KR_LIT_JSON)) {
        kr_lit *v = node(r, KR_LIT_STR, from);
        if (v == NULL)
            return no_memory(r);
        kr_status st = string_value(r, v);
        v->to = r->pos;
        *out = v;
        return st;
    }
    size_t n = number_span(r->s + from, r->len - from, r->dialect == KR_LIT_JSON, &whole);
    if (n == 0 || (from + n < r->len && is_word(r->s[from + n])))
        return bare(r, depth, out);
    kr_lit *v = node(r, whole ? KR_LIT_INT : KR_LIT_FLOAT, from);
    if (v == NULL || (v->s = kr_arena_copy(r->arena, r->s + from, n)) == NULL)
        return no_memory(r);
    v->len = n;
    r->pos = v->to = from + n;
    *out = v;
    return KR_OK;
}

/* After an item: moves over the separator. *more tells whether another item may follow. */
static kr_status separator(reader *r, char close, bool *more) {
    size_t before = r->pos;
    blanks(r);
    bool gap = r->pos > before, comma = take(r, ',');
    blanks(r);
    if (peek(r) == close && r->pos < r->len) {
        if (comma && r->dialect == KR_LIT_JSON)
            return bad(r, r->pos, "comma before the closing bracket");
        *more = false;
        return KR_OK;
    }
    bool quoted = peek(r) == '\'' || peek(r) == '"' || peek(r) == '[';
    *more = comma || (r->dialect == KR_LIT_CELL && close == ']' && (gap || quoted));
    return *more ? KR_OK : bad(r, r->pos, "expected a comma or the closing bracket");
}

static kr_status list(reader *r, char close, int depth, kr_lit **out) {
    kr_lit *v = node(r, KR_LIT_LIST, r->pos++), **tail;
    if (v == NULL)
        return no_memory(r);
    tail = &v->first;
    blanks(r);
    bool more = peek(r) != close || r->pos >= r->len;
    while (more) {
        kr_status st = value(r, depth + 1, tail);
        if (st == KR_OK)
            st = separator(r, close, &more);
        if (st != KR_OK)
            return st;
        tail = &(*tail)->next;
        v->count++;
    }
    r->pos++;
    v->to = r->pos;
    *out = v;
    return KR_OK;
}

/* The last of equal keys wins, in the place of the first (as a Python dict does). */
static void add_member(reader *r, kr_lit *d, kr_lit **tail, kr_lit *m, kr_lit ***new_tail) {
    for (kr_lit **p = &d->first; *p != NULL; p = &(*p)->next) {
        if ((*p)->key_len != m->key_len || memcmp((*p)->key, m->key, m->key_len) != 0)
            continue;
        m->next = (*p)->next;
        if (&(*p)->next == tail)
            *new_tail = &m->next;
        *p = m;
        r->notes->repeated_keys++;
        return;
    }
    *tail = m;
    *new_tail = &m->next;
    d->count++;
}

enum { MAX_MEMBERS = 4096 }; /* the search for equal keys is quadratic */

static kr_status dict(reader *r, int depth, kr_lit **out) {
    kr_lit *d = node(r, KR_LIT_DICT, r->pos++), **tail;
    if (d == NULL)
        return no_memory(r);
    tail = &d->first;
    blanks(r);
    bool more = peek(r) != '}' || r->pos >= r->len;
    while (more) {
        blanks(r);
        if (peek(r) != '"' && (peek(r) != '\'' || r->dialect == KR_LIT_JSON))
            return bad(r, r->pos, "expected a quoted name");
        if (d->count >= MAX_MEMBERS)
            return bad(r, r->pos, "object with more than 4096 members");
        kr_lit *m = NULL;
        const char *key;
        size_t key_len;
        kr_status st = string(r, &key, &key_len);
        if (st != KR_OK)
            return st;
        blanks(r);
        if (!take(r, ':'))
            return bad(r, r->pos, "expected a colon after the name");
        if ((st = value(r, depth + 1, &m)) != KR_OK)
            return st;
        m->key = key;
        m->key_len = key_len;
        add_member(r, d, tail, m, &tail);
        if ((st = separator(r, '}', &more)) != KR_OK)
            return st;
    }
    r->pos++;
    d->to = r->pos;
    *out = d;
    return KR_OK;
}

/* (a) is a itself, (a,) and (a, b) are tuples, which read as lists. */
static kr_status tuple(reader *r, int depth, kr_lit **out) {
    kr_status st = list(r, ')', depth, out);
    if (st != KR_OK || (*out)->count != 1)
        return st;
    size_t i = r->pos - 1;
    while (i > 0 && is_space(r->s[i - 1]))
        i--;
    if (i > 0 && r->s[i - 1] != ',')
        *out = (*out)->first;
    return KR_OK;
}

static kr_status value(reader *r, int depth, kr_lit **out) {
    blanks(r);
    if (depth > KR_LIT_MAX_DEPTH)
        return bad(r, r->pos, "nested more than 64 levels deep");
    char c = peek(r);
    if (c == '[')
        return list(r, ']', depth, out);
    if (c == '{')
        return dict(r, depth, out);
    if (c == '(' && r->dialect == KR_LIT_PYTHON)
        return tuple(r, depth, out);
    return scalar(r, depth, out);
}

kr_status kr_lit_parse_first(kr_lit_dialect dialect, const char *s, size_t len, kr_arena *arena,
                             kr_lit **out, size_t *used, kr_lit_notes *notes, kr_error *err) {
    kr_lit_notes ignored = {0};
    reader r = {.dialect = dialect, .s = s, .len = len, .arena = arena, .err = err};
    r.notes = notes != NULL ? notes : &ignored;
    kr_lit *v = NULL;
    kr_status st = value(&r, 0, &v);
    if (st != KR_OK)
        return st;
    *out = v;
    *used = r.pos;
    return KR_OK;
}

kr_status kr_lit_parse(kr_lit_dialect dialect, const char *s, size_t len, kr_arena *arena,
                       kr_lit **out, kr_lit_notes *notes, kr_error *err) {
    kr_lit *v = NULL;
    size_t used = 0;
    kr_status st = kr_lit_parse_first(dialect, s, len, arena, &v, &used, notes, err);
    if (st != KR_OK)
        return st;
    while (used < len && is_space(s[used]))
        used++;
    if (used < len)
        return kr_fail(err, KR_EFORMAT, "byte %zu: text after the end of the value", used + 1);
    *out = v;
    return KR_OK;
}

kr_lit *kr_lit_get(const kr_lit *d, const char *name) {
    if (d == NULL || d->type != KR_LIT_DICT)
        return NULL;
    size_t n = strlen(name);
    for (kr_lit *m = d->first; m != NULL; m = m->next)
        if (m->key_len == n && memcmp(m->key, name, n) == 0)
            return m;
    return NULL;
}

kr_lit *kr_lit_path(const kr_lit *d, const char *path) {
    kr_lit *whole = kr_lit_get(d, path);
    const char *dot = strchr(path, '.');
    if (whole != NULL || dot == NULL || d == NULL || d->type != KR_LIT_DICT)
        return whole;
    size_t n = (size_t)(dot - path);
    for (kr_lit *m = d->first; m != NULL; m = m->next)
        if (m->key_len == n && memcmp(m->key, path, n) == 0)
            return kr_lit_path(m, dot + 1);
    return NULL;
}

bool kr_lit_number(const kr_lit *v, bool from_text, double *out) {
    bool numeric = v != NULL && (v->type == KR_LIT_INT || v->type == KR_LIT_FLOAT);
    bool text = v != NULL && v->type == KR_LIT_STR && from_text;
    bool whole;
    if (!numeric && !(text && v->len > 0 && number_span(v->s, v->len, false, &whole) == v->len))
        return false;
    double x = strtod(v->s, NULL);
    if (!isfinite(x))
        return false;
    *out = x;
    return true;
}

const char *kr_lit_text(const kr_lit *v, const char *source, size_t *len) {
    const char *word_text = v->type == KR_LIT_NULL ? "None" : v->yes ? "True" : "False";
    if (v->type == KR_LIT_NULL || v->type == KR_LIT_BOOL) {
        *len = strlen(word_text);
        return word_text;
    }
    if (v->type == KR_LIT_LIST || v->type == KR_LIT_DICT) {
        *len = v->to - v->from;
        return source + v->from;
    }
    *len = v->len;
    return v->s;
}
