#include "help.h"

#include <math.h>

#include "engine/generate.h"
#include "engine/run.h"
#include "genmodel.h"
#include "naive.h"

static char path[64];

/* Under valgrind (RUNNER is set) everything is fifty times slower; the sizes follow. */
static bool watched(void) {
    const char *r = getenv("RUNNER");
    return r != NULL && *r != '\0';
}

static kr_model *open_model(const char *file) {
    kr_model *m = NULL;
    kr_error e = {0};
    must(kr_model_open(file, &m, &e), &e);
    return m;
}

/* A random model in memory once opened: its file is gone. */
static kr_model *random_model(const gen_model *g) {
    snprintf(path, sizeof path, "/tmp/kvrisk-run-%ld.gguf", (long)getpid());
    assert_true(gen_write(g, path));
    kr_model *m = open_model(path);
    unlink(path);
    return m;
}

static kr_run *new_run(const kr_model *m, kr_run_options o) {
    kr_run *r = NULL;
    kr_error e = {0};
    must(kr_run_new(m, &o, &r, &e), &e);
    return r;
}

static kr_kv *new_kv(const kr_model *m, size_t cap) {
    kr_kv *kv = NULL;
    kr_error e = {0};
    must(kr_kv_new(m->geo.layers, m->geo.kv_heads, m->geo.head_dim, cap, &kv, &e), &e);
    return kv;
}

static int32_t *some_tokens(const kr_model *m, size_t n) {
    int32_t *t = calloc(n, sizeof *t);
    uint64_t s = 5;
    for (size_t i = 0; i < n; i++)
        t[i] = (int32_t)(gen_next(&s) % m->geo.vocab);
    return t;
}

/* Collects logits [n][V]. */
typedef struct {
    float *to;
    size_t vocab, n;
} collector;

static kr_status collect(void *arg, size_t pos, const float *logits, kr_error *err) {
    collector *c = arg;
    (void)err;
    memcpy(c->to + pos * c->vocab, logits, c->vocab * sizeof *logits);
    c->n++;
    return KR_OK;
}

static void prefill_all(kr_run *r, const kr_model *m, kr_kv *kv, const int32_t *tok, size_t n,
                        float *out) {
    collector c = {out, m->geo.vocab, 0};
    kr_error e = {0};
    must(kr_run_prefill(r, kv, tok, n, NULL, collect, &c, NULL, &e), &e);
    assert_int_equal(c.n, n);
}

static void steps_all(kr_run *r, const kr_model *m, kr_kv *kv, const int32_t *tok, size_t n,
                      float *out) {
    kr_error e = {0};
    for (size_t i = 0; i < n; i++)
        must(kr_run_step(r, 1, &kv, tok + i, out + i * m->geo.vocab, NULL, &e), &e);
}

/* ---- reference logits ---- */

typedef struct {
    const char *name;
    double spread; /* 0: F32, 1e-4 of the range; else 1.2 times this is allowed */
} reference;

/* Largest differences between exact arithmetic and libllama's, which rounds activations. */
static const reference references[] = {
    {"stories260K", 0},         {"stories260K-F16", 0.012}, {"synth-llama2-F32", 0},
    {"synth-llama2-F16", 0.012}, {"synth-llama2-Q8_0", 0.28}, {"synth-llama2-Q4_0", 0.30},
    {"synth-llama2-Q4_K_M", 0.33}, {"synth-llama3-F32", 0},  {"synth-qwen2-F32", 0},
};

/* Greedy choices agree wherever the reference's lead over its second choice is beyond the error. */
static size_t check_greedy(const cJSON *j, const float *got, size_t vocab, double worst,
                           const char *name) {
    size_t pos = 0, agree = 0;
    const cJSON *s;
    cJSON_ArrayForEach(s, cJSON_GetObjectItemCaseSensitive(j, "steps")) {
        int want = cJSON_GetObjectItemCaseSensitive(s, "argmax")->valueint;
        double gap = cJSON_GetObjectItemCaseSensitive(s, "gap")->valuedouble;
        int32_t is = kr_run_argmax(got + pos * vocab, vocab);
        if (is != want && gap > 2 * worst)
            fail_msg("%s: token %d at position %zu, expected %d (lead %g)", name, is, pos, want,
                     gap);
        agree += is == want;
        pos++;
    }
    return agree;
}

static void compare(const reference *ref, const char *model, const char *base, bool step) {
    char file[256];
    snprintf(file, sizeof file, "%s%s.json", base, ref->name);
    cJSON *j = slurp_json(file);
    snprintf(file, sizeof file, "%s%s.logits.f32", base, ref->name);
    size_t bytes = 0, n_prompt, n_gen;
    float *want = (float *)(void *)slurp(file, &bytes);
    if (j == NULL || want == NULL || access(model, R_OK) != 0) {
        printf("skip: reference logits of %s are not here (../shared is absent)\n", ref->name);
        cJSON_Delete(j);
        free(want);
        return;
    }
    kr_model *m = open_model(model);
    int32_t *prompt = json_ids(cJSON_GetObjectItemCaseSensitive(j, "prompt_tokens"), &n_prompt);
    int32_t *gen = json_ids(cJSON_GetObjectItemCaseSensitive(j, "generated"), &n_gen);
    size_t n = n_prompt + n_gen - 1, vocab = m->geo.vocab;
    assert_int_equal(bytes, n * vocab * sizeof(float));
    int32_t *all = calloc(n + 1, sizeof *all);
    memcpy(all, prompt, n_prompt * sizeof *all);
    memcpy(all + n_prompt, gen, n_gen * sizeof *all);
    float *got = calloc(n * vocab, sizeof *got);
    kr_run *r = new_run(m, (kr_run_options){.threads = 2, .block = 16});
    kr_kv *kv = new_kv(m, n);
    (step ? steps_all : prefill_all)(r, m, kv, all, n, got);
    double worst = 0, range = 0, mean = 0;
    for (size_t i = 0; i < n * vocab; i++) {
        double d = fabs((double)got[i] - (double)want[i]);
        worst = fmax(worst, d);
        mean += d / (double)(n * vocab);
        range = fmax(range, fabs((double)want[i]));
    }
    double allowed = ref->spread > 0 ? 1.2 * ref->spread : 1e-4 * range;
    size_t agree = check_greedy(j, got, vocab, worst, ref->name);
    printf("note: %-20s %-7s largest logit difference %.2e (mean %.1e) of %.4g, allowed %.1e; "
           "greedy %zu of %zu\n", ref->name, step ? "steps" : "prefill", worst, mean, range, allowed,
           agree, n);
    assert_true(worst <= allowed);
    assert_true(mean < 0.1);
    kr_kv_free(kv);
    kr_run_free(r);
    free(got);
    free(all);
    free(gen);
    free(prompt);
    free(want);
    cJSON_Delete(j);
    kr_model_close(m);
}

static void reference_logits_are_reproduced(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        char model[256];
        snprintf(model, sizeof model, MODELS "%s.gguf", references[i].name);
        compare(&references[i], model, MODELS "ref/", false);
        if (!watched())
            compare(&references[i], model, MODELS "ref/", true);
    }
}

static void the_bundled_model_reproduces_its_logits(void **state) {
    (void)state;
    compare(&references[5], "tests/fixtures/models/synth-llama2-Q4_0.gguf",
            "tests/fixtures/models/", false);
    compare(&references[5], "tests/fixtures/models/synth-llama2-Q4_0.gguf",
            "tests/fixtures/models/", true);
}

static void greedy_text_of_the_reference(void **state) {
    (void)state;
    static const char *const names[] = {"stories260K", "synth-llama2-F32", "synth-llama3-F32",
                                        "synth-qwen2-F32"};
    for (size_t i = 0; i < 4; i++) {
        char file[256];
        snprintf(file, sizeof file, MODELS "ref/%s.json", names[i]);
        cJSON *j = slurp_json(file);
        if (j == NULL) {
            printf("skip: %s is not here (../shared is absent)\n", file);
            continue;
        }
        snprintf(file, sizeof file, MODELS "%s.gguf", names[i]);
        kr_model *m = open_model(file);
        size_t n, n_want, n_got = 0, len, n_text;
        int32_t *prompt = json_ids(cJSON_GetObjectItemCaseSensitive(j, "prompt_tokens"), &n);
        int32_t *want = json_ids(cJSON_GetObjectItemCaseSensitive(j, "generated"), &n_want);
        int32_t got[64];
        kr_run *r = new_run(m, (kr_run_options){.threads = 1});
        kr_kv *kv = new_kv(m, n + n_want);
        kr_error e = {0};
        kr_stop why;
        kr_generate_options o = {.max_tokens = n_want};
        must(kr_generate(r, m, kv, prompt, n, &o, got, &n_got, &why, &e), &e);
        assert_int_equal(n_got, n_want);
        assert_memory_equal(got, want, n_want * sizeof *want);
        assert_int_equal(kv->next, n + n_want - 1);
        char *text = NULL;
        char *expect = unhex(cJSON_GetObjectItemCaseSensitive(j, "text_hex")->valuestring, &len);
        must(kr_tok_decode(m->tok, got, n_got, 0, &text, &n_text, &e), &e);
        assert_int_equal(n_text, len);
        assert_memory_equal(text, expect, len);
        free(text);
        free(expect);
        free(prompt);
        free(want);
        kr_kv_free(kv);
        kr_run_free(r);
        kr_model_close(m);
        cJSON_Delete(j);
    }
}

/* ---- against the plain double precision pass ---- */

static const gen_model small[] = {
    {"llama", 3, 64, 4, 4, 96, 100, 512, KR_QUANT_F32, false, 11},
    {"llama", 2, 64, 8, 2, 172, 100, 512, KR_QUANT_F32, true, 12},
    {"qwen2", 2, 60, 6, 3, 50, 77, 512, KR_QUANT_F32, true, 13}, /* head size 10: no multiple of 8 */
    {"llama", 2, 256, 4, 1, 256, 64, 512, KR_QUANT_Q4_K, false, 14},
    {"llama", 2, 64, 4, 2, 96, 64, 512, KR_QUANT_Q5_1, false, 15},
};
enum { N_SMALL = sizeof small / sizeof *small };

static double largest(const double *want, const float *got, size_t n, double *range) {
    double worst = 0;
    *range = 0;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(want[i] - (double)got[i]));
        *range = fmax(*range, fabs(want[i]));
    }
    return worst;
}

static bool out_of_window(void *arg, size_t layer, size_t head, size_t k, size_t q) {
    (void)layer;
    (void)head;
    return k + *(size_t *)arg <= q;
}

static void the_pass_equals_plain_double_arithmetic(void **state) {
    (void)state;
    size_t n = watched() ? 20 : 70;
    double worst = 0;
    for (size_t s = 0; s < N_SMALL; s++)
        for (size_t window = 0; window <= 9; window += 9) {
            kr_model *m = random_model(&small[s]);
            int32_t *tok = some_tokens(m, n);
            naive t = naive_run(m, tok, n, window > 0 ? out_of_window : NULL, &window);
            float *got = calloc(n * m->geo.vocab, sizeof *got);
            for (int way = 0; way < 3; way++) {
                kr_run *r = new_run(m, (kr_run_options){
                    .threads = 2, .block = 33, .window = window,
                    .kern = way == 2 ? kr_kern_portable() : NULL});
                kr_kv *kv = new_kv(m, n);
                (way == 1 ? steps_all : prefill_all)(r, m, kv, tok, n, got);
                double range, d = largest(t.logits, got, n * m->geo.vocab, &range);
                worst = fmax(worst, d / range);
                assert_true(d < 1e-4 * range);
                kr_kv_free(kv);
                kr_run_free(r);
            }
            free(got);
            free(tok);
            naive_free(&t);
            kr_model_close(m);
        }
    printf("note: random models against double precision (GQA, biases, window, quantised): largest "
           "relative difference %.1e\n", worst);
}

/* ---- blocks, threads, batches ---- */

static void blocks_equal_single_tokens_and_threads_equal_bytes(void **state) {
    (void)state;
    static const size_t blocks[] = {1, 7, 64, 512};
    gen_model g = {"llama", 3, 128, 4, 2, 192, 200, 2048, KR_QUANT_F32, true, 21};
    kr_model *m = random_model(&g);
    size_t n = watched() ? 70 : 600, vocab = m->geo.vocab;
    int32_t *tok = some_tokens(m, n);
    float *want = calloc(n * vocab, sizeof *want), *one = calloc(n * vocab, sizeof *one);
    float *two = calloc(n * vocab, sizeof *two);
    kr_run *r = new_run(m, (kr_run_options){.threads = 1});
    kr_kv *kv = new_kv(m, n);
    steps_all(r, m, kv, tok, n, want);
    kr_run_free(r);
    double range = 0, worst = 0;
    for (size_t i = 0; i < n * vocab; i++)
        range = fmax(range, fabs((double)want[i]));
    for (size_t b = 0; b < 4; b++) {
        kr_kv *kvs[3];
        for (size_t threads = 1; threads <= 3; threads++) {
            r = new_run(m, (kr_run_options){.threads = threads, .block = blocks[b]});
            kvs[threads - 1] = new_kv(m, n);
            prefill_all(r, m, kvs[threads - 1], tok, n, threads == 1 ? one : two);
            if (threads > 1)
                assert_memory_equal(one, two, n * vocab * sizeof *one);
            kr_run_free(r);
        }
        for (size_t i = 0; i < 3; i++) {
            assert_memory_equal(kvs[i]->k, kvs[0]->k, kvs[0]->rows * kvs[0]->dim * sizeof(float));
            assert_memory_equal(kvs[i]->v, kvs[0]->v, kvs[0]->rows * kvs[0]->dim * sizeof(float));
        }
        for (size_t i = 0; i < 3; i++)
            kr_kv_free(kvs[i]);
        double d = 0;
        for (size_t i = 0; i < n * vocab; i++)
            d = fmax(d, fabs((double)one[i] - (double)want[i]));
        worst = fmax(worst, d / range);
        assert_true(d <= 1e-4 * range);
    }
    printf("note: blocks of 1, 7, 64, 512 against single tokens: largest relative difference %.1e; "
           "1, 2 and 3 threads give the same bytes\n", worst);
    kr_kv_free(kv);
    free(want);
    free(one);
    free(two);
    free(tok);
    kr_model_close(m);
}

/* Caches of different lengths and contents; each row alone, and all in one step, in two orders. */
static void a_row_does_not_depend_on_its_batch(void **state) {
    (void)state;
    for (size_t s = 0; s < N_SMALL; s++) {
        enum { N = 9 };
        kr_model *m = random_model(&small[s]);
        size_t vocab = m->geo.vocab;
        int32_t *tok = some_tokens(m, 200), next[N], turned[N];
        kr_run *r = new_run(m, (kr_run_options){.threads = 2, .batch = N});
        kr_kv *alone[N], *batch[N], *order[N];
        float *a = calloc(N * vocab, sizeof *a), *b = calloc(N * vocab, sizeof *b);
        kr_error e = {0};
        for (size_t i = 0; i < N; i++) {
            alone[i] = new_kv(m, 100);
            batch[i] = new_kv(m, 100);
            next[i] = tok[100 + i];
            must(kr_run_prefill(r, alone[i], tok + i, 5 + 9 * i, NULL, NULL, NULL, NULL, &e), &e);
            must(kr_run_prefill(r, batch[i], tok + i, 5 + 9 * i, NULL, NULL, NULL, NULL, &e), &e);
        }
        for (size_t rep = 0; rep < 3; rep++) {
            for (size_t i = 0; i < N; i++) {
                size_t k = rep % 2 == 0 ? i : N - 1 - i;
                must(kr_run_step(r, 1, &alone[i], &next[i], a + i * vocab, NULL, &e), &e);
                order[k] = batch[i];
                turned[k] = next[i];
            }
            must(kr_run_step(r, N, order, turned, b, NULL, &e), &e);
            for (size_t i = 0; i < N; i++) {
                size_t k = rep % 2 == 0 ? i : N - 1 - i;
                assert_memory_equal(a + i * vocab, b + k * vocab, vocab * sizeof *a);
                next[i] = kr_run_argmax(a + i * vocab, vocab);
            }
        }
        for (size_t i = 0; i < N; i++) {
            kr_kv_free(alone[i]);
            kr_kv_free(batch[i]);
        }
        kr_run_free(r);
        free(a);
        free(b);
        free(tok);
        kr_model_close(m);
    }
}

/* ---- ragged caches ---- */

typedef struct {
    size_t n, heads;
    bool *kept; /* [L][K][n] */
} mask;

static bool hidden(void *arg, size_t layer, size_t head, size_t k, size_t q) {
    const mask *x = arg;
    return q >= x->n && k < x->n && !x->kept[(layer * x->heads + head) * x->n + k];
}

static void a_selected_cache_equals_a_masked_one(void **state) {
    (void)state;
    double worst = 0;
    for (size_t s = 0; s < 3; s++) {
        kr_model *m = random_model(&small[s]);
        const kr_geometry *g = &m->geo;
        size_t n = 50, more = 12, all = g->layers * g->kv_heads, vocab = g->vocab;
        int32_t *tok = some_tokens(m, n + more);
        mask x = {n, g->kv_heads, calloc(all * n, sizeof(bool))};
        kr_kv_keep *keep = calloc(all, sizeof *keep);
        uint32_t *rows = calloc(all * n, sizeof *rows);
        uint64_t seed = 77;
        for (size_t h = 0; h < all; h++) {
            keep[h].rows = rows + h * n;
            for (size_t i = 0; i < n; i++)
                if (i == h % n || gen_next(&seed) >> 40 < (uint64_t)(1 + h % 3) << 22) {
                    x.kept[h * n + i] = true;
                    rows[h * n + keep[h].n++] = (uint32_t)i;
                }
        }
        naive t = naive_run(m, tok, n + more, hidden, &x);
        kr_run *r = new_run(m, (kr_run_options){.threads = 2, .block = 64});
        kr_kv *full = new_kv(m, n), *part = NULL, *part2 = NULL;
        float *got = calloc((n + more) * vocab, sizeof *got);
        kr_error e = {0};
        must(kr_run_prefill(r, full, tok, n, NULL, NULL, NULL, NULL, &e), &e);
        must(kr_kv_select(full, keep, more, &part, &e), &e);
        must(kr_kv_select(full, keep, more, &part2, &e), &e);
        assert_int_equal(part->next, n);
        assert_int_equal(kr_kv_room(part), more);
        double range, d;
        for (size_t i = 0; i < more; i++)
            must(kr_run_step(r, 1, &part, tok + n + i, got + i * vocab, NULL, &e), &e);
        d = largest(t.logits + n * vocab, got, more * vocab, &range);
        worst = fmax(worst, d / range);
        collector c = {got, vocab, 0}; /* the same as one block of twelve on the compressed cache */
        must(kr_run_prefill(r, part2, tok + n, more, NULL, collect, &c, NULL, &e), &e);
        d = largest(t.logits + n * vocab, got + n * vocab, more * vocab, &range);
        worst = fmax(worst, d / range);
        assert_true(worst < 1e-5);
        kr_kv_free(full);
        kr_kv_free(part);
        kr_kv_free(part2);
        kr_run_free(r);
        naive_free(&t);
        free(got);
        free(rows);
        free(keep);
        free(x.kept);
        free(tok);
        kr_model_close(m);
    }
    printf("note: selected caches against masked double arithmetic: largest relative difference "
           "%.1e\n", worst);
}

static void keeping_everything_changes_no_bit(void **state) {
    (void)state;
    kr_model *m = random_model(&small[1]);
    size_t all = m->geo.layers * m->geo.kv_heads, vocab = m->geo.vocab;
    int32_t *tok = some_tokens(m, 60);
    kr_kv_keep *keep = calloc(all, sizeof *keep);
    kr_run *r = new_run(m, (kr_run_options){.threads = 2});
    kr_kv *full = new_kv(m, 60), *copy = NULL;
    kr_error e = {0};
    float *a = calloc(vocab, sizeof *a), *b = calloc(vocab, sizeof *b);
    must(kr_run_prefill(r, full, tok, 50, NULL, NULL, NULL, NULL, &e), &e);
    must(kr_kv_select(full, keep, 10, &copy, &e), &e);
    for (size_t i = 50; i < 60; i++) {
        must(kr_run_step(r, 1, &full, tok + i, a, NULL, &e), &e);
        must(kr_run_step(r, 1, &copy, tok + i, b, NULL, &e), &e);
        assert_memory_equal(a, b, vocab * sizeof *a);
    }
    assert_int_equal(kr_kv_bytes(copy), kr_kv_bytes(full));
    uint32_t bad[2] = {3, 3};
    keep[1] = (kr_kv_keep){bad, 2};
    kr_kv *none = NULL;
    assert_int_equal(kr_kv_select(full, keep, 0, &none, &e), KR_EINVAL);
    bad[1] = 60;
    assert_int_equal(kr_kv_select(full, keep, 0, &none, &e), KR_EINVAL);
    assert_null(none);
    kr_kv_free(full);
    kr_kv_free(copy);
    kr_run_free(r);
    free(keep);
    free(a);
    free(b);
    free(tok);
    kr_model_close(m);
}

/* ---- taps ---- */

static void check_taps(const kr_model *m, const naive *t, const kr_taps *x) {
    const kr_geometry *g = &m->geo;
    size_t d = g->head_dim, hq = g->heads * d, n = t->n;
    for (size_t l = 0; l < g->layers; l++)
        for (size_t h = 0; h < g->heads; h++) {
            size_t at = l * g->heads + h;
            for (size_t j = 0; j < x->capacity; j++) {
                double want = j < n ? t->sums[at * n + j] : 0;
                assert_true(fabs((double)x->sums[at * x->capacity + j] - want) < 1e-4 * (1 + want));
            }
            for (size_t w = 0; w < x->n_last; w++)
                for (size_t i = 0; i < d; i++) {
                    double want = t->q[(l * n + n - x->n_last + w) * hq + h * d + i];
                    assert_true(fabs((double)x->last[(at * x->window + w) * d + i] - want) < 1e-4);
                }
            for (size_t i = 0; i < d; i++) {
                double sum = 0;
                for (size_t p = x->sinks; p < n; p++)
                    sum += t->pre[(l * n + p) * hq + h * d + i];
                assert_true(fabs((double)x->mean[at * d + i] - sum) < 2e-3);
                for (size_t k = 0; k < d; k++) {
                    double o = 0;
                    for (size_t p = x->sinks; p < n; p++)
                        o += t->pre[(l * n + p) * hq + h * d + i] *
                             t->pre[(l * n + p) * hq + h * d + k];
                    assert_true(fabs((double)x->outer[(at * d + i) * d + k] - o) < 5e-3);
                }
            }
        }
}

static void taps_hold_what_eviction_asks_for(void **state) {
    (void)state;
    for (size_t s = 0; s < 3; s++) {
        kr_model *m = random_model(&small[s]);
        size_t n = 50;
        int32_t *tok = some_tokens(m, n);
        naive t = naive_run(m, tok, n, NULL, NULL);
        static const size_t blocks[] = {512, 16, 3};
        for (size_t b = 0; b < 3; b++) {
            kr_run *r = new_run(m, (kr_run_options){.threads = 2, .block = blocks[b]});
            kr_taps *x = NULL;
            kr_error e = {0};
            must(kr_taps_new(&m->geo, 20, 60, true, 4, &x, &e), &e);
            for (int rep = 0; rep < 2; rep++) {
                kr_kv *kv = new_kv(m, n);
                kr_taps_clear(x);
                must(kr_run_prefill(r, kv, tok, n, NULL, NULL, NULL, x, &e), &e);
                assert_int_equal(x->n_last, 20);
                assert_int_equal(x->n_moments, n - 4);
                check_taps(m, &t, x);
                kr_kv_free(kv);
            }
            kr_taps_free(x);
            kr_run_free(r);
        }
        free(tok);
        naive_free(&t);
        kr_model_close(m);
    }
}

static void step_taps_and_output_rows(void **state) {
    (void)state;
    kr_model *m = random_model(&small[1]);
    const kr_geometry *g = &m->geo;
    size_t n = 20, hq = g->heads * g->head_dim;
    int32_t *tok = some_tokens(m, n);
    naive t = naive_run(m, tok, n, NULL, NULL);
    kr_run *r = new_run(m, (kr_run_options){.threads = 2});
    kr_kv *kv = new_kv(m, n);
    kr_error e = {0};
    float *q = calloc(g->layers * hq, sizeof *q), *a = calloc(g->layers * hq, sizeof *a);
    kr_step_tap tap = {q, a};
    must(kr_run_prefill(r, kv, tok, n - 1, NULL, NULL, NULL, NULL, &e), &e);
    must(kr_run_step(r, 1, &kv, tok + n - 1, NULL, &tap, &e), &e);
    for (size_t l = 0; l < g->layers; l++)
        for (size_t i = 0; i < hq; i++) {
            assert_true(fabs((double)q[l * hq + i] - t.q[(l * n + n - 1) * hq + i]) < 1e-4);
            assert_true(fabs((double)a[l * hq + i] - t.att[(l * n + n - 1) * hq + i]) < 1e-4);
        }
    float *wo = calloc(hq * g->width, sizeof *wo), *row = calloc(hq, sizeof *row);
    kr_model_output_rows(m, 1, wo);
    for (size_t o = 0; o < g->width; o++) {
        const kr_mat *w = &m->layer[1].o;
        kr_quant_expand(w->type, w->data + o * w->row_bytes, hq, row);
        for (size_t i = 0; i < hq; i++)
            assert_true(wo[i * g->width + o] == row[i]);
    }
    free(wo);
    free(row);
    free(q);
    free(a);
    free(tok);
    kr_kv_free(kv);
    kr_run_free(r);
    naive_free(&t);
    kr_model_close(m);
}

/* ---- what can go wrong ---- */

/* Goes on while the calls left, of which a slow machine makes more, are not used up. */
static bool stop_at_last(void *arg, size_t done, size_t total) {
    size_t *left = arg;
    assert_true(done <= total);
    return --*left > 0;
}

static void a_canceled_prefill_leaves_the_cache_as_it_was(void **state) {
    (void)state;
    gen_model g = {"llama", 8, 256, 4, 4, 512, 100, 4096, KR_QUANT_F32, true, 31};
    kr_model *m = random_model(&g);
    int32_t *tok = some_tokens(m, 4000);
    size_t left = SIZE_MAX;
    kr_run *r = new_run(m, (kr_run_options){
        .threads = 2, .block = 64, .progress = stop_at_last, .progress_arg = &left});
    kr_kv *kv = new_kv(m, 4000);
    kr_error e = {0};
    must(kr_run_prefill(r, kv, tok, 3, NULL, NULL, NULL, NULL, &e), &e);
    left = 2;
    assert_int_equal(kr_run_prefill(r, kv, tok, 3900, NULL, NULL, NULL, NULL, &e), KR_ECANCELED);
    assert_int_equal(kv->next, 3);
    for (size_t i = 0; i < kv->layers * kv->heads; i++)
        assert_int_equal(kv->head[i].len, 3);
    kr_kv_free(kv);
    kr_run_free(r);
    free(tok);
    kr_model_close(m);
}

static void bad_input_is_refused_in_a_sentence(void **state) {
    (void)state;
    kr_model *m = random_model(&small[0]);
    kr_run *r = new_run(m, (kr_run_options){.threads = 1, .batch = 2});
    kr_kv *kv = new_kv(m, 8);
    kr_error e = {0};
    int32_t tok[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, high = 100, low = -1;
    kr_kv *twice[2] = {kv, kv};
    assert_int_equal(kr_run_prefill(r, kv, tok, 0, NULL, NULL, NULL, NULL, &e), KR_EINVAL);
    assert_string_equal(e.msg, "the prompt is empty");
    assert_int_equal(kr_run_prefill(r, kv, tok, 9, NULL, NULL, NULL, NULL, &e), KR_EINVAL);
    assert_int_equal(kr_run_prefill(r, kv, &high, 1, NULL, NULL, NULL, NULL, &e), KR_EINVAL);
    assert_int_equal(kr_run_prefill(r, kv, &low, 1, NULL, NULL, NULL, NULL, &e), KR_EINVAL);
    assert_int_equal(kr_run_step(r, 2, twice, tok, NULL, NULL, &e), KR_EINVAL);
    assert_int_equal(kr_run_step(r, 3, twice, tok, NULL, NULL, &e), KR_EINVAL);
    assert_int_equal(kv->next, 0);
    kr_kv_free(kv);
    kr_run_free(r);
    kr_model_close(m);
}

static void damaged_weights_are_noticed_with_the_position(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/kvrisk-run-%ld.gguf", (long)getpid());
    assert_true(gen_write(&small[0], path));
    size_t n = 0;
    char *data = slurp(path, &n);
    unlink(path);
    assert_non_null(data);
    kr_gguf *g = NULL;
    kr_model *m = NULL;
    kr_error e = {0};
    must(kr_gguf_parse(data, n, "x", &g, &e), &e);
    /* Row 7 of the embedding: only what follows token 7 is spoilt. */
    const kr_gguf_tensor *t = kr_gguf_find(g, "token_embd.weight");
    const float nan = NAN;
    memcpy(data + ((const char *)t->data - data) + 7 * 64 * 4, &nan, sizeof nan);
    must(kr_model_from(g, &m, &e), &e);
    kr_run *r = new_run(m, (kr_run_options){.threads = 2});
    kr_kv *kv = new_kv(m, 40);
    float logits[100];
    int32_t tok[12] = {1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 7};
    must(kr_run_prefill(r, kv, tok, 11, logits, NULL, NULL, NULL, &e), &e);
    assert_int_equal(kr_run_step(r, 1, &kv, tok + 11, logits, NULL, &e), KR_ENUM);
    assert_non_null(strstr(e.msg, "position 11"));
    assert_int_equal(kv->next, 11);
    kr_kv_free(kv);
    kr_run_free(r);
    kr_model_close(m);
    free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_logits_are_reproduced),
        cmocka_unit_test(the_bundled_model_reproduces_its_logits),
        cmocka_unit_test(greedy_text_of_the_reference),
        cmocka_unit_test(the_pass_equals_plain_double_arithmetic),
        cmocka_unit_test(blocks_equal_single_tokens_and_threads_equal_bytes),
        cmocka_unit_test(a_row_does_not_depend_on_its_batch),
        cmocka_unit_test(a_selected_cache_equals_a_masked_one),
        cmocka_unit_test(keeping_everything_changes_no_bit),
        cmocka_unit_test(taps_hold_what_eviction_asks_for),
        cmocka_unit_test(step_taps_and_output_rows),
        cmocka_unit_test(a_canceled_prefill_leaves_the_cache_as_it_was),
        cmocka_unit_test(bad_input_is_refused_in_a_sentence),
        cmocka_unit_test(damaged_weights_are_noticed_with_the_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
