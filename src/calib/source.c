#include "calib/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 200000, MAX_DEPTH = 16 };

struct kr_source_file {
    int fd;
    char *path;
    EVP_MD_CTX *md;
    uint64_t bytes;
    kr_stamp stamp;
};

kr_status kr_source_open(const char *path, kr_source_file **out, kr_error *err) {
    struct stat sb;
    kr_source_file *f = calloc(1, sizeof *f);
    if (f == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    f->path = strdup(path);
    f->md = EVP_MD_CTX_new();
    kr_status st = KR_OK;
    if (f->fd < 0 || fstat(f->fd, &sb) != 0)
        st = kr_fail(err, KR_EIO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(sb.st_mode))
        st = kr_fail(err, KR_EIO, "%s: not an ordinary file", path);
    else if (f->path == NULL || f->md == NULL || EVP_DigestInit_ex(f->md, EVP_sha256(), NULL) != 1)
        st = kr_fail(err, KR_ENOMEM, "out of memory");
    else
        st = kr_file_stamp(path, &f->stamp, err);
    if (st != KR_OK) {
        kr_source_close(f);
        return st;
    }
    *out = f;
    return KR_OK;
}

ptrdiff_t kr_source_read(void *ctx, char *buf, size_t n) {
    kr_source_file *f = ctx;
    ssize_t got;
    do
        got = read(f->fd, buf, n);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        f->bytes += (uint64_t)got;
        EVP_DigestUpdate(f->md, buf, (size_t)got);
    }
    return (ptrdiff_t)got;
}

uint64_t kr_source_bytes(const kr_source_file *f) {
    return f->bytes;
}

kr_status kr_source_finish(kr_source_file *f, char sha256[KR_SHA256_HEX], kr_error *err) {
    static const char hex[] = "0123456789abcdef";
    unsigned char digest[EVP_MAX_MD_SIZE];
    char rest[16384];
    kr_stamp now;
    ptrdiff_t got;
    while ((got = kr_source_read(f, rest, sizeof rest)) > 0)
        ;
    if (got < 0)
        return kr_fail(err, KR_EIO, "%s: %s", f->path, strerror(errno));
    kr_status st = kr_file_stamp(f->path, &now, err);
    if (st != KR_OK)
        return st;
    if (!kr_stamp_equal(&now, &f->stamp))
        return kr_fail(err, KR_EIO, "%s: the file changed while it was read", f->path);
    if (EVP_DigestFinal_ex(f->md, digest, NULL) != 1)
        return kr_fail(err, KR_EIO, "%s: SHA-256 failed", f->path);
    for (size_t i = 0; i < 32; i++) {
        sha256[2 * i] = hex[digest[i] >> 4];
        sha256[2 * i + 1] = hex[digest[i] & 15];
    }
    sha256[64] = '\0';
    return KR_OK;
}

void kr_source_close(kr_source_file *f) {
    if (f == NULL)
        return;
    if (f->fd >= 0)
        close(f->fd);
    EVP_MD_CTX_free(f->md);
    free(f->path);
    free(f);
}

static kr_status add_file(kr_tree *t, char *path, kr_error *err) {
    if (t->n == MAX_FILES) {
        free(path);
        return kr_fail(err, KR_EFORMAT, "more than %d files below the paths given", MAX_FILES);
    }
    if (t->n == t->cap) {
        size_t cap = t->cap == 0 ? 64 : 2 * t->cap;
        char **p = realloc(t->path, cap * sizeof *p);
        if (p == NULL) {
            free(path);
            return kr_fail(err, KR_ENOMEM, "out of memory for the list of files");
        }
        t->path = p;
        t->cap = cap;
    }
    t->path[t->n++] = path;
    return KR_OK;
}

static kr_status walk(const char *path, int depth, kr_tree *t, kr_error *err);

static kr_status walk_entry(const char *dir, const char *name, int depth, kr_tree *t,
                            kr_error *err) {
    struct stat sb;
    char *path = kr_path_join(dir, name);
    if (path == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    bool is_link = lstat(path, &sb) == 0 && S_ISLNK(sb.st_mode);
    kr_status st = KR_OK;
    if (stat(path, &sb) == 0 && S_ISDIR(sb.st_mode) && !is_link)
        st = walk(path, depth + 1, t, err);
    else if (stat(path, &sb) == 0 && S_ISREG(sb.st_mode))
        return add_file(t, path, err);
    free(path);
    return st;
}

static kr_status walk(const char *path, int depth, kr_tree *t, kr_error *err) {
    if (depth > MAX_DEPTH)
        return kr_fail(err, KR_EFORMAT, "%s: directories nested deeper than %d", path, MAX_DEPTH);
    DIR *d = opendir(path);
    if (d == NULL)
        return kr_fail(err, KR_EIO, "%s: %s", path, strerror(errno));
    kr_status st = KR_OK;
    for (struct dirent *e; st == KR_OK && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            st = walk_entry(path, e->d_name, depth, t, err);
    closedir(d);
    return st;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

kr_status kr_tree_walk(const char *path, kr_tree *t, kr_error *err) {
    struct stat sb;
    size_t before = t->n, len = strlen(path);
    if (stat(path, &sb) != 0)
        return kr_fail(err, KR_EIO, "%s: %s", path, strerror(errno));
    char *copy = strdup(path);
    if (copy == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    while (len > 1 && copy[len - 1] == '/')
        copy[--len] = '\0';
    if (!S_ISDIR(sb.st_mode))
        return add_file(t, copy, err);
    kr_status st = walk(copy, 0, t, err);
    free(copy);
    if (st == KR_OK && t->n > before)
        qsort(t->path + before, t->n - before, sizeof *t->path, by_name);
    return st;
}

void kr_tree_free(kr_tree *t) {
    for (size_t i = 0; i < t->n; i++)
        free(t->path[i]);
    free(t->path);
    *t = (kr_tree){NULL, 0, 0};
}

const char *kr_path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

char *kr_path_dir(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return strdup(".");
    size_t n = slash == path ? 1 : (size_t)(slash - path);
    char *p = malloc(n + 1);
    if (p != NULL) {
        memcpy(p, path, n);
        p[n] = '\0';
    }
    return p;
}

char *kr_path_join(const char *dir, const char *name) {
    size_t a = strlen(dir), b = strlen(name);
    char *p = malloc(a + b + 2);
    if (p == NULL)
        return NULL;
    memcpy(p, dir, a);
    if (a > 0 && dir[a - 1] != '/')
        p[a++] = '/';
    memcpy(p + a, name, b + 1);
    return p;
}
