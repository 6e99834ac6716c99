#include "engine/tok_impl.h"

#include <stdlib.h>

enum { MAX_TEXT = 1 << 30 };

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
    st = kr_tok_load(g, model, t, err);
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

/* ---- special tokens ---- */

/* Marks in at[n]: token id where a special token begins, -2 on bytes that belong to one, -1 on
 * plain text. Longer tokens are cut out of the whole text before shorter ones. */
enum { PLAIN = -1, TAKEN = -2 };

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void claim(const kr_tok *t, const char *text, size_t n, size_t i, const kr_tok_word *w,
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
static void mark_length(const kr_tok *t, const char *text, size_t n, const kr_tok_word *w,
                        size_t n_w, bool special, int32_t *at) {
    size_t len = w[0].text.n;
    for (size_t i = 0; i + len <= n; i++) {
        if (at[i] != PLAIN || !t->starts[(unsigned char)text[i]])
            continue;
        int32_t id = kr_tok_find(w, n_w, (kr_gguf_str){text + i, len});
        if (id >= 0 && (special || t->type[id] == KR_TOKEN_USER) && all_plain(at + i, len))
            claim(t, text, n, i, &(kr_tok_word){t->text[id], id}, at);
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

/* ---- encoding ---- */

static void encode_marked(const kr_tok *t, const char *text, size_t n, const int32_t *at,
                          kr_tok_vec *out) {
    bool after_special = true;
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        if (at[i] >= 0) {
            kr_tok_put_id(out, at[i]);
            after_special = true;
        }
        if (at[i] != PLAIN)
            continue;
        while (end < n && at[end] == PLAIN)
            end++;
        if (t->split != NULL)
            kr_bpe_encode(t, text + i, end - i, out);
        else
            kr_spm_encode(t, text + i, end - i, t->space_prefix && after_special, out);
        after_special = false;
    }
}

kr_status kr_tok_encode(const kr_tok *t, const char *text, size_t n, unsigned flags, int32_t **ids,
                        size_t *n_ids, kr_error *err) {
    if (n > MAX_TEXT)
        return kr_fail(err, KR_EINVAL, "a text of %zu bytes is too long to tokenize; at most %d "
                       "are accepted", n, MAX_TEXT);
    kr_tok_vec out = {.size = sizeof(int32_t)};
    int32_t *at = malloc((n + 1) * sizeof *at);
    if (at == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a text of %zu bytes", n);
    kr_tok_grow(&out); /* so that an empty result is no NULL */
    out.n = 0;
    if ((flags & KR_TOK_ENDS) && t->add_bos)
        kr_tok_put_id(&out, t->bos);
    mark_special(t, text, n, (flags & KR_TOK_SPECIAL) != 0, at);
    encode_marked(t, text, n, at, &out);
    if ((flags & KR_TOK_ENDS) && t->add_eos)
        kr_tok_put_id(&out, t->eos);
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

kr_status kr_tok_decode(const kr_tok *t, const int32_t *ids, size_t n, unsigned flags, char **text,
                        size_t *len, kr_error *err) {
    kr_tok_vec out = {.size = 1};
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->n) {
            free(out.p);
            return kr_fail(err, KR_EINVAL, "token %d is outside the vocabulary of %zu tokens",
                           (int)ids[i], t->n);
        }
        uint8_t type = t->type[ids[i]];
        bool trim = (flags & KR_TOK_TRIM) && i == 0 && t->space_prefix;
        if (type == KR_TOKEN_CONTROL && !(flags & KR_TOK_SPECIAL))
            continue;
        if (type == KR_TOKEN_CONTROL || type == KR_TOKEN_USER || type == KR_TOKEN_UNKNOWN)
            kr_tok_put_bytes(&out, t->text[ids[i]].p, t->text[ids[i]].n);
        else if (t->split != NULL)
            kr_bpe_decode(t, ids[i], &out);
        else
            kr_spm_decode(t, ids[i], trim, &out);
    }
    kr_tok_put_byte(&out, '\0');
    if (out.failed) {
        free(out.p);
        return kr_fail(err, KR_ENOMEM, "out of memory for the text of %zu tokens", n);
    }
    *text = out.p;
    *len = out.n - 1;
    return KR_OK;
}
