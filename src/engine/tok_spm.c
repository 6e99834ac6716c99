/* tok_spm.c - SentencePiece BPE: tokens with scores, blanks as U+2581. */
#include "engine/tok_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char blank_text[] = "\xe2\x96\x81"; /* U+2581 */

/* ---- reading ---- */

static kr_status read_scores(const kr_gguf *g, kr_tok *t, kr_error *err) {
    const char *key = "tokenizer.ggml.scores";
    kr_gguf_array a = {0};
    kr_status st = kr_gguf_get_array(g, key, true, KR_GGUF_F32, &a, err);
    if (st == KR_OK)
        st = kr_tok_count_is(g, key, a.n, t->n, err);
    if (st != KR_OK)
        return st;
    t->score = malloc(t->n * sizeof *t->score);
    if (t->score == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu tokens", t->n);
    for (size_t i = 0; i < t->n; i++)
        t->score[i] = kr_gguf_f32_at(&a, i);
    return KR_OK;
}

/* SPM spells the tokens of single bytes <0x00> to <0xFF>. */
static void index_bytes(kr_tok *t) {
    for (unsigned b = 0; b < 256; b++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", b);
        t->byte_id[b] = kr_tok_lookup(t, (kr_gguf_str){name, 6});
    }
}

kr_status kr_spm_read(const kr_gguf *g, kr_tok *t, kr_error *err) {
    t->bos = 1;
    t->eos = 2;
    t->unk = 0;
    t->add_bos = t->space_prefix = true;
    index_bytes(t);
    return read_scores(g, t, err);
}

/* ---- encoding ---- */

static bool rank_of(const kr_tok *t, kr_gguf_str left, kr_gguf_str right, float *rank) {
    int32_t id = kr_tok_lookup(t, (kr_gguf_str){left.p, left.n + right.n});
    if (id >= 0)
        *rank = t->score[id];
    return id >= 0;
}

static void emit(const kr_tok *t, kr_gguf_str s, kr_tok_vec *out) {
    int32_t id = kr_tok_lookup(t, s);
    if (id >= 0) {
        kr_tok_put_id(out, id);
        return;
    }
    for (size_t i = 0; i < s.n; i++) {
        int32_t byte = t->byte_id[(unsigned char)s.p[i]];
        kr_tok_put_id(out, byte >= 0 ? byte : t->unk);
    }
}

void kr_spm_encode(const kr_tok *t, const char *text, size_t n, bool prefix, kr_tok_vec *out) {
    kr_tok_vec s = {.size = 1};
    if (prefix)
        kr_tok_put_bytes(&s, blank_text, 3);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ' ')
            kr_tok_put_bytes(&s, blank_text, 3);
        else
            kr_tok_put_byte(&s, text[i]);
    }
    out->failed = out->failed || s.failed;
    if (!out->failed)
        kr_tok_merge(t, s.p, s.n, rank_of, emit, out);
    free(s.p);
}

/* ---- decoding ---- */

void kr_spm_decode(const kr_tok *t, int32_t id, bool trim, kr_tok_vec *out) {
    kr_gguf_str s = t->text[id];
    if (t->type[id] == KR_TOKEN_BYTE && s.n == 6) {
        char hex[3] = {s.p[3], s.p[4], 0};
        kr_tok_put_byte(out, (char)strtoul(hex, NULL, 16));
        return;
    }
    for (size_t i = 0; i < s.n; i++) {
        bool blank = s.n - i >= 3 && memcmp(s.p + i, blank_text, 3) == 0;
        if (blank && !(trim && i == 0))
            kr_tok_put_byte(out, ' ');
        else if (!blank)
            kr_tok_put_byte(out, s.p[i]);
        if (blank)
            i += 2;
    }
}
