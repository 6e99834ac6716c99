/* calibrate_merge.c - the shards of a calibration run become one file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "calib/calib.h"
#include "sample/calibrate.h"

enum { MAX_LINE = 64 << 20 };

typedef struct {
    const char *path;
    kr_lines *lines;
    char *header; /* as that of the whole run */
    size_t n, shard, shards, run_n;
    char ids[KR_SHA256_HEX];
    kr_calib *rows; /* NULL when there are none */
} part;

static kr_status no_shard(const part *p, kr_error *err) {
    return kr_fail(err, KR_EFORMAT,
                   "%s:1: is no shard of this version: expected a header that ends in \"n\", "
                   "\"shard\", \"run_n\" and \"ids\"",
                   p->path);
}

/* Takes the shard off the end of a header line and puts the end of a whole run there. */
static kr_status read_shard(part *p, const char *line, size_t len, kr_error *err) {
    static const char key[] = ",\"n\":";
    char again[256];
    p->header = malloc(len + 64);
    if (p->header == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %s", p->path);
    memcpy(p->header, line, len);
    p->header[len] = '\0';
    char *at = NULL;
    for (char *s = p->header; (s = strstr(s, key)) != NULL; s++)
        at = s;
    if (strlen(p->header) != len || at == NULL ||
        sscanf(at, ",\"n\":%9zu,\"shard\":\"%10zu/%10zu\",\"run_n\":%9zu,\"ids\":\"%64[0-9a-f]\"}",
               &p->n, &p->shard, &p->shards, &p->run_n, p->ids) != 5)
        return no_shard(p, err);
    snprintf(again, sizeof again, KR_CALIBRATE_SHARD_END, p->n, p->shard, p->shards, p->run_n,
             p->ids);
    again[strlen(again) - 1] = '\0';
    if (strcmp(at, again) != 0 || p->shard < 1 || p->shard > p->shards ||
        p->n != kr_calibrate_rows(p->run_n, p->shard, p->shards))
        return no_shard(p, err);
    snprintf(at, len + 64 - (size_t)(at - p->header), KR_CALIBRATE_END, p->run_n);
    return KR_OK;
}

static const char *id_of_row(const void *of, size_t row) {
    return kr_calib_row(of, row).id;
}

/* The rows are whole, and for the requests of the shard in their order. */
static kr_status check_rows(part *p, kr_error *err) {
    char ids[KR_SHA256_HEX];
    if (p->n > 0) {
        kr_status st = kr_calib_load(p->path, &p->rows, err);
        if (st != KR_OK)
            return st;
    }
    size_t n = p->n > 0 ? kr_calib_rows(p->rows) : 0;
    if (n != p->n)
        return kr_fail(err, KR_EFORMAT, "%s: has %zu rows, its header says %zu", p->path, n, p->n);
    kr_status st = kr_calibrate_ids(id_of_row, p->rows, n, ids, err);
    if (st == KR_OK && strcmp(ids, p->ids) != 0)
        st = kr_fail(err, KR_EFORMAT,
                     "%s: its rows are not those of its requests in their order: run kvrisk "
                     "calibrate for it again",
                     p->path);
    return st;
}

static kr_status open_shard(part *p, const char *path, kr_error *err) {
    const char *line;
    size_t len;
    p->path = path;
    kr_status st = kr_lines_open(path, MAX_LINE, &p->lines, err);
    if (st == KR_OK)
        st = kr_lines_next(p->lines, &line, &len, err);
    if (st == KR_OK && line == NULL)
        st = kr_fail(err, KR_EFORMAT, "%s: is empty", path);
    if (st == KR_OK)
        st = read_shard(p, line, len, err);
    return st == KR_OK ? check_rows(p, err) : st;
}

static int by_shard(const void *a, const void *b) {
    const part *x = a, *y = b;
    return x->shard < y->shard ? -1 : x->shard > y->shard;
}

static kr_status check_shards(part *p, size_t n, kr_error *err) {
    qsort(p, n, sizeof *p, by_shard);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(p[i].header, p[0].header) != 0 || p[i].shards != p[0].shards)
            return kr_fail(err, KR_EINVAL, "%s and %s were made with different settings", p[0].path,
                           p[i].path);
        if (i > 0 && p[i].shard == p[i - 1].shard)
            return kr_fail(err, KR_EINVAL, "%s and %s are the same shard", p[i - 1].path,
                           p[i].path);
    }
    for (size_t i = 0; i < p[0].shards; i++)
        if (i >= n || p[i].shard != i + 1)
            return kr_fail(err, KR_EINVAL, "shard %zu of %zu is missing", i + 1, p[0].shards);
    return KR_OK;
}

static kr_status add_row(part *p, kr_writer *w, kr_error *err) {
    const char *line;
    size_t len;
    kr_status st = kr_lines_next(p->lines, &line, &len, err);
    if (st != KR_OK)
        return st;
    if (line == NULL)
        return kr_fail(err, KR_EFORMAT, "%s: ends after line %zu, expected %zu rows", p->path,
                       kr_lines_number(p->lines), p->n);
    kr_writer_add(w, line, len);
    kr_writer_puts(w, "\n");
    return KR_OK;
}

/* Nothing is left, and what was copied is what was checked. */
static kr_status check_end(part *p, kr_error *err) {
    const char *line;
    size_t len;
    kr_status st = kr_lines_next(p->lines, &line, &len, err);
    if (st == KR_OK && line != NULL)
        st = kr_fail(err, KR_EFORMAT, "%s:%zu: more lines than its %zu rows", p->path,
                     kr_lines_number(p->lines), p->n);
    if (st == KR_OK && p->rows != NULL &&
        strcmp(kr_lines_sha256(p->lines), kr_calib_sha256(p->rows)) != 0)
        st = kr_fail(err, KR_EIO, "%s changed while it was read", p->path);
    return st;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* No request is in two shards. */
static kr_status check_ids(const part *p, size_t n, kr_error *err) {
    size_t total = p[0].run_n, k = 0;
    const char **id = calloc(total + 1, sizeof *id);
    kr_status st = KR_OK;
    if (id == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu ids", total);
    for (size_t i = 0; i < n; i++)
        for (size_t row = 0; row < p[i].n && k < total; row++)
            id[k++] = kr_calib_row(p[i].rows, row).id;
    qsort(id, k, sizeof *id, by_text);
    for (size_t i = 1; i < k && st == KR_OK; i++)
        if (strcmp(id[i], id[i - 1]) == 0)
            st = kr_fail(err, KR_EFORMAT, "request %.80s is in two shards", id[i]);
    free(id);
    return st;
}

static kr_status write_all(part *p, size_t n, kr_writer *w, kr_error *err) {
    kr_status st = KR_OK;
    kr_writer_puts(w, p[0].header);
    for (size_t row = 0; row < p[0].run_n && st == KR_OK; row++)
        st = add_row(&p[row % n], w, err);
    for (size_t i = 0; i < n && st == KR_OK; i++)
        st = check_end(&p[i], err);
    return st;
}

kr_status kr_calibrate_merge(const char *const *paths, size_t n, const char *out, bool replace,
                             kr_error *err) {
    kr_writer *w = NULL;
    kr_status st = KR_OK;
    part *p = calloc(n, sizeof *p);
    if (p == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu shards", n);
    for (size_t i = 0; i < n && st == KR_OK; i++)
        st = open_shard(&p[i], paths[i], err);
    if (st == KR_OK)
        st = check_shards(p, n, err);
    if (st == KR_OK)
        st = check_ids(p, n, err);
    if (st == KR_OK)
        st = kr_writer_open(out, replace, &w, err);
    if (st == KR_OK)
        st = write_all(p, n, w, err);
    for (size_t i = 0; i < n; i++) {
        kr_lines_close(p[i].lines);
        kr_calib_free(p[i].rows);
        free(p[i].header);
    }
    free(p);
    if (st == KR_OK)
        return kr_writer_commit(w, err);
    kr_writer_abort(w);
    return st;
}
