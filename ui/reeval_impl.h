/* reeval_impl.h - shared by reeval.c and reeval_read.c alone. */
#ifndef KR_UI_REEVAL_IMPL_H
#define KR_UI_REEVAL_IMPL_H

#include "ui/reeval.h"

void kr_re_full_free(kr_full_run *f);

#endif
