#include "verdict/rows.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    kr_request r;
    size_t row;
    int64_t at; /* position by task and id */
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

static int by_cluster(const void *x, const void *y) {
    const keyed *a = x, *b = y;
    if ((a->r.cluster == NULL) != (b->r.cluster == NULL))
        return a->r.cluster == NULL ? 1 : -1;
    int d = a->r.cluster == NULL
                ? 0
                : compare_text(a->r.cluster, a->r.cluster_len, b->r.cluster, b->r.cluster_len);
    return d != 0 ? d : (a->at > b->at) - (a->at < b->at);
}

static void number_clusters(keyed *k, kr_rows *r) {
    qsort(k, r->n, sizeof *k, by_cluster);
    for (size_t i = 0; i < r->n; i++) {
        const keyed *p = i > 0 ? &k[i - 1] : NULL;
        bool alone = k[i].r.cluster == NULL;
        bool same = !alone && p != NULL &&
                    compare_text(p->r.cluster, p->r.cluster_len, k[i].r.cluster,
                                 k[i].r.cluster_len) == 0;
        if (!alone && !same)
            r->clusters++;
        r->cluster[k[i].at] = alone ? -1 : (int64_t)r->clusters - 1;
    }
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
            k[r.n++] = (keyed){q, i, 0};
    }
    qsort(k, r.n, sizeof *k, by_task_and_id);
    for (size_t i = 0; i < r.n; i++) {
        r.row[i] = k[i].row;
        r.task[i] = (uint32_t)k[i].r.task;
        k[i].at = (int64_t)i;
    }
    number_clusters(k, &r);
    free(k);
    *out = r;
    return KR_OK;
}

void kr_rows_free(kr_rows *r) {
    free(r->row);
    free(r->task);
    free(r->cluster);
    *r = (kr_rows){0};
}
