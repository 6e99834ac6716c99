#include "sample/tasks.h"

#include <string.h>

#include "base/mix.h"

/* --- random draws --------------------------------------------------------------------------- */

kr_draw kr_draw_start(uint64_t seed, uint64_t stream) {
    return (kr_draw){kr_mix(seed + KR_MIX_STEP) + kr_mix(~stream)};
}

uint64_t kr_draw_next(kr_draw *d) {
    return kr_mix_next(&d->state);
}

size_t kr_draw_below(kr_draw *d, size_t n) {
    return (size_t)(((kr_draw_next(d) >> 32) * (uint64_t)n) >> 32);
}

size_t kr_draw_between(kr_draw *d, size_t lo, size_t hi) {
    return lo + kr_draw_below(d, hi - lo + 1);
}

uint64_t kr_task_stream(kr_task_split split, kr_task_family f, uint64_t index) {
    return (uint64_t)split << 56 | (uint64_t)f << 48 | index;
}

/* --- the facts of a context ------------------------------------------------------------------ */

enum { MAX_NUMBERS = 60, MAX_GROUPS = 100, MAX_SENTENCES = 160, MAX_ITEMS = 10, ASKED_ITEMS = 3 };

typedef struct {
    int32_t high, low;
} number;

static const char *const verbs[] = {"is", "was", "has", "holds"};
static const char *const counts[] = {"two", "three", "four"}; /* of 2, 3, 4 */
static const char *const sayings[] = {"the grass is green .", "the sky is blue .",
                                      "the sun is yellow .", "here we go .",
                                      "there and back again ."};

/* What a context states. Sentences of one group keep their order. */
typedef struct {
    const kr_words *w;
    kr_draw *d;
    size_t n_single, n_multi, n_chain, n_person;
    struct {
        int32_t key;
        number value;
    } single[MAX_NUMBERS];
    struct {
        int32_t key;
        size_t n;
        number value[4];
    } multi[2];
    struct {
        number value;
        size_t n;
        int32_t name[4];
    } chain[2];
    struct {
        int32_t person, city, job;
    } person[30];
    int32_t item[ASKED_ITEMS]; /* most frequent first */
    kr_ids text;               /* all sentences */
    size_t n_sentences, end[MAX_SENTENCES];
    size_t n_groups, group_end[MAX_GROUPS]; /* in sentences */
} facts;

static int32_t pick(facts *f, kr_word_kind kind) {
    return kr_words_first(f->w, kind) + (int32_t)kr_draw_below(f->d, kr_words_size(f->w, kind));
}

static number pick_number(facts *f) {
    int32_t high = pick(f, KR_WORDS_HIGH);
    return (number){high, pick(f, KR_WORDS_LOW)};
}

static void put(const kr_words *w, kr_ids *to, const char *words) {
    kr_words_put(w, words, to);
}

static void put_number(kr_ids *to, number v) {
    kr_ids_add(to, v.high);
    kr_ids_add(to, v.low);
}

/* n different words of a kind, in random order; n <= size <= 128. */
static void sample(facts *f, kr_word_kind kind, size_t n, int32_t *out) {
    int32_t all[128];
    size_t size = kr_words_size(f->w, kind);
    for (size_t i = 0; i < size; i++)
        all[i] = kr_words_first(f->w, kind) + (int32_t)i;
    for (size_t i = 0; i < n; i++) {
        size_t j = kr_draw_between(f->d, i, size - 1);
        out[i] = all[j];
        all[j] = all[i];
    }
}

static void shuffle(kr_draw *d, size_t *a, size_t n) {
    for (size_t i = n; i > 1; i--) {
        size_t j = kr_draw_below(d, i), t = a[i - 1];
        a[i - 1] = a[j];
        a[j] = t;
    }
}

static void end_sentence(facts *f) {
    put(f->w, &f->text, ".");
    f->end[f->n_sentences++] = f->text.n;
}

static void end_group(facts *f) {
    f->group_end[f->n_groups++] = f->n_sentences;
}

static void state_number(facts *f, int32_t key, const char *verb, number v) {
    put(f->w, &f->text, "the number for");
    kr_ids_add(&f->text, key);
    put(f->w, &f->text, verb);
    put_number(&f->text, v);
    end_sentence(f);
}

static void make_singles(facts *f, const int32_t *keys) {
    for (size_t i = 0; i < f->n_single; i++) {
        f->single[i].key = keys[i];
        f->single[i].value = pick_number(f);
        state_number(f, keys[i], verbs[0], f->single[i].value);
        end_group(f);
    }
}

/* The verbs of one key come in any order: its sentences are one group, which keeps its order. */
static void make_multis(facts *f, const int32_t *keys, size_t most) {
    for (size_t i = 0; i < f->n_multi; i++) {
        size_t n = kr_draw_between(f->d, 2, most), order[4];
        f->multi[i].key = keys[i];
        f->multi[i].n = n;
        for (size_t j = 0; j < n; j++) {
            f->multi[i].value[j] = pick_number(f);
            order[j] = j;
        }
        shuffle(f->d, order, n);
        for (size_t j = 0; j < n; j++)
            state_number(f, keys[i], verbs[order[j]], f->multi[i].value[order[j]]);
        end_group(f);
    }
}

static void make_chains(facts *f, size_t most) {
    int32_t names[8];
    sample(f, KR_WORDS_NAME, 8, names);
    for (size_t i = 0; i < f->n_chain; i++) {
        size_t n = kr_draw_between(f->d, 2, most);
        f->chain[i].n = n;
        f->chain[i].value = pick_number(f);
        for (size_t j = 0; j < n; j++) {
            f->chain[i].name[j] = names[4 * i + j];
            if (j == 0)
                put_number(&f->text, f->chain[i].value);
            else
                kr_ids_add(&f->text, f->chain[i].name[j - 1]);
            put(f->w, &f->text, "sets");
            kr_ids_add(&f->text, f->chain[i].name[j]);
            end_sentence(f);
        }
        end_group(f);
    }
}

static void make_people(facts *f) {
    int32_t people[30];
    sample(f, KR_WORDS_PERSON, f->n_person, people);
    for (size_t i = 0; i < f->n_person; i++) {
        f->person[i].person = people[i];
        f->person[i].city = pick(f, KR_WORDS_CITY);
        f->person[i].job = pick(f, KR_WORDS_JOB);
        size_t city_first = kr_draw_below(f->d, 2);
        for (size_t j = 0; j < 2; j++) {
            bool city = (j == 0) == (city_first == 1);
            put(f->w, &f->text, city ? "the city for" : "the job for");
            kr_ids_add(&f->text, people[i]);
            put(f->w, &f->text, "is");
            kr_ids_add(&f->text, city ? f->person[i].city : f->person[i].job);
            end_sentence(f);
        }
        end_group(f);
    }
}

static size_t at_most(size_t n, size_t most) {
    return n < most ? n : most;
}

static size_t at_least(size_t n, size_t least) {
    return n > least ? n : least;
}

/* How many facts of each kind a context of `room` ids gets. A fact is about 8 ids long. */
static void plan(facts *f, kr_task_family family, size_t room, size_t asks) {
    size_t slots = room / 8;
    kr_draw *d = f->d;
    switch (family) {
    case KR_TASK_SINGLE: f->n_single = at_most(asks, 3); break;
    case KR_TASK_MULTIKEY:
        f->n_single = at_least(slots * kr_draw_between(d, 30, 75) / 100, 2);
        break;
    case KR_TASK_MULTIVALUE:
        f->n_multi = at_most(asks, 2);
        f->n_single = kr_draw_between(d, 1, 3);
        break;
    case KR_TASK_MULTIQUERY: f->n_single = kr_draw_between(d, 4, at_least(room / 32, 5)); break;
    case KR_TASK_TRACKING: f->n_chain = room > 70 ? 2 : kr_draw_between(d, 1, 2); break;
    case KR_TASK_LOOKUP:
        f->n_person = at_least(room / 14 * kr_draw_between(d, 20, 70) / 100, 2);
        break;
    default:
        f->n_single = kr_draw_between(d, 1, at_least(slots / 5, 1));
        f->n_multi = at_most(kr_draw_between(d, 0, slots / 12), 2);
        f->n_chain = kr_draw_between(d, 0, slots < 16 ? 1 : 2);
        f->n_person = kr_draw_between(d, 0, at_least(slots / 6, 1));
    }
    f->n_single = at_most(f->n_single, MAX_NUMBERS);
    f->n_person = at_most(f->n_person, 30);
}

static void make_facts(facts *f, size_t room) {
    int32_t keys[MAX_NUMBERS + 2];
    size_t most = room > 80 ? 4 : 3;
    sample(f, KR_WORDS_KEY, MAX_NUMBERS + 2, keys);
    make_singles(f, keys + 2);
    make_multis(f, keys, most);
    make_chains(f, most);
    make_people(f);
}

static void put_filler(facts *f, kr_ids *to) {
    if (kr_draw_below(f->d, 10) < 3) {
        put(f->w, to, sayings[kr_draw_below(f->d, sizeof sayings / sizeof *sayings)]);
        return;
    }
    static const kr_word_kind kinds[] = {KR_WORDS_QUALITY, KR_WORDS_THING, KR_WORDS_ACT,
                                         KR_WORDS_PLACE};
    put(f->w, to, "the");
    for (size_t i = 0; i < 4; i++)
        kr_ids_add(to, pick(f, kinds[i]));
    put(f->w, to, "the");
    kr_ids_add(to, pick(f, KR_WORDS_THING));
    put(f->w, to, ".");
}

/* Puts the next sentence of group g where its turn comes; next[g] counts its sentences so far. */
static void put_sentence(const facts *f, size_t g, size_t *next, kr_ids *to) {
    size_t s = (g == 0 ? 0 : f->group_end[g - 1]) + next[g]++;
    size_t from = s == 0 ? 0 : f->end[s - 1];
    kr_ids_append(to, f->text.v + from, f->end[s] - from);
}

/* Facts and filler in random order, about `room` ids: every sentence has one slot of its group, and
 * filler fills what is left. */
static kr_status lay_out(facts *f, size_t room, kr_ids *to, kr_error *err) {
    kr_ids filler = {0}, slot = {0};
    size_t next[MAX_GROUPS] = {0}, at = 0;
    for (size_t g = 0, s = 0; g < f->n_groups; g++)
        for (; s < f->group_end[g]; s++)
            kr_ids_add(&slot, (int32_t)g);
    while (f->text.n + filler.n + 8 <= room && !filler.failed) {
        put_filler(f, &filler);
        kr_ids_add(&slot, -1);
    }
    for (size_t i = slot.n; i > 1 && !slot.failed; i--) {
        size_t j = kr_draw_below(f->d, i);
        int32_t t = slot.v[i - 1];
        slot.v[i - 1] = slot.v[j];
        slot.v[j] = t;
    }
    int32_t dot = kr_words_find(f->w, ".");
    bool failed = slot.failed || filler.failed || f->text.failed;
    for (size_t i = 0; i < slot.n && !failed; i++) {
        if (slot.v[i] >= 0) {
            put_sentence(f, (size_t)slot.v[i], next, to);
            continue;
        }
        do
            kr_ids_add(to, filler.v[at]);
        while (filler.v[at++] != dot);
    }
    kr_ids_free(&filler);
    kr_ids_free(&slot);
    return failed ? kr_fail(err, KR_ENOMEM, "out of memory for a task") : KR_OK;
}

/* A list of n words: the three asked for have about 34, 22 and 14 in a hundred, seven others
 * share the rest, none with more than 6 in a hundred. */
static kr_status lay_out_list(facts *f, size_t n, kr_ids *to, kr_error *err) {
    int32_t item[MAX_ITEMS];
    size_t count[MAX_ITEMS], used = 0;
    sample(f, KR_WORDS_ITEM, MAX_ITEMS, item);
    static const size_t share[ASKED_ITEMS] = {34, 22, 14};
    for (size_t i = 0; i < ASKED_ITEMS; i++) {
        f->item[i] = item[i];
        count[i] = at_least(n * kr_draw_between(f->d, share[i] - 2, share[i] + 2) / 100,
                            (size_t)2 * (ASKED_ITEMS - i) + 1);
        used += count[i];
    }
    for (size_t i = ASKED_ITEMS; i < MAX_ITEMS; i++) {
        size_t left = n > used ? n - used : 0;
        count[i] = at_most(left / (MAX_ITEMS - i), n * 6 / 100);
        used += count[i];
    }
    size_t from = to->n + 2;
    put(f->w, to, "list :");
    for (size_t i = 0; i < MAX_ITEMS; i++)
        for (size_t j = 0; j < count[i]; j++)
            kr_ids_add(to, item[i]);
    for (size_t i = to->n - from; i > 1 && !to->failed; i--) {
        size_t j = kr_draw_below(f->d, i);
        int32_t t = to->v[from + i - 1];
        to->v[from + i - 1] = to->v[from + j];
        to->v[from + j] = t;
    }
    put(f->w, to, ".");
    return to->failed ? kr_fail(err, KR_ENOMEM, "out of memory for a task") : KR_OK;
}

/* --- questions ------------------------------------------------------------------------------- */

/* A question being written to the end of the ids. */
typedef struct {
    facts *f;
    kr_ids *ids;
    kr_task_ask *ask;
} writer;

static void say(writer *q, const char *words) {
    put(q->f->w, q->ids, words);
}

static void say_id(writer *q, int32_t id) {
    kr_ids_add(q->ids, id);
}

static void begin_answer(writer *q) {
    say(q, "?");
    q->ask->prefix = q->ids->n;
    say(q, "answer :");
}

static void end_prefix(writer *q) {
    q->ask->answer = q->ids->n;
}

static void expect(writer *q, const int32_t *v, size_t n) {
    kr_task_ask *a = q->ask;
    a->ref_at[a->n_refs] = q->ids->n;
    a->ref_len[a->n_refs++] = n;
    kr_ids_append(q->ids, v, n);
}

static void expect_number(writer *q, number v) {
    int32_t pair[2] = {v.high, v.low};
    expect(q, pair, 2);
}

static void ask_single(writer *q) {
    size_t i = kr_draw_below(q->f->d, q->f->n_single);
    int32_t key = q->f->single[i].key;
    say(q, "question : what is the number for");
    say_id(q, key);
    begin_answer(q);
    say_id(q, key);
    say(q, "is");
    end_prefix(q);
    expect_number(q, q->f->single[i].value);
}

static void ask_multivalue(writer *q) {
    size_t i = kr_draw_below(q->f->d, q->f->n_multi);
    int32_t key = q->f->multi[i].key;
    say(q, "question : what are the");
    say(q, counts[q->f->multi[i].n - 2]);
    say(q, "numbers for");
    say_id(q, key);
    begin_answer(q);
    for (size_t j = 0; j < q->f->multi[i].n; j++) {
        if (j > 0)
            say(q, ",");
        say_id(q, key);
        say(q, verbs[j]);
        if (j == 0)
            end_prefix(q);
        expect_number(q, q->f->multi[i].value[j]);
    }
}

static void ask_multiquery(writer *q) {
    size_t order[MAX_NUMBERS], all = q->f->n_single,
                               n = at_most(all, kr_draw_between(q->f->d, 2, 4));
    for (size_t i = 0; i < all; i++)
        order[i] = i;
    shuffle(q->f->d, order, all);
    say(q, "question : what are the numbers for");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            say(q, "and");
        say_id(q, q->f->single[order[i]].key);
    }
    begin_answer(q);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            say(q, "and");
        say_id(q, q->f->single[order[i]].key);
        say(q, "is");
        if (i == 0)
            end_prefix(q);
        expect_number(q, q->f->single[order[i]].value);
    }
}

static void ask_tracking(writer *q) {
    size_t i = kr_draw_below(q->f->d, q->f->n_chain), n = q->f->chain[i].n;
    const int32_t *name = q->f->chain[i].name;
    say(q, "question : which");
    say(q, counts[n - 2]);
    say(q, "names get");
    put_number(q->ids, q->f->chain[i].value);
    begin_answer(q);
    put_number(q->ids, q->f->chain[i].value);
    say(q, "sets");
    end_prefix(q);
    for (size_t j = 0; j < n; j++) {
        if (j > 0) {
            say(q, ",");
            say_id(q, name[j - 1]);
            say(q, "sets");
        }
        expect(q, &name[j], 1);
    }
}

static void ask_frequent(writer *q) {
    say(q, "question : which three words are most common");
    begin_answer(q);
    say(q, "most common are");
    end_prefix(q);
    for (size_t j = 0; j < ASKED_ITEMS; j++) {
        if (j > 0)
            say(q, ",");
        expect(q, &q->f->item[j], 1);
    }
}

static void ask_lookup(writer *q) {
    size_t i = kr_draw_below(q->f->d, q->f->n_person);
    int32_t person = q->f->person[i].person;
    say(q, "question : who is");
    say_id(q, person);
    begin_answer(q);
    say(q, "the city for");
    say_id(q, person);
    say(q, "is");
    end_prefix(q);
    expect(q, &q->f->person[i].city, 1);
    say(q, ", the job for");
    say_id(q, person);
    say(q, "is");
    expect(q, &q->f->person[i].job, 1);
}

static void (*const askers[KR_TASK_FAMILIES])(writer *) = {
    [KR_TASK_SINGLE] = ask_single,         [KR_TASK_MULTIKEY] = ask_single,
    [KR_TASK_MULTIVALUE] = ask_multivalue, [KR_TASK_MULTIQUERY] = ask_multiquery,
    [KR_TASK_TRACKING] = ask_tracking,     [KR_TASK_FREQUENT] = ask_frequent,
    [KR_TASK_LOOKUP] = ask_lookup,
};

/* What a mixed context can be asked; the harder kinds have more weight. */
static kr_task_family choose_mixed(facts *f) {
    kr_task_family can[8];
    size_t n = 0;
    can[n++] = KR_TASK_SINGLE;
    if (f->n_single > 1)
        can[n++] = KR_TASK_MULTIQUERY;
    for (int twice = 0; twice < 2; twice++) {
        if (f->n_multi > 0)
            can[n++] = KR_TASK_MULTIVALUE;
        if (f->n_chain > 0)
            can[n++] = KR_TASK_TRACKING;
    }
    if (f->n_person > 0)
        can[n++] = KR_TASK_LOOKUP;
    return can[kr_draw_below(f->d, n)];
}

static bool asked_before(const kr_task *t, const kr_task_ask *a) {
    for (size_t i = 0; i < t->n_asks; i++) {
        const kr_task_ask *b = &t->ask[i];
        if (b->prefix - b->question == a->prefix - a->question &&
            memcmp(t->ids.v + b->question, t->ids.v + a->question,
                   (a->prefix - a->question) * sizeof *t->ids.v) == 0)
            return true;
    }
    return false;
}

/* Adds one question; false when it was asked before or finds no room, and the ids are as before. */
static bool add_ask(facts *f, kr_task_family family, size_t length, kr_task *t) {
    kr_task_ask a = {.question = t->ids.n};
    writer q = {f, &t->ids, &a};
    askers[family == KR_TASK_MIXED ? choose_mixed(f) : family](&q);
    put(f->w, &t->ids, ".");
    kr_ids_add(&t->ids, KR_WORD_END);
    a.end = t->ids.n;
    if (t->ids.failed || a.end > length || asked_before(t, &a)) {
        t->ids.n = a.question;
        return false;
    }
    t->ask[t->n_asks++] = a;
    return true;
}

/* Longest question with its answer: four keys asked for and their four numbers. */
enum { ASK_ROOM = 40, MORE_ROOM = 32 };

static kr_status draw_once(const kr_words *w, kr_draw *d, kr_task_family family, size_t length,
                           size_t asks, kr_task *t, kr_error *err) {
    facts f = {.w = w, .d = d};
    size_t wanted = asks == 1 ? ASK_ROOM : asks * MORE_ROOM;
    size_t room = at_least(length > wanted ? length - wanted : 0, length / 3);
    kr_status st;
    t->ids.n = 0;
    t->n_asks = 0;
    kr_ids_add(&t->ids, KR_WORD_BEGIN);
    if (family == KR_TASK_FREQUENT) {
        st = lay_out_list(&f, length - 28, &t->ids, err);
        asks = 1;
    } else {
        plan(&f, family, room, asks);
        make_facts(&f, room);
        st = lay_out(&f, room, &t->ids, err);
    }
    for (size_t i = 0; i < asks && st == KR_OK; i++)
        for (int tries = 0; tries < 4; tries++)
            if (add_ask(&f, family, length, t))
                break;
    kr_ids_free(&f.text);
    if (st == KR_OK && t->ids.failed)
        return kr_fail(err, KR_ENOMEM, "out of memory for a task");
    return st;
}

kr_status kr_task_draw(const kr_words *w, kr_draw *d, kr_task_family f, size_t length, size_t asks,
                       kr_task *out, kr_error *err) {
    if (length < KR_TASK_MIN_LENGTH || length > KR_TASK_MAX_LENGTH || asks < 1 ||
        asks > KR_TASK_ASKS)
        return kr_fail(err, KR_EINVAL, "a task has %d to %d tokens and 1 to %d questions",
                       KR_TASK_MIN_LENGTH, KR_TASK_MAX_LENGTH, KR_TASK_ASKS);
    /* Facts rarely take more than their room and leave none for a question: then once more. */
    do {
        kr_status st = draw_once(w, d, f, length, asks, out, err);
        if (st != KR_OK)
            return st;
    } while (out->n_asks == 0);
    return KR_OK;
}

void kr_task_free(kr_task *t) {
    kr_ids_free(&t->ids);
    t->n_asks = 0;
}

static const char *const names[KR_TASK_FAMILIES + 1] = {
    [KR_TASK_SINGLE] = "niah_single",
    [KR_TASK_MULTIKEY] = "niah_multikey",
    [KR_TASK_MULTIVALUE] = "niah_multivalue",
    [KR_TASK_MULTIQUERY] = "niah_multiquery",
    [KR_TASK_TRACKING] = "vt",
    [KR_TASK_FREQUENT] = "fwe",
    [KR_TASK_LOOKUP] = "qa",
    [KR_TASK_MIXED] = "mixed",
};

const char *kr_task_name(kr_task_family f) {
    return names[f];
}

/* --- one request as a line ------------------------------------------------------------------- */

static void put_text(const kr_words *w, const char *key, const int32_t *ids, size_t n, bool start,
                     kr_buf *out) {
    kr_buf text = {0};
    kr_words_join(w, ids, n, &text);
    if (text.failed)
        out->failed = true;
    const char *s = kr_buf_text(&text);
    kr_buf_printf(out, "\"%s\":\"%s\",", key,
                  s + (start && s[0] == ' ')); /* words need no escapes */
    kr_buf_free(&text);
}

static void put_refs(const kr_words *w, const kr_task *t, kr_buf *out) {
    const kr_task_ask *a = &t->ask[0];
    kr_buf_puts(out, "\"answers\":[");
    for (size_t i = 0; i < a->n_refs; i++) {
        kr_buf text = {0};
        kr_words_join(w, t->ids.v + a->ref_at[i], a->ref_len[i], &text);
        if (text.failed)
            out->failed = true;
        const char *s = kr_buf_text(&text);
        kr_buf_printf(out, "%s\"%s\"", i > 0 ? "," : "", s + (s[0] == ' '));
        kr_buf_free(&text);
    }
    kr_buf_puts(out, "],");
}

enum { MAX_TOKENS = 24 }; /* the longest answer has 20 */

kr_status kr_task_line(const kr_words *w, const kr_task_set *set, kr_task_split split,
                       kr_task_family f, uint64_t index, kr_buf *out, kr_error *err) {
    static const char *const splits[] = {"cal", "test", "train"};
    kr_draw d = kr_draw_start(set->seed, kr_task_stream(split, f, index));
    kr_task t = {0};
    size_t least = at_least(set->length * 3 / 4, KR_TASK_MIN_LENGTH);
    size_t length = kr_draw_between(&d, at_most(least, set->length), set->length);
    kr_status st = kr_task_draw(w, &d, f, length, 1, &t, err);
    if (st != KR_OK) {
        kr_task_free(&t);
        return st;
    }
    const kr_task_ask *a = &t.ask[0];
    kr_buf_printf(out, "{\"id\":\"%s-%s-%04llu\",\"task\":\"%s\",\"split\":\"%s\",", names[f],
                  splits[split], (unsigned long long)index, names[f], splits[split]);
    put_text(w, "context", t.ids.v + 1, a->question - 1, true, out);
    put_text(w, "question", t.ids.v + a->question, a->prefix - a->question, false, out);
    put_text(w, "answer_prefix", t.ids.v + a->prefix, a->answer - a->prefix, false, out);
    put_refs(w, &t, out);
    kr_buf_printf(out, "\"scorer\":\"ruler.string_match_all\",\"max_tokens\":%d}\n", MAX_TOKENS);
    kr_task_free(&t);
    return out->failed ? kr_fail(err, KR_ENOMEM, "out of memory for a request") : KR_OK;
}
