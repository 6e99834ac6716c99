/* eval.h - the parts of `kvrisk eval`. */
#ifndef KR_CLI_EVAL_H
#define KR_CLI_EVAL_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/methods.h"
#include "sample/eval_json.h"

enum { KR_CLI_MAX_IDS = 4096 };

/* The command line, read. */
typedef struct {
    const char *model, *requests, *preset_name, *ladder;
    const kr_evict_preset *preset;
    const char *policy[KR_CLI_MAX_ARMS];
    const char *id[KR_CLI_MAX_IDS];
    size_t n_policies, n_ids, limit;
    bool json, detail, have_protocol;
    kr_dec tolerance;
    kr_eval_options eval;
    kr_evict_spec *arm;
    size_t n_arms;
} kr_cli_eval_args;

/* Evaluates; returns the exit status after its messages. */
int kr_cli_eval_run(kr_cli_eval_args *o);

/* Prints the policies with their parameters, and the presets. */
void kr_cli_eval_list(void);

/* Prints what one request gave. */
void kr_cli_eval_request(const kr_cli_eval_args *o, const kr_sample_request *q,
                         const kr_eval_result *r);

/* Prints the last lines: events[n_arms] among the n requests that did not fail. */
void kr_cli_eval_summary(const kr_cli_eval_args *o, size_t n, size_t failed, const size_t *events,
                         double seconds);

#endif
