/* ledger.h - what was looked at, what was locked and what was confirmed on a calibration file: an
 * append-only, hash-chained list beside it, FILE.ledger.
 *
 * One JSON object per line. "hash" is the SHA-256 of the line up to that member and "prev" the hash
 * of the line before, so an entry that is changed, taken out or put in breaks the chain. The last hash
 * is also kept in the user's state directory (known.h) and in every certificate, so a ledger that is cut
 * short, exchanged or deleted is noticed as well. */
#ifndef KR_LEDGER_LEDGER_H
#define KR_LEDGER_LEDGER_H

#include <stdbool.h>

#include "base/file.h"
#include "risk/contract.h"

#define KR_LEDGER_TABLE_MAX 64
#define KR_LEDGER_LOOKS_MAX 64
#define KR_LEDGER_ENTRIES_MAX 10000

typedef enum { KR_LEDGER_START, KR_LEDGER_LOCK, KR_LEDGER_CONFIRM, KR_LEDGER_KINDS } kr_ledger_kind;
const char *kr_ledger_kind_name(kr_ledger_kind k); /* "start", "lock", "confirm" */

typedef struct {
    kr_ledger_kind kind;
    int64_t number; /* from 1 */
    char time[24];  /* UTC, ISO 8601 */
    char hash[KR_SHA256_HEX];

    /* start: which rows are for exploring */
    kr_dec budget;       /* of delta, for all locks together */
    bool declared_split; /* the rows of split "test" explore, those of "cal" confirm */
    kr_dec share;        /* else this share of every task, by this seed */
    int64_t seed;
    int64_t base_rows;   /* rows of the file then; later ones are for confirming */
    char base_ids[KR_SHA256_HEX]; /* of these requests, see kr_hash_rows */

    /* lock: a contract fixed before the rows it will be tested on are opened */
    kr_contract contract;
    char method[128]; /* "": see family */
    bool family;
    int64_t looks;    /* at a growing sample, each at delta/looks */
    size_t n_sizes;   /* looks, or 0 for a single one at any size */
    int64_t size[KR_LEDGER_LOOKS_MAX]; /* rows of the file at each look, rising */
    size_t n_tolerances;
    kr_dec tolerance[KR_LEDGER_TABLE_MAX]; /* a joint table; none: the contract's */
    char order[KR_SHA256_HEX];             /* of the candidates in their order and what was measured */

    /* confirm: a lock tested */
    int64_t lock;        /* number of its entry */
    int64_t look;        /* 1, 2, ... ; 0: exploratory, nothing spent */
    int64_t file_rows;   /* rows of the file then: all of them up to here are opened */
    int64_t tested_rows;
    char rows[KR_SHA256_HEX], outcomes[KR_SHA256_HEX]; /* of the ids, of the utilities tested */
    char file_ids[KR_SHA256_HEX], file_outcomes[KR_SHA256_HEX]; /* of all rows of the file then */
    kr_dec delta;        /* spent */
    char state[16], result[96];
} kr_ledger_entry;

typedef struct {
    kr_ledger_entry *entry;
    size_t n;
    char head[KR_SHA256_HEX]; /* hash of the last entry, "" when there is none */
} kr_ledger;

/* "FILE.ledger"; caller frees. NULL: out of memory. */
char *kr_ledger_path(const char *file);

/* Whether a result may be written to `out`, also in place of what is there: not over `file`, which was read, nor
 * under the name of any ledger. KR_EIO with a sentence. */
kr_status kr_ledger_spares(const char *file, const char *out, kr_error *err);

/* A missing ledger is an empty one. KR_EFORMAT when the chain does not hold, with the entry. */
kr_status kr_ledger_load(const char *path, kr_ledger *out, kr_error *err);
/* The same of text in memory; `name` is for messages. */
kr_status kr_ledger_parse(const char *text, size_t len, const char *name, kr_ledger *out, kr_error *err);
void kr_ledger_free(kr_ledger *l);

/* Adds one entry (number, time and hash are filled in) to the file and to *l, atomically. Refused
 * when the file is no longer what *l was loaded from. */
kr_status kr_ledger_append(const char *path, kr_ledger *l, const kr_ledger_entry *e, kr_error *err);

#endif
