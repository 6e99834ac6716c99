/* eval_measure.c - what explains a difference: attention mass that was kept, and how far attention
 * outputs moved. */
#include "sample/eval_impl.h"

#include <math.h>
#include <string.h>

/* row[j] += share * softmax over the n cached keys of q . k[j] / sqrt(d) */
static void add_attention(const kr_kern *kern, const float *q, const float *k, size_t n, size_t d,
                          double share, float *s, float *row) {
    double scale = 1 / sqrt((double)d);
    for (size_t j = 0; j < n; j++) {
        double dot = 0;
        for (size_t c = 0; c < d; c++)
            dot += (double)q[c] * (double)k[j * d + c];
        s[j] = (float)(dot * scale);
    }
    double total = (double)kern->exp_sum(s, n, kern->max(s, n));
    for (size_t j = 0; j < n; j++)
        row[j] += (float)(share * (double)s[j] / total);
}

void kr_eval_measure_full(kr_eval_work *w, const float *query, const float *attention) {
    const kr_geometry *g = &w->e->m->geo;
    size_t d = g->head_dim, group = g->heads / g->kv_heads, n = w->n;
    const kr_kern *kern = w->e->opt.kern != NULL ? w->e->opt.kern : kr_kern_best();
    memcpy(w->full_attention, attention, g->layers * g->heads * d * sizeof *attention);
    memset(w->mass, 0, g->layers * g->kv_heads * n * sizeof *w->mass);
    float *s = w->mass + g->layers * g->kv_heads * n; /* its last row is scratch */
    for (size_t i = 0; n > 0 && i < g->layers * g->heads; i++) {
        size_t layer = i / g->heads, head = i % g->heads / group;
        add_attention(kern, query + i * d, kr_kv_keys(w->full, kr_kv_at(w->full, layer, head)), n,
                      d, 1.0 / (double)group, s, w->mass + (layer * g->kv_heads + head) * n);
    }
}

static float kept_mass(const float *row, const kr_kv_keep *k) {
    double sum = 0;
    if (k->rows == NULL)
        return 1;
    for (size_t j = 0; j < k->n; j++)
        sum += (double)row[k->rows[j]];
    return (float)sum;
}

static float distance(const float *a, const float *full, size_t n) {
    double diff = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        double e = (double)a[i] - (double)full[i];
        diff += e * e;
        norm += (double)full[i] * (double)full[i];
    }
    return norm > 0 ? (float)sqrt(diff / norm) : diff > 0 ? INFINITY : 0;
}

void kr_eval_measure_arm(kr_eval_work *w, size_t lane, const float *attention) {
    const kr_geometry *g = &w->e->m->geo;
    kr_arm_result *a = kr_eval_lane(w, lane);
    size_t wide = g->heads * g->head_dim;
    for (size_t l = 0; l < g->layers; l++)
        a->layer_error[l] = distance(attention + l * wide, w->full_attention + l * wide, wide);
    for (size_t i = 0; i < g->layers * g->kv_heads; i++)
        a->head_mass[i] = lane == 0 || w->n == 0
                              ? 1
                              : kept_mass(w->mass + i * w->n, &w->keep[lane - 1]->head[i]);
}
