/* values.h - numbers and ladders as options give them. */
#ifndef KR_CLI_VALUES_H
#define KR_CLI_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/decimal.h"

/* A whole number from 1 to `most`, in digits alone; false: *out is as it was. */
bool kr_cli_count(const char *text, size_t most, size_t *out);

/* Retentions from `high` down to `low` in steps of `step`; 1 >= high >= low > 0, step > 0. */
typedef struct {
    kr_dec high, low, step;
} kr_cli_ladder;

#define KR_CLI_LADDER_FORM "HIGH:LOW:STEP with 1 >= HIGH >= LOW > 0"

/* Reads "0.80:0.20:0.05", with percentages too; false when it is no ladder. */
bool kr_cli_ladder_read(const char *text, kr_cli_ladder *out);

/* Moves *level one step down; false below the ladder. */
bool kr_cli_ladder_next(const kr_cli_ladder *l, kr_dec *level);

#endif
