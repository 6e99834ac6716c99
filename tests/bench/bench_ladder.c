/* bench_ladder.c - what sharing one prefill buys, what scoring costs, and whether a smaller cache
 * decodes faster; each beside what it is compared with, in one run.
 *
 *   bench_ladder [quick]      QUICK leaves out the long answers and the long context */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../engine/genmodel.h"
#include "base/clock.h"
#include "sample/eval.h"

enum { PROMPT = 2048, LEVELS = 13, METHODS = 4, ARMS = LEVELS * METHODS };

static const char *const methods[METHODS] = {"snapkv", "adakv", "defensivekv", "layer_defensivekv"};

static void need(kr_status st, const kr_error *e) {
    if (st == KR_OK)
        return;
    fprintf(stderr, "bench_ladder: %s\n", e->msg);
    exit(1);
}

static void ladder(kr_evict_spec arm[ARMS]) {
    kr_error e;
    for (size_t m = 0; m < METHODS; m++)
        for (size_t i = 0; i < LEVELS; i++) {
            char text[64];
            snprintf(text, sizeof text, "%s:0.%02zu", methods[m], 80 - 5 * i);
            need(kr_evict_parse(text, NULL, &arm[m * LEVELS + i], &e), &e);
        }
}

static int32_t *prompt_of(size_t n, size_t vocab) {
    int32_t *t = calloc(n, sizeof *t);
    uint64_t s = 99;
    for (size_t i = 0; i < n; i++)
        t[i] = (int32_t)(gen_next(&s) % vocab);
    return t;
}

/* ---- the ladder against separate runs ---- */

/* One policy by itself, nothing shared and nothing measured: prefill, score, select, a copy of what
 * was kept, decode. */
static double separate(const kr_model *m, kr_run *r, const kr_evict_spec *arm, const int32_t *t,
                       size_t answer) {
    kr_error e;
    const kr_geometry *g = &m->geo;
    size_t n = PROMPT - 1, w = arm->policy->window(&arm->params);
    double start = kr_clock();
    kr_kv *full, *kv;
    kr_taps *taps;
    kr_scores *s;
    kr_keep *k;
    kr_evict_shared shared = {0};
    need(kr_kv_new(g->layers, g->kv_heads, g->head_dim, n, &full, &e), &e);
    need(kr_taps_new(g, w, 0, false, 0, &taps, &e), &e);
    need(kr_run_prefill(r, full, t, n, NULL, NULL, NULL, taps, &e), &e);
    kr_evict_input in = {.model = m, .kv = full, .taps = taps, .pool = kr_run_pool(r),
                         .shared = &shared};
    need(kr_evict_score(arm, &in, &s, &e), &e);
    need(kr_evict_select(arm, &in, s, &k, &e), &e);
    need(kr_kv_select(full, k->head, answer, &kv, &e), &e);
    kr_kv_free(full);
    float *logits = malloc(g->vocab * sizeof *logits);
    int32_t next = t[n];
    for (size_t i = 0; i < answer; i++) {
        need(kr_run_step(r, 1, &kv, &next, logits, NULL, &e), &e);
        next = kr_run_argmax(logits, g->vocab);
    }
    double spent = kr_clock() - start;
    free(logits);
    kr_kv_free(kv);
    kr_scores_free(s);
    kr_keep_free(k);
    kr_taps_free(taps);
    kr_evict_shared_free(&shared);
    return spent;
}

static void compare(const kr_model *m, size_t threads, size_t answer, size_t every) {
    kr_error e;
    kr_evict_spec arm[ARMS];
    kr_eval *ev;
    kr_run *r;
    kr_eval_result *res = NULL;
    int32_t *t = prompt_of(PROMPT, m->geo.vocab);
    ladder(arm);
    kr_eval_options o = {.arm = arm, .n_arms = ARMS, .threads = threads, .ignore_stops = true};
    need(kr_eval_new(m, &o, &ev, &e), &e);
    need(kr_run_new(m, &(kr_run_options){.threads = threads}, &r, &e), &e);
    double shared = 1e9, apart = 0;
    size_t measured = 0;
    for (size_t i = 0; i < ARMS; i += every, measured++) {
        apart += separate(m, r, &arm[i], t, answer);
        if (measured % 4 != 0) /* in turns, so that both see the same machine */
            continue;
        kr_eval_result_free(res);
        double start = kr_clock();
        need(kr_eval_tokens(ev, t, PROMPT, 0, answer, 1, &res, &e), &e);
        start = kr_clock() - start;
        shared = start < shared ? start : shared;
    }
    apart *= (double)ARMS / (double)measured;
    printf("note: ladder of %d policies, %d prompt and %zu answer tokens: %.2f s (prefill %.2f, "
           "scoring %.2f, decoding %.2f); %d separate runs %.1f s (%zu measured): ratio %.3f\n",
           ARMS, PROMPT, answer, shared, res->prefill_s, res->score_s, res->decode_s, ARMS, apart,
           measured, shared / apart);
    fflush(stdout);
    kr_eval_result_free(res);
    kr_eval_free(ev);
    kr_run_free(r);
    free(t);
}

/* ---- memory ---- */

/* "VmHWM" or "VmRSS" of this process in bytes. */
static double status_of(const char *name) {
    char line[200];
    double kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            kb = strtod(line + strlen(name) + 1, NULL);
    if (f != NULL)
        fclose(f);
    return kb * 1024;
}

/* In a child: what a ladder adds to a process that has done a plain prompt before. */
static void memory(const char *path, size_t threads, size_t answer) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        kr_error e;
        kr_model *m = NULL;
        kr_evict_spec arm[ARMS];
        kr_eval *ev;
        kr_eval_result *res;
        need(kr_model_open(path, &m, &e), &e);
        int32_t *t = prompt_of(PROMPT, m->geo.vocab);
        ladder(arm);
        kr_eval_options o = {.arm = arm, .n_arms = ARMS, .threads = threads, .ignore_stops = true};
        need(kr_eval_new(m, &o, &ev, &e), &e);
        need(kr_eval_tokens(ev, t, 600, 0, 2, 1, &res, &e), &e);
        kr_eval_result_free(res);
        double before = status_of("VmRSS:");
        need(kr_eval_tokens(ev, t, PROMPT, 0, answer, 1, &res, &e), &e);
        double added = status_of("VmHWM:") - before;
        double copy = 0;
        for (size_t i = 0; i < ARMS; i++)
            copy = (double)res->arm[i].bytes > copy ? (double)res->arm[i].bytes : copy;
        double bound = (double)(res->bytes_cache + res->bytes_taps) + copy;
        printf("note: ladder memory, %zu answer tokens: %.1f MB above a plain run; full cache %.1f, "
               "taps %.1f, largest compressed copy %.1f, together %.1f MB: ratio %.2f (lists %.1f, "
               "arms at work %.1f MB)\n", answer, added / 1e6,
               (double)res->bytes_cache / 1e6, (double)res->bytes_taps / 1e6, copy / 1e6,
               bound / 1e6, added / bound, (double)res->bytes_lists / 1e6,
               (double)res->bytes_lanes / 1e6);
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        printf("ladder memory: the child failed\n");
}

/* ---- the cost of scoring ---- */

static void scoring(const kr_model *m, size_t threads) {
    kr_error e;
    const kr_geometry *g = &m->geo;
    kr_run *r;
    kr_kv *kv;
    kr_taps *none, *taps;
    int32_t *t = prompt_of(PROMPT, g->vocab);
    need(kr_run_new(m, &(kr_run_options){.threads = threads}, &r, &e), &e);
    need(kr_kv_new(g->layers, g->kv_heads, g->head_dim, PROMPT, &kv, &e), &e);
    need(kr_taps_new(g, 64, 0, false, 0, &none, &e), &e);
    need(kr_taps_new(g, 64, PROMPT, true, 4, &taps, &e), &e);
    double plain = 1e9, tapped = 1e9;
    for (int i = 0; i < 3; i++) {
        for (int with = 0; with < 2; with++) {
            kr_kv_clear(kv);
            kr_taps_clear(taps);
            kr_taps_clear(none);
            double start = kr_clock();
            need(kr_run_prefill(r, kv, t, PROMPT, NULL, NULL, NULL, with ? taps : none, &e), &e);
            start = kr_clock() - start;
            double *best = with ? &tapped : &plain;
            *best = start < *best ? start : *best;
        }
    }
    printf("prefill of %d tokens %.3f s; with attention sums and query moments (h2o, "
           "expected_attention) %.2f times that\n", PROMPT, plain, tapped / plain);
    for (const kr_evictor *const *p = kr_evictors(); *p != NULL; p++) {
        char text[64];
        kr_evict_spec spec;
        snprintf(text, sizeof text, "%s:%s", (*p)->name,
                 (*p)->score == NULL ? "1" : (*p)->threshold ? "0.01" : "0.5");
        need(kr_evict_parse(text, NULL, &spec, &e), &e);
        double score = 1e9, select = 1e9;
        for (int i = 0; i < 3; i++) {
            kr_evict_shared shared = {0};
            kr_evict_input in = {.model = m, .kv = kv, .taps = taps, .pool = kr_run_pool(r),
                                 .shared = &shared};
            kr_scores *s;
            kr_keep *k;
            double a = kr_clock();
            need(kr_evict_score(&spec, &in, &s, &e), &e);
            double b = kr_clock();
            need(kr_evict_select(&spec, &in, s, &k, &e), &e);
            double c = kr_clock();
            score = b - a < score ? b - a : score;
            select = c - b < select ? c - b : select;
            kr_scores_free(s);
            kr_keep_free(k);
            kr_evict_shared_free(&shared);
        }
        printf("  %-20s scoring %5.1f %% of prefill, each selection %4.1f %%\n", (*p)->name,
               100 * score / plain, 100 * select / plain);
    }
    fflush(stdout);
    kr_taps_free(none);
    kr_taps_free(taps);
    kr_kv_free(kv);
    kr_run_free(r);
    free(t);
}

/* ---- decode speed against retention ---- */

static double step_time(kr_run *r, kr_kv *kv, size_t steps, float *logits) {
    kr_error e;
    double best = 1e9;
    int32_t next = 5;
    for (size_t i = 0; i < steps; i++) {
        double start = kr_clock();
        need(kr_run_step(r, 1, &kv, &next, logits, NULL, &e), &e);
        start = kr_clock() - start;
        best = start < best ? start : best;
    }
    kr_kv_pop(kv, steps);
    return best;
}

static size_t weight_bytes(const kr_model *m) {
    size_t n = m->output.rows * m->output.row_bytes;
    for (size_t i = 0; i < m->geo.layers; i++) {
        const kr_layer *l = &m->layer[i];
        const kr_mat *all[] = {&l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down};
        for (size_t k = 0; k < 7; k++)
            n += all[k]->rows * all[k]->row_bytes;
    }
    return n;
}

/* Random keys: the time of a step does not depend on them. */
static void decoding(const kr_model *m, size_t threads, size_t n) {
    enum { STEPS = 12 };
    static const char *const levels[] = {"1", "0.8", "0.5", "0.2", "0.05"};
    kr_error e;
    const kr_geometry *g = &m->geo;
    kr_run *r;
    kr_kv *full, *kv[5];
    need(kr_run_new(m, &(kr_run_options){.threads = threads}, &r, &e), &e);
    need(kr_kv_new(g->layers, g->kv_heads, g->head_dim, n, &full, &e), &e);
    for (size_t i = 0; i < full->rows * full->dim; i++)
        full->k[i] = full->v[i] = (float)(i % 13) * 0.1f - 0.6f;
    for (size_t i = 0; i < full->rows; i++)
        full->pos[i] = (int32_t)(i % n);
    for (size_t i = 0; i < g->layers * g->kv_heads; i++)
        full->head[i].len = n;
    full->next = (int32_t)n;
    kr_evict_shared shared = {0};
    kr_evict_input in = {.model = m, .kv = full, .shared = &shared};
    double best[5], weights = (double)weight_bytes(m), cache = (double)kr_kv_bytes(full);
    float *logits = malloc(g->vocab * sizeof *logits);
    for (size_t i = 0; i < 5; i++) {
        char text[32];
        kr_evict_spec spec;
        kr_scores *s;
        kr_keep *k;
        snprintf(text, sizeof text, "random:%s", levels[i]);
        need(kr_evict_parse(text, NULL, &spec, &e), &e);
        need(kr_evict_score(&spec, &in, &s, &e), &e);
        need(kr_evict_select(&spec, &in, s, &k, &e), &e);
        need(kr_kv_select(full, k->head, STEPS, &kv[i], &e), &e);
        kr_scores_free(s);
        kr_keep_free(k);
        best[i] = 1e9;
    }
    for (int rep = 0; rep < 4; rep++)
        for (size_t i = 0; i < 5; i++) {
            double t = step_time(r, kv[i], STEPS, logits);
            best[i] = t < best[i] ? t : best[i];
        }
    printf("decoding after %zu tokens (weights %.0f MB, full cache %.0f MB):\n", n, weights / 1e6,
           cache / 1e6);
    for (size_t i = 0; i < 5; i++) {
        double ideal = (weights + cache) / (weights + (double)kr_kv_bytes(kv[i]));
        printf("  retention %-5s %7.2f ms a token, %4.2f times as fast as full KV; bytes alone would "
               "give %4.2f: %3.0f %% of the ideal\n", levels[i], best[i] * 1e3, best[0] / best[i],
               ideal, 100 * best[0] / best[i] / ideal);
        kr_kv_free(kv[i]);
    }
    fflush(stdout);
    free(logits);
    kr_kv_free(full);
    kr_run_free(r);
}

int main(int argc, char **argv) {
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    size_t threads = kr_pool_cores();
    const char *dir = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char path[512];
    kr_error e;
    kr_model *m = NULL;
    snprintf(path, sizeof path, "%s/kvrisk-ladder-%ld.gguf", dir, (long)getpid());
    if (!gen_write(&gen_15m, path)) {
        fprintf(stderr, "bench_ladder: %s: %s\n", path, strerror(errno));
        return 1;
    }
    printf("ladder: %zu threads, 15M F32\n", threads);
    memory(path, threads, 16);
    if (!quick)
        memory(path, threads, 64);
    need(kr_model_open(path, &m, &e), &e);
    unlink(path);
    compare(m, threads, 16, quick ? 13 : 4);
    if (!quick)
        compare(m, threads, 64, 6);
    scoring(m, threads);
    decoding(m, threads, 2048);
    if (!quick)
        decoding(m, threads, 16384);
    kr_model_close(m);
    return 0;
}
