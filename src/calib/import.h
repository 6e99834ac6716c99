/* import.h - turns the outputs of evaluation tools into a calibration set.
 *
 * Four steps: open (find the runs below the paths and understand each: model, data, method, level),
 * read (score every row, join compressed runs to the full-KV run by keys), build (the calibration
 * set), summary. Whatever cannot be known is refused or reported; nothing is guessed silently. */
#ifndef KR_CALIB_IMPORT_H
#define KR_CALIB_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/decimal.h"
#include "base/status.h"
#include "calib/calib.h"

typedef enum { KR_NOTE_INFO, KR_NOTE_WARNING } kr_note_level;

typedef struct {
    kr_note_level level;
    char *text; /* one or more sentences, one line */
} kr_note;

/* What a request counts as where a run has no row for it. */
typedef enum {
    KR_LACK_EVENT, /* its utility is missing, which counts as a degradation event */
    KR_LACK_ROW,   /* the request is left out for all policies */
    KR_LACK_TASK   /* the whole task is left out */
} kr_lack;

/* All strings are borrowed for the life of the import. Zero-initialise. */
typedef struct {
    const char *kind; /* an importer's name; NULL or "auto": detected */
    const char *const *paths;
    size_t n_paths;
    const char *const
        *levels; /* "METHOD=R" or "METHOD@TEXT=R" (runs whose name holds TEXT); R: share
                                * kept, "threshold:X", "budget:N" (tokens per head) or "bits:N" */
    size_t n_levels;
    const char *const *methods; /* "TEXT=NAME": runs whose name holds TEXT are of method NAME */
    size_t n_methods;
    const char *const *only; /* shell patterns for run names: others are left out */
    size_t n_only;
    const char *const *skip; /* shell patterns for run names that are left out */
    size_t n_skip;
    const char *second_full; /* directory or file of a second, independent full-KV run, or NULL */
    bool has_contract;       /* declared before the data are looked at */
    kr_dec tolerance, risk, confidence;
    const char *contract_method;   /* or NULL */
    const char *contract_declared; /* date, or NULL */
    kr_lack lack;
    bool by_occurrence;  /* equal keys in another order are joined in their order of occurrence */
    bool lenient;        /* ragged CSV records and broken JSON lines are left out, with a warning */
    const char *columns; /* generic: "id=..,task=..,prediction=..", or NULL */
    const char
        *ratio_means;     /* generic: "kept", "removed", "budget", "bits", "threshold", or NULL */
    double scale;         /* generic: the best possible score; 0 means 1 */
    const char *full;     /* name of the full-KV run or method where the files do not tell */
    const char *scorer;   /* scorer for all rows, where the files do not tell */
    const char *code_sim; /* "levenshtein" (default) or "difflib" */
    const char *dataset;  /* LongBench folders: "longbench" or "longbench-e", where it matters */
    double bits_of;       /* bits of an uncompressed cache entry; 0 means 16 */
    bool coerce;          /* InfiniteBench: digits in string labels count as numbers */
    void (*progress)(void *ctx, size_t done, size_t runs, const char *name); /* before each run */
    void *progress_ctx;
    const char *order; /* generic: runs from conservative to aggressive, comma separated */
} kr_import_opts;

typedef struct kr_import kr_import;

/* Finds and understands the runs. *out is set also when this fails, so that what was understood can
 * be explained; it must be freed in any case (NULL when there was no memory). err must not be NULL,
 * here and below. */
kr_status kr_import_open(const kr_import_opts *opts, kr_import **out, kr_error *err);
/* Reads all rows, scores and joins them. */
kr_status kr_import_read(kr_import *im, kr_error *err);
/* The calibration set; the caller frees it. */
kr_status kr_import_build(kr_import *im, kr_calib **out, kr_error *err);
void kr_import_free(kr_import *im); /* NULL is allowed */

/* One line per run: how it was understood. After open. */
void kr_import_explain(const kr_import *im, kr_buf *out);
/* Counts in plain words: requests, tasks, policies, per run matched and lacking rows, task means.
 * After build. */
void kr_import_summary(const kr_import *im, kr_buf *out);

size_t kr_import_notes(const kr_import *im);
const kr_note *kr_import_note(const kr_import *im, size_t i);

/* Names of the importers with one line each, ended by a NULL name. */
typedef struct {
    const char *name, *what;
} kr_import_kind;
size_t kr_import_kinds(kr_import_kind *out, size_t max);

#endif
