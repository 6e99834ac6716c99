/* Code similarity of LongBench's lcc and repobench-p: fuzz.ratio of fuzzywuzzy 0.18 over the first
 * line of the prediction that is no comment, against the whole reference. The package computes it
 * with python-Levenshtein where that is installed and with difflib otherwise; they differ. */
#include "calib/scorers.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calib/scorer_text.h"

enum { MAX_CELLS = 1 << 28 };

typedef double ratio_fn(kr_arena *arena, kr_codes a, kr_codes b, kr_score *out);

/* --- longest common subsequence ------------------------------------------------------------------- */

/* 2 LCS / (|a| + |b|): Levenshtein.ratio, whose substitutions cost two. */
static double lcs_ratio(kr_arena *arena, kr_codes a, kr_codes b, kr_score *out) {
    if (a.n > MAX_CELLS / (b.n + 1)) {
        out->why = "lines too long to compare";
        return 0;
    }
    uint32_t *row = kr_arena_alloc(arena, (b.n + 1) * sizeof *row);
    if (row == NULL)
        return 0;
    memset(row, 0, (b.n + 1) * sizeof *row);
    for (size_t i = 0; i < a.n; i++) {
        uint32_t diagonal = 0;
        for (size_t j = 0; j < b.n; j++) {
            uint32_t above = row[j + 1];
            uint32_t left = row[j];
            row[j + 1] = a.c[i] == b.c[j] ? diagonal + 1 : above > left ? above : left;
            diagonal = above;
        }
    }
    return 2.0 * row[b.n] / (double)(a.n + b.n);
}

/* --- difflib.SequenceMatcher ------------------------------------------------------------------------ */

typedef struct {
    kr_codes a, b;
    uint32_t *order;  /* [b.n] positions of b sorted by character, then place */
    bool *popular;    /* [b.n] the character is too frequent to start a match */
    size_t *run;      /* [b.n + 1] lengths of matches ending at j - 1, previous i */
    size_t *next_run; /* [b.n + 1] */
    size_t work;
} matcher;

typedef struct {
    size_t i, j, n;
} block;

typedef struct {
    uint32_t c, at;
} place;

static int by_char(const void *x, const void *y) {
    const place *a = x, *b = y;
    if (a->c != b->c)
        return a->c < b->c ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Characters of b that make up more than 1 % of 200 or more are not looked up (autojunk). */
static bool index_b(kr_arena *arena, matcher *m) {
    size_t n = m->b.n;
    place *p = kr_arena_alloc(arena, (n + 1) * sizeof *p);
    m->order = kr_arena_alloc(arena, (n + 1) * sizeof *m->order);
    m->popular = kr_arena_alloc(arena, n + 1);
    m->run = kr_arena_alloc(arena, (n + 1) * sizeof *m->run);
    m->next_run = kr_arena_alloc(arena, (n + 1) * sizeof *m->next_run);
    if (p == NULL || m->order == NULL || m->popular == NULL || m->run == NULL ||
        m->next_run == NULL)
        return false;
    for (size_t j = 0; j < n; j++)
        p[j] = (place){m->b.c[j], (uint32_t)j};
    if (n > 1)
        qsort(p, n, sizeof *p, by_char);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && p[to].c == p[from].c; to++)
            m->order[to] = p[to].at;
        bool popular = n >= 200 && to - from > n / 100 + 1;
        for (size_t k = from; k < to; k++)
            m->popular[p[k].at] = popular;
    }
    return true;
}

/* First entry of m->order with character c. */
static size_t first_place(const matcher *m, uint32_t c) {
    size_t lo = 0, hi = m->b.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (m->b.c[m->order[mid]] < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Lengths of matches that end at a[i] and each b[j]; keeps the longest, earliest found. */
static void extend_row(matcher *m, size_t i, size_t blo, size_t bhi, block *best) {
    memset(m->next_run + blo, 0, (bhi - blo + 1) * sizeof *m->next_run);
    for (size_t k = first_place(m, m->a.c[i]); k < m->b.n; k++) {
        size_t j = m->order[k];
        if (m->b.c[j] != m->a.c[i] || m->popular[j] || j >= bhi)
            break;
        m->work++;
        if (j < blo)
            continue;
        size_t n = m->run[j] + 1;
        m->next_run[j + 1] = n;
        if (n > best->n)
            *best = (block){i + 1 - n, j + 1 - n, n};
    }
    size_t *t = m->run;
    m->run = m->next_run;
    m->next_run = t;
    m->run[blo] = 0;
}

static block longest(matcher *m, size_t alo, size_t ahi, size_t blo, size_t bhi) {
    block best = {alo, blo, 0};
    memset(m->run + blo, 0, (bhi - blo + 1) * sizeof *m->run);
    for (size_t i = alo; i < ahi; i++) {
        m->work += bhi - blo;
        extend_row(m, i, blo, bhi, &best);
    }
    while (best.i > alo && best.j > blo && m->a.c[best.i - 1] == m->b.c[best.j - 1]) {
        best.i--;
        best.j--;
        best.n++;
    }
    while (best.i + best.n < ahi && best.j + best.n < bhi &&
           m->a.c[best.i + best.n] == m->b.c[best.j + best.n])
        best.n++;
    return best;
}

typedef struct {
    size_t alo, ahi, blo, bhi;
} range;

/* 2 M / (|a| + |b|), M the total of the matching blocks found by splitting at the longest. */
static double difflib_ratio(kr_arena *arena, kr_codes a, kr_codes b, kr_score *out) {
    matcher m = {.a = a, .b = b};
    range *todo = kr_arena_alloc(arena, (2 * (a.n < b.n ? a.n : b.n) + 4) * sizeof *todo);
    size_t n = 0, total = 0;
    if (todo == NULL || !index_b(arena, &m))
        return 0;
    todo[n++] = (range){0, a.n, 0, b.n};
    while (n > 0) {
        range r = todo[--n];
        block k = longest(&m, r.alo, r.ahi, r.blo, r.bhi);
        if (m.work > MAX_CELLS) {
            out->why = "lines too long to compare";
            return 0;
        }
        if (k.n == 0)
            continue;
        total += k.n;
        if (r.alo < k.i && r.blo < k.j)
            todo[n++] = (range){r.alo, k.i, r.blo, k.j};
        if (k.i + k.n < r.ahi && k.j + k.n < r.bhi)
            todo[n++] = (range){k.i + k.n, r.ahi, k.j + k.n, r.bhi};
    }
    return 2.0 * (double)total / (double)(a.n + b.n);
}

/* --- fuzz.ratio and the line rule ----------------------------------------------------------------------- */

static double fuzz_ratio(kr_arena *arena, kr_str x, kr_str y, ratio_fn *ratio, kr_score *out) {
    if (kr_str_equal(x, y))
        return 1;
    if (x.len == 0 || y.len == 0)
        return 0;
    double q = ratio(arena, kr_codes_of(arena, x), kr_codes_of(arena, y), out);
    return nearbyint(100 * q) / 100; /* half to even, as Python's round */
}

static bool contains(kr_str s, const char *what) {
    return kr_str_find(s, kr_str_lit(what), 0) != SIZE_MAX;
}

static kr_str code_line(kr_str p, bool skip_blank) {
    while (p.len > 0 && p.s[0] == '\n') {
        p.s++;
        p.len--;
    }
    for (size_t from = 0; from <= p.len;) {
        const char *nl = from < p.len ? memchr(p.s + from, '\n', p.len - from) : NULL;
        size_t len = nl != NULL ? (size_t)(nl - p.s) - from : p.len - from;
        kr_str line = {p.s + from, len};
        bool comment = contains(line, "`") || contains(line, "#") || contains(line, "//");
        if (!comment && !(skip_blank && kr_str_strip(line).len == 0))
            return line;
        from += len + 1;
    }
    return kr_str_lit("");
}

static void code_sim(const kr_score_in *in, ratio_fn *ratio, bool skip_blank, kr_score *out) {
    kr_str p = kr_str_valid(in->arena, in->prediction, in->prediction_len);
    if (in->answers == NULL || in->answers->count == 0) {
        out->why = "no reference answer";
        return;
    }
    kr_str line = code_line(p, skip_blank);
    for (const kr_lit *a = in->answers->first; a != NULL && out->why == NULL; a = a->next) {
        double x = fuzz_ratio(in->arena, line, kr_answer_text(in->arena, a), ratio, out);
        if (x > out->value)
            out->value = x;
    }
}

void kr_score_code_levenshtein(const kr_score_in *in, kr_score *out) {
    code_sim(in, lcs_ratio, false, out);
}

void kr_score_code_difflib(const kr_score_in *in, kr_score *out) {
    code_sim(in, difflib_ratio, false, out);
}

void kr_score_code_lm(const kr_score_in *in, kr_score *out) {
    code_sim(in, lcs_ratio, true, out);
}
