#include "evict/keep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- kept lists ---- */

static kr_status no_memory(kr_error *err, size_t n) {
    return kr_fail(err, KR_ENOMEM, "out of memory for the selection of %zu cache entries", n);
}

static kr_status new_keep(size_t layers, size_t heads, size_t n, size_t rows, kr_keep **out,
                          kr_error *err) {
    kr_keep *k = calloc(1, sizeof *k);
    if (k == NULL)
        return no_memory(err, rows);
    *k = (kr_keep){.layers = layers, .heads = heads, .n = n};
    k->head = calloc(layers * heads, sizeof *k->head);
    k->rows = rows > 0 ? malloc(rows * sizeof *k->rows) : NULL;
    if (k->head == NULL || (rows > 0 && k->rows == NULL)) {
        kr_keep_free(k);
        return no_memory(err, rows);
    }
    *out = k;
    return KR_OK;
}

kr_status kr_keep_all(size_t layers, size_t heads, size_t n, unsigned flags, kr_keep **out,
                      kr_error *err) {
    kr_keep *k;
    kr_status st = new_keep(layers, heads, n, 0, &k, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < layers * heads; i++)
        k->head[i].n = n;
    k->total = layers * heads * n;
    k->flags = flags;
    *out = k;
    return KR_OK;
}

void kr_keep_free(kr_keep *k) {
    if (k == NULL)
        return;
    free(k->head);
    free(k->rows);
    free(k);
}

kr_status kr_keep_check(const kr_keep *k, kr_error *err) {
    size_t total = 0;
    for (size_t i = 0; i < k->layers * k->heads; i++) {
        const kr_kv_keep *h = &k->head[i];
        bool bad = h->n > k->n || (h->n == 0 && k->n > 0);
        for (size_t j = 0; h->rows != NULL && !bad && j < h->n; j++)
            bad = h->rows[j] >= k->n || (j > 0 && h->rows[j] <= h->rows[j - 1]);
        if (bad)
            return kr_fail(err, KR_ENUM, "the selection for layer %zu, head %zu is not an "
                           "ascending list of 1 to %zu positions", i / k->heads, i % k->heads,
                           k->n);
        total += h->n;
    }
    if (total != k->total)
        return kr_fail(err, KR_ENUM, "the selection holds %zu entries, %zu were meant", total,
                       k->total);
    return KR_OK;
}

/* ---- scores ---- */

kr_status kr_scores_new(size_t layers, size_t heads, size_t n, size_t lead, size_t tail,
                        bool forced, size_t aux, kr_scores **out, kr_error *err) {
    kr_scores *s = calloc(1, sizeof *s);
    if (s == NULL)
        return no_memory(err, n);
    size_t all = layers * heads;
    *s = (kr_scores){.layers = layers, .heads = heads, .n = n, .lead = lead, .tail = tail};
    size_t free_cols = n > lead + tail ? n - lead - tail : 0;
    s->rank = calloc(all * n + 1, sizeof *s->rank);
    s->order = malloc((all * free_cols + 1) * sizeof *s->order);
    s->top = calloc(layers, sizeof *s->top);
    if (forced) {
        s->first = calloc(all * n + 1, sizeof *s->first);
        s->first_order = malloc((all * free_cols + 1) * sizeof *s->order);
    }
    if (aux > 0)
        s->aux = calloc(aux, sizeof *s->aux);
    if (s->rank == NULL || s->order == NULL || s->top == NULL || (aux > 0 && s->aux == NULL) ||
        (forced && (s->first == NULL || s->first_order == NULL))) {
        kr_scores_free(s);
        return no_memory(err, all * n);
    }
    *out = s;
    return KR_OK;
}

void kr_scores_free(kr_scores *s) {
    if (s == NULL)
        return;
    free(s->rank);
    free(s->first);
    free(s->order);
    free(s->first_order);
    free(s->top);
    free(s->aux);
    free(s);
}

float *kr_scores_rank(const kr_scores *s, size_t layer, size_t head) {
    return s->rank + (layer * s->heads + head) * s->n;
}

float *kr_scores_first(const kr_scores *s, size_t layer, size_t head) {
    return s->first + (layer * s->heads + head) * s->n;
}

typedef struct {
    float score;
    uint32_t pos;
} entry;

static int by_score(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->pos < y->pos ? -1 : x->pos > y->pos;
}

static void sort_row(const float *score, size_t from, size_t to, entry *tmp, uint32_t *out) {
    for (size_t i = from; i < to; i++)
        tmp[i - from] = (entry){score[i], (uint32_t)i};
    qsort(tmp, to - from, sizeof *tmp, by_score);
    for (size_t i = 0; i < to - from; i++)
        out[i] = tmp[i].pos;
}

void kr_order(const float *score, size_t from, size_t to, uint32_t *out) {
    entry *tmp = malloc((to - from + 1) * sizeof *tmp);
    if (tmp != NULL) {
        sort_row(score, from, to, tmp, out);
        free(tmp);
        return;
    }
    for (size_t i = 0; i < to - from; i++) { /* slow, but needs nothing */
        size_t j = i;
        uint32_t pos = (uint32_t)(from + i);
        for (; j > 0 && score[out[j - 1]] < score[pos]; j--)
            out[j] = out[j - 1];
        out[j] = pos;
    }
}

static kr_status check_row(const kr_scores *s, const float *row, size_t i, kr_error *err) {
    for (size_t c = s->lead; c < s->n - s->tail; c++)
        if (isnan(row[c]))
            return kr_fail(err, KR_ENUM, "the score of position %zu in layer %zu, head %zu is not "
                           "a number; the model's weights are damaged or overflow", c,
                           i / s->heads, i % s->heads);
    return KR_OK;
}

kr_status kr_scores_sort(kr_scores *s, kr_error *err) {
    size_t from = s->lead, to = s->n - s->tail, m = to - from;
    entry *tmp = malloc((m + 1) * sizeof *tmp);
    if (tmp == NULL)
        return no_memory(err, m);
    kr_status st = KR_OK;
    for (size_t i = 0; i < s->layers * s->heads && st == KR_OK; i++) {
        st = check_row(s, s->rank + i * s->n, i, err);
        if (st == KR_OK && s->first != NULL)
            st = check_row(s, s->first + i * s->n, i, err);
        if (st != KR_OK)
            break;
        sort_row(s->rank + i * s->n, from, to, tmp, s->order + i * m);
        if (s->first != NULL)
            sort_row(s->first + i * s->n, from, to, tmp, s->first_order + i * m);
        float best = m > 0 ? s->rank[i * s->n + s->order[i * m]] : 0;
        float *top = &s->top[i / s->heads];
        *top = i % s->heads == 0 || best > *top ? best : *top;
    }
    free(tmp);
    return st;
}

/* ---- selection ---- */

/* One head's entries that are not protected, best first: forced ones, if they compete, and the
 * rest. */
typedef struct {
    const float *rank;
    const uint32_t *order;
    size_t at, n;          /* next of order */
    const uint32_t *raised; /* forced entries by position, with score `top` */
    size_t r, n_raised;
    float top;
    const uint8_t *mark; /* [n] already taken or raised */
    size_t id;           /* layer * heads + head */
    float score;         /* of the next entry */
    uint32_t pos;
} cursor;

/* Moves to the best entry left; false at the end. */
static bool advance(cursor *c) {
    while (c->at < c->n && c->mark[c->order[c->at]] != 0)
        c->at++;
    bool plain = c->at < c->n, raised = c->r < c->n_raised;
    if (!plain && !raised)
        return false;
    float s = plain ? c->rank[c->order[c->at]] : 0;
    if (raised && (!plain || c->top > s || (c->top == s && c->raised[c->r] < c->order[c->at]))) {
        c->score = c->top;
        c->pos = c->raised[c->r++];
    } else {
        c->score = s;
        c->pos = c->order[c->at++];
    }
    return true;
}

static bool before(const cursor *a, const cursor *b) {
    if (a->score != b->score)
        return a->score > b->score;
    return a->id != b->id ? a->id < b->id : a->pos < b->pos;
}

static void sink(cursor *heap, size_t n, size_t i) {
    for (;;) {
        size_t best = i, l = 2 * i + 1;
        for (size_t k = l; k < l + 2 && k < n; k++)
            if (before(&heap[k], &heap[best]))
                best = k;
        if (best == i)
            return;
        cursor t = heap[i];
        heap[i] = heap[best];
        heap[best] = t;
        i = best;
    }
}

typedef struct {
    const kr_scores *s;
    const kr_selection *sel;
    uint8_t *mark;    /* [heads of the unit][n] 1 taken, 2 raised */
    uint32_t *raised; /* [heads of the unit][n - protected] */
    cursor *heap;
    size_t *count; /* [layers * heads] */
    bool cut;      /* a budget was below what is protected */
} work;

static size_t protected_of(const kr_scores *s) {
    return s->lead + s->tail < s->n ? s->lead + s->tail : s->n;
}

/* Only `n` of the protected entries fit: the newest, or the first where there is no window. */
static void take_cut(const kr_scores *s, size_t n, uint8_t *mark) {
    memset(mark + (s->tail > 0 ? s->n - n : 0), 1, n);
}

static int by_position(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Takes protected and forced entries of head `id`; sets up its cursor. Returns what it took: at
 * least one entry, its best where nothing is protected, so that no head is left empty. */
static size_t open_head(work *w, size_t id, size_t slot) {
    const kr_scores *s = w->s;
    size_t m = s->n - protected_of(s), forced = w->sel->forced != NULL ? w->sel->forced[id] : 0;
    uint8_t *mark = w->mark + slot * s->n;
    uint32_t *raised = w->raised + (w->sel->forced_by_top ? slot * m : 0);
    const uint32_t *first = (s->first_order != NULL ? s->first_order : s->order) + id * m;
    size_t taken = s->lead + s->tail;
    memset(mark, 1, s->lead);
    memset(mark + s->n - s->tail, 1, s->tail);
    cursor *c = &w->heap[slot];
    *c = (cursor){.rank = s->rank + id * s->n, .order = s->order + id * m, .n = m, .mark = mark,
                  .id = id, .raised = raised, .top = s->top[id / s->heads]};
    if (taken == 0) {
        mark[c->order[0]] = 1;
        taken = 1;
    }
    for (size_t i = 0; i < forced && i < m; i++) {
        if (mark[first[i]] != 0)
            continue;
        mark[first[i]] = w->sel->forced_by_top ? 2 : 1;
        if (w->sel->forced_by_top)
            raised[c->n_raised++] = first[i];
        else
            taken++;
    }
    qsort(raised, c->n_raised, sizeof *raised, by_position);
    return taken;
}

/* Heads first .. first+heads-1 share `budget` entries. False: what is forced does not fit. */
static bool fill_unit(work *w, size_t first, size_t heads, size_t budget) {
    const kr_scores *s = w->s;
    memset(w->mark, 0, heads * s->n);
    budget = budget < heads ? heads : budget > heads * s->n ? heads * s->n : budget;
    if (budget < heads * protected_of(s)) {
        for (size_t i = 0; i < heads; i++)
            take_cut(s, budget / heads + (i < budget % heads), w->mark + i * s->n);
        w->cut = true;
        return true;
    }
    size_t taken = 0, n = 0;
    for (size_t i = 0; i < heads; i++)
        taken += open_head(w, first + i, i);
    if (taken > budget)
        return false;
    for (size_t i = 0; i < heads; i++)
        if (advance(&w->heap[i]))
            w->heap[n++] = w->heap[i];
    for (size_t i = n; i-- > 0;)
        sink(w->heap, n, i);
    for (; taken < budget; taken++) {
        cursor *c = &w->heap[0];
        w->mark[(c->id - first) * s->n + c->pos] = 3;
        if (!advance(c))
            *c = w->heap[--n];
        sink(w->heap, n, 0);
    }
    return true;
}

/* Marks to lists: every 1 and 3, not the 2 that were raised and lost. */
static void write_lists(const work *w, size_t first, size_t heads, kr_keep *k) {
    for (size_t i = 0; i < heads; i++) {
        const uint8_t *mark = w->mark + i * k->n;
        kr_kv_keep *h = &k->head[first + i];
        uint32_t *rows = k->rows + k->total;
        for (size_t j = 0; j < k->n; j++)
            if (mark[j] & 1)
                rows[h->n++] = (uint32_t)j;
        h->rows = rows;
        k->total += h->n;
    }
}

static size_t sum_budgets(const kr_scores *s, const kr_selection *sel, size_t unit) {
    size_t all = s->layers * s->heads, sum = 0;
    for (size_t u = 0; u < all / unit; u++) {
        size_t b = sel->budget[u], most = unit * s->n;
        sum += b < unit ? unit : b > most ? most : b;
    }
    return sum;
}

static kr_status run(work *w, size_t unit, kr_keep *k, kr_error *err) {
    size_t all = w->s->layers * w->s->heads;
    for (size_t u = 0; u < all / unit; u++) {
        if (!fill_unit(w, u * unit, unit, w->sel->budget[u]))
            return kr_fail(err, KR_ENUM, "protected and forced entries exceed the budget of %zu",
                           w->sel->budget[u]);
        write_lists(w, u * unit, unit, k);
    }
    return KR_OK;
}

kr_status kr_select(const kr_scores *s, const kr_selection *sel, kr_keep **out, kr_error *err) {
    size_t all = s->layers * s->heads, m = s->n - protected_of(s);
    size_t unit = sel->scope == KR_SCOPE_HEAD ? 1 : sel->scope == KR_SCOPE_LAYER ? s->heads : all;
    size_t meant = sum_budgets(s, sel, unit);
    kr_keep *k = NULL;
    kr_status st = new_keep(s->layers, s->heads, s->n, meant, &k, err);
    if (st != KR_OK)
        return st;
    work w = {.s = s, .sel = sel};
    w.mark = malloc(unit * s->n + 1);
    w.heap = calloc(unit, sizeof *w.heap);
    w.raised = malloc(((sel->forced_by_top ? unit * m : 0) + 1) * sizeof *w.raised);
    if (w.mark == NULL || w.heap == NULL || w.raised == NULL)
        st = no_memory(err, unit * s->n);
    if (st == KR_OK)
        st = run(&w, unit, k, err);
    free(w.mark);
    free(w.heap);
    free(w.raised);
    k->flags = sel->flags | (w.cut ? KR_WINDOW_TRUNC : 0);
    if (st == KR_OK)
        st = kr_keep_check(k, err);
    if (st == KR_OK && k->total != meant)
        st = kr_fail(err, KR_ENUM, "the selection holds %zu entries, the budget is %zu", k->total,
                     meant);
    if (st != KR_OK)
        kr_keep_free(k);
    else
        *out = k;
    return st;
}
