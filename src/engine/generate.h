/* generate.h - greedy continuation of one prompt. */
#ifndef KR_ENGINE_GENERATE_H
#define KR_ENGINE_GENERATE_H

#include "base/status.h"
#include "engine/kv.h"
#include "engine/model.h"
#include "engine/run.h"

typedef enum {
    KR_STOP_TOKEN,  /* the model ended its text */
    KR_STOP_LENGTH, /* as many tokens as asked for */
    KR_STOP_ROOM    /* the cache is full */
} kr_stop;

/* "token", "length", "room" */
const char *kr_stop_name(kr_stop s);

typedef struct {
    size_t max_tokens;  /* >= 1 */
    bool ignore_stops;  /* go on after tokens that end a text */
    kr_logits_fn each;  /* gets the logits of every fed position in order, or NULL */
    void *each_arg;
} kr_generate_options;

/* Feeds prompt[n] to kv and appends the most likely token until something stops it.
 * tokens  [max_tokens]; a token that ends the text is the last one in it
 * The last token is not fed, so n + *n_tokens - 1 positions are. Errors as in kr_run_prefill; kv
 * then holds what was fed before. One allocation, before the first token. */
kr_status kr_generate(kr_run *r, const kr_model *m, kr_kv *kv, const int32_t *prompt, size_t n,
                      const kr_generate_options *opt, int32_t *tokens, size_t *n_tokens,
                      kr_stop *why, kr_error *err);

#endif
