/* main.c - trains the bundled model and writes it as GGUF: see README.md beside this file. */
#include <cblas.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/file.h"
#include "tools/train/data.h"
#include "tools/train/gguf_out.h"
#include "tools/train/net.h"
#include "tools/train/optim.h"

enum {
    LANES = 2,
    UNIT = 512,
    MAX_STAGES = 16,
    MAX_HEADS = 16,
    CHECK_SEED = 1,
    REPORT_SEED = 20261130
};

typedef struct {
    kr_net_shape shape;
    size_t back[MAX_HEADS]; /* how far the heads of the first layer look back at the start */
    size_t n_stages;
    kr_train_stage stage[MAX_STAGES];
    kr_train_mix mix;
    double muon, adam, weight_decay, warm,
        decay_from; /* warm: steps; decay_from: share of all steps */
    uint64_t seed;
    bool one_thread;
    size_t check_each, check_n;
    size_t n_report, report[8]; /* requests a family, then the lengths to try them at when done */
    const char *out, *save, *load;
} plan;

/* A worker: its memory, its share of the gradient, its share of the batch's units. */
typedef struct {
    const plan *plan;
    const kr_net_params *p;
    kr_net_params grad;
    kr_net_work *work;
    const kr_train_data *data;
    int32_t *best; /* NULL while training */
    float scale;
    double loss;
    kr_optim *optim;
    kr_net_params *params, *sum;
    kr_optim_rates rates;
    size_t lane;
} lane;

typedef void *lane_fn(void *);

/* Always two lanes with fixed shares, so that one thread computes the same as two. */
static void run_lanes(const plan *pl, lane *l, lane_fn *fn) {
    pthread_t thread;
    if (!pl->one_thread && pthread_create(&thread, NULL, fn, &l[1]) == 0) {
        fn(&l[0]);
        pthread_join(thread, NULL);
        return;
    }
    fn(&l[0]);
    fn(&l[1]);
}

/* Every second unit of the batch; a unit is whole texts of about UNIT tokens. */
static void *lane_loss(void *arg) {
    lane *l = arg;
    const kr_train_data *d = l->data;
    size_t unit = 0, start[UNIT / KR_TASK_MIN_LENGTH * 4 + 2];
    l->loss = 0;
    if (l->best == NULL)
        memset(l->grad.all, 0, l->grad.n * sizeof *l->grad.all);
    for (size_t t = 0; t < d->texts; unit++) {
        size_t n = 0, from = d->start[t];
        do {
            start[n++] = d->start[t++] - from;
        } while (t < d->texts && n < sizeof start / sizeof *start - 1 &&
                 d->start[t + 1] - from <= UNIT);
        start[n] = d->start[t] - from;
        if (unit % LANES != l->lane)
            continue;
        kr_net_batch b = {n, start[n], start, d->token.v + from, d->weight + from};
        l->loss += kr_net_loss(&l->plan->shape, l->p, &b, l->work, l->scale,
                               l->best == NULL ? &l->grad : NULL,
                               l->best == NULL ? NULL : l->best + from, NULL);
    }
    return NULL;
}

static void *lane_optim(void *arg) {
    lane *l = arg;
    kr_optim_lane(l->optim, l->params, l->sum, l->rates, l->lane, LANES);
    return NULL;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t answers(const kr_train_data *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->token.n; i++)
        n += d->weight[i] > 0;
    return n;
}

typedef struct {
    plan pl;
    kr_words *words;
    kr_net_params p;
    lane lane[LANES];
    kr_optim *optim;
    kr_train_data data;
    kr_draw draw;
    size_t tokens;
    double began;
} trainer;

/* One request is right when every answer token is the likeliest one after the right ones before it,
 * which is when greedy decoding gives exactly the expected answer. */
static double accuracy(trainer *t, kr_task_family f, size_t length, size_t n, uint64_t seed) {
    kr_error err;
    kr_train_data d = {0};
    if (kr_train_requests(t->words, seed, f, length, n, &d, &err) != KR_OK) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    int32_t *best = malloc(d.token.n * sizeof *best);
    for (size_t i = 0; i < LANES; i++) {
        t->lane[i].data = &d;
        t->lane[i].best = best;
    }
    run_lanes(&t->pl, t->lane, lane_loss);
    size_t right = 0;
    for (size_t i = 0; i < d.texts; i++) {
        bool ok = true;
        for (size_t j = d.start[i]; j < d.start[i + 1]; j++)
            ok = ok && (d.weight[j] == 0 || best[j] == d.token.v[j]);
        right += ok;
    }
    for (size_t i = 0; i < LANES; i++)
        t->lane[i].best = NULL;
    free(best);
    kr_train_data_free(&d);
    return (double)right / (double)n;
}

static void print_accuracy(trainer *t, size_t length, size_t n, uint64_t seed) {
    printf("  exact at %4zu (n=%zu each):", length, n);
    for (kr_task_family f = 0; f < KR_TASK_FAMILIES; f++)
        printf(" %s %.2f", kr_task_name(f), accuracy(t, f, length, n, seed));
    putchar('\n');
    fflush(stdout);
}

static double step(trainer *t, const kr_train_stage *stage, double rate, double *norm) {
    kr_error err;
    if (kr_train_draw(t->words, &t->draw, stage, &t->pl.mix, &t->data, &err) != KR_OK) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    size_t n = answers(&t->data);
    for (size_t i = 0; i < LANES; i++) {
        t->lane[i].data = &t->data;
        t->lane[i].scale = 1 / (float)n;
        t->lane[i].rates =
            (kr_optim_rates){t->pl.muon * rate, t->pl.adam * rate, t->pl.weight_decay};
    }
    run_lanes(&t->pl, t->lane, lane_loss);
    kr_net_params *g = &t->lane[0].grad;
    cblas_saxpy((int)g->n, 1, t->lane[1].grad.all, 1, g->all, 1);
    *norm = kr_optim_begin(t->optim, g);
    run_lanes(&t->pl, t->lane, lane_optim);
    kr_optim_end(t->optim, &t->p, g, t->lane[0].rates);
    t->tokens += t->data.token.n;
    return (t->lane[0].loss + t->lane[1].loss) / (double)n;
}

static double rate_at(const plan *pl, size_t done, size_t total) {
    double r = (double)(done + 1) < pl->warm ? (double)(done + 1) / pl->warm : 1;
    double share = (double)done / (double)total;
    if (share > pl->decay_from)
        r *= 0.05 + 0.95 * (1 - share) / (1 - pl->decay_from);
    return r;
}

static kr_status save(const trainer *t, kr_error *err) {
    if (t->pl.save == NULL)
        return KR_OK;
    return kr_file_write(t->pl.save, t->p.all, t->p.n * sizeof(float), true, err);
}

static void train(trainer *t) {
    const plan *pl = &t->pl;
    size_t total = 0, done = 0, since = 0;
    double loss = 0, norm = 0;
    t->began = seconds();
    for (size_t i = 0; i < pl->n_stages; i++)
        total += pl->stage[i].steps;
    for (size_t i = 0; i < pl->n_stages; i++)
        for (unsigned k = 0; k < pl->stage[i].steps; k++) {
            loss += step(t, &pl->stage[i], rate_at(pl, done, total) * pl->stage[i].rate, &norm);
            done++;
            if (++since == 25 || done == 1 || done == total) {
                double s = seconds() - t->began;
                printf("step %4zu/%zu length %4zu loss %.4f norm %6.2f  %4.0f s %5.0f tokens/s\n",
                       done, total, pl->stage[i].length, loss / (double)since, norm, s,
                       (double)t->tokens / s);
                fflush(stdout);
                loss = 0;
                since = 0;
            }
            if (pl->check_each > 0 && done % pl->check_each == 0 &&
                save(t, &(kr_error){0}) == KR_OK)
                print_accuracy(t, pl->stage[i].length, pl->check_n, CHECK_SEED);
        }
}

/* --- options --------------------------------------------------------------------------------- */

static int usage(FILE *to) {
    fputs(
        "usage: kvrisk-train -o MODEL.gguf [options]\n"
        "  --seed S             initial weights and texts\n"
        "  --shape LAYERS,WIDTH,HEADS,KV_HEADS,HEAD_DIM,FFN\n"
        "  --back A,B,...       one per head: how far the first layer looks back at the start\n"
        "  --stages T:L:A:S:D:R,...  texts a step : length : questions : steps : percent of\n"
        "                       restatements : percent of the learning rate\n"
        "  --mix A,...          shares of the seven families (kvrisk tasks --help) and mixed\n"
        "  --decay-from P       percent of the steps after which the rate falls to 5 %\n"
        "  --warm N             steps of warming up\n"
        "  --base B             of the rotary embedding\n"
        "  --check N,M          accuracy on M fresh requests a family every N steps\n"
        "  --report M,L,...     when done, accuracy on M fresh requests a family of each length L\n"
        "  --load F, --save F   weights as raw floats, before and after\n"
        "  --one-thread         same result, one thread\n",
        to);
    return to == stdout ? 0 : 2;
}

/* Numbers separated by commas or colons; how many were read. */
static size_t numbers(const char *s, size_t *out, size_t most) {
    size_t n = 0;
    while (n < most && *s >= '0' && *s <= '9') {
        char *end;
        out[n++] = strtoul(s, &end, 10);
        s = *end != '\0' ? end + 1 : end;
    }
    return n;
}

static bool read_stages(plan *pl, const char *s) {
    for (pl->n_stages = 0; pl->n_stages < MAX_STAGES && *s != '\0'; pl->n_stages++) {
        size_t v[6];
        if (numbers(s, v, 6) != 6)
            return false;
        pl->stage[pl->n_stages] =
            (kr_train_stage){v[0], v[1], v[2], (unsigned)v[3], (unsigned)v[4], (double)v[5] / 100};
        s += strcspn(s, ",");
        s += *s == ',';
    }
    return pl->n_stages > 0;
}

static const struct option options[] = {{"seed", 1, NULL, 's'},
                                        {"shape", 1, NULL, 'S'},
                                        {"back", 1, NULL, 'b'},
                                        {"stages", 1, NULL, 't'},
                                        {"mix", 1, NULL, 'm'},
                                        {"decay-from", 1, NULL, 'd'},
                                        {"warm", 1, NULL, 'w'},
                                        {"check", 1, NULL, 'c'},
                                        {"load", 1, NULL, 'l'},
                                        {"save", 1, NULL, 'v'},
                                        {"one-thread", 0, NULL, '1'},
                                        {"help", 0, NULL, 'h'},
                                        {"base", 1, NULL, 'B'},
                                        {"report", 1, NULL, 'r'},
                                        {"muon", 1, NULL, 'M'},
                                        {"adam", 1, NULL, 'A'},
                                        {NULL, 0, NULL, 0}};

static bool take(plan *pl, int c) {
    size_t v[MAX_HEADS], n = optarg != NULL ? numbers(optarg, v, MAX_HEADS) : 0;
    kr_net_shape *s = &pl->shape;
    switch (c) {
    case 's': pl->seed = v[0]; return n == 1;
    case 'S':
        *s = (kr_net_shape){s->vocab, v[1], v[0], v[2], v[3], v[4], v[5], s->eps, s->base};
        return n == 6 && v[2] <= MAX_HEADS && v[3] > 0 && v[2] % v[3] == 0;
    case 'b': memcpy(pl->back, v, sizeof v); return n == s->heads;
    case 't': return read_stages(pl, optarg);
    case 'm':
        for (size_t i = 0; i < n && i <= KR_TASK_FAMILIES; i++)
            pl->mix.share[i] = (unsigned)v[i];
        return n == KR_TASK_FAMILIES + 1;
    case 'd': pl->decay_from = (double)v[0] / 100; return n == 1;
    case 'w': pl->warm = (double)v[0]; return n == 1;
    case 'B': s->base = (double)v[0]; return n == 1;
    case 'M': pl->muon = strtod(optarg, NULL); return true;
    case 'A': pl->adam = strtod(optarg, NULL); return true;
    case 'c':
        pl->check_each = v[0];
        pl->check_n = v[1];
        return n == 2;
    case 'r':
        pl->n_report = n < 8 ? n : 8;
        memcpy(pl->report, v, pl->n_report * sizeof *v);
        return n > 0;
    case 'l': pl->load = optarg; return true;
    case 'v': pl->save = optarg; return true;
    case 'o': pl->out = optarg; return true;
    case '1': pl->one_thread = true; return true;
    default: return false;
    }
}

static bool start(trainer *t) {
    size_t rows = UNIT;
    for (size_t i = 0; i < t->pl.n_stages; i++)
        rows = t->pl.stage[i].length > rows ? t->pl.stage[i].length : rows;
    rows = rows < 1024 ? 1024 : rows;
    t->pl.shape.vocab = kr_words_count(t->words);
    const kr_net_shape *s = &t->pl.shape;
    t->optim = kr_optim_new(s);
    bool ok = kr_net_params_new(s, &t->p) && t->optim != NULL;
    for (size_t i = 0; i < LANES; i++) {
        lane *l = &t->lane[i];
        l->plan = &t->pl;
        l->work = kr_net_work_new(s, rows);
        ok = ok && kr_net_params_new(s, &l->grad) && l->work != NULL;
        l->p = l->params = &t->p;
        l->optim = t->optim;
        l->lane = i;
    }
    t->lane[0].sum = t->lane[1].sum = &t->lane[0].grad;
    return ok;
}

static kr_status load(trainer *t, kr_error *err) {
    char *data;
    size_t n;
    kr_status st = kr_file_read(t->pl.load, (size_t)1 << 30, &data, &n, err);
    if (st != KR_OK)
        return st;
    if (n == t->p.n * sizeof(float))
        memcpy(t->p.all, data, n);
    else
        st = kr_fail(err, KR_EFORMAT, "%s: another shape of network", t->pl.load);
    free(data);
    return st;
}

static kr_status finish(trainer *t, kr_error *err) {
    size_t longest = 0;
    for (size_t i = 0; i < t->pl.n_stages; i++)
        longest = t->pl.stage[i].length > longest ? t->pl.stage[i].length : longest;
    kr_status st = save(t, err);
    if (st != KR_OK)
        return st;
    kr_train_round(&t->pl.shape, &t->p);
    printf("%.0f s, %zu tokens, %zu parameters; rounded to half precision:\n", seconds() - t->began,
           t->tokens, t->p.n);
    for (size_t i = 1; i < t->pl.n_report; i++)
        print_accuracy(t, t->pl.report[i], t->pl.report[0], REPORT_SEED);
    return kr_train_write(t->pl.out, t->words, &t->pl.shape, &t->p, longest,
                          "word-level model of kvrisk's sample tasks, trained by tools/train", err);
}

int main(int argc, char **argv) {
    static trainer t; /* large */
    kr_error err = {KR_OK, ""};
    t.pl = (plan){.shape = {.width = 128,
                            .layers = 3,
                            .heads = 4,
                            .kv_heads = 2,
                            .dim = 32,
                            .ffn = 128,
                            .eps = 1e-5f,
                            .base = 10000},
                  .back = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4},
                  .mix = {{1, 2, 2, 2, 3, 4, 2, 3}},
                  .muon = 0.02,
                  .adam = 3e-3,
                  .weight_decay = 0.01,
                  .warm = 50,
                  .decay_from = 0.5,
                  .seed = 11,
                  .check_n = 32,
                  .n_report = 4,
                  .report = {200, 256, 512, 1024}};
    read_stages(&t.pl,
                "64:64:3:250:70:100,32:128:4:250:50:55,16:256:6:200:30:50,12:384:6:220:10:50");
    openblas_set_num_threads(1);
    for (int c; (c = getopt_long(argc, argv, "o:", options, NULL)) != -1;)
        if (c == 'h' || !take(&t.pl, c))
            return usage(c == 'h' ? stdout : stderr);
    if (t.pl.out == NULL || optind < argc)
        return usage(stderr);
    if (kr_words_new(&t.words, &err) != KR_OK || !start(&t)) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    kr_net_init(&t.pl.shape, &t.p, t.pl.seed);
    kr_net_look_back(&t.pl.shape, &t.p, t.pl.back);
    t.draw = kr_draw_start(t.pl.seed, kr_task_stream(KR_DRAW_TRAIN, 254, 0));
    kr_status st = t.pl.load != NULL ? load(&t, &err) : KR_OK;
    if (st == KR_OK) {
        train(&t);
        st = finish(&t, &err);
    }
    if (st != KR_OK)
        fprintf(stderr, "%s\n", err.msg);
    return st == KR_OK ? 0 : 1; /* the system takes the memory back */
}
