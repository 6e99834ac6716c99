/* native.h - the keys of the native file format, shared by its reader and writer (private). */
#ifndef KR_CALIB_NATIVE_H
#define KR_CALIB_NATIVE_H

#include "base/arena.h"
#include "base/json.h"
#include "calib/calib.h"

/* What the header says, in an arena of its own. */
typedef struct {
    kr_arena arena;
    kr_calib_meta meta;
    const char **task; /* [n_tasks] */
    size_t n_tasks;
    kr_policy *policy; /* [n_policies] */
    size_t n_policies;
    int64_t announced; /* "n": how many requests the file says it has; 0 where it does not say */
    bool has_requests; /* the rows are inside this object, at `requests` */
    kr_json requests;
} kr_native_header;

/* Reads one header object at the cursor. On failure j->failed is set and j->err says why. */
bool kr_native_read_header(kr_json *j, kr_native_header *h);

#endif
