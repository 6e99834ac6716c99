/* Caches that borrow rows give the bytes of caches that hold copies. */
#include "help.h"

#include "engine/run.h"

#define MODEL "tests/fixtures/models/synth-llama2-Q4_0.gguf"
enum { PROMPT = 600, ARMS = 3, STEPS = 5 };

typedef struct {
    kr_model *m;
    kr_run *r;
    kr_kv *full;
    uint32_t *rows[ARMS];
    kr_kv_keep keep[ARMS][64];
} fixture;

static void open_model(fixture *f) {
    kr_error e;
    must(kr_model_open(MODEL, &f->m, &e), &e);
    must(kr_run_new(f->m, &(kr_run_options){.threads = 2, .batch = ARMS}, &f->r, &e), &e);
    const kr_geometry *g = &f->m->geo;
    int32_t tokens[PROMPT];
    for (size_t i = 0; i < PROMPT; i++)
        tokens[i] = (int32_t)(3 + i * 7 % (g->vocab - 3));
    must(kr_kv_new(g->layers, g->kv_heads, g->head_dim, PROMPT, &f->full, &e), &e);
    must(kr_run_prefill(f->r, f->full, tokens, PROMPT, NULL, NULL, NULL, NULL, &e), &e);
}

/* Arm a keeps every (a + 2)th row of a head from its number on; head 0 of arm 0 keeps all. */
static void choose(fixture *f, size_t a) {
    size_t heads = f->full->layers * f->full->heads, n = 0;
    f->rows[a] = calloc(heads * PROMPT, sizeof(uint32_t));
    for (size_t h = 0; h < heads; h++) {
        size_t from = n;
        for (uint32_t i = (uint32_t)h; i < PROMPT; i += i < 300 && a == 1 ? 1 : (uint32_t)a + 2)
            f->rows[a][n++] = i;
        f->keep[a][h] = (kr_kv_keep){f->rows[a] + from, n - from};
    }
    if (a == 0)
        f->keep[0][0] = (kr_kv_keep){NULL, 0};
}

static void borrowing_gives_the_bytes_of_copying(void **state) {
    (void)state;
    kr_error e;
    fixture f = {0};
    open_model(&f);
    kr_kv *copy[ARMS], *lent[ARMS];
    size_t vocab = f.m->geo.vocab;
    float *a = calloc(ARMS * vocab, sizeof *a), *b = calloc(vocab, sizeof *b);
    for (size_t i = 0; i < ARMS; i++) {
        choose(&f, i);
        must(kr_kv_select(f.full, f.keep[i], STEPS, &copy[i], &e), &e);
        must(kr_kv_share(f.full, f.keep[i], STEPS, &lent[i], &e), &e);
        assert_int_equal(kr_kv_bytes(copy[i]), kr_kv_bytes(lent[i]));
    }
    for (int32_t s = 0; s < STEPS; s++) {
        const int32_t t[ARMS] = {s + 5, s + 6, s + 7};
        must(kr_run_step(f.r, ARMS, lent, t, a, NULL, &e), &e);
        for (size_t i = 0; i < ARMS; i++) {
            must(kr_run_step(f.r, 1, &copy[i], &t[i], b, NULL, &e), &e);
            assert_memory_equal(a + i * vocab, b, vocab * sizeof *b);
        }
    }
    int32_t one = 5;
    assert_int_equal(kr_run_prefill(f.r, lent[0], &one, 1, NULL, NULL, NULL, NULL, &e), KR_EINVAL);
    assert_int_equal(kr_run_step(f.r, 1, lent, &one, a, NULL, &e), KR_EINVAL); /* no room */
    kr_kv *again;
    assert_int_equal(kr_kv_share(lent[0], f.keep[0], 1, &again, &e), KR_EINVAL);
    for (size_t i = 0; i < ARMS; i++) {
        kr_kv_free(copy[i]);
        kr_kv_free(lent[i]);
        free(f.rows[i]);
    }
    free(a);
    free(b);
    kr_kv_free(f.full);
    kr_run_free(f.r);
    kr_model_close(f.m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(borrowing_gives_the_bytes_of_copying)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
