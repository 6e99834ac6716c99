/* rowfile.h - the fingerprints of a ledger's requests as a file.
 *
 * 16 bytes that name the version, then for each kind its fingerprints, strictly ascending, then the
 * number of each kind and a checksum; all numbers are 8 bytes, low byte first. */
#ifndef KR_LEDGER_ROWFILE_H
#define KR_LEDGER_ROWFILE_H

#include <stdio.h>

#include "ledger/prints.h"

#define KR_ROWFILE_MAX ((int64_t)4 << 30) /* bytes; some hundred million requests */

/* Calls visit for every fingerprint in order. KR_EFORMAT with a sentence that begins with `name` when
 * the file is not one, too long, cut or damaged: what was visited by then counts for nothing. Memory
 * does not depend on the file's length. */
typedef void kr_rowfile_visit(void *ctx, kr_print_kind kind, uint64_t value);
kr_status kr_rowfile_scan(FILE *f, const char *name, kr_rowfile_visit *visit, void *ctx, kr_error *err);
/* The same by path. KR_EIO when it cannot be read. */
kr_status kr_rowfile_read(const char *path, kr_rowfile_visit *visit, void *ctx, kr_error *err);

/* Writes those of p together with those the file has already, atomically. A damaged file is not
 * replaced. */
kr_status kr_rowfile_merge(const char *path, const kr_prints *p, kr_error *err);

#endif
