/* study.h - a calibration file with its ledger: explore some rows freely, lock a contract, confirm it
 * on rows that were not opened before.
 *
 * The rules: (i) several contracts locked before the rows are opened each have their own delta, and
 * the certificate prints their sum; (ii) whatever is locked after rows were opened is exploratory on
 * them and confirmatory only on rows added later; (iii) the same test on the same rows again spends
 * nothing; (iv) looks at a growing file share the lock's delta, and how many requests it has at each is
 * locked as well. A lock without such sizes has one look, at any size, and whatever opened some of its
 * rows before the file grew, this lock or another, was that look.
 *
 * A row counts as opened also when one that belongs together with it was: of the same cluster or
 * prompt, or with an id that differs in case alone. */
#ifndef KR_LEDGER_STUDY_H
#define KR_LEDGER_STUDY_H

#include "ledger/known.h"
#include "verdict/verdict.h"

/* --- ordinary commands and screens ------------------------------------------------------------ */

/* Loads a file for looking at it: all of it, or the exploration rows only where it has a ledger (then
 * nothing is ever LOCKED, nor where some of its requests belong to another ledger that the state
 * directory remembers). Fills what the analysis must be told in `options->home`. KR_EFORMAT for a damaged
 * ledger. */
kr_status kr_study_look(const char *path, kr_calib **c, kr_analysis_options *options,
                        kr_error *err);

/* --- the ledger's own commands ---------------------------------------------------------------- */

typedef struct {
    char *path; /* of the ledger */
    kr_calib *calib;
    kr_ledger ledger;
    bool *explore, *confirm; /* [rows]; NULL without a ledger */
    uint32_t *group;         /* [rows] the first of those that belong together; NULL without a ledger */
    kr_known known;          /* what the state directory remembers of this ledger */
    kr_known_other other;    /* another one that knows requests of the file */
    kr_error doubt;          /* code other than KR_OK: it cannot be read */
    kr_prints prints;        /* made when needed */
} kr_study;

/* KR_EFORMAT with a sentence when the ledger is damaged, or is not the one last written for these
 * rows, or the file's old rows are no longer what they were, or requests of the file belong to another
 * ledger. */
kr_status kr_study_open(const char *path, kr_study *out, kr_error *err);
void kr_study_close(kr_study *s);

/* The first entry: budget, split. KR_EINVAL when there is a ledger already. */
kr_status kr_study_start(kr_study *s, const kr_ledger_entry *start, kr_error *err);

/* Sums over the locks of the ledger: delta that confirmed locks took, that open ones hold, and what
 * the budget leaves. */
typedef struct {
    kr_dec budget, spent, held, left;
} kr_study_budget;
kr_study_budget kr_study_budget_of(const kr_study *s);

/* What became of a lock so far. */
typedef struct {
    int64_t looks;    /* taken */
    int64_t explored; /* tests of it that were exploratory */
    int64_t entry;    /* of its last test; 0: none */
    kr_dec spent;     /* of its delta; the rest is held */
} kr_lock_use;
kr_lock_use kr_study_use_of(const kr_study *s, const kr_ledger_entry *lock);

/* Enters a lock. KR_EINVAL when its delta exceeds what is left, or for a method that is not there. */
kr_status kr_study_lock(kr_study *s, const kr_ledger_entry *lock, kr_error *err);

/* Rows that a lock made now would be tested on, 0 where all were opened before (then it is exploratory
 * until the file grows). */
kr_status kr_study_fresh(const kr_study *s, size_t *rows, kr_error *err);

/* A lock tested. */
typedef struct {
    kr_calib *c; /* the rows tested */
    kr_analysis *a;
    kr_ledger_entry lock, entry;
    bool rerun;       /* as entered before, nothing spent again */
    bool exploratory; /* nothing is certified, `text` says why */
    bool found;       /* the line has something certified of what was locked */
    size_t method;    /* the line that the certificate is about */
    kr_dec delta_sum; /* of all locks on these rows */
    kr_study_budget budget;
    char head[KR_SHA256_HEX];
    size_t entries;
    char text[512]; /* what the state rests on */
} kr_confirmation;

/* lock: the number of its entry, 0 for the last lock. Enters the result. */
kr_status kr_study_confirm(kr_study *s, int64_t lock, kr_confirmation **out, kr_error *err);
void kr_confirmation_free(kr_confirmation *c);

/* The certificate as JSON: the operating point with "ledger". */
void kr_confirmation_json(kr_confirmation *c, kr_buf *out);

/* The test of entry `number` as it was when the ledger had its first `entries`: from the rows that
 * the file had then, without entering anything. KR_EFORMAT when they do not give that entry any more. */
kr_status kr_study_repeat(const kr_study *s, int64_t entries, int64_t number, kr_confirmation **out,
                          kr_error *err);

/* Makes the certificate again from the ledger and the file and compares every member, and checks that
 * its decision follows from its own counts. KR_EFORMAT with the first member that differs, and both
 * values. What may differ is not compared: the file's name, kvrisk's version, whether it was a rerun,
 * and the file's hash where the file has grown. *entry (may be NULL): the number of the entry. */
kr_status kr_study_verify(const kr_study *s, const char *certificate, int64_t *entry, kr_error *err);

#endif
