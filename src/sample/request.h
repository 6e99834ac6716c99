/* request.h - what is asked of a model: a prompt in parts, the right answers, how to score.
 *
 * Request files are JSON Lines. Three shapes of rows are told apart by their keys:
 *   own        id, task, context, question, answer_prefix (or one `prompt`), answers, scorer,
 *              max_tokens, split
 *   RULER      a row of validation.jsonl: input, outputs, index (task: the name of its directory)
 *   LongBench  a data row: context, input, answers, all_classes, dataset, _id
 * Unknown keys are passed over. */
#ifndef KR_SAMPLE_REQUEST_H
#define KR_SAMPLE_REQUEST_H

#include "base/arena.h"
#include "base/status.h"
#include "calib/scorer_rules.h"

#include <stdbool.h>
#include <stddef.h>

enum { KR_REQUEST_MAX_TOKENS = 65536 };

typedef struct {
    const char *id, *task;
    const char *split;     /* "cal" or "test" */
    const char *cluster;   /* requests of one cluster depend on each other; NULL: none */
    const char *context;   /* the whole prompt when `whole` */
    const char *question, *prefix; /* "" when there is none */
    bool whole;            /* one prompt without parts: only the query-aware protocol fits */
    const kr_lit *answers; /* LIST of strings */
    const kr_lit *classes; /* LIST or NULL */
    const kr_scorer *scorer;
    kr_prep prep;          /* done to an answer before it is scored */
    size_t max_tokens;
    size_t line;           /* in its file, from 1 */
} kr_sample_request;

typedef struct {
    kr_sample_request *item;
    size_t n;
    char sha256[65]; /* of the file */
    kr_arena arena;
} kr_sample_requests;

/* Reads a file. KR_EFORMAT with line and reason; ids are unique. The caller frees *out. */
kr_status kr_sample_requests_read(const char *path, kr_sample_requests **out, kr_error *err);
void kr_sample_requests_free(kr_sample_requests *r); /* NULL is allowed */

/* NULL when there is none of that id. */
const kr_sample_request *kr_sample_requests_find(const kr_sample_requests *r, const char *id);

/* Utility of an answer text, as the request's scorer gives it. `scratch` is reset. *why is NULL, or
 * why there is no score (the value is then NaN). */
double kr_sample_score(const kr_sample_request *r, const char *answer, size_t len, kr_arena *scratch,
                        const char **why);

#endif
