/* Selections from scores of few values (many ties) with any budgets: the result is a valid list of
 * exactly the budget, or a refusal because what is forced does not fit. */
#include <stdint.h>
#include <stdlib.h>

#include "evict/keep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 16)
        return 0;
    size_t layers = 1 + data[0] % 3, heads = 1 + data[1] % 4, all = layers * heads;
    size_t n = 1 + data[2] % 40, lead = data[3] % (n + 1), tail = data[4] % (n - lead + 1);
    bool two = data[5] & 1;
    kr_scores *s;
    kr_keep *k = NULL;
    if (kr_scores_new(layers, heads, n, lead, tail, two, 0, &s, NULL) != KR_OK)
        return 0;
    for (size_t i = 0; i < all * n; i++) {
        s->rank[i] = (float)(data[6 + i % (size - 6)] % 5);
        if (two)
            s->first[i] = (float)(data[6 + i * 7 % (size - 6)] % 3);
    }
    if (kr_scores_sort(s, NULL) != KR_OK)
        abort();
    kr_selection sel = {.scope = (kr_scope)(data[6] % 3), .forced_by_top = data[5] & 2};
    size_t budget[12], forced[12], unit = sel.scope == KR_SCOPE_HEAD    ? 1
                                          : sel.scope == KR_SCOPE_LAYER ? heads
                                                                        : all;
    for (size_t i = 0; i < all; i++) {
        budget[i] = data[7 + i % 8] * (size_t)(1 + data[5] % 3) * unit / 8;
        forced[i] = data[(7 + i * 3) % size] % 8;
    }
    sel.budget = budget;
    sel.forced = data[5] & 4 ? forced : NULL;
    kr_status st = kr_select(s, &sel, &k, NULL);
    if (st != KR_OK && sel.forced == NULL)
        abort(); /* the budget is always there for what is protected */
    if (st == KR_OK && kr_keep_check(k, NULL) != KR_OK)
        abort();
    kr_keep_free(k);
    kr_scores_free(s);
    return 0;
}
