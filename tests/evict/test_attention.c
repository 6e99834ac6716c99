/* Decoding over what a policy kept, against a plain forward pass over everything in double
 * precision in which evicted positions have a score of minus infinity. Catches wrong positions,
 * masks, head maps and gathers at once. */
#include "synthetic.h"

#include <unistd.h>

#include "../engine/genmodel.h"
#include "../engine/naive.h"

enum { N = 96, QUESTION = 5, ALL = N + QUESTION };

typedef struct {
    const kr_keep *keep;
} mask;

static bool hidden(void *arg, size_t layer, size_t head, size_t k, size_t q) {
    const mask *m = arg;
    return q >= N && k < N && !keeps(m->keep, layer * m->keep->heads + head, (uint32_t)k);
}

typedef struct {
    kr_model *m;
    kr_run *r;
    kr_kv *full;
    kr_taps *taps;
    kr_evict_shared shared;
    kr_evict_input in;
    int32_t tokens[ALL];
    double worst, worst_logit;
} bed;

static void open_bed(bed *b, const gen_model *g) {
    kr_error e;
    char path[64];
    snprintf(path, sizeof path, "/tmp/kvrisk-test-%ld.gguf", (long)getpid());
    assert_true(gen_write(g, path));
    *b = (bed){0};
    must(kr_model_open(path, &b->m, &e), &e);
    unlink(path);
    const kr_geometry *q = &b->m->geo;
    must(kr_run_new(b->m, &(kr_run_options){.threads = 2, .batch = 2}, &b->r, &e), &e);
    must(kr_kv_new(q->layers, q->kv_heads, q->head_dim, N, &b->full, &e), &e);
    must(kr_taps_new(q, 64, N, true, 4, &b->taps, &e), &e);
    uint64_t seed = 31;
    for (size_t i = 0; i < ALL; i++)
        b->tokens[i] = (int32_t)(gen_next(&seed) % q->vocab);
    must(kr_run_prefill(b->r, b->full, b->tokens, N, NULL, NULL, NULL, b->taps, &e), &e);
    b->in = (kr_evict_input){.model = b->m, .kv = b->full, .taps = b->taps, .shared = &b->shared,
                             .pool = kr_run_pool(b->r), .key = 1};
}

static void close_bed(bed *b) {
    kr_evict_shared_free(&b->shared);
    kr_taps_free(b->taps);
    kr_kv_free(b->full);
    kr_run_free(b->r);
    kr_model_close(b->m);
}

static double largest(const float *a, const double *b, size_t n) {
    double d = 0;
    for (size_t i = 0; i < n; i++)
        d = fmax(d, fabs((double)a[i] - b[i]));
    return d;
}

static void compare(bed *b, const char *text) {
    kr_error e;
    const kr_geometry *g = &b->m->geo;
    size_t wide = g->heads * g->head_dim;
    kr_keep *k = keep_of(&b->in, text);
    kr_kv *two[2]; /* over shared rows, and over copies */
    must(kr_kv_share(b->full, k->head, QUESTION, &two[0], &e), &e);
    must(kr_kv_select(b->full, k->head, QUESTION, &two[1], &e), &e);
    float *att = calloc(2 * g->layers * wide, sizeof *att);
    float *logits = calloc(2 * g->vocab, sizeof *logits);
    naive t = naive_run(b->m, b->tokens, ALL, hidden, &(mask){k});
    for (size_t i = N; i < ALL; i++) {
        const int32_t token[2] = {b->tokens[i], b->tokens[i]};
        must(kr_run_step(b->r, 2, two, token, logits, &(kr_step_tap){.attention = att}, &e), &e);
        assert_memory_equal(att, att + g->layers * wide, g->layers * wide * sizeof *att);
        assert_memory_equal(logits, logits + g->vocab, g->vocab * sizeof *logits);
        double d = largest(logits, t.logits + i * g->vocab, g->vocab);
        b->worst_logit = fmax(b->worst_logit, d);
        for (size_t l = 0; l < g->layers; l++)
            b->worst = fmax(b->worst, largest(att + l * wide, t.att + (l * ALL + i) * wide, wide));
    }
    if (!(b->worst < 1e-5 && b->worst_logit < 1e-5))
        fail_msg("%s: attention differs by %g, logits by %g", text, b->worst, b->worst_logit);
    naive_free(&t);
    free(att);
    free(logits);
    kr_kv_free(two[0]);
    kr_kv_free(two[1]);
    kr_keep_free(k);
}

static void compare_group(size_t kv_heads) {
    bed b;
    size_t cases = 0;
    open_bed(&b, &(gen_model){"llama", 3, 64, 8, kv_heads, 96, 64, 256, KR_QUANT_F32, false, 5});
    for (const kr_evictor *const *p = kr_evictors(); *p != NULL; p++) {
        static const char *const levels[2][3] = {{"0.8", "0.5", "0.2"}, {"0.01", "0.05", "0.2"}};
        for (size_t i = 0; i < 3; i++) {
            char text[80];
            bool window = (*p)->n_params > 0 && strcmp((*p)->params[0].name, "window") == 0;
            snprintf(text, sizeof text, "%s:%s%s", (*p)->name,
                     (*p)->score == NULL ? "1" : levels[(*p)->threshold][i],
                     window ? ",window=8" : "");
            compare(&b, text);
            cases++;
        }
    }
    printf("note: %zu query heads per KV head, %zu selections, question of %d tokens: largest "
           "difference %.2g in attention outputs, %.2g in logits\n", 8 / kv_heads, cases, QUESTION,
           b.worst, b.worst_logit);
    close_bed(&b);
}

static void one_query_head_per_kv_head(void **state) {
    (void)state;
    compare_group(8);
}

static void two_query_heads_per_kv_head(void **state) {
    (void)state;
    compare_group(4);
}

static void eight_query_heads_per_kv_head(void **state) {
    (void)state;
    compare_group(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_query_head_per_kv_head),
        cmocka_unit_test(two_query_heads_per_kv_head),
        cmocka_unit_test(eight_query_heads_per_kv_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
