#include "engine/gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Counts and lengths beyond these are refused; real files stay far below. */
enum {
    MAX_PAIRS = 65536,
    MAX_TENSORS = 65536,
    MAX_KEY = 256,
    MAX_NAME = 63,
    MAX_STRING = 16 << 20,
    MAX_ARRAY = 1 << 24,
    MAX_ALIGN = 65536,
    MIN_PAIR = 13,   /* key length, type, one byte of value */
    MIN_TENSOR = 32, /* name length, dimensions, one size, type, offset */
};

typedef struct {
    kr_gguf_str key;
    kr_gguf_type type;
    kr_gguf_array array; /* type KR_GGUF_ARRAY; otherwise array.p points at the value */
} pair;

struct kr_gguf {
    char *name;
    void *map; /* NULL when the bytes are the caller's */
    const uint8_t *data;
    size_t size;
    unsigned version;
    size_t n_pairs, n_tensors, align;
    pair *pairs; /* sorted by key */
    kr_gguf_tensor *tensors;
    size_t *by_name;   /* [n_tensors] indices sorted by name */
    uint64_t *offsets; /* [n_tensors] as in the file */
};

static const size_t sizes[KR_GGUF_TYPES] = {
    [KR_GGUF_U8] = 1,  [KR_GGUF_I8] = 1,   [KR_GGUF_U16] = 2, [KR_GGUF_I16] = 2,
    [KR_GGUF_U32] = 4, [KR_GGUF_I32] = 4,  [KR_GGUF_F32] = 4, [KR_GGUF_BOOL] = 1,
    [KR_GGUF_U64] = 8, [KR_GGUF_I64] = 8,  [KR_GGUF_F64] = 8,
};
static const char *const type_names[KR_GGUF_TYPES] = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64",
};

/* ---- a cursor that never passes the end ---- */

typedef struct {
    const kr_gguf *g;
    size_t at;
    kr_error *err;
} cursor;

static size_t left(const cursor *c) {
    return c->g->size - c->at;
}

static kr_status cut(const cursor *c, const char *what) {
    return kr_fail(c->err, KR_EFORMAT, "%s: the file ends at byte %zu inside %s; is it a complete "
                   "download?", c->g->name, c->g->size, what);
}

static uint64_t little(const uint8_t *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static kr_status take(cursor *c, size_t n, const char *what, const uint8_t **out) {
    if (left(c) < n)
        return cut(c, what);
    *out = c->g->data + c->at;
    c->at += n;
    return KR_OK;
}

static kr_status take_uint(cursor *c, size_t n, const char *what, uint64_t *out) {
    const uint8_t *p = NULL;
    kr_status st = take(c, n, what, &p);
    if (st == KR_OK)
        *out = little(p, n);
    return st;
}

static kr_status take_str(cursor *c, size_t max, const char *what, kr_gguf_str *out) {
    uint64_t n = 0;
    const uint8_t *p = NULL;
    kr_status st = take_uint(c, 8, what, &n);
    if (st != KR_OK)
        return st;
    if (n > max)
        return kr_fail(c->err, KR_EFORMAT, "%s: %s at byte %zu has a length of %llu bytes; at most "
                       "%zu are accepted", c->g->name, what, c->at - 8, (unsigned long long)n, max);
    st = take(c, (size_t)n, what, &p);
    if (st == KR_OK)
        *out = (kr_gguf_str){(const char *)p, (size_t)n};
    return st;
}

/* A key or tensor name: not empty, no NUL. */
static kr_status take_name(cursor *c, size_t max, const char *what, kr_gguf_str *out) {
    kr_status st = take_str(c, max, what, out);
    if (st != KR_OK)
        return st;
    if (out->n == 0 || memchr(out->p, 0, out->n) != NULL)
        return kr_fail(c->err, KR_EFORMAT, "%s: %s before byte %zu is empty or contains a NUL byte",
                       c->g->name, what, c->at);
    return KR_OK;
}

static int compare(kr_gguf_str a, kr_gguf_str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int r = memcmp(a.p, b.p, n);
    return r != 0 ? r : (a.n > b.n) - (a.n < b.n);
}

/* ---- header, pairs ---- */

static kr_status read_header(cursor *c, kr_gguf *g, uint64_t *n_tensors, uint64_t *n_pairs) {
    const uint8_t *magic = NULL;
    uint64_t version = 0;
    if (g->size == 0)
        return kr_fail(c->err, KR_EFORMAT, "%s: the file is empty; expected a GGUF model", g->name);
    if (g->size < 4 || memcmp(g->data, "GGUF", 4) != 0)
        return kr_fail(c->err, KR_EFORMAT, "%s: not a GGUF model: it does not begin with the "
                       "letters GGUF", g->name);
    if (take(c, 4, "the header", &magic) != KR_OK ||
        take_uint(c, 4, "the header", &version) != KR_OK)
        return c->err != NULL ? c->err->code : KR_EFORMAT;
    if (version != 0 && (version & 0xffff) == 0)
        return kr_fail(c->err, KR_EFORMAT, "%s: this GGUF file is big-endian; only little-endian "
                       "files are read", g->name);
    if (version != 2 && version != 3)
        return kr_fail(c->err, KR_EFORMAT, "%s: GGUF version %llu; versions 2 and 3 are read",
                       g->name, (unsigned long long)version);
    g->version = (unsigned)version;
    kr_status st = take_uint(c, 8, "the header", n_tensors);
    if (st == KR_OK)
        st = take_uint(c, 8, "the header", n_pairs);
    if (st != KR_OK)
        return st;
    if (*n_pairs > MAX_PAIRS || *n_pairs > left(c) / MIN_PAIR)
        return kr_fail(c->err, KR_EFORMAT, "%s: the header announces %llu keys, which %zu bytes "
                       "cannot hold", g->name, (unsigned long long)*n_pairs, g->size);
    if (*n_tensors > MAX_TENSORS || *n_tensors > left(c) / MIN_TENSOR)
        return kr_fail(c->err, KR_EFORMAT, "%s: the header announces %llu tensors, which %zu bytes "
                       "cannot hold", g->name, (unsigned long long)*n_tensors, g->size);
    return KR_OK;
}

static kr_status read_strings(cursor *c, const pair *p) {
    for (size_t i = 0; i < p->array.n; i++) {
        kr_gguf_str s;
        kr_status st = take_str(c, MAX_STRING, "a string of an array", &s);
        if (st != KR_OK)
            return st;
    }
    return KR_OK;
}

static kr_status read_array(cursor *c, pair *p) {
    uint64_t type = 0, n = 0;
    kr_status st = take_uint(c, 4, "an array", &type);
    if (st == KR_OK)
        st = take_uint(c, 8, "an array", &n);
    if (st != KR_OK)
        return st;
    int kn = (int)p->key.n;
    if (type == KR_GGUF_ARRAY)
        return kr_fail(c->err, KR_EFORMAT, "%s: key %.*s is an array of arrays; nested arrays are "
                       "not accepted", c->g->name, kn, p->key.p);
    if (type >= KR_GGUF_TYPES)
        return kr_fail(c->err, KR_EFORMAT, "%s: key %.*s is an array of unknown type %llu",
                       c->g->name, kn, p->key.p, (unsigned long long)type);
    size_t least = type == KR_GGUF_STR ? 8 : sizes[type];
    if (n > MAX_ARRAY || n > left(c) / least)
        return kr_fail(c->err, KR_EFORMAT, "%s: key %.*s announces %llu elements; the %zu bytes "
                       "that follow cannot hold them", c->g->name, kn, p->key.p,
                       (unsigned long long)n, left(c));
    p->array = (kr_gguf_array){(kr_gguf_type)type, (size_t)n, c->g->data + c->at};
    if (type == KR_GGUF_STR)
        return read_strings(c, p);
    c->at += (size_t)n * sizes[type];
    return KR_OK;
}

static kr_status read_pair(cursor *c, pair *p) {
    uint64_t type = 0;
    kr_status st = take_name(c, MAX_KEY, "a key", &p->key);
    if (st == KR_OK)
        st = take_uint(c, 4, "a key's type", &type);
    if (st != KR_OK)
        return st;
    if (type >= KR_GGUF_TYPES)
        return kr_fail(c->err, KR_EFORMAT, "%s: key %.*s has unknown type %llu", c->g->name,
                       (int)p->key.n, p->key.p, (unsigned long long)type);
    p->type = (kr_gguf_type)type;
    if (p->type == KR_GGUF_ARRAY)
        return read_array(c, p);
    p->array = (kr_gguf_array){p->type, 1, c->g->data + c->at};
    if (p->type == KR_GGUF_STR) {
        kr_gguf_str s;
        return take_str(c, MAX_STRING, "a string value", &s);
    }
    return take(c, sizes[p->type], "a value", &p->array.p);
}

static int by_key(const void *a, const void *b) {
    return compare(((const pair *)a)->key, ((const pair *)b)->key);
}

static kr_status read_pairs(cursor *c, kr_gguf *g, size_t n) {
    g->pairs = calloc(n + 1, sizeof *g->pairs);
    if (g->pairs == NULL)
        return kr_fail(c->err, KR_ENOMEM, "%s: out of memory for %zu keys", g->name, n);
    for (; g->n_pairs < n; g->n_pairs++) {
        kr_status st = read_pair(c, &g->pairs[g->n_pairs]);
        if (st != KR_OK)
            return st;
    }
    qsort(g->pairs, n, sizeof *g->pairs, by_key);
    for (size_t i = 1; i < n; i++)
        if (by_key(&g->pairs[i - 1], &g->pairs[i]) == 0)
            return kr_fail(c->err, KR_EFORMAT, "%s: key %.*s occurs twice", g->name,
                           (int)g->pairs[i].key.n, g->pairs[i].key.p);
    return KR_OK;
}

static const pair *lookup(const kr_gguf *g, const char *key) {
    pair want = {.key = {key, strlen(key)}};
    return bsearch(&want, g->pairs, g->n_pairs, sizeof *g->pairs, by_key);
}

static kr_status read_alignment(kr_gguf *g, kr_error *err) {
    const pair *p = lookup(g, "general.alignment");
    g->align = 32;
    if (p == NULL)
        return KR_OK;
    if (p->type != KR_GGUF_U32)
        return kr_fail(err, KR_EFORMAT, "%s: general.alignment is of type %s; expected u32",
                       g->name, type_names[p->type]);
    uint64_t a = little(p->array.p, 4);
    if (a == 0 || a > MAX_ALIGN || (a & (a - 1)) != 0)
        return kr_fail(err, KR_EFORMAT, "%s: general.alignment is %llu; expected a power of two "
                       "up to %d", g->name, (unsigned long long)a, MAX_ALIGN);
    g->align = (size_t)a;
    return KR_OK;
}

static kr_status refuse_split(const kr_gguf *g, kr_error *err) {
    uint64_t count = 0;
    kr_status st = kr_gguf_get_uint(g, "split.count", false, &count, err);
    if (st == KR_OK && count > 1)
        return kr_fail(err, KR_EFORMAT, "%s: one part of a model split into %llu files; join them "
                       "first (llama-gguf-split --merge)", g->name, (unsigned long long)count);
    return st;
}

/* ---- tensors ---- */

/* Element count and bytes, every product checked. */
static kr_status measure(cursor *c, kr_gguf_tensor *t, const uint64_t *ne, uint64_t type) {
    const kr_quant_info *q = type <= UINT32_MAX ? kr_quant_describe((uint32_t)type) : NULL;
    int nn = (int)t->name.n;
    if (q == NULL)
        return kr_fail(c->err, KR_EFORMAT, "%s: unsupported type %llu in tensor %.*s", c->g->name,
                       (unsigned long long)type, nn, t->name.p);
    size_t count = 1;
    for (unsigned i = 0; i < 4; i++) {
        t->ne[i] = 1;
        if (i >= t->n_dims)
            continue;
        if (ne[i] == 0 || ne[i] > SIZE_MAX || (size_t)ne[i] > SIZE_MAX / 8 / count)
            return kr_fail(c->err, KR_EFORMAT, "%s: tensor %.*s has an impossible size %llu in "
                           "dimension %u", c->g->name, nn, t->name.p, (unsigned long long)ne[i], i);
        t->ne[i] = (size_t)ne[i];
        count *= t->ne[i];
    }
    if (t->ne[0] % q->block != 0)
        return kr_fail(c->err, KR_EFORMAT, "%s: rows of tensor %.*s have %zu elements, no multiple "
                       "of the %zu of a %s block", c->g->name, nn, t->name.p, t->ne[0], q->block,
                       q->name);
    t->type = (kr_quant)type;
    t->bytes = count / q->block * q->bytes; /* bytes < 8 * block, so no wrap */
    return KR_OK;
}

static kr_status read_tensor(cursor *c, kr_gguf_tensor *t, uint64_t *offset) {
    uint64_t dims = 0, ne[4] = {0}, type = 0;
    kr_status st = take_name(c, MAX_NAME, "a tensor name", &t->name);
    if (st == KR_OK)
        st = take_uint(c, 4, "a tensor's description", &dims);
    if (st != KR_OK)
        return st;
    if (dims < 1 || dims > 4)
        return kr_fail(c->err, KR_EFORMAT, "%s: tensor %.*s has %llu dimensions; expected 1 to 4",
                       c->g->name, (int)t->name.n, t->name.p, (unsigned long long)dims);
    t->n_dims = (unsigned)dims;
    for (unsigned i = 0; i < t->n_dims && st == KR_OK; i++)
        st = take_uint(c, 8, "a tensor's sizes", &ne[i]);
    if (st == KR_OK)
        st = take_uint(c, 4, "a tensor's type", &type);
    if (st == KR_OK)
        st = take_uint(c, 8, "a tensor's offset", offset);
    return st == KR_OK ? measure(c, t, ne, type) : st;
}

/* Sorting an index needs the table; C has no qsort with an argument, so the key travels along. */
typedef struct {
    kr_gguf_str name;
    uint64_t offset;
    size_t index;
} entry;

static int entry_name(const void *a, const void *b) {
    return compare(((const entry *)a)->name, ((const entry *)b)->name);
}

static int entry_offset(const void *a, const void *b) {
    uint64_t x = ((const entry *)a)->offset, y = ((const entry *)b)->offset;
    return (x > y) - (x < y);
}

static kr_status place(kr_gguf *g, size_t start, size_t i, kr_error *err) {
    kr_gguf_tensor *t = &g->tensors[i];
    uint64_t off = g->offsets[i];
    size_t room = g->size > start ? g->size - start : 0;
    if (off % g->align != 0)
        return kr_fail(err, KR_EFORMAT, "%s: tensor %.*s begins at offset %llu, no multiple of the "
                       "alignment %zu", g->name, (int)t->name.n, t->name.p,
                       (unsigned long long)off, g->align);
    if (off > room || t->bytes > room - (size_t)off) {
        size_t have = off < room ? room - (size_t)off : 0;
        return kr_fail(err, KR_EFORMAT, "%s: tensor %.*s needs %zu bytes at offset %llu but the "
                       "file has %zu there (%zu missing); is it a complete download?", g->name,
                       (int)t->name.n, t->name.p, t->bytes, (unsigned long long)off, have,
                       t->bytes - have);
    }
    t->data = g->data + start + (size_t)off;
    return KR_OK;
}

static kr_status order(kr_gguf *g, entry *e, kr_error *err) {
    size_t n = g->n_tensors;
    qsort(e, n, sizeof *e, entry_offset);
    for (size_t i = 1; i < n; i++) {
        const kr_gguf_tensor *a = &g->tensors[e[i - 1].index], *b = &g->tensors[e[i].index];
        if (a->bytes > e[i].offset - e[i - 1].offset)
            return kr_fail(err, KR_EFORMAT, "%s: tensors %.*s and %.*s share bytes", g->name,
                           (int)a->name.n, a->name.p, (int)b->name.n, b->name.p);
    }
    qsort(e, n, sizeof *e, entry_name);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && entry_name(&e[i - 1], &e[i]) == 0)
            return kr_fail(err, KR_EFORMAT, "%s: tensor %.*s occurs twice", g->name,
                           (int)e[i].name.n, e[i].name.p);
        g->by_name[i] = e[i].index;
    }
    return KR_OK;
}

static kr_status read_tensors(cursor *c, kr_gguf *g, size_t n) {
    g->tensors = calloc(n + 1, sizeof *g->tensors);
    g->offsets = calloc(n + 1, sizeof *g->offsets);
    g->by_name = calloc(n + 1, sizeof *g->by_name);
    entry *e = calloc(n + 1, sizeof *e);
    kr_status st = KR_OK;
    if (g->tensors == NULL || g->offsets == NULL || g->by_name == NULL || e == NULL)
        st = kr_fail(c->err, KR_ENOMEM, "%s: out of memory for %zu tensors", g->name, n);
    for (; st == KR_OK && g->n_tensors < n; g->n_tensors++)
        st = read_tensor(c, &g->tensors[g->n_tensors], &g->offsets[g->n_tensors]);
    size_t pad = (g->align - c->at % g->align) % g->align; /* at <= size: the sum cannot wrap */
    for (size_t i = 0; st == KR_OK && i < n; i++) {
        st = place(g, c->at + pad, i, c->err);
        e[i] = (entry){g->tensors[i].name, g->offsets[i], i};
    }
    if (st == KR_OK)
        st = order(g, e, c->err);
    free(e);
    return st;
}

static kr_status read_all(kr_gguf *g, kr_error *err) {
    cursor c = {g, 0, err};
    uint64_t n_tensors = 0, n_pairs = 0;
    kr_status st = read_header(&c, g, &n_tensors, &n_pairs);
    if (st == KR_OK)
        st = read_pairs(&c, g, (size_t)n_pairs);
    if (st == KR_OK)
        st = refuse_split(g, err);
    if (st == KR_OK)
        st = read_alignment(g, err);
    return st == KR_OK ? read_tensors(&c, g, (size_t)n_tensors) : st;
}

/* ---- opening ---- */

static kr_status map_file(const char *path, kr_gguf *g, kr_error *err) {
    struct stat sb;
    kr_status st = KR_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hang us */
    if (fd < 0)
        return kr_fail(err, KR_EIO, "%s: %s", path, strerror(errno));
    if (fstat(fd, &sb) != 0)
        st = kr_fail(err, KR_EIO, "%s: %s", path, strerror(errno));
    else if (S_ISDIR(sb.st_mode))
        st = kr_fail(err, KR_EIO, "%s: is a directory; expected a GGUF model file", path);
    else if (!S_ISREG(sb.st_mode))
        st = kr_fail(err, KR_EIO, "%s: not a regular file; a model is mapped into memory", path);
    else if ((uintmax_t)sb.st_size > SIZE_MAX / 2)
        st = kr_fail(err, KR_EFORMAT, "%s: too large for this machine", path);
    if (st == KR_OK && sb.st_size > 0) {
        g->size = (size_t)sb.st_size;
        g->map = mmap(NULL, g->size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (g->map == MAP_FAILED) {
            g->map = NULL;
            st = kr_fail(err, KR_EIO, "%s: cannot map the file: %s", path, strerror(errno));
        }
        g->data = g->map;
    }
    close(fd);
    return st;
}

static kr_status start(const char *name, kr_gguf **out, kr_error *err) {
    kr_gguf *g = calloc(1, sizeof *g);
    if (g != NULL)
        g->name = malloc(strlen(name) + 1);
    if (g == NULL || g->name == NULL) {
        free(g);
        return kr_fail(err, KR_ENOMEM, "%s: out of memory", name);
    }
    strcpy(g->name, name);
    *out = g;
    return KR_OK;
}

static kr_status finish(kr_gguf *g, kr_status st, kr_gguf **out, kr_error *err) {
    static const union {
        uint16_t word;
        uint8_t first;
    } host = {1};
    if (st == KR_OK && host.first != 1)
        st = kr_fail(err, KR_EFORMAT, "%s: models are read on little-endian machines only",
                     g->name);
    if (st == KR_OK)
        st = read_all(g, err);
    if (st != KR_OK)
        kr_gguf_close(g);
    else
        *out = g;
    return st;
}

kr_status kr_gguf_open(const char *path, kr_gguf **out, kr_error *err) {
    kr_gguf *g;
    kr_status st = start(path, &g, err);
    return st == KR_OK ? finish(g, map_file(path, g, err), out, err) : st;
}

kr_status kr_gguf_parse(const void *data, size_t size, const char *name, kr_gguf **out,
                        kr_error *err) {
    kr_gguf *g;
    kr_status st = start(name, &g, err);
    if (st != KR_OK)
        return st;
    g->data = data;
    g->size = size;
    return finish(g, KR_OK, out, err);
}

void kr_gguf_close(kr_gguf *g) {
    if (g == NULL)
        return;
    if (g->map != NULL)
        munmap(g->map, g->size);
    free(g->pairs);
    free(g->tensors);
    free(g->offsets);
    free(g->by_name);
    free(g->name);
    free(g);
}

/* ---- look-ups ---- */

const char *kr_gguf_name(const kr_gguf *g) {
    return g->name;
}

size_t kr_gguf_size(const kr_gguf *g) {
    return g->size;
}

unsigned kr_gguf_version(const kr_gguf *g) {
    return g->version;
}

size_t kr_gguf_n_tensors(const kr_gguf *g) {
    return g->n_tensors;
}

const kr_gguf_tensor *kr_gguf_tensor_at(const kr_gguf *g, size_t i) {
    return &g->tensors[i];
}

const kr_gguf_tensor *kr_gguf_find(const kr_gguf *g, const char *name) {
    kr_gguf_str want = {name, strlen(name)};
    size_t lo = 0, hi = g->n_tensors;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const kr_gguf_tensor *t = &g->tensors[g->by_name[mid]];
        int r = compare(t->name, want);
        if (r == 0)
            return t;
        if (r < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

bool kr_gguf_has(const kr_gguf *g, const char *key) {
    return lookup(g, key) != NULL;
}

/* NULL with *st set when there is nothing to read. */
static const pair *want(const kr_gguf *g, const char *key, bool required, kr_status *st,
                        kr_error *err) {
    const pair *p = lookup(g, key);
    *st = KR_OK;
    if (p == NULL && required)
        *st = kr_fail(err, KR_EFORMAT, "%s: the required key %s is missing", g->name, key);
    return p;
}

static kr_status wrong(const kr_gguf *g, const pair *p, const char *expected, kr_error *err) {
    return kr_fail(err, KR_EFORMAT, "%s: key %.*s is of type %s; expected %s", g->name,
                   (int)p->key.n, p->key.p, type_names[p->type], expected);
}

/* Integer of any width; false when negative or no integer. */
static bool integer(kr_gguf_type type, const uint8_t *p, uint64_t *out) {
    switch (type) {
    case KR_GGUF_I8:
    case KR_GGUF_I16:
    case KR_GGUF_I32:
    case KR_GGUF_I64:
        if (p[sizes[type] - 1] & 0x80)
            return false;
        break;
    case KR_GGUF_U8:
    case KR_GGUF_U16:
    case KR_GGUF_U32:
    case KR_GGUF_U64:
        break;
    default:
        return false;
    }
    *out = little(p, sizes[type]);
    return true;
}

kr_status kr_gguf_get_uint(const kr_gguf *g, const char *key, bool required, uint64_t *out,
                           kr_error *err) {
    kr_status st;
    const pair *p = want(g, key, required, &st, err);
    if (p == NULL)
        return st;
    return integer(p->type, p->array.p, out) ? KR_OK : wrong(g, p, "an integer >= 0", err);
}

kr_status kr_gguf_get_float(const kr_gguf *g, const char *key, bool required, double *out,
                            kr_error *err) {
    kr_status st;
    const pair *p = want(g, key, required, &st, err);
    if (p == NULL)
        return st;
    if (p->type == KR_GGUF_F64) {
        memcpy(out, p->array.p, 8);
        return KR_OK;
    }
    if (p->type != KR_GGUF_F32)
        return wrong(g, p, "f32", err);
    *out = (double)kr_gguf_f32_at(&p->array, 0);
    return KR_OK;
}

kr_status kr_gguf_get_bool(const kr_gguf *g, const char *key, bool required, bool *out,
                           kr_error *err) {
    kr_status st;
    const pair *p = want(g, key, required, &st, err);
    if (p == NULL)
        return st;
    if (p->type != KR_GGUF_BOOL)
        return wrong(g, p, "bool", err);
    if (*p->array.p > 1)
        return kr_fail(err, KR_EFORMAT, "%s: key %s holds the byte %u; a bool is 0 or 1", g->name,
                       key, (unsigned)*p->array.p);
    *out = *p->array.p != 0;
    return KR_OK;
}

kr_status kr_gguf_get_str(const kr_gguf *g, const char *key, bool required, kr_gguf_str *out,
                          kr_error *err) {
    kr_status st;
    const pair *p = want(g, key, required, &st, err);
    if (p == NULL)
        return st;
    if (p->type != KR_GGUF_STR)
        return wrong(g, p, "string", err);
    const uint8_t *at = p->array.p;
    *out = kr_gguf_next_str(&at);
    return KR_OK;
}

kr_status kr_gguf_get_array(const kr_gguf *g, const char *key, bool required, kr_gguf_type type,
                            kr_gguf_array *out, kr_error *err) {
    kr_status st;
    const pair *p = want(g, key, required, &st, err);
    if (p == NULL)
        return st;
    if (p->type != KR_GGUF_ARRAY)
        return wrong(g, p, "array", err);
    if (p->array.type != type)
        return kr_fail(err, KR_EFORMAT, "%s: key %s is an array of %s; expected an array of %s",
                       g->name, key, type_names[p->array.type], type_names[type]);
    *out = p->array;
    return KR_OK;
}

kr_status kr_gguf_get_same(const kr_gguf *g, const char *key, bool required, uint64_t *out,
                           kr_error *err) {
    kr_status st;
    const pair *p = want(g, key, required, &st, err);
    if (p == NULL)
        return st;
    if (p->type != KR_GGUF_ARRAY)
        return kr_gguf_get_uint(g, key, required, out, err);
    uint64_t first = 0, v = 0;
    for (size_t i = 0; i < p->array.n; i++) {
        if (!integer(p->array.type, p->array.p + i * sizes[p->array.type], &v))
            return wrong(g, p, "integers >= 0", err);
        if (i == 0)
            first = v;
        if (v != first)
            return kr_fail(err, KR_EFORMAT, "%s: key %s differs between layers (%llu and %llu), "
                           "which is not supported", g->name, key, (unsigned long long)first,
                           (unsigned long long)v);
    }
    if (p->array.n == 0)
        return kr_fail(err, KR_EFORMAT, "%s: key %s is an empty array", g->name, key);
    *out = first;
    return KR_OK;
}

float kr_gguf_f32_at(const kr_gguf_array *a, size_t i) {
    float f;
    memcpy(&f, a->p + 4 * i, 4);
    return f;
}

int32_t kr_gguf_i32_at(const kr_gguf_array *a, size_t i) {
    int32_t v;
    memcpy(&v, a->p + 4 * i, 4);
    return v;
}

kr_gguf_str kr_gguf_next_str(const uint8_t **at) {
    size_t n = (size_t)little(*at, 8);
    kr_gguf_str s = {(const char *)*at + 8, n};
    *at += 8 + n;
    return s;
}

bool kr_gguf_str_is(kr_gguf_str s, const char *text) {
    return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}
