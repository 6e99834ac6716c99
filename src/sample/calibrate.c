#include "sample/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

/* --- what is asked for ------------------------------------------------------------------------ */

/* Methods together, each from conservative to aggressive. */
static kr_status check_arms(const kr_eval_options *e, kr_error *err) {
    for (size_t i = 0; i < e->n_arms; i++) {
        const kr_evict_spec *s = &e->arm[i], *last = i > 0 ? s - 1 : NULL;
        if (s->level.kind == KR_EVICT_TOKENS)
            return kr_fail(err, KR_EINVAL,
                           "%s: a calibration file has retentions or thresholds, not "
                           "tokens per head",
                           s->policy->name);
        if (last != NULL && last->policy == s->policy) {
            int order = kr_dec_cmp(s->level.value, last->level.value);
            if (s->level.kind != last->level.kind ||
                !(s->level.kind == KR_EVICT_THRESHOLD ? order > 0 : order < 0))
                return kr_fail(err, KR_EINVAL, "%s: retentions must fall, thresholds rise",
                               s->policy->name);
            continue;
        }
        for (size_t j = 0; j + 1 < i; j++)
            if (e->arm[j].policy == s->policy)
                return kr_fail(err, KR_EINVAL, "%s is named twice", s->policy->name);
    }
    return e->n_arms > 0 ? KR_OK : kr_fail(err, KR_EINVAL, "no method to evaluate");
}

static size_t rows_of(const kr_calibrate_options *o) {
    return kr_calibrate_rows(o->requests->n, o->shard, o->shards);
}

static const kr_sample_request *row_request(const kr_calibrate_options *o, size_t row) {
    return &o->requests->item[o->shard - 1 + row * o->shards];
}

/* --- the unfinished file ---------------------------------------------------------------------- */

typedef struct {
    const kr_calibrate_options *o;
    const char *path;
    char part[PATH_MAX];
    int fd;
    size_t rows, failed; /* that are in the file */
    kr_buf header;
} job;

static kr_status io(const job *j, const char *what, kr_error *err) {
    return kr_fail(err, KR_EIO, "%s: cannot %s: %s", j->part, what, strerror(errno));
}

static kr_status append(job *j, const char *s, size_t n, kr_error *err) {
    while (n > 0) {
        ssize_t k = write(j->fd, s, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return io(j, "write", err);
        s += k;
        n -= (size_t)k;
    }
    return KR_OK;
}

static kr_status other_settings(const char *path, kr_error *err) {
    return kr_fail(err, KR_EINVAL,
                   "%s was begun with other settings (methods, requests, model, protocol, "
                   "contract, shard or machine): finish it with those, or delete it",
                   path);
}

/* Whether a line is whole JSON and begins with the id of the request that belongs there. */
static bool is_row(const job *j, size_t row, const char *line, size_t len, bool *failed) {
    kr_buf want = {0};
    kr_error err;
    kr_buf_puts(&want, "{\"id\":");
    kr_json_put_string(&want, row_request(j->o, row)->id);
    kr_buf_puts(&want, ",");
    bool ok = !want.failed && len >= want.len && memcmp(line, want.s, want.len) == 0;
    kr_buf_free(&want);
    if (!ok)
        return false;
    kr_json json = kr_json_open(line, len, j->part, row + 2, &err);
    static const char reason[] = ",\"reason\":";
    for (size_t i = 0; i + sizeof reason < len && !*failed; i++)
        *failed = memcmp(line + i, reason, sizeof reason - 1) == 0;
    return kr_json_skip(&json, NULL) && kr_json_peek(&json) == KR_JSON_END;
}

/* Counts the good rows from s[at] on and gives where they end. */
static size_t count_rows(job *j, const char *s, size_t len, size_t at) {
    for (size_t total = rows_of(j->o); at < len && j->rows < total; j->rows++) {
        bool failed = false;
        const char *end = memchr(s + at, '\n', len - at);
        if (end == NULL || !is_row(j, j->rows, s + at, (size_t)(end - s) - at, &failed))
            break;
        j->failed += failed;
        at = (size_t)(end - s) + 1;
    }
    return at;
}

/* Counts the good rows after the header and cuts off what a kill left behind them. */
static kr_status take_up(job *j, const char *s, size_t len, kr_error *err) {
    const char *end = memchr(s, '\n', len);
    size_t at = end != NULL ? (size_t)(end - s) + 1 : 0;
    if (at == 0) { /* killed while writing the header */
        if (len > j->header.len || memcmp(s, j->header.s, len) != 0)
            return other_settings(j->part, err);
        if (ftruncate(j->fd, 0) != 0 || lseek(j->fd, 0, SEEK_SET) < 0)
            return io(j, "truncate", err);
        return append(j, j->header.s, j->header.len, err);
    }
    if (at != j->header.len || memcmp(s, j->header.s, at) != 0)
        return other_settings(j->part, err);
    at = count_rows(j, s, len, at);
    if (ftruncate(j->fd, (off_t)at) != 0 || lseek(j->fd, (off_t)at, SEEK_SET) < 0)
        return io(j, "truncate", err);
    return KR_OK;
}

static kr_status open_part(job *j, kr_error *err) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *s = NULL;
    size_t len = 0;
    j->fd = open(j->part, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (j->fd < 0)
        return io(j, "open", err);
    if (fcntl(j->fd, F_SETLK, &lock) != 0)
        return kr_fail(err, KR_EINVAL, "%s: another process is at work on it", j->part);
    /* Not by kr_file_read: closing any other descriptor of the file would drop the lock. */
    struct stat info;
    if (fstat(j->fd, &info) != 0)
        return io(j, "read", err);
    len = (size_t)info.st_size;
    s = malloc(len + 1);
    if (s == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %s", j->part);
    size_t got = 0;
    for (ssize_t k = 1; got < len && k > 0; got += k > 0 ? (size_t)k : 0)
        k = read(j->fd, s + got, len - got);
    kr_status st = got < len  ? io(j, "read", err)
                   : len == 0 ? append(j, j->header.s, j->header.len, err)
                              : take_up(j, s, len, err);
    free(s);
    return st;
}

/* A finished file with the same header needs no work; its failed requests are counted. */
static kr_status finished(job *j, bool *done, kr_error *err) {
    char *s;
    size_t len;
    *done = false;
    if (access(j->path, F_OK) != 0)
        return KR_OK;
    kr_status st = kr_file_read(j->path, (size_t)1 << 40, &s, &len, err);
    if (st != KR_OK)
        return st;
    *done = len >= j->header.len && memcmp(s, j->header.s, j->header.len) == 0;
    bool whole = *done && count_rows(j, s, len, j->header.len) == len && j->rows == rows_of(j->o);
    free(s);
    if (*done && !whole)
        return kr_fail(err, KR_EFORMAT,
                       "%s:%zu: is damaged: expected %zu rows, each for its request; move it away "
                       "and run again",
                       j->path, j->rows + 2, rows_of(j->o));
    return *done ? KR_OK : other_settings(j->path, err);
}

static void sync_directory(const char *path) {
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
             slash != NULL ? path : ".");
    int fd = open(dir, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

static kr_status finish(job *j, kr_error *err) {
    if (fsync(j->fd) != 0)
        return io(j, "write", err);
    if (rename(j->part, j->path) != 0)
        return io(j, "rename", err);
    sync_directory(j->path);
    return KR_OK;
}

/* --- the work --------------------------------------------------------------------------------- */

static kr_status add_row(job *j, kr_eval *e, kr_buf *line, kr_error *err) {
    const kr_sample_request *q = row_request(j->o, j->rows);
    kr_eval_result *r = NULL;
    kr_error why = {KR_OK, ""};
    kr_status st = kr_eval_request(e, q, &r, &why);
    if (st == KR_ENOMEM || st == KR_ECANCELED)
        return kr_fail(err, st, "%s", why.msg);
    line->len = 0;
    kr_calibrate_row(q, j->o->eval.n_arms, st == KR_OK ? r : NULL, why.msg, line);
    j->failed += st != KR_OK || r->full.why != NULL;
    kr_eval_result_free(r);
    if (line->failed)
        return kr_fail(err, KR_ENOMEM, "out of memory for a row");
    st = append(j, line->s, line->len, err);
    j->rows += st == KR_OK;
    return st;
}

static kr_status run(job *j, kr_error *err) {
    size_t total = rows_of(j->o), found = j->rows;
    kr_eval *e;
    kr_buf line = {0};
    kr_status st = kr_eval_new(j->o->model, &j->o->eval, &e, err);
    if (st != KR_OK)
        return st;
    bool go_on = j->o->progress == NULL || j->o->progress(j->o->progress_arg, found, total, found);
    while (st == KR_OK && go_on && j->rows < total) {
        st = add_row(j, e, &line, err);
        if (st == KR_OK && j->o->progress != NULL)
            go_on = j->o->progress(j->o->progress_arg, j->rows, total, found);
    }
    kr_buf_free(&line);
    kr_eval_free(e);
    if (st == KR_OK && !go_on)
        st = kr_fail(err, KR_ECANCELED,
                     "stopped after %zu of %zu requests; the same command continues", j->rows,
                     total);
    return st == KR_OK ? finish(j, err) : st;
}

kr_status kr_calibrate(const kr_calibrate_options *o, const char *path, size_t *failed,
                       kr_error *err) {
    job j = {.o = o, .path = path, .fd = -1};
    bool done = false;
    if (o->shards < 1 || o->shard < 1 || o->shard > o->shards)
        return kr_fail(err, KR_EINVAL, "shard %zu of %zu does not exist", o->shard, o->shards);
    if ((size_t)snprintf(j.part, sizeof j.part, "%s.part", path) >= sizeof j.part)
        return kr_fail(err, KR_EINVAL, "%.80s...: the name is too long", path);
    kr_status st = check_arms(&o->eval, err);
    if (st == KR_OK)
        st = kr_calibrate_header(o, &j.header, err);
    if (st == KR_OK)
        st = finished(&j, &done, err);
    if (st == KR_OK && !done)
        st = open_part(&j, err);
    if (st == KR_OK && !done)
        st = run(&j, err);
    if (j.fd >= 0)
        close(j.fd);
    kr_buf_free(&j.header);
    if (st == KR_OK)
        *failed = j.failed;
    return st;
}
