/* certificate.h - an exported certificate as a document (private to the room). */
#ifndef KR_LEDGER_CERTIFICATE_H
#define KR_LEDGER_CERTIFICATE_H

#include <cjson/cJSON.h>

#include "ledger/study.h"

/* Strict: what cJSON would let pass (repeated members, numbers that are none, great depth) is refused.
 * The caller frees with cJSON_Delete. `name` is for messages. */
kr_status kr_certificate_parse(const char *text, size_t len, const char *name, cJSON **out, kr_error *err);

/* Whether p-values, verdicts and decision of a certificate follow from its counts, its contract and its
 * error level alone. KR_EFORMAT with the member that does not. */
kr_status kr_certificate_recount(const cJSON *doc, const char *name, kr_error *err);

#endif
