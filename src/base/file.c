#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- writing ------------------------------------------------------------------------------- */

struct kr_writer {
    FILE *f;
    char *path, *temp;
    bool replace;
    int error; /* errno of the first failed write */
};

static char *directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    char *d = malloc(n + 1);
    if (d == NULL)
        return NULL;
    memcpy(d, slash == NULL ? "." : path, n);
    d[n] = '\0';
    return d;
}

static void writer_free(kr_writer *w) {
    if (w->f != NULL)
        fclose(w->f);
    free(w->path);
    free(w->temp);
    free(w);
}

/* The permissions a plain open would have given: mkstemp makes files private. */
static mode_t default_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Whether `path` may become a regular file with our content: a new name, or an existing regular file
 * when it may be replaced. Renaming over a device or a pipe would destroy it. */
static kr_status check_target(const char *path, bool replace, struct stat *st, bool *exists,
                              kr_error *err) {
    if (*path == '\0')
        return kr_fail(err, KR_EIO, "the name of the file to write is empty");
    *exists = stat(path, st) == 0;
    if (*exists && S_ISDIR(st->st_mode))
        return kr_fail(err, KR_EIO, "%s is a directory", path);
    if (*exists && !S_ISREG(st->st_mode))
        return kr_fail(err, KR_EIO, "%s is not a regular file, expected a name to write a file under",
                       path);
    if (*exists && !replace)
        return kr_fail(err, KR_EIO, "%s exists already", path);
    struct stat link;
    if (!*exists && lstat(path, &link) == 0)
        return kr_fail(err, KR_EIO, "%s is a link to nowhere", path);
    return KR_OK;
}

/* The name to rename to: where a link leads, else the name itself; owned by the caller. */
static char *resolve(const char *path, bool exists) {
    char *real = exists ? realpath(path, NULL) : NULL;
    if (real != NULL)
        return real;
    size_t len = strlen(path);
    char *copy = malloc(len + 1);
    if (copy != NULL)
        memcpy(copy, path, len + 1);
    return copy;
}

kr_status kr_writer_open(const char *path, bool replace, kr_writer **out, kr_error *err) {
    struct stat st;
    bool exists = false;
    kr_status ok = check_target(path, replace, &st, &exists, err);
    if (ok != KR_OK)
        return ok;
    kr_writer *w = calloc(1, sizeof *w);
    char *target = w != NULL ? resolve(path, exists) : NULL;
    size_t len = target != NULL ? strlen(target) : 0;
    if (target == NULL || (w->temp = malloc(len + 8)) == NULL) {
        free(target);
        free(w);
        return kr_fail(err, KR_ENOMEM, "out of memory");
    }
    w->path = target;
    w->replace = replace;
    snprintf(w->temp, len + 8, "%s.XXXXXX", target);
    int fd = mkstemp(w->temp);
    if (fd >= 0)
        fchmod(fd, exists ? st.st_mode & 07777 : default_mode());
    if (fd < 0 || (w->f = fdopen(fd, "w")) == NULL) {
        kr_fail(err, KR_EIO, "%s: cannot write: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
            unlink(w->temp);
        }
        writer_free(w);
        return KR_EIO;
    }
    *out = w;
    return KR_OK;
}

void kr_writer_add(kr_writer *w, const void *data, size_t len) {
    if (w->error == 0 && fwrite(data, 1, len, w->f) != len)
        w->error = errno != 0 ? errno : EIO;
}

void kr_writer_puts(kr_writer *w, const char *text) { kr_writer_add(w, text, strlen(text)); }

void kr_writer_printf(kr_writer *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (w->error == 0 && vfprintf(w->f, fmt, ap) < 0)
        w->error = errno != 0 ? errno : EIO;
    va_end(ap);
}

static int sync_directory(const char *path) {
    char *dir = directory_of(path);
    int fd = dir != NULL ? open(dir, O_RDONLY) : -1;
    free(dir);
    if (fd < 0)
        return 0; /* a directory that cannot be opened cannot be synced; the data is */
    int r = fsync(fd);
    close(fd);
    return r == 0 || errno == EINVAL ? 0 : errno;
}

static int finish(kr_writer *w) {
    int e = w->error;
    if (fflush(w->f) != 0 && e == 0)
        e = errno;
    if (e == 0 && fsync(fileno(w->f)) != 0 && errno != EINVAL)
        e = errno;
    if (fclose(w->f) != 0 && e == 0)
        e = errno;
    w->f = NULL;
    /* link() refuses an existing name, so a file that appeared meanwhile is not overwritten. */
    if (e == 0 && !w->replace && link(w->temp, w->path) == 0)
        unlink(w->temp);
    else if (e == 0 && !w->replace && errno == EEXIST)
        e = EEXIST;
    else if (e == 0 && rename(w->temp, w->path) != 0)
        e = errno;
    if (e != 0)
        unlink(w->temp);
    return e != 0 ? e : sync_directory(w->path);
}

kr_status kr_writer_commit(kr_writer *w, kr_error *err) {
    int e = finish(w);
    kr_status st = KR_OK;
    if (e != 0)
        st = kr_fail(err, KR_EIO, "%s: cannot write: %s", w->path, strerror(e));
    writer_free(w);
    return st;
}

void kr_writer_abort(kr_writer *w) {
    if (w == NULL)
        return;
    unlink(w->temp);
    writer_free(w);
}

kr_status kr_file_write(const char *path, const void *data, size_t len, bool replace,
                        kr_error *err) {
    kr_writer *w;
    kr_status st = kr_writer_open(path, replace, &w, err);
    if (st != KR_OK)
        return st;
    kr_writer_add(w, data, len);
    return kr_writer_commit(w, err);
}

/* Opens (or starts) the file and waits for its lock. A program that held the lock before may have put
 * another file under the name: then the lock is on the wrong file, and once more. */
static int open_locked(const char *path, const char *expected, kr_error *err) {
    for (int i = 0; i < 1000; i++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        struct stat ours, named;
        if (fd < 0)
            break;
        if (fstat(fd, &ours) == 0 && !S_ISREG(ours.st_mode)) {
            close(fd);
            kr_fail(err, KR_EIO, "%s is not a regular file, expected %s", path, expected);
            return -1;
        }
        if (fcntl(fd, F_SETLKW, &lock) == 0 && stat(path, &named) == 0 &&
            ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
            return fd;
        close(fd);
    }
    kr_fail(err, KR_EIO, "%s: cannot open: %s", path, strerror(errno));
    return -1;
}

#define MAX_TABLE ((size_t)256 << 20)

/* All of an open file; closing another descriptor of it would drop the lock. */
static kr_status read_all(int fd, const char *path, char **data, size_t *len, kr_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return kr_fail(err, KR_EIO, "%s: %s", path, strerror(errno));
    if ((uint64_t)st.st_size > MAX_TABLE)
        return kr_fail(err, KR_EFORMAT, "%s is longer than %zu bytes, the limit here", path,
                       MAX_TABLE);
    size_t n = (size_t)st.st_size, at = 0;
    char *s = malloc(n + 1);
    if (s == NULL)
        return kr_fail(err, KR_ENOMEM, "%s: out of memory", path);
    while (at < n) {
        ssize_t r = pread(fd, s + at, n - at, (off_t)at);
        if (r <= 0) {
            free(s);
            return kr_fail(err, KR_EIO, "%s: cannot read: %s", path, strerror(errno));
        }
        at += (size_t)r;
    }
    s[n] = '\0';
    *data = s;
    *len = n;
    return KR_OK;
}

static kr_status write_longer(const char *path, const char *header, const char *old, size_t len,
                              const char *row, kr_error *err) {
    kr_writer *w;
    kr_status st = kr_writer_open(path, true, &w, err);
    if (st != KR_OK)
        return st;
    if (len == 0)
        kr_writer_puts(w, header);
    kr_writer_add(w, old, len);
    if (len > 0 && old[len - 1] != '\n')
        kr_writer_puts(w, "\n");
    kr_writer_puts(w, row);
    return kr_writer_commit(w, err);
}

kr_status kr_file_append_row(const char *path, const char *header, const char *row, kr_error *err) {
    char *old = NULL;
    size_t len = 0, head = strlen(header);
    int fd = open_locked(path, "a table", err);
    if (fd < 0)
        return KR_EIO;
    kr_status st = read_all(fd, path, &old, &len, err);
    if (st == KR_OK && len > 0 && (len < head || memcmp(old, header, head) != 0))
        st = kr_fail(err, KR_EFORMAT, "%s:1:1: another table, expected the header %.60s...", path,
                     header);
    if (st == KR_OK)
        st = write_longer(path, header, old, len, row, err);
    if (st != KR_OK && old != NULL && len == 0)
        unlink(path); /* the empty file that opening it made */
    free(old);
    close(fd);
    return st;
}

struct kr_lock {
    int fd;
    char path[];
};

kr_status kr_lock_take(const char *path, kr_lock **out, kr_error *err) {
    size_t len = strlen(path);
    kr_lock *l = malloc(sizeof *l + len + 1);
    if (l == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    memcpy(l->path, path, len + 1);
    l->fd = open_locked(path, "a lock", err);
    if (l->fd < 0) {
        free(l);
        return KR_EIO;
    }
    *out = l;
    return KR_OK;
}

void kr_lock_release(kr_lock *l) {
    if (l == NULL)
        return;
    unlink(l->path); /* while it is held: who waits for it will see that it has no name */
    close(l->fd);
    free(l);
}

/* --- reading ------------------------------------------------------------------------------- */

static kr_stamp stamp_of(const struct stat *st) {
    return (kr_stamp){
        .size = st->st_size,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
        .dev = (uint64_t)st->st_dev,
        .ino = (uint64_t)st->st_ino,
    };
}

kr_status kr_file_stamp(const char *path, kr_stamp *out, kr_error *err) {
    struct stat st;
    if (stat(path, &st) != 0)
        return kr_fail(err, KR_EIO, "%s: %s", path, strerror(errno));
    *out = stamp_of(&st);
    return KR_OK;
}

bool kr_file_same(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool kr_stamp_equal(const kr_stamp *a, const kr_stamp *b) {
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->dev == b->dev &&
           a->ino == b->ino;
}

static int open_for_reading(const char *path, struct stat *st, kr_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, st) != 0) {
        kr_fail(err, KR_EIO, "%s: cannot open: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (S_ISDIR(st->st_mode)) {
        kr_fail(err, KR_EIO, "%s is a directory, expected a file", path);
        close(fd);
        return -1;
    }
    return fd;
}

static ssize_t read_some(int fd, void *to, size_t n) {
    ssize_t r;
    do
        r = read(fd, to, n);
    while (r < 0 && errno == EINTR);
    return r;
}

kr_status kr_file_read(const char *path, size_t max, char **data, size_t *len, kr_error *err) {
    struct stat st;
    int fd = open_for_reading(path, &st, err);
    if (fd < 0)
        return KR_EIO;
    char *s = NULL;
    size_t n = 0, cap = 0;
    kr_status status = KR_OK;
    for (;;) {
        if (n + 1 >= cap) {
            cap = cap > 0 ? cap * 2 : 1 << 16;
            char *t = realloc(s, cap);
            if (t == NULL) {
                status = kr_fail(err, KR_ENOMEM, "%s: out of memory", path);
                break;
            }
            s = t;
        }
        ssize_t r = read_some(fd, s + n, cap - n - 1);
        if (r < 0)
            status = kr_fail(err, KR_EIO, "%s: cannot read: %s", path, strerror(errno));
        if (r <= 0)
            break;
        n += (size_t)r;
        if (n > max) {
            status = kr_fail(err, KR_EFORMAT, "%s is longer than %zu bytes, the limit here", path, max);
            break;
        }
    }
    close(fd);
    if (status != KR_OK) {
        free(s);
        return status;
    }
    s[n] = '\0';
    *data = s;
    *len = n;
    return KR_OK;
}

static void to_hex(const unsigned char *digest, unsigned n, char hex[KR_SHA256_HEX]) {
    for (unsigned i = 0; i < n && i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

kr_status kr_sha256(const void *data, size_t len, char hex[KR_SHA256_HEX], kr_error *err) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (EVP_Digest(data, len, digest, &n, EVP_sha256(), NULL) != 1)
        return kr_fail(err, KR_ENUM, "SHA-256 is not available");
    to_hex(digest, n, hex);
    return KR_OK;
}

struct kr_lines {
    int fd;
    char *path;
    size_t max_line;
    char *buf; /* [cap] */
    size_t cap, start, end;
    bool eof;
    uint64_t total;
    size_t number;
    bool regular;
    kr_stamp stamp;
    EVP_MD_CTX *sha;
    char hex[KR_SHA256_HEX];
};

#define CHUNK (1u << 18)

kr_status kr_lines_open(const char *path, size_t max_line, kr_lines **out, kr_error *err) {
    struct stat st;
    int fd = open_for_reading(path, &st, err);
    if (fd < 0)
        return KR_EIO;
    kr_lines *r = calloc(1, sizeof *r);
    size_t len = strlen(path);
    if (r != NULL) {
        r->fd = fd;
        r->path = malloc(len + 1);
        r->cap = CHUNK;
        r->buf = malloc(r->cap);
        r->sha = EVP_MD_CTX_new();
    }
    if (r == NULL || r->path == NULL || r->buf == NULL || r->sha == NULL ||
        EVP_DigestInit_ex(r->sha, EVP_sha256(), NULL) != 1) {
        if (r == NULL)
            close(fd);
        kr_lines_close(r);
        return kr_fail(err, KR_ENOMEM, "%s: out of memory", path);
    }
    memcpy(r->path, path, len + 1);
    r->max_line = max_line;
    r->regular = S_ISREG(st.st_mode);
    r->stamp = stamp_of(&st);
    *out = r;
    return KR_OK;
}

/* After the last byte: the file must be what it was when it was opened. */
static kr_status check_unchanged(kr_lines *r, kr_error *err) {
    struct stat st;
    if (r->regular) {
        kr_stamp now;
        if (fstat(r->fd, &st) != 0)
            return kr_fail(err, KR_EIO, "%s: %s", r->path, strerror(errno));
        now = stamp_of(&st);
        if (!kr_stamp_equal(&now, &r->stamp) || (uint64_t)st.st_size != r->total)
            return kr_fail(err, KR_EIO, "%s changed while it was read; load it again", r->path);
    }
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (EVP_DigestFinal_ex(r->sha, digest, &n) != 1)
        return kr_fail(err, KR_ENUM, "SHA-256 is not available");
    to_hex(digest, n, r->hex);
    return KR_OK;
}

static kr_status fill(kr_lines *r, kr_error *err) {
    if (r->start > 0) {
        memmove(r->buf, r->buf + r->start, r->end - r->start);
        r->end -= r->start;
        r->start = 0;
    }
    if (r->end == r->cap) {
        if (r->cap > r->max_line + 4)
            return kr_fail(err, KR_EFORMAT, "%s:%zu:1: the line is longer than %zu bytes, the limit",
                           r->path, r->number + 1, r->max_line);
        char *b = realloc(r->buf, r->cap * 2);
        if (b == NULL)
            return kr_fail(err, KR_ENOMEM, "%s: out of memory", r->path);
        r->buf = b;
        r->cap *= 2;
    }
    ssize_t n = read_some(r->fd, r->buf + r->end, r->cap - r->end);
    if (n < 0)
        return kr_fail(err, KR_EIO, "%s: cannot read: %s", r->path, strerror(errno));
    if (n == 0) {
        r->eof = true;
        return check_unchanged(r, err);
    }
    EVP_DigestUpdate(r->sha, r->buf + r->end, (size_t)n);
    r->end += (size_t)n;
    r->total += (uint64_t)n;
    return KR_OK;
}

kr_status kr_lines_next(kr_lines *r, const char **line, size_t *len, kr_error *err) {
    size_t seen = 0;
    for (;;) {
        const char *from = r->buf + r->start;
        const char *nl = memchr(from + seen, '\n', r->end - r->start - seen);
        if (nl == NULL && !r->eof) {
            seen = r->end - r->start;
            kr_status st = fill(r, err);
            if (st != KR_OK)
                return st;
            continue;
        }
        size_t n = nl != NULL ? (size_t)(nl - from) : r->end - r->start;
        *line = NULL;
        *len = 0;
        if (nl == NULL && n == 0)
            return KR_OK;
        r->start += n + (nl != NULL);
        r->number++;
        if (n > 0 && from[n - 1] == '\r')
            n--;
        if (r->number == 1 && n >= 3 && memcmp(from, "\xEF\xBB\xBF", 3) == 0) {
            from += 3;
            n -= 3;
        }
        if (n > r->max_line)
            return kr_fail(err, KR_EFORMAT, "%s:%zu:1: the line is longer than %zu bytes, the limit",
                           r->path, r->number, r->max_line);
        *line = from;
        *len = n;
        return KR_OK;
    }
}

size_t kr_lines_number(const kr_lines *r) { return r->number; }
const kr_stamp *kr_lines_stamp(const kr_lines *r) { return &r->stamp; }
const char *kr_lines_sha256(const kr_lines *r) { return r->hex; }

void kr_lines_close(kr_lines *r) {
    if (r == NULL)
        return;
    close(r->fd);
    free(r->path);
    free(r->buf);
    EVP_MD_CTX_free(r->sha);
    free(r);
}

static bool always(void *arg) {
    (void)arg;
    return true;
}

kr_status kr_file_sha256(const char *path, char hex[KR_SHA256_HEX], kr_error *err) {
    return kr_file_sha256_while(path, always, NULL, hex, err);
}

kr_status kr_file_sha256_while(const char *path, bool (*go)(void *arg), void *arg,
                               char hex[KR_SHA256_HEX], kr_error *err) {
    struct stat st;
    int fd = open_for_reading(path, &st, err);
    if (fd < 0)
        return KR_EIO;
    unsigned char digest[EVP_MAX_MD_SIZE], *buf = malloc(CHUNK);
    unsigned n = 0;
    EVP_MD_CTX *sha = EVP_MD_CTX_new();
    bool ok = buf != NULL && sha != NULL && EVP_DigestInit_ex(sha, EVP_sha256(), NULL) == 1;
    ssize_t r = 0;
    bool on = true;
    while (ok && (on = go(arg)) && (r = read_some(fd, buf, CHUNK)) > 0)
        EVP_DigestUpdate(sha, buf, (size_t)r);
    int e = errno;
    kr_status status = KR_OK;
    if (!ok)
        status = kr_fail(err, KR_ENOMEM, "%s: out of memory", path);
    else if (!on)
        status = kr_fail(err, KR_ECANCELED, "%s: canceled", path);
    else if (r < 0)
        status = kr_fail(err, KR_EIO, "%s: cannot read: %s", path, strerror(e));
    else if (EVP_DigestFinal_ex(sha, digest, &n) == 1)
        to_hex(digest, n, hex);
    EVP_MD_CTX_free(sha);
    free(buf);
    close(fd);
    return status;
}
