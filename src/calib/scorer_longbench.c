/* LongBench's scores (Bai et al. 2024) other than ROUGE and code similarity, and LongBench v2's. */
#include "calib/scorers.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "calib/scorer_text.h"

/* Runs a score of one reference for each and keeps the best, at least 0. */
typedef double one_reference(const kr_score_in *in, kr_str prediction, kr_str answer,
                             kr_score *out);

static void best_of(const kr_score_in *in, one_reference *score, kr_score *out) {
    kr_str p = kr_str_valid(in->arena, in->prediction, in->prediction_len);
    if (in->answers == NULL || in->answers->count == 0) {
        out->why = "no reference answer";
        return;
    }
    for (const kr_lit *a = in->answers->first; a != NULL && out->why == NULL; a = a->next) {
        double x = score(in, p, kr_answer_text(in->arena, a), out);
        if (x > out->value)
            out->value = x;
    }
}

/* --- F1 over words ------------------------------------------------------------------------------ */

static bool is_article(kr_str w) {
    return kr_str_equal(w, kr_str_lit("a")) || kr_str_equal(w, kr_str_lit("an")) ||
           kr_str_equal(w, kr_str_lit("the"));
}

/* Lower case, punctuation deleted, articles blanked (only where they stand alone). */
static kr_tokens normal_words(kr_arena *a, kr_str text) {
    kr_str s = kr_str_lower(a, text);
    char *p = kr_arena_copy(a, s.s, s.len);
    size_t n = 0;
    if (p == NULL)
        return (kr_tokens){NULL, 0};
    for (size_t i = 0; i < s.len; i++)
        if (!kr_py_punct((unsigned char)s.s[i]))
            p[n++] = s.s[i];
    size_t word = 0; /* where the run of word characters began */
    bool inside = false;
    for (size_t i = 0, used; i <= n; i += used) {
        uint32_t c = ' ';
        used = i < n ? kr_utf8_next(p + i, n - i, &c) : 1;
        bool is_word = i < n && kr_py_word(c);
        if (is_word && !inside)
            word = i;
        if (!is_word && inside && is_article((kr_str){p + word, i - word}))
            memset(p + word, ' ', i - word);
        inside = is_word;
    }
    return kr_str_split(a, (kr_str){p, n});
}

static double f1(const kr_score_in *in, kr_str prediction, kr_str answer, kr_score *out) {
    (void)out;
    kr_tokens p = normal_words(in->arena, prediction), r = normal_words(in->arena, answer);
    size_t distinct = 0;
    uint32_t *ids = kr_tokens_ids(in->arena, p, r, &distinct);
    return ids == NULL ? 0 : kr_multiset_f1(in->arena, ids, p.n, ids + p.n, r.n, distinct);
}

void kr_score_qa_f1(const kr_score_in *in, kr_score *out) {
    best_of(in, f1, out);
}

/* --- classification -------------------------------------------------------------------------------- */

/* The reference removes class names from the list that it walks, and so skips the name after each
 * removed one; this shows in the scores and is kept. */
static double classify(const kr_score_in *in, kr_str prediction, kr_str answer, kr_score *out) {
    if (in->classes == NULL) {
        out->why = "no class names (all_classes)";
        return 0;
    }
    kr_str *c = kr_arena_alloc(in->arena, (in->classes->count + 1) * sizeof *c);
    size_t n = 0, found = 0;
    if (c == NULL)
        return 0;
    for (const kr_lit *k = in->classes->first; k != NULL; k = k->next) {
        c[n] = kr_answer_text(in->arena, k);
        n += kr_str_find(prediction, c[n], 0) != SIZE_MAX;
    }
    for (size_t k = 0; k < n; k++) {
        if (kr_str_equal(c[k], answer) || kr_str_find(answer, c[k], 0) == SIZE_MAX)
            continue;
        size_t first = 0;
        while (!kr_str_equal(c[first], c[k]))
            first++;
        memmove(c + first, c + first + 1, (n - first - 1) * sizeof *c);
        n--;
    }
    for (size_t k = 0; k < n; k++)
        found += kr_str_equal(c[k], answer);
    return found > 0 ? 1.0 / (double)n : 0;
}

void kr_score_classification(const kr_score_in *in, kr_score *out) {
    best_of(in, classify, out);
}

/* --- numbers ------------------------------------------------------------------------------------------ */

/* Length of the run of decimal digits (any script) at s. */
static size_t digit_run(kr_str s, size_t from) {
    size_t i = from;
    while (i < s.len) {
        uint32_t c;
        size_t used = kr_utf8_next(s.s + i, s.len - i, &c);
        if (!kr_py_digit(c))
            break;
        i += used;
    }
    return i - from;
}

/* Share of the digit runs in the prediction that equal `id` as text. */
static double share_of_runs(kr_str prediction, kr_str id) {
    size_t runs = 0, right = 0;
    for (size_t i = 0; i < prediction.len;) {
        uint32_t c;
        size_t n = digit_run(prediction, i);
        if (n == 0) {
            i += kr_utf8_next(prediction.s + i, prediction.len - i, &c);
            continue;
        }
        runs++;
        right += kr_str_equal((kr_str){prediction.s + i, n}, id);
        i += n;
    }
    return runs > 0 ? (double)right / (double)runs : 0;
}

static double retrieve(kr_str prediction, kr_str answer, const char *label, kr_score *out) {
    kr_str word = kr_str_lit(label);
    for (size_t at = 0; (at = kr_str_find(answer, word, at)) != SIZE_MAX; at++) {
        size_t n = digit_run(answer, at + word.len);
        if (n > 0)
            return share_of_runs(prediction, (kr_str){answer.s + at + word.len, n});
    }
    out->why = "the reference names no paragraph number";
    return 0;
}

static double retrieve_en(const kr_score_in *in, kr_str prediction, kr_str answer, kr_score *out) {
    (void)in;
    return retrieve(prediction, answer, "Paragraph ", out);
}

static double retrieve_zh(const kr_score_in *in, kr_str prediction, kr_str answer, kr_score *out) {
    (void)in;
    return retrieve(prediction, answer, "\xe6\xae\xb5\xe8\x90\xbd", out);
}

static double count(const kr_score_in *in, kr_str prediction, kr_str answer, kr_score *out) {
    (void)in;
    (void)out;
    return share_of_runs(prediction, answer);
}

void kr_score_retrieval(const kr_score_in *in, kr_score *out) {
    best_of(in, retrieve_en, out);
}

void kr_score_retrieval_zh(const kr_score_in *in, kr_score *out) {
    best_of(in, retrieve_zh, out);
}

void kr_score_count(const kr_score_in *in, kr_score *out) {
    best_of(in, count, out);
}

/* --- LongBench v2 ---------------------------------------------------------------------------------------- */

static kr_str without_stars(const kr_score_in *in) {
    kr_str s = kr_str_valid(in->arena, in->prediction, in->prediction_len);
    char *p = kr_arena_alloc(in->arena, s.len);
    size_t n = 0;
    for (size_t i = 0; p != NULL && i < s.len; i++)
        if (s.s[i] != '*')
            p[n++] = s.s[i];
    return (kr_str){p != NULL ? p : "", n};
}

static bool first_answer(const kr_score_in *in, kr_str *answer, kr_score *out) {
    if (in->answers == NULL || in->answers->count == 0) {
        out->why = "no reference answer";
        return false;
    }
    *answer = kr_answer_text(in->arena, in->answers->first);
    return true;
}

/* First letter A to D right after `lead`, and before ')' when `closed`. */
static char letter_after(kr_str s, const char *lead, bool closed) {
    kr_str l = kr_str_lit(lead);
    for (size_t at = 0; (at = kr_str_find(s, l, at)) != SIZE_MAX; at++) {
        size_t i = at + l.len;
        if (i < s.len && s.s[i] >= 'A' && s.s[i] <= 'D' &&
            (!closed || (i + 1 < s.len && s.s[i + 1] == ')')))
            return s.s[i];
    }
    return '\0';
}

void kr_score_v2_thudm(const kr_score_in *in, kr_score *out) {
    kr_str answer, s = without_stars(in);
    if (!first_answer(in, &answer, out))
        return;
    out->letter = letter_after(s, "The correct answer is (", true);
    if (out->letter == '\0')
        out->letter = letter_after(s, "The correct answer is ", false);
    out->value = out->letter != '\0' && answer.len == 1 && answer.s[0] == out->letter ? 1 : 0;
}

void kr_score_v2_kvpress(const kr_score_in *in, kr_score *out) {
    static const char lead[] = "The correct answer is ";
    kr_str answer, s = without_stars(in);
    if (!first_answer(in, &answer, out))
        return;
    char *p = kr_arena_alloc(in->arena, answer.len + sizeof lead + 2);
    if (p == NULL)
        return;
    memcpy(p, lead, sizeof lead - 1);
    memcpy(p + sizeof lead - 1, answer.s, answer.len);
    bool plain = kr_str_find(s, (kr_str){p, sizeof lead - 1 + answer.len}, 0) != SIZE_MAX;
    p[sizeof lead - 1] = '(';
    memcpy(p + sizeof lead, answer.s, answer.len);
    p[sizeof lead + answer.len] = ')';
    bool bracketed = kr_str_find(s, (kr_str){p, sizeof lead + answer.len + 1}, 0) != SIZE_MAX;
    out->value = plain || bracketed ? 1 : 0;
}
