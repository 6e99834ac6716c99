/* known.h - what the state directory remembers of every ledger, kept away from it:
 * $XDG_STATE_HOME/kvrisk/ledgers/IDENTITY.head (its last hash, its number of entries, where its file
 * was seen last) and IDENTITY.rows (fingerprints of its requests, see rowfile.h).
 *
 * A ledger's identity is the hash of its first entry. */
#ifndef KR_LEDGER_KNOWN_H
#define KR_LEDGER_KNOWN_H

#include "ledger/ledger.h"
#include "ledger/prints.h"

typedef struct {
    bool known;
    int64_t entries;
    char head[KR_SHA256_HEX];
    char file[4096]; /* "": not known */
} kr_known;

/* *out is not known where nothing is remembered. KR_EFORMAT, KR_EIO: something is, but cannot be read. */
kr_status kr_known_get(const char *identity, kr_known *out, kr_error *err);

/* The text of a .head. */
kr_status kr_known_parse(const char *text, size_t len, const char *name, kr_known *out, kr_error *err);

/* Remembers requests as the ledger's, beside those it has; and its last entry. */
kr_status kr_known_add(const char *identity, const kr_prints *p, kr_error *err);
kr_status kr_known_set(const char *file, const kr_ledger *l, kr_error *err);
/* Whether the list of this ledger's requests is there. */
bool kr_known_has_rows(const char *identity);

/* Whether the state directory remembers any ledger but `own` ("" or NULL: none is). KR_EIO when it
 * cannot be read. */
kr_status kr_known_others(const char *own, bool *any, kr_error *err);

/* The other ledger that knows most requests of a file. requests 0: none knows any. A request is known by
 * itself (kr_print: request or prompt). Under another model's name those with a known id are, if most of
 * the telling ones among them have their utilities as well; under other ids, if their utilities are
 * those of the ledger, nearly all, and differ enough from each other to tell. KR_EFORMAT or KR_EIO: a
 * list cannot be read, so that nothing is known about it. */
typedef struct {
    int64_t requests;
    kr_known ledger;
} kr_known_other;
kr_status kr_known_find(const kr_prints *p, const char *own, kr_known_other *out, kr_error *err);

#endif
