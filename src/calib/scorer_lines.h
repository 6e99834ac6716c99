/* scorer_lines.h - scores lines of JSON: single predictions, whole data sets, and list cells. */
#ifndef KR_CALIB_SCORER_LINES_H
#define KR_CALIB_SCORER_LINES_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "calib/scorers.h"

/* Scorers of whole lines: a data set's score over `rows`, or the reading of a list cell in `text`. */
typedef struct {
    const char *name, *what;
    void (*run)(const kr_lit *line, kr_arena *arena, kr_buf *score, const char **why);
} kr_line_scorer;

const kr_line_scorer *kr_line_scorers(void); /* ended by a NULL name */

typedef struct {
    size_t rouge_limit; /* see kr_score_in */
    bool coerce;
    /* set by open */
    const kr_scorer *scorer;
    const kr_line_scorer *line_scorer;
    kr_arena arena;
} kr_line_score;

/* KR_EINVAL for an unknown scorer, or one that is refused (with the reason). */
kr_status kr_line_score_open(kr_line_score *s, const char *scorer, kr_error *err);

/* Appends the line with "score" (and "error") added, and a line feed. KR_EFORMAT when the line is no
 * JSON object. */
kr_status kr_line_score_run(kr_line_score *s, const char *line, size_t len, const char *file,
                            size_t number, kr_buf *out, kr_error *err);
void kr_line_score_close(kr_line_score *s);

#endif
