/* Mathematics, LooGLE's cloze task (Li et al. 2023), and plain comparisons. */
#include "calib/scorers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calib/scorer_text.h"

static bool first_answer(const kr_score_in *in, kr_str *answer, kr_score *out) {
    if (in->answers == NULL || in->answers->count == 0) {
        out->why = "no reference answer";
        return false;
    }
    *answer = kr_answer_text(in->arena, in->answers->first);
    return true;
}

/* --- boxed answers: no trimming, and the first closing brace ends them -------------------------------- */

static kr_str up_to_brace(kr_str s) {
    const char *end = s.len > 0 ? memchr(s.s, '}', s.len) : NULL;
    return (kr_str){s.s, end != NULL ? (size_t)(end - s.s) : s.len};
}

void kr_score_math500(const kr_score_in *in, kr_score *out) {
    kr_str p = kr_str_valid(in->arena, in->prediction, in->prediction_len), answer;
    kr_str mark = kr_str_lit("boxed{");
    size_t at = kr_str_find(p, mark, 0);
    if (!first_answer(in, &answer, out) || at == SIZE_MAX)
        return;
    at += mark.len;
    out->value = kr_str_equal(up_to_brace((kr_str){p.s + at, p.len - at}), answer) ? 1 : 0;
}

void kr_score_aime25(const kr_score_in *in, kr_score *out) {
    kr_str p = kr_str_valid(in->arena, in->prediction, in->prediction_len), answer;
    kr_str mark = kr_str_lit("boxed{");
    if (!first_answer(in, &answer, out))
        return;
    for (size_t at; (at = kr_str_find(p, mark, 0)) != SIZE_MAX;)
        p = (kr_str){p.s + at + mark.len, p.len - at - mark.len};
    out->value = kr_str_equal(up_to_brace(p), answer) ? 1 : 0;
}

/* --- cloze: both sides are Python dictionaries, read and never evaluated ---------------------------------- */

static kr_lit *literal(kr_arena *a, kr_str s) {
    kr_lit *v = NULL;
    while (s.len > 0 && (s.s[0] == ' ' || s.s[0] == '\t')) {
        s.s++;
        s.len--;
    }
    return kr_lit_parse(KR_LIT_PYTHON, s.s, s.len, a, &v, NULL, NULL) == KR_OK ? v : NULL;
}

static const kr_lit *member(const kr_lit *d, const kr_lit *like) {
    for (const kr_lit *m = d->first; m != NULL; m = m->next)
        if (m->key_len == like->key_len && memcmp(m->key, like->key, m->key_len) == 0)
            return m;
    return NULL;
}

static bool equal_values(const kr_lit *a, const kr_lit *b) {
    double x, y;
    if (kr_lit_number(a, false, &x) && kr_lit_number(b, false, &y))
        return x == y;
    if (a->type != b->type)
        return false;
    if (a->type == KR_LIT_LIST || a->type == KR_LIT_DICT) {
        const kr_lit *m = a->first, *n = b->first;
        for (; m != NULL && n != NULL && equal_values(m, n); m = m->next)
            n = n->next;
        return m == NULL && n == NULL;
    }
    return a->yes == b->yes && a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

static bool share_a_word(kr_arena *a, const kr_lit *x, const kr_lit *y) {
    kr_tokens p = kr_str_split(a, kr_str_valid(a, x->s, x->len));
    kr_tokens q = kr_str_split(a, kr_str_valid(a, y->s, y->len));
    for (size_t i = 0; i < p.n; i++)
        for (size_t k = 0; k < q.n; k++)
            if (kr_str_equal(p.t[i], q.t[k]))
                return true;
    return false;
}

static void ratio(kr_score *out, size_t right, size_t of) {
    out->part[0] = (double)right;
    out->part[1] = (double)of;
    out->value = of > 0 ? (double)right / (double)of : 0;
}

static bool cloze_sides(const kr_score_in *in, kr_lit **want, kr_lit **got, kr_score *out) {
    kr_str answer;
    if (!first_answer(in, &answer, out))
        return false;
    *want = literal(in->arena, answer);
    *got = literal(in->arena, kr_str_valid(in->arena, in->prediction, in->prediction_len));
    if (*want == NULL || (*want)->type != KR_LIT_DICT || (*want)->count == 0) {
        out->why = "the reference is no dictionary of entities";
        return false;
    }
    if (*got != NULL && (*got)->type != KR_LIT_DICT)
        *got = NULL;
    return true;
}

void kr_score_cloze_exact(const kr_score_in *in, kr_score *out) {
    kr_lit *want, *got;
    size_t right = 0;
    if (!cloze_sides(in, &want, &got, out))
        return;
    if (got == NULL) {
        ratio(out, 0, 1);
        return;
    }
    for (const kr_lit *m = want->first; m != NULL; m = m->next) {
        const kr_lit *v = member(got, m);
        right += v != NULL && equal_values(v, m);
    }
    ratio(out, right, want->count);
}

void kr_score_cloze_partial(const kr_score_in *in, kr_score *out) {
    kr_lit *want, *got;
    size_t right = 0;
    if (!cloze_sides(in, &want, &got, out))
        return;
    for (const kr_lit *m = want->first; m != NULL && got != NULL; m = m->next) {
        const kr_lit *v = member(got, m);
        if (v != NULL && (v->type != KR_LIT_STR || m->type != KR_LIT_STR)) {
            right = 0; /* the reference stops at a value without words and gives nothing */
            break;
        }
        right += v != NULL && share_a_word(in->arena, m, v);
    }
    ratio(out, right, want->count);
}

/* --- plain comparisons ---------------------------------------------------------------------------------------- */

static void exact(const kr_score_in *in, bool strip, kr_score *out) {
    kr_str p = kr_str_valid(in->arena, in->prediction, in->prediction_len), first;
    if (!first_answer(in, &first, out))
        return;
    for (const kr_lit *a = in->answers->first; a != NULL; a = a->next) {
        kr_str r = kr_answer_text(in->arena, a);
        if (kr_str_equal(strip ? kr_str_strip(p) : p, strip ? kr_str_strip(r) : r))
            out->value = 1;
    }
}

void kr_score_exact(const kr_score_in *in, kr_score *out) {
    exact(in, false, out);
}

void kr_score_exact_strip(const kr_score_in *in, kr_score *out) {
    exact(in, true, out);
}

/* Last decimal number in s ("1,234.5" counts as one), commas removed; false when there is none. */
static bool last_number(kr_arena *a, kr_str s, double *out) {
    char *p = kr_arena_alloc(a, s.len + 1);
    size_t end = s.len, n = 0;
    while (end > 0 && !(s.s[end - 1] >= '0' && s.s[end - 1] <= '9'))
        end--;
    size_t from = end;
    while (from > 0 && s.s[from - 1] != '\0' && strchr("0123456789.,", s.s[from - 1]) != NULL)
        from--;
    if (p == NULL || end == 0)
        return false;
    if (from > 0 && s.s[from - 1] == '-')
        p[n++] = '-';
    for (; from < end; from++)
        if (s.s[from] != ',')
            p[n++] = s.s[from];
    p[n] = '\0';
    char *stop;
    *out = strtod(p, &stop);
    return *stop == '\0' && n > 0;
}

void kr_score_numeric(const kr_score_in *in, kr_score *out) {
    kr_str p = kr_str_valid(in->arena, in->prediction, in->prediction_len), first;
    double got, want;
    bool any = false;
    if (!first_answer(in, &first, out))
        return;
    for (const kr_lit *a = in->answers->first; a != NULL; a = a->next) {
        if (!last_number(in->arena, kr_answer_text(in->arena, a), &want))
            continue;
        any = true;
        if (last_number(in->arena, p, &got) && got == want)
            out->value = 1;
    }
    if (!any)
        out->why = "the reference is no number";
}
