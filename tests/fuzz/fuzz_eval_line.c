/* A line of the evaluator, which may be anything. */
#include <stddef.h>
#include <stdint.h>

#include "ui/eval_line.h"

static double sum;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kr_eval_line l;
    if (kr_eval_line_read((const char *)data, size, &l, NULL) != KR_OK) {
        kr_eval_line_free(&l);
        return 0;
    }
    /* What is said to be there is there. */
    for (size_t i = 0; l.event == KR_EVAL_LINE_RESULT && i < l.heads.layers * l.heads.heads; i++)
        sum += l.heads.kept[i] + l.heads.mass[i];
    for (size_t i = 0; l.event == KR_EVAL_LINE_RESULT && i < l.heads.layers; i++)
        sum += l.heads.error[i];
    for (size_t i = 0; i < l.n_pieces; i++)
        for (const char *s = l.pieces + l.piece_at[i]; *s != '\0'; s++)
            sum += *s;
    for (size_t i = 0; i < l.heads.n_positions; i++)
        sum += l.heads.position[i];
    kr_eval_line_free(&l);
    return 0;
}
