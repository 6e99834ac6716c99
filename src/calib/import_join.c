/* import_join.c - joins the rows of a run to the requests of the full-KV run. */
#include "calib/import_core.h"

#include <stdlib.h>
#include <string.h>

/* An appended second pass repeats the sequence of keys exactly; then the first half is kept. */
static void halve_doubled(kr_import *im, kr_run *run) {
    size_t half = im->n_rows / 2;
    if (im->n_rows < 4 || im->n_rows % 2 != 0)
        return;
    for (size_t i = 0; i < half; i++)
        if (!kr_key_equal(im->rows[i].key, im->rows[i + half].key) ||
            im->rows[i].id_key != im->rows[i + half].id_key)
            return;
    for (size_t i = 1; i < half; i++) /* one row over and over is no doubled file */
        if (!kr_key_equal(im->rows[i].key, im->rows[0].key)) {
            kr_import_say(im, KR_NOTE_WARNING,
                          "%s holds every row twice in the same order (a second run was appended): "
                          "the first %zu of %zu rows are used.",
                          run->name, half, im->n_rows);
            im->n_rows = half;
            return;
        }
}

static bool all_have_ids(const kr_import *im) {
    for (size_t i = 0; i < im->n_rows; i++)
        if (im->rows[i].id_key == 0)
            return false;
    return im->n_rows > 0;
}

/* --- a hash index over rows or requests --------------------------------------------------------- */

typedef struct {
    uint32_t *slot; /* [size] row + 1, 0 empty */
    uint32_t *next; /* [n] next row of the same key + 1, in order; 0 none */
    uint32_t *tail; /* [n] of the chain that begins here */
    size_t size;
    bool ids;
} index_t;

typedef struct {
    const kr_irow *first;
    size_t stride; /* bytes from one row to the next */
    size_t n;
} row_view;

static const kr_irow *row_at(const row_view *v, size_t i) {
    return (const kr_irow *)(const void *)((const char *)v->first + i * v->stride);
}

static bool same_row(const kr_irow *a, const kr_irow *b, bool ids) {
    return ids ? a->id_key == b->id_key : kr_key_equal(a->key, b->key) && a->task == b->task;
}

static size_t start_slot(const index_t *x, const kr_irow *r) {
    uint64_t h = x->ids ? r->id_key * UINT64_C(0x9e3779b97f4a7c15) : r->key.a ^ r->key.b;
    return (size_t)(h ^ h >> 32) & (x->size - 1);
}

/* Head of the chain of a row's key, or KR_NONE. */
static size_t lookup(const index_t *x, const row_view *v, const kr_irow *r) {
    for (size_t s = start_slot(x, r); x->slot[s] != 0; s = (s + 1) & (x->size - 1))
        if (same_row(row_at(v, x->slot[s] - 1), r, x->ids))
            return x->slot[s] - 1;
    return KR_NONE;
}

static void index_free(index_t *x) {
    free(x->slot);
    free(x->next);
    free(x->tail);
}

static bool index_make(index_t *x, const row_view *v, bool ids) {
    size_t size = 16;
    while (size < 2 * v->n)
        size *= 2;
    *x = (index_t){calloc(size, sizeof *x->slot), calloc(v->n + 1, sizeof *x->next),
                   calloc(v->n + 1, sizeof *x->tail), size, ids};
    if (x->slot == NULL || x->next == NULL || x->tail == NULL) {
        index_free(x);
        return false;
    }
    for (size_t i = 0; i < v->n; i++) {
        size_t head = lookup(x, v, row_at(v, i));
        if (head != KR_NONE) {
            x->next[x->tail[head]] = (uint32_t)(i + 1);
            x->tail[head] = (uint32_t)i;
            continue;
        }
        size_t s = start_slot(x, row_at(v, i));
        while (x->slot[s] != 0)
            s = (s + 1) & (size - 1);
        x->slot[s] = (uint32_t)(i + 1);
        x->tail[i] = (uint32_t)i;
    }
    return true;
}

/* --- the full-KV run ----------------------------------------------------------------------------- */

static kr_status repeated_id(const kr_run *run, const kr_irow *a, const kr_irow *b, kr_error *err) {
    return kr_fail(
        err, KR_EFORMAT,
        "%s:%u: the same request as at line %u, with another %s; which one counts cannot be known",
        run->path, (unsigned)b->line, (unsigned)a->line,
        a->prediction != b->prediction ? "prediction" : "score");
}

/* Rows with an id seen before are dropped when they say the same, refused when they do not. */
static kr_status drop_repeats(kr_import *im, kr_run *run, kr_error *err) {
    row_view v = {im->rows, sizeof *im->rows, im->n_rows};
    bool *repeated = calloc(v.n + 1, sizeof *repeated);
    index_t x;
    if (repeated == NULL || !index_make(&x, &v, true)) {
        free(repeated);
        return kr_fail(err, KR_ENOMEM, "out of memory to find repeated ids in %s", run->path);
    }
    kr_status st = KR_OK;
    for (size_t i = 0; i < v.n && st == KR_OK; i++) {
        size_t again = x.next[i];
        if (again == 0)
            continue;
        if (im->rows[again - 1].prediction != im->rows[i].prediction ||
            im->rows[again - 1].utility != im->rows[i].utility)
            st = repeated_id(run, &im->rows[i], &im->rows[again - 1], err);
        repeated[again - 1] = true;
        run->repeated++;
    }
    size_t kept = 0;
    for (size_t i = 0; i < v.n && st == KR_OK; i++)
        if (!repeated[i])
            im->rows[kept++] = im->rows[i];
    if (st == KR_OK)
        im->n_rows = kept;
    index_free(&x);
    free(repeated);
    return st;
}

/* The means by task are of the rows that count. */
static void recount(const kr_import *im, kr_run *run) {
    for (size_t t = 0; t < run->n_sum; t++) {
        run->sum[t] = 0;
        run->count[t] = 0;
    }
    for (size_t i = 0; i < im->n_rows; i++)
        if (im->rows[i].utility != KR_MISSING && im->rows[i].task < run->n_sum) {
            run->sum[im->rows[i].task] += (double)im->rows[i].utility / 1e9;
            run->count[im->rows[i].task]++;
        }
}

static kr_status tidy(kr_import *im, kr_run *run, bool *ids, kr_error *err) {
    size_t before = im->n_rows;
    *ids = all_have_ids(im);
    /* No tool appends to a table of one's own: there an id that comes again must say the same. */
    if (!*ids || im->importer != &kr_importer_generic)
        halve_doubled(im, run);
    *ids = all_have_ids(im);
    kr_status st = *ids ? drop_repeats(im, run, err) : KR_OK;
    if (st == KR_OK && im->n_rows != before)
        recount(im, run);
    if (run->repeated > 0)
        kr_import_say(im, KR_NOTE_WARNING,
                      "%s: %zu rows repeat an earlier row and are not counted.", run->name,
                      run->repeated);
    if (run->unscored > 0)
        kr_import_say(im, KR_NOTE_WARNING, "%s: %zu of %zu rows could not be scored (%s).",
                      run->name, run->unscored, run->rows, run->unscored_why);
    if (run->native_differs > 0)
        kr_import_say(
            im, KR_NOTE_WARNING,
            "%s: the source's own score differs from the recomputed one in %zu of %zu rows; "
            "the source's is used.",
            run->name, run->native_differs, run->native_seen);
    return st;
}

/* Rows that share their key with another. */
static kr_status count_alike(const kr_import *im, size_t *out, kr_error *err) {
    row_view v = {im->rows, sizeof *im->rows, im->n_rows};
    index_t x;
    if (!index_make(&x, &v, false))
        return kr_fail(err, KR_ENOMEM, "out of memory to compare rows");
    for (size_t i = 0; i < v.n; i++)
        *out += x.next[i] != 0 || x.tail[i] != i || lookup(&x, &v, row_at(&v, i)) != i;
    index_free(&x);
    return KR_OK;
}

kr_status kr_import_join_full(kr_import *im, kr_group *g, kr_run *run, kr_error *err) {
    kr_status st = tidy(im, run, &g->ids, err);
    if (st == KR_OK && !g->ids)
        st = count_alike(im, &g->alike, err);
    if (st != KR_OK)
        return st;
    if (g->alike == im->n_rows && im->n_rows >= 4)
        return kr_fail(err, KR_EFORMAT,
                       "%s: every request occurs more than once and not in the same order again (a "
                       "second run was appended?); which rows count cannot be known",
                       run->path);
    size_t need = im->n_reqs + im->n_rows;
    if (need > UINT32_MAX / 2)
        return kr_fail(err, KR_EFORMAT, "more than %u requests", UINT32_MAX / 2);
    if (need > im->cap_reqs) {
        kr_req *p = realloc(im->reqs, need * sizeof *p);
        if (p == NULL)
            return kr_fail(err, KR_ENOMEM, "out of memory for %zu requests", need);
        im->reqs = p;
        im->cap_reqs = need;
    }
    g->first = im->n_reqs;
    g->n = im->n_rows;
    for (size_t i = 0; i < g->n; i++)
        im->reqs[im->n_reqs++] =
            (kr_req){.row = im->rows[i], .full2 = KR_NO_RUN, .group = (uint32_t)(g - im->groups)};
    run->matched = g->n;
    return KR_OK;
}

/* --- a compressed run ------------------------------------------------------------------------------ */

typedef struct {
    kr_import *im;
    kr_group *g;
    kr_run *run;
    int64_t *utility;
    bool ids;
    size_t ambiguous, other_answers;
    uint32_t other_line;
} joint;

static void pair(joint *j, size_t at, const kr_irow *row) {
    kr_req *q = &j->im->reqs[j->g->first + at];
    j->utility[j->g->first + at] = row->utility;
    j->run->matched++;
    if (!j->run->full)
        q->matched++;
    j->run->prompts_differ +=
        q->row.prompt != 0 && row->prompt != 0 && q->row.prompt != row->prompt;
    if (q->row.answers != row->answers && j->other_answers++ == 0)
        j->other_line = row->line;
}

/* The same rows in the same order, one of the two perhaps cut short: then position is safe even where
 * keys repeat. */
static bool same_order(const joint *j) {
    const kr_import *im = j->im;
    row_view v = {&im->reqs[j->g->first].row, sizeof *im->reqs, j->g->n};
    for (size_t i = 0; i < im->n_rows && i < j->g->n; i++)
        if (!same_row(&im->rows[i], row_at(&v, i), j->ids))
            return false;
    return true;
}

static kr_status pair_by_index(joint *j, kr_error *err) {
    kr_import *im = j->im;
    row_view v = {&im->reqs[j->g->first].row, sizeof *im->reqs, j->g->n};
    uint32_t *next_free = malloc((v.n + 1) * sizeof *next_free);
    index_t x;
    if (next_free == NULL || !index_make(&x, &v, j->ids)) {
        free(next_free);
        return kr_fail(err, KR_ENOMEM, "out of memory to join %s", j->run->name);
    }
    for (size_t i = 0; i < v.n; i++)
        next_free[i] = (uint32_t)(i + 1);
    for (size_t i = 0; i < im->n_rows; i++) {
        size_t head = lookup(&x, &v, &im->rows[i]);
        if (head == KR_NONE || next_free[head] == 0) {
            j->run->surplus++;
            continue;
        }
        size_t at = next_free[head] - 1;
        j->ambiguous += x.next[head] != 0;
        next_free[head] = x.next[at];
        pair(j, at, &im->rows[i]);
    }
    index_free(&x);
    free(next_free);
    return KR_OK;
}

static const char *lack_words(kr_lack lack) {
    static const char *const words[] = {[KR_LACK_EVENT] = "counted as degradation events",
                                        [KR_LACK_ROW] = "left out for all policies",
                                        [KR_LACK_TASK] = "their tasks are left out"};
    return words[lack];
}

static void report(joint *j) {
    kr_import *im = j->im;
    kr_run *r = j->run;
    size_t n = j->g->n;
    r->lacking = n - r->matched;
    if (r->matched == 0) {
        kr_import_say(
            im, KR_NOTE_WARNING,
            "%s: none of its %zu rows is in the full-KV run %s (%zu rows): other requests.",
            r->name, im->n_rows, im->runs[j->g->full].name, n);
        return;
    }
    if (im->n_rows != n)
        kr_import_say(im, KR_NOTE_WARNING, "%s has %zu rows, the full-KV run %zu.", r->name,
                      im->n_rows, n);
    if (r->lacking > 0)
        kr_import_say(im, KR_NOTE_WARNING, "%s: %zu of %zu requests have no row in it (%s).",
                      r->name, r->lacking, n,
                      r->full ? "no second score" : lack_words(im->opts.lack));
    if (r->surplus > 0)
        kr_import_say(im, KR_NOTE_WARNING,
                      "%s: %zu rows are not in the full-KV run and are not used.", r->name,
                      r->surplus);
    if (r->order_differs)
        kr_import_say(im, KR_NOTE_INFO,
                      "%s: rows in another order than the full-KV run, joined by %s.", r->name,
                      r->joined_by);
    if (strcmp(r->joined_by, "position") == 0)
        kr_import_say(im, KR_NOTE_INFO,
                      "%s: joined by position, because %zu rows of the full-KV run share their "
                      "content with another; both files have the same order of contents.",
                      r->name, j->g->alike);
    if (r->prompts_differ > 0)
        kr_import_say(
            im, KR_NOTE_WARNING,
            "%s: %zu prompts differ from those of the full-KV run (another chat template, "
            "or other examples): the drop is not only the cache's.",
            r->name, r->prompts_differ);
    if (j->ambiguous > 0)
        kr_import_say(im, KR_NOTE_WARNING,
                      "%s: %zu rows with the same content as another were joined in order of "
                      "occurrence, as asked.",
                      r->name, j->ambiguous);
}

kr_status kr_import_join_run(kr_import *im, kr_group *g, kr_run *run, int64_t *utility,
                             kr_error *err) {
    joint j = {.im = im, .g = g, .run = run, .utility = utility};
    bool ids = false;
    kr_status st = tidy(im, run, &ids, err);
    if (st != KR_OK)
        return st;
    j.ids = ids && g->ids;
    run->joined_by = j.ids ? "id" : "key";
    if (same_order(&j)) {
        for (size_t i = 0; i < im->n_rows && i < g->n; i++)
            pair(&j, i, &im->rows[i]);
        run->surplus = im->n_rows > g->n ? im->n_rows - g->n : 0;
        if (g->alike > 0 && !j.ids)
            run->joined_by = "position";
    } else {
        run->order_differs = im->n_rows == g->n;
        if ((st = pair_by_index(&j, err)) != KR_OK)
            return st;
    }
    if (j.other_answers > 0)
        return kr_fail(
            err, KR_EFORMAT,
            "%s:%u: the reference answers differ from those of the full-KV run (%zu rows): "
            "another version of the data",
            run->path, (unsigned)j.other_line, j.other_answers);
    if (j.ambiguous > 0 && !im->opts.by_occurrence)
        return kr_fail(err, KR_EFORMAT,
                       "%s: %zu rows cannot be told apart (same content, no id) and are not in the "
                       "order of the full-KV run; --by-occurrence joins them in order all the same",
                       run->name, j.ambiguous);
    g->joined += run->matched > 0 && !run->full;
    report(&j);
    return KR_OK;
}
