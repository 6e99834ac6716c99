#include "ledger/rowfile.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const char magic[16] = "kvrisk rows 1\n\n";
#define TRAILER ((KR_PRINTS + 1) * 8)

static uint64_t get_word(const unsigned char b[8]) {
    uint64_t low = b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24;
    return low | (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

static void put_word(unsigned char b[8], uint64_t w) {
    for (int i = 0; i < 8; i++, w >>= 8)
        b[i] = (unsigned char)w;
}

/* --- reading ------------------------------------------------------------------------------------ */

static kr_status damaged(const char *name, const char *what, kr_error *err) {
    return kr_fail(err, KR_EFORMAT, "%s %s", name, what);
}

static bool read_exactly(FILE *f, void *to, size_t n) { return fread(to, 1, n, f) == n; }

/* Counts and checksum from the end; the file is then at its first fingerprint. */
static kr_status read_frame(FILE *f, const char *name, uint64_t count[KR_PRINTS], uint64_t *check,
                            kr_error *err) {
    unsigned char head[sizeof magic], tail[TRAILER];
    long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (size < 0)
        return kr_fail(err, KR_EIO, "%s: cannot read: %s", name, strerror(errno));
    if (size > KR_ROWFILE_MAX)
        return damaged(name, "is longer than any list of requests may be", err);
    if (size < (long)(sizeof magic + TRAILER) || fseek(f, 0, SEEK_SET) != 0 ||
        !read_exactly(f, head, sizeof head) || memcmp(head, magic, sizeof magic) != 0 ||
        fseek(f, size - TRAILER, SEEK_SET) != 0 || !read_exactly(f, tail, sizeof tail))
        return damaged(name, "is not a list of requests of this version", err);
    uint64_t words = ((uint64_t)size - sizeof magic - TRAILER) / 8, sum = 0;
    for (int k = 0; k < KR_PRINTS; k++) {
        count[k] = get_word(tail + 8 * k);
        if (count[k] > words - sum)
            return damaged(name, "was cut or damaged", err);
        sum += count[k];
    }
    *check = get_word(tail + 8 * KR_PRINTS);
    if (sum != words || (size - (long)sizeof magic) % 8 != 0 || fseek(f, sizeof magic, SEEK_SET) != 0)
        return damaged(name, "was cut or damaged", err);
    return KR_OK;
}

kr_status kr_rowfile_scan(FILE *f, const char *name, kr_rowfile_visit *visit, void *ctx, kr_error *err) {
    unsigned char chunk[1 << 15];
    uint64_t count[KR_PRINTS], want = 0, check = 0;
    kr_status st = read_frame(f, name, count, &want, err);
    if (st != KR_OK)
        return st;
    for (int k = 0; k < KR_PRINTS; k++) {
        uint64_t last = 0;
        for (uint64_t at = 0; at < count[k];) {
            size_t n = sizeof chunk / 8;
            if (n > count[k] - at)
                n = (size_t)(count[k] - at);
            if (!read_exactly(f, chunk, 8 * n))
                return damaged(name, "was cut or damaged", err);
            for (size_t i = 0; i < n; i++, at++) {
                uint64_t w = get_word(chunk + 8 * i);
                if (at > 0 && w <= last)
                    return damaged(name, "was cut or damaged", err);
                check = kr_print_word(check, w);
                visit(ctx, (kr_print_kind)k, last = w);
            }
        }
    }
    return check == want ? KR_OK : damaged(name, "was cut or damaged", err);
}

kr_status kr_rowfile_read(const char *path, kr_rowfile_visit *visit, void *ctx, kr_error *err) {
    struct stat s;
    FILE *f = stat(path, &s) == 0 && S_ISREG(s.st_mode) ? fopen(path, "rb") : NULL;
    if (f == NULL)
        return kr_fail(err, KR_EIO, "%s: cannot read: %s", path,
                       errno != 0 ? strerror(errno) : "not a regular file");
    kr_status st = kr_rowfile_scan(f, path, visit, ctx, err);
    fclose(f);
    return st;
}

/* --- writing ------------------------------------------------------------------------------------ */

typedef struct {
    kr_writer *w;
    const kr_prints *p;
    size_t at[KR_PRINTS]; /* of p, written */
    int kind;
    uint64_t count[KR_PRINTS], check, last;
    unsigned char chunk[1 << 15];
    size_t filled;
} merger;

static void flush(merger *m) {
    kr_writer_add(m->w, m->chunk, m->filled);
    m->filled = 0;
}

static void write_word(merger *m, uint64_t w) {
    put_word(m->chunk + m->filled, w);
    m->filled += 8;
    if (m->filled == sizeof m->chunk)
        flush(m);
}

static void write_print(merger *m, uint64_t w) {
    if (m->count[m->kind] > 0 && w == m->last)
        return;
    write_word(m, w);
    m->check = kr_print_word(m->check, w);
    m->count[m->kind]++;
    m->last = w;
}

/* Those of p up to a value, of the present kind. */
static void write_own(merger *m, uint64_t upto) {
    const kr_print *own = m->p->of[m->kind];
    size_t n = m->p->n[m->kind], at = m->at[m->kind];
    for (; at < n && own[at].value <= upto; at++)
        write_print(m, own[at].value);
    m->at[m->kind] = at;
}

static void finish_kinds(merger *m, int upto) {
    for (; m->kind < upto; m->kind++)
        write_own(m, UINT64_MAX);
}

static void merge_old(void *ctx, kr_print_kind kind, uint64_t value) {
    merger *m = ctx;
    finish_kinds(m, (int)kind);
    write_own(m, value);
    write_print(m, value);
}

kr_status kr_rowfile_merge(const char *path, const kr_prints *p, kr_error *err) {
    merger m = {.p = p};
    struct stat old;
    kr_status st = kr_writer_open(path, true, &m.w, err);
    if (st != KR_OK)
        return st;
    kr_writer_add(m.w, magic, sizeof magic);
    if (stat(path, &old) == 0)
        st = kr_rowfile_read(path, merge_old, &m, err);
    if (st != KR_OK) {
        kr_writer_abort(m.w);
        return st;
    }
    finish_kinds(&m, KR_PRINTS);
    for (int k = 0; k < KR_PRINTS; k++)
        write_word(&m, m.count[k]);
    write_word(&m, m.check);
    flush(&m);
    return kr_writer_commit(m.w, err);
}
