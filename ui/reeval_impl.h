/* reeval_impl.h - shared by the files of re-evaluation alone. */
#ifndef KR_UI_REEVAL_IMPL_H
#define KR_UI_REEVAL_IMPL_H

#include "ui/reeval.h"

void kr_re_full_free(kr_full_run *f);
const kr_re_run *kr_re_running(const kr_reeval *r); /* the job on a sample that is at work; NULL */

/* --- reeval_files.c --------------------------------------------------------------------------- */
bool kr_re_readable(const char *path);
bool kr_re_directory(const char *path);
void kr_re_find_requests(const char *path, const kr_calib *calib, char out[512]);
void kr_re_find_model(const char *path, const kr_calib *calib, const char *requests, char out[512]);
/* The requests, waiting for them where needed; false after a message. */
bool kr_re_have_requests(kr_app *a);
/* Takes over what was read meanwhile; true when there is something. */
bool kr_re_take_files(const kr_app *a);
void kr_re_free_files(kr_reeval *r);
bool kr_re_in_split(const kr_app *a, size_t row); /* KR_RE_NO_ROW is in both */

#endif
