#include "tools/train/data.h"

#include <stdlib.h>
#include <string.h>

void kr_train_data_free(kr_train_data *d) {
    free(d->start);
    free(d->weight);
    kr_ids_free(&d->token);
    *d = (kr_train_data){0};
}

/* Ends the text: everything after the last start belongs to it, with weight 1 where `on` says
 * so. */
static void reset(kr_train_data *d) {
    d->texts = 0;
    d->token.n = 0;
}

static bool room(kr_train_data *d) {
    if (d->texts + 2 > d->cap) {
        size_t cap = 2 * d->cap + 64;
        size_t *start = realloc(d->start, cap * sizeof *start);
        if (start == NULL)
            return false;
        d->start = start;
        d->cap = cap;
    }
    if (d->token.cap > d->weights) {
        float *weight = realloc(d->weight, d->token.cap * sizeof *weight);
        if (weight == NULL)
            return false;
        memset(weight + d->weights, 0, (d->token.cap - d->weights) * sizeof *weight);
        d->weight = weight;
        d->weights = d->token.cap;
    }
    return true;
}

typedef struct {
    size_t n;
    struct {
        size_t from, to;
    } at[256];
} spans;

static kr_status add_text(kr_train_data *d, const int32_t *ids, size_t n, const spans *s,
                          kr_error *err) {
    size_t from = d->token.n;
    kr_ids_append(&d->token, ids, n);
    if (d->token.failed || !room(d))
        return kr_fail(err, KR_ENOMEM, "out of memory for training texts");
    d->start[d->texts++] = from;
    d->start[d->texts] = d->token.n;
    for (size_t i = 0; i < n; i++)
        d->weight[from + i] = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = s->at[i].from; j < s->at[i].to && j < n; j++)
            d->weight[from + j] = 1;
    return KR_OK;
}

static void mark(spans *s, size_t from, size_t to) {
    if (s->n < sizeof s->at / sizeof *s->at) {
        s->at[s->n].from = from;
        s->at[s->n++].to = to;
    }
}

/* --- restatements: facts in one order, then again in another, with loss on every value ------- */

/* A fact: its sentence, and how it is begun again. All ids lie in one list. */
typedef struct {
    size_t from, to;    /* the sentence */
    size_t cue, cue_to; /* KEY VERB */
    size_t value, value_to;
} fact;

enum { MAX_FACTS = 128 };

typedef struct {
    const kr_words *w;
    kr_draw *r;
    kr_ids ids;
    fact fact[MAX_FACTS];
    size_t n, used;
    size_t used_names, used_keys, used_people;
    int32_t key[128], name[64], person[64];
} restating;

static int32_t pick(restating *t, kr_word_kind kind) {
    return kr_words_first(t->w, kind) + (int32_t)kr_draw_below(t->r, kr_words_size(t->w, kind));
}

static void permute(restating *t, kr_word_kind kind, int32_t *out) {
    size_t n = kr_words_size(t->w, kind);
    for (size_t i = 0; i < n; i++)
        out[i] = kr_words_first(t->w, kind) + (int32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = kr_draw_below(t->r, i);
        int32_t x = out[i - 1];
        out[i - 1] = out[j];
        out[j] = x;
    }
}

/* `before` KEY `verb` VALUE . */
static void add_fact(restating *t, const char *before, const int32_t *key, size_t n_key,
                     const char *verb, const int32_t *value, size_t n_value) {
    if (t->n == MAX_FACTS)
        return;
    fact *f = &t->fact[t->n++];
    f->from = t->ids.n;
    kr_words_put(t->w, before, &t->ids);
    f->cue = t->ids.n;
    kr_ids_append(&t->ids, key, n_key);
    kr_words_put(t->w, verb, &t->ids);
    f->cue_to = f->value = t->ids.n;
    kr_ids_append(&t->ids, value, n_value);
    f->value_to = t->ids.n;
    kr_words_put(t->w, ".", &t->ids);
    f->to = t->ids.n;
    t->used += f->to - f->from;
}

static void add_number(restating *t, const char *verb, int32_t key) {
    int32_t value[2] = {pick(t, KR_WORDS_HIGH), 0};
    value[1] = pick(t, KR_WORDS_LOW);
    bool whole = strcmp(verb, "is") != 0 || kr_draw_below(t->r, 10) < 7;
    add_fact(t, whole ? "the number for" : "", &key, 1, verb, value, 2);
}

static void add_person(restating *t) {
    static const char *const before[] = {"the city for", "the job for"};
    static const kr_word_kind kind[] = {KR_WORDS_CITY, KR_WORDS_JOB};
    int32_t person = t->person[t->used_people++];
    for (size_t i = 0; i < 2; i++) {
        int32_t value = pick(t, kind[i]);
        /* The cue is the whole beginning: city and job begin alike from the person on. */
        add_fact(t, before[i], &person, 1, "is", &value, 1);
        t->fact[t->n - 1].cue = t->fact[t->n - 1].from;
    }
}

static void add_link(restating *t) {
    int32_t from[2], to = t->name[t->used_names++];
    size_t n = 1;
    if (kr_draw_below(t->r, 10) < 4) {
        from[0] = pick(t, KR_WORDS_HIGH);
        from[1] = pick(t, KR_WORDS_LOW);
        n = 2;
    } else {
        from[0] = t->name[t->used_names++];
    }
    add_fact(t, "", from, n, "sets", &to, 1);
}

static void add_verbs(restating *t) {
    static const char *const verbs[] = {"is", "was", "has", "holds"};
    size_t n = kr_draw_between(t->r, 2, 4), from = kr_draw_below(t->r, 4);
    int32_t key = t->key[t->used_keys++];
    for (size_t i = 0; i < n; i++)
        add_number(t, verbs[(from + i) % 4], key);
}

static void add_some(restating *t, bool all_kinds) {
    size_t z = all_kinds ? kr_draw_below(t->r, 100) : 0;
    if (z < 15)
        add_number(t, "is", t->key[t->used_keys++]);
    else if (z < 55)
        add_person(t);
    else if (z < 90)
        add_link(t);
    else
        add_verbs(t);
}

static bool more(const restating *t, size_t half) {
    return t->used < half && t->n + 4 < MAX_FACTS && t->used_keys + 1 < 96 &&
           t->used_people + 1 < 30 && t->used_names + 2 < 40;
}

static void shuffle(kr_draw *r, size_t *a, size_t n) {
    for (size_t i = n; i > 1; i--) {
        size_t j = kr_draw_below(r, i), x = a[i - 1];
        a[i - 1] = a[j];
        a[j] = x;
    }
}

static kr_status restate(const kr_words *w, kr_draw *r, size_t length, bool all_kinds,
                         kr_train_data *out, kr_error *err) {
    restating t = {.w = w, .r = r};
    spans s = {0};
    kr_ids ids = {0};
    size_t order[MAX_FACTS], half = length * kr_draw_between(r, 45, 60) / 100;
    permute(&t, KR_WORDS_KEY, t.key);
    permute(&t, KR_WORDS_NAME, t.name);
    permute(&t, KR_WORDS_PERSON, t.person);
    while (more(&t, half))
        add_some(&t, all_kinds);
    for (size_t i = 0; i < t.n; i++)
        order[i] = i;
    kr_ids_add(&ids, KR_WORD_BEGIN);
    shuffle(r, order, t.n);
    for (size_t i = 0; i < t.n; i++) {
        const fact *f = &t.fact[order[i]];
        kr_ids_append(&ids, t.ids.v + f->from, f->to - f->from);
    }
    kr_words_put(w, "list", &ids);
    shuffle(r, order, t.n);
    for (size_t i = 0; i < t.n; i++) {
        const fact *f = &t.fact[order[i]];
        if (ids.n + (f->value_to - f->cue) + 1 > length)
            break;
        kr_ids_append(&ids, t.ids.v + f->cue, f->cue_to - f->cue);
        mark(&s, ids.n, ids.n + f->value_to - f->value);
        kr_ids_append(&ids, t.ids.v + f->value, f->value_to - f->value);
        kr_words_put(w, ".", &ids);
    }
    kr_status st = add_text(out, ids.v, ids.n < length ? ids.n : length, &s, err);
    kr_ids_free(&ids);
    kr_ids_free(&t.ids);
    return st;
}

/* Random words, then the same from somewhere on. */
static kr_status copy(const kr_words *w, kr_draw *r, size_t length, kr_train_data *out,
                      kr_error *err) {
    static const kr_word_kind kinds[] = {KR_WORDS_KEY, KR_WORDS_NAME, KR_WORDS_HIGH, KR_WORDS_LOW};
    restating t = {.w = w, .r = r};
    kr_ids ids = {0};
    spans s = {0};
    size_t n = length / 2 - 2, from = kr_draw_between(r, 0, n / 4);
    kr_ids_add(&ids, KR_WORD_BEGIN);
    for (size_t i = 0; i < n; i++)
        kr_ids_add(&ids, pick(&t, kinds[kr_draw_below(r, 4)]));
    kr_words_put(w, ".", &ids);
    for (size_t i = from; i < n && !ids.failed; i++)
        kr_ids_add(&ids, ids.v[1 + i]);
    mark(&s, n + 3, ids.n);
    kr_status st = add_text(out, ids.v, ids.n, &s, err);
    kr_ids_free(&ids);
    return st;
}

/* --- a step ---------------------------------------------------------------------------------- */

static kr_task_family choose(kr_draw *r, const kr_train_mix *mix) {
    size_t sum = 0;
    for (size_t f = 0; f <= KR_TASK_FAMILIES; f++)
        sum += mix->share[f];
    size_t z = kr_draw_below(r, sum);
    for (size_t f = 0; f < KR_TASK_FAMILIES; f++) {
        if (z < mix->share[f])
            return (kr_task_family)f;
        z -= mix->share[f];
    }
    return KR_TASK_MIXED;
}

static kr_status add_task(const kr_words *w, kr_draw *r, kr_task_family f, size_t length,
                          size_t asks, kr_task *t, kr_train_data *out, kr_error *err) {
    spans s = {0};
    kr_status st = kr_task_draw(w, r, f, length, asks, t, err);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < t->n_asks; i++)
        mark(&s, t->ask[i].answer, t->ask[i].end);
    return add_text(out, t->ids.v, t->ids.n, &s, err);
}

/* Besides restatements: short lists to count, which otherwise come too rarely to be learned. */
static kr_status add_dense(const kr_words *w, kr_draw *r, size_t length, kr_task *t,
                           kr_train_data *out, kr_error *err) {
    size_t z = kr_draw_below(r, 5);
    if (kr_draw_below(r, 4) == 0)
        return add_task(w, r, KR_TASK_FREQUENT, length < 128 ? length : 128, 1, t, out, err);
    if (length <= 64 && z == 4)
        return copy(w, r, length, out, err);
    return restate(w, r, length, length > 64 || z >= 2, out, err);
}

kr_status kr_train_draw(const kr_words *w, kr_draw *r, const kr_train_stage *stage,
                        const kr_train_mix *mix, kr_train_data *out, kr_error *err) {
    kr_task t = {0};
    kr_status st = KR_OK;
    reset(out);
    for (size_t i = 0; i < stage->texts && st == KR_OK; i++) {
        size_t least = stage->length * 5 / 8;
        size_t length = kr_draw_between(r, least < KR_TASK_MIN_LENGTH ? KR_TASK_MIN_LENGTH : least,
                                        stage->length);
        if (kr_draw_below(r, 100) < stage->dense)
            st = add_dense(w, r, stage->length, &t, out, err);
        else
            st = add_task(w, r, choose(r, mix), length, kr_draw_between(r, 1, stage->asks), &t, out,
                          err);
    }
    kr_task_free(&t);
    return st;
}

kr_status kr_train_requests(const kr_words *w, uint64_t seed, kr_task_family f, size_t length,
                            size_t n, kr_train_data *out, kr_error *err) {
    kr_task t = {0};
    kr_status st = KR_OK;
    reset(out);
    for (size_t i = 0; i < n && st == KR_OK; i++) {
        kr_draw d = kr_draw_start(seed, kr_task_stream(KR_DRAW_TEST, f, i));
        size_t least = length * 3 / 4 < KR_TASK_MIN_LENGTH ? KR_TASK_MIN_LENGTH : length * 3 / 4;
        st = add_task(w, &d, f, kr_draw_between(&d, least, length), 1, &t, out, err);
    }
    kr_task_free(&t);
    return st;
}
