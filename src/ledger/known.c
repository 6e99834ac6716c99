#include "ledger/known.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "ledger/rowfile.h"

#define HEAD_MAX 16384
#define PATH_CAP 4096

/* --- where -------------------------------------------------------------------------------------- */

static bool directory(char *out, size_t cap) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (state != NULL && *state == '/')
        n = snprintf(out, cap, "%s/kvrisk/ledgers", state);
    else if (home != NULL && *home == '/')
        n = snprintf(out, cap, "%s/.local/state/kvrisk/ledgers", home);
    return n > 0 && (size_t)n < cap;
}

static bool place(const char *identity, const char *ending, char *out, size_t cap) {
    char dir[PATH_CAP];
    int n = directory(dir, sizeof dir) ? snprintf(out, cap, "%s/%.64s%s", dir, identity, ending) : -1;
    return n > 0 && (size_t)n < cap;
}

/* IDENTITY.head or IDENTITY.rows. */
static bool is_entry(const char *name, char identity[KR_SHA256_HEX]) {
    if (strspn(name, "0123456789abcdef") != KR_SHA256_HEX - 1)
        return false;
    memcpy(identity, name, KR_SHA256_HEX - 1);
    identity[KR_SHA256_HEX - 1] = '\0';
    return strcmp(name + KR_SHA256_HEX - 1, ".head") == 0 || strcmp(name + KR_SHA256_HEX - 1, ".rows") == 0;
}

static bool make_directories(char *path) {
    for (char *p = path + 1; *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *p = '/';
        if (!ok)
            return false;
    }
    return true;
}

/* --- one ledger --------------------------------------------------------------------------------- */

static void take(kr_json *j, char *out, size_t cap) {
    char *s = kr_json_string_copy(j);
    if (s != NULL && strlen(s) >= cap)
        kr_json_fail(j, j->at, "the text is too long");
    else if (s != NULL)
        memcpy(out, s, strlen(s) + 1);
    free(s);
}

kr_status kr_known_parse(const char *text, size_t len, const char *name, kr_known *out, kr_error *err) {
    kr_json j = kr_json_open(text, len, name, 1, err);
    kr_span key;
    int64_t version = 0;
    *out = (kr_known){0};
    for (kr_json_iter it = kr_json_enter(&j, '{'); kr_json_member(&j, &it, &key);) {
        if (kr_span_is(key, "version"))
            kr_json_int(&j, 1, 1, &version);
        else if (kr_span_is(key, "entries"))
            kr_json_int(&j, 1, KR_LEDGER_ENTRIES_MAX, &out->entries);
        else if (kr_span_is(key, "head"))
            take(&j, out->head, sizeof out->head);
        else if (kr_span_is(key, "file"))
            take(&j, out->file, sizeof out->file);
        else
            kr_json_skip(&j, NULL);
    }
    if (!j.failed && (version != 1 || out->entries < 1 || strlen(out->head) != KR_SHA256_HEX - 1))
        kr_json_fail(&j, 0, "expected what kvrisk remembers of a ledger");
    out->known = !j.failed;
    return j.failed ? KR_EFORMAT : KR_OK;
}

kr_status kr_known_get(const char *identity, kr_known *out, kr_error *err) {
    char path[PATH_CAP], *text = NULL;
    struct stat s;
    size_t len = 0;
    *out = (kr_known){0};
    if (!place(identity, ".head", path, sizeof path) ||
        (stat(path, &s) != 0 && (errno == ENOENT || errno == ENOTDIR)))
        return KR_OK;
    kr_status st = kr_file_read(path, HEAD_MAX, &text, &len, err);
    if (st == KR_OK)
        st = kr_known_parse(text, len, path, out, err);
    free(text);
    return st;
}

bool kr_known_has_rows(const char *identity) {
    char path[PATH_CAP];
    struct stat s;
    return place(identity, ".rows", path, sizeof path) && stat(path, &s) == 0;
}

static kr_status place_to_write(const char *identity, const char *ending, char *path, size_t cap,
                                kr_error *err) {
    if (!place(identity, ending, path, cap))
        return kr_fail(err, KR_EIO, "there is no state directory to remember the ledger in: neither "
                                    "XDG_STATE_HOME nor HOME is an absolute path");
    if (!make_directories(path))
        return kr_fail(err, KR_EIO, "cannot remember the ledger in the state directory (%s): %s", path,
                       strerror(errno));
    return KR_OK;
}

kr_status kr_known_add(const char *identity, const kr_prints *p, kr_error *err) {
    char path[PATH_CAP];
    kr_status st = place_to_write(identity, ".rows", path, sizeof path, err);
    return st == KR_OK ? kr_rowfile_merge(path, p, err) : st;
}

kr_status kr_known_set(const char *file, const kr_ledger *l, kr_error *err) {
    char path[PATH_CAP];
    kr_status st = place_to_write(l->entry[0].hash, ".head", path, sizeof path, err);
    if (st != KR_OK)
        return st;
    char *real = realpath(file, NULL);
    kr_buf b = {0};
    kr_buf_printf(&b, "{\"version\":1,\"entries\":%zu,\"head\":\"%s\",\"file\":", l->n, l->head);
    kr_json_put_string(&b, real != NULL && strlen(real) < PATH_CAP ? real : "");
    kr_buf_puts(&b, "}\n");
    st = b.failed ? kr_fail(err, KR_ENOMEM, "out of memory")
                  : kr_file_write(path, kr_buf_text(&b), b.len, true, err);
    kr_buf_free(&b);
    free(real);
    return st;
}

/* --- all others --------------------------------------------------------------------------------- */

typedef kr_status other_fn(void *ctx, const char *identity, kr_error *err);

static bool told(const char *identity, char (*list)[KR_SHA256_HEX], size_t n) {
    for (size_t i = n; i-- > 0;)
        if (strcmp(list[i], identity) == 0)
            return true;
    return false;
}

/* Identities in the directory but own, each once; the caller frees. */
static kr_status list_others(const char *own, char (**out)[KR_SHA256_HEX], size_t *count, kr_error *err) {
    char dir[PATH_CAP], identity[KR_SHA256_HEX], (*list)[KR_SHA256_HEX] = NULL;
    size_t n = 0;
    kr_status st = KR_OK;
    *out = NULL;
    *count = 0;
    DIR *d = directory(dir, sizeof dir) ? opendir(dir) : (errno = ENOENT, NULL);
    if (d == NULL)
        return errno == ENOENT ? KR_OK
                               : kr_fail(err, KR_EIO, "%s: cannot read what ledgers there are: %s", dir,
                                         strerror(errno));
    for (struct dirent *e; st == KR_OK && (e = readdir(d)) != NULL;) {
        if (!is_entry(e->d_name, identity) || (own != NULL && strcmp(identity, own) == 0) ||
            told(identity, list, n))
            continue;
        char(*grown)[KR_SHA256_HEX] = (n & (n + 1)) == 0 ? realloc(list, (2 * n + 2) * sizeof *list) : list;
        if (grown == NULL) {
            st = kr_fail(err, KR_ENOMEM, "out of memory");
            break;
        }
        list = grown;
        memcpy(list[n++], identity, sizeof identity);
    }
    closedir(d);
    *out = list;
    *count = n;
    return st;
}

kr_status kr_known_others(const char *own, bool *any, kr_error *err) {
    char(*list)[KR_SHA256_HEX];
    size_t n;
    kr_status st = list_others(own, &list, &n, err);
    *any = n > 0;
    free(list);
    return st;
}

/* Walks the file's fingerprints beside the ledger's, both ascending. */
typedef struct {
    const kr_prints *p;
    size_t at[KR_PRINTS];
    unsigned char *hit; /* [rows] bit per kind */
} matcher;

static void match(void *ctx, kr_print_kind kind, uint64_t value) {
    matcher *m = ctx;
    const kr_print *own = m->p->of[kind];
    size_t n = m->p->n[kind], at = m->at[kind];
    while (at < n && own[at].value < value)
        at++;
    for (; at < n && own[at].value == value; at++)
        m->hit[own[at].row] |= (unsigned char)(1u << kind);
    m->at[kind] = at;
}

#define BIT(kind) (1u << (kind))

/* Of the rows that tell one file from another: those with a known id, those with its utilities too. Two
 * models may fail alike on many requests, but not on nearly all. */
static bool same_results(const matcher *m) {
    int64_t ids = 0, both = 0;
    for (size_t i = 0; i < m->p->n[KR_PRINT_RESULT]; i++) {
        unsigned hit = m->hit[m->p->of[KR_PRINT_RESULT][i].row];
        ids += (hit & BIT(KR_PRINT_ID)) != 0;
        both += (hit & BIT(KR_PRINT_RESULT)) != 0;
    }
    return both > 0 && 10 * both >= 9 * ids;
}

/* Nine tenths of the different sets of utilities are known. Where few requests share theirs with
 * another one, requests of other files do so rarely as well. */
static bool same_numbers(const matcher *m) {
    const kr_print *x = m->p->of[KR_PRINT_NUMBERS];
    size_t n = m->p->n[KR_PRINT_NUMBERS], different = 0, known = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || x[i].value != x[i - 1].value) {
            different++;
            known += (m->hit[x[i].row] & BIT(KR_PRINT_NUMBERS)) != 0;
        }
    return different >= 30 && 2 * different >= n && 10 * known >= 9 * different;
}

static int64_t known_requests(matcher *m) {
    unsigned any = BIT(KR_PRINT_REQUEST) | BIT(KR_PRINT_PROMPT);
    if (same_results(m))
        any |= BIT(KR_PRINT_ID);
    if (same_numbers(m))
        any |= BIT(KR_PRINT_NUMBERS);
    int64_t n = 0;
    for (size_t i = 0; i < m->p->rows; i++)
        n += (m->hit[i] & any) != 0;
    return n;
}

static kr_status find_in(const char *identity, matcher *m, kr_known_other *best, kr_error *err) {
    char path[PATH_CAP];
    if (!place(identity, ".rows", path, sizeof path))
        return kr_fail(err, KR_EIO, "the name of the state directory is too long");
    memset(m->at, 0, sizeof m->at);
    memset(m->hit, 0, m->p->rows);
    kr_status st = kr_rowfile_read(path, match, m, err);
    int64_t n = st == KR_OK ? known_requests(m) : 0;
    if (n <= best->requests)
        return st;
    best->requests = n;
    return kr_known_get(identity, &best->ledger, err);
}

kr_status kr_known_find(const kr_prints *p, const char *own, kr_known_other *out, kr_error *err) {
    char(*list)[KR_SHA256_HEX];
    size_t n;
    kr_known_other best = {0};
    matcher m = {.p = p, .hit = malloc(p->rows + 1)};
    kr_status st = list_others(own, &list, &n, err);
    if (st == KR_OK && m.hit == NULL)
        st = kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t i = 0; st == KR_OK && i < n; i++)
        st = find_in(list[i], &m, &best, err);
    free(m.hit);
    free(list);
    if (st == KR_OK)
        *out = best;
    return st;
}
