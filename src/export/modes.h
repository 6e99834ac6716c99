/* modes.h - one claim about one method as a JSON object, with its sentence. */
#ifndef KR_EXPORT_MODES_H
#define KR_EXPORT_MODES_H

#include "verdict/modes.h"

/* Walks the method by this mode and writes {"mode","method","state","status","decision","retention",
 * "threshold","level","n","max_events","events","p_value","upper_bound", the mode's parameters,
 * "statement","candidates","room"}: null where there is none. Errors as kr_mode_walk, nothing written. */
kr_status kr_export_mode(kr_analysis *a, const kr_mode *mode, size_t method, kr_mode_line *line,
                         kr_buf *out, kr_error *err);

/* ,"modes":[...] of a method: the tables for choices after looking, and the claim that the file
 * declares. Nothing on failure to compute one. */
void kr_export_modes(kr_analysis *a, size_t method, kr_buf *out);

#endif
