/* rows.h - the requests of a split in an order of their own, with their tasks and clusters as
 * numbers. Requests with the same prompt belong to one cluster, whatever the file says. */
#ifndef KR_VERDICT_ROWS_H
#define KR_VERDICT_ROWS_H

#include "calib/calib.h"

typedef struct {
    size_t n;
    size_t *row;      /* [n] by task, then by id: does not depend on the order in the file */
    uint32_t *task;   /* [n] */
    int64_t *cluster; /* [n] equal numbers belong together; -1 alone */
    size_t clusters;  /* numbered ones */
} kr_rows;

kr_status kr_rows_of(const kr_calib *c, kr_split s, kr_rows *out, kr_error *err);
void kr_rows_free(kr_rows *r);

#endif
