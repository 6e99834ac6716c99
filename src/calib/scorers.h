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

/* Python stops recursing at 1000 frames, of which an evaluation script leaves about 970. */
#define KR_ROUGE_LIMIT 970

typedef struct {
    const char *prediction; /* UTF-8, need not be valid: bad bytes count as U+FFFD */
    size_t prediction_len;
    const kr_lit *answers; /* LIST, or NULL for none */
    const kr_lit *classes; /* LIST of strings (classification), or NULL */
    kr_arena *arena;       /* scratch; the caller resets it */
    size_t rouge_limit;    /* the reference's ROUGE gives 0 to a sentence pair whose alignment has
                             * more steps than Python recurses (KR_ROUGE_LIMIT); 0: no limit */
    bool coerce;           /* InfiniteBench: digits in text references count as numbers */
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
    double value; /* finite when `why` is NULL */
    double part[9];
    char letter;
    const char *why; /* NULL, or why this line cannot be scored (static text) */
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

void kr_score_qa_f1(const kr_score_in *in, kr_score *out);
void kr_score_classification(const kr_score_in *in, kr_score *out);
void kr_score_retrieval(const kr_score_in *in, kr_score *out);
void kr_score_retrieval_zh(const kr_score_in *in, kr_score *out);
void kr_score_count(const kr_score_in *in, kr_score *out);
void kr_score_rouge_l(const kr_score_in *in, kr_score *out);
void kr_score_needle(const kr_score_in *in, kr_score *out);
void kr_score_code_levenshtein(const kr_score_in *in, kr_score *out);
void kr_score_code_difflib(const kr_score_in *in, kr_score *out);
void kr_score_code_lm(const kr_score_in *in, kr_score *out);
void kr_score_v2_thudm(const kr_score_in *in, kr_score *out);
void kr_score_v2_kvpress(const kr_score_in *in, kr_score *out);
void kr_score_math500(const kr_score_in *in, kr_score *out);
void kr_score_aime25(const kr_score_in *in, kr_score *out);
void kr_score_cloze_exact(const kr_score_in *in, kr_score *out);
void kr_score_cloze_partial(const kr_score_in *in, kr_score *out);
void kr_score_kv_retrieval(const kr_score_in *in, kr_score *out);
void kr_score_first_number(const kr_score_in *in, kr_score *out);
void kr_score_code_run(const kr_score_in *in, kr_score *out);
void kr_score_code_debug(const kr_score_in *in, kr_score *out);
void kr_score_math_find(const kr_score_in *in, kr_score *out);
void kr_score_math_calc(const kr_score_in *in, kr_score *out);
void kr_score_longdialogue(const kr_score_in *in, kr_score *out);
void kr_score_choice(const kr_score_in *in, kr_score *out);
void kr_score_qa_chn(const kr_score_in *in, kr_score *out);
void kr_score_exact(const kr_score_in *in, kr_score *out);
void kr_score_exact_strip(const kr_score_in *in, kr_score *out);
void kr_score_numeric(const kr_score_in *in, kr_score *out);

#endif
