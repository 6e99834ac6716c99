/* subset.h - some requests of a calibration set as a set of their own. */
#ifndef KR_CALIB_SUBSET_H
#define KR_CALIB_SUBSET_H

#include "calib/calib.h"

/* The rows with keep[row] (all of them in the split "cal"), under `meta` (NULL: that of c). Path,
 * hash and stamp are those of c. KR_EFORMAT when no row is kept, KR_EINVAL for kind counts. */
kr_status kr_calib_subset(const kr_calib *c, const bool *keep, const kr_calib_meta *meta,
                          kr_calib **out, kr_error *err);

#endif
