/* certificate.h - verdicts as JSON and CSV: what `kvrisk certify --json` prints and what an exported
 * operating point carries. Field names never change without a new `version`. */
#ifndef KR_EXPORT_CERTIFICATE_H
#define KR_EXPORT_CERTIFICATE_H

#include <stddef.h>

#include "verdict/verdict.h"

#define KR_EXPORT_VERSION 1
#define KR_ALL_METHODS ((size_t)-1)

/* One JSON object with every method, or with one; ends in a line feed. */
void kr_export_certify(kr_analysis *a, size_t method, kr_buf *out);

/* The operating point of one method: the same fields with "kind":"operating_point", the calibration
 * file's name and SHA-256, the program's version, the note (NULL: none) and what the tables for
 * choices after looking give ("modes"). */
void kr_export_point(kr_analysis *a, size_t method, const char *note, kr_buf *out);

/* The same point as one row of a CSV table; the header has the column names. Lines end in LF. */
void kr_export_point_csv_header(kr_buf *out);
void kr_export_point_csv(const kr_analysis *a, size_t method, const char *note, kr_buf *out);

/* Writes the point atomically: as CSV (header and row) when the name ends in ".csv", else JSON. */
kr_status kr_export_point_file(kr_analysis *a, size_t method, const char *note,
                               const char *path, bool replace, kr_error *err);
/* Adds the point as a row to a CSV file of such points, or starts one; atomically. Refuses a file
 * whose first line is another header. */
kr_status kr_export_point_append(const kr_analysis *a, size_t method, const char *note,
                                 const char *path, kr_error *err);

/* One CSV field, quoted where needed; a text that a spreadsheet would run as a formula is prefixed
 * with an apostrophe. */
void kr_csv_field(kr_buf *out, const char *text);

#endif
