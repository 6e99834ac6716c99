/* modes.h - one claim about one method as a JSON object, with its sentence. */
#ifndef KR_EXPORT_MODES_H
#define KR_EXPORT_MODES_H

#include "verdict/modes.h"

/* {"mode","method","state","status","decision","retention","threshold","level","n","max_events",
 * "events","p_value","upper_bound","statement"}: null where there is none. */
void kr_export_mode(const kr_analysis *a, const kr_mode *mode, size_t method,
                    const kr_mode_line *line, kr_buf *out);

/* ,"modes":[...] of a method: the tables for choices after looking, and the claim that the file
 * declares. Nothing on failure to compute one. */
void kr_export_modes(kr_analysis *a, size_t method, kr_buf *out);

#endif
