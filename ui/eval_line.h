/* eval_line.h - one line of `kvrisk eval --json` read back (the fields are described in
 * sample/eval_json.h). The line may hold anything: what is not understood is no event. */
#ifndef KR_UI_EVAL_LINE_H
#define KR_UI_EVAL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "calib/calib.h"

typedef enum {
    KR_EVAL_LINE_OTHER, /* an event that is not known; to be passed over */
    KR_EVAL_LINE_START, KR_EVAL_LINE_PROGRESS, KR_EVAL_LINE_PROMPT, KR_EVAL_LINE_FULL,
    KR_EVAL_LINE_RESULT, KR_EVAL_LINE_ERROR, KR_EVAL_LINE_END
} kr_eval_line_event;

enum { KR_EVAL_MAX_HEADS = 65536, KR_EVAL_MAX_TOKENS = 1 << 21 };

/* Which tokens of an answer are its own, where the evicted prompt's entries are, and how far the
 * attention's output is off. Arrays are NULL where the line has none. */
typedef struct {
    size_t layers, heads;
    double *kept;       /* [layers][heads] entries */
    double *mass;       /* [layers][heads] share of attention */
    double *error;      /* [layers] */
    size_t n_positions;
    uint16_t *position; /* [n_positions] heads of layers x heads that keep it */
} kr_eval_heads;

typedef struct {
    kr_eval_line_event event;
    char *id, *answer, *message, *phase, *requests_sha256; /* NULL where absent or null */
    int64_t request, of, done, total, index;     /* -1 where absent */
    int64_t prompt_tokens, n, bytes, steps, failed, peak_bytes;
    int64_t parted, n_tokens;
    int64_t utility, full_utility;               /* nano-units, KR_MISSING where null */
    double retained, prefill_s, score_s, decode_s, seconds, margin, full_margin; /* NaN: absent */
    kr_eval_heads heads;
    char *pieces;       /* the texts of a prompt's tokens, each with its NUL, one after another */
    size_t *piece_at;   /* [n_pieces] where each begins */
    size_t n_pieces;
} kr_eval_line;

/* KR_EFORMAT for anything that is not one such object; *out is then empty. The caller frees *out
 * with kr_eval_line_free. */
kr_status kr_eval_line_read(const char *text, size_t len, kr_eval_line *out, kr_error *err);
void kr_eval_line_free(kr_eval_line *l);
void kr_eval_heads_free(kr_eval_heads *h);

#endif
