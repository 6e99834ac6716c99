#include "verdict/repeats.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    kr_span prompt;
    size_t row;
    kr_split split;
} seen;

static int by_prompt(const void *x, const void *y) {
    const seen *a = x, *b = y;
    size_t n = a->prompt.len < b->prompt.len ? a->prompt.len : b->prompt.len;
    int d = memcmp(a->prompt.s, b->prompt.s, n);
    if (d == 0)
        d = (a->prompt.len > b->prompt.len) - (a->prompt.len < b->prompt.len);
    return d != 0 ? d : (a->row > b->row) - (a->row < b->row);
}

bool kr_prompt_of(const kr_request *r, kr_span *out) {
    bool found = false;
    for (size_t at = 0; r->extra != NULL && at < r->extra_len;) {
        kr_error e;
        kr_json j = kr_json_open(r->extra + at, r->extra_len - at, "", 1, &e);
        kr_span key, value;
        bool escaped;
        if (!kr_json_string(&j, &key, &escaped) || j.at >= j.len || j.text[j.at] != ':')
            return found;
        j.at++;
        if (!kr_json_skip(&j, &value))
            return found;
        if (kr_span_is(key, "prompt_sha256") || (!found && kr_span_is(key, "prompt"))) {
            *out = value;
            found = true;
        }
        at += j.at + 1; /* the comma */
    }
    return found;
}

static void compare(const kr_calib *c, const seen *all, size_t n, kr_split s, kr_repeats *out) {
    for (size_t i = 0, j; i < n; i = j) {
        int64_t here = 0, there = 0;
        size_t first = 0, second = 0;
        for (j = i; j < n && all[j].prompt.len == all[i].prompt.len &&
                    memcmp(all[j].prompt.s, all[i].prompt.s, all[i].prompt.len) == 0; j++) {
            if (all[j].split != s) {
                there++;
                continue;
            }
            here++;
            if (here <= 2)
                *(here == 1 ? &first : &second) = all[j].row;
        }
        out->across = out->across || (here > 0 && there > 0);
        if (here < 2)
            continue;
        if (out->repeats == 0) {
            kr_request a = kr_calib_row(c, first), b = kr_calib_row(c, second);
            out->first = a.id, out->first_len = a.id_len;
            out->second = b.id, out->second_len = b.id_len;
        }
        out->repeats += here - 1;
    }
}

kr_status kr_repeats_find(const kr_calib *c, kr_split s, kr_repeats *out, kr_error *err) {
    size_t rows = kr_calib_rows(c), n = 0, cap = 0;
    seen *all = NULL;
    kr_repeats r = {0};
    for (size_t i = 0; i < rows; i++) {
        kr_request q = kr_calib_row(c, i);
        kr_span prompt;
        if (!kr_prompt_of(&q, &prompt))
            continue;
        if (n == cap) {
            cap = cap > 0 ? 2 * cap : 1024;
            seen *grown = realloc(all, cap * sizeof *all);
            if (grown == NULL) {
                free(all);
                return kr_fail(err, KR_ENOMEM, "out of memory for %zu prompts", cap);
            }
            all = grown;
        }
        all[n++] = (seen){prompt, i, q.split};
    }
    if (n > 0) {
        qsort(all, n, sizeof *all, by_prompt);
        compare(c, all, n, s, &r);
    }
    free(all);
    *out = r;
    return KR_OK;
}
