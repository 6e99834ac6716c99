/* reeval_log.h - what a job did and said, line by line; the oldest lines go first. */
#ifndef KR_UI_REEVAL_LOG_H
#define KR_UI_REEVAL_LOG_H

#include <stddef.h>
#include <time.h>

enum { KR_LOG_LINES = 1000, KR_LOG_LINE = 600 };

typedef struct {
    time_t when;
    char *text; /* safe to print, at most KR_LOG_LINE bytes */
} kr_log_line;

typedef struct {
    kr_log_line *line; /* [n] oldest first */
    size_t n, cap, lost;
} kr_log;

/* A line that cannot be kept for want of memory counts as lost. */
void kr_log_add(kr_log *l, time_t when, const char *text, size_t len);
void kr_log_free(kr_log *l);

#endif
