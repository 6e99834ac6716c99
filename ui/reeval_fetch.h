/* reeval_fetch.h - a file hashed, and read as requests where asked, on a thread of its own, so that no
 * key waits for it. */
#ifndef KR_UI_REEVAL_FETCH_H
#define KR_UI_REEVAL_FETCH_H

#include <stdbool.h>

#include "base/file.h"
#include "sample/request.h"

typedef struct kr_fetch kr_fetch;

/* NULL without memory or a thread. The caller frees it. */
kr_fetch *kr_fetch_start(const char *path, bool requests);
bool kr_fetch_ended(kr_fetch *f); /* without waiting; what follows may be asked for afterwards only */
void kr_fetch_wait(kr_fetch *f);
const char *kr_fetch_sha256(const kr_fetch *f); /* "" when it could not be read */
const kr_stamp *kr_fetch_stamp(const kr_fetch *f); /* of the file, taken before it was read */
const char *kr_fetch_error(const kr_fetch *f);
/* Hands the requests over, once; NULL when there are none. */
kr_sample_requests *kr_fetch_take(kr_fetch *f);
void kr_fetch_free(kr_fetch *f); /* stops hashing, waits for the end of reading; NULL is allowed */

#endif
