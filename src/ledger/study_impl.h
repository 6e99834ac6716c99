/* study_impl.h - what the sources of the study share. */
#ifndef KR_LEDGER_STUDY_IMPL_H
#define KR_LEDGER_STUDY_IMPL_H

#include "ledger/study.h"

/* Fills explore and confirm by the ledger's start; checks what its entries pin of the file. */
kr_status kr_study_split(kr_study *s, kr_error *err);
/* The rows' fingerprints, made once. */
kr_status kr_study_need_prints(kr_study *s, kr_error *err);

/* opened[row] spreads to the rows that belong together with an opened one. */
kr_status kr_study_spread(const kr_study *s, bool *opened, kr_error *err);
/* KR_EINVAL when the rows that a lock entered now would be tested on depend on each other, so that its
 * test would be refused and its delta lost. */
kr_status kr_study_check_fresh(const kr_study *s, kr_error *err);

/* Enters e while no other program writes to the ledger, and remembers rows and head. */
kr_status kr_study_append(kr_study *s, const kr_ledger_entry *e, kr_error *err);
/* Remembers what was entered but not remembered, or at another place. */
kr_status kr_study_catch_up(kr_study *s, kr_error *err);
/* *to += v; what does not fit is more than any budget. */
void kr_study_sum(kr_dec *to, kr_dec v);

#endif
