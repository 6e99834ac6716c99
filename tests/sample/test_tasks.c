/* Requests: what they say is true, and the same seed gives the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "sample/tasks.h"

static int setup(void **state) {
    kr_error err;
    return kr_words_new((kr_words **)state, &err) == KR_OK ? 0 : -1;
}

static int teardown(void **state) {
    kr_words_free(*state);
    return 0;
}

static void every_word_is_spelled_once_and_found(void **state) {
    const kr_words *w = *state;
    size_t words = (size_t)kr_words_first(w, KR_WORDS_LOW);
    assert_int_equal(kr_words_count(w), words + 100);
    for (size_t i = 3; i < words; i++) {
        const char *t = kr_words_text(w, (int32_t)i);
        assert_int_equal(kr_words_find(w, t + (t[0] == ' ')), (int32_t)i);
    }
    assert_int_equal(kr_words_find(w, "zebra"), KR_WORD_UNKNOWN);
    assert_int_equal(kr_words_find(w, "ambe"), KR_WORD_UNKNOWN);
    assert_int_equal(kr_words_find(w, "ambers"), KR_WORD_UNKNOWN);
}

static char *text_of(const kr_words *w, const int32_t *ids, size_t n) {
    kr_buf b = {0};
    kr_words_join(w, ids, n, &b);
    return kr_buf_take(&b);
}

static size_t occurrences(const char *text, const char *what) {
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, what)) != NULL; s++)
        n++;
    return n;
}

/* KEY VERB VALUE of each part of the answer, "... amber is 4821", stands in the context exactly
 * once, followed by the end of a sentence. */
static void check_facts(const kr_words *w, const kr_task *t) {
    char *context = text_of(w, t->ids.v, t->ask[0].question);
    for (size_t i = 0; i < t->n_asks; i++) {
        const kr_task_ask *a = &t->ask[i];
        for (size_t j = 0; j < a->n_refs; j++) {
            size_t end = a->ref_at[j] + a->ref_len[j], from = a->ref_at[j] - 2;
            char *fact = text_of(w, t->ids.v + from, end - from), sentence[128];
            snprintf(sentence, sizeof sentence, "%s.", fact);
            assert_int_equal(occurrences(context, sentence), 1);
            free(fact);
        }
    }
    free(context);
}

static void check_counts(const kr_words *w, const kr_task *t) {
    size_t count[1024] = {0}, last = SIZE_MAX;
    for (size_t i = 0; i < t->ask[0].question; i++)
        count[t->ids.v[i]]++;
    for (size_t i = 0; i < 3; i++) {
        size_t *c = &count[t->ids.v[t->ask[0].ref_at[i]]];
        assert_true(*c < last);
        last = *c;
        *c = 0;
    }
    for (size_t i = 0; i < kr_words_size(w, KR_WORDS_ITEM); i++)
        assert_true(count[(size_t)kr_words_first(w, KR_WORDS_ITEM) + i] < last);
}

static void answers_are_what_the_context_states(void **state) {
    const kr_words *w = *state;
    kr_task t = {0};
    kr_error err;
    for (uint64_t i = 0; i < 600; i++)
        for (kr_task_family f = 0; f <= KR_TASK_MIXED; f++) {
            kr_draw d = kr_draw_start(3, kr_task_stream(KR_DRAW_TEST, f, i));
            size_t length = kr_draw_between(&d, 64, i % 10 == 0 ? 1200 : 300);
            size_t asks = i % 3 == 0 ? kr_draw_between(&d, 1, KR_TASK_ASKS) : 1;
            assert_int_equal(kr_task_draw(w, &d, f, length, asks, &t, &err), KR_OK);
            assert_in_range(t.n_asks, 1, asks);
            assert_true(t.ids.n <= length);
            assert_int_equal(t.ask[t.n_asks - 1].end, t.ids.n);
            if (f == KR_TASK_FREQUENT)
                check_counts(w, &t);
            else
                check_facts(w, &t);
            for (size_t j = 0; j < t.ids.n; j++)
                assert_true(t.ids.v[j] != KR_WORD_UNKNOWN);
        }
    kr_task_free(&t);
}

static void requests_fill_the_length_asked_for(void **state) {
    const kr_words *w = *state;
    kr_task t = {0};
    kr_error err;
    for (kr_task_family f = 0; f < KR_TASK_FAMILIES; f++) {
        size_t sum = 0;
        for (uint64_t i = 0; i < 50; i++) {
            kr_draw d = kr_draw_start(3, kr_task_stream(KR_DRAW_CAL, f, i));
            assert_int_equal(kr_task_draw(w, &d, f, 512, 1, &t, &err), KR_OK);
            sum += t.ids.n;
        }
        assert_in_range(sum / 50, 480, 512);
    }
    kr_task_free(&t);
}

static void a_seed_gives_the_same_bytes_everywhere(void **state) {
    const kr_words *w = *state;
    kr_buf b = {0};
    kr_error err;
    const kr_task_set set = {20261130, 512};
    for (kr_task_family f = 0; f < KR_TASK_FAMILIES; f++)
        for (uint64_t i = 0; i < 20; i++)
            assert_int_equal(kr_task_line(w, &set, i % 2 ? KR_DRAW_TEST : KR_DRAW_CAL, f, i, &b,
                                          &err),
                             KR_OK);
    char hex[KR_SHA256_HEX];
    assert_int_equal(kr_sha256(b.s, b.len, hex, &err), KR_OK);
    assert_string_equal(hex, "d993202392720be29747575f8314c66fed4087fa741ef5397a23dec29b48bc09");
    kr_buf_free(&b);
}

static void splits_and_seeds_share_no_request(void **state) {
    const kr_words *w = *state;
    kr_error err;
    enum { REQUESTS = 300 };
    static char *context[3 * REQUESTS];
    size_t n = 0;
    for (uint64_t i = 0; i < REQUESTS; i++)
        for (int k = 0; k < 3; k++) {
            kr_draw d =
                kr_draw_start(k == 2 ? 9 : 8, kr_task_stream(k == 1 ? KR_DRAW_TEST : KR_DRAW_CAL,
                                                             KR_TASK_SINGLE, i));
            kr_task t = {0};
            assert_int_equal(kr_task_draw(w, &d, KR_TASK_SINGLE, 128, 1, &t, &err), KR_OK);
            context[n++] = text_of(w, t.ids.v, t.ask[0].question);
            kr_task_free(&t);
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(context[i], context[j]);
    for (size_t i = 0; i < n; i++)
        free(context[i]);
}

static void draws_are_uniform(void **state) {
    (void)state;
    kr_draw d = kr_draw_start(1, 2);
    size_t count[7] = {0};
    for (int i = 0; i < 70000; i++)
        count[kr_draw_below(&d, 7)]++;
    for (size_t i = 0; i < 7; i++)
        assert_in_range(count[i], 10000 - 450, 10000 + 450); /* almost five deviations */
}

static void lengths_out_of_range_are_refused(void **state) {
    const kr_words *w = *state;
    kr_task t = {0};
    kr_error err;
    kr_draw d = kr_draw_start(1, 2);
    assert_int_equal(kr_task_draw(w, &d, KR_TASK_SINGLE, 63, 1, &t, &err), KR_EINVAL);
    assert_int_equal(kr_task_draw(w, &d, KR_TASK_SINGLE, (1 << 20) + 1, 1, &t, &err), KR_EINVAL);
    assert_int_equal(kr_task_draw(w, &d, KR_TASK_SINGLE, 100, 0, &t, &err), KR_EINVAL);
    assert_int_equal(kr_task_draw(w, &d, KR_TASK_SINGLE, 100, 9, &t, &err), KR_EINVAL);
    kr_task_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_spelled_once_and_found),
        cmocka_unit_test(answers_are_what_the_context_states),
        cmocka_unit_test(requests_fill_the_length_asked_for),
        cmocka_unit_test(a_seed_gives_the_same_bytes_everywhere),
        cmocka_unit_test(splits_and_seeds_share_no_request),
        cmocka_unit_test(draws_are_uniform),
        cmocka_unit_test(lengths_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
