/* verdict.h - a calibration set judged under a contract: what the command line prints, the screens
 * draw and an export carries, with the same numbers and the same sentences everywhere.
 *
 * This room joins calib (files) and risk (statistics), which do not know each other. */
#ifndef KR_VERDICT_VERDICT_H
#define KR_VERDICT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "calib/calib.h"
#include "risk/contract.h"
#include "risk/pertask.h"
#include "risk/sequence.h"
#include "verdict/declared.h"
#include "verdict/repeats.h"

/* How much a verdict may be trusted, in words on every screen and in every export. */
typedef enum {
    KR_STATE_LOCKED,      /* the contract declared in the file, on the certification split */
    KR_STATE_WHAT_IF,     /* anything else: exploration, no guarantee */
    KR_STATE_REFUSED,     /* the data do not support the claim (clusters) */
    KR_STATE_N_TOO_SMALL, /* not even zero events would certify */
    KR_STATE_UNDECIDED    /* a p-value too close to delta to decide in floating point */
} kr_state;
const char *kr_state_name(kr_state s); /* "LOCKED", "WHAT-IF", "REFUSED", "N TOO SMALL", ... */

typedef enum { KR_FROM_FILE, KR_FROM_DEFAULT, KR_FROM_USER } kr_contract_source;
const char *kr_contract_source_name(kr_contract_source s); /* "file", "default", "given" */

/* One policy of a method's candidate sequence. */
typedef struct {
    size_t policy;
    int64_t events, n, missing;
    double rate;        /* events / n */
    double p_value;     /* guarded binomial p-value */
    double upper_bound; /* upper confidence limit at 1 - delta, pointwise */
    kr_verdict verdict; /* pass, stop, untested: kr_verdict_name */
    bool has_test;
    int64_t test_events, test_n;
    double test_rate, test_p_value, test_upper_bound;
} kr_candidate_row;

typedef enum { KR_ST_OK, KR_ST_CANNOT_CERTIFY, KR_ST_UNDECIDED, KR_ST_REFUSED } kr_verdict_status;
const char *kr_verdict_status_name(kr_verdict_status s); /* "ok", "cannot_certify", ... */

/* The verdict on one method. Indices count within the method's candidates; -1 means full KV. */
typedef struct {
    size_t method;
    kr_verdict_status status;
    int certified;  /* last candidate that passed, -1: full-KV fallback */
    int stopped;    /* candidate at which the walk stopped, -1: none did */
    kr_stop why;    /* it stopped */
    int empirical;  /* what empirical thresholding would choose, without guarantee; -1: full KV */
    bool empirical_certified; /* the walk passed that candidate as well */
    int64_t certified_events, stopped_events, empirical_events; /* -1 where there is none */
    int64_t max_events; /* largest certifiable count at the level this line was tested at, or -1 */
} kr_line;

/* A calibration set with one contract. Reading functions are const and fast: the lines are walked
 * once when the contract is set. */
typedef struct kr_analysis kr_analysis;

/* Where the contract that may be LOCKED comes from. */
typedef enum {
    KR_HOME_FILE,  /* the file's header, if it declares one */
    KR_HOME_NONE,  /* nowhere: these rows are for exploring, whatever the file says */
    KR_HOME_LEDGER /* a lock that was entered before these rows were opened */
} kr_home_kind;

typedef struct {
    kr_home_kind kind;
    bool has;             /* a contract was declared */
    kr_contract contract; /* KR_HOME_LEDGER */
    const char *method;   /* it is for this method alone; NULL: for all lines. Borrowed */
    bool family;          /* it is for the choice among all methods */
    bool table_only;      /* it is for a joint table; a line at one contract is not the claim */
    const char *text;     /* KR_HOME_LEDGER, KR_HOME_NONE: one sentence that says so. Borrowed */
} kr_home;

typedef struct {
    kr_split split;
    bool assume_independent; /* clusters are present but the user vouches for independence */
    bool family;             /* start with one error budget for the choice among all methods */
    kr_home home;            /* zero: the file's */
} kr_analysis_options;

/* `c` is borrowed and must outlive the analysis. Starts at the file's declared contract, else at
 * the default (0.10 in kr_tolerance_unit, 0.05, 0.95; counts: their tolerance). */
kr_status kr_analysis_new(const kr_calib *c, kr_analysis_options options, kr_analysis **out,
                          kr_error *err);
void kr_analysis_free(kr_analysis *a); /* NULL is allowed */

const kr_calib *kr_analysis_calib(const kr_analysis *a);
kr_analysis_options kr_analysis_options_of(const kr_analysis *a);

/* From now on these rows are for exploring, as with KR_HOME_NONE: nothing is LOCKED any more. `text`
 * is borrowed. */
void kr_analysis_disown(kr_analysis *a, const char *text);

/* The contract the file declares, or the default; what `reset` goes back to. */
kr_contract kr_analysis_home(const kr_analysis *a);
const kr_home *kr_analysis_home_info(const kr_analysis *a);
/* Prompts that occur more than once; and whether requests depend on each other for that reason or
 * because they share clusters, which the plain tests refuse unless told to assume otherwise. */
const kr_repeats *kr_analysis_repeats(const kr_analysis *a);
bool kr_analysis_dependent(const kr_analysis *a);
/* What the file's contract declares beyond its numbers. */
const kr_declared *kr_analysis_declared(const kr_analysis *a);
/* The present contract is the declared one, on certification rows: what every mode needs to be
 * LOCKED, beside being the declared one itself. */
bool kr_analysis_at_home(const kr_analysis *a);
kr_contract_source kr_analysis_home_source(const kr_analysis *a);

/* Sets the contract and walks every method. KR_EINVAL (nothing changes) outside the contract's
 * domain, or for another tolerance than the one that counts were published at. Cost: about a binary
 * search per candidate until the walk stops. */
kr_status kr_analysis_set(kr_analysis *a, kr_contract contract, kr_error *err);
kr_contract kr_analysis_contract(const kr_analysis *a);

/* Each line alone at the whole error level (false), or all methods as one family (risk/family.h):
 * every certified line then holds together with the others, so one may be picked after looking. On
 * from the start where the file declares a family. */
kr_status kr_analysis_set_family(kr_analysis *a, bool family, kr_error *err);
bool kr_analysis_family(const kr_analysis *a);
/* KR_FROM_USER unless the contract equals the home contract. */
kr_contract_source kr_analysis_contract_source(const kr_analysis *a);

kr_state kr_analysis_state(const kr_analysis *a);
/* The declared contract speaks of this line as it is tested now, alone or in the family. */
bool kr_analysis_line_declared(const kr_analysis *a, size_t method);
/* Of one method's line: WHAT-IF for the others where the declared contract names a method. */
kr_state kr_analysis_line_state(const kr_analysis *a, size_t method);
/* Why the state is what it is, one or two sentences. */
void kr_analysis_state_sentence(const kr_analysis *a, kr_buf *out);
/* The error level every line starts at: delta, or delta/M in a family of M methods, whose lines
 * may end at a larger share (kr_analysis_line_limits). */
kr_level kr_analysis_level(const kr_analysis *a);
/* Level, largest certifiable count and so on that this line was tested at. */
const kr_limits *kr_analysis_line_limits(const kr_analysis *a, size_t method);
int64_t kr_analysis_n(const kr_analysis *a);
int64_t kr_analysis_max_events(const kr_analysis *a); /* -1: nothing can certify */
const kr_line *kr_analysis_line(const kr_analysis *a, size_t method);
size_t kr_analysis_certified_count(const kr_analysis *a); /* methods certified */
/* Requests of the split with at least one missing utility. */
int64_t kr_analysis_missing(const kr_analysis *a);

/* Candidate `index` of `method` with all its numbers (computed on demand). */
kr_candidate_row kr_analysis_candidate(const kr_analysis *a, size_t method, size_t index);

/* Adjusted p-values of a method's candidates under the procedure in use (fixed sequence, or the family),
 * out[candidates]: at most delta exactly where the candidate is certified at delta. */
kr_status kr_analysis_adjusted(kr_analysis *a, size_t method, double *out, kr_error *err);

/* What method's walk would give under another contract (for strips, maps and sweeps): certified
 * and empirical candidate index, -1 for full KV, and the largest certifiable count. Kmax is cached
 * per (n, risk, delta), so a strip or map costs little more than its binary searches. */
typedef struct {
    int certified, empirical;
    int64_t max_events, certified_events, stopped_events;
    int stopped;
    kr_level level; /* that the walk was at */
} kr_point;
kr_status kr_analysis_at(kr_analysis *a, size_t method, kr_contract contract, kr_point *out,
                         kr_error *err);
/* What a method's walk gives at a tolerance under any limits (for joint tables and e-values), and
 * limits by risk and level, cached. The pointer is good until the next call. */
kr_status kr_analysis_walk_limits(kr_analysis *a, size_t method, kr_dec tolerance,
                                  const kr_limits *limits, kr_point *out, kr_error *err);
const kr_limits *kr_analysis_limits(const kr_analysis *a, kr_dec risk, kr_level level);
/* The same as a line alone or as a member of the family, whatever the analysis is set to. */
kr_status kr_analysis_at_mode(kr_analysis *a, size_t method, bool family, kr_contract contract,
                              kr_point *out, kr_error *err);

/* What tolerances are counted in: 1 for utilities that run over at most 10, 100 for percent scales
 * (then the default tolerance is 10 instead of 0.10). */
int64_t kr_tolerance_unit(const kr_calib *c);
/* Whether no drop can exceed it: it is at least the whole range of utilities. */
bool kr_tolerance_says_nothing(const kr_calib *c, kr_dec tolerance);

/* Share of KV kept by a candidate of a method: nominal retention, else the realised mean, else NaN;
 * 1 for index -1 (full KV). */
double kr_share_kept(const kr_calib *c, size_t method, int index);
/* The same for a label: "65 %" style without the unit: "65", "87.5", "FULL", "thr 0.0005", "?". */
void kr_level_text(const kr_calib *c, size_t method, int index, kr_buf *out);

/* --- sentences ------------------------------------------------------------------------------ */

/* "task-uniform mixture of the 6 tasks" or "as-sampled mixture", for the statement. */
void kr_population_text(const kr_analysis *a, kr_buf *out);
/* The statement that goes beside a method's verdict, with its numbers; for full-KV fallback it says
 * why the walk stopped. Never without the word for what is not claimed. */
void kr_statement(const kr_analysis *a, size_t method, kr_buf *out);
/* The same for one method's line: its own state, and why it is that. */
void kr_line_state_sentence(const kr_analysis *a, size_t method, kr_buf *out);
void kr_line_overall_statement(const kr_analysis *a, size_t method, kr_buf *out);
/* The statement for all lines together (certify's top level). */
void kr_overall_statement(const kr_analysis *a, kr_buf *out);

/* --- tasks ---------------------------------------------------------------------------------- */

typedef struct {
    size_t task;
    int64_t n, events, missing;
    double rate, lower, upper; /* two-sided simultaneous Clopper-Pearson at delta / H */
    kr_task_flag flag;         /* kr_task_flag_name: ok, not shown, violates */
    double median, p90, worst; /* of the drop; NaN where missing */
} kr_task_row;
/* rows[H] for one policy under the analysis' contract. The drops of the last policies asked are
 * cached. H = kr_calib_tasks; KR_EINVAL for kind counts (they have no requests). */
kr_status kr_analysis_tasks(kr_analysis *a, size_t policy, kr_task_row *rows, kr_error *err);
/* Only the rate of events of each task, rates[H], NaN without requests: no intervals, so cheap. */
kr_status kr_analysis_task_rates(kr_analysis *a, size_t policy, double *rates, kr_error *err);
/* Whether that policy's drops are at hand, so that kr_analysis_tasks need not go through n. */
bool kr_analysis_tasks_ready(const kr_analysis *a, size_t policy);

#endif
