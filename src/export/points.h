/* points.h - rows of what a method gets under one contract, for sweeps and maps; the program and the
 * screens write the same columns. */
#ifndef KR_EXPORT_POINTS_H
#define KR_EXPORT_POINTS_H

#include "verdict/joint.h"

typedef struct {
    size_t method;
    kr_contract k;
    kr_point point, joint;
    /* WHAT-IF but for the analysis's own contract, which has its line's state, and for what is
     * refused or too small; a joint table may be LOCKED. */
    kr_state state, joint_state;
} kr_export_cell;

/* CSV columns of one (contract, method) point, and the row itself; sha256: of the file. */
#define KR_EXPORT_CELL_COLUMNS                                                                           \
    "tolerance,risk,confidence,method,decision,retention,threshold,events,max_events,"             \
    "empirical_retention,empirical_threshold,state,joint_retention,joint_threshold,joint_max_events," \
    "joint_state,sha256"
void kr_export_cell_csv(const kr_calib *c, const kr_export_cell *p, kr_buf *out);
/* The same as a JSON object. */
void kr_export_cell_json(const kr_calib *c, const kr_export_cell *p, kr_buf *out);

/* The pointwise verdict and, beside it, that of the joint table of this kind (verdict/joint.h). */
kr_status kr_export_cell_make(kr_analysis *a, kr_mode_kind kind, size_t method, kr_contract k,
                            kr_export_cell *out, kr_error *err);

#endif
