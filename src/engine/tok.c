#include "engine/tok.h"

#include "engine/tok_split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE };
enum { MAX_TEXT = 1 << 30 };
#define NO_ID UINT32_MAX /* "no such token" in the file */

typedef struct {
    kr_gguf_str text;
    int32_t id;
} word;

typedef struct {
    kr_gguf_str left, right;
    size_t rank;
} merge;

struct kr_tok {
    size_t n;
    kr_gguf_str *text; /* [n] */
    float *score;      /* [n], SPM */
    uint8_t *type;     /* [n] */
    word *sorted;      /* [n] by text, then by id */
    merge *merges;     /* [n_merges] by left, right; BPE */
    size_t n_merges;
    const kr_split *split; /* NULL: SPM */
    word *special;         /* [n_special] control, unknown and user tokens, longest first */
    size_t n_special;
    bool starts[256]; /* first bytes of special */
    int32_t bos, eos, eot, eom, unk;
    bool add_bos, add_eos, space_prefix, strip_right;
    int32_t byte_id[256];  /* SPM: token of each byte, or KR_TOK_NONE */
    uint16_t byte_cp[256]; /* BPE: printable stand-in of each byte */
    int16_t cp_byte[0x180];
};

/* ---- sorted tables ---- */

static int compare(kr_gguf_str a, kr_gguf_str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int r = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return r != 0 ? r : (a.n > b.n) - (a.n < b.n);
}

static int by_text(const void *a, const void *b) {
    const word *x = a, *y = b;
    int r = compare(x->text, y->text);
    return r != 0 ? r : (x->id > y->id) - (x->id < y->id);
}

static int by_length(const void *a, const void *b) {
    const word *x = a, *y = b;
    if (x->text.n != y->text.n)
        return x->text.n < y->text.n ? 1 : -1;
    return by_text(a, b);
}

static int by_pair(const void *a, const void *b) {
    const merge *x = a, *y = b;
    int r = compare(x->left, y->left);
    if (r == 0)
        r = compare(x->right, y->right);
    return r != 0 ? r : (x->rank > y->rank) - (x->rank < y->rank);
}

/* The first of equal texts, or KR_TOK_NONE. */
static int32_t find(const word *w, size_t n, kr_gguf_str s) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare(w[mid].text, s) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && compare(w[lo].text, s) == 0 ? w[lo].id : KR_TOK_NONE;
}

static int32_t lookup(const kr_tok *t, kr_gguf_str s) {
    return find(t->sorted, t->n, s);
}

/* ---- reading the vocabulary ---- */

static kr_status read_id(const kr_gguf *g, const char *key, const kr_tok *t, int32_t *out,
                         kr_error *err) {
    uint64_t v = *out < 0 ? NO_ID : (uint64_t)*out;
    kr_status st = kr_gguf_get_uint(g, key, false, &v, err);
    if (st != KR_OK)
        return st;
    if (v != NO_ID && v >= t->n && kr_gguf_has(g, key))
        return kr_fail(err, KR_EFORMAT, "%s: %s is %llu, but the vocabulary has %zu tokens",
                       kr_gguf_name(g), key, (unsigned long long)v, t->n);
    *out = v < t->n ? (int32_t)v : KR_TOK_NONE;
    return KR_OK;
}

static kr_status read_ids(const kr_gguf *g, kr_tok *t, kr_error *err) {
    const struct {
        const char *key;
        int32_t *id;
    } ids[] = {
        {"tokenizer.ggml.bos_token_id", &t->bos},     {"tokenizer.ggml.eos_token_id", &t->eos},
        {"tokenizer.ggml.eot_token_id", &t->eot},     {"tokenizer.ggml.eom_token_id", &t->eom},
        {"tokenizer.ggml.unknown_token_id", &t->unk},
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        kr_status st = read_id(g, ids[i].key, t, ids[i].id, err);
        if (st != KR_OK)
            return st;
    }
    const char *unused[] = {"tokenizer.ggml.padding_token_id", "tokenizer.ggml.seperator_token_id"};
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        int32_t ignore = KR_TOK_NONE;
        kr_status st = read_id(g, unused[i], t, &ignore, err);
        if (st != KR_OK)
            return st;
    }
    return KR_OK;
}

static kr_status count_is(const kr_gguf *g, const char *key, size_t have, size_t expected,
                          kr_error *err) {
    if (have == expected)
        return KR_OK;
    return kr_fail(err, KR_EFORMAT, "%s: %s has %zu elements for %zu tokens", kr_gguf_name(g), key,
                   have, expected);
}

static kr_status read_texts(const kr_gguf *g, kr_tok *t, kr_error *err) {
    kr_gguf_array a = {0};
    kr_status st = kr_gguf_get_array(g, "tokenizer.ggml.tokens", true, KR_GGUF_STR, &a, err);
    if (st != KR_OK)
        return st;
    if (a.n == 0)
        return kr_fail(err, KR_EFORMAT, "%s: tokenizer.ggml.tokens is empty", kr_gguf_name(g));
    t->n = a.n;
    t->text = calloc(a.n, sizeof *t->text);
    t->type = malloc(a.n);
    t->sorted = calloc(a.n, sizeof *t->sorted);
    if (t->text == NULL || t->type == NULL || t->sorted == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu tokens", a.n);
    const uint8_t *at = a.p;
    for (size_t i = 0; i < a.n; i++) {
        t->text[i] = kr_gguf_next_str(&at);
        t->sorted[i] = (word){t->text[i], (int32_t)i};
        t->type[i] = NORMAL;
    }
    qsort(t->sorted, t->n, sizeof *t->sorted, by_text);
    return KR_OK;
}

static kr_status read_types(const kr_gguf *g, kr_tok *t, kr_error *err) {
    const char *key = "tokenizer.ggml.token_type";
    kr_gguf_array a = {0};
    kr_status st = kr_gguf_get_array(g, key, false, KR_GGUF_I32, &a, err);
    if (st != KR_OK || !kr_gguf_has(g, key))
        return st;
    st = count_is(g, key, a.n, t->n, err);
    for (size_t i = 0; st == KR_OK && i < t->n; i++) {
        int32_t v = kr_gguf_i32_at(&a, i);
        t->type[i] = (uint8_t)(v >= NORMAL && v <= BYTE ? v : NORMAL);
    }
    return st;
}

static kr_status read_scores(const kr_gguf *g, kr_tok *t, kr_error *err) {
    const char *key = "tokenizer.ggml.scores";
    kr_gguf_array a = {0};
    kr_status st = kr_gguf_get_array(g, key, true, KR_GGUF_F32, &a, err);
    if (st == KR_OK)
        st = count_is(g, key, a.n, t->n, err);
    if (st != KR_OK)
        return st;
    t->score = malloc(t->n * sizeof *t->score);
    if (t->score == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu tokens", t->n);
    for (size_t i = 0; i < t->n; i++)
        t->score[i] = kr_gguf_f32_at(&a, i);
    return KR_OK;
}

/* "left right", cut at the first blank that is not the first byte. */
static bool cut_merge(kr_gguf_str s, merge *m) {
    const char *blank = s.n > 1 ? memchr(s.p + 1, ' ', s.n - 1) : NULL;
    if (blank == NULL)
        return false;
    size_t left = (size_t)(blank - s.p);
    m->left = (kr_gguf_str){s.p, left};
    m->right = (kr_gguf_str){blank + 1, s.n - left - 1};
    return true;
}

static kr_status read_merges(const kr_gguf *g, kr_tok *t, kr_error *err) {
    kr_gguf_array a = {0};
    kr_status st = kr_gguf_get_array(g, "tokenizer.ggml.merges", true, KR_GGUF_STR, &a, err);
    if (st != KR_OK)
        return st;
    t->merges = calloc(a.n + 1, sizeof *t->merges);
    if (t->merges == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu merges", a.n);
    const uint8_t *at = a.p;
    for (size_t i = 0; i < a.n; i++) {
        if (!cut_merge(kr_gguf_next_str(&at), &t->merges[i]))
            return kr_fail(err, KR_EFORMAT, "%s: entry %zu of tokenizer.ggml.merges is not two "
                           "texts with a blank between", kr_gguf_name(g), i);
        t->merges[i].rank = i;
    }
    t->n_merges = a.n;
    qsort(t->merges, t->n_merges, sizeof *t->merges, by_pair);
    return KR_OK;
}

/* SPM spells the tokens of single bytes <0x00> to <0xFF>. */
static void index_bytes(kr_tok *t) {
    for (unsigned b = 0; b < 256; b++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", b);
        t->byte_id[b] = lookup(t, (kr_gguf_str){name, 6});
    }
}

/* GPT-2 shows printable Latin-1 bytes as themselves, the other 68 as U+0100 onwards, in order. */
static void index_alphabet(kr_tok *t) {
    memset(t->cp_byte, 0xff, sizeof t->cp_byte);
    uint16_t next = 0x100;
    for (unsigned b = 0; b < 256; b++) {
        bool plain = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        t->byte_cp[b] = plain ? (uint16_t)b : next++;
        t->cp_byte[t->byte_cp[b]] = (int16_t)b;
    }
}

static kr_status index_special(kr_tok *t, kr_error *err) {
    t->special = calloc(t->n, sizeof *t->special);
    if (t->special == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu tokens", t->n);
    for (size_t i = 0; i < t->n; i++) {
        if (t->type[i] < UNKNOWN || t->type[i] > USER || t->text[i].n == 0)
            continue;
        t->special[t->n_special++] = (word){t->text[i], (int32_t)i};
        t->starts[(unsigned char)t->text[i].p[0]] = true;
    }
    qsort(t->special, t->n_special, sizeof *t->special, by_length);
    return KR_OK;
}

static kr_status read_bpe(const kr_gguf *g, kr_tok *t, kr_error *err) {
    kr_gguf_str pre = {0};
    kr_status st = kr_gguf_get_str(g, "tokenizer.ggml.pre", true, &pre, err);
    if (st != KR_OK)
        return st;
    t->split = kr_split_find(pre.p, pre.n);
    if (t->split == NULL)
        return kr_fail(err, KR_EFORMAT, "%s: unknown pre-tokenizer %.*s; gpt-2, llama-bpe and "
                       "qwen2 are supported", kr_gguf_name(g), (int)(pre.n < 40 ? pre.n : 40),
                       pre.p);
    t->add_bos = t->split->bos != 0;
    t->bos = t->eos = t->unk = KR_TOK_NONE;
    index_alphabet(t);
    return read_merges(g, t, err);
}

static kr_status read_spm(const kr_gguf *g, kr_tok *t, kr_error *err) {
    t->bos = 1;
    t->eos = 2;
    t->unk = 0;
    t->add_bos = t->space_prefix = true;
    index_bytes(t);
    return read_scores(g, t, err);
}

/* The file cannot say that blanks after control tokens belong to them; Phi-3 was trained so. */
static kr_status read_strip(const kr_gguf *g, kr_tok *t, kr_error *err) {
    kr_gguf_str arch = {0};
    kr_status st = kr_gguf_get_str(g, "general.architecture", false, &arch, err);
    t->strip_right = st == KR_OK && kr_gguf_str_is(arch, "phi3");
    return st;
}

static kr_status read_flags(const kr_gguf *g, kr_tok *t, kr_error *err) {
    kr_status st = kr_gguf_get_bool(g, "tokenizer.ggml.add_bos_token", false, &t->add_bos, err);
    if (st == KR_OK)
        st = kr_gguf_get_bool(g, "tokenizer.ggml.add_eos_token", false, &t->add_eos, err);
    if (st == KR_OK)
        st = kr_gguf_get_bool(g, "tokenizer.ggml.add_space_prefix", false, &t->space_prefix, err);
    return st == KR_OK ? read_strip(g, t, err) : st;
}

static kr_status read_all(const kr_gguf *g, kr_gguf_str model, kr_tok *t, kr_error *err) {
    t->eot = t->eom = KR_TOK_NONE;
    kr_status st = read_texts(g, t, err);
    if (st == KR_OK)
        st = read_types(g, t, err);
    if (st == KR_OK)
        st = kr_gguf_str_is(model, "llama") ? read_spm(g, t, err) : read_bpe(g, t, err);
    if (st == KR_OK)
        st = read_ids(g, t, err);
    if (st == KR_OK)
        st = read_flags(g, t, err);
    return st == KR_OK ? index_special(t, err) : st;
}

kr_status kr_tok_new(const kr_gguf *g, kr_tok **out, kr_error *err) {
    kr_gguf_str model = {"none", 4};
    kr_status st = kr_gguf_get_str(g, "tokenizer.ggml.model", false, &model, err);
    if (st != KR_OK)
        return st;
    if (kr_gguf_str_is(model, "none") || kr_gguf_str_is(model, "no_vocab")) {
        *out = NULL;
        return KR_OK;
    }
    if (!kr_gguf_str_is(model, "llama") && !kr_gguf_str_is(model, "gpt2"))
        return kr_fail(err, KR_EFORMAT, "%s: unsupported tokenizer model %.*s; llama and gpt2 are "
                       "supported", kr_gguf_name(g), (int)(model.n < 40 ? model.n : 40), model.p);
    kr_tok *t = calloc(1, sizeof *t);
    if (t == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a tokenizer");
    st = read_all(g, model, t, err);
    if (st != KR_OK)
        kr_tok_free(t);
    else
        *out = t;
    return st;
}

void kr_tok_free(kr_tok *t) {
    if (t == NULL)
        return;
    free(t->text);
    free(t->score);
    free(t->type);
    free(t->sorted);
    free(t->merges);
    free(t->special);
    free(t);
}

size_t kr_tok_count(const kr_tok *t) {
    return t->n;
}

const char *kr_tok_kind(const kr_tok *t) {
    return t->split != NULL ? t->split->label : "SPM";
}

kr_gguf_str kr_tok_text(const kr_tok *t, int32_t id) {
    return t->text[id];
}

int32_t kr_tok_bos(const kr_tok *t) {
    return t->bos;
}

int32_t kr_tok_eos(const kr_tok *t) {
    return t->eos;
}

bool kr_tok_stops(const kr_tok *t, int32_t id) {
    return id >= 0 && (id == t->eos || id == t->eot || id == t->eom);
}

/* ---- growing outputs ---- */

typedef struct {
    void *p;
    size_t n, cap, size;
    bool failed;
} vec;

/* Room for one more element; NULL (and `failed`) when out of memory. */
static void *grow(vec *v) {
    if (v->n == v->cap && !v->failed) {
        size_t cap = v->cap == 0 ? 64 : 2 * v->cap;
        void *p = cap > SIZE_MAX / v->size ? NULL : realloc(v->p, cap * v->size);
        v->failed = p == NULL;
        if (p != NULL) {
            v->p = p;
            v->cap = cap;
        }
    }
    return v->failed ? NULL : (char *)v->p + v->n++ * v->size;
}

static void put_id(vec *out, int32_t id) {
    int32_t *slot = id >= 0 ? grow(out) : NULL;
    if (slot != NULL)
        *slot = id;
}

static void put_byte(vec *out, char c) {
    char *slot = grow(out);
    if (slot != NULL)
        *slot = c;
}

static void put_bytes(vec *out, const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        put_byte(out, p[i]);
}

/* ---- merging ---- */

typedef struct {
    const char *p;
    size_t n; /* 0: merged into its left neighbour */
    size_t prev, next;
} symbol;

typedef struct {
    float rank; /* higher first */
    size_t left, right, len;
} bigram;

static bool before(const bigram *a, const bigram *b) {
    return a->rank > b->rank || (a->rank == b->rank && a->left < b->left);
}

static void heap_push(vec *heap, bigram b) {
    if (grow(heap) == NULL)
        return;
    bigram *h = heap->p;
    size_t i = heap->n - 1;
    for (; i > 0 && before(&b, &h[(i - 1) / 2]); i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = b;
}

static bigram heap_pop(vec *heap) {
    bigram *h = heap->p, top = h[0], last = h[--heap->n];
    size_t i = 0, n = heap->n;
    for (;;) {
        size_t c = 2 * i + 1;
        if (c + 1 < n && before(&h[c + 1], &h[c]))
            c++;
        if (c >= n || !before(&h[c], &last))
            break;
        h[i] = h[c];
        i = c;
    }
    if (n > 0)
        h[i] = last;
    return top;
}

/* Merge rank of two neighbours; false when they do not merge. */
static bool rank_of(const kr_tok *t, const symbol *a, const symbol *b, float *rank) {
    if (t->split == NULL) {
        int32_t id = lookup(t, (kr_gguf_str){a->p, a->n + b->n});
        if (id < 0)
            return false;
        *rank = t->score[id];
        return true;
    }
    merge want = {{a->p, a->n}, {b->p, b->n}, 0};
    size_t lo = 0, hi = t->n_merges;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (by_pair(&t->merges[mid], &want) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == t->n_merges || compare(t->merges[lo].left, want.left) != 0 ||
        compare(t->merges[lo].right, want.right) != 0)
        return false;
    *rank = -(float)t->merges[lo].rank; /* below 2^24, hence exact */
    return true;
}

static void offer(const kr_tok *t, const symbol *s, vec *heap, size_t left, size_t right) {
    float rank;
    if (left == SIZE_MAX || right == SIZE_MAX || !rank_of(t, &s[left], &s[right], &rank))
        return;
    heap_push(heap, (bigram){rank, left, right, s[left].n + s[right].n});
}

/* Bytes of the UTF-8 character at s; where it is not valid, what is there of it, at least one. */
static size_t char_len(const char *s, size_t n) {
    unsigned char c = (unsigned char)s[0];
    size_t want = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4, len = 1;
    while (len < want && len < n && ((unsigned char)s[len] & 0xc0) == 0x80)
        len++;
    return len;
}

static void cut_symbols(const char *text, size_t n, vec *symbols) {
    size_t count = 0;
    for (size_t at = 0; at < n && !symbols->failed; count++) {
        size_t len = char_len(text + at, n - at);
        symbol *s = grow(symbols);
        if (s != NULL)
            *s = (symbol){text + at, len, count - 1, at + len < n ? count + 1 : SIZE_MAX};
        at += len;
    }
}

typedef void (*emit_fn)(const kr_tok *t, const symbol *s, vec *out);

/* Merges neighbours until none merges, best rank first, then emits what is left. */
static void merge_text(const kr_tok *t, const char *text, size_t n, emit_fn emit, vec *out) {
    vec symbols = {.size = sizeof(symbol)}, heap = {.size = sizeof(bigram)};
    cut_symbols(text, n, &symbols);
    symbol *s = symbols.p;
    for (size_t i = 1; i < symbols.n; i++)
        offer(t, s, &heap, i - 1, i);
    while (heap.n > 0 && !heap.failed && !symbols.failed) {
        bigram b = heap_pop(&heap);
        symbol *l = &s[b.left], *r = &s[b.right];
        if (l->n == 0 || r->n == 0 || l->n + r->n != b.len)
            continue; /* one of the two has merged since */
        l->n = b.len;
        r->n = 0;
        l->next = r->next;
        if (r->next != SIZE_MAX)
            s[r->next].prev = b.left;
        offer(t, s, &heap, l->prev, b.left);
        offer(t, s, &heap, b.left, l->next);
    }
    out->failed = out->failed || symbols.failed || heap.failed;
    for (size_t i = 0; i < symbols.n && !out->failed; i++)
        if (s[i].n > 0)
            emit(t, &s[i], out);
    free(symbols.p);
    free(heap.p);
}

static void emit_spm(const kr_tok *t, const symbol *s, vec *out) {
    int32_t id = lookup(t, (kr_gguf_str){s->p, s->n});
    if (id >= 0) {
        put_id(out, id);
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        int32_t byte = t->byte_id[(unsigned char)s->p[i]];
        put_id(out, byte >= 0 ? byte : t->unk);
    }
}

static void emit_bpe(const kr_tok *t, const symbol *s, vec *out) {
    int32_t id = lookup(t, (kr_gguf_str){s->p, s->n});
    if (id >= 0) {
        put_id(out, id);
        return;
    }
    for (size_t i = 0, len; i < s->n; i += len) {
        len = char_len(s->p + i, s->n - i);
        put_id(out, lookup(t, (kr_gguf_str){s->p + i, len}));
    }
}

/* ---- encoding ---- */

static void encode_spm(const kr_tok *t, const char *text, size_t n, bool prefix, vec *out) {
    static const char blank[] = "\xe2\x96\x81"; /* U+2581 */
    vec s = {.size = 1};
    if (prefix)
        put_bytes(&s, blank, 3);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ' ')
            put_bytes(&s, blank, 3);
        else
            put_byte(&s, text[i]);
    }
    out->failed = out->failed || s.failed;
    if (!out->failed)
        merge_text(t, s.p, s.n, emit_spm, out);
    free(s.p);
}

static void put_stand_in(const kr_tok *t, unsigned char byte, vec *out) {
    unsigned cp = t->byte_cp[byte];
    if (cp >= 0x80)
        put_byte(out, (char)(0xc0 | cp >> 6));
    put_byte(out, (char)(cp < 0x80 ? cp : 0x80 | (cp & 0x3f)));
}

static void encode_word(const kr_tok *t, const kr_points *p, const char *text, size_t i, size_t end,
                        vec *word_text, vec *out) {
    static const char replacement[] = "\xef\xbf\xbd";
    word_text->n = 0;
    for (; i < end; i++) {
        /* A code point of one byte that is no ASCII was an invalid byte. */
        bool bad = p->cp[i] == 0xfffd;
        const char *s = bad ? replacement : text + p->at[i];
        size_t n = bad ? 3 : p->at[i + 1] - p->at[i];
        for (size_t k = 0; k < n; k++)
            put_stand_in(t, (unsigned char)s[k], word_text);
    }
    out->failed = out->failed || word_text->failed;
    if (out->failed)
        return;
    kr_gguf_str w = {word_text->p, word_text->n};
    int32_t id = t->split->whole_words ? lookup(t, w) : KR_TOK_NONE;
    if (id >= 0)
        put_id(out, id);
    else
        merge_text(t, w.p, w.n, emit_bpe, out);
}

static void encode_bpe(const kr_tok *t, const char *text, size_t n, vec *out) {
    kr_points p;
    vec word_text = {.size = 1};
    if (kr_points_read(text, n, &p) != 0) {
        out->failed = true;
        return;
    }
    for (size_t i = 0, end; i < p.n && !out->failed; i = end) {
        end = kr_split_next(t->split, &p, i);
        encode_word(t, &p, text, i, end, &word_text, out);
    }
    free(word_text.p);
    kr_points_free(&p);
}

/* Marks in at[n]: token id where a special token begins, -2 on bytes that belong to one, -1 on
 * plain text. Longer tokens are cut out of the whole text before shorter ones. */
enum { PLAIN = -1, TAKEN = -2 };

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void claim(const kr_tok *t, const char *text, size_t n, size_t i, const word *w,
                  int32_t *at) {
    size_t end = i + w->text.n;
    at[i] = w->id;
    for (size_t k = i + 1; k < end; k++)
        at[k] = TAKEN;
    bool strips = t->strip_right && w->id != t->unk && w->id != t->bos &&
                  !kr_gguf_str_is(w->text, "<|endoftext|>");
    for (; strips && end < n && at[end] == PLAIN && is_blank(text[end]); end++)
        at[end] = TAKEN;
}

static bool all_plain(const int32_t *at, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (at[i] != PLAIN)
            return false;
    return true;
}

/* One pass for the special tokens w[0..n_w), all of the same length. */
static void mark_length(const kr_tok *t, const char *text, size_t n, const word *w, size_t n_w,
                        bool special, int32_t *at) {
    size_t len = w[0].text.n;
    for (size_t i = 0; i + len <= n; i++) {
        if (at[i] != PLAIN || !t->starts[(unsigned char)text[i]])
            continue;
        int32_t id = find(w, n_w, (kr_gguf_str){text + i, len});
        if (id >= 0 && (special || t->type[id] == USER) && all_plain(at + i, len))
            claim(t, text, n, i, &(word){t->text[id], id}, at);
    }
}

static void mark_special(const kr_tok *t, const char *text, size_t n, bool special, int32_t *at) {
    for (size_t i = 0; i < n; i++)
        at[i] = PLAIN;
    for (size_t i = 0, end; i < t->n_special; i = end) {
        end = i + 1;
        while (end < t->n_special && t->special[end].text.n == t->special[i].text.n)
            end++;
        if (t->special[i].text.n <= n)
            mark_length(t, text, n, t->special + i, end - i, special, at);
    }
}

static void encode_marked(const kr_tok *t, const char *text, size_t n, const int32_t *at,
                          vec *out) {
    bool after_special = true;
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        if (at[i] >= 0) {
            put_id(out, at[i]);
            after_special = true;
        }
        if (at[i] != PLAIN)
            continue;
        while (end < n && at[end] == PLAIN)
            end++;
        if (t->split != NULL)
            encode_bpe(t, text + i, end - i, out);
        else
            encode_spm(t, text + i, end - i, t->space_prefix && after_special, out);
        after_special = false;
    }
}

kr_status kr_tok_encode(const kr_tok *t, const char *text, size_t n, unsigned flags, int32_t **ids,
                        size_t *n_ids, kr_error *err) {
    if (n > MAX_TEXT)
        return kr_fail(err, KR_EINVAL, "a text of %zu bytes is too long to tokenize; at most %d "
                       "are accepted", n, MAX_TEXT);
    vec out = {.size = sizeof(int32_t)};
    int32_t *at = malloc((n + 1) * sizeof *at);
    if (at == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a text of %zu bytes", n);
    grow(&out); /* so that an empty result is no NULL */
    out.n = 0;
    if ((flags & KR_TOK_ENDS) && t->add_bos)
        put_id(&out, t->bos);
    mark_special(t, text, n, (flags & KR_TOK_SPECIAL) != 0, at);
    encode_marked(t, text, n, at, &out);
    if ((flags & KR_TOK_ENDS) && t->add_eos)
        put_id(&out, t->eos);
    free(at);
    if (out.failed) {
        free(out.p);
        return kr_fail(err, KR_ENOMEM, "out of memory for a text of %zu bytes", n);
    }
    *ids = out.p;
    *n_ids = out.n;
    return KR_OK;
}

/* ---- decoding ---- */

static void decode_spm(const kr_tok *t, int32_t id, bool trim, vec *out) {
    kr_gguf_str s = t->text[id];
    if (t->type[id] == BYTE && s.n == 6) {
        char hex[3] = {s.p[3], s.p[4], 0};
        put_byte(out, (char)strtoul(hex, NULL, 16));
        return;
    }
    for (size_t i = 0; i < s.n; i++) {
        bool blank = s.n - i >= 3 && memcmp(s.p + i, "\xe2\x96\x81", 3) == 0;
        if (blank && !(trim && i == 0))
            put_byte(out, ' ');
        else if (!blank)
            put_byte(out, s.p[i]);
        if (blank)
            i += 2;
    }
}

/* Stand-in characters back to their bytes; anything else as it is. */
static void decode_bpe(const kr_tok *t, int32_t id, vec *out) {
    kr_gguf_str s = t->text[id];
    for (size_t i = 0, len; i < s.n; i += len) {
        unsigned char c = (unsigned char)s.p[i];
        len = c >= 0xc0 && c < 0xe0 && s.n - i >= 2 ? 2 : 1;
        unsigned cp = len == 2 ? (c & 0x1fu) << 6 | ((unsigned char)s.p[i + 1] & 0x3fu) : c;
        bool known = (len == 2 || c < 0x80) && cp < 0x180 && t->cp_byte[cp] >= 0;
        if (known)
            put_byte(out, (char)t->cp_byte[cp]);
        else
            put_bytes(out, s.p + i, len);
    }
}

kr_status kr_tok_decode(const kr_tok *t, const int32_t *ids, size_t n, unsigned flags, char **text,
                        size_t *len, kr_error *err) {
    vec out = {.size = 1};
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->n) {
            free(out.p);
            return kr_fail(err, KR_EINVAL, "token %d is outside the vocabulary of %zu tokens",
                           (int)ids[i], t->n);
        }
        uint8_t type = t->type[ids[i]];
        bool trim = (flags & KR_TOK_TRIM) && i == 0 && t->space_prefix;
        if (type == CONTROL && !(flags & KR_TOK_SPECIAL))
            continue;
        if (type == CONTROL || type == USER || type == UNKNOWN)
            put_bytes(&out, t->text[ids[i]].p, t->text[ids[i]].n);
        else if (t->split != NULL)
            decode_bpe(t, ids[i], &out);
        else
            decode_spm(t, ids[i], trim, &out);
    }
    put_byte(&out, '\0');
    if (out.failed) {
        free(out.p);
        return kr_fail(err, KR_ENOMEM, "out of memory for the text of %zu tokens", n);
    }
    *text = out.p;
    *len = out.n - 1;
    return KR_OK;
}

kr_status kr_tok_split(const char *kind, const char *text, size_t n, size_t **ends, size_t *n_words,
                       kr_error *err) {
    const kr_split *s = kr_split_find(kind, strlen(kind));
    if (s == NULL)
        return kr_fail(err, KR_EINVAL, "unknown pre-tokenizer %s", kind);
    kr_points p;
    vec out = {.size = sizeof(size_t)};
    if (kr_points_read(text, n, &p) != 0)
        return kr_fail(err, KR_ENOMEM, "out of memory for a text of %zu bytes", n);
    grow(&out);
    out.n = 0;
    for (size_t i = 0; i < p.n && !out.failed;) {
        i = kr_split_next(s, &p, i);
        size_t *slot = grow(&out);
        if (slot != NULL)
            *slot = p.at[i];
    }
    kr_points_free(&p);
    if (out.failed) {
        free(out.p);
        return kr_fail(err, KR_ENOMEM, "out of memory for a text of %zu bytes", n);
    }
    *ends = out.p;
    *n_words = out.n;
    return KR_OK;
}
