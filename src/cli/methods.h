/* methods.h - the policies that a list of methods and a ladder name. */
#ifndef KR_CLI_METHODS_H
#define KR_CLI_METHODS_H

#include "cli/values.h"
#include "evict/policy.h"

enum { KR_CLI_MAX_ARMS = 4096 };

/* Reads "snapkv,adakv,alpha=0.3,refreekv:0.001,0.01": names of methods, each with its parameters
 * and thresholds or retentions behind it; the others get those of the ladder. `preset` may be NULL.
 * arm [KR_CLI_MAX_ARMS] in the order of the list, *n of them. KR_EINVAL with a sentence. */
kr_status kr_cli_methods_read(const char *list, const kr_cli_ladder *ladder,
                              const kr_evict_preset *preset, kr_evict_spec *arm, size_t *n,
                              kr_error *err);

#endif
