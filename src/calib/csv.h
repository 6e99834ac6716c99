/* csv.h - streaming reader of delimited text as spreadsheets and data frames write it.
 *
 * A record ends at a line feed outside quotes; one carriage return right before it is dropped, any
 * other is data. A field that begins with a quote runs to the next single quote, doubled quotes
 * stand for one, and line ends inside are kept. A quote inside an unquoted field is an ordinary
 * character, blanks at either end are data, and an empty line is no record. (RFC 4180, with the
 * behaviour of Python's csv module where that is silent.) Columns are known by name only. */
#ifndef KR_CALIB_CSV_H
#define KR_CALIB_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Delivers up to n bytes into buf: the count, 0 at the end, -1 on a read error (errno set). */
typedef ptrdiff_t kr_csv_read(void *ctx, char *buf, size_t n);

typedef struct {
    const char *name; /* file name for messages, borrowed while the reader lives */
    char delimiter;   /* 0 means ',' */
    size_t max_field; /* bytes in one field; 0 means 64 MiB */
    bool lenient;     /* short records are padded with empty fields, long ones cut */
} kr_csv_opts;

typedef struct kr_csv kr_csv;

/* Bytes of a field: not NUL-terminated, may hold NUL, valid until the next kr_csv_next. */
typedef struct {
    const char *s;
    size_t len;
} kr_csv_field;

/* Reads the header (a byte order mark before it is skipped). Refused: no header, the same column
 * name twice, more than 4096 columns, UTF-16. The caller frees *out. */
kr_status kr_csv_open(const kr_csv_opts *opts, kr_csv_read *read, void *ctx, kr_csv **out,
                      kr_error *err);
void kr_csv_free(kr_csv *c); /* NULL is allowed */

size_t kr_csv_columns(const kr_csv *c);
const char *kr_csv_name(const kr_csv *c, size_t column);  /* NUL-terminated, lives as long as c */
ptrdiff_t kr_csv_find(const kr_csv *c, const char *name); /* column, or -1 */

/* Drops the contents of a column from now on (its fields read as empty): a column of whole prompts
 * then costs no memory. The limit on a field still holds. */
void kr_csv_skip(kr_csv *c, size_t column);

/* Next record; *got is false at the end of the text. An error names line, record and column. */
kr_status kr_csv_next(kr_csv *c, bool *got, kr_error *err);

kr_csv_field kr_csv_get(const kr_csv *c, size_t column);

size_t kr_csv_record(const kr_csv *c); /* number of the record read last, 1 after the header */
size_t kr_csv_line(const kr_csv *c);   /* line on which it began, from 1 */
size_t kr_csv_ragged(const kr_csv *c); /* records padded or cut so far (lenient) */

#endif
