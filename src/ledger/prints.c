#include "ledger/prints.h"

#include <stdlib.h>
#include <string.h>

#include "verdict/repeats.h"

static unsigned char lower(unsigned char c) { return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c; }

uint64_t kr_print_text(uint64_t h, const char *s, size_t len) {
    h = kr_print_word(h, len);
    for (size_t i = 0; i < len;) {
        uint64_t word = 0;
        for (int k = 0; k < 8 && i < len; k++, i++)
            word = word << 8 | lower((unsigned char)s[i]);
        h = kr_print_word(h, word);
    }
    return h;
}

static uint64_t name(uint64_t h, const char *s) {
    return s == NULL ? kr_print_word(h, 0) : kr_print_text(h, s, strlen(s));
}

static int by_value(const void *x, const void *y) {
    const kr_print *a = x, *b = y;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Hashes are spread evenly, so a pass over their high bits leaves little for each qsort. */
kr_status kr_prints_sort(kr_print *x, size_t n, kr_error *err) {
    enum { BITS = 14 };
    size_t *start = calloc(((size_t)1 << BITS) + 1, sizeof *start);
    kr_print *to = malloc((n + 1) * sizeof *to);
    bool ok = start != NULL && to != NULL;
    for (size_t i = 0; ok && i < n; i++)
        start[(x[i].value >> (64 - BITS)) + 1]++;
    for (size_t b = 0; ok && b < (size_t)1 << BITS; b++)
        start[b + 1] += start[b];
    for (size_t i = 0; ok && i < n; i++)
        to[start[x[i].value >> (64 - BITS)]++] = x[i];
    for (size_t b = 0, from = 0; ok && b < (size_t)1 << BITS; from = start[b++]) /* now its end */
        qsort(to + from, start[b] - from, sizeof *to, by_value);
    if (ok)
        memcpy(x, to, n * sizeof *x);
    free(start);
    free(to);
    return ok ? KR_OK : kr_fail(err, KR_ENOMEM, "out of memory for the fingerprints of %zu requests", n);
}

static void put(kr_prints *p, kr_print_kind k, uint64_t h, size_t row) {
    p->of[k][p->n[k]++] = (kr_print){kr_print_word(h, (uint64_t)k), (uint32_t)row};
}

/* The hash of a row's utilities; false where every one is that of full KV: such rows are alike. */
static bool numbers(const kr_calib *c, size_t row, int64_t full, uint64_t *h) {
    bool telling = false;
    uint64_t x = kr_print_word(0, (uint64_t)full);
    for (size_t p = 0; p < kr_calib_policies(c); p++) {
        int64_t u = kr_calib_utility(c, row, p);
        telling = telling || u != full;
        x = kr_print_word(x, (uint64_t)u);
    }
    *h = x;
    return telling;
}

/* The text itself: escapes may be written in several ways. */
bool kr_print_prompt(const kr_request *r, uint64_t *out) {
    kr_span raw;
    if (r->extra == NULL || !kr_prompt_of(r, &raw))
        return false;
    kr_error e;
    kr_json j = kr_json_open(raw.s, raw.len, "", 1, &e);
    char *text = kr_json_peek(&j) == KR_JSON_STRING ? kr_json_string_copy(&j) : NULL;
    *out = text != NULL ? kr_print_text(0, text, strlen(text)) : kr_print_text(0, raw.s, raw.len);
    free(text);
    return true;
}

static void put_row(const kr_calib *c, size_t row, uint64_t about, uint64_t served, kr_prints *p) {
    kr_request r = kr_calib_row(c, row);
    uint64_t id = kr_print_text(0, r.id, r.id_len), prompt, h;
    put(p, KR_PRINT_REQUEST, kr_print_word(name(about, kr_calib_task(c, r.task)), id), row);
    put(p, KR_PRINT_ID, id, row);
    if (kr_print_prompt(&r, &prompt))
        put(p, KR_PRINT_PROMPT, kr_print_word(served, prompt), row);
    if (!numbers(c, row, r.full, &h))
        return;
    put(p, KR_PRINT_NUMBERS, h, row);
    put(p, KR_PRINT_RESULT, kr_print_word(h, id), row);
}

kr_status kr_prints_make(const kr_calib *c, kr_prints *out, kr_error *err) {
    const kr_calib_meta *m = kr_calib_meta_of(c);
    kr_prints p = {.rows = kr_calib_rows(c)};
    uint64_t served = name(name(0, m->model), m->protocol), about = name(served, m->benchmark);
    bool ok = p.rows <= UINT32_MAX;
    for (int k = 0; k < KR_PRINTS && ok; k++)
        ok = (p.of[k] = malloc((p.rows + 1) * sizeof *p.of[k])) != NULL;
    if (!ok) {
        kr_prints_free(&p);
        return kr_fail(err, KR_ENOMEM, "out of memory for the fingerprints of %zu requests",
                       kr_calib_rows(c));
    }
    for (size_t i = 0; i < p.rows; i++)
        put_row(c, i, about, served, &p);
    kr_status st = KR_OK;
    for (int k = 0; k < KR_PRINTS && st == KR_OK; k++)
        st = kr_prints_sort(p.of[k], p.n[k], err);
    if (st == KR_OK)
        *out = p;
    else
        kr_prints_free(&p);
    return st;
}

void kr_prints_free(kr_prints *p) {
    for (int k = 0; k < KR_PRINTS; k++)
        free(p->of[k]);
    *p = (kr_prints){0};
}
