/* file.h - reading whole files and lines with limits, and writing files atomically. */
#ifndef KR_BASE_FILE_H
#define KR_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* --- writing ------------------------------------------------------------------------------- */

/* A file that appears under its name only when it is complete: a temporary file in the same
 * directory, fsync, rename, fsync of the directory. */
typedef struct kr_writer kr_writer;

/* KR_EIO when the directory cannot be written, when `path` exists and `replace` is false, or when it
 * is a device, a pipe or anything else that is not a regular file. A symbolic link is followed: its
 * target is replaced, the link stays. */
kr_status kr_writer_open(const char *path, bool replace, kr_writer **out, kr_error *err);
/* Errors are kept and reported by the commit. */
void kr_writer_add(kr_writer *w, const void *data, size_t len);
void kr_writer_puts(kr_writer *w, const char *text);
void kr_writer_printf(kr_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Both free the writer. After an abort, or a failed commit, nothing is left behind. */
kr_status kr_writer_commit(kr_writer *w, kr_error *err);
void kr_writer_abort(kr_writer *w); /* NULL is allowed */

/* The whole file at once, through a kr_writer. */
kr_status kr_file_write(const char *path, const void *data, size_t len, bool replace,
                        kr_error *err);

/* Adds `row` to a table that begins with the line(s) `header`, or starts the table; as atomic as
 * kr_file_write, and several programs may add to one table at once: each waits for the others.
 * KR_EFORMAT when the file begins with something else. */
kr_status kr_file_append_row(const char *path, const char *header, const char *row, kr_error *err);

/* Held by one program at a time; the others wait. The lock is a file of this name, which is there only
 * meanwhile. Ends with the program that holds it, however it ends. */
typedef struct kr_lock kr_lock;
kr_status kr_lock_take(const char *path, kr_lock **out, kr_error *err);
void kr_lock_release(kr_lock *l); /* NULL is allowed */

/* --- reading ------------------------------------------------------------------------------- */

#define KR_SHA256_HEX 65 /* 64 hex digits and the terminator */

/* Reads the whole file; refused when it is longer than max bytes. *data is NUL-terminated and owned
 * by the caller. */
kr_status kr_file_read(const char *path, size_t max, char **data, size_t *len, kr_error *err);

/* SHA-256 of a file's bytes, in lower-case hex. */
kr_status kr_file_sha256(const char *path, char hex[KR_SHA256_HEX], kr_error *err);
/* The same, asking before every quarter of a megabyte whether to go on; KR_ECANCELED when not. */
kr_status kr_file_sha256_while(const char *path, bool (*go)(void *arg), void *arg,
                               char hex[KR_SHA256_HEX], kr_error *err);

/* SHA-256 of bytes in memory. */
kr_status kr_sha256(const void *data, size_t len, char hex[KR_SHA256_HEX], kr_error *err);

/* What tells one state of a file from another: compare with kr_stamp_equal. */
typedef struct {
    int64_t size, mtime_ns, ctime_ns;
    uint64_t dev, ino;
} kr_stamp;
kr_status kr_file_stamp(const char *path, kr_stamp *out, kr_error *err);
bool kr_stamp_equal(const kr_stamp *a, const kr_stamp *b);

/* Whether two names are those of one file that is there. */
bool kr_file_same(const char *a, const char *b);

/* Line by line, with the SHA-256 of everything read. Directories are refused; a byte order mark at
 * the start and a CR before LF are dropped. */
typedef struct kr_lines kr_lines;
kr_status kr_lines_open(const char *path, size_t max_line, kr_lines **out, kr_error *err);
/* *line stays valid until the next call and is not terminated; *line = NULL at the end of file.
 * KR_EFORMAT for a line longer than max_line, KR_EIO when the file changed while it was read. */
kr_status kr_lines_next(kr_lines *r, const char **line, size_t *len, kr_error *err);
size_t kr_lines_number(const kr_lines *r);                  /* of the last line, from 1 */
const kr_stamp *kr_lines_stamp(const kr_lines *r);          /* as it was when opened */
const char *kr_lines_sha256(const kr_lines *r);             /* hex; "" before the end of file */
void kr_lines_close(kr_lines *r);                           /* NULL is allowed */

#endif
