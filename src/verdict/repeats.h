/* repeats.h - prompts that occur more than once. */
#ifndef KR_VERDICT_REPEATS_H
#define KR_VERDICT_REPEATS_H

#include "base/json.h"
#include "calib/calib.h"

/* Requests of a split whose prompt ("prompt_sha256" or "prompt" kept with the row) is that of another
 * one: how many beyond the first of each, and the ids of one such pair (borrowed from the rows, not
 * terminated). across: a prompt of this split is also in the other split. */
typedef struct {
    int64_t repeats;
    const char *first, *second;
    size_t first_len, second_len;
    bool across;
} kr_repeats;
kr_status kr_repeats_find(const kr_calib *c, kr_split s, kr_repeats *out, kr_error *err);

/* The raw text of the member that identifies a request's prompt; false without one. */
bool kr_prompt_of(const kr_request *r, kr_span *out);

#endif
