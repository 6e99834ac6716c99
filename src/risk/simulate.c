#include "risk/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "risk/binomial.h"
#include "risk/random.h"

struct kr_sim {
    size_t rows, tasks, methods, candidates, words;
    size_t *length, *head; /* [methods] */
    double *level;         /* [candidates] */
    double *risk;          /* [candidates] in the population */
    bool *broken;          /* [candidates] risk above eps */
    size_t *start;         /* [tasks+1] rows of task h are start[h] .. start[h+1]-1 */
    uint64_t *event;       /* [rows][words], one byte per candidate */
    int64_t n;
    uint64_t seed;
    kr_limits limits;     /* at the full delta */
    int64_t *family_kmax; /* [methods] at delta/(methods - c) once c methods are complete */
};

void kr_sim_free(kr_sim *s) {
    if (s == NULL)
        return;
    free(s->length);
    free(s->head);
    free(s->level);
    free(s->risk);
    free(s->broken);
    free(s->start);
    free(s->event);
    free(s->family_kmax);
    free(s);
}

static kr_status check(const kr_sim_setup *p, size_t *candidates, kr_error *err) {
    size_t sum = 0;
    if (p->rows == 0 || p->tasks == 0 || p->methods == 0)
        return kr_fail(err, KR_EINVAL, "a simulation needs requests, tasks and methods");
    for (size_t c = 0; c < p->methods; c++) {
        if (p->length[c] > 1000000 - sum)
            return kr_fail(err, KR_EINVAL, "more than a million candidates to simulate");
        sum += p->length[c];
    }
    if (p->rows > SIZE_MAX / 8 / (sum / 8 + 1))
        return kr_fail(err, KR_EINVAL, "%zu requests with %zu candidates are too many", p->rows,
                       sum);
    if (p->n < 1 || p->n > KR_SIM_N_MAX)
        return kr_fail(err, KR_EINVAL, "%lld requests per draw; 1 to %d can be drawn", (long long)p->n,
                       KR_SIM_N_MAX);
    int64_t tasks = (int64_t)p->tasks, below = p->n / tasks * tasks;
    if (below != p->n)
        return kr_fail(err, KR_EINVAL,
                       "%lld requests per draw are no multiple of the %lld tasks, which share them "
                       "equally; %lld would be", (long long)p->n, (long long)tasks,
                       (long long)(below + tasks));
    if (p->methods > 1000000 || p->delta.den < 1 || p->delta.den > 1000000000)
        return kr_fail(err, KR_EINVAL, "%zu methods share a level with denominator %lld",
                       p->methods, (long long)p->delta.den);
    for (size_t i = 0; i < p->rows; i++)
        if (p->task[i] >= p->tasks)
            return kr_fail(err, KR_EINVAL, "request %zu belongs to task %u of %zu", i, p->task[i],
                           p->tasks);
    *candidates = sum;
    return KR_OK;
}

/* Never zero bytes, so that NULL means out of memory. */
static void *room(size_t count, size_t size) { return calloc(count > 0 ? count : 1, size); }

static bool allocate(kr_sim *s) {
    s->length = room(s->methods, sizeof *s->length);
    s->head = room(s->methods, sizeof *s->head);
    s->family_kmax = room(s->methods, sizeof *s->family_kmax);
    s->level = room(s->candidates, sizeof *s->level);
    s->risk = room(s->candidates, sizeof *s->risk);
    s->broken = room(s->candidates, sizeof *s->broken);
    s->start = room(s->tasks + 1, sizeof *s->start);
    s->event = room(s->rows * s->words, sizeof *s->event);
    return s->length && s->head && s->family_kmax && s->level && s->risk && s->broken && s->start &&
           s->event;
}

/* Rows brought together by task (a counting sort), events packed. */
static kr_status pack(kr_sim *s, const kr_sim_setup *p, kr_error *err) {
    for (size_t i = 0; i < s->rows; i++)
        s->start[p->task[i] + 1]++;
    for (size_t h = 0; h < s->tasks; h++) {
        if (s->start[h + 1] == 0)
            return kr_fail(err, KR_EINVAL, "task %zu has no request to draw from", h);
        s->start[h + 1] += s->start[h];
    }
    size_t *at = malloc(s->tasks * sizeof *at);
    if (at == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a simulation of %zu tasks", s->tasks);
    memcpy(at, s->start, s->tasks * sizeof *at);
    for (size_t i = 0; i < s->rows; i++) {
        uint8_t *row = (uint8_t *)(s->event + at[p->task[i]]++ * s->words);
        for (size_t j = 0; j < s->candidates; j++)
            row[j] = p->event[i * s->candidates + j] != 0;
    }
    free(at);
    return KR_OK;
}

/* Mean of the task means, exact while it fits: a risk of exactly eps keeps the contract. */
static void find_risk(kr_sim *s, size_t j, kr_dec eps) {
    kr_ratio sum = kr_ratio_make(0, 1);
    for (size_t h = 0; h < s->tasks; h++) {
        int64_t k = 0;
        for (size_t i = s->start[h]; i < s->start[h + 1]; i++)
            k += ((const uint8_t *)(s->event + i * s->words))[j];
        sum = kr_ratio_add(sum, kr_ratio_make(k, (int64_t)(s->start[h + 1] - s->start[h])));
    }
    sum = kr_ratio_div(sum, kr_ratio_make((int64_t)s->tasks, 1));
    s->risk[j] = sum.value;
    s->broken[j] = kr_ratio_cmp(sum, kr_ratio_dec(eps)) > 0;
}

kr_status kr_sim_new(const kr_sim_setup *p, kr_sim **out, kr_error *err) {
    size_t candidates = 0;
    kr_status st = check(p, &candidates, err);
    if (st != KR_OK)
        return st;
    kr_sim *s = calloc(1, sizeof *s);
    if (s == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a simulation");
    s->rows = p->rows, s->tasks = p->tasks, s->methods = p->methods;
    s->candidates = candidates, s->words = (candidates + 7) / 8;
    s->n = p->n, s->seed = p->seed;
    st = allocate(s) ? pack(s, p, err)
                     : kr_fail(err, KR_ENOMEM, "out of memory to simulate %zu requests", p->rows);
    if (st != KR_OK) {
        kr_sim_free(s);
        return st;
    }
    s->limits = kr_limits_make(p->n, p->eps, p->delta);
    for (size_t c = 0, at = 0; c < s->methods; at += p->length[c++]) {
        s->length[c] = p->length[c];
        s->head[c] = at;
        kr_level share = kr_level_make(p->delta.num, p->delta.den * (int64_t)(s->methods - c));
        s->family_kmax[c] = kr_kmax(p->n, p->eps, share);
    }
    for (size_t j = 0; j < candidates; j++) {
        s->level[j] = p->level[j];
        find_risk(s, j, p->eps);
    }
    *out = s;
    return KR_OK;
}

double kr_sim_risk(const kr_sim *s, size_t candidate) { return s->risk[candidate]; }
double kr_sim_level(const kr_sim *s, size_t candidate) { return s->level[candidate]; }
bool kr_sim_broken(const kr_sim *s, size_t candidate) { return s->broken[candidate]; }

size_t kr_sim_length(const kr_sim *s, size_t method, size_t *first) {
    *first = s->head[method];
    return s->length[method];
}

kr_status kr_sim_tally_new(const kr_sim *s, kr_sim_tally **out, kr_error *err) {
    kr_sim_tally *t = calloc(1, sizeof *t);
    int64_t *chosen = room(KR_SIM_RULES * s->candidates, sizeof *chosen);
    if (t == NULL || chosen == NULL) {
        free(t);
        free(chosen);
        return kr_fail(err, KR_ENOMEM, "out of memory for a simulation");
    }
    for (size_t r = 0; r < KR_SIM_RULES; r++)
        t->chosen[r] = chosen + r * s->candidates;
    *out = t;
    return KR_OK;
}

void kr_sim_tally_free(kr_sim_tally *t) {
    if (t != NULL)
        free(t->chosen[0]);
    free(t);
}

void kr_sim_tally_add(const kr_sim *s, kr_sim_tally *to, const kr_sim_tally *from) {
    to->draws += from->draws;
    for (size_t i = 0; i < KR_SIM_RULES * s->candidates; i++)
        to->chosen[0][i] += from->chosen[0][i];
}

/* --- results --------------------------------------------------------------------------------- */

typedef struct {
    double level;
    int64_t draws;
} pile;

static int by_level(const void *a, const void *b) {
    double x = ((const pile *)a)->level, y = ((const pile *)b)->level;
    return (x > y) - (x < y);
}

/* Lowest level that at least `share` of the draws do not exceed. */
static double quantile(const pile *p, size_t n, int64_t draws, double share) {
    int64_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        seen += p[i].draws;
        if ((double)seen >= share * (double)draws)
            return p[i].level;
    }
    return NAN;
}

/* Levels of p are finite; full KV is one of them. */
static void describe(pile *p, size_t n, int64_t draws, kr_sim_result *r) {
    double mean = 0, square = 0;
    qsort(p, n, sizeof *p, by_level);
    for (size_t i = 0; i < n; i++)
        mean += p[i].level * (double)p[i].draws / (double)draws;
    for (size_t i = 0; i < n; i++)
        square += (p[i].level - mean) * (p[i].level - mean) * (double)p[i].draws / (double)draws;
    r->mean = mean;
    r->sd = sqrt(square);
    r->low = quantile(p, n, draws, 0.1);
    r->median = quantile(p, n, draws, 0.5);
    r->high = quantile(p, n, draws, 0.9);
}

kr_sim_result kr_sim_result_of(const kr_sim *s, const kr_sim_tally *t, kr_sim_rule rule, size_t method) {
    kr_sim_result r = {.fallback = t->draws, .mean = NAN, .sd = NAN, .low = NAN, .median = NAN, .high = NAN};
    bool one = rule == KR_SIM_CERTIFIED || rule == KR_SIM_EMPIRICAL, known = t->draws > 0;
    size_t from = one ? s->head[method] : 0, to = one ? from + s->length[method] : s->candidates, n = 0;
    pile *p = room(to - from + 1, sizeof *p);
    for (size_t j = from; j < to; j++) {
        int64_t k = t->chosen[rule][j];
        if (k == 0)
            continue;
        r.fallback -= k;
        r.broken += s->broken[j] ? k : 0;
        known = known && isfinite(s->level[j]);
        if (p != NULL)
            p[n++] = (pile){s->level[j], k};
    }
    if (p != NULL && r.fallback > 0)
        p[n++] = (pile){1, r.fallback};
    if (p != NULL && known)
        describe(p, n, t->draws, &r);
    free(p);
    return r;
}

/* --- draws ----------------------------------------------------------------------------------- */

/* Adds the eight byte counters of a word to eight counts. */
static void flush(uint64_t *word, size_t words, int64_t *count) {
    for (size_t w = 0; w < words; w++) {
        uint8_t b[8];
        memcpy(b, &word[w], sizeof b);
        for (size_t i = 0; i < 8; i++)
            count[8 * w + i] += b[i];
        word[w] = 0;
    }
}

/* Draws n/tasks rows of each task; count[8 words] events per candidate. Eight candidates are added
 * at once: no byte can overflow within 255 rows. */
static void draw(const kr_sim *s, kr_random *r, uint64_t *word, int64_t *count) {
    int64_t each = s->n / (int64_t)s->tasks;
    int pending = 0;
    memset(count, 0, 8 * s->words * sizeof *count);
    for (size_t h = 0; h < s->tasks; h++) {
        uint64_t have = s->start[h + 1] - s->start[h];
        for (int64_t i = 0; i < each; i++) {
            const uint64_t *row = s->event + (s->start[h] + kr_random_below(r, have)) * s->words;
            for (size_t w = 0; w < s->words; w++)
                word[w] += row[w];
            if (++pending == 255) {
                flush(word, s->words, count);
                pending = 0;
            }
        }
    }
    flush(word, s->words, count);
}

/* Number of leading candidates of method c with at most `most` events. */
static size_t prefix(const kr_sim *s, size_t c, const int64_t *count, int64_t most) {
    size_t j = 0;
    while (j < s->length[c] && count[s->head[c] + j] <= most)
        j++;
    return j;
}

/* Books the choice of a rule: candidate index, or -1 for full KV. */
static void book(kr_sim_tally *t, kr_sim_rule rule, int64_t chosen) {
    if (chosen >= 0)
        t->chosen[rule][chosen]++;
}

/* Last of a prefix as a candidate index, and the better of two choices by retention. */
static int64_t last_of(const kr_sim *s, size_t c, size_t passed) {
    return passed == 0 ? -1 : (int64_t)(s->head[c] + passed - 1);
}

static int64_t lower_of(const kr_sim *s, int64_t a, int64_t b) {
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    double x = s->level[a], y = s->level[b];
    return (isfinite(y) ? y : 1) < (isfinite(x) ? x : 1) ? b : a;
}

/* Parallel chains with equal shares: with c methods complete, each open one has delta/(methods -
 * c). */
static int64_t family_choice(const kr_sim *s, const int64_t *count, size_t *passed) {
    size_t complete = 0, before;
    do {
        before = complete;
        complete = 0;
        int64_t kmax = s->family_kmax[before];
        for (size_t c = 0; c < s->methods; c++) {
            passed[c] = prefix(s, c, count, kmax);
            complete += s->length[c] > 0 && passed[c] == s->length[c];
        }
    } while (complete > before && complete < s->methods);
    int64_t best = -1;
    for (size_t c = 0; c < s->methods; c++)
        best = lower_of(s, best, last_of(s, c, passed[c]));
    return best;
}

static void judge(const kr_sim *s, const int64_t *count, size_t *passed, kr_sim_tally *t) {
    int64_t naive = -1, empirical = -1;
    for (size_t c = 0; c < s->methods; c++) {
        int64_t a = last_of(s, c, prefix(s, c, count, s->limits.kmax));
        int64_t b = last_of(s, c, prefix(s, c, count, s->limits.plugin_max));
        book(t, KR_SIM_CERTIFIED, a);
        book(t, KR_SIM_EMPIRICAL, b);
        naive = lower_of(s, naive, a);
        empirical = lower_of(s, empirical, b);
    }
    book(t, KR_SIM_UNCORRECTED, naive);
    book(t, KR_SIM_BEST_EMPIRICAL, empirical);
    book(t, KR_SIM_FAMILY, family_choice(s, count, passed));
    t->draws++;
}

kr_status kr_sim_run(const kr_sim *s, int64_t first, int64_t count, kr_sim_tally *t,
                     kr_error *err) {
    uint64_t *word = room(s->words, sizeof *word);
    int64_t *counts = room(8 * s->words, sizeof *counts);
    size_t *passed = room(s->methods, sizeof *passed);
    if (word == NULL || counts == NULL || passed == NULL) {
        free(word);
        free(counts);
        free(passed);
        return kr_fail(err, KR_ENOMEM, "out of memory for a simulation");
    }
    for (int64_t i = first; i < first + count; i++) {
        kr_random r = kr_random_start(s->seed, (uint64_t)i);
        draw(s, &r, word, counts);
        judge(s, counts, passed, t);
    }
    free(word);
    free(counts);
    free(passed);
    return KR_OK;
}
