/* reeval.h - re-evaluation on sample requests: what is asked for, the children that work on it, and
 * what came back. The work is done by `kvrisk eval` in another process; nothing here computes with
 * a model. For the files of ui/ only. */
#ifndef KR_UI_REEVAL_H
#define KR_UI_REEVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "calib/calib.h"
#include "sample/request.h"
#include "ui/eval_line.h"
#include "ui/job.h"
#include "ui/reeval_fetch.h"
#include "ui/reeval_log.h"

typedef struct kr_app kr_app;

enum { KR_RE_RUNS = 24, KR_RE_SAMPLES = 4000, KR_RE_NICE = 10, KR_RE_WHY = 200 };
#define KR_RE_NO_ROW ((size_t)-1)

/* One request under one policy. */
typedef struct {
    size_t q;      /* request, of the requests file */
    size_t policy; /* of the calibration set */
    int64_t utility, full; /* nano-units or KR_MISSING */
    char *answer;
    double retained, margin, full_margin;
    int64_t bytes, parted;
    kr_eval_heads heads; /* positions only where a single request was asked for */
} kr_measure;

/* One request with full KV. */
typedef struct {
    bool known;
    char *answer;
    int64_t n, bytes, steps;
    double prefill_s, score_s, decode_s;
    char *pieces; /* texts of the prompt's tokens, as in kr_eval_line; NULL until asked for */
    size_t *piece_at, n_pieces;
} kr_full_run;

/* One child and what it was asked for. */
typedef struct {
    int number;        /* of jobs on samples, from 1 */
    size_t method;
    size_t *want;      /* [n_want] requests, in the order of the work */
    size_t n_want;
    size_t *policies;  /* [n_policies] */
    size_t n_policies;
    size_t *result;    /* [n_result] of the measures, request after request */
    size_t n_result, failed, odd; /* odd: lines that could not be understood */
    bool random;       /* a random sample, not chosen requests */
    bool written;      /* its results are in a file */
    bool others;       /* the child read other requests than this process */
    char what[96];     /* "sample of 100", "events of vt" */
    kr_job *job;       /* NULL once it has ended */
    kr_job_state state;
    int64_t at;        /* request at work, from 1; 0 before the first */
    char phase[16], message[240], end[48];
    int64_t tokens;    /* of prompts and answers so far */
    double prefill_s, score_s, decode_s; /* sums over n_full requests; negative ones left out */
    int64_t steps;
    double full_bytes, bytes, retained;  /* sums; the last two over n_result */
    size_t n_full;
    kr_log log;
    double seconds, first_s; /* first_s: until the first request was done */
    int64_t peak;
} kr_re_run;

/* What stands below the job where not all fits. */
typedef enum { KR_RE_BELOW_RESULTS, KR_RE_BELOW_TIMES, KR_RE_BELOW_LOG, KR_RE_BELOWS } kr_re_below;

typedef struct {
    char program[256]; /* this program */
    char model[512], requests[512], task[128];
    char protocol[32];
    char state_path[1024]; /* where numbers of jobs are kept from one session to the next; "" not */
    size_t samples, threads;
    uint64_t seed;
    double max_seconds;
    size_t max_bytes;

    kr_fetch *requests_fetch, *model_fetch; /* at work; NULL none */
    char requests_error[300], model_sha256[KR_SHA256_HEX];
    kr_stamp model_stamp;
    bool model_known; /* it was hashed; "" when it could not be read */
    kr_sample_requests *file; /* NULL until they are read */
    size_t rows;              /* of the split that have a text */
    struct {                  /* requests that may be drawn, counted for this task */
        bool known;
        size_t n;
        char task[128];
    } fit;
    size_t *row;              /* [file->n] of the calibration set, KR_RE_NO_ROW: none */
    kr_full_run *full;        /* [file->n] */
    kr_measure *m;
    size_t n_m, cap_m;

    kr_re_run run[KR_RE_RUNS]; /* jobs on samples, oldest first */
    size_t n_runs, shown;
    int numbers;
    kr_re_run one;             /* the job on a single request */
    bool one_again;            /* another was asked for while it was at work */

    bool differing; /* list only results that differ from the stored ones */
    size_t view_q;  /* request view: which */
    bool view_heads;
    int heads_at, heads_x; /* first layer and first head of those shown */
    kr_re_below below;
    int field; /* of the form */
    int log_top, log_end; /* first row of the log that is shown, and where it would be the last */
    bool log_stay; /* does not follow its end */
    time_t clock; /* shown instead of the time of day where not 0: for tests */
} kr_reeval;

/* For the calibration set that was read from `path`. NULL: memory. */
kr_reeval *kr_reeval_new(const char *path, const kr_calib *calib);
/* Sizes, limits and the view, as they are in the other. */
void kr_reeval_keep_settings(kr_reeval *r, const kr_reeval *other);
void kr_reeval_free(kr_reeval *r);         /* ends all children; NULL is allowed */
/* Everything measured belongs to a calibration set: for when another one is read. */
void kr_reeval_forget(kr_app *a);

/* --- the files that are worked on ---------------------------------------------------------------- */
/* Begins to read and hash them where a screen shows something of it. */
void kr_reeval_look(kr_app *a);
/* Which rows the requests are, anew: for when the same file is read again. */
void kr_reeval_match(kr_app *a);
bool kr_reeval_reading(const kr_app *a);
/* Rows of the present split that the requests have a text for. */
size_t kr_reeval_rows(const kr_app *a);

/* A file against the hashes that the calibration file names. */
typedef enum {
    KR_SOURCE_UNNAMED,   /* it names none */
    KR_SOURCE_UNCHECKED, /* not read yet */
    KR_SOURCE_SAME,
    KR_SOURCE_PART,      /* named as a part of the requests */
    KR_SOURCE_OTHER
} kr_source_match;
kr_source_match kr_reeval_requests_match(const kr_app *a);
kr_source_match kr_reeval_model_match(const kr_app *a);

/* Whether results may be compared with the stored utilities; `why` says why not, or why that is not
 * known, else it is "". u: the job, NULL for what would be started now. */
typedef enum { KR_COMPARABLE_YES, KR_COMPARABLE_UNKNOWN, KR_COMPARABLE_NO } kr_comparable;
kr_comparable kr_reeval_comparable(const kr_app *a, const kr_re_run *u, char why[KR_RE_WHY]);

/* Starts what `r` means on the present screen. */
void kr_reeval_start_here(kr_app *a);
void kr_reeval_cancel(kr_app *a);
/* Reads what children said; true when there is something new. */
bool kr_reeval_poll(kr_app *a);
bool kr_reeval_busy(const kr_app *a);     /* any child is at work */
size_t kr_reeval_unwritten(const kr_app *a); /* jobs with results that are in no file */
bool kr_reeval_sampling(const kr_app *a); /* one that is worth a question before it is ended */
/* Waits until all children have ended: for output without a terminal. */
void kr_reeval_wait(kr_app *a);
/* Takes samples, seed, threads and seconds as they were last, and keeps them there from now on. */
void kr_reeval_remember(kr_app *a, const char *path);
/* :eval NAME VALUE. Asks before results go that are in no file; the second is for the answer yes. */
void kr_reeval_set(kr_app *a, const char *name, const char *value);
void kr_reeval_set_asked(kr_app *a);

/* --- the form before a job ---------------------------------------------------------------------- */
typedef enum {
    KR_RE_METHOD, KR_RE_LEVEL, KR_RE_SAMPLES_FIELD, KR_RE_SEED, KR_RE_TASK, KR_RE_PROTOCOL,
    KR_RE_THREADS, KR_RE_SECONDS, KR_RE_MODEL, KR_RE_REQUESTS, KR_RE_FIELDS
} kr_re_field;
enum { KR_RE_TEXT = 300 };
void kr_reeval_form(kr_app *a); /* opens it, unless a job is at work */
const char *kr_reeval_field_name(kr_re_field f);
void kr_reeval_field_text(const kr_app *a, kr_re_field f, char out[KR_RE_TEXT]);
/* Its range, or what there is to say of its value; `bad`: that is a warning. */
void kr_reeval_field_note(kr_app *a, kr_re_field f, char out[KR_RE_TEXT]);
bool kr_reeval_field_bad(const kr_app *a, kr_re_field f);
/* The field with the focus: another one, a step, a prompt for its value, and what was typed there. */
void kr_reeval_field_move(kr_app *a, int by, bool around);
void kr_reeval_field_step(kr_app *a, int by);
void kr_reeval_field_ask(kr_app *a);
void kr_reeval_field_take(kr_app *a, const char *text);
/* Requests of the split and the task that may be drawn. */
size_t kr_reeval_fitting(kr_app *a);

/* The job that is shown; NULL before the first. */
const kr_re_run *kr_reeval_shown(const kr_app *a);
void kr_reeval_show_other(kr_app *a, int by); /* one before or after it */
/* "no job", "job 2  57 %", "job 2 done". */
void kr_reeval_title(const kr_app *a, char out[40]);

/* What a job found at the tolerance, over results with a utility or without. */
typedef struct {
    size_t n, events, stored_n, stored_events, agree; /* stored_n: rows that the file has, too */
    double lo, hi; /* of the rate, at any stopping time; NaN where requests were chosen */
    int64_t differ_most;      /* nano-units */
} kr_re_sums;
kr_re_sums kr_reeval_sums(const kr_app *a, const kr_re_run *run);
/* Utility and full utility equal to the stored ones. False where nothing is stored, too. */
bool kr_reeval_agrees(const kr_app *a, const kr_measure *m);
/* Results in the list: the n-th shown; NULL beyond. */
const kr_measure *kr_reeval_listed(const kr_app *a, size_t n);
size_t kr_reeval_listed_count(const kr_app *a);

/* --- the request view ------------------------------------------------------------------------- */
void kr_reeval_open(kr_app *a, size_t q);
/* Asks for what the view lacks at the present method. */
void kr_reeval_need(kr_app *a);
/* With positions where `whole`; NULL when not measured. */
const kr_measure *kr_reeval_find(const kr_app *a, size_t q, size_t policy, bool whole);

/* The results of the job that is shown are in a file now. */
void kr_reeval_written(kr_app *a);
/* The results of the job that is shown as a calibration file (JSON Lines), answers included. */
kr_status kr_reeval_text(const kr_app *a, kr_buf *out, kr_error *err);

/* --- the log ---------------------------------------------------------------------------------- */
void kr_reeval_log(const kr_app *a, kr_re_run *u, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The log of the job that is shown, with times. */
kr_status kr_reeval_log_text(const kr_app *a, kr_buf *out, kr_error *err);

#endif
