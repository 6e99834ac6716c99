/* import_core.h - what the importers share; not for use outside import_*.c.
 *
 * An importer finds runs (`discover`) and reads the rows of one (`read`), calling kr_run_row for
 * each; scoring, joining, choosing among reruns and building are common. */
#ifndef KR_CALIB_IMPORT_CORE_H
#define KR_CALIB_IMPORT_CORE_H

#include <stdint.h>

#include "base/arena.h"
#include "calib/import.h"
#include "calib/literal.h"
#include "calib/scorer_rules.h"
#include "calib/scorers.h"
#include "calib/source.h"

#define KR_NONE SIZE_MAX

typedef enum {
    KR_LEVEL_UNKNOWN,
    KR_LEVEL_RETENTION, /* share kept */
    KR_LEVEL_THRESHOLD, /* rising is more aggressive */
    KR_LEVEL_BUDGET,    /* tokens kept per head */
    KR_LEVEL_RANK       /* place in an order that the user declared */
} kr_level_kind;

/* 128 bits over separated fields: two rows with equal fields have equal keys, and other rows do not
 * but with negligible probability. */
typedef struct {
    uint64_t a, b;
} kr_key;

kr_key kr_key_start(void);
void kr_key_add(kr_key *k, const char *s, size_t len);
/* The answers one by one, so that the three spellings of a list agree. NULL adds a mark for none. */
void kr_key_add_answers(kr_key *k, const kr_lit *answers);
bool kr_key_equal(kr_key a, kr_key b);

/* One row while its run is joined. */
typedef struct {
    kr_key key;
    uint64_t id_key;                      /* of task and native id; 0: the row has no id */
    uint64_t answers, prediction, prompt; /* hashes; prompt 0: unknown */
    int64_t utility;                      /* nano-units, or KR_MISSING */
    uint32_t task, line;
    uint32_t id;    /* offset + 1 in the import's text of ids; 0: none */
    int32_t tokens; /* -1 unknown */
} kr_irow;

typedef struct {
    kr_irow row; /* of the full-KV run */
    int64_t full2;
    uint32_t group;
    uint32_t matched; /* policies with a row for it */
} kr_req;

typedef struct kr_run {
    /* set by discover; strings live in the import's arena */
    const char *path;   /* file with the predictions */
    const char **parts; /* [n_parts] further files of the same run, in order; path is the first */
    size_t n_parts;
    const char *name; /* for people: the run's directory or file */
    const char *dataset, *subset, *model,
        *press;          /* NULL: unknown. press: as the source spells it */
    const char *method;  /* canonical; NULL for full KV */
    const char *setting; /* prompt settings that must agree with the full run; "" for none */
    const char *metrics; /* file of native means, or NULL */
    bool full, query_aware;
    kr_family family;
    kr_level_kind level_kind;
    kr_dec level;
    const char *level_from;
    const char *rerun_of; /* runs with the same text here are reruns of one another; NULL: none */
    unsigned rerun;       /* 0 for the first */
    bool second;          /* of the second full-KV pass */
    bool complete;        /* everything was written that a finished run writes */
    const char *left_out; /* why it is not used; NULL: used */
    int variant;          /* the importer's own */
    const char *column;   /* the importer's own: column or key of this run in the file */
    const void *mapping;  /* the importer's own, in the import's arena */
    const void *visitor;  /* the importer's own, while reading */

    /* set while reading */
    size_t group, policy;
    char sha256[KR_SHA256_HEX];
    char (*part_sha256)[KR_SHA256_HEX]; /* [n_parts] in the import's arena */
    uint64_t bytes;
    size_t rows, matched, lacking, surplus, repeated, unscored, native_differs, native_seen,
        prompts_differ;
    const char *unscored_why;
    const char *joined_by; /* "id", "key", "position" */
    bool order_differs;
    double retained_sum;
    size_t retained_n;
    double *sum; /* [n_tasks then] score totals by task */
    size_t *count, n_sum;
} kr_run;

typedef struct {
    const char *subset, *setting;
    size_t full;          /* run */
    size_t first, n;      /* requests */
    bool ids;             /* all its rows have a native id */
    size_t alike;         /* rows whose content another row has too, where there are no ids */
    size_t joined;        /* compressed runs with at least one match */
    const char *left_out; /* why its requests are not used */
} kr_group;

typedef struct {
    const char *method;
    kr_level_kind kind;
    kr_dec level;
    int64_t *utility; /* [n_req] */
    double retained_sum;
    size_t retained_n;
} kr_ipolicy;

typedef struct kr_importer kr_importer;

struct kr_import {
    kr_import_opts opts;
    const kr_importer *importer;
    kr_arena arena; /* strings of the import's life */
    kr_arena row;   /* one row; reset between rows */
    kr_tree tree;
    kr_run *runs;
    size_t n_runs, cap_runs;
    kr_group *groups;
    size_t n_groups;
    kr_ipolicy *policies;
    size_t n_policies;
    const char **tasks;
    size_t n_tasks, cap_tasks, last_task;
    const char **task_left_out; /* [n_tasks] once built: why the task is not used; NULL: used */
    kr_req *reqs;
    size_t n_reqs, cap_reqs;
    kr_irow *rows; /* of the run that is being read */
    size_t n_rows, cap_rows;
    kr_buf ids; /* native ids, each terminated */
    kr_note *notes;
    size_t n_notes, cap_notes;
    size_t used, dropped; /* requests in the result, left out */
    size_t runs_read;
};

struct kr_importer {
    const char *name, *what;
    /* How well the files fit: 0 not at all; *why (static or in the arena) says what was seen. */
    int (*probe)(const kr_tree *t, const char **why);
    kr_status (*discover)(kr_import *im, kr_error *err);
    kr_status (*read)(kr_import *im, kr_run *run, kr_error *err);
    void (*finish)(kr_import *im); /* after all runs were read; may be NULL */
};

extern const kr_importer kr_importer_kvpress, kr_importer_longbench, kr_importer_ruler,
    kr_importer_lm_eval, kr_importer_kvcache_factory, kr_importer_snapkv, kr_importer_adakv,
    kr_importer_generic;

/* A run to fill in; NULL when out of memory (err is set). Pointers to runs are not kept. */
kr_run *kr_import_run_new(kr_import *im, const char *path, const char *name, kr_error *err);

void kr_import_say(kr_import *im, kr_note_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Formatted text in the import's arena; "" when out of memory. */
const char *kr_import_text(kr_import *im, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Lower case, other characters than letters and digits as single underscores: "Layer-DefensiveKV"
 * is "layer_defensivekv". */
const char *kr_import_method(kr_import *im, const char *press);

/* What an importer knows of a row. Zero-initialise; texts are borrowed during the call. */
typedef struct {
    const char *task;
    size_t task_len;
    const char *id; /* native, or NULL */
    size_t id_len;
    kr_key key; /* content */
    const char *prediction;
    size_t prediction_len;
    const kr_lit *answers, *classes; /* NULL: none */
    uint64_t prompt;                 /* hash of what the model was asked, 0 unknown */
    uint64_t data; /* hash of the data set's row, 0 unknown: differs between versions of the data */
    bool has_retained, has_native, native_only;
    double retained, native; /* share kept as measured; score as the source gives it, 0..1 */
    int32_t tokens;          /* prompt tokens; 0 unknown */
    size_t line;
} kr_row_in;

/* Scores a row and keeps it until the run is joined. */
kr_status kr_run_row(kr_import *im, kr_run *run, const kr_row_in *in, kr_error *err);

/* Opens `run->path` for a reader; kr_run_close records hash and size in the run. */
kr_status kr_run_close(kr_run *run, kr_source_file *f, kr_error *err);

/* Rows of a file of JSON: one object per line, one array of objects, or one object. `each` is called
 * with every object, in order, and its line; what it returns other than KR_OK ends the reading. A
 * broken last line (a killed run) is left out with a warning, any other is an error unless --lenient.
 * Goes through all parts of the run and records hashes and sizes. */
typedef kr_status kr_json_row(kr_import *im, kr_run *run, const kr_lit *row, const char *text,
                              size_t line, kr_error *err);
kr_status kr_import_json(kr_import *im, kr_run *run, kr_json_row *each, kr_error *err);

/* First object of such a file, in the arena; NULL when there is none or it cannot be read. */
const kr_lit *kr_json_first(const char *path, kr_arena *arena);

/* A row of LongBench's own code and its descendants: pred, answers, all_classes, length, maybe _id.
 * `task` is the data set's name. */
kr_status kr_longbench_row(kr_import *im, kr_run *run, const char *task, const kr_lit *row,
                           size_t line, kr_error *err);

/* A value as a list: lists are themselves, null is no list (NULL), anything else is its one item. */
const kr_lit *kr_lit_as_list(kr_arena *a, const kr_lit *v);

/* Decides full KV, method and model from what the runs' labels (`press`) do not have in common:
 * "llama-full" and "llama-snapkv" are full KV and method snapkv of model llama. With `paths` the
 * labels are paths, and trailing folders that all share are dropped first. */
void kr_runs_by_difference(kr_import *im, bool paths);

bool kr_starts(const char *s, const char *prefix);
bool kr_ends(const char *s, const char *suffix);
/* Whether the parts of a name between `_`, `-`, `.`, `/` and blanks include "full", "fullkv",
 * "full_kv", "no_press" or "baseline", in any case. */
bool kr_names_full(const char *name);

/* Index of a task, added when new; KR_NONE with err set on failure. */
size_t kr_import_task(kr_import *im, const char *name, size_t len, kr_error *err);

/* import_plan.c: which runs are used, as which policy. import_join.c: rows to requests. */
kr_status kr_import_plan(kr_import *im, kr_error *err);
kr_status kr_import_join_full(kr_import *im, kr_group *g, kr_run *run, kr_error *err);
kr_status kr_import_join_run(kr_import *im, kr_group *g, kr_run *run, int64_t *utility,
                             kr_error *err);

/* Level for people: "0.25", "threshold -4", "budget 512", "level unknown". */
const char *kr_import_level_text(kr_level_kind kind, kr_dec level, char buf[64]);

#endif
