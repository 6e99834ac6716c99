#include "risk/split.h"

#include <stdlib.h>

#include "risk/random.h"

/* Rows brought together by cluster, clusters in the order of their first row. */
typedef struct {
    size_t row, unit;
    int64_t cluster;
} member;

static int by_cluster(const void *a, const void *b) {
    const member *x = a, *y = b;
    if (x->cluster != y->cluster)
        return x->cluster < y->cluster ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_unit(const void *a, const void *b) {
    const member *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* m[n] sorted by unit, where the unit of a row is the first row of its cluster. */
static kr_status group(size_t n, const int64_t *cluster, member **out, kr_error *err) {
    member *m = malloc((n > 0 ? n : 1) * sizeof *m);
    if (m == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a choice among %zu rows", n);
    for (size_t i = 0; i < n; i++)
        m[i] = (member){i, i, cluster == NULL ? -1 : cluster[i]};
    if (cluster != NULL) {
        qsort(m, n, sizeof *m, by_cluster);
        for (size_t i = 1; i < n; i++)
            if (m[i].cluster >= 0 && m[i].cluster == m[i - 1].cluster)
                m[i].unit = m[i - 1].unit;
        qsort(m, n, sizeof *m, by_unit);
    }
    *out = m;
    return KR_OK;
}

static size_t unit_end(const member *m, size_t n, size_t i) {
    size_t end = i + 1;
    while (end < n && m[end].unit == m[i].unit)
        end++;
    return end;
}

static kr_status check_tasks(size_t n, const uint32_t *task, size_t tasks, kr_error *err) {
    for (size_t i = 0; i < n; i++)
        if (task[i] >= tasks)
            return kr_fail(err, KR_EINVAL, "row %zu belongs to task %u of %zu", i, task[i], tasks);
    return KR_OK;
}

/* Starts of the units (places in m) whose first row is of task h; returns how many. */
static size_t units_of(const member *m, size_t n, const uint32_t *task, size_t h, size_t *start) {
    size_t count = 0;
    for (size_t i = 0; i < n; i = unit_end(m, n, i))
        if (task[m[i].row] == h)
            start[count++] = i;
    return count;
}

static void mark(const member *m, size_t n, size_t i, bool *keep) {
    for (size_t end = unit_end(m, n, i); i < end; i++)
        keep[m[i].row] = true;
}

kr_status kr_split_share(size_t n, const uint32_t *task, size_t tasks, const int64_t *cluster,
                         int64_t num, int64_t den, uint64_t seed, bool *keep, kr_error *err) {
    if (num <= 0 || num >= den || den > 1000000)
        return kr_fail(err, KR_EINVAL, "a share of %lld/%lld of the rows", (long long)num,
                       (long long)den);
    member *m = NULL;
    kr_status st = check_tasks(n, task, tasks, err);
    if (st == KR_OK)
        st = group(n, cluster, &m, err);
    if (st != KR_OK)
        return st;
    size_t *start = malloc((n > 0 ? n : 1) * sizeof *start);
    if (start == NULL) {
        free(m);
        return kr_fail(err, KR_ENOMEM, "out of memory for a choice among %zu rows", n);
    }
    for (size_t i = 0; i < n; i++)
        keep[i] = false;
    for (size_t h = 0; h < tasks; h++) {
        kr_random r = kr_random_start(seed, h);
        size_t units = units_of(m, n, task, h, start);
        kr_random_shuffle(&r, start, units);
        size_t wanted = (size_t)((2 * (int64_t)units * num + den) / (2 * den));
        for (size_t u = 0; u < wanted; u++)
            mark(m, n, start[u], keep);
    }
    free(start);
    free(m);
    return KR_OK;
}

kr_status kr_split_one_per_cluster(size_t n, const int64_t *cluster, uint64_t seed, bool *keep,
                                   kr_error *err) {
    member *m = NULL;
    kr_status st = group(n, cluster, &m, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0, end; i < n; i = end) {
        end = unit_end(m, n, i);
        kr_random r = kr_random_start(seed, m[i].unit);
        size_t chosen = i + (size_t)kr_random_below(&r, end - i);
        for (size_t j = i; j < end; j++)
            keep[m[j].row] = j == chosen;
    }
    free(m);
    return KR_OK;
}

/* Rows of task h, in order. */
static size_t rows_of(size_t n, const uint32_t *task, size_t h, size_t *row) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (task[i] == h)
            row[count++] = i;
    return count;
}

kr_status kr_split_take(size_t n, const uint32_t *task, size_t tasks, const int64_t *take,
                        uint64_t seed, bool *keep, kr_error *err) {
    kr_status st = check_tasks(n, task, tasks, err);
    if (st != KR_OK)
        return st;
    size_t *row = malloc((n > 0 ? n : 1) * sizeof *row);
    if (row == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a choice among %zu rows", n);
    for (size_t h = 0; h < tasks && st == KR_OK; h++) {
        size_t have = rows_of(n, task, h, row);
        if (take[h] < 0 || (uint64_t)take[h] > have)
            st = kr_fail(err, KR_EINVAL, "%lld rows wanted of task %zu, which has %zu",
                         (long long)take[h], h, have);
    }
    for (size_t i = 0; i < n && st == KR_OK; i++)
        keep[i] = false;
    for (size_t h = 0; h < tasks && st == KR_OK; h++) {
        kr_random r = kr_random_start(seed, h);
        size_t have = rows_of(n, task, h, row);
        kr_random_shuffle(&r, row, have);
        for (size_t i = 0; i < (size_t)take[h]; i++)
            keep[row[i]] = true;
    }
    free(row);
    return st;
}
