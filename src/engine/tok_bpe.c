/* tok_bpe.c - byte-level BPE: words first, then merges by rank, bytes as printable characters. */
#include "engine/tok_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static int by_pair(const void *a, const void *b) {
    const kr_tok_pair *x = a, *y = b;
    int r = kr_tok_compare(x->left, y->left);
    if (r == 0)
        r = kr_tok_compare(x->right, y->right);
    return r != 0 ? r : (x->rank > y->rank) - (x->rank < y->rank);
}

/* "left right", cut at the first blank that is not the first byte. */
static bool cut_merge(kr_gguf_str s, kr_tok_pair *m) {
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

kr_status kr_bpe_read(const kr_gguf *g, kr_tok *t, kr_error *err) {
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

/* ---- encoding ---- */

static bool rank_of(const kr_tok *t, kr_gguf_str left, kr_gguf_str right, float *rank) {
    kr_tok_pair want = {left, right, 0};
    size_t lo = 0, hi = t->n_merges;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (by_pair(&t->merges[mid], &want) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == t->n_merges || kr_tok_compare(t->merges[lo].left, left) != 0 ||
        kr_tok_compare(t->merges[lo].right, right) != 0)
        return false;
    *rank = -(float)t->merges[lo].rank; /* below 2^24, hence exact */
    return true;
}

static void emit(const kr_tok *t, kr_gguf_str s, kr_tok_vec *out) {
    int32_t id = kr_tok_lookup(t, s);
    if (id >= 0) {
        kr_tok_put_id(out, id);
        return;
    }
    for (size_t i = 0, len; i < s.n; i += len) {
        len = kr_tok_char(s.p + i, s.n - i);
        kr_tok_put_id(out, kr_tok_lookup(t, (kr_gguf_str){s.p + i, len}));
    }
}

static void put_stand_in(const kr_tok *t, unsigned char byte, kr_tok_vec *out) {
    unsigned cp = t->byte_cp[byte];
    if (cp >= 0x80)
        kr_tok_put_byte(out, (char)(0xc0 | cp >> 6));
    kr_tok_put_byte(out, (char)(cp < 0x80 ? cp : 0x80 | (cp & 0x3f)));
}

static void encode_word(const kr_tok *t, const kr_points *p, const char *text, size_t i, size_t end,
                        kr_tok_vec *word_text, kr_tok_vec *out) {
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
    int32_t id = t->split->whole_words ? kr_tok_lookup(t, w) : KR_TOK_NONE;
    if (id >= 0)
        kr_tok_put_id(out, id);
    else
        kr_tok_merge(t, w.p, w.n, rank_of, emit, out);
}

void kr_bpe_encode(const kr_tok *t, const char *text, size_t n, kr_tok_vec *out) {
    kr_points p;
    kr_tok_vec word_text = {.size = 1};
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

/* ---- decoding ---- */

/* Stand-in characters back to their bytes; anything else as it is. */
void kr_bpe_decode(const kr_tok *t, int32_t id, kr_tok_vec *out) {
    kr_gguf_str s = t->text[id];
    for (size_t i = 0, len; i < s.n; i += len) {
        unsigned char c = (unsigned char)s.p[i];
        len = c >= 0xc0 && c < 0xe0 && s.n - i >= 2 ? 2 : 1;
        unsigned cp = len == 2 ? (c & 0x1fu) << 6 | ((unsigned char)s.p[i + 1] & 0x3fu) : c;
        bool known = (len == 2 || c < 0x80) && cp < 0x180 && t->cp_byte[cp] >= 0;
        if (known)
            kr_tok_put_byte(out, (char)t->cp_byte[cp]);
        else
            kr_tok_put_bytes(out, s.p + i, len);
    }
}

/* ---- words alone ---- */

kr_status kr_tok_split(const char *kind, const char *text, size_t n, size_t **ends, size_t *n_words,
                       kr_error *err) {
    const kr_split *s = kr_split_find(kind, strlen(kind));
    if (s == NULL)
        return kr_fail(err, KR_EINVAL, "unknown pre-tokenizer %s", kind);
    kr_points p;
    kr_tok_vec out = {.size = sizeof(size_t)};
    if (kr_points_read(text, n, &p) != 0)
        return kr_fail(err, KR_ENOMEM, "out of memory for a text of %zu bytes", n);
    kr_tok_grow(&out);
    out.n = 0;
    for (size_t i = 0; i < p.n && !out.failed;) {
        i = kr_split_next(s, &p, i);
        size_t *slot = kr_tok_grow(&out);
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
