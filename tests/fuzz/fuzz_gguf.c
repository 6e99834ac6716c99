/* Any bytes as a model file: loads or refuses in a sentence; a small model that loads also runs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model.h"
#include "engine/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const kr_model *m) {
    const kr_geometry *g = &m->geo;
    if (g->width > 256 || g->ffn > 512 || g->heads * g->head_dim > 512 || g->layers > 4 ||
        g->vocab > 1024)
        return;
    kr_error e;
    kr_run *r = NULL;
    kr_kv *kv = NULL;
    kr_run_options o = {.threads = 1, .block = 16};
    float *logits = calloc(g->vocab, sizeof *logits);
    int32_t tokens[12] = {0};
    for (size_t i = 0; i < 12; i++)
        tokens[i] = (int32_t)(i % g->vocab);
    if (logits != NULL && kr_run_new(m, &o, &r, &e) == KR_OK &&
        kr_kv_new(g->layers, g->kv_heads, g->head_dim, 13, &kv, &e) == KR_OK &&
        kr_run_prefill(r, kv, tokens, 12, logits, NULL, NULL, NULL, &e) == KR_OK)
        kr_run_step(r, 1, &kv, tokens, logits, NULL, &e);
    kr_kv_free(kv);
    kr_run_free(r);
    free(logits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kr_gguf *g = NULL;
    kr_model *m = NULL;
    kr_error e = {0};
    if (kr_gguf_parse(data, size, "fuzz", &g, &e) != KR_OK) {
        if (strlen(e.msg) == 0)
            abort();
        return 0;
    }
    kr_tok *t = NULL;
    if (kr_tok_new(g, &t, &e) == KR_OK && t != NULL) {
        int32_t *ids = NULL;
        size_t n = 0;
        if (kr_tok_encode(t, "<s>some text\n12", 15, KR_TOK_ENDS | KR_TOK_SPECIAL, &ids, &n, &e) ==
            KR_OK)
            free(ids);
        kr_tok_free(t);
    }
    if (kr_model_from(g, &m, &e) != KR_OK) {
        if (strlen(e.msg) == 0)
            abort();
        return 0;
    }
    run(m);
    kr_model_close(m);
    return 0;
}
