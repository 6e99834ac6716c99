/* tok_merge.c - merging neighbours by rank, and outputs that grow. */
#include "engine/tok_impl.h"

#include <stdlib.h>

/* ---- growing outputs ---- */

void *kr_tok_grow(kr_tok_vec *v) {
    if (v->n == v->cap && !v->failed) {
        size_t cap = v->cap == 0 ? 64 : 2 * v->cap;
        void *p = cap > SIZE_MAX / v->size ? NULL : realloc(v->p, cap * v->size);
        v->failed = p == NULL;
        if (p != NULL) {
            v->p = p;
            v->cap = cap;
        }
    }
    return v->failed ? NULL : (char *)v->p + v->n++ * v->size;
}

void kr_tok_put_id(kr_tok_vec *out, int32_t id) {
    int32_t *slot = id >= 0 ? kr_tok_grow(out) : NULL;
    if (slot != NULL)
        *slot = id;
}

void kr_tok_put_byte(kr_tok_vec *out, char c) {
    char *slot = kr_tok_grow(out);
    if (slot != NULL)
        *slot = c;
}

void kr_tok_put_bytes(kr_tok_vec *out, const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        kr_tok_put_byte(out, p[i]);
}

/* ---- merging ---- */

typedef struct {
    const char *p;
    size_t n; /* 0: merged into its left neighbour */
    size_t prev, next;
} symbol;

typedef struct {
    float rank; /* higher first */
    size_t left, right, len;
} bigram;

static bool before(const bigram *a, const bigram *b) {
    return a->rank > b->rank || (a->rank == b->rank && a->left < b->left);
}

static void heap_push(kr_tok_vec *heap, bigram b) {
    if (kr_tok_grow(heap) == NULL)
        return;
    bigram *h = heap->p;
    size_t i = heap->n - 1;
    for (; i > 0 && before(&b, &h[(i - 1) / 2]); i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = b;
}

static bigram heap_pop(kr_tok_vec *heap) {
    bigram *h = heap->p, top = h[0], last = h[--heap->n];
    size_t i = 0, n = heap->n;
    for (;;) {
        size_t c = 2 * i + 1;
        if (c + 1 < n && before(&h[c + 1], &h[c]))
            c++;
        if (c >= n || !before(&h[c], &last))
            break;
        h[i] = h[c];
        i = c;
    }
    if (n > 0)
        h[i] = last;
    return top;
}

typedef struct {
    const kr_tok *t;
    kr_tok_rank rank;
    symbol *s;
    kr_tok_vec heap;
} merging;

static void offer(merging *m, size_t left, size_t right) {
    float rank;
    if (left == SIZE_MAX || right == SIZE_MAX)
        return;
    const symbol *a = &m->s[left], *b = &m->s[right];
    if (m->rank(m->t, (kr_gguf_str){a->p, a->n}, (kr_gguf_str){b->p, b->n}, &rank))
        heap_push(&m->heap, (bigram){rank, left, right, a->n + b->n});
}

size_t kr_tok_char(const char *s, size_t n) {
    unsigned char c = (unsigned char)s[0];
    size_t want = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4, len = 1;
    while (len < want && len < n && ((unsigned char)s[len] & 0xc0) == 0x80)
        len++;
    return len;
}

static void cut_symbols(const char *text, size_t n, kr_tok_vec *symbols) {
    size_t count = 0;
    for (size_t at = 0; at < n && !symbols->failed; count++) {
        size_t len = kr_tok_char(text + at, n - at);
        symbol *s = kr_tok_grow(symbols);
        if (s != NULL)
            *s = (symbol){text + at, len, count - 1, at + len < n ? count + 1 : SIZE_MAX};
        at += len;
    }
}

void kr_tok_merge(const kr_tok *t, const char *text, size_t n, kr_tok_rank rank, kr_tok_emit emit,
                  kr_tok_vec *out) {
    kr_tok_vec symbols = {.size = sizeof(symbol)};
    cut_symbols(text, n, &symbols);
    symbol *s = symbols.p;
    merging m = {t, rank, s, {.size = sizeof(bigram)}};
    for (size_t i = 1; i < symbols.n; i++)
        offer(&m, i - 1, i);
    while (m.heap.n > 0 && !m.heap.failed && !symbols.failed) {
        bigram b = heap_pop(&m.heap);
        symbol *l = &s[b.left], *r = &s[b.right];
        if (l->n == 0 || r->n == 0 || l->n + r->n != b.len)
            continue; /* one of the two has merged since */
        l->n = b.len;
        r->n = 0;
        l->next = r->next;
        if (r->next != SIZE_MAX)
            s[r->next].prev = b.left;
        offer(&m, l->prev, b.left);
        offer(&m, b.left, l->next);
    }
    out->failed = out->failed || symbols.failed || m.heap.failed;
    for (size_t i = 0; i < symbols.n && !out->failed; i++)
        if (s[i].n > 0)
            emit(t, (kr_gguf_str){s[i].p, s[i].n}, out);
    free(symbols.p);
    free(m.heap.p);
}
