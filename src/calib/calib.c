#include "calib/calib.h"

#include <stdlib.h>
#include <string.h>

#include "calib/idset.h"
#include "calib/set.h"
#include "calib/sortdrops.h"

/* --- what is in it --------------------------------------------------------------------------- */

const kr_calib_meta *kr_calib_meta_of(const kr_calib *c) { return &c->meta; }
const char *kr_calib_path(const kr_calib *c) { return c->path != NULL ? c->path : ""; }
const char *kr_calib_sha256(const kr_calib *c) { return c->sha256; }
const kr_stamp *kr_calib_stamp(const kr_calib *c) { return &c->stamp; }
size_t kr_calib_policies(const kr_calib *c) { return c->m; }
const kr_policy *kr_calib_policy(const kr_calib *c, size_t p) { return &c->policy[p]; }
size_t kr_calib_methods(const kr_calib *c) { return c->n_methods; }
const kr_method *kr_calib_method(const kr_calib *c, size_t m) { return &c->method[m]; }
size_t kr_calib_tasks(const kr_calib *c) { return c->n_tasks; }
const char *kr_calib_task(const kr_calib *c, size_t t) { return c->task[t]; }
int64_t kr_calib_n(const kr_calib *c, kr_split s) { return c->part[s].n; }
size_t kr_calib_rows(const kr_calib *c) { return c->rows; }

int kr_calib_find_method(const kr_calib *c, const char *name) {
    for (size_t i = 0; i < c->n_methods; i++)
        if (strcmp(c->method[i].name, name) == 0)
            return (int)i;
    return -1;
}

int64_t kr_calib_task_n(const kr_calib *c, kr_split s, size_t task) {
    return c->part[s].task_n != NULL ? c->part[s].task_n[task] : 0;
}

bool kr_calib_task_uniform(const kr_calib *c, kr_split s) {
    const kr_part *p = &c->part[s];
    if (c->meta.kind == KR_KIND_COUNTS)
        return c->meta.counts_tasks > 0 && p->n > 0 && p->n % c->meta.counts_tasks == 0;
    for (size_t t = 1; t < c->n_tasks; t++)
        if (p->task_n[t] != p->task_n[0])
            return false;
    return p->n > 0;
}

int64_t kr_calib_cluster_repeats(const kr_calib *c, kr_split s) {
    return c->part[s].cluster_repeats;
}

bool kr_calib_realised(const kr_calib *c, size_t policy, double *mean, double *min, double *max) {
    const kr_realised *r = c->realised != NULL ? &c->realised[policy] : NULL;
    if (r == NULL || r->count == 0)
        return false;
    *mean = r->sum / (double)r->count;
    *min = r->min;
    *max = r->max;
    return true;
}

/* --- rows ------------------------------------------------------------------------------------ */

kr_request kr_calib_row(const kr_calib *c, size_t row) {
    const kr_row *r = kr_calib_row_at(c, row);
    kr_request q = {
        .id = r->id,
        .id_len = r->id_len,
        .task = r->task,
        .split = (kr_split)r->split,
        .tokens = r->tokens,
        .full = r->full,
        .full2 = KR_NO_RUN,
    };
    if (r->rare != NULL) {
        q.cluster = r->rare->cluster;
        q.cluster_len = r->rare->cluster_len;
        q.extra = r->rare->extra;
        q.extra_len = r->rare->extra_len;
        q.full2 = r->rare->full2;
    }
    return q;
}

int64_t kr_calib_utility(const kr_calib *c, size_t row, size_t policy) {
    const kr_block *b = c->block[row / KR_BLOCK];
    size_t at = policy * KR_BLOCK + row % KR_BLOCK;
    if (c->wide)
        return b->u.wide[at];
    return b->u.narrow[at] == INT32_MIN ? KR_MISSING : b->u.narrow[at];
}

int64_t kr_calib_row_drop(const kr_calib *c, size_t row, size_t policy) {
    int64_t full = kr_calib_row_at(c, row)->full, u = kr_calib_utility(c, row, policy);
    return full == KR_MISSING || u == KR_MISSING ? INT64_MAX : full - u;
}

/* --- sorted drops ---------------------------------------------------------------------------- */

/* First index of d[0..n) whose value exceeds x. */
static size_t above_i32(const int32_t *d, size_t n, int64_t x) {
    if (x >= INT32_MAX)
        x = INT32_MAX - 1; /* missing ones exceed every tolerance */
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d[mid] > x)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static size_t above_i64(const int64_t *d, size_t n, int64_t x) {
    if (x == INT64_MAX)
        x = INT64_MAX - 1;
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d[mid] > x)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* A sorted run of drops of either width. */
typedef struct {
    const void *d;
    size_t from, n;
    bool wide;
} run;

static size_t run_above(run r, int64_t x) {
    return r.wide ? above_i64((const int64_t *)r.d + r.from, r.n, x)
                  : above_i32((const int32_t *)r.d + r.from, r.n, x);
}

static int64_t run_at(run r, int64_t rank) {
    if (r.wide)
        return ((const int64_t *)r.d)[r.from + (size_t)rank];
    int32_t v = ((const int32_t *)r.d)[r.from + (size_t)rank];
    return v == INT32_MAX ? INT64_MAX : v;
}

static run policy_run(const kr_calib *c, size_t policy, kr_split s) {
    size_t n = (size_t)c->part[s].n;
    return (run){c->part[s].d, policy * n, n, c->wide};
}

int64_t kr_calib_events(const kr_calib *c, size_t policy, kr_split s, int64_t tolerance) {
    if (c->meta.kind == KR_KIND_COUNTS)
        return s == KR_SPLIT_CAL ? c->policy[policy].events : c->policy[policy].test_events;
    run r = policy_run(c, policy, s);
    return (int64_t)(r.n - run_above(r, tolerance));
}

int64_t kr_calib_missing(const kr_calib *c, size_t policy, kr_split s) {
    return c->part[s].missing != NULL ? c->part[s].missing[policy] : 0;
}

int64_t kr_calib_any_missing(const kr_calib *c, kr_split s) {
    bool any = false;
    int64_t count = 0;
    for (size_t j = 0; j < c->m && !any; j++)
        any = kr_calib_missing(c, j, s) > 0;
    for (size_t i = 0; i < c->rows && any; i++) {
        bool missing = false;
        for (size_t j = 0; j < c->m && !missing; j++)
            missing = kr_calib_row_drop(c, i, j) == INT64_MAX;
        count += missing && kr_calib_row_at(c, i)->split == (uint8_t)s;
    }
    return count;
}

int64_t kr_calib_drop(const kr_calib *c, size_t policy, kr_split s, int64_t rank) {
    return run_at(policy_run(c, policy, s), rank);
}

/* --- building the index ---------------------------------------------------------------------- */

static int64_t wide_drop(const kr_row *r, int64_t utility) {
    return r->full == KR_MISSING || utility == KR_MISSING ? INT64_MAX : r->full - utility;
}

static int32_t narrow_drop(const kr_row *r, int32_t utility) {
    return r->full == KR_MISSING || utility == INT32_MIN ? INT32_MAX : (int32_t)(r->full - utility);
}

/* Copies the drops of one policy and split, in row order, to d[n] (int32 or int64). */
static void gather(const kr_calib *c, size_t policy, kr_split s, void *d) {
    size_t k = 0;
    for (size_t b = 0; b < c->n_blocks; b++) {
        const kr_block *block = c->block[b];
        size_t n = c->rows - b * KR_BLOCK < KR_BLOCK ? c->rows - b * KR_BLOCK : KR_BLOCK;
        for (size_t i = 0; i < n; i++) {
            const kr_row *r = &block->row[i];
            if (r->split != (uint8_t)s)
                continue;
            if (c->wide)
                ((int64_t *)d)[k++] = wide_drop(r, block->u.wide[policy * KR_BLOCK + i]);
            else
                ((int32_t *)d)[k++] = narrow_drop(r, block->u.narrow[policy * KR_BLOCK + i]);
        }
    }
}

static kr_status sort_part(kr_calib *c, kr_split s, kr_error *err) {
    kr_part *p = &c->part[s];
    size_t n = (size_t)p->n, width = c->wide ? sizeof(int64_t) : sizeof(int32_t);
    if (n == 0)
        return KR_OK;
    p->d = c->m <= SIZE_MAX / width / n ? malloc(c->m * n * width) : NULL;
    void *scratch = malloc(n * width);
    if (p->d == NULL || scratch == NULL) {
        free(scratch);
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu x %zu drops", n, c->m);
    }
    for (size_t j = 0; j < c->m; j++) {
        char *d = (char *)p->d + j * n * width;
        gather(c, j, s, d);
        if (c->wide)
            kr_sort_i64((int64_t *)(void *)d, n, scratch);
        else
            kr_sort_i32((int32_t *)(void *)d, n, scratch);
        /* Missing ones, INT64_MAX, come last. */
        p->missing[j] = (int64_t)(n - run_above(policy_run(c, j, s), INT64_MAX - 1));
    }
    free(scratch);
    return KR_OK;
}

static const char *cluster_text(const void *ctx, size_t row, size_t *len) {
    const kr_row *r = kr_calib_row_at(ctx, row);
    *len = r->rare->cluster_len;
    return r->rare->cluster;
}

static kr_status count_clusters(kr_calib *c, kr_split s, kr_error *err) {
    kr_idset seen = kr_idset_make(cluster_text, c);
    kr_status st = KR_OK;
    for (size_t i = 0; i < c->rows && st == KR_OK; i++) {
        const kr_row *r = kr_calib_row_at(c, i);
        if (r->split != (uint8_t)s || r->rare == NULL || r->rare->cluster == NULL)
            continue;
        if (kr_idset_find(&seen, r->rare->cluster, r->rare->cluster_len) >= 0)
            c->part[s].cluster_repeats++;
        else if (!kr_idset_add(&seen, i))
            st = kr_fail(err, KR_ENOMEM, "out of memory");
    }
    kr_idset_free(&seen);
    return st;
}

kr_status kr_calib_index(kr_calib *c, kr_error *err) {
    for (int s = 0; s < 2; s++) {
        kr_part *p = &c->part[s];
        p->task_n = calloc(c->n_tasks + 1, sizeof *p->task_n);
        p->missing = calloc(c->m + 1, sizeof *p->missing);
        if (p->task_n == NULL || p->missing == NULL)
            return kr_fail(err, KR_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < c->rows; i++) {
        const kr_row *r = kr_calib_row_at(c, i);
        c->part[r->split].n++;
        c->part[r->split].task_n[r->task]++;
    }
    for (int s = 0; s < 2; s++) {
        kr_status st = sort_part(c, (kr_split)s, err);
        if (st == KR_OK)
            st = count_clusters(c, (kr_split)s, err);
        if (st != KR_OK)
            return st;
    }
    return KR_OK;
}

const char *kr_calib_keep(kr_calib *c, const char *text) {
    return kr_arena_copy(&c->arena, text, strlen(text));
}

void kr_calib_free(kr_calib *c) {
    if (c == NULL)
        return;
    for (size_t b = 0; b < c->n_blocks; b++) {
        free(c->block[b]->u.wide);
        free(c->block[b]);
    }
    free(c->block);
    for (int s = 0; s < 2; s++) {
        free(c->part[s].d);
        free(c->part[s].missing);
        free(c->part[s].task_n);
    }
    free(c->realised);
    kr_arena_free(&c->arena);
    free(c);
}

/* --- one policy by task ---------------------------------------------------------------------- */

struct kr_task_drops {
    bool wide;
    void *d;       /* sorted within each task */
    size_t *start; /* [tasks + 1] */
};

static run task_run(const kr_task_drops *t, size_t task) {
    return (run){t->d, t->start[task], t->start[task + 1] - t->start[task], t->wide};
}

/* Row by row within each block, so that memory is read in order. */
static void scatter(const kr_calib *c, size_t policy, kr_split s, size_t *at, void *d) {
    for (size_t b = 0; b < c->n_blocks; b++) {
        const kr_block *block = c->block[b];
        size_t n = c->rows - b * KR_BLOCK < KR_BLOCK ? c->rows - b * KR_BLOCK : KR_BLOCK;
        for (size_t i = 0; i < n; i++) {
            const kr_row *r = &block->row[i];
            if (r->split != (uint8_t)s)
                continue;
            if (c->wide)
                ((int64_t *)d)[at[r->task]++] = wide_drop(r, block->u.wide[policy * KR_BLOCK + i]);
            else
                ((int32_t *)d)[at[r->task]++] =
                    narrow_drop(r, block->u.narrow[policy * KR_BLOCK + i]);
        }
    }
}

static void sort_run(run r, void *d, void *scratch) {
    if (r.wide)
        kr_sort_i64((int64_t *)d + r.from, r.n, scratch);
    else
        kr_sort_i32((int32_t *)d + r.from, r.n, scratch);
}

kr_task_drops *kr_task_drops_new(const kr_calib *c, size_t policy, kr_split s) {
    size_t n = (size_t)c->part[s].n, width = c->wide ? sizeof(int64_t) : sizeof(int32_t);
    kr_task_drops *t = calloc(1, sizeof *t);
    size_t *at = calloc(c->n_tasks + 1, sizeof *at);
    void *scratch = malloc((n + 1) * width);
    if (t != NULL) {
        t->wide = c->wide;
        t->d = malloc((n + 1) * width);
        t->start = calloc(c->n_tasks + 1, sizeof *t->start);
    }
    if (t == NULL || at == NULL || scratch == NULL || t->d == NULL || t->start == NULL) {
        free(at);
        free(scratch);
        kr_task_drops_free(t);
        return NULL;
    }
    for (size_t k = 0; k < c->n_tasks; k++)
        at[k + 1] = t->start[k + 1] = t->start[k] + (size_t)c->part[s].task_n[k];
    scatter(c, policy, s, at, t->d);
    for (size_t k = 0; k < c->n_tasks; k++)
        sort_run(task_run(t, k), t->d, scratch);
    free(at);
    free(scratch);
    return t;
}

void kr_task_drops_free(kr_task_drops *t) {
    if (t == NULL)
        return;
    free(t->d);
    free(t->start);
    free(t);
}

int64_t kr_task_drops_n(const kr_task_drops *t, size_t task) { return (int64_t)task_run(t, task).n; }

int64_t kr_task_drops_events(const kr_task_drops *t, size_t task, int64_t tolerance) {
    run r = task_run(t, task);
    return (int64_t)(r.n - run_above(r, tolerance));
}

int64_t kr_task_drops_missing(const kr_task_drops *t, size_t task) {
    return kr_task_drops_events(t, task, INT64_MAX - 1);
}

int64_t kr_task_drops_at(const kr_task_drops *t, size_t task, int64_t rank) {
    return run_at(task_run(t, task), rank);
}
