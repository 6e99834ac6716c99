/* joint.h - verdicts for a tolerance, a risk target or a confidence that is picked after looking.
 *
 * A joint table holds as a whole with probability 1 - delta_x (risk/posthoc.h); delta_x is a budget
 * of its own, declared with the contract ("explore"), and adds to the contract's delta. Where no
 * grid was declared the level delta_x/m holds for any tolerance, or any risk target, at all. A
 * policy that is certified at a point of a declared grid is so at every larger tolerance and risk
 * target as well, so a value between two points takes the lower one. */
#ifndef KR_VERDICT_JOINT_H
#define KR_VERDICT_JOINT_H

#include "verdict/verdict.h"

/* kind: KR_MODE_TOLERANCES, KR_MODE_RISKS, KR_MODE_MAP or KR_MODE_CONFIDENCE. */

/* delta_x, and whether the file declared it for this kind. */
kr_dec kr_joint_delta(const kr_analysis *a, kr_mode_kind kind, bool *declared);
/* The level of one cell: delta_x over the number of distinct first errors, and over the methods in a
 * family; for KR_MODE_CONFIDENCE what the confidence leaves. */
kr_level kr_joint_level(const kr_analysis *a, kr_mode_kind kind, size_t method, kr_contract k);

/* k moved to the declared point that speaks for it (the largest not above); false where none does,
 * then nothing is certified there. */
bool kr_joint_contract(const kr_analysis *a, kr_mode_kind kind, kr_contract *k);
/* The level of each candidate's upper limit when all of them hold at once, for any risk target:
 * false where the declared table is another one. */
bool kr_joint_limits_level(const kr_analysis *a, size_t method, kr_level *out);

/* What the method gets at k. Beside the pointwise kr_analysis_at. */
kr_status kr_joint_at(kr_analysis *a, kr_mode_kind kind, size_t method, kr_contract k,
                      kr_point *out, kr_error *err);

/* LOCKED where the file declared the table for this method and k lies in it, else WHAT-IF (or
 * REFUSED). */
kr_state kr_joint_state(const kr_analysis *a, kr_mode_kind kind, size_t method, kr_contract k);

/* What the table guarantees, in one sentence. */
void kr_joint_sentence(const kr_analysis *a, kr_mode_kind kind, size_t method, kr_buf *out);

/* Smallest tolerance at which a candidate, had it been declared alone, is certified (any larger one
 * as well); false where there is none or for published counts. */
bool kr_joint_tolerance_at(const kr_analysis *a, size_t method, size_t index, int64_t max_events,
                           kr_dec *out); /* at another count than the line's */
bool kr_joint_tolerance(const kr_analysis *a, size_t method, size_t index, kr_dec *out);

#endif
