/* ROUGE (Lin 2004) as the Python package rouge 1.0.1 computes it: summary-level ROUGE-L over sets of
 * words, with that package's sentence splitting, tie rule and 1e-8 in the denominator of F. */
#include "calib/scorers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calib/scorer_text.h"

/* Cells of one alignment table, and of all tables of one score; more is refused, not guessed. */
enum { MAX_CELLS = 1 << 26, MAX_TOTAL = 1 << 30 };

typedef struct {
    kr_tokens words; /* of all sentences, one after the other */
    size_t *end;     /* [n] words up to the end of sentence i */
    size_t n;
    const uint32_t *id; /* [words.n] */
} summary;

/* Sentences end at every full stop; a blank piece counts and has one empty word. */
static summary split_sentences(kr_arena *a, kr_str t) {
    size_t dots = 1;
    for (size_t i = 0; i < t.len; i++)
        dots += t.s[i] == '.';
    summary s = {{kr_arena_alloc(a, (t.len + dots + 1) * sizeof *s.words.t), 0},
                 kr_arena_alloc(a, dots * sizeof *s.end),
                 0,
                 NULL};
    if (s.words.t == NULL || s.end == NULL)
        return (summary){{NULL, 0}, NULL, 0, NULL};
    for (size_t from = 0; from < t.len;) {
        const char *dot = memchr(t.s + from, '.', t.len - from);
        size_t len = dot != NULL ? (size_t)(dot - t.s) - from : t.len - from;
        if (len > 0) {
            kr_tokens w = kr_str_split(a, (kr_str){t.s + from, len});
            if (w.n > 0)
                memcpy(s.words.t + s.words.n, w.t, w.n * sizeof *w.t);
            else
                s.words.t[s.words.n] = kr_str_lit("");
            s.words.n += w.n > 0 ? w.n : 1;
            s.end[s.n++] = s.words.n;
        }
        from += len + 1;
    }
    return s;
}

static size_t begin_of(const summary *s, size_t i) {
    return i == 0 ? 0 : s->end[i - 1];
}

/* Marks the words of one longest common subsequence of x[n] and y[m]; the walk back prefers the left
 * neighbour on ties. Returns the steps of the walk. up [n * m], row [2 * (m + 1)] zeroed. */
static size_t walk_table(const uint32_t *x, size_t n, const uint32_t *y, size_t m, uint8_t *up,
                         uint32_t *row, bool *marked) {
    for (size_t i = 1; i <= n; i++) {
        uint32_t *prev = row + (i - 1) % 2 * (m + 1), *cur = row + i % 2 * (m + 1);
        cur[0] = 0;
        for (size_t j = 1; j <= m; j++) {
            bool equal = x[i - 1] == y[j - 1], higher = prev[j] > cur[j - 1];
            up[(i - 1) * m + j - 1] = higher;
            cur[j] = equal ? prev[j - 1] + 1 : higher ? prev[j] : cur[j - 1];
        }
    }
    size_t steps = 0;
    for (size_t i = n, j = m; i > 0 && j > 0; steps++) {
        if (x[i - 1] == y[j - 1]) {
            marked[x[i - 1]] = true;
            i--;
            j--;
        } else if (up[(i - 1) * m + j - 1]) {
            i--;
        } else {
            j--;
        }
    }
    return steps;
}

/* As walk_table; SIZE_MAX when the table would be too large. */
static size_t mark_lcs(const uint32_t *x, size_t n, const uint32_t *y, size_t m, bool *marked) {
    if (n > MAX_CELLS / (m + 1))
        return SIZE_MAX;
    uint8_t *up = malloc(n * m + 1); /* 1: go up */
    uint32_t *row = calloc(2 * (m + 1), sizeof *row);
    size_t steps = up != NULL && row != NULL ? walk_table(x, n, y, m, up, row, marked) : SIZE_MAX;
    free(up);
    free(row);
    return steps;
}

static size_t distinct_ids(kr_arena *a, const uint32_t *id, size_t n, size_t distinct) {
    bool *seen = kr_arena_alloc(a, distinct + 1);
    size_t count = 0;
    if (seen == NULL)
        return 0;
    memset(seen, 0, distinct + 1);
    for (size_t i = 0; i < n; i++) {
        count += !seen[id[i]];
        seen[id[i]] = true;
    }
    return count;
}

static void set_rpf(double *rpf, double shared, double reference, double hypothesis) {
    double r = reference > 0 ? shared / reference : 0, p = hypothesis > 0 ? shared / hypothesis : 0;
    rpf[0] = r;
    rpf[1] = p;
    rpf[2] = 2 * (p * r / (p + r + 1e-8));
}

/* ROUGE-L of hypothesis h against reference r; false when it cannot be computed (why is set). */
static bool rouge_l(const kr_score_in *in, const summary *h, const summary *r, size_t distinct,
                    double rpf[3], kr_score *out) {
    bool *marked = kr_arena_alloc(in->arena, distinct + 1);
    size_t shared = 0, work = 0;
    rpf[0] = rpf[1] = rpf[2] = 0;
    if (marked == NULL)
        return false;
    memset(marked, 0, distinct + 1);
    for (size_t i = 0; i < r->n; i++)
        for (size_t j = 0; j < h->n; j++) {
            size_t x = begin_of(r, i), y = begin_of(h, j);
            size_t n = r->end[i] - x, m = h->end[j] - y;
            size_t steps =
                work > MAX_TOTAL ? SIZE_MAX : mark_lcs(r->id + x, n, h->id + y, m, marked);
            work += n * m;
            if (steps == SIZE_MAX) {
                out->why = "sentences too long to align";
                return false;
            }
            if (in->rouge_limit > 0 && steps > in->rouge_limit)
                return true; /* the reference raises, and its caller takes 0 */
        }
    for (size_t i = 0; i < distinct; i++)
        shared += marked[i];
    set_rpf(rpf, (double)shared, (double)distinct_ids(in->arena, r->id, r->words.n, distinct),
            (double)distinct_ids(in->arena, h->id, h->words.n, distinct));
    return true;
}

/* Gives both texts' words numbers in common. */
static bool number_words(kr_arena *a, summary *x, summary *y, size_t *distinct) {
    uint32_t *ids = kr_tokens_ids(a, x->words, y->words, distinct);
    if (ids == NULL)
        return false;
    x->id = ids;
    y->id = ids + x->words.n;
    return true;
}

void kr_score_rouge_l(const kr_score_in *in, kr_score *out) {
    kr_str p = kr_str_valid(in->arena, in->prediction, in->prediction_len);
    if (in->answers == NULL || in->answers->count == 0) {
        out->why = "no reference answer";
        return;
    }
    summary hyp = split_sentences(in->arena, p);
    for (const kr_lit *a = in->answers->first; a != NULL; a = a->next) {
        summary ref = split_sentences(in->arena, kr_answer_text(in->arena, a));
        double rpf[3];
        size_t distinct = 0;
        if (hyp.n == 0 || ref.n == 0)
            continue;
        if (!number_words(in->arena, &hyp, &ref, &distinct) ||
            !rouge_l(in, &hyp, &ref, distinct, rpf, out))
            return;
        if (rpf[2] > out->value)
            out->value = rpf[2];
    }
}

/* --- needle in a haystack: hypothesis and reference are swapped there ------------------------------- */

/* Distinct n-grams (n = 1 or 2) as pairs of word numbers in *out; returns their count. */
static size_t ngrams(kr_arena *a, const summary *s, size_t n, uint64_t **out) {
    size_t count = 0, total = s->words.n >= n ? s->words.n - n + 1 : 0;
    uint64_t *g = kr_arena_alloc(a, (total + 1) * sizeof *g);
    *out = g;
    for (size_t i = 0; g != NULL && i < total; i++) {
        uint64_t v = n == 1 ? s->id[i] : (uint64_t)s->id[i] << 32 | s->id[i + 1];
        bool seen = false;
        for (size_t k = 0; k < count && !seen; k++)
            seen = g[k] == v;
        if (!seen)
            g[count++] = v;
    }
    return count;
}

static void rouge_n(kr_arena *a, const summary *hyp, const summary *ref, size_t n, double rpf[3]) {
    uint64_t *x, *y;
    size_t nx = ngrams(a, hyp, n, &x), ny = ngrams(a, ref, n, &y), shared = 0;
    for (size_t i = 0; i < nx; i++)
        for (size_t k = 0; k < ny; k++)
            shared += x[i] == y[k];
    set_rpf(rpf, (double)shared, (double)ny, (double)nx);
}

enum { MAX_NEEDLE_WORDS = 20000 }; /* the distinct n-grams are found by comparing all pairs */

void kr_score_needle(const kr_score_in *in, kr_score *out) {
    kr_str p = kr_str_strip(kr_str_valid(in->arena, in->prediction, in->prediction_len));
    if (in->answers == NULL || in->answers->count == 0) {
        out->why = "no needle";
        return;
    }
    kr_str needle = kr_str_strip(kr_answer_text(in->arena, in->answers->first));
    summary ref = split_sentences(in->arena, p), hyp = split_sentences(in->arena, needle);
    size_t distinct = 0;
    if (hyp.n == 0 || ref.n == 0) {
        out->why = "the prediction or the needle is empty";
        return;
    }
    if (hyp.words.n > MAX_NEEDLE_WORDS || ref.words.n > MAX_NEEDLE_WORDS) {
        out->why = "the prediction is too long for a needle";
        return;
    }
    if (!number_words(in->arena, &hyp, &ref, &distinct))
        return;
    rouge_n(in->arena, &hyp, &ref, 1, out->part);
    rouge_n(in->arena, &hyp, &ref, 2, out->part + 3);
    if (rouge_l(in, &hyp, &ref, distinct, out->part + 6, out))
        out->value = out->part[8];
}
