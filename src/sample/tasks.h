/* tasks.h - requests in the families of RULER (Hsieh et al., COLM 2024), drawn from a seed.
 *
 * A request is a context of stated facts among filler, one question, and the beginning of the
 * answer. Every fact has the shape KEY VERB VALUE and the answer repeats KEY VERB before each
 * value. It differs from RULER in what a small model needs: several values of one key are told
 * apart by the verb, the number of items is in the question, and there is a vocabulary of
 * words.h alone. */
#ifndef KR_SAMPLE_TASKS_H
#define KR_SAMPLE_TASKS_H

#include "sample/words.h"

typedef enum {
    KR_TASK_SINGLE,     /* niah_single: one number among filler */
    KR_TASK_MULTIKEY,   /* niah_multikey: one number among many others */
    KR_TASK_MULTIVALUE, /* niah_multivalue: all two to four numbers of one key */
    KR_TASK_MULTIQUERY, /* niah_multiquery: the numbers of two to four keys, in the order asked */
    KR_TASK_TRACKING,   /* vt: the names a number is passed on to, two chains interleaved */
    KR_TASK_FREQUENT,   /* fwe: the three most frequent words of a list, counts clearly apart */
    KR_TASK_LOOKUP,     /* qa: city and job of a person */
    KR_TASK_FAMILIES,
    KR_TASK_MIXED = KR_TASK_FAMILIES /* facts of all kinds together; for training */
} kr_task_family;

/* Name as above, "mixed" for KR_TASK_MIXED. */
const char *kr_task_name(kr_task_family f);

/* --- random draws --------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Different streams of a seed start at different
 * states; the same numbers on every machine. */
typedef struct {
    uint64_t state;
} kr_draw;
kr_draw kr_draw_start(uint64_t seed, uint64_t stream);
uint64_t kr_draw_next(kr_draw *d);
/* 0 .. n-1, n in 1 .. 2^32; each within 2^-32 of 1/n. */
size_t kr_draw_below(kr_draw *d, size_t n);
/* lo .. hi, both included. */
size_t kr_draw_between(kr_draw *d, size_t lo, size_t hi);
/* The stream of request `index` of a family in a split; training has a split of its own. */
typedef enum { KR_DRAW_CAL, KR_DRAW_TEST, KR_DRAW_TRAIN } kr_task_split;
uint64_t kr_task_stream(kr_task_split split, kr_task_family f, uint64_t index);

/* --- drawing one task ------------------------------------------------------------------------ */

enum { KR_TASK_ASKS = 8, KR_TASK_REFS = 4, KR_TASK_MIN_LENGTH = 64, KR_TASK_MAX_LENGTH = 1 << 20 };

/* A question with its answer, as offsets into the ids: the question runs from `question` to
 * `prefix`, the given beginning of the answer to `answer`, the rest of the answer to `end`; its
 * last two ids are the mark "." and KR_WORD_END. */
typedef struct {
    size_t question, prefix, answer, end;
    size_t n_refs;
    size_t ref_at[KR_TASK_REFS], ref_len[KR_TASK_REFS]; /* expected values, inside the answer */
} kr_task_ask;

typedef struct {
    kr_ids ids; /* KR_WORD_BEGIN, context, then the questions with answers one after another */
    size_t n_asks;
    kr_task_ask ask[KR_TASK_ASKS];
} kr_task;

/* Draws a task whose ids are about `length` and never more, with up to `asks` (1 .. KR_TASK_ASKS)
 * different questions about one context; a request has one. length is in KR_TASK_MIN_LENGTH ..
 * KR_TASK_MAX_LENGTH. `out` is reused from call to call, zero at first. */
kr_status kr_task_draw(const kr_words *w, kr_draw *d, kr_task_family f, size_t length, size_t asks,
                       kr_task *out, kr_error *err);
void kr_task_free(kr_task *t);

/* --- one request as a line ------------------------------------------------------------------- */

typedef struct {
    uint64_t seed;
    size_t
        length; /* most tokens of prompt and answer; each request draws its own, 3/4 to all of it */
} kr_task_set;

/* Appends one JSON line (with its line feed) for request `index` of family f (not MIXED): id,
 * task, split, context, question, answer_prefix, answers, scorer, max_tokens. The three texts
 * put together are the prompt. The line depends on nothing but the arguments. */
kr_status kr_task_line(const kr_words *w, const kr_task_set *set, kr_task_split split,
                       kr_task_family f, uint64_t index, kr_buf *out, kr_error *err);

#endif
