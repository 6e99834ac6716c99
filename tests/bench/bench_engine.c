/* bench_engine.c - the engine beside what bounds it, in one run: prompts beside sgemm on the same
 * shapes, single tokens beside a plain read of the same bytes.
 *
 *   bench_engine [quick] [busy]
 *     quick   without the long contexts
 *     busy    one thread by processor time: meaningful while the machine does other work too */
#include <cblas.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/pool.h"
#include "engine/run.h"
#include "../engine/genmodel.h"

static clockid_t bench_clock = CLOCK_MONOTONIC;

static double now(void) {
    struct timespec ts;
    clock_gettime(bench_clock, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void need(kr_status st, const kr_error *e) {
    if (st == KR_OK)
        return;
    fprintf(stderr, "bench_engine: %s\n", e->msg);
    exit(1);
}

/* ---- what bounds it ---- */

typedef struct {
    size_t n, k, m, times; /* [n][k] x [k][m] */
} shape;

/* Seconds that sgemm alone takes for all weight products of a prompt of n tokens. */
static double sgemm_time(const kr_geometry *g, size_t n, size_t threads) {
    size_t q = g->heads * g->head_dim, kv = g->kv_heads * g->head_dim, l = g->layers;
    const shape shapes[] = {{n, g->width, q, l},          {n, g->width, kv, 2 * l},
                            {n, q, g->width, l},          {n, g->width, g->ffn, 2 * l},
                            {n, g->ffn, g->width, l}};
    size_t most = g->ffn > g->width ? g->ffn : g->width;
    float *a = calloc(n * most, sizeof *a), *b = calloc(most * most, sizeof *b);
    float *c = calloc(n * most, sizeof *c);
    for (size_t i = 0; i < n * most; i++)
        a[i] = (float)(i % 7) - 3;
    for (size_t i = 0; i < most * most; i++)
        b[i] = (float)(i % 5) - 2;
    openblas_set_num_threads((int)threads);
    double sum = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        double best = 1e9;
        for (int rep = 0; rep < 3; rep++) {
            double t = now();
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)shapes[s].m,
                        (int)shapes[s].k, 1, a, (int)shapes[s].k, b, (int)shapes[s].k, 0, c,
                        (int)shapes[s].m);
            t = now() - t;
            best = t < best ? t : best;
        }
        sum += best * (double)shapes[s].times;
    }
    openblas_set_num_threads(1);
    free(a);
    free(b);
    free(c);
    return sum;
}

typedef struct {
    const uint64_t *p;
    size_t n;
    uint64_t sum;
} part;

/* Sixteen accumulators in a fixed inner loop, so that it becomes vector instructions. */
static void *read_part(void *v) {
    part *p = v;
    uint64_t acc[16] = {0};
    for (size_t i = 0; i + 16 <= p->n; i += 16)
        for (size_t l = 0; l < 16; l++)
            acc[l] += p->p[i + l];
    for (size_t l = 0; l < 16; l++)
        p->sum += acc[l];
    return NULL;
}

/* One pass over the bytes. */
static double read_time(const void *data, size_t bytes, size_t threads) {
    part parts[64];
    pthread_t id[64];
    size_t words = bytes / 8 / threads;
    const uint64_t *p = data;
    double t = now();
    for (size_t i = 0; i < threads; i++) {
        parts[i] = (part){p + i * words, words, 0};
        if (i + 1 < threads)
            pthread_create(&id[i], NULL, read_part, &parts[i]);
        else
            read_part(&parts[i]);
    }
    for (size_t i = 0; i + 1 < threads; i++)
        pthread_join(id[i], NULL);
    return now() - t;
}

/* ---- the engine ---- */

static double matrix_flops(const kr_geometry *g) {
    double q = (double)(g->heads * g->head_dim), kv = (double)(g->kv_heads * g->head_dim);
    double w = (double)g->width;
    return 2.0 * (double)g->layers * (w * q + 2 * w * kv + q * w + 3 * w * (double)g->ffn);
}

/* Causal attention of n tokens: scores and weighted values. */
static double attention_flops(const kr_geometry *g, double n) {
    return 4.0 * (double)g->layers * (double)(g->heads * g->head_dim) * n * (n + 1) / 2;
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

static int32_t *random_tokens(size_t n, size_t vocab) {
    int32_t *t = calloc(n, sizeof *t);
    uint64_t s = 99;
    for (size_t i = 0; i < n; i++)
        t[i] = (int32_t)(gen_next(&s) % vocab);
    return t;
}

/* Best times; what is compared is measured in turns, so that a busy machine hurts both alike. */
typedef struct {
    double prefill, sgemm, step, read;
} timing;

static void keep_best(double *best, double t) {
    *best = t < *best ? t : *best;
}

typedef struct {
    const kr_model *m;
    kr_run *r;
    kr_kv *kv;
    int32_t *tok;
    float *logits;
    size_t n;
} bench;

static bench open_bench(const kr_model *m, kr_run *r, size_t n, size_t steps) {
    kr_error e;
    bench b = {m, r, NULL, random_tokens(n, m->geo.vocab), calloc(m->geo.vocab, sizeof(float)), n};
    need(kr_kv_new(m->geo.layers, m->geo.kv_heads, m->geo.head_dim, n + steps, &b.kv, &e), &e);
    return b;
}

static void close_bench(bench *b) {
    free(b->tok);
    free(b->logits);
    kr_kv_free(b->kv);
}

static double time_prefill(bench *b) {
    kr_error e;
    kr_kv_clear(b->kv);
    double t = now();
    need(kr_run_prefill(b->r, b->kv, b->tok, b->n, b->logits, NULL, NULL, NULL, &e), &e);
    return now() - t;
}

static double time_step(bench *b) {
    kr_error e;
    int32_t next = kr_run_argmax(b->logits, b->m->geo.vocab);
    double t = now();
    need(kr_run_step(b->r, 1, &b->kv, &next, b->logits, NULL, &e), &e);
    return now() - t;
}

static timing measure(const kr_model *m, kr_run *r, size_t n, size_t threads, size_t bytes) {
    enum { STEPS = 40 };
    timing t = {1e9, 1e9, 1e9, 1e9};
    bench b = open_bench(m, r, n, STEPS);
    size_t blas_n = n < 2048 ? n : 2048;
    for (int rep = 0; rep < (n <= 2048 ? 3 : 1); rep++) {
        keep_best(&t.prefill, time_prefill(&b));
        keep_best(&t.sgemm, sgemm_time(&m->geo, blas_n, threads));
    }
    for (int rep = 0; rep < STEPS; rep++) {
        keep_best(&t.step, time_step(&b));
        keep_best(&t.read, read_time(kr_gguf_tensor_at(m->file, 0)->data, bytes, threads));
    }
    close_bench(&b);
    return t;
}

static void bench_model(const char *name, const char *path, size_t threads, bool quick) {
    static const size_t contexts[] = {512, 2048, 8192};
    kr_error e;
    kr_model *m = NULL;
    kr_run *r = NULL;
    kr_run_options o = {.threads = threads};
    need(kr_model_open(path, &m, &e), &e);
    need(kr_run_new(m, &o, &r, &e), &e);
    size_t bytes = weight_bytes(m);
    const char *where = bytes < (32u << 20) ? "  (weights fit in cache)" : "";
    for (size_t c = 0; c < (quick ? 2u : 3u); c++) {
        size_t n = contexts[c], blas_n = n < 2048 ? n : 2048;
        timing t = measure(m, r, n, threads, bytes);
        double flops = matrix_flops(&m->geo) * (double)n + attention_flops(&m->geo, (double)n);
        double rate = flops / t.prefill / 1e9;
        double blas = matrix_flops(&m->geo) * (double)blas_n / t.sgemm / 1e9;
        /* A step reads the weights and the cache. */
        size_t kv = n * kr_model_kv_bytes(&m->geo);
        double speed = (double)(bytes + kv) / t.step / 1e9, bound = (double)bytes / t.read / 1e9;
        printf("%-12s %5zu  prefill %6.1f GFLOP/s of sgemm's %6.1f: %.2f   decode %8.1f tok/s, "
               "%5.1f GB/s of a plain read's %5.1f: %.2f%s\n", name, n, rate, blas, rate / blas,
               1 / t.step, speed, bound, speed / bound, where);
        fflush(stdout);
    }
    kr_run_free(r);
    kr_model_close(m);
}

/* Peak memory in a child, which has nothing else in it. */
static void bench_memory(const char *name, const char *path, size_t threads, size_t n) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        kr_error e;
        kr_model *m = NULL;
        kr_run *r = NULL;
        kr_run_options o = {.threads = threads};
        need(kr_model_open(path, &m, &e), &e);
        need(kr_run_new(m, &o, &r, &e), &e);
        bench b = open_bench(m, r, n, 4);
        time_prefill(&b);
        time_step(&b);
        struct rusage ru;
        getrusage(RUSAGE_SELF, &ru);
        double peak = (double)ru.ru_maxrss * 1024;
        double base = (double)kr_gguf_size(m->file) +
                      (double)((n + 4) * kr_model_kv_bytes(&m->geo));
        printf("%-16s %5zu  peak memory %.1f MB  file + cache %.1f MB  ratio %.2f\n", name, n,
               peak / 1e6, base / 1e6, peak / base);
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        printf("%-16s memory: the child failed\n", name);
}

int main(int argc, char **argv) {
    bool quick = false;
    size_t threads = kr_pool_cores();
    for (int i = 1; i < argc; i++) {
        quick = quick || strcmp(argv[i], "quick") == 0;
        if (strcmp(argv[i], "busy") == 0) {
            threads = 1;
            bench_clock = CLOCK_PROCESS_CPUTIME_ID;
        }
    }
    const char *dir = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char path[512];
    struct {
        const char *name;
        gen_model g;
    } models[] = {{"110M F32", gen_110m}, {"110M Q8_0", gen_110m}, {"15M F32", gen_15m},
                  {"15M Q8_0", gen_15m}};
    models[1].g.type = models[3].g.type = KR_QUANT_Q8_0;
    printf("engine: %zu threads%s, kernels %s, %s\n", threads,
           bench_clock == CLOCK_MONOTONIC ? "" : " (processor time)", kr_kern_best()->name,
           openblas_get_config());
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        snprintf(path, sizeof path, "%s/kvrisk-bench-%ld.gguf", dir, (long)getpid());
        if (!gen_write(&models[i].g, path)) {
            fprintf(stderr, "bench_engine: %s: %s\n", path, strerror(errno));
            return 1;
        }
        if (i < 2) {
            bench_memory(models[i].name, path, threads, 256);
            bench_memory(models[i].name, path, threads, 2048);
        }
        bench_model(models[i].name, path, threads, quick);
        unlink(path);
    }
    const char *stories = "../shared/real/models/stories260K.gguf";
    if (access(stories, R_OK) == 0)
        bench_model("stories260K", stories, threads, quick);
    return 0;
}
