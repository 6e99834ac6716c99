/* The bundled model: its tokenizer knows the words of the tasks, and it answers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/generate.h"
#include "sample/tasks.h"

#define MODEL "data/samples/mini-llama.gguf"

enum { SEED = 77, LENGTH = 512, REQUESTS = 6, MAX_TOKENS = 24 };

typedef struct {
    kr_words *words;
    kr_model *model;
    kr_run *run;
    kr_kv *kv;
} bundle;

static int setup(void **state) {
    static bundle b;
    kr_error err = {0};
    const kr_run_options opt = {.threads = 2};
    if (kr_words_new(&b.words, &err) != KR_OK || kr_model_open(MODEL, &b.model, &err) != KR_OK ||
        kr_run_new(b.model, &opt, &b.run, &err) != KR_OK ||
        kr_kv_new(b.model->geo.layers, b.model->geo.kv_heads, b.model->geo.head_dim,
                  LENGTH + MAX_TOKENS, &b.kv, &err) != KR_OK) {
        printf("%s\n", err.msg);
        return -1;
    }
    *state = &b;
    return 0;
}

static int teardown(void **state) {
    bundle *b = *state;
    kr_words_free(b->words);
    kr_kv_free(b->kv);
    kr_run_free(b->run);
    kr_model_close(b->model);
    return 0;
}

static void draw(const bundle *b, kr_task_family f, uint64_t index, kr_task *t) {
    kr_error err;
    kr_draw d = kr_draw_start(SEED, kr_task_stream(KR_DRAW_TEST, f, index));
    assert_int_equal(kr_task_draw(b->words, &d, f, LENGTH, 1, t, &err), KR_OK);
}

static void the_tokenizer_gives_the_words_of_every_request(void **state) {
    const bundle *b = *state;
    kr_task t = {0};
    kr_error err;
    for (kr_task_family f = 0; f < KR_TASK_FAMILIES; f++)
        for (uint64_t i = 0; i < 50; i++) {
            kr_buf text = {0};
            int32_t *ids;
            size_t n;
            draw(b, f, i, &t);
            kr_words_join(b->words, t.ids.v, t.ids.n, &text);
            assert_int_equal(kr_tok_encode(b->model->tok, text.s + 1, text.len - 1, KR_TOK_ENDS,
                                           &ids, &n, &err),
                             KR_OK);
            assert_int_equal(n, t.ids.n - 1); /* all but the end of text */
            assert_memory_equal(ids, t.ids.v, n * sizeof *ids);
            free(ids);
            kr_buf_free(&text);
        }
    kr_task_free(&t);
}

static void every_vocabulary_word_is_one_token_of_the_same_id(void **state) {
    const bundle *b = *state;
    kr_error err;
    for (size_t i = 3; i < kr_words_count(b->words); i++) {
        const char *text = kr_words_text(b->words, (int32_t)i);
        kr_gguf_str piece = kr_tok_text(b->model->tok, (int32_t)i);
        char spelled[32];
        snprintf(spelled, sizeof spelled, "%s%s", text[0] == ' ' ? "\xe2\x96\x81" : "",
                 text + (text[0] == ' '));
        assert_int_equal(piece.n, strlen(spelled));
        assert_memory_equal(piece.p, spelled, piece.n);
        if (text[0] != ' ')
            continue;
        int32_t *ids;
        size_t n;
        assert_int_equal(kr_tok_encode(b->model->tok, text + 1, strlen(text + 1), 0, &ids, &n,
                                       &err),
                         KR_OK);
        assert_int_equal(n, 1);
        assert_int_equal(ids[0], (int32_t)i);
        free(ids);
    }
}

/* Words it was never shown are spelled in pieces, and come back as they were. */
static void unknown_text_survives_the_tokenizer(void **state) {
    const bundle *b = *state;
    kr_error err;
    static const char *const texts[] = {"the zebra is 48210.", "ambergris", "Caf\xc3\xa9 7",
                                        "a  b\n", "?"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int32_t *ids;
        char *back;
        size_t n, len;
        assert_int_equal(kr_tok_encode(b->model->tok, texts[i], strlen(texts[i]), 0, &ids, &n,
                                       &err),
                         KR_OK);
        assert_int_equal(kr_tok_decode(b->model->tok, ids, n, KR_TOK_TRIM, &back, &len, &err),
                         KR_OK);
        assert_string_equal(back, texts[i]);
        free(ids);
        free(back);
    }
}

/* Written by tests/sample/mini_llama.py, which shares nothing with the engine: ids of a prompt,
 * greedy tokens, and the largest logits after the prompt, in double precision. */
#define STORED "tests/fixtures/mini-llama-logits.txt"

static size_t read_ids(FILE *f, int32_t *ids, size_t most) {
    size_t n = 0;
    assert_int_equal(fscanf(f, "%zu", &n), 1);
    assert_true(n >= 1 && n <= most);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fscanf(f, "%d", &ids[i]), 1);
    return n;
}

static void logits_are_those_of_a_second_implementation(void **state) {
    const bundle *b = *state;
    int32_t prompt[LENGTH], expected[MAX_TOKENS], got[MAX_TOKENS];
    const kr_generate_options opt = {.max_tokens = MAX_TOKENS};
    kr_stop why;
    kr_error err;
    FILE *f = fopen(STORED, "r");
    assert_non_null(f);
    size_t n = read_ids(f, prompt, LENGTH), n_expected = read_ids(f, expected, MAX_TOKENS), n_got;
    float *logits = calloc(b->model->geo.vocab, sizeof *logits), worst = 0, top = 0;
    kr_kv_clear(b->kv);
    assert_int_equal(kr_run_prefill(b->run, b->kv, prompt, n, logits, NULL, NULL, NULL, &err),
                     KR_OK);
    for (int i = 0; i < 20; i++) {
        int32_t id;
        float want;
        assert_int_equal(fscanf(f, "%d %f", &id, &want), 2);
        assert_in_range(id, 0, b->model->geo.vocab - 1);
        worst = fmaxf(worst, fabsf(logits[id] - want));
        top = fmaxf(top, fabsf(want));
    }
    fclose(f);
    free(logits);
    printf("note: 20 stored logits, largest %.3g: differ by at most %.2g\n", (double)top,
           (double)worst);
    assert_true(worst < 1e-4f * top);
    kr_kv_clear(b->kv);
    assert_int_equal(kr_generate(b->run, b->model, b->kv, prompt, n, &opt, got, &n_got, &why, &err),
                     KR_OK);
    assert_int_equal(n_got, n_expected);
    assert_memory_equal(got, expected, n_got * sizeof *got);
}

static size_t answered(const bundle *b, const kr_task *t) {
    const kr_task_ask *a = &t->ask[0];
    const kr_generate_options opt = {.max_tokens = MAX_TOKENS};
    int32_t out[MAX_TOKENS];
    size_t n;
    kr_stop why;
    kr_error err;
    kr_kv_clear(b->kv);
    assert_int_equal(kr_generate(b->run, b->model, b->kv, t->ids.v, a->answer, &opt, out, &n, &why,
                                 &err),
                     KR_OK);
    return n == a->end - a->answer && memcmp(out, t->ids.v + a->answer, n * sizeof *out) == 0;
}

/* The floors are far below what is measured over many requests (data/samples/README.md), since a
 * few are drawn here. */
static void it_answers_fresh_requests_word_for_word(void **state) {
    const bundle *b = *state;
    kr_task t = {0};
    for (kr_task_family f = 0; f < KR_TASK_FAMILIES; f++) {
        size_t right = 0;
        for (uint64_t i = 0; i < REQUESTS; i++) {
            draw(b, f, i, &t);
            right += answered(b, &t);
        }
        printf("note: mini-llama answers %zu of %d %s requests of %d tokens word for word\n", right,
               REQUESTS, kr_task_name(f), LENGTH);
        assert_true(right >= (f == KR_TASK_FREQUENT ? 1 : REQUESTS - 2));
    }
    kr_task_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tokenizer_gives_the_words_of_every_request),
        cmocka_unit_test(every_vocabulary_word_is_one_token_of_the_same_id),
        cmocka_unit_test(unknown_text_survives_the_tokenizer),
        cmocka_unit_test(logits_are_those_of_a_second_implementation),
        cmocka_unit_test(it_answers_fresh_requests_word_for_word),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
