/* table.h - rows of what a method gets under one contract, for sweep and map. */
#ifndef KR_CLI_TABLE_H
#define KR_CLI_TABLE_H

#include "verdict/verdict.h"

/* CSV columns of one (contract, method) point, and the row itself. */
#define KR_POINT_COLUMNS                                                                           \
    "tolerance,risk,confidence,method,decision,retention,threshold,events,max_events,"             \
    "empirical_retention,empirical_threshold"
void kr_cli_point_csv(const kr_calib *c, size_t method, kr_contract k, const kr_point *p,
                      kr_buf *out);
/* The same as a JSON object. */
void kr_cli_point_json(const kr_calib *c, size_t method, kr_contract k, const kr_point *p,
                       kr_buf *out);

#endif
