/* scorers.h - task scores exactly as the reference evaluations compute them.
 *
 * A scorer sees one prediction with its references and gives a value, usually 0..1. Each follows the
 * published evaluation code of the benchmark whose name it bears, oddities included, because a
 * calibration file must hold the utility that the user's evaluation reports. */
#ifndef KR_CALIB_SCORERS_H
#define KR_CALIB_SCORERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "calib/literal.h"

typedef struct {
    const char *prediction; /* UTF-8, need not be valid: bad bytes count as U+FFFD */
    size_t prediction_len;
    const kr_lit *answers;  /* LIST, or NULL for none */
    const kr_lit *classes;  /* LIST of strings (classification), or NULL */
    kr_arena *arena;        /* scratch; the caller resets it */
} kr_score_in;

/* How the reference writes its result; decides what `kvrisk score` prints. */
typedef enum {
    KR_SHAPE_NUMBER, /* value */
    KR_SHAPE_BOOL,   /* value is 0 or 1 */
    KR_SHAPE_PAIR,   /* part[0] of part[1]; value is their ratio */
    KR_SHAPE_CHOICE, /* letter (0 for none) and value as the verdict */
    KR_SHAPE_ROUGE   /* part[3 k + 0..2]: recall, precision, F of rouge-1, -2, -l; value: F of -l */
} kr_score_shape;

typedef struct {
    double value;      /* finite when `why` is NULL */
    double part[9];
    char letter;
    const char *why;   /* NULL, or why this line cannot be scored (static text) */
} kr_score;

typedef struct {
    const char *name;
    kr_score_shape shape;
    void (*run)(const kr_score_in *in, kr_score *out); /* NULL: refused, see `refused` */
    const char *refused;                               /* the reason, when run is NULL */
    const char *what;                                  /* one line for help */
} kr_scorer;

/* All scorers by name, ended by an entry without a name. */
const kr_scorer *kr_scorers(void);

/* NULL when there is none of that name. */
const kr_scorer *kr_scorer_find(const char *name);

/* Runs a scorer; `why` is set, and the value 0, for a refused scorer. */
kr_score kr_scorer_run(const kr_scorer *s, const kr_score_in *in);

/* Appends the result as JSON in the shape of the reference; null when it cannot be scored. */
void kr_score_json(const kr_scorer *s, const kr_score *r, kr_buf *out);

/* --- the individual scorers (one file per family) ------------------------------------------- */

void kr_score_ruler_all(const kr_score_in *in, kr_score *out);
void kr_score_ruler_part(const kr_score_in *in, kr_score *out);
void kr_score_kvpress_ruler_all(const kr_score_in *in, kr_score *out);
void kr_score_kvpress_ruler_part(const kr_score_in *in, kr_score *out);
void kr_score_lm_ruler_part(const kr_score_in *in, kr_score *out);
void kr_score_raw_ruler_all(const kr_score_in *in, kr_score *out);

#endif
