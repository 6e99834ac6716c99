/* job.h - one child process that reports in lines on a pipe. It runs in its own process group, so
 * that ending it ends whatever it started. Never blocks but in kr_job_free. */
#ifndef KR_UI_JOB_H
#define KR_UI_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct kr_job kr_job;

typedef enum {
    KR_JOB_RUNNING,
    KR_JOB_DONE,     /* exit status 0 */
    KR_JOB_FAILED,   /* another status, or a signal that was not ours */
    KR_JOB_CANCELED, /* by kr_job_cancel */
    KR_JOB_TIMEOUT,  /* ended at its time limit */
    KR_JOB_MEMORY    /* ended at its memory limit */
} kr_job_state;
const char *kr_job_state_name(kr_job_state s); /* "running", "done", "failed", ... */

typedef struct {
    int nice;           /* added to this program's */
    double max_seconds; /* wall time; 0: none */
    size_t max_bytes;   /* resident memory, where the system tells it; 0: none */
} kr_job_limits;

/* Longer lines are cut off and handed over with `cut`; the rest is dropped. */
#define KR_JOB_MAX_LINE ((size_t)16 << 20)

/* Each line without its end, NUL-terminated, valid during the call. */
typedef void (*kr_job_line)(void *arg, char *line, size_t len, bool cut);

/* Starts `program` with argv (NULL-terminated), standard input from /dev/null, output and messages
 * on the pipe, one BLAS thread. *out is owned by the caller, who calls kr_job_free once. KR_EIO when
 * it cannot be started; *out is then untouched. */
kr_status kr_job_start(const char *program, char *const argv[], kr_job_limits limits, kr_job **out,
                       kr_error *err);
/* To be polled for reading; -1 after the end of the output. */
int kr_job_fd(const kr_job *j);
long kr_job_pid(const kr_job *j); /* -1 once it has ended */

/* Takes what is there, at most a quarter of a megabyte, hands over whole lines, and looks after limits
 * and the end. Call it when the descriptor can be read and from time to time; `take` may be NULL. */
kr_job_state kr_job_poll(kr_job *j, kr_job_line take, void *arg);
/* TERM to the group; KILL by kr_job_poll three seconds later. */
void kr_job_cancel(kr_job *j);
/* Ends the job (TERM, after three seconds KILL), waits for it, releases all. NULL is allowed. */
void kr_job_free(kr_job *j);

double kr_job_seconds(const kr_job *j);   /* since the start, until the end */
size_t kr_job_bytes(const kr_job *j);     /* resident memory when last looked at; 0 unknown */
/* How it ended: "exit status 1", "signal 9"; "" while it runs. */
const char *kr_job_end(const kr_job *j);

#endif
