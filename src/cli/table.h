/* table.h - rows of what a method gets under one contract, for sweep and map. */
#ifndef KR_CLI_TABLE_H
#define KR_CLI_TABLE_H

#include "verdict/joint.h"

typedef struct {
    size_t method;
    kr_contract k;
    kr_point point, joint;
    kr_state state, joint_state; /* a point picked from a table is WHAT-IF; a joint table may be LOCKED */
} kr_cli_point;

/* CSV columns of one (contract, method) point, and the row itself. */
#define KR_POINT_COLUMNS                                                                           \
    "tolerance,risk,confidence,method,decision,retention,threshold,events,max_events,"             \
    "empirical_retention,empirical_threshold,state,joint_retention,joint_threshold,joint_max_events," \
    "joint_state"
void kr_cli_point_csv(const kr_calib *c, const kr_cli_point *p, kr_buf *out);
/* The same as a JSON object. */
void kr_cli_point_json(const kr_calib *c, const kr_cli_point *p, kr_buf *out);

/* The pointwise verdict and, beside it, that of the joint table of this kind (verdict/joint.h). */
kr_status kr_cli_point_make(kr_analysis *a, kr_mode_kind kind, size_t method, kr_contract k,
                            kr_cli_point *out, kr_error *err);

#endif
