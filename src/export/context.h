/* context.h - what a certificate rests on, beside its verdict (private to the room). */
#ifndef KR_EXPORT_CONTEXT_H
#define KR_EXPORT_CONTEXT_H

#include "verdict/modes.h"

/* ,"utility":{...},"strata":[...],"dependence":{...},"order":{...},"procedure":{...},"caveats":[...],
 * "warnings":[...]: unit of the tolerance, numbers and shares of the tasks, who depends on whom, hash of
 * the candidates in their order, how error levels are spent, what is not claimed, what was odd. */
void kr_export_context(const kr_analysis *a, size_t method, kr_buf *b);

/* ,"tasks":[...],"violating_tasks":[...],"not_shown_tasks":[...] of the certified candidate, with
 * simultaneous intervals; null without one. */
void kr_export_tasks(kr_analysis *a, size_t method, kr_buf *b);

/* ,"room":{...}: how far the mixture may move (kr_mode_room); null where that does not apply. */
void kr_export_room(kr_analysis *a, const kr_mode *mode, size_t method, kr_buf *b);

/* [{"task","weight":"num/den"},...] */
void kr_export_weights(const kr_calib *c, const kr_ratio *w, kr_buf *b);

#endif
