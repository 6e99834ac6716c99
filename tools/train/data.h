/* data.h - the texts a step of training sees. */
#ifndef KR_TRAIN_DATA_H
#define KR_TRAIN_DATA_H

#include "sample/tasks.h"
#include "tools/train/net.h"

/* How often each family is drawn, the mixed kind last. */
typedef struct {
    unsigned share[KR_TASK_FAMILIES + 1];
} kr_train_mix;

typedef struct {
    size_t texts, length, asks; /* texts a step, most tokens each, most questions each */
    unsigned steps, dense;      /* dense: percent of texts that are restatements */
    double rate;                /* share of the full learning rate */
} kr_train_stage;

/* Texts laid end to end with their weights: 1 at answers, 0 elsewhere. Zero at first, reused. */
typedef struct {
    size_t texts, cap;
    size_t *start; /* [texts+1] */
    kr_ids token;
    float *weight; /* [token.n] */
    size_t weights;
} kr_train_data;
void kr_train_data_free(kr_train_data *d);

/* Draws one step's texts. */
kr_status kr_train_draw(const kr_words *w, kr_draw *r, const kr_train_stage *stage,
                        const kr_train_mix *mix, kr_train_data *out, kr_error *err);

/* Draws n requests of a family as `kvrisk tasks` does, one question each. */
kr_status kr_train_requests(const kr_words *w, uint64_t seed, kr_task_family f, size_t length,
                            size_t n, kr_train_data *out, kr_error *err);

#endif
