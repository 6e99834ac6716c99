/* tok_load.c - the vocabulary of a GGUF file. */
#include "engine/tok_impl.h"

#include <stdlib.h>
#include <string.h>

#define NO_ID UINT32_MAX /* "no such token" in the file */

/* ---- texts in order ---- */

int kr_tok_compare(kr_gguf_str a, kr_gguf_str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int r = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return r != 0 ? r : (a.n > b.n) - (a.n < b.n);
}

static int by_text(const void *a, const void *b) {
    const kr_tok_word *x = a, *y = b;
    int r = kr_tok_compare(x->text, y->text);
    return r != 0 ? r : (x->id > y->id) - (x->id < y->id);
}

static int by_length(const void *a, const void *b) {
    const kr_tok_word *x = a, *y = b;
    if (x->text.n != y->text.n)
        return x->text.n < y->text.n ? 1 : -1;
    return by_text(a, b);
}

int32_t kr_tok_find(const kr_tok_word *w, size_t n, kr_gguf_str s) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (kr_tok_compare(w[mid].text, s) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && kr_tok_compare(w[lo].text, s) == 0 ? w[lo].id : KR_TOK_NONE;
}

int32_t kr_tok_lookup(const kr_tok *t, kr_gguf_str s) {
    return kr_tok_find(t->sorted, t->n, s);
}

/* ---- reading ---- */

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

kr_status kr_tok_count_is(const kr_gguf *g, const char *key, size_t have, size_t expected,
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
        t->sorted[i] = (kr_tok_word){t->text[i], (int32_t)i};
        t->type[i] = KR_TOKEN_NORMAL;
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
    st = kr_tok_count_is(g, key, a.n, t->n, err);
    for (size_t i = 0; st == KR_OK && i < t->n; i++) {
        int32_t v = kr_gguf_i32_at(&a, i);
        t->type[i] = (uint8_t)(v >= KR_TOKEN_NORMAL && v <= KR_TOKEN_BYTE ? v : KR_TOKEN_NORMAL);
    }
    return st;
}

static kr_status index_special(kr_tok *t, kr_error *err) {
    t->special = calloc(t->n, sizeof *t->special);
    if (t->special == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu tokens", t->n);
    for (size_t i = 0; i < t->n; i++) {
        if (t->type[i] < KR_TOKEN_UNKNOWN || t->type[i] > KR_TOKEN_USER || t->text[i].n == 0)
            continue;
        t->special[t->n_special++] = (kr_tok_word){t->text[i], (int32_t)i};
        t->starts[(unsigned char)t->text[i].p[0]] = true;
    }
    qsort(t->special, t->n_special, sizeof *t->special, by_length);
    return KR_OK;
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

kr_status kr_tok_load(const kr_gguf *g, kr_gguf_str model, kr_tok *t, kr_error *err) {
    t->eot = t->eom = KR_TOK_NONE;
    kr_status st = read_texts(g, t, err);
    if (st == KR_OK)
        st = read_types(g, t, err);
    if (st == KR_OK)
        st = kr_gguf_str_is(model, "llama") ? kr_spm_read(g, t, err) : kr_bpe_read(g, t, err);
    if (st == KR_OK)
        st = read_ids(g, t, err);
    if (st == KR_OK)
        st = read_flags(g, t, err);
    return st == KR_OK ? index_special(t, err) : st;
}
