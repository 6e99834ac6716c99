/* InfiniteBench's scores (Zhang et al. 2024) as kvpress runs them. */
#include "calib/scorers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unictype.h>

#include "base/text.h"
#include "calib/scorer_text.h"

static kr_str prediction_of(const kr_score_in *in) {
    return kr_str_valid(in->arena, in->prediction, in->prediction_len);
}

static const kr_lit *label_of(const kr_score_in *in, kr_score *out) {
    if (in->answers == NULL || in->answers->first == NULL) {
        out->why = "no reference answer";
        return NULL;
    }
    return in->answers->first;
}

/* Each byte of `marks` becomes a blank. */
static kr_str blank_out(kr_arena *a, kr_str s, const char *marks) {
    char *p = kr_arena_copy(a, s.s, s.len);
    for (size_t i = 0; p != NULL && i < s.len; i++)
        if (p[i] != '\0' && strchr(marks, p[i]) != NULL)
            p[i] = ' ';
    return (kr_str){p != NULL ? p : "", p != NULL ? s.len : 0};
}

/* Every `word` becomes one blank. */
static kr_str blank_word(kr_arena *a, kr_str s, const char *word) {
    kr_str w = kr_str_lit(word);
    char *p = kr_arena_alloc(a, s.len);
    size_t n = 0;
    if (p == NULL)
        return kr_str_lit("");
    for (size_t i = 0; i < s.len;) {
        bool here = s.len - i >= w.len && memcmp(s.s + i, w.s, w.len) == 0;
        p[n++] = here ? ' ' : s.s[i];
        i += here ? w.len : 1;
    }
    return (kr_str){p, n};
}

static kr_str squeeze(kr_arena *a, kr_str s) {
    char *p = kr_arena_alloc(a, s.len);
    size_t n = 0;
    for (size_t i = 0; p != NULL && i < s.len; i++)
        if (s.s[i] != ' ' || n == 0 || p[n - 1] != ' ')
            p[n++] = s.s[i];
    return (kr_str){p != NULL ? p : "", n};
}

static bool starts_with(kr_str s, kr_str prefix) {
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.s, prefix.s, prefix.len) == 0);
}

/* Text of a reference that is a string; references of other types equal no text. */
static bool text_label(kr_arena *a, const kr_lit *v, kr_str *out) {
    *out = v->type == KR_LIT_STR ? kr_str_valid(a, v->s, v->len) : kr_str_lit("");
    return v->type == KR_LIT_STR;
}

void kr_score_kv_retrieval(const kr_score_in *in, kr_score *out) {
    const kr_lit *label = label_of(in, out);
    kr_str want;
    if (label == NULL || !text_label(in->arena, label, &want))
        return;
    kr_tokens w = kr_str_split(in->arena, blank_out(in->arena, prediction_of(in), "\n:\"'.,?!{}"));
    for (size_t i = 0; i < w.n; i++)
        if (kr_str_equal(w.t[i], want))
            out->value = 1;
}

static bool ascii_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Next run of ASCII digits at or after *at; false when there is none. */
static bool next_digits(kr_str s, size_t *at, kr_str *run) {
    size_t i = *at;
    while (i < s.len && !ascii_digit(s.s[i]))
        i++;
    size_t from = i;
    while (i < s.len && ascii_digit(s.s[i]))
        i++;
    *run = (kr_str){s.s + from, i - from};
    *at = i;
    return i > from;
}

void kr_score_first_number(const kr_score_in *in, kr_score *out) {
    const kr_lit *label = label_of(in, out);
    kr_str want, run = kr_str_lit("");
    size_t at = 0;
    if (label == NULL || !text_label(in->arena, label, &want))
        return;
    next_digits(prediction_of(in), &at, &run);
    out->value = kr_str_equal(run, want) ? 1 : 0;
}

/* --- integers of any size, as text: sign and digits without leading zeros ---------------------------- */

typedef struct {
    bool negative;
    kr_str digits; /* "" for zero */
} big;

static kr_str trim_zeros(kr_str d) {
    while (d.len > 0 && d.s[0] == '0') {
        d.s++;
        d.len--;
    }
    return d;
}

static bool big_equal(big a, big b) {
    return kr_str_equal(a.digits, b.digits) && (a.negative == b.negative || a.digits.len == 0);
}

/* int() of a word: a sign, digits of any script, single underscores between them. */
static bool big_parse(kr_arena *a, kr_str w, big *out) {
    char *p = kr_arena_alloc(a, w.len + 1);
    size_t i = 0, n = 0;
    bool digit_before = false;
    if (p == NULL)
        return false;
    out->negative = w.len > 0 && w.s[0] == '-';
    i = w.len > 0 && (w.s[0] == '-' || w.s[0] == '+');
    while (i < w.len) {
        uint32_t c;
        i += kr_utf8_next(w.s + i, w.len - i, &c);
        int d = kr_py_digit(c) ? uc_decimal_value(c) : -1;
        if (d >= 0)
            p[n++] = (char)('0' + d);
        else if (c != '_' || !digit_before || i == w.len)
            return false;
        digit_before = d >= 0;
    }
    out->digits = trim_zeros((kr_str){p, n});
    return n > 0;
}

/* A reference as an integer; text counts only when numbers in text do. */
static bool big_label(const kr_score_in *in, const kr_lit *v, big *out) {
    bool number = v->type == KR_LIT_INT || (in->coerce && v->type == KR_LIT_STR);
    return number && big_parse(in->arena, (kr_str){v->s, v->len}, out);
}

void kr_score_code_run(const kr_score_in *in, kr_score *out) {
    const kr_lit *label = label_of(in, out);
    big want, got;
    if (label == NULL)
        return;
    kr_str p = blank_out(in->arena, kr_str_strip(prediction_of(in)), "\n.`'\":");
    kr_tokens w = kr_str_split(in->arena, p);
    if (w.n > 0 && big_parse(in->arena, w.t[w.n - 1], &got) && big_label(in, label, &want))
        out->value = big_equal(got, want) ? 1 : 0;
}

/* First `\d+\.\d+` or `\d+`, digits of any script turned to ASCII; false when there is none. */
static bool first_decimal(kr_arena *a, kr_str s, kr_str *out, bool *whole) {
    char *p = kr_arena_alloc(a, s.len + 1);
    size_t n = 0, keep = 0;
    *whole = true;
    for (size_t i = 0; p != NULL && i < s.len;) {
        uint32_t c;
        size_t used = kr_utf8_next(s.s + i, s.len - i, &c);
        if (kr_py_digit(c)) {
            p[n++] = (char)('0' + uc_decimal_value(c));
            keep = n;
            *whole = memchr(p, '.', n) == NULL;
        } else if (n > 0 && c == '.' && memchr(p, '.', n) == NULL) {
            p[n++] = '.';
        } else if (n > 0) {
            break;
        }
        i += used;
    }
    *out = (kr_str){p != NULL ? p : "", keep};
    return keep > 0;
}

void kr_score_math_find(const kr_score_in *in, kr_score *out) {
    const kr_lit *label = label_of(in, out);
    kr_str number;
    bool whole;
    big want, got;
    if (label == NULL)
        return;
    double as_float = 0;
    bool is_int = big_label(in, label, &want);
    bool is_float =
        label->type == KR_LIT_FLOAT || (in->coerce && !is_int && label->type == KR_LIT_STR);
    if (!is_int && !(is_float && kr_lit_number(label, true, &as_float))) {
        out->why = "the reference is no number";
        return;
    }
    if (!first_decimal(in->arena, prediction_of(in), &number, &whole))
        return;
    if (is_int && !whole) {
        out->why = "a fraction where the reference is a whole number";
        return;
    }
    if (is_int)
        out->value = big_parse(in->arena, number, &got) && big_equal(got, want) ? 1 : 0;
    const char *text = kr_arena_copy(in->arena, number.s, number.len);
    if (!is_int && text != NULL)
        out->value = strtod(text, NULL) == as_float ? 1 : 0;
}

void kr_score_math_calc(const kr_score_in *in, kr_score *out) {
    const kr_lit *label = label_of(in, out), *list = in->answers;
    kr_str p = prediction_of(in), run;
    size_t at = 0, right = 0;
    if (label == NULL)
        return;
    if (label->type == KR_LIT_LIST)
        list = label;
    if (list->count == 0) {
        out->why = "no reference answer";
        return;
    }
    for (const kr_lit *v = list->first; v != NULL && next_digits(p, &at, &run); v = v->next) {
        big want, got;
        if (!big_label(in, v, &want) || !big_parse(in->arena, run, &got) || !big_equal(got, want))
            break;
        right++;
    }
    out->value = (double)right / (double)list->count;
}

/* --- choices --------------------------------------------------------------------------------------------- */

/* First letter A..last that stands alone and that no other such letter follows on its line. */
static char lone_letter(kr_str s, char last) {
    char found = '\0';
    uint32_t before = ' ';
    for (size_t i = 0; i < s.len;) {
        uint32_t c, after = ' ';
        size_t used = kr_utf8_next(s.s + i, s.len - i, &c);
        if (i + used < s.len)
            kr_utf8_next(s.s + i + used, s.len - i - used, &after);
        if (c == '\n' && found != '\0')
            return found;
        if (c >= 'A' && c <= (uint32_t)last && !kr_py_word(before) && !kr_py_word(after))
            found = (char)c;
        before = c;
        i += used;
    }
    return found;
}

/* What follows the first prefix present, after one more character: -1 when no prefix is there, else
 * whether it begins with one of the labels. */
static int after_prefix(kr_str s, const char *const *prefixes, const kr_str *labels, size_t n) {
    for (; *prefixes != NULL; prefixes++) {
        kr_str prefix = kr_str_lit(*prefixes);
        size_t at = kr_str_find(s, prefix, 0);
        uint32_t c;
        if (at == SIZE_MAX)
            continue;
        at += prefix.len;
        if (at >= s.len)
            return 0;
        at += kr_utf8_next(s.s + at, s.len - at, &c);
        for (size_t i = 0; i < n; i++)
            if (starts_with((kr_str){s.s + at, s.len - at}, labels[i]))
                return 1;
        return 0;
    }
    return -1;
}

void kr_score_code_debug(const kr_score_in *in, kr_score *out) {
    static const char *const prefixes[] = {
        "answer is:", "is:", "answer:", "correct option is:", NULL};
    const kr_lit *name = label_of(in, out);
    kr_str labels[2]; /* letter, function */
    if (name == NULL)
        return;
    if (name->next == NULL) {
        out->why = "two references are needed, the function's name and its letter";
        return;
    }
    kr_str p = kr_str_strip(prediction_of(in));
    labels[0] = kr_answer_text(in->arena, name->next);
    labels[1] = kr_answer_text(in->arena, name);
    char letter = lone_letter(p, 'J');
    if (letter != '\0' && kr_str_equal((kr_str){&letter, 1}, labels[0])) {
        out->value = 1;
        return;
    }
    p = blank_out(in->arena, p, "\n`'\"-*");
    p = blank_word(in->arena, blank_word(in->arena, p, "Option"), "option");
    p = squeeze(in->arena, p);
    bool direct = starts_with(p, labels[0]) || starts_with(p, labels[1]);
    out->value = direct || after_prefix(p, prefixes, labels, 2) == 1 ? 1 : 0;
}

static bool among(const kr_str *labels, size_t n, kr_str s) {
    for (size_t i = 0; i < n; i++)
        if (kr_str_equal(labels[i], s))
            return true;
    return false;
}

static bool chosen(kr_arena *a, kr_str p, const kr_str *labels, size_t n) {
    static const char *const prefixes[] = {"answer is:", "answer:", "answer is", "option is", NULL};
    char letter = lone_letter(p, 'D');
    if (letter != '\0' && among(labels, n, (kr_str){&letter, 1}))
        return true;
    if (p.len == 0)
        return false;
    if (p.s[0] >= 'A' && p.s[0] <= 'D')
        return among(labels, n, (kr_str){p.s, 1});
    if (among(labels, n, p))
        return true;
    p = squeeze(a, blank_out(a, p, "\n\"'.,?!{}"));
    int after = after_prefix(p, prefixes, labels, n);
    if (after >= 0)
        return after == 1;
    kr_tokens w = kr_str_split(a, p);
    for (size_t i = 0; i < w.n; i++)
        if (kr_str_find(kr_str_lit("ABCD"), w.t[i], 0) != SIZE_MAX)
            return among(labels, n, w.t[i]);
    return false;
}

void kr_score_choice(const kr_score_in *in, kr_score *out) {
    if (label_of(in, out) == NULL)
        return;
    kr_str *labels = kr_arena_alloc(in->arena, in->answers->count * sizeof *labels);
    size_t n = 0;
    for (const kr_lit *v = in->answers->first; v != NULL && labels != NULL; v = v->next)
        n += text_label(in->arena, v, &labels[n]);
    if (labels != NULL)
        out->value = chosen(in->arena, kr_str_strip(prediction_of(in)), labels, n) ? 1 : 0;
}

/* --- dialogue and Chinese characters ---------------------------------------------------------------------- */

void kr_score_longdialogue(const kr_score_in *in, kr_score *out) {
    if (label_of(in, out) == NULL)
        return;
    kr_str p = kr_str_upper(in->arena, kr_str_strip(prediction_of(in)));
    for (const kr_lit *v = in->answers->first; v != NULL; v = v->next) {
        kr_str label = kr_str_upper(in->arena, kr_answer_text(in->arena, v));
        if (kr_str_find(p, label, 0) != SIZE_MAX)
            out->value = 1;
    }
}

/* The Chinese punctuation that the reference deletes besides the ASCII one. */
static const char chinese_punct[] =
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕"
    "〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏";

static bool deleted(uint32_t c, const kr_codes *z) {
    if (kr_py_punct(c) || kr_py_space(c))
        return true;
    for (size_t i = 0; i < z->n; i++)
        if (z->c[i] == c)
            return true;
    return false;
}

/* Each remaining character as a token. */
static kr_tokens characters(kr_arena *a, kr_str text, const kr_codes *z) {
    kr_str s = kr_str_lower(a, text);
    kr_tokens t = {kr_arena_alloc(a, (s.len + 1) * sizeof *t.t), 0};
    for (size_t i = 0, used; t.t != NULL && i < s.len; i += used) {
        uint32_t c;
        used = kr_utf8_next(s.s + i, s.len - i, &c);
        if (!deleted(c, z))
            t.t[t.n++] = (kr_str){s.s + i, used};
    }
    return t;
}

void kr_score_qa_chn(const kr_score_in *in, kr_score *out) {
    kr_codes z = kr_codes_of(in->arena, kr_str_lit(chinese_punct));
    if (label_of(in, out) == NULL)
        return;
    kr_tokens p = characters(in->arena, prediction_of(in), &z);
    for (const kr_lit *v = in->answers->first; v != NULL; v = v->next) {
        kr_tokens r = characters(in->arena, kr_answer_text(in->arena, v), &z);
        size_t distinct = 0;
        uint32_t *ids = kr_tokens_ids(in->arena, p, r, &distinct);
        double x = ids == NULL ? 0 : kr_multiset_f1(in->arena, ids, p.n, ids + p.n, r.n, distinct);
        if (x > out->value)
            out->value = x;
    }
}
