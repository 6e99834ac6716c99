/* rows.h - hashes that pin the rows of a file, and which rows belong together (private to the room). */
#ifndef KR_LEDGER_ROWS_H
#define KR_LEDGER_ROWS_H

#include "ledger/prints.h"

/* SHA-256 over the rows with keep (NULL: all) among the first `upto`, in file order: of their ids; of
 * their utilities; of everything that tells which request a row is and how it is divided up (id, task,
 * split, cluster, prompt). Memory does not depend on the number of rows. */
typedef enum { KR_HASH_IDS, KR_HASH_OUTCOMES, KR_HASH_REQUESTS } kr_hash_what;
kr_status kr_hash_rows(const kr_calib *c, kr_hash_what what, const bool *keep, size_t upto,
                       char hex[KR_SHA256_HEX], kr_error *err);

/* Of all rows up to each of n numbers, which do not fall: one pass. */
kr_status kr_hash_prefixes(const kr_calib *c, kr_hash_what what, size_t n, const int64_t *upto,
                           char (*hex)[KR_SHA256_HEX], kr_error *err);

/* Of the candidates in their order and of what was measured: model, benchmark, scorer, protocol, range
 * of utilities. */
kr_status kr_hash_order(const kr_calib *c, char hex[KR_SHA256_HEX], kr_error *err);

/* group[rows]: the first row that each belongs to. Rows of one cluster or of one prompt belong
 * together, and those whose ids differ in case alone; and so on from each of them. */
kr_status kr_group_rows(const kr_calib *c, const kr_prints *p, uint32_t *group, kr_error *err);

#endif
