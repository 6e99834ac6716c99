#include "verdict/rows.h"

#include <stdlib.h>
#include <string.h>

#include "verdict/repeats.h"

typedef struct {
    kr_request r;
    size_t row, at; /* at: position by task and id */
    kr_span label;  /* cluster or prompt in hand; s NULL: none */
} keyed;

static int compare_text(const char *a, size_t na, const char *b, size_t nb) {
    int d = memcmp(a, b, na < nb ? na : nb);
    return d != 0 ? d : (na > nb) - (na < nb);
}

static int by_task_and_id(const void *x, const void *y) {
    const keyed *a = x, *b = y;
    if (a->r.task != b->r.task)
        return a->r.task < b->r.task ? -1 : 1;
    return compare_text(a->r.id, a->r.id_len, b->r.id, b->r.id_len);
}

static int compare_span(kr_span a, kr_span b) {
    if ((a.s == NULL) != (b.s == NULL))
        return a.s == NULL ? 1 : -1;
    return a.s == NULL ? 0 : compare_text(a.s, a.len, b.s, b.len);
}

static int by_label(const void *x, const void *y) {
    const keyed *a = x, *b = y;
    int d = compare_span(a->label, b->label);
    return d != 0 ? d : (a->at > b->at) - (a->at < b->at);
}

/* unit[i] <= i is another row of the same unit, or i itself: the first one. */
static size_t first_of(int64_t *unit, size_t i) {
    while (unit[i] != (int64_t)i) {
        unit[i] = unit[unit[i]];
        i = (size_t)unit[i];
    }
    return i;
}

/* Rows with the same label become one unit. */
static void join_labels(keyed *k, const kr_rows *r) {
    qsort(k, r->n, sizeof *k, by_label);
    for (size_t i = 1; i < r->n; i++) {
        if (k[i].label.s == NULL || compare_span(k[i - 1].label, k[i].label) != 0)
            continue;
        size_t a = first_of(r->cluster, k[i - 1].at), b = first_of(r->cluster, k[i].at);
        r->cluster[a > b ? a : b] = (int64_t)(a < b ? a : b);
    }
}

static kr_span cluster_of(const kr_request *q) {
    return q->cluster != NULL ? (kr_span){q->cluster, q->cluster_len} : (kr_span){NULL, 0};
}

/* Requests depend on each other where they share a cluster or a prompt, directly or through others. */
static kr_status number_units(keyed *k, kr_rows *r, kr_error *err) {
    bool *has = calloc(r->n + 1, sizeof *has);
    if (has == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu requests", r->n);
    for (size_t i = 0; i < r->n; i++)
        r->cluster[i] = (int64_t)i;
    for (int by_prompt = 0; by_prompt < 2; by_prompt++) {
        for (size_t i = 0; i < r->n; i++) {
            if (by_prompt == 0)
                k[i].label = cluster_of(&k[i].r);
            else if (!kr_prompt_of(&k[i].r, &k[i].label))
                k[i].label = (kr_span){NULL, 0};
            has[k[i].at] = has[k[i].at] || k[i].label.s != NULL;
        }
        join_labels(k, r);
    }
    for (size_t i = 0; i < r->n; i++)
        r->cluster[i] = (int64_t)first_of(r->cluster, i);
    for (size_t i = 0; i < r->n; i++) /* the first row of a unit has its number by now */
        if (r->cluster[i] != (int64_t)i)
            r->cluster[i] = r->cluster[r->cluster[i]];
        else
            r->cluster[i] = has[i] ? (int64_t)r->clusters++ : -1;
    free(has);
    return KR_OK;
}

kr_status kr_rows_of(const kr_calib *c, kr_split s, kr_rows *out, kr_error *err) {
    size_t all = kr_calib_rows(c), cap = all > 0 ? all : 1;
    kr_rows r = {.row = malloc(cap * sizeof *r.row),
                 .task = malloc(cap * sizeof *r.task),
                 .cluster = malloc(cap * sizeof *r.cluster)};
    keyed *k = malloc(cap * sizeof *k);
    if (r.row == NULL || r.task == NULL || r.cluster == NULL || k == NULL) {
        free(k);
        kr_rows_free(&r);
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu requests", all);
    }
    for (size_t i = 0; i < all; i++) {
        kr_request q = kr_calib_row(c, i);
        if (q.split == s)
            k[r.n++] = (keyed){.r = q, .row = i};
    }
    qsort(k, r.n, sizeof *k, by_task_and_id);
    for (size_t i = 0; i < r.n; i++) {
        r.row[i] = k[i].row;
        r.task[i] = (uint32_t)k[i].r.task;
        k[i].at = i;
    }
    kr_status st = number_units(k, &r, err);
    free(k);
    if (st == KR_OK)
        *out = r;
    else
        kr_rows_free(&r);
    return st;
}

void kr_rows_free(kr_rows *r) {
    free(r->row);
    free(r->task);
    free(r->cluster);
    *r = (kr_rows){0};
}
