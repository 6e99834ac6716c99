#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "calib/scorers.h"

/* Prediction, first and second reference, split at the bytes 0xFE; every scorer runs on them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *part[3] = {"", "", ""};
    size_t len[3] = {0, 0, 0}, from = 0;
    for (size_t i = 0; i < 3; i++) {
        const uint8_t *cut = from < size ? memchr(data + from, 0xfe, size - from) : NULL;
        part[i] = from < size ? (const char *)data + from : "";
        len[i] = cut != NULL ? (size_t)(cut - data) - from : size > from ? size - from : 0;
        from += len[i] + 1;
    }
    kr_arena a = {0};
    char *r1 = kr_arena_copy(&a, part[1], len[1]), *r2 = kr_arena_copy(&a, part[2], len[2]);
    kr_lit second = {.type = KR_LIT_STR, .s = r2, .len = len[2]};
    kr_lit first = {.type = KR_LIT_STR, .s = r1, .len = len[1], .next = &second};
    kr_lit list = {.type = KR_LIT_LIST, .s = "", .first = &first, .count = 2};
    for (const kr_scorer *s = kr_scorers(); s->name != NULL; s++) {
        kr_score_in in = {.prediction = part[0],
                          .prediction_len = len[0],
                          .answers = &list,
                          .classes = &list,
                          .arena = &a,
                          .coerce = size % 2 == 1};
        kr_scorer_run(s, &in);
    }
    kr_arena_free(&a);
    return 0;
}
