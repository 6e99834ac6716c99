#include "engine/generate.h"

#include <stdlib.h>

const char *kr_stop_name(kr_stop s) {
    static const char *const names[] = {
        [KR_STOP_TOKEN] = "token", [KR_STOP_LENGTH] = "length", [KR_STOP_ROOM] = "room"};
    return names[s];
}

static kr_status step(kr_run *r, kr_kv *kv, int32_t token, float *logits,
                      const kr_generate_options *opt, kr_error *err) {
    size_t pos = (size_t)kv->next;
    kr_status st = kr_run_step(r, 1, &kv, &token, logits, NULL, err);
    if (st == KR_OK && opt->each != NULL)
        st = opt->each(opt->each_arg, pos, logits, err);
    return st;
}

kr_status kr_generate(kr_run *r, const kr_model *m, kr_kv *kv, const int32_t *prompt, size_t n,
                      const kr_generate_options *opt, int32_t *tokens, size_t *n_tokens,
                      kr_stop *why, kr_error *err) {
    float *logits = calloc(m->geo.vocab, sizeof *logits);
    if (logits == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for logits");
    size_t made = 0;
    kr_stop stop = KR_STOP_LENGTH;
    kr_status st = kr_run_prefill(r, kv, prompt, n, logits, opt->each, opt->each_arg, NULL, err);
    while (st == KR_OK) {
        int32_t next = kr_run_argmax(logits, m->geo.vocab);
        tokens[made++] = next;
        if (m->tok != NULL && !opt->ignore_stops && kr_tok_stops(m->tok, next)) {
            stop = KR_STOP_TOKEN;
            break;
        }
        if (made == opt->max_tokens)
            break;
        if (kr_kv_room(kv) == 0) {
            stop = KR_STOP_ROOM;
            break;
        }
        st = step(r, kv, next, logits, opt, err);
    }
    free(logits);
    if (st != KR_OK)
        return st;
    *n_tokens = made;
    *why = stop;
    return KR_OK;
}
